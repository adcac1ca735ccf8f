//! One-operand arithmetic.

use lazuli_codegen::{DType, UnaryOp};

use super::apply::{Fn1, Map1, op1, pick1};
use super::rounding::{Exact, Round, Rounded, ToBf16, ToF16};
use crate::runtime::host::math;

/// The loop of an operation, or `None` where it is not defined.
pub fn unary(op: UnaryOp, operand: DType) -> Option<Fn1> {
    op.result(operand)?;
    match operand {
        DType::Bool => Some(pick1::<NotBool>()),
        DType::I8 => i8::signed(op),
        DType::I16 => i16::signed(op),
        DType::I32 => i32::signed(op),
        DType::I64 => i64::signed(op),
        DType::U8 => u8::unsigned(op),
        DType::U16 => u16::unsigned(op),
        DType::U32 => u32::unsigned(op),
        DType::U64 => u64::unsigned(op),
        DType::F16 => single::<ToF16>(op),
        DType::BF16 => single::<ToBf16>(op),
        DType::F32 => single::<Exact>(op),
        DType::F64 => double(op),
    }
}

op1!(NotBool: u8 => u8, |a| a ^ 1);

macro_rules! integers {
    ($($type:ident $list:ident),+) => { $(
        mod $type {
            use super::*;
            op1!(Not: $type => $type, |a| !a);
            integers!(@$list $type);
        }
    )+ };
    (@signed $type:ident) => {
        op1!(Neg: $type => $type, |a| a.wrapping_neg());
        op1!(Abs: $type => $type, |a| a.wrapping_abs());
        op1!(Sign: $type => $type, |a| a.signum());
        pub fn signed(op: UnaryOp) -> Option<Fn1> {
            match op {
                UnaryOp::Neg => Some(pick1::<Neg>()),
                UnaryOp::Abs => Some(pick1::<Abs>()),
                UnaryOp::Sign => Some(pick1::<Sign>()),
                UnaryOp::Not => Some(pick1::<Not>()),
                _ => None,
            }
        }
    };
    (@unsigned $type:ident) => {
        op1!(Abs: $type => $type, |a| a);
        op1!(Sign: $type => $type, |a| $type::from(a > 0));
        pub fn unsigned(op: UnaryOp) -> Option<Fn1> {
            match op {
                UnaryOp::Abs => Some(pick1::<Abs>()),
                UnaryOp::Sign => Some(pick1::<Sign>()),
                UnaryOp::Not => Some(pick1::<Not>()),
                _ => None,
            }
        }
    };
}

integers!(i8 signed, i16 signed, i32 signed, i64 signed, u8 unsigned, u16 unsigned, u32 unsigned, u64 unsigned);

macro_rules! floats {
    ($($type:ident),+) => { $(
        mod $type {
            use super::*;
            op1!(Neg: $type => $type, |a| -a);
            op1!(Abs: $type => $type, |a| a.abs());
            // NaN stays NaN and a zero keeps its sign.
            op1!(Sign: $type => $type, |a| if a > 0.0 { 1.0 } else if a < 0.0 { -1.0 } else { a });
            op1!(Recip: $type => $type, |a| 1.0 / a);
            op1!(Sqrt: $type => $type, |a| a.sqrt());
            op1!(Cbrt: $type => $type, |a| a.cbrt());
            op1!(Floor: $type => $type, |a| a.floor());
            op1!(Ceil: $type => $type, |a| a.ceil());
            op1!(Round: $type => $type, |a| a.round_ties_even());
            op1!(Trunc: $type => $type, |a| a.trunc());
            op1!(IsNan: $type => u8, |a| u8::from(a.is_nan()));
            op1!(IsInf: $type => u8, |a| u8::from(a.is_infinite()));
            op1!(IsFinite: $type => u8, |a| u8::from(a.is_finite()));
        }
    )+ };
}

floats!(f32, f64);

// libm's are fdlibm's, good to an ulp; std has no error functions, and its acosh loses digits next to 1.
op1!(AsinhF64: f64 => f64, |a| libm::asinh(a));
// libm's acosh gives a number for some arguments below 1.
op1!(AcoshF64: f64 => f64, |a| if a < 1.0 { f64::NAN } else { libm::acosh(a) });
op1!(AtanhF64: f64 => f64, |a| libm::atanh(a));
op1!(ErfF64: f64 => f64, |a| libm::erf(a));
op1!(ErfcF64: f64 => f64, |a| libm::erfc(a));
op1!(Exp2F64: f64 => f64, |a| a.exp2());
op1!(Expm1F64: f64 => f64, |a| a.exp_m1());
op1!(Log2F64: f64 => f64, |a| a.log2());
op1!(Log10F64: f64 => f64, |a| a.log10());
op1!(Log1pF64: f64 => f64, |a| a.ln_1p());
op1!(TanF64: f64 => f64, |a| a.tan());
op1!(AsinF64: f64 => f64, |a| a.asin());
op1!(AcosF64: f64 => f64, |a| a.acos());
op1!(AtanF64: f64 => f64, |a| a.atan());
op1!(SinhF64: f64 => f64, |a| a.sinh());
op1!(CoshF64: f64 => f64, |a| a.cosh());
op1!(TanhF64: f64 => f64, |a| a.tanh());

/// f32, and the halves that are computed in it.
fn single<H: self::Round>(op: UnaryOp) -> Option<Fn1> {
    fn of<F: Map1<R = f32>, H: Round>() -> Option<Fn1> {
        Some(pick1::<Rounded<F, H>>())
    }
    match op {
        UnaryOp::Neg => of::<f32::Neg, H>(),
        UnaryOp::Abs => of::<f32::Abs, H>(),
        UnaryOp::Sign => of::<f32::Sign, H>(),
        UnaryOp::Not => None,
        UnaryOp::Recip => of::<f32::Recip, H>(),
        UnaryOp::Sqrt => of::<f32::Sqrt, H>(),
        UnaryOp::Cbrt => of::<f32::Cbrt, H>(),
        UnaryOp::Exp => of::<math::single::Exp, H>(),
        UnaryOp::Exp2 => of::<math::single::Exp2, H>(),
        UnaryOp::Expm1 => of::<math::single::Expm1, H>(),
        UnaryOp::Log => of::<math::single::Log, H>(),
        UnaryOp::Log2 => of::<math::single::Log2, H>(),
        UnaryOp::Log10 => of::<math::single::Log10, H>(),
        UnaryOp::Log1p => of::<math::single::Log1p, H>(),
        UnaryOp::Sin => of::<math::single::Sin, H>(),
        UnaryOp::Cos => of::<math::single::Cos, H>(),
        UnaryOp::Tan => of::<math::single::Tan, H>(),
        UnaryOp::Asin => of::<math::inverse::Asin, H>(),
        UnaryOp::Acos => of::<math::inverse::Acos, H>(),
        UnaryOp::Atan => of::<math::inverse::Atan, H>(),
        UnaryOp::Sinh => of::<math::single::Sinh, H>(),
        UnaryOp::Cosh => of::<math::single::Cosh, H>(),
        UnaryOp::Tanh => of::<math::single::Tanh, H>(),
        UnaryOp::Asinh => of::<math::inverse::Asinh, H>(),
        UnaryOp::Acosh => of::<math::inverse::Acosh, H>(),
        UnaryOp::Atanh => of::<math::inverse::Atanh, H>(),
        UnaryOp::Floor => of::<f32::Floor, H>(),
        UnaryOp::Ceil => of::<f32::Ceil, H>(),
        UnaryOp::Round => of::<f32::Round, H>(),
        UnaryOp::Trunc => of::<f32::Trunc, H>(),
        UnaryOp::Erf => of::<math::error_function::Erf, H>(),
        UnaryOp::Erfc => of::<math::error_function::Erfc, H>(),
        UnaryOp::IsNan => Some(pick1::<f32::IsNan>()),
        UnaryOp::IsInf => Some(pick1::<f32::IsInf>()),
        UnaryOp::IsFinite => Some(pick1::<f32::IsFinite>()),
    }
}

fn double(op: UnaryOp) -> Option<Fn1> {
    Some(match op {
        UnaryOp::Neg => pick1::<f64::Neg>(),
        UnaryOp::Abs => pick1::<f64::Abs>(),
        UnaryOp::Sign => pick1::<f64::Sign>(),
        UnaryOp::Not => return None,
        UnaryOp::Recip => pick1::<f64::Recip>(),
        UnaryOp::Sqrt => pick1::<f64::Sqrt>(),
        UnaryOp::Cbrt => pick1::<f64::Cbrt>(),
        UnaryOp::Exp => pick1::<math::double::Exp>(),
        UnaryOp::Exp2 => pick1::<Exp2F64>(),
        UnaryOp::Expm1 => pick1::<Expm1F64>(),
        UnaryOp::Log => pick1::<math::double::Log>(),
        UnaryOp::Log2 => pick1::<Log2F64>(),
        UnaryOp::Log10 => pick1::<Log10F64>(),
        UnaryOp::Log1p => pick1::<Log1pF64>(),
        UnaryOp::Sin => pick1::<math::double::Sin>(),
        UnaryOp::Cos => pick1::<math::double::Cos>(),
        UnaryOp::Tan => pick1::<TanF64>(),
        UnaryOp::Asin => pick1::<AsinF64>(),
        UnaryOp::Acos => pick1::<AcosF64>(),
        UnaryOp::Atan => pick1::<AtanF64>(),
        UnaryOp::Sinh => pick1::<SinhF64>(),
        UnaryOp::Cosh => pick1::<CoshF64>(),
        UnaryOp::Tanh => pick1::<TanhF64>(),
        UnaryOp::Asinh => pick1::<AsinhF64>(),
        UnaryOp::Acosh => pick1::<AcoshF64>(),
        UnaryOp::Atanh => pick1::<AtanhF64>(),
        UnaryOp::Floor => pick1::<f64::Floor>(),
        UnaryOp::Ceil => pick1::<f64::Ceil>(),
        UnaryOp::Round => pick1::<f64::Round>(),
        UnaryOp::Trunc => pick1::<f64::Trunc>(),
        UnaryOp::Erf => pick1::<ErfF64>(),
        UnaryOp::Erfc => pick1::<ErfcF64>(),
        UnaryOp::IsNan => pick1::<f64::IsNan>(),
        UnaryOp::IsInf => pick1::<f64::IsInf>(),
        UnaryOp::IsFinite => pick1::<f64::IsFinite>(),
    })
}
