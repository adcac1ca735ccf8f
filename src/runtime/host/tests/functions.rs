//! Our elementary functions against the standard library's f64 ones, in ulps, and the two paths against each other.

use std::sync::atomic::Ordering;

use lazuli_codegen::{BinaryOp, DType, UnaryOp};

use crate::runtime::host::ops::{apply::PLAIN_ONLY, binary::binary, unary::unary};

fn unary_f32(op: UnaryOp, a: &[f32]) -> Vec<f32> {
    let mut to = vec![0f32; a.len()];
    let run = unary(op, DType::F32).unwrap();
    // SAFETY: as many elements as named, of the operation's types.
    unsafe { run(to.as_mut_ptr().cast(), a.as_ptr().cast(), a.len()) };
    to
}

fn unary_f64(op: UnaryOp, a: &[f64]) -> Vec<f64> {
    let mut to = vec![0f64; a.len()];
    let run = unary(op, DType::F64).unwrap();
    // SAFETY: as above.
    unsafe { run(to.as_mut_ptr().cast(), a.as_ptr().cast(), a.len()) };
    to
}

fn pow_f32(a: &[f32], b: &[f32]) -> Vec<f32> {
    let mut to = vec![0f32; a.len()];
    let run = binary(BinaryOp::Pow, DType::F32).unwrap();
    // SAFETY: as above.
    unsafe { run(to.as_mut_ptr().cast(), a.as_ptr().cast(), b.as_ptr().cast(), a.len()) };
    to
}

fn exact(op: UnaryOp, x: f64) -> f64 {
    match op {
        UnaryOp::Cbrt => x.cbrt(),
        UnaryOp::Exp => x.exp(),
        UnaryOp::Exp2 => x.exp2(),
        UnaryOp::Expm1 => x.exp_m1(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Log2 => x.log2(),
        UnaryOp::Log10 => x.log10(),
        UnaryOp::Log1p => x.ln_1p(),
        UnaryOp::Sin => x.sin(),
        UnaryOp::Cos => x.cos(),
        UnaryOp::Tan => x.tan(),
        UnaryOp::Asin => x.asin(),
        UnaryOp::Acos => x.acos(),
        UnaryOp::Atan => x.atan(),
        UnaryOp::Sinh => x.sinh(),
        UnaryOp::Cosh => x.cosh(),
        UnaryOp::Tanh => x.tanh(),
        UnaryOp::Asinh => libm::asinh(x),
        UnaryOp::Acosh if x < 1.0 => f64::NAN,
        UnaryOp::Acosh => libm::acosh(x),
        UnaryOp::Atanh => libm::atanh(x),
        UnaryOp::Erf => libm::erf(x),
        UnaryOp::Erfc => libm::erfc(x),
        other => panic!("{}", other.name()),
    }
}

const FUNCTIONS: [UnaryOp; 22] = {
    use UnaryOp::*;
    [
        Cbrt, Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh,
        Acosh, Atanh, Erf, Erfc,
    ]
};

/// Distance in units of the last place of the exact value; 0 where both are NaN or the same infinity.
fn ulps32(got: f32, want: f64) -> f64 {
    let rounded = want as f32;
    if got.to_bits() == rounded.to_bits() || (got.is_nan() && want.is_nan()) {
        return 0.0;
    }
    if !got.is_finite() || !rounded.is_finite() || (want == 0.0) {
        return f64::INFINITY;
    }
    let exponent = (want.abs().log2().floor() as i32).max(-126);
    (f64::from(got) - want).abs() / 2f64.powi(exponent - 23)
}

fn ulps64(got: f64, want: f64) -> f64 {
    if got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()) {
        return 0.0;
    }
    if !got.is_finite() || !want.is_finite() {
        return f64::INFINITY;
    }
    got.to_bits().abs_diff(want.to_bits()) as f64
}

/// Every so manieth f32, of all 2^32, and the special ones.
fn many_f32() -> Vec<f32> {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MAX,
        f32::MIN,
        1e8,
        -1e8,
        88.72,
        -103.97,
    ];
    let tiny = [f32::MIN_POSITIVE, -f32::MIN_POSITIVE, f32::from_bits(1), -f32::from_bits(1), 1e-40];
    let step = if cfg!(debug_assertions) { 40_009 } else { 2003 };
    special.into_iter().chain(tiny).chain((0..=u32::MAX).step_by(step).map(f32::from_bits)).collect()
}

#[test]
fn single_precision_is_within_an_ulp() {
    let a = many_f32();
    for op in FUNCTIONS {
        let limit = 0.52;
        let mut worst = (0.0, 0.0);
        for (&x, got) in a.iter().zip(unary_f32(op, &a)) {
            let ulps = ulps32(got, exact(op, f64::from(x)));
            assert!(ulps <= limit, "{} of {x:e} is {got:e}, not {:e}: {ulps} ulps", op.name(), exact(op, f64::from(x)));
            if ulps > worst.0 {
                worst = (ulps, x);
            }
        }
        println!("{:6} f32: {:.4} ulp at {:e}", op.name(), worst.0, worst.1);
    }
}

#[test]
fn single_precision_powers_are_within_an_ulp() {
    let a = many_f32();
    for by in [1usize, 77, 1001] {
        let b: Vec<f32> = (0..a.len()).map(|i| a[(i * by + 13) % a.len()]).collect();
        for ((&x, &y), got) in a.iter().zip(&b).zip(pow_f32(&a, &b)) {
            let want = f64::from(x).powf(f64::from(y));
            assert!(ulps32(got, want) <= 1.0, "{x:e} ** {y:e} is {got:e}, not {want:e}");
        }
    }
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for i in 0..200_000u32 {
        a.push(0.01 + i as f32 * 1e-4);
        b.push((i % 401) as f32 * 0.2 - 40.0);
    }
    for ((&x, &y), got) in a.iter().zip(&b).zip(pow_f32(&a, &b)) {
        let want = f64::from(x).powf(f64::from(y));
        assert!(ulps32(got, want) <= 0.53, "{x:e} ** {y:e} is {got:e}, not {want:e}");
    }
    assert_eq!(pow_f32(&[3.0, 2.0, 10.0, -2.0], &[2.0, 10.0, 3.0, 3.0]), [9.0, 1024.0, 1000.0, -8.0]);
}

#[test]
fn double_precision_is_within_two_ulps() {
    let mut a = vec![0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX, f64::MIN];
    a.extend([f64::MIN_POSITIVE, 5e-324, -5e-324, 1e-310, 1e6, 1e22, -745.2, -745.0, -708.5, 709.78, 709.79]);
    let step = if cfg!(debug_assertions) { 200_000_000_000_003 } else { 20_000_000_000_003 };
    a.extend((0..u64::MAX).step_by(step).map(f64::from_bits));
    // Where the functions live, and next to the multiples of pi/2.
    a.extend((0..200_000).map(|i| (f64::from(i) - 1e5) * 7.123e-3));
    a.extend((0..20_000).map(|i| f64::from(i) * std::f64::consts::FRAC_PI_2));
    a.extend((0..20_000).map(|i| 1.0 + (f64::from(i) - 1e4) * 1e-9));
    assert_eq!(unary_f64(UnaryOp::Exp, &[1.0]), [std::f64::consts::E]);
    for op in FUNCTIONS {
        let mut worst = (0.0, 0.0);
        for (&x, got) in a.iter().zip(unary_f64(op, &a)) {
            let ulps = ulps64(got, exact(op, x));
            assert!(ulps <= 2.0, "{} of {x:e} is {got:e}, not {:e}: {ulps} ulps", op.name(), exact(op, x));
            if ulps > worst.0 {
                worst = (ulps, x);
            }
        }
        println!("{:6} f64: {:.4} ulp at {:e}", op.name(), worst.0, worst.1);
    }
}

#[test]
fn both_paths_give_the_same_bits() {
    let a = many_f32();
    let b: Vec<f64> = a.iter().map(|&x| f64::from(x) * 1.000_000_1).collect();
    for op in UnaryOp::ALL.into_iter().filter(|op| op.result(DType::F32) == Some(DType::F32)) {
        let wide = (unary_f32(op, &a), unary_f64(op, &b));
        PLAIN_ONLY.store(true, Ordering::Relaxed);
        let plain = (unary_f32(op, &a), unary_f64(op, &b));
        PLAIN_ONLY.store(false, Ordering::Relaxed);
        let same32 = |(x, y): (&f32, &f32)| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
        let same64 = |(x, y): (&f64, &f64)| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
        assert!(wide.0.iter().zip(&plain.0).all(same32), "{}", op.name());
        assert!(wide.1.iter().zip(&plain.1).all(same64), "{}", op.name());
    }
}
