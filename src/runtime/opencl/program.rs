//! Programs built from source, and the kernels in them.

use std::any::Any;
use std::ffi::CString;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lazuli_codegen::IndexWidth;
use opencl3::kernel::{
    CL_KERNEL_COMPILE_WORK_GROUP_SIZE, CL_KERNEL_NUM_ARGS, CL_KERNEL_WORK_GROUP_SIZE, create_kernel, get_kernel_data,
    get_kernel_work_group_data, release_kernel,
};
use opencl3::program::{
    CL_PROGRAM_BINARIES, CL_PROGRAM_BUILD_LOG, CL_PROGRAM_KERNEL_NAMES, build_program, create_program_with_binary,
    create_program_with_source, get_program_build_data, get_program_info, release_program,
};
use opencl3::types::{cl_int, cl_kernel, cl_program};

use super::fault;
use super::handles::Handles;
use super::platform::Limits;
use crate::cache::disk::key_of;
use crate::error::{Error, Result};
use crate::runtime::{Binaries, Executable};

/// A compiled kernel. It holds its arguments, so a launch sets and submits them under the lock.
pub(super) struct OpenClExecutable {
    source: Arc<str>,
    name: String,
    index: IndexWidth,
    parameters: usize,
    max_group: usize,
    is_from_disk: bool,
    kernel: Mutex<Kernel>,
    handles: Arc<Handles>,
}

/// A source to build, and how its kernel is called.
pub(super) struct SourceText<'a> {
    pub(super) text: &'a str,
    /// The kernel function.
    pub(super) entry: &'a str,
    /// The name messages give it.
    pub(super) name: &'a str,
    /// The type of its size parameters.
    pub(super) index: IndexWidth,
    /// The language.
    pub(super) standard: Standard,
}

/// A version of OpenCL C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standard {
    V1_2,
    /// For atomics in device scope.
    V3_0,
}

impl SourceText<'_> {
    /// The options of its build: the device's, and the language.
    fn options(&self, limits: &Limits) -> String {
        let standard = match self.standard {
            Standard::V1_2 => "-cl-std=CL1.2",
            Standard::V3_0 => "-cl-std=CL3.0",
        };
        match limits.options.as_str() {
            "" => standard.into(),
            options => format!("{standard} {options}"),
        }
    }
}

impl OpenClExecutable {
    /// Takes the kernel from the store of binaries, else builds its source and keeps the binary.
    /// Errors: `Compile` with the log, the options and the source; `Driver`.
    pub(super) fn make(
        handles: &Arc<Handles>,
        source: &SourceText,
        limits: &Limits,
        binaries: &Binaries,
    ) -> Result<Self> {
        let _turn = turn_to_build(limits);
        let options = source.options(limits);
        let Some(binaries) = binaries else {
            return Self::new(
                handles,
                source,
                &Program::from_source(handles, source.name, source.text, &options)?,
                false,
            );
        };
        // The compiler's line tells platform, device, driver and its options; the generator's version is this crate's.
        let compiler = limits.facts.compiler.as_bytes();
        let version = env!("CARGO_PKG_VERSION").as_bytes();
        let parts = [b"opencl", version, compiler, options.as_bytes(), source.entry.as_bytes(), source.text.as_bytes()];
        let key = key_of(&parts);
        if let Some(binary) = binaries.get(&key) {
            let made = Program::from_binary(handles, source.name, source.text, &options, &binary)
                .and_then(|program| Self::new(handles, source, &program, true));
            match made {
                Ok(made) => return Ok(made),
                Err(error) => tracing::debug!(kernel = source.name, %error, "a stored binary was refused"),
            }
        }
        let program = Program::from_source(handles, source.name, source.text, &options)?;
        let made = Self::new(handles, source, &program, false)?;
        match program.binary() {
            Ok(binary) => binaries.put(&key, &binary),
            Err(why) => tracing::debug!(kernel = source.name, why, "the binary is not kept"),
        }
        Ok(made)
    }

    /// The kernel in a program that is built.
    fn new(handles: &Arc<Handles>, source: &SourceText, program: &Program, is_from_disk: bool) -> Result<Self> {
        let failed = |call: &str, code: cl_int| failed(handles, source.name, call, code);
        let kernel =
            create_kernel(program.0, &c_string(source.entry)?).map_err(|code| failed("clCreateKernel", code))?;
        let kernel = Kernel(kernel);
        let parameters =
            get_kernel_data(kernel.0, CL_KERNEL_NUM_ARGS).map_err(|code| failed("clGetKernelInfo", code))?;
        let work_group = |item| {
            get_kernel_work_group_data(kernel.0, handles.device, item)
                .map_err(|code| failed("clGetKernelWorkGroupInfo", code))
        };
        let (max_group, required) =
            (work_group(CL_KERNEL_WORK_GROUP_SIZE)?, work_group(CL_KERNEL_COMPILE_WORK_GROUP_SIZE)?);
        Ok(Self {
            source: source.text.into(),
            name: source.name.into(),
            index: source.index,
            parameters: number(&parameters),
            // A driver may report less than a kernel's own required size, though it runs groups of it (NVIDIA's does).
            max_group: number(&max_group).max(required.chunks(size_of::<usize>()).map(number).product()),
            is_from_disk,
            kernel: Mutex::new(kernel),
            handles: handles.clone(),
        })
    }

    /// The executable as this runtime's own. Errors: `Internal` where another runtime made it.
    pub(super) fn of<'a>(executable: &'a dyn Executable, handles: &Arc<Handles>) -> Result<&'a Self> {
        let executable: &dyn Any = executable;
        match executable.downcast_ref::<Self>() {
            Some(executable) if Arc::ptr_eq(&executable.handles, handles) => Ok(executable),
            _ => Err(Error::Internal(format!("{} was given another runtime's kernel", handles.name))),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn index(&self) -> IndexWidth {
        self.index
    }

    /// How many parameters the kernel has.
    pub(super) fn parameters(&self) -> usize {
        self.parameters
    }

    /// Threads a group of this kernel may have; its registers may make that fewer than the device's limit.
    pub(super) fn max_group(&self) -> usize {
        self.max_group
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Kernel> {
        // A thread that panicked with the lock left some arguments set, and every launch sets all of them.
        self.kernel.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Executable for OpenClExecutable {
    fn source(&self) -> &str {
        &self.source
    }

    fn is_from_disk(&self) -> bool {
        self.is_from_disk
    }
}

/// A kernel object. Whoever sets its arguments holds the lock around it.
pub(super) struct Kernel(pub(super) cl_kernel);

// SAFETY: a kernel may be used from any thread, by one at a time; the mutex around it sees to that.
unsafe impl Send for Kernel {}

impl Drop for Kernel {
    fn drop(&mut self) {
        // SAFETY: this is the one reference made by clCreateKernel. A failure leaves the kernel to the driver.
        if let Err(code) = unsafe { release_kernel(self.0) } {
            tracing::warn!("clReleaseKernel gave {}", fault::text(code));
        }
    }
}

/// A program; its kernels keep what they need of it.
pub(super) struct Program(pub(super) cl_program);

// SAFETY: a program is a reference to an object of the driver's that does not change once it is built, and OpenCL lets any
// thread use it.
unsafe impl Send for Program {}
// SAFETY: as above.
unsafe impl Sync for Program {}

/// Takes one turn at building, where the driver does not build several programs at once.
pub(super) fn turn_to_build(limits: &Limits) -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    (!limits.builds_in_parallel).then(|| TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Program {
    /// Builds a source that messages call `name`. Errors: `Compile` with the log, the options and the source; `Driver`.
    pub(super) fn from_source(handles: &Handles, name: &str, text: &str, options: &str) -> Result<Self> {
        let program = create_program_with_source(handles.context, &[text])
            .map_err(|code| failed(handles, name, "clCreateProgramWithSource", code))?;
        Self(program).built(handles, name, text, options)
    }

    /// Takes what `binary` gave, for the same device and driver. Errors: `Compile`, `Driver`.
    pub(super) fn from_binary(handles: &Handles, name: &str, text: &str, options: &str, binary: &[u8]) -> Result<Self> {
        // SAFETY: the context was made of this device, and the driver copies the binary.
        let program = unsafe { create_program_with_binary(handles.context, &[handles.device], &[binary]) }
            .map_err(|code| failed(handles, name, "clCreateProgramWithBinary", code))?;
        Self(program).built(handles, name, text, options)
    }

    fn built(self, handles: &Handles, name: &str, text: &str, options: &str) -> Result<Self> {
        let c_options = c_string(options)?;
        match build_program(self.0, &[handles.device], &c_options, None, ptr::null_mut()) {
            Ok(()) => Ok(self),
            Err(code) => Err(Error::Compile {
                device: handles.name.clone(),
                kernel: name.into(),
                options: options.into(),
                log: self.log(handles, code),
                source_text: text.into(),
            }),
        }
    }

    /// The names of its kernels, as far as the driver tells them.
    pub(super) fn kernel_names(&self) -> Vec<String> {
        let names: Vec<u8> = get_program_info(self.0, CL_PROGRAM_KERNEL_NAMES).map_or_else(|_| Vec::new(), Into::into);
        let names = String::from_utf8_lossy(&names);
        let names = names.trim_end_matches('\0').split(';').map(str::trim);
        names.filter(|name| !name.is_empty()).map(String::from).collect()
    }

    /// The binary for the one device of the program, or why there is none.
    pub(super) fn binary(&self) -> Result<Vec<u8>, String> {
        let binaries: Vec<Vec<u8>> = get_program_info(self.0, CL_PROGRAM_BINARIES)
            .map_err(|code| format!("clGetProgramInfo gave {}", fault::text(code)))?
            .into();
        let binary = binaries.into_iter().next().unwrap_or_default();
        if binary.is_empty() { Err("the driver gave none".into()) } else { Ok(binary) }
    }

    /// The build log, with the code where the driver left none.
    fn log(&self, handles: &Handles, code: cl_int) -> String {
        let log = get_program_build_data(self.0, handles.device, CL_PROGRAM_BUILD_LOG).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        format!("{}\nclBuildProgram gave {}", log.trim_end_matches('\0').trim_end(), fault::text(code))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: this is the one reference made by the call that created it.
        if let Err(code) = unsafe { release_program(self.0) } {
            tracing::warn!("clReleaseProgram gave {}", fault::text(code));
        }
    }
}

fn failed(handles: &Handles, name: &str, call: &str, code: cl_int) -> Error {
    fault::driver(&handles.name, format!("{call} for {name}"), code)
}

pub(super) fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::Internal(format!("a zero byte in {text:?}")))
}

/// A number as the driver returns it: 4 or 8 bytes in the machine's order.
pub(super) fn number(bytes: &[u8]) -> usize {
    match *bytes {
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]) as usize,
        [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]) as usize,
        _ => 0,
    }
}
