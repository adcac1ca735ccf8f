//! Elementary functions written so that a compiler can vectorise them: no branches, no tables, no fused multiply-add.
//!
//! The f32 functions are computed in f64, which leaves them within 0.51 ulp or so; the f64 functions within 1 ulp or so.
//! Arguments for which a formula does not hold (huge angles, powers of negative numbers) are named by `is_hard` and go to
//! the standard library, one by one.

pub mod double;
pub mod error_function;
pub mod inverse;
pub mod single;

/// 1.5 * 2^52: adding it to a number below 2^51 rounds that to an integer, which then stands in the low bits.
pub(super) const TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// 2^k, for the k held in the low bits of `shifted` (k + `TO_INTEGER`), within the range of normal numbers.
#[inline(always)]
pub(super) fn power_of_two(shifted: f64) -> f64 {
    f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

/// Splits a positive normal number into e and m with x = 2^e * m and m about sqrt(1/2) to sqrt(2).
///
/// Source: musl `log.c` (FreeBSD e_log.c), the same shift of the bits.
#[inline(always)]
pub(super) fn split(x: f64) -> (f64, f64) {
    const SQRT_HALF: u64 = 0x3fe6_a09e_0000_0000;
    let bits = x.to_bits().wrapping_add(0x3ff0_0000_0000_0000 - SQRT_HALF);
    // The biased exponent, made a float by standing it under the exponent of 2^52.
    let biased = f64::from_bits((bits >> 52) | 0x4330_0000_0000_0000) - 4_503_599_627_370_496.0;
    let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff).wrapping_add(SQRT_HALF));
    (biased - 1023.0, m)
}
