//! A module to be: its options, and its source made into what the compiler sees.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use lazuli_codegen::Dialect;

use super::text::Text;
use super::{Module, includes, report, unsupported};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::runtime::explicit::{ModuleCode, ModuleOptions};

/// The language of a module's source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Language {
    /// CUDA C++, compiled by NVRTC for CUDA devices.
    CudaC,
    /// OpenCL C, compiled by the driver of an OpenCL device.
    OpenClC,
    /// One source for both, in the C that they share and these words for the rest:
    ///
    /// | word | meaning |
    /// |---|---|
    /// | `i8` .. `i64`, `u8` .. `u64`, `f32`, `f64` | numbers; `f64` where the device has it |
    /// | `KERNEL name(..)` | a kernel; it returns nothing |
    /// | `FN type name(..)` | a function that kernels call |
    /// | `GLOBAL T *x` | a pointer to device memory |
    /// | `SHARED T x[64];` | an array of the group, at the top of a kernel |
    /// | `LOCAL T *x` | a pointer to such an array, as a function takes it |
    /// | `LOCAL_PARAM(T, x)` | after a kernel's last parameter and without a comma: an array of the group whose length the launch sets, by [`LocalMem`](crate::LocalMem) as the last argument. `LOCAL_ARRAY(T, x)` at the kernel's top names it too |
    /// | `CONSTANT T x[4] = {..};` | a table at the top of the source |
    /// | `RESTRICT` | after a pointer's `*`: nobody else writes what it points to |
    /// | `ALIGNED(16)` | alignment of a type |
    /// | `THREAD_X`, `GROUP_X`, `GROUP_SIZE_X`, `GROUPS_X` | the thread's number in its group, the group's in the grid, threads in a group, groups in the grid, as `u32`; likewise `_Y` and `_Z` |
    /// | `INDEX_X` | the thread's number in the grid along x, as `u64`; likewise `_Y` and `_Z` |
    /// | `BARRIER;` | waits for every thread of the group, and shows each what the others wrote |
    /// | `ATOMIC_ADD(place, x)`, `_SUB`, `_MIN`, `_MAX`, `_AND`, `_OR`, `_XOR`, `_EXCHANGE` | changes an `i32` or `u32` in one step and gives what it held before. CUDA has `_MIN` and `_MAX` of both signs too |
    /// | `ATOMIC_COMPARE_EXCHANGE(place, expected, x)` | the same, where it holds what is expected |
    /// | `ATOMIC_ADD_F32(place, x)` | the same for an `f32` in device memory |
    ///
    /// Math functions have one name for all types: `sqrt(x)`, `exp(x)`, `min(a, b)`.
    Portable,
}

impl Language {
    /// The name users read.
    pub const fn name(self) -> &'static str {
        match self {
            Language::CudaC => "CUDA C",
            Language::OpenClC => "OpenCL C",
            Language::Portable => "portable C",
        }
    }
}

/// A [`Module`] to be, from [`Module::builder`].
#[must_use = "nothing is compiled before `source`"]
#[derive(Clone, Debug)]
pub struct ModuleBuilder {
    device: Device,
    name: Option<String>,
    language: Option<Language>,
    options: Vec<String>,
    folders: Vec<PathBuf>,
    defines: Vec<(String, String)>,
    expressions: Vec<String>,
    is_extern_c: bool,
}

impl ModuleBuilder {
    pub(super) fn new(device: &Device) -> Self {
        Self {
            device: device.clone(),
            name: None,
            language: None,
            options: Vec::new(),
            folders: Vec::new(),
            defines: Vec::new(),
            expressions: Vec::new(),
            is_extern_c: true,
        }
    }

    /// What messages call the source, such as `saxpy.cu`.
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// The language of the source; the device's own unless it is said.
    pub fn language(self, language: Language) -> Self {
        Self { language: Some(language), ..self }
    }

    /// An option of the compiler (NVRTC, or clBuildProgram), as it takes it. In CUDA, one that names the architecture
    /// (`--gpu-architecture=sm_90`) takes the place of the device's own.
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// Several options.
    pub fn options<S: Into<String>>(mut self, options: impl IntoIterator<Item = S>) -> Self {
        self.options.extend(options.into_iter().map(Into::into));
        self
    }

    /// A folder in which `#include` looks; those named first come first. On CUDA the headers of an installed toolkit come after
    /// them; a module that includes what lies there is not kept on disk.
    pub fn include(mut self, folder: impl AsRef<Path>) -> Self {
        self.folders.push(folder.as_ref().to_path_buf());
        self
    }

    /// A macro: `#define name value` before the source. `name` may have parameters: `SQUARE(x)`.
    pub fn define(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.defines.push((name.into(), value.to_string()));
        self
    }

    /// Whether a source in CUDA C stands in an `extern "C"` block, so that its kernels keep their names, as with PyCUDA. On
    /// unless it is turned off; templates, and headers that have some, need it off. Kernels that are not `extern "C"` by
    /// themselves are then found by an [`expression`](Self::expression).
    pub fn extern_c(self, is_extern_c: bool) -> Self {
        Self { is_extern_c, ..self }
    }

    /// A C++ expression that names a kernel, such as `scale<float>` or `name::space::kernel`: it makes the compiler emit that
    /// instance, and [`Module::function`] find it. It turns [`extern_c`](Self::extern_c) off. CUDA only.
    pub fn expression(mut self, expression: impl Into<String>) -> Self {
        self.expressions.push(expression.into());
        Self { is_extern_c: false, ..self }
    }

    /// Compiles the source, or takes its code from disk.
    ///
    /// Errors: `Compile` with the compiler's log, in which lines are those of this source, the options and the source;
    /// `Unsupported` for a language that is not the device's, and on the host, which compiles none; `HostData` for a define
    /// that is no line; `Driver`.
    pub fn source(self, source: &str) -> Result<Module> {
        let modules = self.device.runtime().modules();
        let Some(dialect) = modules.dialect() else {
            let language = self.language.map_or("source text", Language::name);
            return Err(unsupported(&self.device, &format!("modules in {language}")));
        };
        let language = self.checked_language(dialect)?;
        let name = self.name.clone().unwrap_or_else(|| format!("module.{}", dialect.file_extension()));
        self.check_defines()?;
        self.check_text(source)?;
        let text = Text {
            name: &name,
            source,
            language,
            dialect,
            defines: &self.defines,
            is_extern_c: self.is_extern_c,
            has_f64: self.device.runtime().facts().has_f64,
        };
        let text = text.assemble();
        let options = ModuleOptions {
            name: name.clone(),
            options: self.compiler_options(dialect),
            kept_under: self.kept_under(source),
            name_expressions: self.expressions.clone(),
        };
        let span =
            tracing::debug_span!("compile", module = name, language = language.name(), hit = tracing::field::Empty);
        let _entered = span.enter();
        let compiled = modules.module(ModuleCode::Source(&text), &options);
        match &compiled {
            Ok(module) if module.is_from_disk() => self.device.count_disk_hit(),
            Ok(_) | Err(Error::Compile { .. }) => self.device.count_compile(),
            Err(_) => {}
        }
        let raw = compiled.map_err(|error| in_callers_terms(error, &name, source))?;
        span.record("hit", raw.is_from_disk());
        Ok(Module { name, device: self.device, raw })
    }

    /// The language, if the device compiles it.
    fn checked_language(&self, dialect: Dialect) -> Result<Language> {
        let own = match dialect {
            Dialect::CudaC => Language::CudaC,
            Dialect::OpenClC => Language::OpenClC,
        };
        let language = self.language.unwrap_or(own);
        if language != own && language != Language::Portable {
            let what = format!(
                "modules in {}; it compiles {}, and `Language::Portable` is for both",
                language.name(),
                own.name()
            );
            return Err(Error::Unsupported { device: self.device.name().into(), what });
        }
        if let (Dialect::OpenClC, Some(expression)) = (dialect, self.expressions.first()) {
            let what = format!("the name expression {expression:?}: OpenCL C has no templates");
            return Err(Error::Unsupported { device: self.device.name().into(), what });
        }
        Ok(language)
    }

    /// Refuses a define that would not be one line.
    /// Refuses what a compiler would see the beginning of. Errors: `HostData`.
    fn check_text(&self, source: &str) -> Result<()> {
        let is_cut = |text: &&str| text.contains('\0');
        let texts = [source].into_iter().chain(self.options.iter().map(String::as_str));
        match texts.into_iter().find(is_cut) {
            Some(text) => {
                let at = text.find('\0').unwrap_or_default();
                let what = format!("a NUL at byte {at} of the source or of an option, where compilers stop to read");
                Err(Error::HostData { op: "ModuleBuilder::source", what })
            }
            None => Ok(()),
        }
    }

    fn check_defines(&self) -> Result<()> {
        let is_wrong = |(define, value): &&(String, String)| {
            let ends_line = |text: &str| text.contains(['\n', '\r', '\0']) || text.trim_end().ends_with('\\');
            define.trim().is_empty() || ends_line(define) || ends_line(value)
        };
        match self.defines.iter().find(is_wrong) {
            None => Ok(()),
            Some((define, value)) => {
                let what = format!("#define {define} {value}: a name, and both on one line, are needed");
                Err(Error::HostData { op: "ModuleBuilder::define", what })
            }
        }
    }

    fn compiler_options(&self, dialect: Dialect) -> Vec<String> {
        let folders = self.folders.iter().map(|folder| folder.to_string_lossy());
        let mut options = self.options.clone();
        match dialect {
            Dialect::CudaC => options.extend(folders.map(|folder| format!("--include-path={folder}"))),
            Dialect::OpenClC => {
                // One text, cut at spaces.
                let quoted =
                    |folder: Cow<str>| if folder.contains(' ') { format!("\"{folder}\"") } else { folder.into() };
                options.extend(folders.flat_map(|folder| ["-I".to_string(), quoted(folder)]));
                // So that arguments can be held against parameters.
                options.push("-cl-kernel-arg-info".into());
            }
        }
        options
    }

    /// What the code depends on beside the text and the options: the content of included files. None where that is not known.
    fn kept_under(&self, source: &str) -> Option<Vec<u8>> {
        let names_files = |option: &String| {
            ["-I", "-include", "--include-path", "--pre-include"].iter().any(|start| option.starts_with(start))
        };
        if self.options.iter().any(names_files) {
            return None;
        }
        includes::digest(source, &self.folders)
    }
}

/// A compile error with the caller's source in place of what was made of it, and the line that each message is about.
fn in_callers_terms(error: Error, name: &str, source: &str) -> Error {
    match error {
        Error::Compile { device, kernel, options, log, source_text } => {
            let log = report::renumbered(&log, name, &source_text);
            let log = report::with_source_lines(&log, name, source);
            Error::Compile { device, kernel, options, log, source_text: source.into() }
        }
        other => other,
    }
}
