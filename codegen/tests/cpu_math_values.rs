//! The f32 functions that kernels for CPUs have written out, run on an OpenCL CPU device: how near they come to f64's, what
//! they make of special values, and that a value does not depend on what else is in its kernel.

mod common;

use std::f32::consts::{FRAC_1_SQRT_2, FRAC_PI_2, PI, SQRT_2};

use common::{
    Builder, INNER, at,
    opencl::OpenCl,
    run::{bytes, floats, run_source},
};
use lazuli_codegen::{
    BinaryOp, DType, Dialect, EmitOptions, Placement, Schedule, Source, UnaryOp, Var, emit, verify_kernel,
};

const CPU_MATH: EmitOptions = EmitOptions { contraction: false, cpu_math: true };

/// The largest error in units in the last place.
const ULP: f64 = 0.53;

unsafe extern "C" {
    safe fn erf(x: f64) -> f64;
    safe fn erfc(x: f64) -> f64;
}

type Unary = fn(f64) -> f64;
type Binary = fn(f64, f64) -> f64;

#[rustfmt::skip]
const UNARY: [(UnaryOp, Unary); 22] = [
    (UnaryOp::Cbrt, f64::cbrt), (UnaryOp::Exp, f64::exp), (UnaryOp::Exp2, f64::exp2), (UnaryOp::Expm1, f64::exp_m1),
    (UnaryOp::Log, f64::ln), (UnaryOp::Log2, f64::log2), (UnaryOp::Log10, f64::log10), (UnaryOp::Log1p, f64::ln_1p),
    (UnaryOp::Sin, f64::sin), (UnaryOp::Cos, f64::cos), (UnaryOp::Tan, f64::tan), (UnaryOp::Asin, f64::asin),
    (UnaryOp::Acos, f64::acos), (UnaryOp::Atan, f64::atan), (UnaryOp::Sinh, f64::sinh), (UnaryOp::Cosh, f64::cosh),
    (UnaryOp::Tanh, f64::tanh), (UnaryOp::Asinh, asinh), (UnaryOp::Acosh, acosh), (UnaryOp::Atanh, atanh),
    (UnaryOp::Erf, |x| erf(x)), (UnaryOp::Erfc, |x| erfc(x)),
];

const BINARY: [(BinaryOp, Binary); 3] =
    [(BinaryOp::Pow, f64::powf), (BinaryOp::Atan2, f64::atan2), (BinaryOp::Hypot, f64::hypot)];

/// std's lose digits near zero and near one.
fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let value = if a > 1e100 { a.ln() + std::f64::consts::LN_2 } else { (a + a * a / (1.0 + a.hypot(1.0))).ln_1p() };
    (if a == f64::INFINITY { a } else { value }).copysign(x)
}

fn acosh(x: f64) -> f64 {
    let less = x - 1.0;
    if less < 0.0 { f64::NAN } else { (less + (less * less + 2.0 * less).sqrt()).ln_1p() }
}

fn atanh(x: f64) -> f64 {
    (0.5 * (2.0 * x.abs() / (1.0 - x.abs())).ln_1p()).copysign(x)
}

/// Runs what `make` builds over f32 inputs; `edit` may change the text.
fn run(
    opencl: &OpenCl,
    schedule: &Schedule,
    inputs: &[&[f32]],
    edit: impl Fn(&str) -> String,
    make: impl FnOnce(&mut Builder, &mut Vec<lazuli_codegen::Stmt>, &[Var]) -> Vec<Var>,
) -> Vec<Vec<f32>> {
    let mut k = Builder::new("values");
    let buffers: Vec<_> = inputs.iter().map(|_| k.input(DType::F32)).collect();
    let here = at(None, &[(k.parallel(), None)]);
    let mut body = Vec::new();
    let loaded: Vec<Var> = buffers.iter().map(|&buffer| k.load(&mut body, buffer, &here, false)).collect();
    let results = make(&mut k, &mut body, &loaded);
    for &result in &results {
        let out = k.output(DType::F32);
        k.store(&mut body, out, &here, result, false);
    }
    let kernel = k.finish(body);
    verify_kernel(&kernel, schedule).expect("a valid kernel");
    let emitted = emit(&kernel, schedule, Dialect::OpenClC, &CPU_MATH);
    let source = Source { text: edit(&emitted.text), ..emitted };
    let count = inputs[0].len();
    let inputs: Vec<Vec<u8>> = inputs.iter().map(|values| bytes(values)).collect();
    let outputs = vec![count * 4; results.len()];
    let results = run_source(opencl, (&source, &kernel, schedule), &inputs, &outputs, &[count as i64], &[]);
    results.iter().map(|result| floats(result)).collect()
}

/// With the hardware's fused multiply-add, and as a CPU without one would run it.
const EDITS: [fn(&str) -> String; 2] = [str::to_owned, |text| format!("#undef __FMA__\n#undef FP_FAST_FMA\n{text}")];

/// How many units in the last place a result lies from the value; infinite where only one is NaN or a zero's sign is off.
fn distance(found: f32, value: f64) -> f64 {
    let rounded = value as f32;
    if found.to_bits() == rounded.to_bits() || (found.is_nan() && value.is_nan()) {
        return 0.0;
    }
    if found.is_nan() || value.is_nan() || (found == 0.0 && rounded == 0.0) {
        return f64::INFINITY;
    }
    let finite = |x: f64| x.clamp(-2_f64.powi(128), 2_f64.powi(128));
    let exponent = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    (finite(f64::from(found)) - finite(value)).abs() / 2_f64.powi(exponent.clamp(-126, 127) - 23)
}

/// Patterns from all over, and numbers about which something changes, with their neighbours.
fn patterns(stride: usize) -> Vec<f32> {
    let mut patterns: Vec<u32> = (0..=u32::MAX).step_by(stride).collect();
    #[rustfmt::skip]
    let mut numbers = vec![
        f32::INFINITY, f32::MAX, 0.25, 1.0, 3.0, 10.0, 100.0, 1000.0, 1e-4, 1e-2, 1e8, 0.346_573_6, 0.414_213_57, 2.414_213_7,
        FRAC_1_SQRT_2, SQRT_2, 9.2, 10.2, 88.722_84, 87.336_55, 103.972_08, 89.415_99, 127.0, 149.0, 150.0, FRAC_PI_2, PI,
        3.0 * FRAC_PI_2, 2.0 * PI, 11.0, 22.0, 355.0, 16_367_173.0 * 2_f32.powi(72), f32::NAN,
    ];
    numbers.extend((-149..128).map(|power| 2_f32.powi(power)));
    numbers.extend((-45..39).map(|power| format!("1e{power}").parse::<f32>().expect("a number")));
    for number in numbers {
        for step in [-1, 0, 1] {
            let pattern = number.to_bits().wrapping_add_signed(step);
            patterns.extend([pattern, pattern ^ 0x8000_0000]);
        }
    }
    patterns.into_iter().map(f32::from_bits).collect()
}

#[test]
fn functions_of_one_number_are_near() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP cpu_math_values: no OpenCL device") };
    let values = patterns(20_011);
    for edit in EDITS {
        let all =
            run(&opencl, &INNER, &[&values], edit, |k, body, v| UNARY.map(|(op, _)| k.unary(body, op, v[0])).to_vec());
        for ((op, reference), found) in UNARY.into_iter().zip(all) {
            for (&x, found) in values.iter().zip(found) {
                let value = reference(f64::from(x));
                assert!(distance(found, value) <= ULP, "{} of {x:e}: {found:e}, not {value:e}", op.name());
            }
        }
    }
}

#[test]
fn functions_of_two_numbers_are_near() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP cpu_math_values: no OpenCL device") };
    #[rustfmt::skip]
    let special = [
        0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 2.5, -2.5, 3.0, -3.0, 10.0, 0.999_999_94, 1.000_000_1, 1e-45, -1e-45, 1e30,
        8_388_607.5, -8_388_609.0, 16_777_215.0, -16_777_215.0, 16_777_216.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE,
        f32::INFINITY, f32::NEG_INFINITY, f32::NAN,
    ];
    let (mut a, mut b): (Vec<f32>, Vec<f32>) =
        special.iter().flat_map(|&a| special.iter().map(move |&b| (a, b))).unzip();
    let all = patterns(40_009);
    for (at, &x) in all.iter().enumerate() {
        a.extend([x, x, 0.01 + at as f32 / all.len() as f32 * 9.0]);
        let y = all[at * 7919 % all.len()];
        b.extend([y, y % 8.0, y % 32.0]);
    }
    for edit in EDITS {
        let all = run(&opencl, &INNER, &[&a, &b], edit, |k, body, v| {
            BINARY.map(|(op, _)| k.binary(body, op, v[0], v[1])).to_vec()
        });
        for ((op, reference), found) in BINARY.into_iter().zip(all) {
            for ((&x, &y), found) in a.iter().zip(&b).zip(found) {
                let value = reference(f64::from(x), f64::from(y));
                assert!(distance(found, value) <= ULP, "{} of {x:e} and {y:e}: {found:e}, not {value:e}", op.name());
            }
        }
    }
}

#[test]
fn a_value_does_not_depend_on_its_kernel() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP cpu_math_values: no OpenCL device") };
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
    let values: Vec<f32> = patterns(1_000_003).into_iter().filter(|value| !value.is_nan()).collect();
    let others: Vec<f32> = values.iter().rev().copied().collect();
    // All in one kernel, of two inputs each, in whole groups and one work-item at a time, which no loop makes a vector of.
    let one = Schedule::Map { group: 1, width: 1, placement: Placement::InnerAxis };
    let together = [INNER, one].map(|schedule| {
        run(&opencl, &schedule, &[&values, &others], str::to_owned, |k, body, v| {
            let unary = UNARY.iter().flat_map(|&(op, _)| [k.unary(body, op, v[0]), k.unary(body, op, v[1])]);
            let mut results: Vec<Var> = unary.collect();
            results.extend(BINARY.map(|(op, _)| k.binary(body, op, v[0], v[1])));
            results
        })
    });
    for (number, (op, _)) in UNARY.into_iter().enumerate() {
        let alone = run(&opencl, &INNER, &[&values], str::to_owned, |k, body, v| vec![k.unary(body, op, v[0])]);
        for together in &together {
            let mut turned = bits(&together[2 * number + 1]);
            turned.reverse();
            let expected = bits(&alone[0]);
            assert!(bits(&together[2 * number]) == expected && turned == expected, "{}", op.name());
        }
    }
    for (number, (op, _)) in BINARY.into_iter().enumerate() {
        let inputs: [&[f32]; 2] = [&values, &others];
        let alone = run(&opencl, &INNER, &inputs, str::to_owned, |k, body, v| vec![k.binary(body, op, v[0], v[1])]);
        for together in &together {
            assert!(bits(&together[2 * UNARY.len() + number]) == bits(&alone[0]), "{}", op.name());
        }
    }
}

#[test]
fn only_what_is_used_is_written() {
    let mut k = Builder::new("values");
    let (from, to) = (k.input(DType::F32), k.output(DType::F32));
    let here = at(None, &[(k.parallel(), None)]);
    let mut body = Vec::new();
    let x = k.load(&mut body, from, &here, false);
    let result = k.unary(&mut body, UnaryOp::Log2, x);
    k.store(&mut body, to, &here, result, false);
    let kernel = k.finish(body);
    let text = |dialect, options: &EmitOptions| emit(&kernel, &INNER, dialect, options).text;
    let with = text(Dialect::OpenClC, &CPU_MATH);
    assert!(with.contains("f64_log_near") && with.contains("f32_log2("), "{with}");
    assert!(!with.contains("sin") && !with.contains("f64_exp") && !with.contains("f32_log("), "{with}");
    assert!(text(Dialect::OpenClC, &EmitOptions::default()).contains("= log2(in0[i0]);"));
    assert_eq!(text(Dialect::CudaC, &CPU_MATH), text(Dialect::CudaC, &EmitOptions::default()));
}
