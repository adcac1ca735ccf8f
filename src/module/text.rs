//! A caller's source made into what the compiler sees.

use lazuli_codegen::Dialect;
use lazuli_kernels::prelude;

use super::Language;

/// A source, and what goes before it.
pub(crate) struct Text<'a> {
    /// What the log calls it.
    pub name: &'a str,
    pub source: &'a str,
    pub language: Language,
    pub dialect: Dialect,
    /// Macros and their values, each of one line.
    pub defines: &'a [(String, String)],
    /// Whether a source in CUDA C stands in an `extern "C"` block.
    pub is_extern_c: bool,
    pub has_f64: bool,
}

impl Text<'_> {
    /// Defines, the words of the portable language, and the source under its own line numbers.
    pub fn assemble(&self) -> String {
        let mut text = String::with_capacity(self.source.len() + 8192);
        for (define, value) in self.defines {
            text += &format!("#define {define} {value}\n");
        }
        if self.language == Language::Portable {
            let (base, double, words) = match self.dialect {
                Dialect::CudaC => (prelude::CUDA_C, prelude::DOUBLE_CUDA_C, prelude::PORTABLE_CUDA_C),
                Dialect::OpenClC => (prelude::OPENCL_C, prelude::DOUBLE_OPENCL_C, prelude::PORTABLE_OPENCL_C),
            };
            text += base;
            text += if self.has_f64 { double } else { "" };
            text += words;
        }
        let is_wrapped = self.language == Language::CudaC && self.is_extern_c;
        text += if is_wrapped { "extern \"C\" {\n" } else { "" };
        let name = self.name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ");
        text += &format!("#line 1 \"{name}\"\n");
        text += self.source;
        text += if is_wrapped { "\n}\n" } else { "\n" };
        text
    }
}
