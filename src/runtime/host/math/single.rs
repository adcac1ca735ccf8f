//! f32 functions, computed in f64.
//!
//! Sources: the reductions and the polynomials of sine and cosine are musl's `__rem_pio2f.c`, `__sindf.c` and `__cosdf.c`
//! (FreeBSD msun); exponentials are Taylor series on |r| <= ln(2)/2; logarithms are the series of atanh.

use std::f64::consts::{FRAC_2_PI, LN_2, LOG2_E, LOG10_E};

use super::{TO_INTEGER, power_of_two, split};
use crate::runtime::host::ops::apply::{Map2, op1};

/// x held within bounds; NaN stays NaN.
#[inline(always)]
pub(super) fn clamp(x: f64, low: f64, high: f64) -> f64 {
    // A NaN passes through: both comparisons are false.
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

/// e^r for |r| <= ln(2)/2, within 2e-10.
#[inline(always)]
fn exp_near_zero(r: f64) -> f64 {
    let r2 = r * r;
    let r4 = r2 * r2;
    let low = (1.0 + r) + r2 * (1.0 / 2.0 + r * (1.0 / 6.0));
    let high = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0));
    low + r4 * (high + r4 * (1.0 / 40320.0))
}

/// e^x for |x| below 700.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    let shifted = x * LOG2_E + TO_INTEGER;
    let r = x - (shifted - TO_INTEGER) * LN_2;
    exp_near_zero(r) * power_of_two(shifted)
}

/// 2^x for |x| below 1000.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    let shifted = x + TO_INTEGER;
    exp_near_zero((x - (shifted - TO_INTEGER)) * LN_2) * power_of_two(shifted)
}

/// Exponent and ln(m) of a positive normal number.
#[inline(always)]
fn log_parts(x: f64) -> (f64, f64) {
    let (exponent, m) = split(x);
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let z2 = z * z;
    let series = (1.0 + z * (1.0 / 3.0)) + z2 * ((1.0 / 5.0 + z * (1.0 / 7.0)) + z2 * (1.0 / 9.0 + z * (1.0 / 11.0)));
    (exponent, 2.0 * s * (series + z2 * z2 * z2 * (1.0 / 13.0)))
}

/// What a logarithm is where its argument is no positive number: `value` otherwise.
#[inline(always)]
fn log_special(x: f64, value: f64) -> f32 {
    let value = if x < f64::INFINITY { value } else { x };
    let value = if x > 0.0 { value } else { f64::NAN };
    (if x == 0.0 { f64::NEG_INFINITY } else { value }) as f32
}

/// ln(x) of a positive normal number.
#[inline(always)]
pub(super) fn log(x: f64) -> f64 {
    let (exponent, log_m) = log_parts(x);
    exponent * LN_2 + log_m
}

/// The angle less a multiple of pi/2, and that multiple in the low two bits. |x| below 1e8.
#[inline(always)]
fn reduce_angle(x: f64) -> (f64, u64) {
    const PIO2: f64 = 1.570_796_310_901_641_8; // the first 25 bits
    const PIO2_TAIL: f64 = 1.589_325_477_352_819_7e-8;
    let shifted = x * FRAC_2_PI + TO_INTEGER;
    let k = shifted - TO_INTEGER;
    ((x - k * PIO2) - k * PIO2_TAIL, shifted.to_bits())
}

#[inline(always)]
fn sin_near_zero(r: f64) -> f64 {
    let z = r * r;
    let w = z * z;
    let low = 1.0 + z * -0.166_666_666_416_265_24;
    r * (low + w * ((0.008_333_329_385_889_463 + z * -0.000_198_393_348_360_966_32) + w * 2.718_311_493_989_822e-6))
}

#[inline(always)]
fn cos_near_zero(r: f64) -> f64 {
    let z = r * r;
    let w = z * z;
    let low = 1.0 + z * -0.499_999_997_251_031;
    low + w * (0.041_666_623_323_739_06 + z * -0.001_388_676_377_460_993 + w * 2.439_044_879_627_741e-5)
}

/// Sine of the angle `quarters` quarter turns ahead.
#[inline(always)]
fn sin_ahead(x: f32, quarters: u64) -> f32 {
    let (r, k) = reduce_angle(f64::from(x));
    let k = k.wrapping_add(quarters);
    let value = if k & 1 == 0 { sin_near_zero(r) } else { cos_near_zero(r) };
    f64::from_bits(value.to_bits() ^ ((k & 2) << 62)) as f32
}

#[inline(always)]
fn is_huge_angle(x: f32) -> bool {
    x.abs() >= 1e8
}

op1!(
    /// e^x
    Exp: f32 => f32, |x| exp(clamp(f64::from(x), -110.0, 90.0)) as f32
);
op1!(
    /// 2^x
    Exp2: f32 => f32, |x| exp2(clamp(f64::from(x), -160.0, 130.0)) as f32
);
op1!(
    /// e^x - 1
    Expm1: f32 => f32, |x| {
        let x = f64::from(x);
        let far = exp(clamp(x, -110.0, 90.0)) - 1.0;
        (if x.abs() < 1e-4 { x * (1.0 + x * (0.5 + x * (1.0 / 6.0))) } else { far }) as f32
    }
);
op1!(
    /// ln(x)
    Log: f32 => f32, |x| log_special(f64::from(x), log(f64::from(x)))
);
op1!(
    /// log2(x); exact at powers of two.
    Log2: f32 => f32, |x| {
        let (exponent, log_m) = log_parts(f64::from(x));
        log_special(f64::from(x), exponent + log_m * LOG2_E)
    }
);
op1!(
    /// log10(x); exact at powers of ten.
    Log10: f32 => f32, |x| log_special(f64::from(x), log(f64::from(x)) * LOG10_E)
);
op1!(
    /// ln(1 + x)
    Log1p: f32 => f32, |x| {
        let x = f64::from(x);
        let far = log_special(1.0 + x, log(1.0 + x));
        if x.abs() < 1e-4 { (x * (1.0 - x * (0.5 - x * (1.0 / 3.0)))) as f32 } else { far }
    }
);
op1!(
    /// sin(x)
    Sin: f32 => f32, |x| sin_ahead(x, 0), hard is_huge_angle(x) => f64::from(x).sin() as f32
);
op1!(
    /// cos(x)
    Cos: f32 => f32, |x| sin_ahead(x, 1), hard is_huge_angle(x) => f64::from(x).cos() as f32
);
op1!(
    /// tan(x)
    Tan: f32 => f32, |x| {
        let (r, k) = reduce_angle(f64::from(x));
        let (sin, cos) = (sin_near_zero(r), cos_near_zero(r));
        (if k & 1 == 0 { sin / cos } else { -cos / sin }) as f32
    }, hard is_huge_angle(x) => f64::from(x).tan() as f32
);
op1!(
    /// sinh(x)
    Sinh: f32 => f32, |x| {
        let x = f64::from(x);
        let e = exp(clamp(x, -100.0, 100.0));
        let z = x * x;
        let near = x * (1.0 + z * (1.0 / 6.0 + z * (1.0 / 120.0 + z * (1.0 / 5040.0))));
        (if x.abs() < 0.25 { near } else { 0.5 * (e - 1.0 / e) }) as f32
    }
);
op1!(
    /// cosh(x)
    Cosh: f32 => f32, |x| {
        let e = exp(clamp(f64::from(x), -100.0, 100.0));
        (0.5 * (e + 1.0 / e)) as f32
    }
);
op1!(
    /// tanh(x)
    Tanh: f32 => f32, |x| {
        let x = f64::from(x);
        let e = exp(clamp(2.0 * x, -60.0, 60.0));
        let z = x * x;
        let near = x * (1.0 - z * (1.0 / 3.0 - z * (2.0 / 15.0)));
        (if x.abs() < 0.03 { near } else { (e - 1.0) / (e + 1.0) }) as f32
    }
);

/// x to the power y.
pub struct Pow;

impl Map2 for Pow {
    type A = f32;
    type R = f32;
    const PARTIAL: bool = true;
    #[inline(always)]
    fn apply(x: f32, y: f32) -> f32 {
        let (exponent, log_m) = log_parts(f64::from(x));
        exp2(clamp(f64::from(y) * (exponent + log_m * LOG2_E), -160.0, 130.0)) as f32
    }
    #[inline(always)]
    fn is_hard(x: f32, y: f32) -> bool {
        !((x > 0.0) & (x < f32::INFINITY) & (y.abs() < f32::INFINITY))
    }
    #[inline(never)]
    fn apply_hard(x: f32, y: f32) -> f32 {
        x.powf(y)
    }
}
