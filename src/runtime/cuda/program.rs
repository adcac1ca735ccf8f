//! Compiled kernels, loaded into the device's context.

use std::any::Any;
use std::ffi::CString;
use std::sync::Arc;

use cudarc::driver::result::{function, module};
use cudarc::driver::sys::{self, CUfunction, CUfunction_attribute_enum as FunctionAttribute, CUmodule};
use lazuli_codegen::{DType, IndexWidth, Kernel};

use super::fault;
use super::handles::Handles;
use crate::error::{Error, Result};
use crate::runtime::Executable;

/// A source to compile, and how its kernel is called.
pub(super) struct SourceText<'a> {
    pub(super) text: &'a str,
    /// The kernel function, `extern "C"`.
    pub(super) entry: &'a str,
    /// The name messages give it.
    pub(super) name: &'a str,
    pub(super) parameters: Parameters,
}

/// The parameter list. The driver reads as many arguments as the kernel declares and cannot tell how many it was given, so
/// each launch is held against this.
#[derive(Clone, Debug)]
pub(super) struct Parameters {
    pub(super) buffers: usize,
    pub(super) sizes: usize,
    pub(super) index: IndexWidth,
    pub(super) scalars: Vec<DType>,
    /// True where groups along grid axis 0 wait for each other, so that all of them must run at once.
    pub(super) waits: bool,
}

impl Parameters {
    /// Those of an emitted kernel.
    pub(super) fn of(kernel: &Kernel) -> Self {
        Self {
            buffers: kernel.buffers.len(),
            sizes: kernel.sizes as usize,
            index: kernel.index,
            scalars: kernel.scalars.clone(),
            waits: kernel.waits(),
        }
    }
}

/// A compiled kernel.
pub(super) struct CudaExecutable {
    source: Arc<str>,
    name: String,
    parameters: Parameters,
    max_group: u32,
    is_from_disk: bool,
    function: CUfunction,
    module: Module,
}

// SAFETY: a function is a reference to an object of the driver's that never changes, lives as long as the module beside it,
// and may be launched from any thread whose context is bound.
unsafe impl Send for CudaExecutable {}
// SAFETY: as above.
unsafe impl Sync for CudaExecutable {}

impl CudaExecutable {
    /// Loads what compiling the source gave. Errors: `Driver`.
    pub(super) fn load(handles: &Arc<Handles>, source: &SourceText, image: &[u8], is_from_disk: bool) -> Result<Self> {
        let name = source.name;
        let entry = CString::new(source.entry).map_err(|_| Error::Internal(format!("a zero byte in {name}")))?;
        let failed = |call: &str, error| fault::driver(&handles.name, format!("{call} for {name}"), error);
        handles.bind()?;
        // SAFETY: the image is a whole cubin, or PTX that ends in a zero byte; the driver copies it.
        let module =
            unsafe { module::load_data(image.as_ptr().cast()) }.map_err(|error| failed("cuModuleLoadData", error))?;
        let module = Module { module, handles: handles.clone() };
        // SAFETY: the module was just loaded.
        let function = unsafe { module::get_function(module.module, entry) }
            .map_err(|error| failed("cuModuleGetFunction", error))?;
        let attribute = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
        // SAFETY: the function was just found.
        let max_group = unsafe { function::get_function_attribute(function, attribute) }
            .map_err(|error| failed("cuFuncGetAttribute", error))?;
        Ok(Self {
            source: source.text.into(),
            name: name.into(),
            parameters: source.parameters.clone(),
            is_from_disk,
            max_group: u32::try_from(max_group).unwrap_or(0),
            function,
            module,
        })
    }

    /// The executable as this runtime's own. Errors: `Internal` where another runtime made it.
    pub(super) fn of<'a>(executable: &'a dyn Executable, handles: &Arc<Handles>) -> Result<&'a Self> {
        let executable: &dyn Any = executable;
        match executable.downcast_ref::<Self>() {
            Some(executable) if Arc::ptr_eq(&executable.module.handles, handles) => Ok(executable),
            _ => Err(Error::Internal(format!("{} was given another runtime's kernel", handles.name))),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Threads a group of this kernel may have; its registers may make that fewer than the device's limit.
    pub(super) fn max_group(&self) -> u32 {
        self.max_group
    }

    /// Groups of so many threads that the device runs at once.
    pub(super) fn groups_at_once(&self, threads: u32) -> Result<u64> {
        let mut groups = 0;
        // SAFETY: the function lives as long as `self`, and the number is ours to write.
        let asked = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut groups, self.function, threads as i32, 0).result()
        };
        let handles = &self.module.handles;
        let call = || format!("cuOccupancyMaxActiveBlocksPerMultiprocessor for {}", self.name);
        asked.map_err(|error| fault::driver(&handles.name, call(), error))?;
        Ok(u64::try_from(groups).unwrap_or(0) * u64::from(handles.multiprocessors))
    }

    /// The function, for as long as `self` lives.
    pub(super) fn function(&self) -> CUfunction {
        self.function
    }
}

impl Executable for CudaExecutable {
    fn source(&self) -> &str {
        &self.source
    }

    fn is_from_disk(&self) -> bool {
        self.is_from_disk
    }
}

/// A module, unloaded when dropped.
struct Module {
    module: CUmodule,
    handles: Arc<Handles>,
}

impl Drop for Module {
    fn drop(&mut self) {
        // The stream may still be running the kernel, and its code goes with the module. A fault there is not ours to
        // report: the next call that waits reports it too.
        let _ = self.handles.synchronize();
        // SAFETY: loaded by `build`; the function in it goes with the executable that holds this.
        let unloaded = self.handles.try_bind().and_then(|()| unsafe { module::unload(self.module) });
        fault::log_release(&self.handles.name, "cuModuleUnload", unloaded);
    }
}
