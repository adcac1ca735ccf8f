//! Constants.

use super::arithmetic::Arithmetic;
use super::text::{Binding, Text};
use crate::{DType, Dialect, Scalar};

impl Arithmetic {
    /// A value of any type.
    pub fn literal(&self, scalar: Scalar) -> Text {
        let (dtype, bits) = (scalar.dtype(), scalar.bits());
        let words = self.words;
        let signed = |value: i64| match value {
            0.. => Text::atom(value.to_string()),
            _ => Text::new(value.to_string(), Binding::Prefix),
        };
        match dtype {
            DType::Bool => Text::atom(if bits & 0xff != 0 { "true" } else { "false" }),
            DType::I8 => signed(i64::from(bits as i8)),
            DType::I16 => signed(i64::from(bits as i16)),
            DType::I32 if bits as i32 == i32::MIN => Text::atom(self.least(dtype)),
            DType::I32 => signed(i64::from(bits as i32)),
            DType::I64 => match bits as i64 {
                i64::MIN => Text::atom(self.least(dtype)),
                value if i32::try_from(value).is_ok_and(|value| value > i32::MIN) => signed(value),
                value => Text::new(format!("{value}{}", words.long_suffix), signed(value).binding),
            },
            DType::U8 => Text::atom((bits as u8).to_string()),
            DType::U16 => Text::atom((bits as u16).to_string()),
            DType::U32 => Text::atom(format!("{}u", bits as u32)),
            DType::U64 => Text::atom(format!("{bits}u{}", words.long_suffix)),
            DType::F16 => self.float_literal(f64::from(half::f16::from_bits(bits as u16).to_f32()), false),
            DType::BF16 => self.float_literal(f64::from(half::bf16::from_bits(bits as u16).to_f32()), false),
            DType::F32 => self.float_literal(f64::from(f32::from_bits(bits as u32)), false),
            DType::F64 => self.float_literal(f64::from_bits(bits), true),
        }
    }

    fn float_literal(&self, value: f64, is_double: bool) -> Text {
        let words = self.words;
        let code = match (value.is_nan(), value.is_infinite(), is_double) {
            (true, _, true) => {
                return Text::atom(self.nan("__longlong_as_double(0x7ff8000000000000LL)", "(double)NAN"));
            }
            (true, _, false) => return Text::atom(self.nan("__int_as_float(0x7fc00000)", "NAN")),
            (_, true, true) => words.infinity_f64.to_owned(),
            (_, true, false) => words.infinity_f32.to_owned(),
            (_, _, true) => format!("{:?}", value.abs()),
            // An f32's own shortest digits.
            (_, _, false) => format!("{:?}f", value.abs() as f32),
        };
        match value.is_sign_negative() {
            true => Text::prefix("-", &Text::atom(code)),
            false => Text::atom(code),
        }
    }

    fn nan(&self, cuda: &str, opencl: &str) -> String {
        match self.dialect {
            Dialect::CudaC => cuda.to_owned(),
            Dialect::OpenClC => opencl.to_owned(),
        }
    }
}
