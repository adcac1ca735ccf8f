//! Every operation on every element type it is defined for, at the values where such things go wrong.

use lazuli::prelude::*;

use crate::common::*;
use crate::oracle::{Int, Real, Sample, Wide};
use crate::ulps::allowed;

/// The bound for a type.
fn bound<T: Real>(op: &str) -> u64 {
    let ulps = allowed(op).unwrap_or_else(|| panic!("{op} is not in the table of ulps"));
    match (ulps, T::DTYPE) {
        (0, _) => 0,
        (_, DType::F16 | DType::BF16) => 1,
        (_, DType::F64) => ulps + 1,
        _ => ulps,
    }
}

/// Evaluates all of them: together where the device fuses, else one by one.
fn all_values<T: Element>(device: &Device, arrays: &[Array<T>]) -> Vec<Vec<T>> {
    if !device.config().fusion {
        return arrays.iter().map(flat).collect();
    }
    let values = arrays.chunks(8).flat_map(|some| lazuli::get(some).unwrap_or_else(|error| panic!("{error}")));
    values.map(|values| values.into_iter().collect()).collect()
}

/// All ordered pairs.
fn pairs<T: Copy>(values: &[T]) -> (Vec<T>, Vec<T>) {
    values.iter().flat_map(|a| values.iter().map(|b| (*a, *b))).unzip()
}

/// True of the only values that differ from themselves.
fn is_nan<T: Sample>(value: T) -> bool {
    matches!(value.wide(), Wide::Float(value) if value.is_nan())
}

/// Collects mistakes, so that one run tells all of them.
#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn note(&mut self, op: &str, what: String) {
        // A few of each operation say enough.
        if self.0.iter().filter(|line| line.starts_with(&format!("{op}("))).count() < 3 {
            self.0.push(format!("{op}{what}"));
        }
    }

    #[track_caller]
    fn assert_none(self) {
        assert!(self.0.is_empty(), "{} wrong values:\n{}", self.0.len(), self.0.join("\n"));
    }
}

type Unary<T> = (&'static str, fn(&Array<T>) -> Array<T>, fn(f64) -> f64);

fn real_unary<T: Real>() -> Vec<Unary<T>> {
    vec![
        ("neg", |x| -x, |x| -x),
        ("abs", |x| x.abs(), f64::abs),
        (
            "sign",
            |x| x.sign(),
            |x| {
                if x > 0.0 {
                    1.0
                } else if x < 0.0 {
                    -1.0
                } else {
                    x
                }
            },
        ),
        ("recip", |x| x.recip(), |x| 1.0 / x),
        ("sqrt", |x| x.sqrt(), f64::sqrt),
        ("square", |x| x.square(), |x| x * x),
        ("floor", |x| x.floor(), f64::floor),
        ("ceil", |x| x.ceil(), f64::ceil),
        ("round", |x| x.round(), f64::round_ties_even),
        ("trunc", |x| x.trunc(), f64::trunc),
        ("cbrt", |x| x.cbrt(), f64::cbrt),
        ("exp", |x| x.exp(), f64::exp),
        ("exp2", |x| x.exp2(), f64::exp2),
        ("expm1", |x| x.expm1(), f64::exp_m1),
        ("log", |x| x.log(), f64::ln),
        ("ln", |x| x.ln(), f64::ln),
        ("log2", |x| x.log2(), f64::log2),
        ("log10", |x| x.log10(), f64::log10),
        ("log1p", |x| x.log1p(), f64::ln_1p),
        ("sin", |x| x.sin(), f64::sin),
        ("cos", |x| x.cos(), f64::cos),
        ("tan", |x| x.tan(), f64::tan),
        ("asin", |x| x.asin(), f64::asin),
        ("acos", |x| x.acos(), f64::acos),
        ("atan", |x| x.atan(), f64::atan),
        ("sinh", |x| x.sinh(), f64::sinh),
        ("cosh", |x| x.cosh(), f64::cosh),
        ("tanh", |x| x.tanh(), f64::tanh),
        // Rust's own inverse hyperbolic functions are short formulas that lose digits; libm's acosh takes negatives.
        ("asinh", |x| x.asinh(), libm::asinh),
        ("acosh", |x| x.acosh(), |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) }),
        ("atanh", |x| x.atanh(), libm::atanh),
        ("erf", |x| x.erf(), libm::erf),
        ("erfc", |x| x.erfc(), libm::erfc),
    ]
}

type Binary<T> = (&'static str, fn(&Array<T>, &Array<T>) -> Array<T>, fn(T, T) -> T);

fn real_binary<T: Real>() -> Vec<Binary<T>> {
    fn by<T: Real>(a: T, b: T, f: impl Fn(f64, f64) -> f64) -> T {
        T::rounded(f(a.real(), b.real()))
    }
    vec![
        ("add", |a, b| a + b, |a, b| by(a, b, |a, b| a + b)),
        ("sub", |a, b| a - b, |a, b| by(a, b, |a, b| a - b)),
        ("mul", |a, b| a * b, |a, b| by(a, b, |a, b| a * b)),
        ("div", |a, b| a / b, |a, b| by(a, b, |a, b| a / b)),
        ("rem", |a, b| a % b, |a, b| by(a, b, |a, b| a % b)),
        ("floor_divide", |a, b| a.floor_divide(b), |a, b| T::divmod(a, b).0),
        ("remainder", |a, b| a.remainder(b), |a, b| T::divmod(a, b).1),
        ("pow", |a, b| a.pow(b), |a, b| by(a, b, f64::powf)),
        ("atan2", |a, b| a.atan2(b), |a, b| by(a, b, f64::atan2)),
        ("hypot", |a, b| a.hypot(b), |a, b| by(a, b, f64::hypot)),
        ("copysign", |a, b| a.copysign(b), |a, b| by(a, b, f64::copysign)),
        (
            "minimum",
            |a, b| a.minimum(b),
            |a, b| by(a, b, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) }),
        ),
        (
            "maximum",
            |a, b| a.maximum(b),
            |a, b| by(a, b, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }),
        ),
    ]
}

/// Ties of the two zeros are free in these.
fn zeros_tie(op: &str) -> bool {
    op == "minimum" || op == "maximum"
}

/// True where the right value is a NaN whose sign was copied on, or the like: nothing about NaN but that it is one.
fn is_near<T: Real>(op: &str, ours: T, right: T) -> bool {
    if zeros_tie(op) && ours.real() == 0.0 && right.real() == 0.0 {
        return true;
    }
    // Where a function's value is a subnormal or 0, a device may land on either side by its allowance.
    ours.ulps(right).is_some_and(|ulps| ulps <= bound::<T>(op))
}

fn check_real_unary<T: Real>() {
    on_every(|device| {
        let given = T::edges();
        let x = device.from_slice(&given).unwrap();
        let table = real_unary::<T>();
        let ours = all_values(device, &table.iter().map(|(_, record, _)| record(&x)).collect::<Vec<_>>());
        let mut wrong = Wrong::default();
        for ((op, _, right), ours) in table.iter().zip(&ours) {
            for (x, ours) in given.iter().zip(ours) {
                let right = T::rounded(right(x.real()));
                if !is_near(op, *ours, right) {
                    wrong.note(op, format!("({x:?}) of {} is {right:?}, not {ours:?}", T::DTYPE));
                }
            }
        }
        let tests = all_values(device, &[x.is_nan(), x.is_inf(), x.is_finite()]);
        for (i, x) in given.iter().enumerate() {
            let x = x.real();
            assert_eq!([tests[0][i], tests[1][i], tests[2][i]], [x.is_nan(), x.is_infinite(), x.is_finite()], "{x}");
        }
        wrong.assert_none();
    });
}

#[test]
fn unary_functions_of_f32() {
    check_real_unary::<f32>();
}

#[test]
fn unary_functions_of_f64() {
    check_real_unary::<f64>();
}

#[test]
fn unary_functions_of_f16() {
    check_real_unary::<f16>();
}

#[test]
fn unary_functions_of_bf16() {
    check_real_unary::<bf16>();
}

fn check_real_binary<T: Real>() {
    on_every(|device| {
        let (a, b) = pairs(&T::edges());
        let (x, y) = (device.from_slice(&a).unwrap(), device.from_slice(&b).unwrap());
        let table = real_binary::<T>();
        let ours = all_values(device, &table.iter().map(|(_, record, _)| record(&x, &y)).collect::<Vec<_>>());
        let mut wrong = Wrong::default();
        for ((op, _, right), ours) in table.iter().zip(&ours) {
            for ((a, b), ours) in a.iter().zip(&b).zip(ours) {
                let right = right(*a, *b);
                if !is_near(op, *ours, right) {
                    wrong.note(op, format!("({a:?}, {b:?}) of {} is {right:?}, not {ours:?}", T::DTYPE));
                }
            }
        }
        check_comparisons(device, &a, &b, &mut wrong);
        wrong.assert_none();
    });
}

/// The six comparisons, by an order in which NaN is unordered.
fn check_comparisons<T: Sample>(device: &Device, a: &[T], b: &[T], wrong: &mut Wrong) {
    type Comparison = (&'static str, fn(Option<std::cmp::Ordering>) -> bool);
    const TABLE: [Comparison; 6] = [
        ("eq", |order| order.is_some_and(|order| order.is_eq())),
        ("ne", |order| order.is_none_or(|order| order.is_ne())),
        ("lt", |order| order.is_some_and(|order| order.is_lt())),
        ("le", |order| order.is_some_and(|order| order.is_le())),
        ("gt", |order| order.is_some_and(|order| order.is_gt())),
        ("ge", |order| order.is_some_and(|order| order.is_ge())),
    ];
    let (x, y) = (device.from_slice(a).unwrap(), device.from_slice(b).unwrap());
    let ours = all_values(device, &[x.eq(&y), x.ne(&y), x.lt(&y), x.le(&y), x.gt(&y), x.ge(&y)]);
    for ((op, right), ours) in TABLE.iter().zip(&ours) {
        for ((a, b), ours) in a.iter().zip(b).zip(ours) {
            let order = match (a.wide(), b.wide()) {
                (Wide::Int(a), Wide::Int(b)) => a.partial_cmp(&b),
                (Wide::Float(a), Wide::Float(b)) => a.partial_cmp(&b),
                _ => unreachable!(),
            };
            if *ours != right(order) {
                wrong.note(op, format!("({a:?}, {b:?}) of {} is not {ours}", T::DTYPE));
            }
        }
    }
}

#[test]
fn binary_functions_of_f32() {
    check_real_binary::<f32>();
}

#[test]
fn binary_functions_of_f64() {
    check_real_binary::<f64>();
}

#[test]
fn binary_functions_of_f16() {
    check_real_binary::<f16>();
}

#[test]
fn binary_functions_of_bf16() {
    check_real_binary::<bf16>();
}

#[test]
fn mul_add_rounds_once() {
    fn check<T: Real>(device: &Device, right: fn(f64, f64, f64) -> f64) {
        let edges: Vec<T> = T::edges().into_iter().step_by(5).collect();
        let triples: Vec<(T, T, T)> = edges
            .iter()
            .flat_map(|a| edges.iter().map(move |b| (*a, *b)))
            .flat_map(|(a, b)| {
                edges.iter().map(move |c| (a, b, *c)).chain([(a, b, T::rounded(-(a.real() * b.real())))])
            })
            .collect();
        let part = |f: fn(&(T, T, T)) -> T| device.from_slice(&triples.iter().map(f).collect::<Vec<_>>()).unwrap();
        let ours = flat(&part(|t| t.0).mul_add(part(|t| t.1), part(|t| t.2)));
        let mut wrong = Wrong::default();
        for ((a, b, c), ours) in triples.iter().zip(ours) {
            let right = T::rounded(right(a.real(), b.real(), c.real()));
            if ours.ulps(right) != Some(0) {
                wrong.note("mul_add", format!("({a:?}, {b:?}, {c:?}) of {} is {right:?}, not {ours:?}", T::DTYPE));
            }
        }
        wrong.assert_none();
    }
    /// The sum of a product that is exact in f64 and a third number, rounded to odd.
    fn narrow(a: f64, b: f64, c: f64) -> f64 {
        let product = a * b;
        let sum = product + c;
        let rest = (product - (sum - c)) + (c - (sum - (sum - c)));
        if rest == 0.0 || !sum.is_finite() || rest.is_nan() || sum.to_bits() & 1 == 1 {
            return sum;
        }
        // The exact sum lies between the near value and its neighbour on the side of the rest; one of the two is odd.
        f64::from_bits(if (rest > 0.0) == (sum > 0.0) { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
    }
    on_every(|device| {
        check::<f64>(device, f64::mul_add);
        check::<f32>(device, narrow);
        check::<f16>(device, narrow);
        check::<bf16>(device, narrow);
    });
}

/// A name, how it is recorded, and the right value.
type IntUnary<T> = (&'static str, fn(&Array<T>) -> Array<T>, fn(T) -> T);

fn int_unary<T: Int>() -> Vec<IntUnary<T>> {
    vec![
        ("abs", |x| x.abs(), |x| T::wrap(x.int().abs())),
        ("sign", |x| x.sign(), |x| T::wrap(x.int().signum())),
        ("not", |x| !x, |x| T::wrap(!x.int())),
        ("square", |x| x.square(), |x| T::wrap(x.int().wrapping_mul(x.int()))),
    ]
}

fn int_binary<T: Int>() -> Vec<Binary<T>> {
    fn floor(a: i128, b: i128) -> (i128, i128) {
        match b {
            0 => (0, 0),
            _ if a % b != 0 && (a < 0) != (b < 0) => (a / b - 1, a % b + b),
            _ => (a / b, a % b),
        }
    }
    vec![
        ("add", |a, b| a + b, |a, b| T::wrap(a.int() + b.int())),
        ("sub", |a, b| a - b, |a, b| T::wrap(a.int() - b.int())),
        ("mul", |a, b| a * b, |a, b| T::wrap(a.int().wrapping_mul(b.int()))),
        ("div", |a, b| a / b, |a, b| T::wrap(a.int().checked_div(b.int()).unwrap_or(0))),
        ("rem", |a, b| a % b, |a, b| T::wrap(a.int().checked_rem(b.int()).unwrap_or(0))),
        ("floor_divide", |a, b| a.floor_divide(b), |a, b| T::wrap(floor(a.int(), b.int()).0)),
        ("remainder", |a, b| a.remainder(b), |a, b| T::wrap(floor(a.int(), b.int()).1)),
        ("minimum", |a, b| a.minimum(b), |a, b| T::wrap(a.int().min(b.int()))),
        ("maximum", |a, b| a.maximum(b), |a, b| T::wrap(a.int().max(b.int()))),
        ("bitand", |a, b| a & b, |a, b| T::wrap(a.int() & b.int())),
        ("bitor", |a, b| a | b, |a, b| T::wrap(a.int() | b.int())),
        ("bitxor", |a, b| a ^ b, |a, b| T::wrap(a.int() ^ b.int())),
        (
            "shl",
            |a, b| a << b,
            |a, b| {
                if (0..T::BITS).contains(&b.int()) { T::wrap(a.int() << b.int()) } else { T::wrap(0) }
            },
        ),
        (
            "shr",
            |a, b| a >> b,
            |a, b| {
                let count = if (0..T::BITS).contains(&b.int()) { b.int() } else { T::BITS };
                T::wrap(a.int() >> count)
            },
        ),
    ]
}

fn check_int<T: Int>() {
    on_every(|device| {
        let mut wrong = Wrong::default();
        let given = T::edges();
        let x = device.from_slice(&given).unwrap();
        let table = int_unary::<T>();
        let ours = all_values(device, &table.iter().map(|(_, record, _)| record(&x)).collect::<Vec<_>>());
        for ((op, _, right), ours) in table.iter().zip(&ours) {
            for (x, ours) in given.iter().zip(ours).filter(|(x, ours)| right(**x) != **ours) {
                wrong.note(op, format!("({x}) of {} is {}, not {ours}", T::DTYPE, right(*x)));
            }
        }
        let (a, b) = pairs(&given);
        let (x, y) = (device.from_slice(&a).unwrap(), device.from_slice(&b).unwrap());
        let table = int_binary::<T>();
        let ours = all_values(device, &table.iter().map(|(_, record, _)| record(&x, &y)).collect::<Vec<_>>());
        for ((op, _, right), ours) in table.iter().zip(&ours) {
            for ((a, b), ours) in a.iter().zip(&b).zip(ours).filter(|((a, b), ours)| right(**a, **b) != **ours) {
                wrong.note(op, format!("({a}, {b}) of {} is {}, not {ours}", T::DTYPE, right(*a, *b)));
            }
        }
        check_comparisons(device, &a, &b, &mut wrong);
        wrong.assert_none();
    });
}

#[test]
fn functions_of_bytes() {
    check_int::<i8>();
    check_int::<u8>();
}

#[test]
fn functions_of_16_bit_integers() {
    check_int::<i16>();
    check_int::<u16>();
}

#[test]
fn functions_of_32_bit_integers() {
    check_int::<i32>();
    check_int::<u32>();
}

#[test]
fn functions_of_64_bit_integers() {
    check_int::<i64>();
    check_int::<u64>();
}

#[test]
fn negatives_of_signed_integers() {
    fn check<T: Int + Signed>(device: &Device) {
        let given = T::edges();
        let right: Vec<T> = given.iter().map(|x| T::wrap(-x.int())).collect();
        assert_eq!(flat(&-device.from_slice(&given).unwrap()), right);
    }
    on_every(|device| {
        check::<i8>(device);
        check::<i16>(device);
        check::<i32>(device);
        check::<i64>(device);
    });
}

#[test]
fn functions_of_bool() {
    on_every(|device| {
        let (a, b) = pairs(&bool::edges());
        let (x, y) = (device.from_slice(&a).unwrap(), device.from_slice(&b).unwrap());
        let zip = |f: fn(bool, bool) -> bool| a.iter().zip(&b).map(|(a, b)| f(*a, *b)).collect::<Vec<_>>();
        let ours = all_values(device, &[&x & &y, &x | &y, &x ^ &y, !&x, &x & true, false | &y, x.select(&y, !&y)]);
        let right = [
            zip(|a, b| a & b),
            zip(|a, b| a | b),
            zip(|a, b| a ^ b),
            zip(|a, _| !a),
            a.clone(),
            b.clone(),
            zip(|a, b| a == b),
        ];
        assert_eq!(ours, right);
        let mut wrong = Wrong::default();
        check_comparisons(device, &a, &b, &mut wrong);
        wrong.assert_none();
    });
}

#[test]
fn choices_and_clamps_of_every_type() {
    fn check<T: Sample>(device: &Device) {
        let given = T::edges();
        let condition: Vec<bool> = (0..given.len()).map(|i| i % 3 == 1).collect();
        let x = device.from_slice(&given).unwrap();
        let c = device.from_slice(&condition).unwrap();
        let ours = flat(&c.select(&x, x.flip(0)));
        for i in 0..given.len() {
            let right = if condition[i] { given[i] } else { given[given.len() - 1 - i] };
            assert!(ours[i] == right || is_nan(right) && is_nan(ours[i]), "{} at {i}", T::DTYPE);
        }
        let ours = flat(&c.select(T::one(), T::zero()));
        let right: Vec<T> = condition.iter().map(|c| if *c { T::one() } else { T::zero() }).collect();
        assert_eq!(ours, right);
    }
    fn clamped<T: Sample + Number>(device: &Device) {
        let given = T::edges();
        let (low, high) = (T::from_f64(2.0), T::from_f64(10.0));
        let ours = flat(&device.from_slice(&given).unwrap().clamp(low, high));
        for (x, ours) in given.iter().zip(ours) {
            let right = match x.wide() {
                Wide::Int(x) => T::of(Wide::Int(x.clamp(2, 10))),
                Wide::Float(x) => T::of(Wide::Float(x.clamp(2.0, 10.0))),
            };
            assert!(ours == right || is_nan(right) && is_nan(ours), "clamp({x:?}) of {}", T::DTYPE);
        }
    }
    macro_rules! each {
        ($device:ident $check:ident: $($type:ty)+) => { $($check::<$type>($device);)+ };
    }
    on_every(|device| {
        each!(device check: bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);
        each!(device clamped: i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);
    });
}

/// More values for casts: those around the limits of every integer type, and ties of the half types.
fn castable<T: Sample>() -> Vec<T> {
    let mut values = T::edges();
    for power in [7, 8, 11, 15, 16, 24, 31, 32, 33, 53, 63, 64] {
        let near = 2f64.powi(power);
        for value in
            [near - 1.0, near - 0.5, near, near + 0.5, near + 1.0, near + near / 256.0, near + near / 128.0 * 1.5]
        {
            values.extend([T::of(Wide::Float(value)), T::of(Wide::Float(-value))]);
        }
    }
    values
}

fn check_cast<S: Sample, T: Sample>(given: &[S], ours: &[T], wrong: &mut Wrong) {
    for (x, ours) in given.iter().zip(ours) {
        let right = T::of(x.wide());
        let both_nan = is_nan(right) && is_nan(*ours);
        let signs = match (right.wide(), ours.wide()) {
            (Wide::Float(right), Wide::Float(ours)) => right.is_sign_negative() == ours.is_sign_negative(),
            _ => true,
        };
        if !both_nan && (right != *ours || !signs) {
            wrong.note("cast", format!("({x:?}) from {} to {} is {right:?}, not {ours:?}", S::DTYPE, T::DTYPE));
        }
    }
}

fn check_casts_from<S: Sample>() {
    on_every(|device| {
        let given = castable::<S>();
        let x = device.from_slice(&given).unwrap();
        let mut wrong = Wrong::default();
        macro_rules! to {
            ($($name:ident: $type:ty),+) => {
                if device.config().fusion {
                    // Together, so that one kernel stores them all.
                    let ($($name,)+) = ($(x.cast::<$type>(),)+);
                    lazuli::eval(($(&$name,)+)).unwrap_or_else(|error| panic!("{error}"));
                    $(check_cast::<S, $type>(&given, &flat(&$name), &mut wrong);)+
                } else {
                    $(check_cast::<S, $type>(&given, &flat(&x.cast::<$type>()), &mut wrong);)+
                }
            };
        }
        to!(a: bool, b: i8, c: i16, d: i32, e: i64, f: u8, g: u16);
        to!(a: u32, b: u64, c: f16, d: bf16, e: f32, f: f64);
        wrong.assert_none();
    });
}

#[test]
fn casts_from_bool_and_bytes() {
    check_casts_from::<bool>();
    check_casts_from::<i8>();
    check_casts_from::<u8>();
}

#[test]
fn casts_from_16_bit_integers() {
    check_casts_from::<i16>();
    check_casts_from::<u16>();
}

#[test]
fn casts_from_32_bit_integers() {
    check_casts_from::<i32>();
    check_casts_from::<u32>();
}

#[test]
fn casts_from_64_bit_integers() {
    check_casts_from::<i64>();
    check_casts_from::<u64>();
}

#[test]
fn casts_from_halves() {
    check_casts_from::<f16>();
    check_casts_from::<bf16>();
}

#[test]
fn casts_from_f32() {
    check_casts_from::<f32>();
}

#[test]
fn casts_from_f64() {
    check_casts_from::<f64>();
}

#[test]
fn evenly_spaced_numbers_reach_from_end_to_end_of_the_type() {
    fn check<T: Real>(device: &Device, most: T, tolerance: f64) {
        let least = T::rounded(-most.real());
        for n in [2usize, 3, 5, 1000] {
            let (up, down) = (flat(&device.linspace(least, most, n)), flat(&device.linspace(most, least, n)));
            assert_eq!((up[0], up[n - 1], down[0], down[n - 1]), (least, most, most, least));
            for i in 0..n {
                let right = most.real() * (2.0 * i as f64 / (n - 1) as f64 - 1.0);
                let far = |ours: T| (ours.real() / 2.0 - right / 2.0).abs() > tolerance * most.real();
                assert!(
                    !far(up[i]) && !far(down[n - 1 - i]),
                    "{i} of {n}: {} and {} for {right}",
                    up[i],
                    down[n - 1 - i]
                );
            }
        }
    }
    on_every(|device| {
        check(device, f32::MAX, 1e-6);
        check(device, 3e38f32, 1e-6);
        check(device, f64::MAX, 1e-14);
        check(device, f16::MAX, 1e-3);
        check(device, bf16::MAX, 1e-2);
    });
}

#[test]
fn made_arrays_have_numpys_elements() {
    fn check<T: Real>(device: &Device) {
        for (start, stop, n) in [(0.0, 1.0, 5usize), (-3.0, 7.0, 11), (1.0, 0.0, 3), (2.0, 2.0, 4), (5.0, 6.0, 1)] {
            let ours = flat(&device.linspace(T::rounded(start), T::rounded(stop), n));
            assert_eq!(ours.len(), n);
            for (i, ours) in ours.iter().enumerate() {
                let right = if n == 1 { start } else { start + i as f64 * (stop - start) / (n - 1) as f64 };
                assert!((ours.real() - right).abs() <= 0.01 * right.abs().max(0.1), "{i}: {ours} for {right}");
            }
            if n > 1 {
                assert_eq!(ours[n - 1], T::rounded(stop));
            }
            assert_eq!(ours[0], T::rounded(start));
        }
        assert_eq!(
            flat(&device.arange(T::rounded(0.0), T::rounded(2.0), T::rounded(0.5))),
            [0.0, 0.5, 1.0, 1.5].map(T::rounded)
        );
        assert_eq!(flat(&device.eye::<T>(2)), [1.0, 0.0, 0.0, 1.0].map(T::rounded));
    }
    fn ints<T: Int>(device: &Device) {
        assert_eq!(
            flat(&device.arange(T::wrap(3), T::wrap(100), T::wrap(9))),
            (3..100).step_by(9).map(T::wrap).collect::<Vec<_>>()
        );
        assert_eq!(flat(&device.full([2, 2], T::wrap(-1))), [T::wrap(-1); 4]);
        assert_eq!(flat(&device.eye::<T>(3)), [1, 0, 0, 0, 1, 0, 0, 0, 1].map(T::wrap));
    }
    on_every(|device| {
        check::<f16>(device);
        check::<bf16>(device);
        check::<f32>(device);
        check::<f64>(device);
        ints::<i8>(device);
        ints::<u8>(device);
        ints::<i16>(device);
        ints::<u16>(device);
        ints::<i32>(device);
        ints::<u32>(device);
        ints::<i64>(device);
        ints::<u64>(device);
        assert_eq!(flat(&device.arange(-128i8, 127, 1)), (-128..127).collect::<Vec<i8>>());
        assert_eq!(flat(&device.arange(127i8, -128, -5)), (-127..=127).rev().step_by(5).collect::<Vec<i8>>());
        let top = u64::MAX - 5;
        assert_eq!(flat(&device.arange(top, u64::MAX, 2)), [top, top + 2, top + 4]);
        assert_eq!(flat(&device.ones::<bool>([3])), [true; 3]);
        assert_eq!(flat(&device.eye::<bool>(2)), [true, false, false, true]);
    });
}
