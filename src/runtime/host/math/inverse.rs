//! Inverse functions of f32, computed in f64: of sine, cosine, tangent and their hyperbolic twins.
//!
//! Sources: Taylor series after one halving of the angle (Cephes `atan.c` reduces at tan(pi/8) too), and the textbook
//! identities, which lose nothing that f32 could hold when they are evaluated in f64.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

use super::single::log;
use crate::runtime::host::ops::apply::op1;

/// The angle whose tangent is x >= 0, infinity included.
#[inline(always)]
fn atan(x: f64) -> f64 {
    const TAN_PI_8: f64 = 0.414_213_562_373_095_03;
    let steep = x > 1.0;
    let t = if steep { 1.0 / x } else { x };
    let large = t > TAN_PI_8;
    let t = if large { (t - 1.0) / (t + 1.0) } else { t };
    let z = t * t;
    let z2 = z * z;
    let z4 = z2 * z2;
    let low = (1.0 - z * (1.0 / 3.0)) + z2 * (1.0 / 5.0 - z * (1.0 / 7.0));
    let middle = (1.0 / 9.0 - z * (1.0 / 11.0)) + z2 * (1.0 / 13.0 - z * (1.0 / 15.0));
    let high = (1.0 / 17.0 - z * (1.0 / 19.0)) + z2 * (1.0 / 21.0 - z * (1.0 / 23.0));
    let angle = t * (low + z4 * (middle + z4 * high));
    let angle = if large { FRAC_PI_4 + angle } else { angle };
    if steep { FRAC_PI_2 - angle } else { angle }
}

op1!(
    /// atan(x)
    Atan: f32 => f32, |x| {
        let x = f64::from(x);
        atan(x.abs()).copysign(x) as f32
    }
);
op1!(
    /// asin(x); NaN outside -1 to 1.
    Asin: f32 => f32, |x| {
        let x = f64::from(x);
        let a = x.abs();
        atan(a / ((1.0 - a) * (1.0 + a)).sqrt()).copysign(x) as f32
    }
);
op1!(
    /// acos(x); NaN outside -1 to 1.
    Acos: f32 => f32, |x| {
        let x = f64::from(x);
        (2.0 * atan(((1.0 - x) / (1.0 + x)).sqrt())) as f32
    }
);
op1!(
    /// asinh(x)
    Asinh: f32 => f32, |x| {
        let x = f64::from(x);
        let a = x.abs();
        let z = a * a;
        let far = log(a + (z + 1.0).sqrt());
        let near = a * (1.0 - z * (1.0 / 6.0 - z * (3.0 / 40.0)));
        let value = if a < 1e-2 { near } else { far };
        (if a < f64::INFINITY { value } else { a }).copysign(x) as f32
    }
);
op1!(
    /// acosh(x); NaN below 1.
    Acosh: f32 => f32, |x| {
        let x = f64::from(x);
        let value = log(x + ((x - 1.0) * (x + 1.0)).sqrt());
        let value = if x < f64::INFINITY { value } else { x };
        (if x < 1.0 { f64::NAN } else { value }) as f32
    }
);
op1!(
    /// atanh(x); infinite at -1 and 1, NaN outside.
    Atanh: f32 => f32, |x| {
        let x = f64::from(x);
        let a = x.abs();
        let z = a * a;
        let far = 0.5 * log((1.0 + a) / (1.0 - a));
        let near = a * (1.0 + z * (1.0 / 3.0 + z * (1.0 / 5.0)));
        let value = if a < 1e-2 { near } else { far };
        let value = if a < 1.0 { value } else { f64::NAN };
        (if a == 1.0 { f64::INFINITY } else { value }).copysign(x) as f32
    }
);
