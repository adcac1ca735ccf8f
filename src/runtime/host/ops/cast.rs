//! Conversions, as Rust's `as`; to bool `!= 0`; to f16 and bf16 with one rounding.

use std::marker::PhantomData;

use lazuli_codegen::DType;

use super::apply::{Fn1, Map1, op1, pick1};
use super::rounding::{Round, ToBf16, ToF16, f16_bits, f16_value, odd_from_i64, odd_from_u64, round_to_odd};

/// The loop that converts registers of one type to another; `None` where the type stays.
pub fn cast(from: DType, to: DType) -> Option<Fn1> {
    if from == to {
        return None;
    }
    match from {
        DType::Bool | DType::U8 => target::<u8>(to),
        DType::I8 => target::<i8>(to),
        DType::I16 => target::<i16>(to),
        DType::I32 => target::<i32>(to),
        DType::I64 => target::<i64>(to),
        DType::U16 => target::<u16>(to),
        DType::U32 => target::<u32>(to),
        DType::U64 => target::<u64>(to),
        // Widening a half is no work: its register is the f32 already.
        DType::F16 | DType::BF16 if to == DType::F32 => None,
        DType::F16 | DType::BF16 | DType::F32 => target::<f32>(to),
        DType::F64 => target::<f64>(to),
    }
}

/// The loop that makes register values of a half's memory.
pub fn widen(dtype: DType) -> Fn1 {
    match dtype {
        DType::F16 => pick1::<WidenF16>(),
        _ => pick1::<WidenBf16>(),
    }
}

/// The loop that makes a half's memory of register values, which are rounded already.
pub fn narrow(dtype: DType) -> Fn1 {
    match dtype {
        DType::F16 => pick1::<NarrowF16>(),
        _ => pick1::<NarrowBf16>(),
    }
}

op1!(WidenF16: u16 => f32, |a| f16_value(a));
op1!(WidenBf16: u16 => f32, |a| f32::from_bits(u32::from(a) << 16));
op1!(NarrowF16: f32 => u16, |a| f16_bits(a));
op1!(NarrowBf16: f32 => u16, |a| (a.to_bits() >> 16) as u16);

/// Conversion between the Rust types of two registers.
trait As<T> {
    fn to(self) -> T;
}

/// A value that rounds to f16 or bf16 as the source does.
trait Odd {
    fn odd(self) -> f32;
}

struct Convert<A, R>(PhantomData<(A, R)>);

impl<A: Copy + As<R>, R: Copy> Map1 for Convert<A, R> {
    type A = A;
    type R = R;
    #[inline(always)]
    fn apply(a: A) -> R {
        a.to()
    }
}

struct Truth<A>(PhantomData<A>);

impl<A: Copy + Default + PartialEq> Map1 for Truth<A> {
    type A = A;
    type R = u8;
    #[inline(always)]
    fn apply(a: A) -> u8 {
        u8::from(a != A::default())
    }
}

struct Half<A, H>(PhantomData<(A, H)>);

impl<A: Copy + Odd, H: Round> Map1 for Half<A, H> {
    type A = A;
    type R = f32;
    #[inline(always)]
    fn apply(a: A) -> f32 {
        H::round(a.odd())
    }
}

macro_rules! conversions {
    ($($from:ident),+ => $to:tt) => { $(conversions!(@ $from => $to);)+ };
    (@ $from:ident => [$($to:ident),+]) => { $(
        impl As<$to> for $from {
            #[inline(always)]
            fn to(self) -> $to {
                self as $to
            }
        }
    )+ };
}

conversions!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64 => [i8, i16, i32, i64, u8, u16, u32, u64, f32, f64]);

macro_rules! odd {
    ($($type:ident: |$a:ident| $body:expr),+ $(,)?) => { $(
        impl Odd for $type {
            #[inline(always)]
            fn odd(self) -> f32 {
                let $a = self;
                $body
            }
        }
    )+ };
}

// Up to 24 bits an f32 is exact.
odd!(
    i8: |a| f32::from(a),
    i16: |a| f32::from(a),
    u8: |a| f32::from(a),
    u16: |a| f32::from(a),
    i32: |a| round_to_odd(f64::from(a)),
    u32: |a| round_to_odd(f64::from(a)),
    i64: |a| round_to_odd(odd_from_i64(a)),
    u64: |a| round_to_odd(odd_from_u64(a)),
    f32: |a| a,
    f64: |a| round_to_odd(a),
);

trait Source:
    Copy
    + Default
    + PartialEq
    + Odd
    + As<i8>
    + As<i16>
    + As<i32>
    + As<i64>
    + As<u8>
    + As<u16>
    + As<u32>
    + As<u64>
    + As<f32>
    + As<f64>
{
}

macro_rules! sources {
    ($($type:ident),+) => { $(impl Source for $type {})+ };
}
sources!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

fn target<A: Source>(to: DType) -> Option<Fn1> {
    Some(match to {
        DType::Bool => pick1::<Truth<A>>(),
        DType::I8 => pick1::<Convert<A, i8>>(),
        DType::I16 => pick1::<Convert<A, i16>>(),
        DType::I32 => pick1::<Convert<A, i32>>(),
        DType::I64 => pick1::<Convert<A, i64>>(),
        DType::U8 => pick1::<Convert<A, u8>>(),
        DType::U16 => pick1::<Convert<A, u16>>(),
        DType::U32 => pick1::<Convert<A, u32>>(),
        DType::U64 => pick1::<Convert<A, u64>>(),
        DType::F16 => pick1::<Half<A, ToF16>>(),
        DType::BF16 => pick1::<Half<A, ToBf16>>(),
        DType::F32 => pick1::<Convert<A, f32>>(),
        DType::F64 => pick1::<Convert<A, f64>>(),
    })
}
