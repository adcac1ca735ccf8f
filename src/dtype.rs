//! Element types: the Rust types an `Array` may hold, and what each can do.

pub use half::{bf16, f16};
pub use lazuli_codegen::{DType, Scalar};

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that arrays hold: bool, i8 to i64, u8 to u64, f16, bf16, f32, f64.
///
/// The associated types are the result types of reductions, as in NumPy: sums of i8 to i32 and of bool are i64, of u8 to
/// u32 are u64; means of integers and bool are f64.
pub trait Element:
    Copy + Send + Sync + std::fmt::Debug + std::fmt::Display + PartialEq + sealed::Sealed + 'static
{
    /// Result type of `sum` and `prod`.
    type Sum: Element;
    /// Result type of `mean`.
    type Mean: Element;
    /// The element type as a value.
    const DTYPE: DType;
    /// This value as a kernel argument.
    #[doc(hidden)]
    fn to_scalar(self) -> Scalar;
    /// The value `false`, 0.
    fn zero() -> Self;
    /// The value `true`, 1.
    fn one() -> Self;
    /// The nearest value of this type.
    fn from_f64(value: f64) -> Self;
    /// The memory of a slice of elements.
    #[doc(hidden)]
    fn as_bytes(slice: &[Self]) -> &[u8] {
        crate::runtime::bytes::of_slice(slice)
    }
}

/// Elements with arithmetic: every type but bool.
pub trait Number: Element {}

/// f16, bf16, f32 and f64.
pub trait Float: Signed {}

/// i8 to i64 and u8 to u64.
pub trait Integer: Number + Bits {}

/// Numbers with a sign: floats and signed integers.
pub trait Signed: Number {}

/// Elements with `&`, `|`, `^` and `!`: integers and bool.
pub trait Bits: Element {}

macro_rules! element {
    ($type:ty, $dtype:ident, sum $sum:ty, mean $mean:ty, $value:ident => $bits:expr, zero $zero:expr, one $one:expr, from $from:expr) => {
        impl sealed::Sealed for $type {}
        impl Element for $type {
            type Sum = $sum;
            type Mean = $mean;
            const DTYPE: DType = DType::$dtype;
            fn to_scalar(self) -> Scalar {
                let $value = self;
                Scalar::from_bits(DType::$dtype, $bits)
            }
            fn zero() -> Self {
                $zero
            }
            fn one() -> Self {
                $one
            }
            fn from_f64(value: f64) -> Self {
                $from(value)
            }
        }
    };
}

element!(bool, Bool, sum i64, mean f64, v => u64::from(v), zero false, one true, from |v: f64| v != 0.0);
element!(i8, I8, sum i64, mean f64, v => u64::from(v as u8), zero 0, one 1, from |v: f64| v as i8);
element!(i16, I16, sum i64, mean f64, v => u64::from(v as u16), zero 0, one 1, from |v: f64| v as i16);
element!(i32, I32, sum i64, mean f64, v => u64::from(v as u32), zero 0, one 1, from |v: f64| v as i32);
element!(i64, I64, sum i64, mean f64, v => v as u64, zero 0, one 1, from |v: f64| v as i64);
element!(u8, U8, sum u64, mean f64, v => u64::from(v), zero 0, one 1, from |v: f64| v as u8);
element!(u16, U16, sum u64, mean f64, v => u64::from(v), zero 0, one 1, from |v: f64| v as u16);
element!(u32, U32, sum u64, mean f64, v => u64::from(v), zero 0, one 1, from |v: f64| v as u32);
element!(u64, U64, sum u64, mean f64, v => v, zero 0, one 1, from |v: f64| v as u64);
element!(f16, F16, sum f16, mean f16, v => u64::from(v.to_bits()), zero f16::ZERO, one f16::ONE, from |v: f64| f16::from_f64(round_to_odd(v)));
element!(bf16, BF16, sum bf16, mean bf16, v => u64::from(v.to_bits()), zero bf16::ZERO, one bf16::ONE, from |v: f64| bf16::from_f64(round_to_odd(v)));
element!(f32, F32, sum f32, mean f32, v => u64::from(v.to_bits()), zero 0.0, one 1.0, from |v: f64| v as f32);
element!(f64, F64, sum f64, mean f64, v => v.to_bits(), zero 0.0, one 1.0, from |v: f64| v);

/// The value cut to 24 bits of significand, the last one set where anything was cut off. Rounding that to a half rounds the
/// value once; the half crate drops the low bits of an f64 before it rounds, which may take a value just past a tie the
/// wrong way.
fn round_to_odd(value: f64) -> f64 {
    const CUT: u64 = (1 << 29) - 1;
    let bits = value.to_bits();
    let rest = u64::from(bits & CUT != 0) << 29;
    if value.is_finite() { f64::from_bits(bits & !CUT | rest) } else { value }
}

macro_rules! mark {
    ($marker:ident: $($type:ty),+) => { $(impl $marker for $type {})+ };
}
mark!(Number: i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64);
mark!(Float: f16, bf16, f32, f64);
mark!(Integer: i8, i16, i32, i64, u8, u16, u32, u64);
mark!(Signed: i8, i16, i32, i64, f16, bf16, f32, f64);
mark!(Bits: bool, i8, i16, i32, i64, u8, u16, u32, u64);
