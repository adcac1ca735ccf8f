//! NVRTC: CUDA C in, machine code out.

use std::ffi::{CStr, CString};

use cudarc::nvrtc::result::{self, NvrtcError};
use cudarc::nvrtc::sys::{self, nvrtcProgram};

/// What to compile for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Target {
    option: String,
    /// True for the device's own machine code, false for PTX, which the driver compiles once more.
    machine_code: bool,
}

/// Why a source gave no code.
pub(super) struct Failure {
    pub(super) log: String,
    pub(super) options: String,
}

/// Which NVRTC it is, and what it knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Release {
    pub(super) version: (i32, i32),
    /// Architectures it compiles for, such as 90; empty where it does not say.
    pub(super) architectures: Vec<u32>,
}

impl Release {
    /// Asks NVRTC, which must be loaded.
    pub(super) fn loaded() -> Self {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both numbers are ours to write.
        let asked = unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) }.result();
        if let Err(error) = asked {
            tracing::debug!("nvrtcVersion gave {error}");
        }
        Self { version: (major, minor), architectures: supported_architectures() }
    }
}

impl Target {
    /// The device's own architecture; where this NVRTC is older than the device, PTX for the newest it knows.
    pub(super) fn new(release: &Release, architecture: u32) -> Self {
        let known = &release.architectures;
        let older = known.iter().copied().filter(|&known| known < architecture).max();
        match older {
            Some(older) if !known.contains(&architecture) => {
                Self { option: format!("--gpu-architecture=compute_{older}"), machine_code: false }
            }
            _ => Self { option: format!("--gpu-architecture=sm_{architecture}"), machine_code: true },
        }
    }

    /// Whether the driver can be given this as what compiling for the target gave: it reads to the end of an ELF file or to
    /// a zero byte.
    pub(super) fn fits(&self, image: &[u8]) -> bool {
        if self.machine_code { image.starts_with(b"\x7fELF") } else { image.ends_with(b"\0") }
    }

    /// The option that names the architecture.
    pub(super) fn option(&self) -> &str {
        &self.option
    }

    /// True where compiling for it gives machine code, false where it gives PTX.
    pub(super) fn gives_machine_code(&self) -> bool {
        self.machine_code
    }

    /// Division, square root and subnormals are IEEE's by NVRTC's own default; only contraction has to be said.
    pub(super) fn options(&self, contraction: bool) -> [String; 3] {
        [self.option.clone(), "--std=c++17".into(), format!("--fmad={contraction}")]
    }
}

/// What compiling gave.
pub(super) struct Compiled {
    /// A cubin, or PTX with a zero byte at its end.
    pub(super) image: Vec<u8>,
    /// The compiler's own name of each function that was asked for by an expression, in order.
    pub(super) lowered: Vec<String>,
}

/// Compiles a source to an image that the driver can load: a cubin, or PTX with a zero byte at its end.
pub(super) fn compile(source: &str, name: &str, target: &Target, contraction: bool) -> Result<Vec<u8>, Failure> {
    // A name ending in .cu is what the log calls the source.
    let options = target.options(contraction);
    compile_with(source, &format!("{name}.cu"), &options, target.machine_code, &[]).map(|compiled| compiled.image)
}

/// Compiles a source that the log calls `file`, to machine code or to PTX as the options have it.
pub(super) fn compile_with(
    source: &str,
    file: &str,
    options: &[String],
    machine_code: bool,
    expressions: &[String],
) -> Result<Compiled, Failure> {
    let fail = |log: String| Failure { log, options: options.join(" ") };
    let call = |call: &'static str| move |error: NvrtcError| format!("{call} gave {error}");
    let c_string = |what: &str, text: &str| CString::new(text).map_err(|_| fail(format!("{what} has a zero byte")));

    let (text, file) = (c_string("the source", source)?, c_string("the name", file)?);
    if options.iter().any(|option| option.contains('\0')) {
        return Err(fail("an option has a zero byte".into()));
    }
    let program = result::create_program(&text, Some(&file)).map_err(|e| fail(call("nvrtcCreateProgram")(e)))?;
    let program = Program(program);
    let expressions: Vec<CString> =
        expressions.iter().map(|expression| c_string("a name", expression)).collect::<Result<_, _>>()?;
    for expression in &expressions {
        // SAFETY: the program lives and is not compiled yet; NVRTC copies the text.
        unsafe { sys::nvrtcAddNameExpression(program.0, expression.as_ptr()) }
            .result()
            .map_err(|error| fail(call("nvrtcAddNameExpression")(error)))?;
    }
    // SAFETY: the program was made above; no option has a zero byte.
    unsafe { result::compile_program(program.0, options) }
        .map_err(|error| fail(format!("{}\nnvrtcCompileProgram gave {error}", program.log())))?;
    let lowered = expressions.iter().map(|expression| program.lowered(expression)).collect::<Result<_, _>>();
    let lowered = lowered.map_err(|error| fail(call("nvrtcGetLoweredName")(error)))?;
    let image = if machine_code { program.cubin() } else { program.ptx() };
    Ok(Compiled { image: image.map_err(|error| fail(call("reading the compiled code")(error)))?, lowered })
}

/// Architectures this NVRTC compiles for, such as 90; empty where it does not say.
fn supported_architectures() -> Vec<u32> {
    let mut count = 0;
    // SAFETY: the number is ours to write.
    let counted = unsafe { sys::nvrtcGetNumSupportedArchs(&raw mut count) }.result();
    let (Ok(()), Ok(count)) = (counted, usize::try_from(count)) else { return Vec::new() };
    let mut architectures = vec![0; count];
    // SAFETY: the array holds as many numbers as NVRTC said it would write.
    match unsafe { sys::nvrtcGetSupportedArchs(architectures.as_mut_ptr()) }.result() {
        Ok(()) => architectures.into_iter().filter_map(|number| u32::try_from(number).ok()).collect(),
        Err(_) => Vec::new(),
    }
}

/// A program of NVRTC's.
struct Program(nvrtcProgram);

impl Program {
    fn log(&self) -> String {
        // SAFETY: the program lives.
        match unsafe { result::get_program_log(self.0) } {
            Ok(log) => {
                let bytes: Vec<u8> = log.into_iter().map(|byte| byte as u8).collect();
                let text = CStr::from_bytes_until_nul(&bytes).map_or(&*bytes, CStr::to_bytes);
                String::from_utf8_lossy(text).trim_end().to_owned()
            }
            Err(error) => format!("nvrtcGetProgramLog gave {error}"),
        }
    }

    /// The compiler's own name of a function that was asked for by an expression.
    fn lowered(&self, expression: &CStr) -> Result<String, NvrtcError> {
        let mut name = std::ptr::null();
        // SAFETY: the program lives and was compiled with this expression; the pointer is ours to write.
        unsafe { sys::nvrtcGetLoweredName(self.0, expression.as_ptr(), &raw mut name) }.result()?;
        // SAFETY: NVRTC's own text, which lives as long as the program.
        Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }

    fn cubin(&self) -> Result<Vec<u8>, NvrtcError> {
        let mut bytes = 0;
        // SAFETY: the program lives, and the number is ours to write.
        unsafe { sys::nvrtcGetCUBINSize(self.0, &raw mut bytes) }.result()?;
        let mut image = vec![0u8; bytes];
        // SAFETY: the image is as long as NVRTC said.
        unsafe { sys::nvrtcGetCUBIN(self.0, image.as_mut_ptr().cast()) }.result()?;
        Ok(image)
    }

    fn ptx(&self) -> Result<Vec<u8>, NvrtcError> {
        // SAFETY: the program lives.
        let ptx = unsafe { result::get_ptx(self.0) }?;
        Ok(ptx.into_iter().map(|byte| byte as u8).collect())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program was made by nvrtcCreateProgram, and nobody uses it after this.
        if let Err(error) = unsafe { result::destroy_program(self.0) } {
            tracing::warn!("nvrtcDestroyProgram gave {error}");
        }
    }
}
