//! Conversions as Rust's `as`, each rounding once.

use super::arithmetic::Arithmetic;
use super::prelude::Section;
use super::text::{Binding, Text};
use crate::DType;

impl Arithmetic {
    pub fn cast(&mut self, from: DType, to: DType, x: &Text) -> Text {
        match (from, to) {
            _ if from == to => x.clone(),
            (_, DType::Bool) => Text::infix(x, "!=", &Text::atom("0"), Binding::Equality),
            (_, DType::F32 | DType::F64) => self.cast_to_float(from, to, x),
            (_, DType::F16 | DType::BF16) => self.cast_to_half(from, to, x),
            (DType::F16 | DType::BF16 | DType::F32, _) => self.saturate(DType::F32, to, x),
            (DType::F64, _) => self.saturate(DType::F64, to, x),
            // Between integers bits are dropped or the sign is spread.
            _ => Text::cast(self.dialect.value_type(to), x),
        }
    }

    fn cast_to_float(&mut self, from: DType, to: DType, x: &Text) -> Text {
        // Halves are f32 already.
        if from.is_half() && to == DType::F32 { x.clone() } else { Text::cast(self.dialect.value_type(to), x) }
    }

    fn cast_to_half(&mut self, from: DType, to: DType, x: &Text) -> Text {
        let name = self.prelude.half(to);
        let in_f32 = match (from, to) {
            // Every value is one of the type's.
            (DType::Bool | DType::I8 | DType::U8, _) => return Text::cast("float", x),
            // f32 would round first. For f16 it does no harm: what f32 cannot hold is infinite in f16 either way.
            (DType::I32 | DType::I64, DType::BF16) => return self.cast_wide_to_bf16("bf16_from_i64", x),
            (DType::U32 | DType::U64, DType::BF16) => return self.cast_wide_to_bf16("bf16_from_u64", x),
            (DType::F64, _) => {
                self.prelude.section(Section::Double);
                self.prelude.section(Section::RoundToOdd);
                Text::call("f32_round_to_odd", &[x])
            }
            (DType::F16 | DType::BF16 | DType::F32, _) => x.clone(),
            _ => Text::cast("float", x),
        };
        Text::call(&format!("{name}_round"), &[&in_f32])
    }

    fn cast_wide_to_bf16(&mut self, function: &str, x: &Text) -> Text {
        self.prelude.section(Section::Bf16);
        self.prelude.section(Section::Bf16Integers);
        Text::call(function, &[x])
    }

    /// Float to integer, the ends for what lies beyond them and 0 for NaN.
    fn saturate(&mut self, from: DType, to: DType, x: &Text) -> Text {
        let bits = to.size_bytes() as u32 * 8;
        let is_signed = to.is_signed_integer();
        // One past the largest value, a power of two, so that it is exact.
        let past = 1u128 << (if is_signed { bits - 1 } else { bits });
        let suffix = if from == DType::F64 { "" } else { "f" };
        let low = if is_signed { format!("-{past}.0{suffix}") } else { format!("0.0{suffix}") };
        let (least, largest) = (self.least(to), self.largest(to));
        let (from, to) = (self.prelude.dtype(from), self.prelude.dtype(to));
        let line = format!("LAZULI_SATURATE({to}, {from}, {low}, {past}.0{suffix}, {least}, {largest})");
        self.prelude.define(Section::Casts, line);
        Text::call(&format!("{to}_from_{from}"), &[x])
    }

    /// The least value of a type, as a literal.
    pub fn least(&self, dtype: DType) -> String {
        match dtype {
            DType::I8 => "-128".to_owned(),
            DType::I16 => "-32768".to_owned(),
            // C has no negative literals, and 2147483648 is no int.
            DType::I32 => "(-2147483647 - 1)".to_owned(),
            DType::I64 => format!("(-9223372036854775807{} - 1)", self.words.long_suffix),
            DType::F64 => format!("-{}", self.words.infinity_f64),
            DType::F16 | DType::BF16 | DType::F32 => format!("-{}", self.words.infinity_f32),
            DType::Bool | DType::U8 | DType::U16 | DType::U32 | DType::U64 => "0".to_owned(),
        }
    }

    /// The largest value of a type, as a literal.
    pub fn largest(&self, dtype: DType) -> String {
        match dtype {
            DType::Bool => "true".to_owned(),
            DType::I8 => i8::MAX.to_string(),
            DType::I16 => i16::MAX.to_string(),
            DType::I32 => i32::MAX.to_string(),
            DType::I64 => format!("{}{}", i64::MAX, self.words.long_suffix),
            DType::U8 => u8::MAX.to_string(),
            DType::U16 => u16::MAX.to_string(),
            DType::U32 => format!("{}u", u32::MAX),
            DType::U64 => format!("{}u{}", u64::MAX, self.words.long_suffix),
            DType::F64 => self.words.infinity_f64.to_owned(),
            DType::F16 | DType::BF16 | DType::F32 => self.words.infinity_f32.to_owned(),
        }
    }
}
