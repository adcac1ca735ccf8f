//! The scalar operations. The graph records them, the kernel IR carries them, and every runtime gives them one meaning.
//!
//! Integers wrap. `Div` and `Rem` truncate as Rust does and never trap: x/0 and x%0 are 0, MIN/-1 wraps, MIN%-1 is 0.
//! A shift by the width or more, or by a negative count, gives what is left when every bit is gone: 0, or the sign.
//! f16 and bf16 are computed in f32 and rounded after each operation.

use crate::simt::Function;
use crate::{DType, Scalar};

/// An operation on one element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "named as NumPy and C name them; the ones that differ are described")]
pub enum UnaryOp {
    Neg,
    Abs,
    /// -1, 0 or 1 in the operand's type; NaN stays NaN, a zero keeps its sign.
    Sign,
    /// Bitwise complement of integers, logical not of bool.
    Not,
    /// 1 / x, correctly rounded.
    Recip,
    /// Correctly rounded.
    Sqrt,
    Cbrt,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Floor,
    Ceil,
    /// To the nearest integer, ties to even (NumPy's `rint`).
    Round,
    Trunc,
    Erf,
    Erfc,
    /// Float to bool.
    IsNan,
    /// Float to bool.
    IsInf,
    /// Float to bool.
    IsFinite,
}

/// An operation on two elements of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "named as NumPy and C name them")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    /// Integers truncate; floats are correctly rounded.
    Div,
    /// Sign of the dividend (C's `fmod` for floats).
    Rem,
    /// NumPy's `//`: rounds toward minus infinity.
    FloorDivide,
    /// NumPy's `%`: sign of the divisor.
    Remainder,
    /// Floats only.
    Pow,
    Atan2,
    Hypot,
    Copysign,
    /// NaN if either is NaN.
    Minimum,
    /// NaN if either is NaN.
    Maximum,
    /// Integers; logical on bool, as are `BitOr` and `BitXor`.
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    /// Arithmetic for signed types.
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// An associative operation that folds many elements into one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "named as NumPy and C name them")]
pub enum ReduceOp {
    Sum,
    Prod,
    /// NaN if any element is NaN.
    Min,
    /// NaN if any element is NaN.
    Max,
    /// bool only.
    Any,
    /// bool only.
    All,
    /// A function of the user's.
    Custom(Combiner),
}

/// A function of two elements of one type that gives a third of it, with the value it leaves others as they are with.
/// It is taken to be associative and commutative: a tree decides what meets what.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Combiner {
    /// The function.
    pub function: Function,
    /// `function(identity, x)` is `x`; also what folding nothing gives.
    pub identity: Scalar,
}

impl UnaryOp {
    /// Every unary operation.
    #[rustfmt::skip]
    pub const ALL: [UnaryOp; 35] = {
        use UnaryOp::*;
        [
            Neg, Abs, Sign, Not, Recip, Sqrt, Cbrt, Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sin, Cos, Tan, Asin,
            Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Floor, Ceil, Round, Trunc, Erf, Erfc, IsNan, IsInf,
            IsFinite,
        ]
    };

    /// The name in errors, traces and kernel names.
    pub const fn name(self) -> &'static str {
        match self {
            UnaryOp::Neg => "neg",
            UnaryOp::Abs => "abs",
            UnaryOp::Sign => "sign",
            UnaryOp::Not => "not",
            UnaryOp::Recip => "recip",
            UnaryOp::Sqrt => "sqrt",
            UnaryOp::Cbrt => "cbrt",
            UnaryOp::Exp => "exp",
            UnaryOp::Exp2 => "exp2",
            UnaryOp::Expm1 => "expm1",
            UnaryOp::Log => "log",
            UnaryOp::Log2 => "log2",
            UnaryOp::Log10 => "log10",
            UnaryOp::Log1p => "log1p",
            UnaryOp::Sin => "sin",
            UnaryOp::Cos => "cos",
            UnaryOp::Tan => "tan",
            UnaryOp::Asin => "asin",
            UnaryOp::Acos => "acos",
            UnaryOp::Atan => "atan",
            UnaryOp::Sinh => "sinh",
            UnaryOp::Cosh => "cosh",
            UnaryOp::Tanh => "tanh",
            UnaryOp::Asinh => "asinh",
            UnaryOp::Acosh => "acosh",
            UnaryOp::Atanh => "atanh",
            UnaryOp::Floor => "floor",
            UnaryOp::Ceil => "ceil",
            UnaryOp::Round => "round",
            UnaryOp::Trunc => "trunc",
            UnaryOp::Erf => "erf",
            UnaryOp::Erfc => "erfc",
            UnaryOp::IsNan => "is_nan",
            UnaryOp::IsInf => "is_inf",
            UnaryOp::IsFinite => "is_finite",
        }
    }

    /// The result type for an operand type, or `None` where the operation is not defined.
    pub const fn result(self, operand: DType) -> Option<DType> {
        let defined = match self {
            UnaryOp::Neg => operand.is_float() || operand.is_signed_integer(),
            UnaryOp::Abs | UnaryOp::Sign => operand.is_float() || operand.is_integer(),
            UnaryOp::Not => operand.is_integer() || matches!(operand, DType::Bool),
            _ => operand.is_float(),
        };
        match (defined, self) {
            (false, _) => None,
            (true, UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite) => Some(DType::Bool),
            (true, _) => Some(operand),
        }
    }

    /// True where one element costs about as much as an addition, so that computing it again is cheaper than storing it.
    pub const fn is_cheap(self) -> bool {
        matches!(
            self,
            UnaryOp::Neg
                | UnaryOp::Abs
                | UnaryOp::Sign
                | UnaryOp::Not
                | UnaryOp::Floor
                | UnaryOp::Ceil
                | UnaryOp::Round
                | UnaryOp::Trunc
                | UnaryOp::IsNan
                | UnaryOp::IsInf
                | UnaryOp::IsFinite
        )
    }
}

impl BinaryOp {
    /// Every binary operation.
    #[rustfmt::skip]
    pub const ALL: [BinaryOp; 24] = {
        use BinaryOp::*;
        [
            Add, Sub, Mul, Div, Rem, FloorDivide, Remainder, Pow, Atan2, Hypot, Copysign, Minimum, Maximum, BitAnd,
            BitOr, BitXor, Shl, Shr, Eq, Ne, Lt, Le, Gt, Ge,
        ]
    };

    /// The name in errors, traces and kernel names.
    pub const fn name(self) -> &'static str {
        match self {
            BinaryOp::Add => "add",
            BinaryOp::Sub => "sub",
            BinaryOp::Mul => "mul",
            BinaryOp::Div => "div",
            BinaryOp::Rem => "rem",
            BinaryOp::FloorDivide => "floor_divide",
            BinaryOp::Remainder => "remainder",
            BinaryOp::Pow => "pow",
            BinaryOp::Atan2 => "atan2",
            BinaryOp::Hypot => "hypot",
            BinaryOp::Copysign => "copysign",
            BinaryOp::Minimum => "minimum",
            BinaryOp::Maximum => "maximum",
            BinaryOp::BitAnd => "bitand",
            BinaryOp::BitOr => "bitor",
            BinaryOp::BitXor => "bitxor",
            BinaryOp::Shl => "shl",
            BinaryOp::Shr => "shr",
            BinaryOp::Eq => "eq",
            BinaryOp::Ne => "ne",
            BinaryOp::Lt => "lt",
            BinaryOp::Le => "le",
            BinaryOp::Gt => "gt",
            BinaryOp::Ge => "ge",
        }
    }

    /// True for the six comparisons, whose result is bool.
    pub const fn is_comparison(self) -> bool {
        matches!(self, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
    }

    /// The result type for two operands of one type, or `None` where the operation is not defined.
    pub const fn result(self, operand: DType) -> Option<DType> {
        let number = operand.is_float() || operand.is_integer();
        let defined = match self {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => number,
            BinaryOp::FloorDivide | BinaryOp::Remainder => number,
            BinaryOp::Minimum | BinaryOp::Maximum => number,
            BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Hypot | BinaryOp::Copysign => operand.is_float(),
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
                operand.is_integer() || matches!(operand, DType::Bool)
            }
            BinaryOp::Shl | BinaryOp::Shr => operand.is_integer(),
            // Comparisons; false < true.
            _ => true,
        };
        match (defined, self.is_comparison()) {
            (false, _) => None,
            (true, true) => Some(DType::Bool),
            (true, false) => Some(operand),
        }
    }

    /// True where one element costs about as much as an addition.
    pub const fn is_cheap(self) -> bool {
        !matches!(
            self,
            BinaryOp::Div
                | BinaryOp::Rem
                | BinaryOp::FloorDivide
                | BinaryOp::Remainder
                | BinaryOp::Pow
                | BinaryOp::Atan2
                | BinaryOp::Hypot
        )
    }
}

impl ReduceOp {
    /// Every reduction but the user's own.
    pub const BUILT_IN: [ReduceOp; 6] =
        [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Min, ReduceOp::Max, ReduceOp::Any, ReduceOp::All];

    /// The name in errors, traces and kernel names.
    pub fn name(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Prod => "prod",
            ReduceOp::Min => "min",
            ReduceOp::Max => "max",
            ReduceOp::Any => "any",
            ReduceOp::All => "all",
            ReduceOp::Custom(combiner) => combiner.function.name(),
        }
    }

    /// True where the reduction is defined on elements of this type. The result has the same type: widening, and the
    /// f32 accumulator of f16 and bf16, are casts recorded around the reduction.
    pub fn accepts(self, operand: DType) -> bool {
        match self {
            ReduceOp::Sum | ReduceOp::Prod => !matches!(operand, DType::Bool) && !operand.is_half(),
            ReduceOp::Min | ReduceOp::Max => !matches!(operand, DType::Bool),
            ReduceOp::Any | ReduceOp::All => matches!(operand, DType::Bool),
            ReduceOp::Custom(combiner) => {
                combiner.identity.dtype() == operand && combiner.function.is_of_values(&[operand; 2], operand)
            }
        }
    }

    /// True where folding no elements has a value (an empty sum is 0, an empty minimum is an error).
    pub const fn has_empty_value(self) -> bool {
        !matches!(self, ReduceOp::Min | ReduceOp::Max)
    }
}
