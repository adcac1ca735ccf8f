//! Operators and casts on random numbers and on those at the edges: the same on every device, and what the documentation says
//! where Rust would panic.

use lazuli::kernel::*;
use lazuli::{Device, Float, Integer};
use proptest::prelude::*;
use proptest::test_runner::{Config as ProptestConfig, TestRunner};

use super::both::compare;
use crate::common::{flat, on_fused};

/// Every operator on two integers, one after the other in `out`.
#[lazuli::kernel]
fn integer_operators<T: Integer>(a: &[T], b: &[T], out: &mut [T]) {
    let i = grid1();
    let n = a.len();
    if i < n {
        let (x, y) = (a[i], b[i]);
        out[i] = x + y;
        out[n + i] = x - y;
        out[2 * n + i] = x * y;
        out[3 * n + i] = x / y;
        out[4 * n + i] = x % y;
        out[5 * n + i] = x & y;
        out[6 * n + i] = x | y;
        out[7 * n + i] = x ^ y;
        out[8 * n + i] = x << y;
        out[9 * n + i] = x >> y;
        out[10 * n + i] = !x;
        out[11 * n + i] = if x < y { T::one() } else { T::zero() };
        out[12 * n + i] = if x <= y && x != y || x > y && !(x >= y) { T::one() } else { T::zero() };
        let mut z = x;
        z += y;
        z *= x;
        z -= y;
        z ^= x;
        z <<= 1;
        z >>= 2;
        z |= y;
        z %= x;
        out[13 * n + i] = z;
        out[14 * n + i] = x.pow((y & T::from_f64(7.0)) as u32) + x.pow(3);
        out[15 * n + i] = x.saturating_add(y);
        out[16 * n + i] = x.saturating_sub(y);
        out[17 * n + i] = x.rem_euclid(y);
        out[18 * n + i] = x.div_euclid(y);
        out[19 * n + i] = x.rotate_left((y & T::from_f64(63.0)) as u32);
        out[20 * n + i] = x.rotate_right((y & T::from_f64(63.0)) as u32);
        out[21 * n + i] = (x.count_ones() + x.leading_zeros() * 2 + x.trailing_zeros() * 3) as T;
        out[22 * n + i] = x.min(y).wrapping_add(x.max(y).wrapping_mul(x.clamp(T::zero(), T::from_f64(9.0))));
        out[23 * n + i] = (x.wrapping_shl(y as u32) ^ x.wrapping_shr(y as u32)).wrapping_sub(y.wrapping_neg());
    }
}

/// What operators of kernels give where Rust's would panic.
trait Wrapping: Integer + Copy {
    fn every(x: Self, y: Self) -> [Self; 24];
}

macro_rules! wrapping {
    ($($type:ty),+) => { $(
        impl Wrapping for $type {
            #[allow(unused_comparisons, clippy::nonminimal_bool, reason = "for signed and unsigned types")]
            fn every(x: $type, y: $type) -> [$type; 24] {
                let div = |x: $type, y: $type| if y == 0 { 0 } else { x.wrapping_div(y) };
                let rem = |x: $type, y: $type| if y == 0 { 0 } else { x.wrapping_rem(y) };
                let is_past = y < 0 || y as u128 >= <$type>::BITS as u128;
                let sign = if x < 0 { (0 as $type).wrapping_sub(1) } else { 0 };
                let mut z = x.wrapping_add(y).wrapping_mul(x).wrapping_sub(y) ^ x;
                z = (z << 1) >> 2;
                z = rem(z | y, x);
                let small = (y & 7) as u32;
                [
                    x.wrapping_add(y),
                    x.wrapping_sub(y),
                    x.wrapping_mul(y),
                    div(x, y),
                    rem(x, y),
                    x & y,
                    x | y,
                    x ^ y,
                    if is_past { 0 } else { x << y },
                    if is_past { sign } else { x >> y },
                    !x,
                    (x < y) as $type,
                    (x < y) as $type,
                    z,
                    x.wrapping_pow(small).wrapping_add(x.wrapping_pow(3)),
                    x.saturating_add(y),
                    x.saturating_sub(y),
                    if y == 0 { 0 } else { x.wrapping_rem_euclid(y) },
                    if y == 0 { 0 } else { x.wrapping_div_euclid(y) },
                    x.rotate_left((y & 63) as u32),
                    x.rotate_right((y & 63) as u32),
                    (x.count_ones() + x.leading_zeros() * 2 + x.trailing_zeros() * 3) as $type,
                    x.min(y).wrapping_add(x.max(y).wrapping_mul(x.clamp(0, 9))),
                    (x.wrapping_shl(y as u32) ^ x.wrapping_shr(y as u32)).wrapping_sub(y.wrapping_neg()),
                ]
            }
        }
    )+ };
}

wrapping!(i8, i16, i32, i64, u8, u16, u32, u64);

/// Runs a body on pairs of integers: all at the edges, then random ones.
fn on_pairs<T: Wrapping + Arbitrary>(edges: &[T], mut body: impl FnMut(&[T], &[T])) {
    let pairs = edges.iter().flat_map(|x| edges.iter().map(|y| (*x, *y)));
    let (x, y): (Vec<T>, Vec<T>) = pairs.unzip();
    body(&x, &y);
    let config = ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() };
    let (body, mut runner) = (std::cell::RefCell::new(body), TestRunner::new(config));
    let outcome = runner.run(&prop::collection::vec(any::<(T, T)>(), 1..200), |pairs| {
        let (x, y): (Vec<T>, Vec<T>) = pairs.into_iter().unzip();
        body.borrow_mut()(&x, &y);
        Ok(())
    });
    outcome.unwrap();
}

fn integers<T: Wrapping + Arbitrary>(device: &Device, edges: &[T]) {
    on_pairs(edges, |x, y| {
        let n = x.len();
        let mut expected = vec![T::zero(); 24 * n];
        for (i, (x, y)) in x.iter().zip(y).enumerate() {
            for (op, value) in T::every(*x, *y).into_iter().enumerate() {
                expected[op * n + i] = value;
            }
        }
        let (a, b) = (device.from_slice(x).unwrap(), device.from_slice(y).unwrap());
        let mut out = device.zeros::<T>(24 * n);
        integer_operators::<T>(&a, &b, &mut out).forall(n).unwrap();
        for (op, (ours, expected)) in flat(&out).chunks(n).zip(expected.chunks(n)).enumerate() {
            compare(&format!("operator {op} on {} of {x:?} and {y:?}", T::DTYPE), ours, expected);
        }
    });
}

#[test]
fn integers_wrap_and_never_trap() {
    on_fused(|device| {
        integers::<i32>(device, &[0, 1, -1, 2, 7, 31, 32, 33, 64, 255, -32, i32::MAX, i32::MIN, i32::MIN + 1]);
        integers::<u32>(device, &[0, 1, 2, 7, 31, 32, 33, 64, u32::MAX, u32::MAX - 1, 1 << 31]);
        integers::<i64>(device, &[0, 1, -1, 3, 63, 64, 65, -64, i64::MAX, i64::MIN, i64::MIN + 1, 1 << 32]);
        integers::<u64>(device, &[0, 1, 3, 63, 64, 65, u64::MAX, u64::MAX - 1, 1 << 63, 1 << 32]);
        integers::<i8>(device, &[0, 1, -1, 2, 7, 8, 9, -8, i8::MAX, i8::MIN, i8::MIN + 1, 100]);
        integers::<u8>(device, &[0, 1, 2, 7, 8, 9, 200, u8::MAX]);
        integers::<i16>(device, &[0, 1, -1, 2, 15, 16, 17, 255, i16::MAX, i16::MIN, i16::MIN + 1]);
        integers::<u16>(device, &[0, 1, 2, 15, 16, 17, 255, u16::MAX]);
    });
}

/// Shifts by counts of other types than that of what is shifted.
#[lazuli::kernel]
fn shifts(a: &[i32], narrow: &[u8], wide: &[i64], out: &mut [i32]) {
    let i = grid1();
    let n = a.len();
    if i < n {
        out[i] = a[i] << narrow[i];
        out[n + i] = a[i] >> wide[i];
        out[2 * n + i] = ((a[i] as i8) << wide[i]) as i32;
        out[3 * n + i] = (a[i] as u64 >> narrow[i]) as i32 + (a[i] << 40) + (a[i] >> 40) + (a[i] << 3usize);
    }
}

#[test]
fn shifts_take_counts_of_any_type() {
    let shl = |x: i32, count: i64| if (0..32).contains(&count) { x << count } else { 0 };
    let shr = |x: i32, count: i64| if (0..32).contains(&count) { x >> count } else { x >> 31 };
    let counts: [i64; 9] = [0, 1, 8, 31, 32, 200, -1, i64::MAX, 1 << 32];
    let a: Vec<i32> = counts.iter().map(|count| (*count as i32).wrapping_mul(77) - 5).collect();
    let narrow: Vec<u8> = counts.iter().map(|count| *count as u8).collect();
    let mut expected = Vec::new();
    expected.extend(a.iter().zip(&narrow).map(|(a, count)| shl(*a, i64::from(*count))));
    expected.extend(a.iter().zip(&counts).map(|(a, count)| shr(*a, *count)));
    let byte = |a: &i32, count: i64| if (0..8).contains(&count) { ((*a as i8) << count) as i32 } else { 0 };
    expected.extend(a.iter().zip(&counts).map(|(a, count)| byte(a, *count)));
    let long = |a: &i32, count: u8| if count < 64 { (*a as u64) >> count } else { 0 };
    expected.extend(
        a.iter()
            .zip(&narrow)
            .map(|(a, count)| (long(a, *count) as i32).wrapping_add(if *a < 0 { -1 } else { 0 }).wrapping_add(a << 3)),
    );
    on_fused(|device| {
        let mut out = device.zeros::<i32>(4 * a.len());
        let (a, narrow) = (device.from_slice(&a).unwrap(), device.from_slice(&narrow).unwrap());
        let wide = device.from_slice(&counts).unwrap();
        shifts(&a, &narrow, &wide, &mut out).forall(counts.len()).unwrap();
        compare("shifts", &flat(&out), &expected);
    });
}

both! {
    #[allow(clippy::cast_lossless, reason = "it is casts that are tested")]
    fn float_operators(x: f32, y: f32) -> f32 {
        let mut z = x * y - x / y;
        z += -y;
        z *= 0.5;
        let least = if x < y { x } else if x >= y { y } else { z };
        (z - least) % 3.5 + (x as f64 * y as f64) as f32
    }
}

both! {
    fn casts_of_floats(x: f32) -> i64 {
        x as i64 ^ (x as i32 as i64) << 1 ^ (x as u8 as i64) << 2 ^ (x as i8 as i64) << 3 ^ (x as u64 as i64) << 4
            ^ (x as f64 as u32 as i64) << 5
    }
}

both! {
    fn casts_of_integers(x: i32) -> f32 {
        let bytes = x as u8 as f32 + x as i8 as f32 + x as u16 as f32;
        let bools = (x > 3) as i32 as f32 + (x != 0) as u8 as f32;
        bytes + bools + x as f32 + x as i64 as u64 as f32 + f32::from(x as i16) + x as usize as f32 + x as isize as f32
    }
}

both! {
    fn bools(x: i32, y: i32) -> bool {
        let (a, b) = (x > 1, y > 1);
        (a & !b) | (a ^ b) && (a == b || a != (x < y)) || !(a <= b)
    }
}

#[test]
fn floats_and_casts_are_rusts() {
    let odd =
        [0.0, -0.0, 1.0, -1.5, 3.7, -3.7, 1e10, -1e10, 1e30, 300.7, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40];
    let pairs = odd.iter().flat_map(|x| odd.iter().map(|y| (*x, *y)));
    let (x, y): (Vec<f32>, Vec<f32>) = pairs.unzip();
    float_operators::check(&x, &y);
    casts_of_floats::check(&odd);
    let ints = [0, 1, -1, 3, 4, 127, 128, 255, 256, -129, 65535, 70000, i32::MAX, i32::MIN, 16777217];
    casts_of_integers::check(&ints);
    bools::check(&[0, 1, 2, 3, 2, 5], &[0, 2, 1, 3, 4, 1]);
}

/// f16 and bf16 are computed in f32 and rounded after each operation.
#[lazuli::kernel]
fn half_operators<T: Float>(a: &[T], b: &[T], out: &mut [T]) {
    let i = grid1();
    if i < out.len() {
        out[i] = (a[i] * b[i] + a[i]) / b[i] - T::from_f64(0.125) * a[i];
    }
}

fn halves<T: Float>(device: &Device, to_f32: fn(T) -> f32) {
    let round = |x: f32| T::from_f64(f64::from(x));
    let a: Vec<T> = (0..100).map(|i| T::from_f64(f64::from(i) * 0.37 - 11.0)).collect();
    let b: Vec<T> = (0..100).map(|i| T::from_f64(f64::from(i) * -0.71 + 5.3)).collect();
    let expected: Vec<T> = a
        .iter()
        .zip(&b)
        .map(|(a, b)| {
            let (a, b) = (to_f32(*a), to_f32(*b));
            let product = to_f32(round(to_f32(round(a * b)) + a));
            let eighth = to_f32(round(0.125 * a));
            round(to_f32(round(product / b)) - eighth)
        })
        .collect();
    let (a, b) = (device.from_slice(&a).unwrap(), device.from_slice(&b).unwrap());
    let mut out = device.zeros::<T>(100);
    half_operators::<T>(&a, &b, &mut out).forall(100).unwrap();
    compare("halves", &flat(&out), &expected);
}

#[test]
fn halves_round_after_each_operation() {
    on_fused(|device| {
        halves::<lazuli::f16>(device, |x| x.to_f32());
        halves::<lazuli::bf16>(device, |x| x.to_f32());
        halves::<f32>(device, |x| x);
    });
}
