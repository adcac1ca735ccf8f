//! Methods of numbers: each means what Rust's of the same name means.

use lazuli::kernel::*;

use crate::common::{flat, on_fused};

const ODD: [f32; 16] = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.49999997,
    -3.7,
    7.25,
    1e10,
    -8388609.0,
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    1e-40,
];

both! {
    fn rounding(x: f32) -> f32 {
        let kinds = [x.round(), x.floor(), x.ceil(), x.trunc(), x.round_ties_even(), x.fract(), x.abs(), x.signum()];
        let mut hash = 0u32;
        for i in 0..kinds.len() {
            hash = hash.wrapping_mul(31) ^ (if kinds[i].is_nan() { 1u32 } else { kinds[i].to_bits() });
        }
        f32::from_bits(hash & 0x3fff_ffff)
    }
}

both! {
    fn one_sign(x: f32) -> f32 {
        if x.is_sign_negative() { -x.copysign(1.0) } else if x.is_sign_positive() { x.copysign(-2.0) } else { 9.0 }
    }
}

both! {
    fn choosing(x: f32, y: f32) -> f32 {
        let a = x.min(y);
        let b = f32::max(x, y);
        let c = x.clamp(-1.0, 2.0);
        // The sign of the lesser of two zeros is Rust's own to choose.
        if a == 0.0 || b == 0.0 { c } else { a * 3.0 + b + c }
    }
}

both! {
    fn exact_math(x: f32, y: f32) -> f32 {
        x.abs().sqrt() + x.mul_add(y, 1.0) + y.recip() + x.hypot(0.0) + x.powi(3) * x.powi(0) + x.rem_euclid(4.0)
            + x.div_euclid(4.0)
    }
}

both! {
    fn kinds_of_float(x: f32) -> i32 {
        x.is_nan() as i32 + x.is_infinite() as i32 * 10 + x.is_finite() as i32 * 100
    }
}

both! {
    fn double_bits(x: f64) -> u64 {
        x.to_bits() ^ f64::from_bits(x.to_bits() & 0x3fff_ffff_ffff_ffff).sqrt().to_bits()
    }
}

both! {
    fn unsigned_methods(x: u32, y: u32) -> u32 {
        let a = if y == 0 { 0 } else { x.div_ceil(y) };
        let b = if y == 0 { 0 } else { (x / 2).next_multiple_of(y) };
        a ^ b.rotate_left(7) ^ x.abs_diff(y) ^ (x.is_power_of_two() as u32) << 30
    }
}

both! {
    fn signed_methods(x: i32) -> i32 {
        let n = x.signum() * 3 + x.abs() % 1000;
        n + x.count_zeros() as i32 + i32::pow(2, 5) + i32::min(x, 4)
    }
}

#[test]
fn methods_that_are_exact_give_rusts_bits() {
    let pairs = ODD.iter().flat_map(|x| ODD.iter().map(|y| (*x, *y)));
    let (x, y): (Vec<f32>, Vec<f32>) = pairs.unzip();
    rounding::check(&ODD);
    one_sign::check(&ODD);
    choosing::check(&x, &y);
    kinds_of_float::check(&ODD);
    double_bits::check(&[0.0, 1.5, -2.25, 1e300, f64::INFINITY]);
    let finite = [0.5, -1.25, 3.0, 100.5, -7.75, 1.0];
    exact_math::check(&finite, &[2.0, 4.0, -0.5, 8.0, 1.0, -16.0]);
}

#[test]
fn methods_of_integers_are_rusts() {
    let edges = [0u32, 1, 2, 3, 8, 1000, 1 << 31, u32::MAX / 2];
    let pairs = edges.iter().flat_map(|x| [0u32, 1, 3, 7, 1024].into_iter().map(|y| (*x, y)));
    let (x, y): (Vec<u32>, Vec<u32>) = pairs.unzip();
    unsigned_methods::check(&x, &y);
    signed_methods::check(&[0, 1, -1, 5, -1000, i32::MAX, i32::MIN + 1]);
}

#[lazuli::kernel]
fn functions(x: &[f64], out: &mut [f64]) {
    let i = grid1();
    let n = x.len();
    if i < n {
        let v = x[i];
        let (sine, cosine) = v.sin_cos();
        out[i] = sine;
        out[n + i] = cosine;
        out[2 * n + i] = v.exp() + v.exp2() + v.exp_m1();
        out[3 * n + i] = v.ln() + v.log2() + v.log10() + v.ln_1p() + v.log(3.0);
        out[4 * n + i] = v.tan() + v.sinh() + v.cosh() + v.tanh() + v.asinh() + (v + 1.0).acosh();
        out[5 * n + i] = (v * 0.1).asin() + (v * 0.1).acos() + v.atan() + (v * 0.1).atanh() + v.atan2(2.0);
        out[6 * n + i] = v.cbrt() + v.powf(1.7) + v.powi(-2) + v.hypot(3.0) + v.powi(n as i32);
        out[7 * n + i] = v.erf() + v.erfc() + v.minimum(2.0) + v.maximum(3.0);
    }
}

#[test]
fn math_functions_have_the_names_of_rust() {
    let x: Vec<f64> = (1..60).map(|i| f64::from(i) * 0.11).collect();
    let n = x.len();
    let lines: [fn(f64, i32) -> f64; 8] = [
        |v, _| v.sin(),
        |v, _| v.cos(),
        |v, _| v.exp() + v.exp2() + v.exp_m1(),
        |v, _| v.ln() + v.log2() + v.log10() + v.ln_1p() + v.log(3.0),
        |v, _| v.tan() + v.sinh() + v.cosh() + v.tanh() + v.asinh() + (v + 1.0).acosh(),
        |v, _| (v * 0.1).asin() + (v * 0.1).acos() + v.atan() + (v * 0.1).atanh() + v.atan2(2.0),
        |v, n| v.cbrt() + v.powf(1.7) + v.powi(-2) + v.hypot(3.0) + v.powi(n),
        |v, _| 1.0 + v.min(2.0) + v.max(3.0),
    ];
    on_fused(|device| {
        let mut out = device.zeros::<f64>(8 * n);
        functions(&device.from_slice(&x).unwrap(), &mut out).forall(n).unwrap();
        for (line, ours) in flat(&out).chunks(n).enumerate() {
            for (ours, v) in ours.iter().zip(&x) {
                let expected = lines[line](*v, n as i32);
                let error = (ours - expected).abs() / expected.abs().max(1.0);
                assert!(error < 1e-13, "line {line} of {v}: {ours} and {expected}");
            }
        }
    });
}
