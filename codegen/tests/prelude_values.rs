//! The prelude's functions, run on an OpenCL CPU device and compared with Rust where C and hardware leave room for faults.

mod common;

use common::{
    Builder, INNER, at,
    opencl::{Argument, OpenCl},
};
use half::{bf16, f16};
use lazuli_codegen::{BinaryOp, DType, Dialect, EmitOptions, Expr, Kernel, Stmt, UnaryOp, Var, emit, verify_kernel};

/// Runs what `make` builds over inputs of the given types, one element a work-item, and returns the elements of each
/// value it returns; elements travel as their bits.
fn run(
    opencl: &OpenCl,
    inputs: &[(DType, &[u64])],
    make: impl FnOnce(&mut Builder, &mut Vec<Stmt>, &[Var]) -> Vec<Var>,
) -> Vec<Vec<u64>> {
    let mut k = Builder::new("values");
    let buffers: Vec<_> = inputs.iter().map(|&(dtype, _)| k.input(dtype)).collect();
    let here = at(None, &[(k.parallel(), None)]);
    let mut body = Vec::new();
    let loaded: Vec<Var> = buffers.iter().map(|&buffer| k.load(&mut body, buffer, &here, false)).collect();
    let results = make(&mut k, &mut body, &loaded);
    let outputs: Vec<DType> = results.iter().map(|&result| k.dtype(result)).collect();
    for (result, &dtype) in results.into_iter().zip(&outputs) {
        let out = k.output(dtype);
        k.store(&mut body, out, &here, result, false);
    }
    let kernel: Kernel = k.finish(body);
    verify_kernel(&kernel, &INNER).expect("a valid kernel");
    let source = emit(&kernel, &INNER, Dialect::OpenClC, &EmitOptions::default());
    let count = inputs[0].1.len();
    let grid = INNER.grid(&kernel, &[count as i64]);
    let local = [grid.group[0] as usize, grid.group[1] as usize];
    let global = [grid.groups[0] as usize * local[0], grid.groups[1] as usize * local[1]];
    let packed: Vec<Vec<u8>> = inputs.iter().map(|&(dtype, values)| pack(dtype, values)).collect();
    let mut results: Vec<Vec<u8>> = outputs.iter().map(|dtype| vec![0; count * dtype.size_bytes()]).collect();
    let extent = (count as i32).to_ne_bytes();
    let mut arguments: Vec<Argument<'_>> = packed.iter().map(|bytes| Argument::Input(bytes)).collect();
    arguments.extend(results.iter_mut().map(|result| Argument::Output(result)));
    arguments.push(Argument::Plain(&extent));
    opencl.run(&source.text, &source.entry, global, local, &mut arguments);
    outputs.iter().zip(&results).map(|(&dtype, result)| unpack(dtype, result)).collect()
}

/// Casts `values` to every type of `to`.
fn casts(opencl: &OpenCl, from: DType, values: &[u64], to: &[DType]) -> Vec<Vec<u64>> {
    run(opencl, &[(from, values)], |k, body, v| to.iter().map(|&to| k.value(body, to, Expr::Cast(v[0]))).collect())
}

fn pack(dtype: DType, values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()[..dtype.size_bytes()].to_vec()).collect()
}

fn unpack(dtype: DType, bytes: &[u8]) -> Vec<u64> {
    let element = |chunk: &[u8]| {
        let mut wide = [0; 8];
        wide[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(wide)
    };
    bytes.chunks(dtype.size_bytes()).map(element).collect()
}

fn device(test: &str) -> Option<OpenCl> {
    OpenCl::open().map_err(|reason| println!("SKIP {test}: {reason}")).ok()
}

const INTEGERS: [DType; 8] =
    [DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64];

fn bits(dtype: DType) -> u32 {
    dtype.size_bytes() as u32 * 8
}

/// The bits of a number, wrapped into the type.
fn wrapped(dtype: DType, value: i128) -> u64 {
    (value as u64) << (64 - bits(dtype)) >> (64 - bits(dtype))
}

fn range(dtype: DType) -> (i128, i128) {
    let all = 1_i128 << bits(dtype);
    if dtype.is_signed_integer() { (-all / 2, all / 2 - 1) } else { (0, all - 1) }
}

/// Ends, small numbers, widths of types, powers of two and a few in between.
fn edges(dtype: DType) -> Vec<i128> {
    let (least, largest) = range(dtype);
    let mut edges = vec![least, least + 1, least / 2, largest, largest - 1, largest / 2, largest / 3];
    edges.extend((-9..=9).chain([15, 16, 17, 31, 32, 33, 63, 64, 65, 100, -31, -32, -64]));
    edges.extend((8..64).flat_map(|power| [(1_i128 << power) - 1, 1 << power, (1 << power) + 1, -(1 << power)]));
    edges.retain(|&edge| (least..=largest).contains(&edge));
    edges.sort_unstable();
    edges.dedup();
    edges
}

fn pairs<T: Copy>(values: &[T]) -> (Vec<T>, Vec<T>) {
    values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).unzip()
}

fn integer_reference(op: BinaryOp, dtype: DType, a: i128, b: i128) -> i128 {
    let width = i128::from(bits(dtype));
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDivide | BinaryOp::Remainder if b == 0 => 0,
        BinaryOp::Div => a / b,
        BinaryOp::Rem => a % b,
        BinaryOp::FloorDivide => a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0),
        BinaryOp::Remainder => a - b * (a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0)),
        BinaryOp::Minimum => a.min(b),
        BinaryOp::Maximum => a.max(b),
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::Shl => {
            if (0..width).contains(&b) {
                a << b
            } else {
                0
            }
        }
        BinaryOp::Shr => {
            if (0..width).contains(&b) {
                a >> b
            } else {
                a >> 127
            }
        }
        other => panic!("{} is not compared", other.name()),
    }
}

#[test]
fn integers_never_trap_and_wrap() {
    let Some(opencl) = device("integers_never_trap_and_wrap") else { return };
    use BinaryOp::*;
    for dtype in INTEGERS {
        let (left, right) = pairs(&edges(dtype));
        let [a, b] = [&left, &right].map(|side| side.iter().map(|&value| wrapped(dtype, value)).collect::<Vec<_>>());
        let ops = [Add, Sub, Mul, Div, Rem, FloorDivide, Remainder, Minimum, Maximum, BitAnd, BitOr, BitXor, Shl, Shr];
        let results = run(&opencl, &[(dtype, &a), (dtype, &b)], |k, body, v| {
            ops.iter().map(|&op| k.binary(body, op, v[0], v[1])).collect()
        });
        for (op, results) in ops.into_iter().zip(results) {
            for ((&a, &b), result) in left.iter().zip(&right).zip(results) {
                let expected = wrapped(dtype, integer_reference(op, dtype, a, b));
                assert_eq!(result, expected, "{} of {a} and {b} in {dtype}", op.name());
            }
        }
        let mut ops = vec![UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Sign, UnaryOp::Not];
        ops.retain(|op| op.result(dtype).is_some());
        let results =
            run(&opencl, &[(dtype, &a)], |k, body, v| ops.iter().map(|&op| k.unary(body, op, v[0])).collect());
        for (op, results) in ops.iter().zip(results) {
            for (&a, result) in left.iter().zip(results) {
                let expected = match op {
                    UnaryOp::Neg => -a,
                    UnaryOp::Abs => a.abs(),
                    UnaryOp::Sign => a.signum(),
                    _ => !a,
                };
                assert_eq!(result, wrapped(dtype, expected), "{} of {a} in {dtype}", op.name());
            }
        }
    }
}

/// Rounds to `mantissa` bits after the point, the least exponent being `least`; every step is exact but the rounding.
fn round_once(x: f64, mantissa: i32, least: i32, largest: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    // A subnormal f64 lies below every unit used here.
    let exponent = if x.abs() < f64::MIN_POSITIVE { -1022 } else { ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023 };
    let unit = 2_f64.powi(exponent.max(least) - mantissa);
    let rounded = (x / unit).round_ties_even() * unit;
    if rounded.abs() > largest { f64::INFINITY.copysign(x) } else { rounded }
}

/// The bits of `x` in a float type, rounded once.
fn float_bits(dtype: DType, x: f64) -> u64 {
    match dtype {
        DType::F16 => u64::from(f16::from_f64(round_once(x, 10, -14, 65504.0)).to_bits()),
        DType::BF16 => u64::from(bf16::from_f64(round_once(x, 7, -126, f64::from(bf16::MAX))).to_bits()),
        DType::F32 => u64::from((x as f32).to_bits()),
        _ => x.to_bits(),
    }
}

fn float(dtype: DType, value: u64) -> f64 {
    match dtype {
        DType::F16 => f16::from_bits(value as u16).to_f64(),
        DType::BF16 => bf16::from_bits(value as u16).to_f64(),
        DType::F32 => f64::from(f32::from_bits(value as u32)),
        _ => f64::from_bits(value),
    }
}

fn assert_same_float(dtype: DType, result: u64, expected: u64, what: impl FnOnce() -> String) {
    if float(dtype, expected).is_nan() {
        assert!(float(dtype, result).is_nan(), "{}: {result:x}, not NaN", what());
    } else {
        assert_eq!(result, expected, "{}: {:e}, not {:e}", what(), float(dtype, result), float(dtype, expected));
    }
}

/// Floats near every integer type's ends, near ties of f16 and bf16, and patterns from all over.
fn float_patterns(dtype: DType) -> Vec<u64> {
    let mut values =
        vec![0.0, 0.5, 1.5, 2.5, 0.9, 127.5, 255.5, 256.5, 3e9, 1e20, 1e300, 65519.9, 65520.0, 3.4e38, 1e-40];
    values.extend((0..128).map(|power| 2_f64.powi(power)));
    values.extend((0..150).map(|power| 2_f64.powi(-power)));
    values.extend([f64::INFINITY, f64::NAN]);
    let mut patterns: Vec<u64> = Vec::new();
    for value in values.into_iter().flat_map(|value| [value, -value]) {
        let pattern = float_bits(dtype, value);
        patterns.extend([pattern.wrapping_sub(1), pattern, pattern.wrapping_add(1)]);
    }
    if dtype == DType::F64 {
        // Just beside what f32 rounds onto a tie of bf16 or f16: here two roundings go wrong.
        for power in [-140, -130, -30, -20, -14, 0, 5, 15, 60, 127] {
            for (mantissa, step) in [(7, 8), (10, 11)] {
                for odd in [1.0, 2.0, 3.0, 100.0] {
                    let tie = 2_f64.powi(power) * (1.0 + odd * 2_f64.powi(-mantissa) + 2_f64.powi(-step));
                    let tie = tie.to_bits();
                    patterns.extend([tie - 1, tie, tie + 1, tie - (1 << 20), tie + (1 << 20), tie | (1 << 63) | 1]);
                }
            }
        }
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..20_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        patterns.push(state ^ (state >> 29));
    }
    let mask = u64::MAX >> (64 - bits(dtype));
    patterns.iter_mut().for_each(|pattern| *pattern &= mask);
    patterns
}

const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

#[test]
fn floats_saturate_into_integers() {
    let Some(opencl) = device("floats_saturate_into_integers") else { return };
    for from in FLOATS {
        let values = float_patterns(from);
        for (to, results) in INTEGERS.into_iter().zip(casts(&opencl, from, &values, &INTEGERS)) {
            let (least, largest) = range(to);
            for (&value, result) in values.iter().zip(results) {
                let expected = wrapped(to, (float(from, value) as i128).clamp(least, largest));
                assert_eq!(result, expected, "{:e} of {from} as {to}", float(from, value));
            }
        }
        let results = casts(&opencl, from, &values, &[DType::Bool]).remove(0);
        for (&value, result) in values.iter().zip(results) {
            assert_eq!(result, u64::from(float(from, value) != 0.0), "{:e} of {from} as bool", float(from, value));
        }
    }
}

#[test]
fn floats_round_once() {
    let Some(opencl) = device("floats_round_once") else { return };
    for from in FLOATS {
        let values = float_patterns(from);
        for (to, results) in FLOATS.into_iter().zip(casts(&opencl, from, &values, &FLOATS)) {
            for (&value, result) in values.iter().zip(results) {
                let expected = float_bits(to, float(from, value));
                assert_same_float(to, result, expected, || format!("{:e} of {from} as {to}", float(from, value)));
            }
        }
    }
}

#[test]
fn integers_round_once() {
    let Some(opencl) = device("integers_round_once") else { return };
    for from in INTEGERS {
        let mut values = edges(from);
        let (least, largest) = range(from);
        // Ties of bf16 (8 bits) and f32 (24), and their neighbours.
        for power in 8..64 {
            for (bits, odd) in [(8, 129_i128), (8, 130), (8, 255), (24, (1 << 23) + 1), (24, (1 << 24) - 1)] {
                if power > bits {
                    let tie = (odd << (power - bits)) + (1 << (power - bits - 1));
                    values.extend([tie - 1, tie, tie + 1, -tie - 1, -tie, -tie + 1]);
                }
            }
        }
        values.retain(|value| (least..=largest).contains(value));
        let patterns: Vec<u64> = values.iter().map(|&value| wrapped(from, value)).collect();
        for (to, results) in FLOATS.into_iter().zip(casts(&opencl, from, &patterns, &FLOATS)) {
            for (&value, result) in values.iter().zip(results) {
                let expected = match to {
                    DType::F32 => u64::from((value as f32).to_bits()),
                    DType::F64 => (value as f64).to_bits(),
                    _ => float_bits(to, odd_f64(value)),
                };
                assert_same_float(to, result, expected, || format!("{value} of {from} as {to}"));
            }
        }
        for (to, results) in INTEGERS.into_iter().zip(casts(&opencl, from, &patterns, &INTEGERS)) {
            for (&value, result) in values.iter().zip(results) {
                assert_eq!(result, wrapped(to, value), "{value} of {from} as {to}");
            }
        }
    }
}

/// An integer as an f64 of which rounding to a narrower type is the rounding of the integer: bits lost leave a trace.
fn odd_f64(value: i128) -> f64 {
    let beyond = (128 - value.unsigned_abs().leading_zeros() as i32 - 53).max(0);
    let (top, rest) = (value.abs() >> beyond, value.abs() & ((1 << beyond) - 1));
    let top = (top | i128::from(rest != 0)) as f64 * 2_f64.powi(beyond);
    if value < 0 { -top } else { top }
}

#[test]
fn halves_keep_every_pattern() {
    let Some(opencl) = device("halves_keep_every_pattern") else { return };
    let all: Vec<u64> = (0..=0xffff).collect();
    for dtype in [DType::F16, DType::BF16] {
        let results = run(&opencl, &[(dtype, &all)], |k, body, v| {
            vec![k.value(body, DType::F32, Expr::Cast(v[0])), k.unary(body, UnaryOp::Neg, v[0])]
        });
        for ((&pattern, &widened), &negated) in all.iter().zip(&results[0]).zip(&results[1]) {
            let value = float(dtype, pattern);
            assert_same_float(DType::F32, widened, u64::from((value as f32).to_bits()), || format!("{pattern:x}"));
            assert_same_float(dtype, negated, pattern ^ 0x8000, || format!("minus {pattern:x}"));
        }
    }
}

#[test]
fn halves_round_after_every_operation() {
    let Some(opencl) = device("halves_round_after_every_operation") else { return };
    for dtype in [DType::F16, DType::BF16] {
        let all = float_patterns(dtype);
        let (a, b): (Vec<u64>, Vec<u64>) = all.windows(2).map(|pair| (pair[0], pair[1])).unzip();
        let ops = [BinaryOp::Add, BinaryOp::Mul, BinaryOp::Div];
        let results = run(&opencl, &[(dtype, &a), (dtype, &b)], |k, body, v| {
            ops.iter().map(|&op| k.binary(body, op, v[0], v[1])).collect()
        });
        for (op, results) in ops.into_iter().zip(results) {
            for ((&a, &b), result) in a.iter().zip(&b).zip(results) {
                let (x, y) = (float(dtype, a) as f32, float(dtype, b) as f32);
                let wide = match op {
                    BinaryOp::Add => x + y,
                    BinaryOp::Mul => x * y,
                    _ => x / y,
                };
                let expected = float_bits(dtype, f64::from(wide));
                assert_same_float(dtype, result, expected, || format!("{} of {x:e} and {y:e}", op.name()));
            }
        }
    }
}

#[test]
fn halves_multiply_and_add_with_one_rounding() {
    let Some(opencl) = device("halves_multiply_and_add_with_one_rounding") else { return };
    let fused = |dtype: DType, columns: &[Vec<u64>; 3]| {
        let inputs = columns.each_ref().map(|column| (dtype, column.as_slice()));
        run(&opencl, &inputs, |k, body, v| vec![k.value(body, dtype, Expr::MulAdd(v[0], v[1], v[2]))]).remove(0)
    };
    for dtype in [DType::F16, DType::BF16] {
        let (mut a, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new());
        let all = float_patterns(dtype);
        for (at, &pattern) in all.iter().enumerate() {
            let other = all[at * 7919 % all.len()];
            let product = float(dtype, pattern) * float(dtype, other);
            // Sums of all sizes, and products far above and far below the addend, near its ties.
            for addend in
                [all[at * 104_729 % all.len()], float_bits(dtype, product), float_bits(dtype, product / 3e4), 1]
            {
                a.push(pattern);
                b.push(other);
                c.push(addend);
            }
        }
        let columns = [a, b, c];
        for (at, &result) in fused(dtype, &columns).iter().enumerate() {
            let [a, b, c] = columns.each_ref().map(|column| float(dtype, column[at]));
            let product = (a as f32) * (b as f32);
            let is_exact = f64::from(product) == a * b;
            if !(a * b + c).is_finite() || !is_exact {
                continue;
            }
            // In f64, then with the last bit set where that is not exact.
            let (product, sum) = (a * b, a * b + c);
            let from_c = sum - product;
            let error = (product - (sum - from_c)) + (c - from_c);
            let toward = if (error > 0.0) == (sum > 0.0) { 1 } else { u64::MAX };
            let is_even = sum.to_bits() & 1 == 0;
            let odd = if error != 0.0 && is_even { f64::from_bits(sum.to_bits().wrapping_add(toward)) } else { sum };
            assert_same_float(dtype, result, float_bits(dtype, odd), || format!("{a:e} * {b:e} + {c:e} in {dtype}"));
        }
    }
    let [a, b, c] = [9.25, -2.71875, 1.192_092_9e-7].map(|value| vec![float_bits(DType::F16, value)]);
    assert_eq!(float(DType::F16, fused(DType::F16, &[a, b, c])[0]), -25.140_625);
}

/// NumPy's `npy_divmod` in f64, for operands whose quotient is far from f64's limits.
fn numpy_divmod(a: f64, b: f64) -> (f64, f64) {
    let mut rest = a % b;
    if b == 0.0 {
        return (a / b, rest);
    }
    let mut quotient = (a - rest) / b;
    if rest != 0.0 {
        if (b < 0.0) != (rest < 0.0) {
            rest += b;
            quotient -= 1.0;
        }
    } else {
        rest = 0_f64.copysign(b);
    }
    if quotient == 0.0 {
        return (0_f64.copysign(a / b), rest);
    }
    let floor = quotient.floor();
    (if quotient - floor > 0.5 { floor + 1.0 } else { floor }, rest)
}

#[test]
fn float_division_floors_as_numpy() {
    let Some(opencl) = device("float_division_floors_as_numpy") else { return };
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        5.0,
        -5.0,
        7.0,
        -7.0,
        0.1,
        -0.1,
        0.3,
        1e-3,
        1e10,
        -1e10,
        1e-310,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let (left, right) = pairs(&values);
    let [a, b] = [&left, &right].map(|side| side.iter().map(|value| value.to_bits()).collect::<Vec<_>>());
    let inputs = [(DType::F64, a.as_slice()), (DType::F64, b.as_slice())];
    let results = run(&opencl, &inputs, |k, body, v| {
        [BinaryOp::FloorDivide, BinaryOp::Remainder].map(|op| k.binary(body, op, v[0], v[1])).to_vec()
    });
    for ((&a, &b), (&quotient, &rest)) in left.iter().zip(&right).zip(results[0].iter().zip(&results[1])) {
        let expected = numpy_divmod(a, b);
        assert_same_float(DType::F64, quotient, expected.0.to_bits(), || format!("{a:e} // {b:e}"));
        assert_same_float(DType::F64, rest, expected.1.to_bits(), || format!("{a:e} % {b:e}"));
    }
}

#[test]
fn nan_propagates_and_is_found() {
    let Some(opencl) = device("nan_propagates_and_is_found") else { return };
    let values = [0.0_f32, -0.0, 1.0, -1.0, 1e-45, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN];
    let (left, right) = pairs(&values);
    let [a, b] = [&left, &right].map(|side| side.iter().map(|value| u64::from(value.to_bits())).collect::<Vec<_>>());
    for (op, picks_left) in [
        (BinaryOp::Minimum, (|a, b| a < b) as fn(f32, f32) -> bool),
        (BinaryOp::Maximum, (|a, b| a > b) as fn(f32, f32) -> bool),
    ] {
        let results =
            run(&opencl, &[(DType::F32, &a), (DType::F32, &b)], |k, body, v| vec![k.binary(body, op, v[0], v[1])]);
        for ((&a, &b), &result) in left.iter().zip(&right).zip(&results[0]) {
            let expected = if a.is_nan() || picks_left(a, b) { a } else { b };
            assert_same_float(DType::F32, result, u64::from(expected.to_bits()), || format!("{} {a} {b}", op.name()));
        }
    }
    let results = run(&opencl, &[(DType::F32, &a)], |k, body, v| {
        [UnaryOp::IsNan, UnaryOp::IsInf, UnaryOp::IsFinite, UnaryOp::Sign].map(|op| k.unary(body, op, v[0])).to_vec()
    });
    for (number, &a) in left.iter().enumerate() {
        let tests = [a.is_nan(), a.is_infinite(), a.is_finite()].map(u64::from);
        assert_eq!([0, 1, 2].map(|test: usize| results[test][number]), tests, "tests of {a}");
        let sign = if a == 0.0 || a.is_nan() { a } else { a.signum() };
        assert_same_float(DType::F32, results[3][number], u64::from(sign.to_bits()), || format!("sign of {a}"));
    }
}
