//! What values are computed by, whoever prints the statements around them: the language, and the prelude that grows with
//! what is used of it. `operation` and `cast` are its methods.

use super::prelude::Prelude;
use super::text::{Binding, Text};
use crate::dialect::Spelling;
use crate::simt::emit::Functions;
use crate::{DType, Dialect};

/// Writes operations on values, and notes what they need of the prelude.
pub(crate) struct Arithmetic {
    pub(super) dialect: Dialect,
    pub(super) cpu_math: bool,
    pub(super) words: &'static Spelling,
    pub prelude: Prelude,
    /// Functions of the user's that are defined in the prelude.
    pub(super) functions: Functions,
}

impl Arithmetic {
    /// `cpu_math` as in [`EmitOptions`](super::EmitOptions).
    pub fn new(dialect: Dialect, cpu_math: bool) -> Self {
        Self {
            dialect,
            cpu_math: cpu_math && dialect == Dialect::OpenClC,
            words: dialect.spelling(),
            prelude: Prelude::default(),
            functions: Functions::default(),
        }
    }

    /// The language.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// An element in memory as a value.
    pub fn decoded(&mut self, dtype: DType, element: Text) -> Text {
        if !dtype.is_half() {
            return element;
        }
        let name = self.prelude.half(dtype);
        Text::call(&format!("{name}_value"), &[&element])
    }

    /// A value as an element in memory.
    pub fn encoded(&mut self, dtype: DType, value: &Text) -> Text {
        if !dtype.is_half() {
            return value.clone();
        }
        let name = self.prelude.half(dtype);
        // Taking the bits rounds, so that rounding just before is for nothing.
        let unrounded = value.code.strip_prefix(&format!("{name}_round(")).and_then(|code| code.strip_suffix(')'));
        match unrounded {
            Some(code) if value.binding == Binding::Atom => Text::atom(format!("{name}_bits({code})")),
            _ => Text::call(&format!("{name}_bits"), &[value]),
        }
    }

    /// The zero of a type.
    pub fn zero(&self, dtype: DType) -> Text {
        Text::atom(match dtype {
            DType::Bool => "false",
            DType::F16 | DType::BF16 | DType::F32 => "0.0f",
            DType::F64 => "0.0",
            _ => "0",
        })
    }

    /// The pragmas and the prelude that go before what is printed; `code` is the rest of the source.
    pub fn head(&self, code: &str, contraction: bool) -> String {
        let prelude = self.prelude.text(self.dialect);
        let mut head = String::new();
        if self.dialect == Dialect::OpenClC {
            let switch = if contraction { "ON" } else { "OFF" };
            head.push_str(&format!("#pragma OPENCL FP_CONTRACT {switch}\n"));
            let uses = |word: &str| prelude.contains(word) || code.contains(word);
            if uses("double") || uses("f64") {
                head.push_str("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
            }
            if ["atom_add", "atom_sub", "atom_xchg", "atom_cmpxchg"].into_iter().any(uses) {
                head.push_str("#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n");
            }
            if ["atom_min", "atom_max", "atom_and", "atom_or", "atom_xor"].into_iter().any(uses) {
                head.push_str("#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n");
            }
            head.push('\n');
        }
        head.push_str(&prelude);
        head
    }
}
