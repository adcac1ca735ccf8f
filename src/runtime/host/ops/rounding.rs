//! f16 and bf16: their values live in f32 registers, rounded after every operation.

use std::marker::PhantomData;

use super::apply::{Map1, Map2, Map3};

/// What follows an f32 operation: nothing, or rounding to a narrower type.
pub trait Round {
    /// The nearest value of the type, ties to even.
    fn round(x: f32) -> f32;
}

/// f32 itself.
pub struct Exact;
/// Rounds to f16.
pub struct ToF16;
/// Rounds to bf16.
pub struct ToBf16;

impl Round for Exact {
    #[inline(always)]
    fn round(x: f32) -> f32 {
        x
    }
}

impl Round for ToF16 {
    // Adding 0.5 leaves an f32 whose last bit is f16's least subnormal, so the addition rounds. The device preludes
    // (kernels/prelude/f16.h) say the same.
    #[inline(always)]
    fn round(x: f32) -> f32 {
        let bits = x.to_bits();
        let a = bits & 0x7fff_ffff;
        let normal = a.wrapping_add(0x0fff + ((a >> 13) & 1)) & 0xffff_e000;
        let tiny = ((f32::from_bits(a) + 0.5) - 0.5).to_bits();
        let near = if a < 0x3880_0000 { tiny } else { normal };
        let near = if near >= 0x4780_0000 { 0x7f80_0000 } else { near };
        let near = if a > 0x7f80_0000 { a | 0x0040_0000 } else { near };
        f32::from_bits(near | (bits & 0x8000_0000))
    }
}

impl Round for ToBf16 {
    #[inline(always)]
    fn round(x: f32) -> f32 {
        let bits = x.to_bits();
        let near = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
        let near = if bits & 0x7fff_ffff > 0x7f80_0000 { bits | 0x0040_0000 } else { near };
        f32::from_bits(near & 0xffff_0000)
    }
}

/// An f32 operation whose result is rounded.
pub struct Rounded<F, H>(PhantomData<(F, H)>);

impl<F: Map1<R = f32>, H: Round> Map1 for Rounded<F, H> {
    type A = F::A;
    type R = f32;
    const PARTIAL: bool = F::PARTIAL;
    #[inline(always)]
    fn apply(a: F::A) -> f32 {
        H::round(F::apply(a))
    }
    #[inline(always)]
    fn is_hard(a: F::A) -> bool {
        F::is_hard(a)
    }
    #[inline(always)]
    fn apply_hard(a: F::A) -> f32 {
        H::round(F::apply_hard(a))
    }
}

impl<F: Map2<R = f32>, H: Round> Map2 for Rounded<F, H> {
    type A = F::A;
    type R = f32;
    const PARTIAL: bool = F::PARTIAL;
    #[inline(always)]
    fn apply(a: F::A, b: F::A) -> f32 {
        H::round(F::apply(a, b))
    }
    #[inline(always)]
    fn is_hard(a: F::A, b: F::A) -> bool {
        F::is_hard(a, b)
    }
    #[inline(always)]
    fn apply_hard(a: F::A, b: F::A) -> f32 {
        H::round(F::apply_hard(a, b))
    }
}

impl<F: Map3<R = f32>, H: Round> Map3 for Rounded<F, H> {
    type A = F::A;
    type R = f32;
    #[inline(always)]
    fn apply(a: F::A, b: f32, c: f32) -> f32 {
        H::round(F::apply(a, b, c))
    }
}

/// The f32 of an f16's bits, without branches (the `half` crate asks for the hardware at each call).
#[inline(always)]
pub fn f16_value(h: u16) -> f32 {
    let sign = u32::from(h & 0x8000) << 16;
    let rest = u32::from(h & 0x7fff);
    let normal = (rest << 13).wrapping_add(if rest >= 0x7c00 { 0x7000_0000 } else { 0x3800_0000 });
    let tiny = (rest as i32 as f32 * 5.960_464_5e-8).to_bits();
    let quiet = if rest > 0x7c00 { 0x0040_0000 } else { 0 };
    f32::from_bits(sign | quiet | if rest < 0x0400 { tiny } else { normal })
}

/// The bits of an f32 that is an f16's value already.
#[inline(always)]
pub fn f16_bits(x: f32) -> u16 {
    let bits = x.to_bits();
    let a = bits & 0x7fff_ffff;
    let normal = a.wrapping_sub(0x3800_0000) >> 13;
    let tiny = (f32::from_bits(a) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let h = if a < 0x3880_0000 { tiny } else { normal };
    let h = if a >= 0x4780_0000 { 0x7c00 } else { h };
    let h = if a > 0x7f80_0000 { 0x7e00 | ((a >> 13) & 0x01ff) } else { h };
    (h | ((bits >> 16) & 0x8000)) as u16
}

/// f64 to f32, an inexact result taking the neighbour whose last bit is set: rounding that once more, to f16 or bf16, gives
/// what one rounding from f64 would (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
#[inline(always)]
pub fn round_to_odd(x: f64) -> f32 {
    let near = x as f32;
    let back = f64::from(near);
    let bits = near.to_bits();
    let moved = if back.abs() < x.abs() { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    let keep = back == x || back.is_nan() || bits & 1 == 1;
    f32::from_bits(if keep { bits } else { moved })
}

/// An i64 as an f64 that rounds further to f16 or bf16 as the integer itself would: what does not fit in 53 bits is gathered
/// in the last one.
#[inline(always)]
pub fn odd_from_u64(x: u64) -> f64 {
    let lost = x & 0x7ff != 0;
    let kept = (x & !0x7ff) | u64::from(lost) << 11;
    (if x < 1 << 53 { x } else { kept }) as f64
}

/// See [`odd_from_u64`].
#[inline(always)]
pub fn odd_from_i64(x: i64) -> f64 {
    let size = odd_from_u64(x.unsigned_abs());
    if x < 0 { -size } else { size }
}
