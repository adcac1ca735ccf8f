//! Three-operand operations: the fused multiply-add and the choice.

use std::marker::PhantomData;

use lazuli_codegen::DType;

use super::apply::{Fn3, Map3, pick3};
use super::register_bytes;
use super::rounding::{Exact, Rounded, ToBf16, ToF16};

struct MulAdd<T>(PhantomData<T>);

impl Map3 for MulAdd<f32> {
    type A = f32;
    type R = f32;
    #[inline(always)]
    fn apply(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// The f32 of the same significand bits as `a * b + c`, the last one set where the sum is not exact, so that rounding it to
/// a half rounds the sum once. The product of two halves is exact in f32; products of bf16 past its range are added at a
/// smaller scale, where a `c` that would vanish still counts as more or less than nothing.
struct OddMulAdd;

/// 2^64, the change of scale.
const TWO_64: f32 = 18_446_744_073_709_551_616.0;

impl Map3 for OddMulAdd {
    type A = f32;
    type R = f32;
    #[inline(always)]
    fn apply(a: f32, b: f32, c: f32) -> f32 {
        let is_big = (a * b).is_infinite() && a.is_finite() && b.is_finite();
        let (down, up) = if is_big { (1.0 / TWO_64, TWO_64) } else { (1.0, 1.0) };
        let c = if c * down * down == 0.0 { c } else { c * down * down };
        let product = (a * down) * (b * down);
        let sum = product + c;
        // The error of the sum (Knuth's TwoSum), exact.
        let from_c = sum - product;
        let error = (product - (sum - from_c)) + (c - from_c);
        let is_even = sum.to_bits() & 1 == 0;
        // Toward the error: one step away from zero, or toward it.
        let step = if (error > 0.0) == (sum > 0.0) { 1 } else { u32::MAX };
        let odd = match sum.is_finite() && error != 0.0 && is_even {
            true => f32::from_bits(sum.to_bits().wrapping_add(step)),
            false => sum,
        };
        odd * up * up
    }
}

impl Map3 for MulAdd<f64> {
    type A = f64;
    type R = f64;
    #[inline(always)]
    fn apply(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

struct Select<T>(PhantomData<T>);

impl<T: Copy> Map3 for Select<T> {
    type A = u8;
    type R = T;
    #[inline(always)]
    fn apply(condition: u8, on_true: T, on_false: T) -> T {
        if condition != 0 { on_true } else { on_false }
    }
}

/// The loop of `a * b + c` with one rounding, or `None` for integers and bool.
pub fn mul_add(dtype: DType) -> Option<Fn3> {
    match dtype {
        DType::F16 => Some(pick3::<Rounded<OddMulAdd, ToF16>>()),
        DType::BF16 => Some(pick3::<Rounded<OddMulAdd, ToBf16>>()),
        DType::F32 => Some(pick3::<Rounded<MulAdd<f32>, Exact>>()),
        DType::F64 => Some(pick3::<MulAdd<f64>>()),
        _ => None,
    }
}

/// The loop of `condition ? on_true : on_false`, which only moves bits.
pub fn select(dtype: DType) -> Fn3 {
    match register_bytes(dtype) {
        1 => pick3::<Select<u8>>(),
        2 => pick3::<Select<u16>>(),
        4 => pick3::<Select<u32>>(),
        _ => pick3::<Select<u64>>(),
    }
}
