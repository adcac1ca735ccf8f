//! The error functions of f32, computed in f64.
//!
//! Source: FreeBSD msun `s_erf.c` (Sun Microsystems, 1993): the same four ranges and rational functions, with numerator and
//! denominator chosen before the one division.

use super::single::{clamp, exp};
use crate::runtime::host::ops::apply::op1;

const ERX: f64 = 8.450_629_115_104_675e-1;

/// Below 0.84375, for erf(x) = x + x * P(x^2) / Q(x^2).
const P_NEAR: [f64; 5] = [
    1.283_791_670_955_125_6e-1,
    -3.250_421_072_470_015e-1,
    -2.848_174_957_559_851e-2,
    -5.770_270_296_489_442e-3,
    -2.376_301_665_665_016_3e-5,
];
const Q_NEAR: [f64; 6] = [
    1.0,
    3.979_172_239_591_553_5e-1,
    6.502_224_998_876_73e-2,
    5.081_306_281_875_766e-3,
    1.324_947_380_043_216_4e-4,
    -3.960_228_278_775_368e-6,
];
/// From 0.84375 to 1.25, for erf(x) = ERX + P(x - 1) / Q(x - 1).
const P_MIDDLE: [f64; 7] = [
    -2.362_118_560_752_659_4e-3,
    4.148_561_186_837_483_3e-1,
    -3.722_078_760_357_013e-1,
    3.183_466_199_011_617_5e-1,
    -1.108_946_942_823_966_8e-1,
    3.547_830_432_561_823_6e-2,
    -2.166_375_594_868_791e-3,
];
const Q_MIDDLE: [f64; 7] = [
    1.0,
    1.064_208_804_008_442_3e-1,
    5.403_979_177_021_71e-1,
    7.182_865_441_419_627e-2,
    1.261_712_198_087_616_4e-1,
    1.363_708_391_202_905e-2,
    1.198_449_984_679_910_7e-2,
];
/// From 1.25 to 1/0.35, for erfc(x) = exp(-x^2 - 0.5625 + P(1/x^2) / Q(1/x^2)) / x.
const P_FAR: [f64; 8] = [
    -9.864_944_034_847_148e-3,
    -6.938_585_727_071_818e-1,
    -1.055_862_622_532_329_1e1,
    -6.237_533_245_032_601e1,
    -1.623_966_694_625_734_7e2,
    -1.846_050_929_067_110_4e2,
    -8.128_743_550_630_66e1,
    -9.814_329_344_169_145,
];
const Q_FAR: [f64; 9] = [
    1.0,
    1.965_127_166_743_925_7e1,
    1.376_577_541_435_190_4e2,
    4.345_658_774_752_292_3e2,
    6.453_872_717_332_679e2,
    4.290_081_400_275_678_3e2,
    1.086_350_055_417_794_4e2,
    6.570_249_770_319_282,
    -6.042_441_521_485_81e-2,
];
/// The same from 1/0.35 on.
const P_FARTHEST: [f64; 7] = [
    -9.864_942_924_700_1e-3,
    -7.992_832_376_805_23e-1,
    -1.775_795_491_775_475_2e1,
    -1.606_363_848_558_219_2e2,
    -6.375_664_433_683_896e2,
    -1.025_095_131_611_077_2e3,
    -4.835_191_916_086_514e2,
];
const Q_FARTHEST: [f64; 8] = [
    1.0,
    3.033_806_074_348_246e1,
    3.257_925_129_965_739e2,
    1.536_729_586_084_437e3,
    3.199_858_219_508_595_5e3,
    2.553_050_406_433_164_4e3,
    4.745_285_412_069_554e2,
    -2.244_095_244_658_582e1,
];

#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let mut value = coefficients[N - 1];
    for at in (0..N - 1).rev() {
        value = value * x + coefficients[at];
    }
    value
}

/// erf and erfc of |x|.
#[inline(always)]
fn both(a: f64) -> (f64, f64) {
    // Past 30 both are at their limits, in f32 and far beyond.
    let a = clamp(a, 0.0, 30.0);
    let (square, shifted, inverse) = (a * a, a - 1.0, 1.0 / (a * a));
    let (near, middle, far) = (a < 0.84375, a < 1.25, a < 1.0 / 0.35);
    let choose = |first: f64, second: f64, third: f64, fourth: f64| {
        let rest = if far { third } else { fourth };
        let rest = if middle { second } else { rest };
        if near { first } else { rest }
    };
    let p = choose(
        polynomial(square, &P_NEAR),
        polynomial(shifted, &P_MIDDLE),
        polynomial(inverse, &P_FAR),
        polynomial(inverse, &P_FARTHEST),
    );
    let q = choose(
        polynomial(square, &Q_NEAR),
        polynomial(shifted, &Q_MIDDLE),
        polynomial(inverse, &Q_FAR),
        polynomial(inverse, &Q_FARTHEST),
    );
    let ratio = p / q;
    let tail = exp(clamp(-square - 0.5625 + ratio, -115.0, 0.0)) / a;
    let low = if near { a + a * ratio } else { ERX + ratio };
    if middle { (low, 1.0 - low) } else { (1.0 - tail, tail) }
}

op1!(
    /// The error function.
    Erf: f32 => f32, |x| {
        let x = f64::from(x);
        both(x.abs()).0.copysign(x) as f32
    }
);
op1!(
    /// 1 - erf(x), without the cancellation.
    Erfc: f32 => f32, |x| {
        let x = f64::from(x);
        let (erf, erfc) = both(x.abs());
        (if x < 0.0 { 1.0 + erf } else { erfc }) as f32
    }
);
