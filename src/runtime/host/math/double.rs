//! f64 functions.
//!
//! Sources: fdlibm as kept by FreeBSD msun and musl: `e_log.c`, `k_sin.c`, `k_cos.c`, `__rem_pio2.c`, with the branches turned
//! into choices and every step of the reduction always taken; the exponential reduces as `e_exp.c` and sums a Taylor series
//! (its rational function gives e^1 one bit off).

use std::f64::consts::{FRAC_2_PI, LOG2_E};

use super::{TO_INTEGER, power_of_two, split};
use crate::runtime::host::ops::apply::op1;

const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

#[inline(always)]
fn exp(x: f64) -> f64 {
    let x = if x > 720.0 { 720.0 } else { x };
    let x = if x < -760.0 { -760.0 } else { x };
    let k = (x * LOG2_E + TO_INTEGER) - TO_INTEGER;
    let high = x - k * LN2_HIGH;
    let low = k * LN2_LOW;
    let r = high - low;
    let tail = (high - r) - low;
    // The Taylor series to r^13, by pairs. What the sum of the first two terms loses is kept, so that one rounding counts.
    let z = r * r;
    let z2 = z * z;
    let first = (1.0 / 2.0 + r * (1.0 / 6.0)) + z * (1.0 / 24.0 + r * (1.0 / 120.0));
    let second = (1.0 / 720.0 + r * (1.0 / 5040.0)) + z * (1.0 / 40_320.0 + r * (1.0 / 362_880.0));
    let third =
        (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0)) + z * (1.0 / 479_001_600.0 + r * (1.0 / 6_227_020_800.0));
    let head = 1.0 + r;
    let lost = (1.0 - head) + r;
    let y = head + (lost + (z * (first + z2 * (second + z2 * third)) + tail));
    // Two steps, so that a subnormal result is rounded once and 2^k stays a normal number.
    let half = k * 0.5 + TO_INTEGER;
    let rest = (k - (half - TO_INTEGER)) + TO_INTEGER;
    y * power_of_two(half) * power_of_two(rest)
}

#[inline(always)]
fn log(x: f64) -> f64 {
    const G1: f64 = f64::from_bits(0x3fe5_5555_5555_5593);
    const G2: f64 = f64::from_bits(0x3fd9_9999_9997_fa04);
    const G3: f64 = f64::from_bits(0x3fd2_4924_9422_9359);
    const G4: f64 = f64::from_bits(0x3fcc_71c5_1d8e_78af);
    const G5: f64 = f64::from_bits(0x3fc7_4664_96cb_03de);
    const G6: f64 = f64::from_bits(0x3fc3_9a09_d078_c69f);
    const G7: f64 = f64::from_bits(0x3fc2_f112_df3e_5244);
    // Subnormals are made normal first.
    let tiny = x < f64::MIN_POSITIVE;
    let (exponent, m) = split(if tiny { x * 18_014_398_509_481_984.0 } else { x });
    let k = if tiny { exponent - 54.0 } else { exponent };
    let f = m - 1.0;
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (G2 + w * (G4 + w * G6));
    let odd = z * (G1 + w * (G3 + w * (G5 + w * G7)));
    let value = s * (half_square + (odd + even)) + k * LN2_LOW - half_square + f + k * LN2_HIGH;
    let value = if x < f64::INFINITY { value } else { x };
    let value = if x > 0.0 { value } else { f64::NAN };
    if x == 0.0 { f64::NEG_INFINITY } else { value }
}

/// The angle less a multiple of pi/2 as a sum of two numbers, and that multiple in the low two bits. |x| below 1e6.
#[inline(always)]
fn reduce_angle(x: f64) -> (f64, f64, u64) {
    // pi/2 in parts of 33 bits, each with the rest behind it.
    const PIO2_1: f64 = f64::from_bits(0x3ff9_21fb_5440_0000);
    const PIO2_2: f64 = f64::from_bits(0x3dd0_b461_1a60_0000);
    const PIO2_3: f64 = f64::from_bits(0x3ba3_198a_2e00_0000);
    const PIO2_3_TAIL: f64 = f64::from_bits(0x397b_839a_2520_49c1);
    let shifted = x * FRAC_2_PI + TO_INTEGER;
    let k = shifted - TO_INTEGER;
    let first = x - k * PIO2_1;
    let second_part = k * PIO2_2;
    let second = first - second_part;
    let second_lost = (first - second) - second_part;
    let third_part = k * PIO2_3;
    let third = second - third_part;
    let third_lost = (second - third) - third_part;
    let rest = k * PIO2_3_TAIL - third_lost - second_lost;
    let head = third - rest;
    (head, (third - head) - rest, shifted.to_bits())
}

#[inline(always)]
fn sin_near_zero(x: f64, tail: f64) -> f64 {
    const S1: f64 = f64::from_bits(0xbfc5_5555_5555_5549);
    const S2: f64 = f64::from_bits(0x3f81_1111_1110_f8a6);
    const S3: f64 = f64::from_bits(0xbf2a_01a0_19c1_61d5);
    const S4: f64 = f64::from_bits(0x3ec7_1de3_57b1_fe7d);
    const S5: f64 = f64::from_bits(0xbe5a_e5e6_8a2b_9ceb);
    const S6: f64 = f64::from_bits(0x3de5_d93a_5acf_d57c);
    let z = x * x;
    let w = z * z;
    let r = S2 + z * (S3 + z * S4) + z * w * (S5 + z * S6);
    let v = z * x;
    x - ((z * (0.5 * tail - v * r) - tail) - v * S1)
}

#[inline(always)]
fn cos_near_zero(x: f64, tail: f64) -> f64 {
    const C1: f64 = f64::from_bits(0x3fa5_5555_5555_554c);
    const C2: f64 = f64::from_bits(0xbf56_c16c_16c1_5177);
    const C3: f64 = f64::from_bits(0x3efa_01a0_19cb_1590);
    const C4: f64 = f64::from_bits(0xbe92_7e4f_809c_52ad);
    const C5: f64 = f64::from_bits(0x3e21_ee9e_bdb4_b1c4);
    const C6: f64 = f64::from_bits(0xbda8_fae9_be88_38d4);
    let z = x * x;
    let w = z * z;
    let r = z * (C1 + z * (C2 + z * C3)) + w * w * (C4 + z * (C5 + z * C6));
    let half_square = 0.5 * z;
    let near = 1.0 - half_square;
    near + (((1.0 - near) - half_square) + (z * r - x * tail))
}

#[inline(always)]
fn sin_ahead(x: f64, quarters: u64) -> f64 {
    let (head, tail, k) = reduce_angle(x);
    let k = k.wrapping_add(quarters);
    let (sin, cos) = (sin_near_zero(head, tail), cos_near_zero(head, tail));
    let value = if k & 1 == 0 { sin } else { cos };
    f64::from_bits(value.to_bits() ^ ((k & 2) << 62))
}

#[inline(always)]
fn is_huge_angle(x: f64) -> bool {
    x.abs() >= 1e6
}

op1!(
    /// e^x
    Exp: f64 => f64, |x| exp(x)
);
op1!(
    /// ln(x)
    Log: f64 => f64, |x| log(x)
);
op1!(
    /// sin(x)
    Sin: f64 => f64, |x| sin_ahead(x, 0), hard is_huge_angle(x) => x.sin()
);
op1!(
    /// cos(x)
    Cos: f64 => f64, |x| sin_ahead(x, 1), hard is_huge_angle(x) => x.cos()
);
