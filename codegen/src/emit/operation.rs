//! Operations on elements. Each gives the same value in both languages and on the host, up to the accuracy of the math
//! functions; f16 and bf16 are computed in f32 and rounded after each.

use super::arithmetic::Arithmetic;
use super::prelude::Section;
use super::text::{Binding, Text};
use crate::{BinaryOp, DType, Dialect, ReduceOp, UnaryOp};

impl Arithmetic {
    pub fn unary(&mut self, op: UnaryOp, dtype: DType, x: &Text) -> Text {
        if dtype.is_half() {
            let wide = self.unary(op, DType::F32, x);
            return if is_exact(op) { wide } else { self.rounded(dtype, &wide) };
        }
        let is_float = dtype.is_float();
        match op {
            UnaryOp::Neg if is_float => Text::prefix("-", x),
            UnaryOp::Neg if is_narrow(dtype) => self.narrowed(dtype, &Text::prefix("-", x)),
            UnaryOp::Neg => self.integer_call("WRAPPING", dtype, "neg", &[x]),
            UnaryOp::Abs if is_float => self.math("fabs", dtype, &[x]),
            UnaryOp::Abs if dtype.is_unsigned_integer() => x.clone(),
            UnaryOp::Abs => self.integer_call("SIGN", dtype, "abs", &[x]),
            UnaryOp::Sign if is_float => self.float_call("FLOAT_SIGN", dtype, "sign", &[x]),
            UnaryOp::Sign if dtype.is_unsigned_integer() => {
                Text::cast(self.dialect.value_type(dtype), &Text::infix(x, "!=", &Text::atom("0"), Binding::Equality))
            }
            UnaryOp::Sign => self.integer_call("SIGN", dtype, "sign", &[x]),
            UnaryOp::Not if dtype == DType::Bool => Text::prefix("!", x),
            UnaryOp::Not if is_narrow(dtype) => self.narrowed(dtype, &Text::prefix("~", x)),
            UnaryOp::Not => Text::prefix("~", x),
            UnaryOp::Recip => {
                let one = Text::atom(if dtype == DType::F64 { "1.0" } else { "1.0f" });
                Text::infix(&one, "/", x, Binding::Product)
            }
            UnaryOp::Round => self.math("rint", dtype, &[x]),
            UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite => self.float_test(op.name(), dtype, x),
            UnaryOp::Cbrt
            | UnaryOp::Exp
            | UnaryOp::Exp2
            | UnaryOp::Expm1
            | UnaryOp::Log
            | UnaryOp::Log2
            | UnaryOp::Log10
            | UnaryOp::Log1p
            | UnaryOp::Sin
            | UnaryOp::Cos
            | UnaryOp::Tan
            | UnaryOp::Asin
            | UnaryOp::Acos
            | UnaryOp::Atan
            | UnaryOp::Sinh
            | UnaryOp::Cosh
            | UnaryOp::Tanh
            | UnaryOp::Asinh
            | UnaryOp::Acosh
            | UnaryOp::Atanh
            | UnaryOp::Erf
            | UnaryOp::Erfc => self.function(op.name(), dtype, &[x]),
            UnaryOp::Sqrt | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc => self.math(op.name(), dtype, &[x]),
        }
    }

    pub fn binary(&mut self, op: BinaryOp, dtype: DType, a: &Text, b: &Text) -> Text {
        if dtype.is_half() {
            let wide = self.binary(op, DType::F32, a, b);
            let is_exact = matches!(op, BinaryOp::Minimum | BinaryOp::Maximum | BinaryOp::Copysign | BinaryOp::Rem);
            return if is_exact || op.is_comparison() { wide } else { self.rounded(dtype, &wide) };
        }
        let is_float = dtype.is_float();
        match op {
            BinaryOp::Add => self.arithmetic("+", "add", Binding::Sum, dtype, a, b),
            BinaryOp::Sub => self.arithmetic("-", "sub", Binding::Sum, dtype, a, b),
            BinaryOp::Mul => self.arithmetic("*", "mul", Binding::Product, dtype, a, b),
            BinaryOp::Div if is_float => Text::infix(a, "/", b, Binding::Product),
            BinaryOp::Rem if is_float => self.math("fmod", dtype, &[a, b]),
            BinaryOp::FloorDivide | BinaryOp::Remainder if is_float => {
                self.float_call("FLOAT_DIVISION", dtype, op.name(), &[a, b])
            }
            BinaryOp::FloorDivide if dtype.is_unsigned_integer() => {
                self.integer_call("DIVISION", dtype, "div", &[a, b])
            }
            BinaryOp::Remainder if dtype.is_unsigned_integer() => self.integer_call("DIVISION", dtype, "rem", &[a, b]),
            BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDivide | BinaryOp::Remainder => {
                self.integer_call("DIVISION", dtype, op.name(), &[a, b])
            }
            BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Hypot => self.function(op.name(), dtype, &[a, b]),
            BinaryOp::Copysign => self.math(op.name(), dtype, &[a, b]),
            BinaryOp::Minimum | BinaryOp::Maximum if is_float => {
                self.float_call("FLOAT_ORDER", dtype, op.name(), &[a, b])
            }
            BinaryOp::Minimum | BinaryOp::Maximum => self.integer_call("ORDER", dtype, op.name(), &[a, b]),
            // C widens narrow integers and these leave them in their range.
            BinaryOp::BitAnd => Text::infix(a, "&", b, Binding::BitAnd),
            BinaryOp::BitOr => Text::infix(a, "|", b, Binding::BitOr),
            BinaryOp::BitXor => Text::infix(a, "^", b, Binding::BitXor),
            BinaryOp::Shl | BinaryOp::Shr => self.integer_call("SHIFT", dtype, op.name(), &[a, b]),
            BinaryOp::Eq => Text::infix(a, "==", b, Binding::Equality),
            BinaryOp::Ne => Text::infix(a, "!=", b, Binding::Equality),
            // clang warns of a bool compared with a constant.
            BinaryOp::Lt if dtype == DType::Bool => Text::infix(&Text::prefix("!", a), "&", b, Binding::BitAnd),
            BinaryOp::Le if dtype == DType::Bool => Text::infix(&Text::prefix("!", a), "|", b, Binding::BitOr),
            BinaryOp::Gt if dtype == DType::Bool => Text::infix(a, "&", &Text::prefix("!", b), Binding::BitAnd),
            BinaryOp::Ge if dtype == DType::Bool => Text::infix(a, "|", &Text::prefix("!", b), Binding::BitOr),
            BinaryOp::Lt => Text::infix(a, "<", b, Binding::Relation),
            BinaryOp::Le => Text::infix(a, "<=", b, Binding::Relation),
            BinaryOp::Gt => Text::infix(a, ">", b, Binding::Relation),
            BinaryOp::Ge => Text::infix(a, ">=", b, Binding::Relation),
        }
    }

    pub fn mul_add(&mut self, dtype: DType, a: &Text, b: &Text, c: &Text) -> Text {
        if dtype.is_half() {
            self.prelude.section(Section::MulAdd);
            let wide = Text::call("f32_odd_mul_add", &[a, b, c]);
            return self.rounded(dtype, &wide);
        }
        self.math("fma", dtype, &[a, b, c])
    }

    /// A statement that folds `value` into `accumulator`.
    pub fn fold(&mut self, op: ReduceOp, dtype: DType, accumulator: &Text, value: &Text) -> String {
        // Signed overflow and the promotion of u16 to int make C's compound forms undefined.
        let has_compound = dtype.is_float() || matches!(dtype, DType::U32 | DType::U64);
        let to = &accumulator.code;
        match op {
            ReduceOp::Sum if has_compound => format!("{to} += {};", value.code),
            ReduceOp::Prod if has_compound => format!("{to} *= {};", value.code),
            ReduceOp::Any => format!("{to} |= {};", value.code),
            ReduceOp::All => format!("{to} &= {};", value.code),
            ReduceOp::Custom(combiner) => {
                format!("{to} = {};", self.user_call(combiner.function, &[accumulator, value]).code)
            }
            ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Min | ReduceOp::Max => {
                let op = match op {
                    ReduceOp::Sum => BinaryOp::Add,
                    ReduceOp::Prod => BinaryOp::Mul,
                    ReduceOp::Min => BinaryOp::Minimum,
                    _ => BinaryOp::Maximum,
                };
                format!("{to} = {};", self.binary(op, dtype, accumulator, value).code)
            }
        }
    }

    /// The value that folding leaves as it is.
    pub fn identity(&self, op: ReduceOp, dtype: DType) -> String {
        match op {
            // -0.0 + -0.0 is -0.0, where 0.0 + -0.0 is not.
            ReduceOp::Sum if dtype == DType::F64 => "-0.0".to_owned(),
            ReduceOp::Sum if dtype.is_float() => "-0.0f".to_owned(),
            ReduceOp::Prod if dtype == DType::F64 => "1.0".to_owned(),
            ReduceOp::Prod if dtype.is_float() => "1.0f".to_owned(),
            ReduceOp::Sum => "0".to_owned(),
            ReduceOp::Prod => "1".to_owned(),
            ReduceOp::Min => self.largest(dtype),
            ReduceOp::Max => self.least(dtype),
            ReduceOp::Any => "false".to_owned(),
            ReduceOp::All => "true".to_owned(),
            ReduceOp::Custom(combiner) => self.literal(combiner.identity).code,
        }
    }

    /// +, - and *: infix where C's own are defined.
    fn arithmetic(&mut self, sign: &str, name: &str, binding: Binding, dtype: DType, a: &Text, b: &Text) -> Text {
        match dtype {
            DType::I32 | DType::I64 => self.integer_call("WRAPPING", dtype, name, &[a, b]),
            // u16 times u16 would overflow the int it is promoted to.
            DType::U16 if sign == "*" => {
                let a = Text::cast(self.dialect.value_type(DType::U32), a);
                self.narrowed(dtype, &Text::infix(&a, sign, b, binding))
            }
            _ if is_narrow(dtype) => self.narrowed(dtype, &Text::infix(a, sign, b, binding)),
            _ => Text::infix(a, sign, b, binding),
        }
    }

    /// What C computed in int, back in the type.
    fn narrowed(&self, dtype: DType, x: &Text) -> Text {
        Text::cast(self.dialect.value_type(dtype), x)
    }

    /// What was computed in f32, rounded to f16 or bf16.
    fn rounded(&mut self, dtype: DType, x: &Text) -> Text {
        let name = self.prelude.half(dtype);
        Text::call(&format!("{name}_round"), &[x])
    }

    /// A function that a device computes in many steps: ours where that is the faster one.
    fn function(&mut self, name: &str, dtype: DType, arguments: &[&Text]) -> Text {
        if self.cpu_math && dtype == DType::F32 {
            return Text::call(&self.prelude.cpu_math(name, arguments.len()), arguments);
        }
        self.math(name, dtype, arguments)
    }

    /// A function of the language's math library; CUDA C names those of f32 with an f at the end.
    fn math(&self, name: &str, dtype: DType, arguments: &[&Text]) -> Text {
        match self.dialect {
            Dialect::CudaC if dtype == DType::F32 => Text::call(&format!("{name}f"), arguments),
            Dialect::CudaC | Dialect::OpenClC => Text::call(name, arguments),
        }
    }

    fn integer_call(&mut self, family: &str, dtype: DType, function: &str, arguments: &[&Text]) -> Text {
        let name = self.prelude.dtype(dtype);
        let bits = dtype.size_bytes() * 8;
        let wide = if bits == 64 { "u64" } else { "u32" };
        let line = match (family, dtype.is_signed_integer()) {
            ("DIVISION", true) => format!("LAZULI_SIGNED_DIVISION({name}, u{bits})"),
            ("DIVISION", false) => format!("LAZULI_UNSIGNED_DIVISION({name})"),
            ("SHIFT", true) => format!("LAZULI_SIGNED_SHIFT({name}, u{bits}, {wide}, {bits})"),
            ("SHIFT", false) => format!("LAZULI_UNSIGNED_SHIFT({name}, {wide}, {bits})"),
            ("ORDER", _) => format!("LAZULI_ORDER({name})"),
            _ => format!("LAZULI_{family}({name}, u{bits})"),
        };
        self.prelude.define(Section::Integers, line);
        Text::call(&format!("{name}_{function}"), arguments)
    }

    fn float_call(&mut self, family: &str, dtype: DType, function: &str, arguments: &[&Text]) -> Text {
        let name = self.prelude.dtype(dtype);
        self.prelude.define(Section::Floats, format!("LAZULI_{family}({name})"));
        Text::call(&format!("{name}_{function}"), arguments)
    }

    fn float_test(&mut self, test: &str, dtype: DType, x: &Text) -> Text {
        let name = self.prelude.dtype(dtype);
        let (bits, infinity) = if dtype == DType::F64 { ("u64", "0x7ff0000000000000") } else { ("u32", "0x7f800000") };
        self.prelude.define(Section::Floats, format!("LAZULI_FLOAT_TESTS({name}, {bits}, {name}_bits, {infinity})"));
        Text::call(&format!("{name}_{test}"), &[x])
    }
}

/// True for the types C promotes to int before it computes.
fn is_narrow(dtype: DType) -> bool {
    dtype.is_integer() && dtype.size_bytes() < 4
}

/// True where the result for an f16 or bf16 is one, or no float at all, so that nothing needs rounding.
fn is_exact(op: UnaryOp) -> bool {
    matches!(
        op,
        UnaryOp::Neg
            | UnaryOp::Abs
            | UnaryOp::Sign
            | UnaryOp::Floor
            | UnaryOp::Ceil
            | UnaryOp::Round
            | UnaryOp::Trunc
            | UnaryOp::IsNan
            | UnaryOp::IsInf
            | UnaryOp::IsFinite
    )
}
