//! Two-operand arithmetic. The rules are those of `lazuli_codegen::op`; the device preludes in `kernels/` say the same.

use lazuli_codegen::{BinaryOp, DType};

use super::apply::{Fn2, Map2, op2, pick2};
use super::rounding::{Exact, Round, Rounded, ToBf16, ToF16};
use crate::runtime::host::math;

/// The loop of an operation, or `None` where it is not defined.
pub fn binary(op: BinaryOp, operand: DType) -> Option<Fn2> {
    op.result(operand)?;
    match operand {
        DType::Bool => on_u8::bits(op).or_else(|| on_u8::comparison(op)),
        DType::I8 => on_i8::any(op),
        DType::I16 => on_i16::any(op),
        DType::I32 => on_i32::any(op),
        DType::I64 => on_i64::any(op),
        DType::U8 => on_u8::any(op),
        DType::U16 => on_u16::any(op),
        DType::U32 => on_u32::any(op),
        DType::U64 => on_u64::any(op),
        DType::F16 => single::<ToF16>(op),
        DType::BF16 => single::<ToBf16>(op),
        DType::F32 => single::<Exact>(op),
        DType::F64 => double(op),
    }
}

macro_rules! comparisons {
    ($type:ident) => {
        op2!(Eq: $type => u8, |a, b| u8::from(a == b));
        op2!(Ne: $type => u8, |a, b| u8::from(a != b));
        op2!(Lt: $type => u8, |a, b| u8::from(a < b));
        op2!(Le: $type => u8, |a, b| u8::from(a <= b));
        op2!(Gt: $type => u8, |a, b| u8::from(a > b));
        op2!(Ge: $type => u8, |a, b| u8::from(a >= b));
        pub fn comparison(op: BinaryOp) -> Option<Fn2> {
            match op {
                BinaryOp::Eq => Some(pick2::<Eq>()),
                BinaryOp::Ne => Some(pick2::<Ne>()),
                BinaryOp::Lt => Some(pick2::<Lt>()),
                BinaryOp::Le => Some(pick2::<Le>()),
                BinaryOp::Gt => Some(pick2::<Gt>()),
                BinaryOp::Ge => Some(pick2::<Ge>()),
                _ => None,
            }
        }
    };
}

macro_rules! integers {
    ($($module:ident $type:ident $sign:ident),+) => { $(
        mod $module {
            use super::*;
            comparisons!($type);
            op2!(Add: $type => $type, |a, b| a.wrapping_add(b));
            op2!(Sub: $type => $type, |a, b| a.wrapping_sub(b));
            op2!(Mul: $type => $type, |a, b| a.wrapping_mul(b));
            op2!(Div: $type => $type, |a, b| if b == 0 { 0 } else { a.wrapping_div(b) });
            op2!(Rem: $type => $type, |a, b| if b == 0 { 0 } else { a.wrapping_rem(b) });
            op2!(Minimum: $type => $type, |a, b| a.min(b));
            op2!(Maximum: $type => $type, |a, b| a.max(b));
            op2!(And: $type => $type, |a, b| a & b);
            op2!(Or: $type => $type, |a, b| a | b);
            op2!(Xor: $type => $type, |a, b| a ^ b);
            integers!(@$sign $type);
            pub fn bits(op: BinaryOp) -> Option<Fn2> {
                match op {
                    BinaryOp::BitAnd => Some(pick2::<And>()),
                    BinaryOp::BitOr => Some(pick2::<Or>()),
                    BinaryOp::BitXor => Some(pick2::<Xor>()),
                    _ => None,
                }
            }
            pub fn any(op: BinaryOp) -> Option<Fn2> {
                match op {
                    BinaryOp::Add => Some(pick2::<Add>()),
                    BinaryOp::Sub => Some(pick2::<Sub>()),
                    BinaryOp::Mul => Some(pick2::<Mul>()),
                    BinaryOp::Div => Some(pick2::<Div>()),
                    BinaryOp::Rem => Some(pick2::<Rem>()),
                    BinaryOp::FloorDivide => Some(pick2::<FloorDivide>()),
                    BinaryOp::Remainder => Some(pick2::<Remainder>()),
                    BinaryOp::Minimum => Some(pick2::<Minimum>()),
                    BinaryOp::Maximum => Some(pick2::<Maximum>()),
                    BinaryOp::Shl => Some(pick2::<Shl>()),
                    BinaryOp::Shr => Some(pick2::<Shr>()),
                    _ => bits(op).or_else(|| comparison(op)),
                }
            }
        }
    )+ };
    (@signed $type:ident) => {
        op2!(FloorDivide: $type => $type, |a, b| {
            let (q, r) = if b == 0 { (0, 0) } else { (a.wrapping_div(b), a.wrapping_rem(b)) };
            if r != 0 && (r ^ b) < 0 { q - 1 } else { q }
        });
        op2!(Remainder: $type => $type, |a, b| {
            let r = if b == 0 { 0 } else { a.wrapping_rem(b) };
            if r != 0 && (r ^ b) < 0 { r + b } else { r }
        });
        // A negative count shifts every bit out, as a large one does.
        op2!(Shl: $type => $type, |a, b| {
            if (b as u64) < u64::from($type::BITS) { a.wrapping_shl(b as u32) } else { 0 }
        });
        op2!(Shr: $type => $type, |a, b| {
            a.wrapping_shr(if (b as u64) < u64::from($type::BITS) { b as u32 } else { $type::BITS - 1 })
        });
    };
    (@unsigned $type:ident) => {
        op2!(FloorDivide: $type => $type, |a, b| if b == 0 { 0 } else { a / b });
        op2!(Remainder: $type => $type, |a, b| if b == 0 { 0 } else { a % b });
        op2!(Shl: $type => $type, |a, b| {
            if u64::from(b) < u64::from($type::BITS) { a.wrapping_shl(b as u32) } else { 0 }
        });
        op2!(Shr: $type => $type, |a, b| {
            if u64::from(b) < u64::from($type::BITS) { a.wrapping_shr(b as u32) } else { 0 }
        });
    };
}

integers!(
    on_i8 i8 signed, on_i16 i16 signed, on_i32 i32 signed, on_i64 i64 signed,
    on_u8 u8 unsigned, on_u16 u16 unsigned, on_u32 u32 unsigned, on_u64 u64 unsigned
);

macro_rules! floats {
    ($($module:ident $type:ident),+) => { $(
        mod $module {
            use super::*;
            comparisons!($type);
            op2!(Add: $type => $type, |a, b| a + b);
            op2!(Sub: $type => $type, |a, b| a - b);
            op2!(Mul: $type => $type, |a, b| a * b);
            op2!(Div: $type => $type, |a, b| a / b);
            op2!(Rem: $type => $type, |a, b| a % b);
            // NumPy's npy_divmod: the exact remainder first, then a quotient snapped to the integer it must be.
            op2!(FloorDivide: $type => $type, |a, b| {
                if b == 0.0 {
                    return a / b;
                }
                let remainder = a % b;
                let mut quotient = (a - remainder) / b;
                if remainder != 0.0 && (b < 0.0) != (remainder < 0.0) {
                    quotient -= 1.0;
                }
                if quotient == 0.0 {
                    return (0.0 as $type).copysign(a / b);
                }
                let whole = quotient.floor();
                if quotient - whole > 0.5 { whole + 1.0 } else { whole }
            });
            op2!(Remainder: $type => $type, |a, b| {
                let remainder = a % b;
                if b == 0.0 {
                    remainder
                } else if remainder == 0.0 {
                    (0.0 as $type).copysign(b)
                } else if (b < 0.0) != (remainder < 0.0) {
                    remainder + b
                } else {
                    remainder
                }
            });
            op2!(Atan2: $type => $type, |a, b| a.atan2(b));
            op2!(Hypot: $type => $type, |a, b| a.hypot(b));
            op2!(Copysign: $type => $type, |a, b| a.copysign(b));
            // NaN if either is NaN; of two equal values (the two zeros) the second.
            op2!(Minimum: $type => $type, |a, b| if a.is_nan() || a < b { a } else { b });
            op2!(Maximum: $type => $type, |a, b| if a.is_nan() || a > b { a } else { b });
        }
    )+ };
}

floats!(on_f32 f32, on_f64 f64);

op2!(PowF64: f64 => f64, |a, b| a.powf(b));

/// f32, and the halves that are computed in it.
fn single<H: Round>(op: BinaryOp) -> Option<Fn2> {
    fn of<F: Map2<R = f32>, H: Round>() -> Option<Fn2> {
        Some(pick2::<Rounded<F, H>>())
    }
    match op {
        BinaryOp::Add => of::<on_f32::Add, H>(),
        BinaryOp::Sub => of::<on_f32::Sub, H>(),
        BinaryOp::Mul => of::<on_f32::Mul, H>(),
        BinaryOp::Div => of::<on_f32::Div, H>(),
        BinaryOp::Rem => of::<on_f32::Rem, H>(),
        BinaryOp::FloorDivide => of::<on_f32::FloorDivide, H>(),
        BinaryOp::Remainder => of::<on_f32::Remainder, H>(),
        BinaryOp::Pow => of::<math::single::Pow, H>(),
        BinaryOp::Atan2 => of::<on_f32::Atan2, H>(),
        BinaryOp::Hypot => of::<on_f32::Hypot, H>(),
        BinaryOp::Copysign => of::<on_f32::Copysign, H>(),
        BinaryOp::Minimum => of::<on_f32::Minimum, H>(),
        BinaryOp::Maximum => of::<on_f32::Maximum, H>(),
        _ => on_f32::comparison(op),
    }
}

fn double(op: BinaryOp) -> Option<Fn2> {
    match op {
        BinaryOp::Add => Some(pick2::<on_f64::Add>()),
        BinaryOp::Sub => Some(pick2::<on_f64::Sub>()),
        BinaryOp::Mul => Some(pick2::<on_f64::Mul>()),
        BinaryOp::Div => Some(pick2::<on_f64::Div>()),
        BinaryOp::Rem => Some(pick2::<on_f64::Rem>()),
        BinaryOp::FloorDivide => Some(pick2::<on_f64::FloorDivide>()),
        BinaryOp::Remainder => Some(pick2::<on_f64::Remainder>()),
        BinaryOp::Pow => Some(pick2::<PowF64>()),
        BinaryOp::Atan2 => Some(pick2::<on_f64::Atan2>()),
        BinaryOp::Hypot => Some(pick2::<on_f64::Hypot>()),
        BinaryOp::Copysign => Some(pick2::<on_f64::Copysign>()),
        BinaryOp::Minimum => Some(pick2::<on_f64::Minimum>()),
        BinaryOp::Maximum => Some(pick2::<on_f64::Maximum>()),
        _ => on_f64::comparison(op),
    }
}
