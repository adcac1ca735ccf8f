//! The right values, computed in plain Rust: integers in i128, floats in f64 and rounded once.

use lazuli::prelude::*;

/// A number wide enough for any element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Wide {
    Int(i128),
    Float(f64),
}

/// An element type that the oracle knows.
pub trait Sample: Element {
    /// Values at which operations tend to go wrong, and a few random ones.
    fn edges() -> Vec<Self>;
    fn wide(self) -> Wide;
    /// As Rust's `as` converts, with one rounding.
    fn of(value: Wide) -> Self;
}

/// The integers.
pub trait Int: Sample + Integer + Bits {
    const BITS: i128;

    fn int(self) -> i128 {
        match self.wide() {
            Wide::Int(value) => value,
            Wide::Float(_) => unreachable!(),
        }
    }

    fn wrap(value: i128) -> Self {
        Self::of(Wide::Int(value))
    }
}

/// The floats.
pub trait Real: Sample + Float + Signed {
    fn real(self) -> f64 {
        match self.wide() {
            Wide::Float(value) => value,
            Wide::Int(_) => unreachable!(),
        }
    }

    fn rounded(value: f64) -> Self {
        Self::of(Wide::Float(value))
    }

    /// A number that grows by 1 from one value to the next; both zeros are 0.
    fn place(self) -> i64;

    /// NumPy's flooring division and remainder, in the precision that the type computes in.
    fn divmod(a: Self, b: Self) -> (Self, Self);

    /// The distance from the right value in units of the last place; none where one is NaN and the other not, or where
    /// zeros differ in sign.
    fn ulps(self, right: Self) -> Option<u64> {
        let (ours, theirs) = (self.real(), right.real());
        if ours.is_nan() || theirs.is_nan() {
            return (ours.is_nan() && theirs.is_nan()).then_some(0);
        }
        if theirs == 0.0 && ours == 0.0 && ours.is_sign_negative() != theirs.is_sign_negative() {
            return None;
        }
        Some(self.place().abs_diff(right.place()))
    }
}

/// Random bits, the same in every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// From 0 up to 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * 2f64.powi(-53)
    }
}

impl Sample for bool {
    fn edges() -> Vec<bool> {
        vec![false, true, true, false, false, true, true]
    }

    fn wide(self) -> Wide {
        Wide::Int(self.into())
    }

    fn of(value: Wide) -> bool {
        match value {
            Wide::Int(value) => value != 0,
            Wide::Float(value) => value != 0.0,
        }
    }
}

macro_rules! int {
    ($($type:ty)+) => { $(
        impl Sample for $type {
            fn edges() -> Vec<$type> {
                let mut random = Random::new(7);
                let half = <$type>::BITS / 2;
                let mut edges: Vec<$type> = vec![
                    0, 1, 2, 3, 5, 7, 8, 10, 31, 32, 63, 64, 100, 127,
                    <$type>::MAX, <$type>::MIN, <$type>::MAX - 1, <$type>::MIN + 1, <$type>::MAX / 2, <$type>::MAX / 2 + 1,
                    1 << half, (1 << half) - 1, <$type>::BITS as $type, <$type>::BITS as $type - 1,
                ];
                edges.extend([1, 2, 3, 7, 8, 64, 100].map(|value: $type| (0 as $type).wrapping_sub(value)));
                edges.extend((0..9).map(|_| random.bits() as $type));
                edges
            }

            fn wide(self) -> Wide {
                Wide::Int(self as i128)
            }

            fn of(value: Wide) -> $type {
                match value {
                    Wide::Int(value) => value as $type,
                    Wide::Float(value) => value as $type,
                }
            }
        }

        impl Int for $type {
            const BITS: i128 = <$type>::BITS as i128;
        }
    )+ };
}

int!(i8 i16 i32 i64 u8 u16 u32 u64);

/// Ordinary values, special ones, and random ones of every size, before they are rounded to a type.
fn reals(largest_exponent: f64, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mut reals = vec![
        0.0,
        1.0,
        0.5,
        1.5,
        2.0,
        2.5,
        3.0,
        3.5,
        0.1,
        0.3,
        3.7,
        10.0,
        100.5,
        255.0,
        1e-3,
        1e-7,
        0.99,
        1.01,
        0.75,
        4097.0,
        std::f64::consts::PI,
        std::f64::consts::FRAC_PI_2,
        std::f64::consts::E,
        std::f64::consts::LN_2,
        5.5,
        9.25,
        27.0,
        f64::INFINITY,
        f64::NAN,
    ];
    reals.extend((0..12).map(|_| random.unit() * 8.0));
    reals.extend((0..12).map(|_| 2f64.powf((2.0 * random.unit() - 1.0) * largest_exponent)));
    let negative: Vec<f64> = reals.iter().map(|value| -value).collect();
    reals.extend(negative);
    reals
}

macro_rules! real {
    ($type:ty, $largest:expr, $place:expr, rounded $rounded:expr, computes in $inner:ty, from $from:expr) => {
        impl Sample for $type {
            fn edges() -> Vec<$type> {
                let mut edges: Vec<$type> = reals($largest, 3).into_iter().map(<$type as Real>::rounded).collect();
                let one = <$type as Element>::one().to_bits();
                for bits in [
                    // The least and the greatest subnormal, the least normal, the greatest; the neighbours of 1.
                    1,
                    3,
                    <$type>::MIN_POSITIVE.to_bits() - 1,
                    <$type>::MIN_POSITIVE.to_bits(),
                    <$type>::MAX.to_bits(),
                    one - 1,
                    one + 1,
                ] {
                    edges.extend([<$type>::from_bits(bits), -<$type>::from_bits(bits)]);
                }
                edges
            }

            fn wide(self) -> Wide {
                Wide::Float(self.into())
            }

            fn of(value: Wide) -> $type {
                let rounded: fn(f64) -> $type = $rounded;
                match value {
                    Wide::Int(value) => $from(value),
                    Wide::Float(value) => rounded(value),
                }
            }
        }

        impl Real for $type {
            fn place(self) -> i64 {
                let place: fn($type) -> (i64, i64) = $place;
                let (bits, sign) = place(self);
                if bits < sign { bits } else { sign - bits }
            }

            fn divmod(a: $type, b: $type) -> ($type, $type) {
                let (x, y) = (f64::from(a) as $inner, f64::from(b) as $inner);
                let mut rem = x % y;
                if y == 0.0 {
                    return (<$type>::rounded((x / y).into()), <$type>::rounded(rem.into()));
                }
                let mut div = (x - rem) / y;
                if rem != 0.0 {
                    if (y < 0.0) != (rem < 0.0) {
                        rem += y;
                        div -= 1.0;
                    }
                } else {
                    rem = (0.0 as $inner).copysign(y);
                }
                let whole = if div != 0.0 {
                    let whole = div.floor();
                    if div - whole > 0.5 { whole + 1.0 } else { whole }
                } else {
                    (0.0 as $inner).copysign(x / y)
                };
                (<$type>::rounded(whole.into()), <$type>::rounded(rem.into()))
            }
        }
    };
}

real!(f16, 14.0, |x| (i64::from(x.to_bits()), 1 << 15), rounded |x| half(x, 11, -14, 65504.0), computes in f32,
    from |value: i128| half(odd(value), 11, -14, 65504.0));
real!(bf16, 120.0, |x| (i64::from(x.to_bits()), 1 << 15), rounded |x| half(x, 8, -126, bf16::MAX.to_f64()), computes in f32,
    from |value: i128| half(odd(value), 8, -126, bf16::MAX.to_f64()));
real!(f32, 120.0, |x| (i64::from(x.to_bits()), 1 << 31), rounded |x| x as f32, computes in f32, from |value: i128| value as f32);
real!(f64, 1000.0, place_of_f64, rounded |x| x, computes in f64, from |value: i128| value as f64);

fn place_of_f64(x: f64) -> (i64, i64) {
    // The sign's place does not fit an i64, so negatives are counted from 0 here.
    let magnitude = (x.to_bits() & (u64::MAX >> 1)) as i64;
    if x.is_sign_negative() { (-magnitude, 1) } else { (magnitude, i64::MAX) }
}

/// The nearest number of so many bits, ties to even. `half`'s own conversion from f64 looks at 32 bits of it only.
fn half<T: Float>(x: f64, bits: i32, least_exponent: i32, greatest: f64) -> T {
    if !x.is_finite() || x == 0.0 {
        return T::from_f64(x);
    }
    let exponent = ((x.to_bits() >> 52 & 0x7FF) as i32 - 1023).max(least_exponent);
    let unit = 2f64.powi(exponent - (bits - 1));
    let rounded = (x / unit).round_ties_even() * unit;
    T::from_f64(if rounded.abs() > greatest { f64::INFINITY.copysign(x) } else { rounded.abs().copysign(x) })
}

/// An integer as an f64 that is rounded to odd, so that rounding it once more gives what one rounding would.
fn odd(value: i128) -> f64 {
    let near = value as f64;
    if near as i128 == value {
        return near;
    }
    let below = if (near as i128).unsigned_abs() > value.unsigned_abs() { near.to_bits() - 1 } else { near.to_bits() };
    f64::from_bits(below | 1)
}

#[test]
fn the_oracle_rounds_once() {
    assert_eq!(f16::rounded(1.0 + 2f64.powi(-11)), f16::ONE);
    assert_eq!(f16::rounded(1.0 + 2f64.powi(-11) + 2f64.powi(-50)).to_f64(), 1.0 + 2f64.powi(-10));
    assert_eq!(bf16::of(Wide::Int((1 << 40) + (1 << 32) + 1)).to_f64(), 2f64.powi(40) + 2f64.powi(33));
    assert_eq!(f16::rounded(65519.0).to_f64(), 65504.0);
    assert_eq!(f16::rounded(-65520.0), f16::NEG_INFINITY);
    assert_eq!(f16::rounded(2f64.powi(-25)), f16::ZERO);
    assert_eq!(f16::rounded(2f64.powi(-24) * 0.75).to_bits(), 1);
    for value in [1.0, -1.0, 0.0, -0.0, 1e-40, f64::INFINITY] {
        assert_eq!(f32::rounded(value).ulps(f32::rounded(value)), Some(0));
    }
    assert_eq!((0.0f32).ulps(-0.0), None);
    assert_eq!(f32::from_bits(1).place() - (-f32::from_bits(1)).place(), 2);
    assert_eq!(f64::from_bits(1).place() - (-f64::from_bits(1)).place(), 2);
    assert_eq!((1.0f64).ulps(1.0 + f64::EPSILON), Some(1));
}
