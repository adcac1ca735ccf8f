//! Every operation on every type it is defined for, on the values where things go wrong, against plain scalar Rust.

use half::{bf16, f16};
use lazuli_codegen::*;

use super::build::*;
use crate::dtype::Element;
use crate::runtime::host::HostRuntime;

/// Runs `fill` on vectors of one type.
fn apply<A: Element, R: Element>(operands: &[&[A]], fill: impl FnOnce(&mut Build, &[Var]) -> Var) -> Vec<R> {
    let n = operands[0].len();
    let mut k = Build::new();
    let i = k.parallel(n as i64);
    let buffers: Vec<BufferId> = operands.iter().map(|_| k.input(A::DTYPE)).collect();
    let values: Vec<Var> = buffers
        .into_iter()
        .map(|buffer| {
            let at = k.at(0, &[(i, 1)]);
            k.load(buffer, at)
        })
        .collect();
    let out = k.output(R::DTYPE);
    let value = fill(&mut k, &values);
    let at = k.at(0, &[(i, 1)]);
    k.store(out, at, value);
    let runtime = HostRuntime::new();
    let memory: Vec<_> = operands.iter().map(|operand| upload(&runtime, operand)).collect();
    let memory: Vec<_> = memory.iter().map(|memory| &**memory).collect();
    run(k, MAP, &memory, n)
}

/// All pairs of the values.
fn pairs<T: Copy>(values: &[T]) -> (Vec<T>, Vec<T>) {
    values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).unzip()
}

/// Equal bits, or both NaN.
fn same<T: Element>(a: T, b: T) -> bool {
    let is_nan = |x: T| format!("{x}") == "NaN";
    a.to_scalar() == b.to_scalar() || (is_nan(a) && is_nan(b))
}

fn check<A: Element, R: Element>(what: &str, a: &[A], b: &[A], got: &[R], want: impl Fn(A, A) -> R) {
    for ((&a, &b), &got) in a.iter().zip(b).zip(got) {
        let want = want(a, b);
        assert!(same(got, want), "{what} of {} {a} {b}: {got} instead of {want}", A::DTYPE);
    }
}

macro_rules! integer_operations {
    ($($name:ident: $type:ident),+) => { $(
        #[test]
        fn $name() {
            const BITS: i128 = $type::BITS as i128;
            let wrap = |x: i128| x as $type;
            let mut values: Vec<$type> = vec![0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 100, $type::MAX, $type::MAX - 1, $type::MIN, $type::MIN + 1];
            values.extend([-1i128, -2, -3, -7, -100, 15, 16].map(wrap));
            let (a, b) = pairs(&values);
            for op in BinaryOp::ALL.into_iter().filter(|op| op.result($type::DTYPE).is_some()) {
                if op.is_comparison() {
                    let got: Vec<bool> = apply(&[&a, &b], |k, v| k.binary(op, v[0], v[1]));
                    check(op.name(), &a, &b, &got, |a, b| match op {
                        BinaryOp::Eq => a == b,
                        BinaryOp::Ne => a != b,
                        BinaryOp::Lt => a < b,
                        BinaryOp::Le => a <= b,
                        BinaryOp::Gt => a > b,
                        _ => a >= b,
                    });
                    continue;
                }
                let got: Vec<$type> = apply(&[&a, &b], |k, v| k.binary(op, v[0], v[1]));
                check(op.name(), &a, &b, &got, |a, b| {
                    let (x, y) = (a as i128, b as i128);
                    wrap(match op {
                        BinaryOp::Add => x + y,
                        BinaryOp::Sub => x - y,
                        BinaryOp::Mul => return a.wrapping_mul(b),
                        BinaryOp::Div => if y == 0 { 0 } else { x / y },
                        BinaryOp::Rem => if y == 0 { 0 } else { x % y },
                        BinaryOp::FloorDivide => if y == 0 { 0 } else { (x / y) - i128::from(x % y != 0 && (x < 0) != (y < 0)) },
                        BinaryOp::Remainder => if y == 0 { 0 } else { ((x % y) + y) % y },
                        BinaryOp::Minimum => x.min(y),
                        BinaryOp::Maximum => x.max(y),
                        BinaryOp::BitAnd => x & y,
                        BinaryOp::BitOr => x | y,
                        BinaryOp::BitXor => x ^ y,
                        BinaryOp::Shl => if (0..BITS).contains(&y) { x << y } else { 0 },
                        BinaryOp::Shr => if (0..BITS).contains(&y) { x >> y } else if x < 0 { -1 } else { 0 },
                        other => panic!("{}", other.name()),
                    })
                });
            }
            for op in UnaryOp::ALL.into_iter().filter(|op| op.result($type::DTYPE).is_some()) {
                let got: Vec<$type> = apply(&[&a], |k, v| k.unary(op, v[0]));
                check(op.name(), &a, &a, &got, |a, _| {
                    let x = a as i128;
                    wrap(match op {
                        UnaryOp::Neg => -x,
                        UnaryOp::Abs => x.abs(),
                        UnaryOp::Sign => x.signum(),
                        UnaryOp::Not => !x,
                        other => panic!("{}", other.name()),
                    })
                });
            }
        }
    )+ };
}

integer_operations!(
    operations_on_i8: i8, operations_on_i16: i16, operations_on_i32: i32, operations_on_i64: i64,
    operations_on_u8: u8, operations_on_u16: u16, operations_on_u32: u32, operations_on_u64: u64
);

#[test]
fn operations_on_bool() {
    let (a, b) = pairs(&[false, true]);
    for op in BinaryOp::ALL.into_iter().filter(|op| op.result(DType::Bool).is_some()) {
        let got: Vec<bool> = apply(&[&a, &b], |k, v| k.binary(op, v[0], v[1]));
        check(op.name(), &a, &b, &got, |a, b| match op {
            BinaryOp::BitAnd => a & b,
            BinaryOp::BitOr => a | b,
            BinaryOp::BitXor | BinaryOp::Ne => a != b,
            BinaryOp::Eq => a == b,
            BinaryOp::Lt => !a & b,
            BinaryOp::Le => !a | b,
            BinaryOp::Gt => a & !b,
            BinaryOp::Ge => a | !b,
            other => panic!("{}", other.name()),
        });
    }
    let got: Vec<bool> = apply(&[&a], |k, v| k.unary(UnaryOp::Not, v[0]));
    check("not", &a, &a, &got, |a, _| !a);
}

const EDGES: [f64; 34] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    -1.5,
    2.5,
    -2.5,
    3.0,
    -3.0,
    7.0,
    0.1,
    -0.1,
    10.0,
    1e-3,
    1e4,
    65504.0,
    65520.0,
    1e-8,
    6e-8,
    -6e-8,
    1e-40,
    -1e-40,
    1e-310,
    3.4e38,
    -3.4e38,
    1e300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    1e6,
    123456.789,
];

macro_rules! float_operations {
    ($($name:ident: $type:ident via $wide:ident, $to:expr, $from:expr);+) => { $(
        #[test]
        fn $name() {
            let values: Vec<$type> = EDGES.iter().map(|&x| $type::from_f64(x)).collect();
            let (a, b) = pairs(&values);
            let (to, from) = ($to, $from);
            for op in BinaryOp::ALL.into_iter().filter(|op| op.result($type::DTYPE).is_some()) {
                if op.is_comparison() {
                    let got: Vec<bool> = apply(&[&a, &b], |k, v| k.binary(op, v[0], v[1]));
                    check(op.name(), &a, &b, &got, |a, b| match op {
                        BinaryOp::Eq => a == b,
                        BinaryOp::Ne => a != b,
                        BinaryOp::Lt => a < b,
                        BinaryOp::Le => a <= b,
                        BinaryOp::Gt => a > b,
                        _ => a >= b,
                    });
                    continue;
                }
                let got: Vec<$type> = apply(&[&a, &b], |k, v| k.binary(op, v[0], v[1]));
                if op == BinaryOp::Pow {
                    // The base e of the library and ours may differ in the last bit.
                    for ((&a, &b), &got) in a.iter().zip(&b).zip(&got) {
                        let (got, want) = (to(got), to(from(to(a).powf(to(b)))));
                        let near = (got - want).abs() <= want.abs() * 4.0 * $wide::EPSILON.max(to($type::EPSILON)) || got == want;
                        assert!(near || (got.is_nan() && want.is_nan()), "{a} ** {b}: {got} instead of {want}");
                    }
                    continue;
                }
                check(op.name(), &a, &b, &got, |a, b| {
                    let (x, y): ($wide, $wide) = (to(a), to(b));
                    from(match op {
                        BinaryOp::Add => x + y,
                        BinaryOp::Sub => x - y,
                        BinaryOp::Mul => x * y,
                        BinaryOp::Div => x / y,
                        BinaryOp::Rem => x % y,
                        BinaryOp::FloorDivide => floor_divide(f64::from(x), f64::from(y), |x| f64::from(x as $wide)) as $wide,
                        BinaryOp::Remainder => {
                            let r = x % y;
                            if r == 0.0 { if y == 0.0 { r } else { r.abs().copysign(y) } } else if (r < 0.0) != (y < 0.0) && !r.is_nan() && !y.is_nan() { r + y } else { r }
                        }
                        BinaryOp::Atan2 => x.atan2(y),
                        BinaryOp::Hypot => x.hypot(y),
                        BinaryOp::Copysign => x.copysign(y),
                        BinaryOp::Minimum => if x.is_nan() || y.is_nan() { $wide::NAN } else if x < y { x } else { y },
                        BinaryOp::Maximum => if x.is_nan() || y.is_nan() { $wide::NAN } else if x > y { x } else { y },
                        other => panic!("{}", other.name()),
                    })
                });
            }
            for op in [UnaryOp::IsNan, UnaryOp::IsInf, UnaryOp::IsFinite] {
                let got: Vec<bool> = apply(&[&a], |k, v| k.unary(op, v[0]));
                check(op.name(), &a, &a, &got, |a, _| match op {
                    UnaryOp::IsNan => to(a).is_nan(),
                    UnaryOp::IsInf => to(a).is_infinite(),
                    _ => to(a).is_finite(),
                });
            }
            let exact = [UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Sign, UnaryOp::Recip, UnaryOp::Sqrt, UnaryOp::Floor, UnaryOp::Ceil, UnaryOp::Round, UnaryOp::Trunc];
            for op in exact {
                let got: Vec<$type> = apply(&[&a], |k, v| k.unary(op, v[0]));
                check(op.name(), &a, &a, &got, |a, _| {
                    let x: $wide = to(a);
                    from(match op {
                        UnaryOp::Neg => -x,
                        UnaryOp::Abs => x.abs(),
                        UnaryOp::Sign => if x == 0.0 || x.is_nan() { x } else { x.signum() },
                        UnaryOp::Recip => 1.0 / x,
                        UnaryOp::Sqrt => x.sqrt(),
                        UnaryOp::Floor => x.floor(),
                        UnaryOp::Ceil => x.ceil(),
                        UnaryOp::Round => x.round_ties_even(),
                        _ => x.trunc(),
                    })
                });
            }
            let got: Vec<$type> = apply(&[&a, &b], |k, v| k.value($type::DTYPE, Expr::MulAdd(v[0], v[1], v[0])));
            check("mul_add", &a, &b, &got, |a, b| from(to(a).mul_add(to(b), to(a))));
        }
    )+ };
}

float_operations!(
    operations_on_f16: f16 via f32, |x: f16| x.to_f32(), f16::from_f32;
    operations_on_bf16: bf16 via f32, |x: bf16| x.to_f32(), bf16::from_f32;
    operations_on_f32: f32 via f32, |x: f32| x, |x: f32| x;
    operations_on_f64: f64 via f64, |x: f64| x, |x: f64| x
);

/// NumPy's definition, every step rounded by `round`.
fn floor_divide(x: f64, y: f64, round: impl Fn(f64) -> f64) -> f64 {
    let r = x % y;
    if y == 0.0 {
        return round(x / y);
    }
    let mut q = round(round(x - r) / y);
    if r != 0.0 && (y < 0.0) != (r < 0.0) {
        q = round(q - 1.0);
    }
    if q == 0.0 {
        return 0f64.copysign(x / y);
    }
    let whole = q.floor();
    if q - whole > 0.5 { whole + 1.0 } else { whole }
}

#[test]
fn selects_of_every_width() {
    fn check_select<T: Element>(values: &[T]) {
        let (a, b) = pairs(values);
        let got: Vec<T> = apply(&[&a, &b], |k, v| {
            let condition = k.binary(BinaryOp::Lt, v[0], v[1]);
            k.value(T::DTYPE, Expr::Select { condition, on_true: v[0], on_false: v[1] })
        });
        for ((a, b), got) in a.iter().zip(&b).zip(got) {
            let less = format!("{a}").parse::<f64>().unwrap() < format!("{b}").parse::<f64>().unwrap();
            assert!(same(got, if less { *a } else { *b }));
        }
    }
    check_select::<u8>(&[1, 2, 3]);
    check_select::<f16>(&[1.0, 2.0, 3.0].map(f16::from_f32));
    check_select::<i32>(&[-1, 2, 3]);
    check_select::<f64>(&[-1.0, 2.0, 3.0]);
}

/// Casts from one type to all, against `as`; `wide` is the exact value for the halves, where it exists.
fn check_casts<A: Element>(values: &[A], to_f64: impl Fn(A) -> f64, to_i128: impl Fn(A) -> i128) {
    fn cast<A: Element, R: Element>(values: &[A], want: impl Fn(A) -> R) {
        let got: Vec<R> = apply(&[values], |k, v| k.value(R::DTYPE, Expr::Cast(v[0])));
        for (&a, got) in values.iter().zip(got) {
            assert!(same(got, want(a)), "{} {a} as {}: {got} instead of {}", A::DTYPE, R::DTYPE, want(a));
        }
    }
    let float = A::DTYPE.is_float();
    macro_rules! to {
        ($($type:ident),+) => { $(cast::<A, $type>(values, |a| if float { to_f64(a) as $type } else { to_i128(a) as $type });)+ };
    }
    to!(i8, i16, i32, i64, u8, u16, u32, u64, f64);
    cast::<A, f32>(values, |a| if float { to_f64(a) as f32 } else { to_i128(a) as f32 });
    cast::<A, bool>(values, |a| if float { to_f64(a) != 0.0 } else { to_i128(a) != 0 });
    // One rounding: the nearest of all values of the type, ties to the even one.
    let nearest = |a: A, step: &dyn Fn(u16) -> f64, infinite: u16, beyond: f64| -> u16 {
        let x = to_f64(a);
        let sign = if x.is_sign_negative() { 0x8000 } else { 0 };
        let x = x.abs();
        if x.is_nan() {
            return 0x7fff;
        }
        if x >= beyond {
            return infinite | sign;
        }
        // The greatest value not above x, then the nearer of it and the next, by exact comparisons of halves.
        let (mut low, mut high) = (0u16, infinite);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if step(middle) <= x { low = middle } else { high = middle }
        }
        let upper = if high == infinite { beyond * 2.0 - step(low) } else { step(high) };
        let middle = (step(low) + upper) / 2.0;
        let exact = |x: f64| {
            if float {
                x.partial_cmp(&middle)
            } else {
                Some(to_i128(a).abs().cmp(&(middle as i128)).then(if middle.fract() > 0.0 {
                    std::cmp::Ordering::Less
                } else {
                    std::cmp::Ordering::Equal
                }))
            }
        };
        let up = match exact(x) {
            Some(std::cmp::Ordering::Less) => false,
            Some(std::cmp::Ordering::Greater) => true,
            _ => low & 1 == 1,
        };
        (if up { high } else { low }) | sign
    };
    if A::DTYPE != DType::F16 {
        cast::<A, f16>(values, |a| f16::from_bits(nearest(a, &|bits| f16::from_bits(bits).to_f64(), 0x7c00, 65520.0)));
    }
    if A::DTYPE != DType::BF16 {
        let beyond = (2.0 - 2f64.powi(-8)) * 2f64.powi(127);
        cast::<A, bf16>(values, |a| {
            bf16::from_bits(nearest(a, &|bits| bf16::from_bits(bits).to_f64(), 0x7f80, beyond))
        });
    }
}

#[test]
fn casts_between_all_types() {
    let mut floats: Vec<f64> = EDGES.to_vec();
    floats.extend([
        127.0,
        128.0,
        -128.9,
        -129.0,
        255.9,
        256.0,
        32767.5,
        65535.9,
        2147483647.0,
        2147483648.0,
        4294967295.9,
    ]);
    floats.extend([9.2e18, 9.3e18, 1.8e19, 1.9e19, -9.3e18, 1.9999, 0.9999, -0.9999, 2f64.powi(-149), 2f64.powi(-150)]);
    // Just beside the middle of two halves: rounding twice goes wrong.
    for middle in
        [1.0 + 2f64.powi(-11), 1.0 + 2f64.powi(-8), 3.0 * 2f64.powi(-25), 65520.0, 2f64.powi(-25), 2f64.powi(-134)]
    {
        for by in [0.0, 2f64.powi(-40), -2f64.powi(-40), 2f64.powi(-52)] {
            floats.extend([middle * (1.0 + by), -middle * (1.0 + by)]);
        }
    }
    let singles: Vec<f32> = floats.iter().map(|&x| x as f32).collect();
    let halves: Vec<f16> = floats.iter().map(|&x| f16::from_f64(x)).collect();
    let brains: Vec<bf16> = floats.iter().map(|&x| bf16::from_f64(x)).collect();
    check_casts(&floats, |x| x, |_| 0);
    check_casts(&singles, f64::from, |_| 0);
    check_casts(&halves, f64::from, |_| 0);
    check_casts(&brains, f64::from, |_| 0);
    let mut integers: Vec<i128> =
        vec![0, 1, -1, 2, 127, 128, 255, 256, 257, 32767, 65535, 65519, 65520, 65521, 16777217];
    integers.extend((0..64).flat_map(|bit| {
        let x = 1i128 << bit;
        // Beside the middle of two bf16, and of two f16.
        let middles = [x + (x >> 8), x + (x >> 11)];
        [x, -x, x - 1, x + 1].into_iter().chain(middles.into_iter().flat_map(|m| [m - 1, m, m + 1, -m, -m - 1]))
    }));
    macro_rules! from {
        ($($type:ident),+) => { $(check_casts(&integers.iter().map(|&x| x as $type).collect::<Vec<_>>(), |x| x as f64, |x| x as i128);)+ };
    }
    from!(i8, i16, i32, i64, u8, u16, u32, u64);
    check_casts(&[false, true], |x| f64::from(u8::from(x)), i128::from);
}
