//! Programs built from source, and the kernels in them.

use std::any::Any;
use std::ffi::CString;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lazuli_codegen::IndexWidth;
use opencl3::kernel::{
    CL_KERNEL_NUM_ARGS, CL_KERNEL_WORK_GROUP_SIZE, create_kernel, get_kernel_data, get_kernel_work_group_data,
    release_kernel,
};
use opencl3::program::{
    CL_PROGRAM_BUILD_LOG, build_program, create_program_with_source, get_program_build_data, release_program,
};
use opencl3::types::{cl_int, cl_kernel, cl_program};

use super::fault;
use super::handles::Handles;
use crate::error::{Error, Result};
use crate::runtime::Executable;

/// A compiled kernel. It holds its arguments, so a launch sets and submits them under the lock.
pub(super) struct OpenClExecutable {
    source: Arc<str>,
    name: String,
    index: IndexWidth,
    parameters: usize,
    max_group: usize,
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
}

impl OpenClExecutable {
    /// Builds a source. Errors: `Compile` with the log, the options and the source.
    pub(super) fn build(handles: &Arc<Handles>, source: &SourceText, options: &str) -> Result<Self> {
        let failed =
            |call: &str, code: cl_int| fault::driver(&handles.name, format!("{call} for {}", source.name), code);
        let program = create_program_with_source(handles.context, &[source.text])
            .map_err(|code| failed("clCreateProgramWithSource", code))?;
        let program = Program(program);
        let c_options = c_string(options)?;
        let entry = c_string(source.entry)?;
        build_program(program.0, &[handles.device], &c_options, None, ptr::null_mut()).map_err(|code| {
            Error::Compile {
                device: handles.name.clone(),
                kernel: source.name.into(),
                options: options.into(),
                log: program.log(handles, code),
                source_text: source.text.into(),
            }
        })?;
        let kernel = create_kernel(program.0, &entry).map_err(|code| failed("clCreateKernel", code))?;
        let kernel = Kernel(kernel);
        let parameters =
            get_kernel_data(kernel.0, CL_KERNEL_NUM_ARGS).map_err(|code| failed("clGetKernelInfo", code))?;
        let max_group = get_kernel_work_group_data(kernel.0, handles.device, CL_KERNEL_WORK_GROUP_SIZE)
            .map_err(|code| failed("clGetKernelWorkGroupInfo", code))?;
        Ok(Self {
            source: source.text.into(),
            name: source.name.into(),
            index: source.index,
            parameters: number(&parameters),
            max_group: number(&max_group),
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
struct Program(cl_program);

impl Program {
    /// The build log, with the code where the driver left none.
    fn log(&self, handles: &Handles, code: cl_int) -> String {
        let log = get_program_build_data(self.0, handles.device, CL_PROGRAM_BUILD_LOG).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        format!("{}\nclBuildProgram gave {}", log.trim_end_matches('\0').trim_end(), fault::text(code))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: this is the one reference made by clCreateProgramWithSource.
        if let Err(code) = unsafe { release_program(self.0) } {
            tracing::warn!("clReleaseProgram gave {}", fault::text(code));
        }
    }
}

fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::Internal(format!("a zero byte in {text:?}")))
}

/// A number as the driver returns it: 4 or 8 bytes in the machine's order.
fn number(bytes: &[u8]) -> usize {
    match *bytes {
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]) as usize,
        [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]) as usize,
        _ => 0,
    }
}
