//! Modules of the caller's, loaded into the device's context, and the kernels and variables in them.

use std::any::Any;
use std::ffi::{CStr, CString, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cudarc::driver::result::{DriverError, function, module};
use cudarc::driver::sys::{self, CUfunction, CUfunction_attribute_enum as Attribute, CUjit_option, CUmodule, CUresult};

use super::fault;
use super::handles::Handles;
use super::memory::CudaMemory;
use crate::error::{Error, Result};
use crate::runtime::Memory;
use crate::runtime::explicit::{KernelAttributes, ModuleOptions, RawKernel, RawModule, RawParam};

/// Threads of a warp, on every architecture.
const WARP: u32 = 32;
/// Room for what the driver's own compiler says of PTX.
const LOG_BYTES: usize = 16 << 10;

/// A module, loaded.
pub(super) struct CudaModule {
    name: String,
    source: Option<Arc<str>>,
    image: Vec<u8>,
    /// The compiler's name of each function that was asked for by an expression.
    lowered: Vec<(String, String)>,
    is_from_disk: bool,
    loaded: Arc<Loaded>,
}

impl CudaModule {
    /// Loads an image: a cubin, a fat binary, or PTX with a zero byte at its end. Errors: `Compile` where the driver's compiler
    /// refuses PTX; `HostData` for what is none of them; `Driver`.
    pub(super) fn load(
        handles: &Arc<Handles>,
        options: &ModuleOptions,
        source: Option<&str>,
        image: Vec<u8>,
        lowered: Vec<(String, String)>,
        is_from_disk: bool,
    ) -> Result<Self> {
        let loaded = Arc::new(Loaded::load(handles, &options.name, &image)?);
        let (name, source) = (options.name.clone(), source.map(Arc::from));
        Ok(Self { name, source, image, lowered, is_from_disk, loaded })
    }
}

impl RawModule for CudaModule {
    fn kernel(&self, name: &str) -> Result<Arc<dyn RawKernel>> {
        let handles = &self.loaded.handles;
        let not_found = || {
            let mut available = self.loaded.function_names();
            available.extend(self.lowered.iter().map(|(expression, _)| expression.clone()));
            Error::FunctionNotFound { name: name.into(), module: self.name.clone(), available }
        };
        let lowered =
            self.lowered.iter().find(|(expression, _)| expression == name).map(|(_, lowered)| lowered.as_str());
        let entry = CString::new(lowered.unwrap_or(name)).map_err(|_| not_found())?;
        handles.bind()?;
        // SAFETY: the module is loaded for as long as `self` lives.
        let function = unsafe { module::get_function(self.loaded.module, entry) }.map_err(|error| match error.0 {
            CUresult::CUDA_ERROR_NOT_FOUND => not_found(),
            _ => fault::driver(&handles.name, format!("cuModuleGetFunction for {name}"), error),
        })?;
        Ok(Arc::new(CudaKernel::new(self, name, function)?))
    }

    fn global(&self, name: &str) -> Result<Box<dyn Memory>> {
        let handles = &self.loaded.handles;
        let not_found =
            || Error::FunctionNotFound { name: name.into(), module: self.name.clone(), available: Vec::new() };
        let symbol = CString::new(name).map_err(|_| not_found())?;
        handles.bind()?;
        // SAFETY: the module is loaded for as long as `self` lives.
        let found = unsafe { module::get_global(self.loaded.module, symbol) }.map_err(|error| match error.0 {
            CUresult::CUDA_ERROR_NOT_FOUND => not_found(),
            _ => fault::driver(&handles.name, format!("cuModuleGetGlobal for {name}"), error),
        });
        let (address, bytes) = found?;
        Ok(Box::new(CudaMemory::of_module(handles, address, bytes, self.loaded.clone())))
    }

    fn binary(&self) -> Result<Vec<u8>> {
        Ok(self.image.clone())
    }

    fn is_from_disk(&self) -> bool {
        self.is_from_disk
    }
}

/// A kernel of a module of the caller's.
pub(super) struct CudaKernel {
    pub(super) name: String,
    source: Option<Arc<str>>,
    is_from_disk: bool,
    attributes: KernelAttributes,
    parameters: Option<Vec<RawParam>>,
    /// The dynamic shared memory that launches are allowed so far; past 48 KiB the driver wants to be told.
    allowed_shared: AtomicU32,
    function: CUfunction,
    loaded: Arc<Loaded>,
}

// SAFETY: a function is a reference to an object of the driver's that lives as long as the module beside it, and may be launched
// from any thread whose context is bound.
unsafe impl Send for CudaKernel {}
// SAFETY: as above; the driver's calls are thread-safe.
unsafe impl Sync for CudaKernel {}

impl CudaKernel {
    fn new(module: &CudaModule, name: &str, function: CUfunction) -> Result<Self> {
        let attribute = |which| {
            // SAFETY: the function was just found.
            unsafe { function::get_function_attribute(function, which) }
                .map(|value| u32::try_from(value).unwrap_or(0))
                .map_err(|error| {
                    let call = format!("cuFuncGetAttribute for {name}");
                    fault::driver(&module.loaded.handles.name, call, error)
                })
        };
        let attributes = KernelAttributes {
            registers: Some(attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?),
            private_bytes: attribute(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?.into(),
            local_bytes: attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?.into(),
            max_threads: attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            preferred_multiple: WARP,
        };
        Ok(Self {
            name: name.into(),
            source: module.source.clone(),
            is_from_disk: module.is_from_disk,
            attributes,
            parameters: parameters(function),
            allowed_shared: AtomicU32::new(0),
            function,
            loaded: module.loaded.clone(),
        })
    }

    /// The kernel as this runtime's own. Errors: `Internal` where another runtime made it.
    pub(super) fn of<'a>(kernel: &'a dyn RawKernel, handles: &Arc<Handles>) -> Result<&'a Self> {
        let kernel: &dyn Any = kernel;
        match kernel.downcast_ref::<Self>() {
            Some(kernel) if Arc::ptr_eq(&kernel.loaded.handles, handles) => Ok(kernel),
            _ => Err(Error::Internal(format!("{} was given another runtime's kernel", handles.name))),
        }
    }

    /// The function, for as long as `self` lives.
    pub(super) fn function(&self) -> CUfunction {
        self.function
    }

    /// What is told of it, without asking the driver again.
    pub(super) fn told(&self) -> (&KernelAttributes, Option<&[RawParam]>) {
        (&self.attributes, self.parameters.as_deref())
    }

    /// Lets launches have so much dynamic shared memory. The context is bound, and the device has it.
    pub(super) fn allow_shared(&self, bytes: u32) -> Result<(), DriverError> {
        if self.allowed_shared.load(Ordering::Relaxed) >= bytes {
            return Ok(());
        }
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let bytes_value = i32::try_from(bytes).map_err(|_| DriverError(CUresult::CUDA_ERROR_INVALID_VALUE))?;
        // SAFETY: the function lives as long as `self`.
        unsafe { function::set_function_attribute(self.function, attribute, bytes_value) }?;
        self.allowed_shared.fetch_max(bytes, Ordering::Relaxed);
        Ok(())
    }
}

impl RawKernel for CudaKernel {
    fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    fn attributes(&self) -> Result<KernelAttributes> {
        Ok(self.attributes)
    }

    fn parameters(&self) -> Option<&[RawParam]> {
        self.parameters.as_deref()
    }

    fn is_from_disk(&self) -> bool {
        self.is_from_disk
    }
}

/// Sizes of the parameters, where the driver tells them: since CUDA 12.4.
fn parameters(function: CUfunction) -> Option<Vec<RawParam>> {
    if !has(b"cuFuncGetParamInfo\0") {
        return None;
    }
    let mut parameters = Vec::new();
    loop {
        let (mut offset, mut bytes) = (0, 0);
        // SAFETY: the function was just found, the driver has the call, and both numbers are ours to write.
        let told = unsafe { sys::cuFuncGetParamInfo(function, parameters.len(), &raw mut offset, &raw mut bytes) };
        match told {
            CUresult::CUDA_SUCCESS => parameters.push(RawParam { bytes: Some(bytes), ..Default::default() }),
            // The answer to a number past the last one.
            CUresult::CUDA_ERROR_INVALID_VALUE => return Some(parameters),
            _ => return None,
        }
    }
}

/// Whether the driver's library has a call that older ones lack.
fn has(symbol: &[u8]) -> bool {
    // SAFETY: the library is loaded, and the symbol is looked for but not called.
    unsafe { sys::culib().get::<unsafe extern "C" fn()>(symbol) }.is_ok()
}

/// A module of the driver's, unloaded when dropped.
struct Loaded {
    module: CUmodule,
    handles: Arc<Handles>,
}

// SAFETY: a module is a reference to an object of the driver's, which any thread may use once the context is bound.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Loaded {
    fn load(handles: &Arc<Handles>, name: &str, image: &[u8]) -> Result<Self> {
        if !is_whole(image) {
            let what = format!("{} bytes of {name} are neither a whole cubin or fat binary nor PTX", image.len());
            return Err(Error::HostData { op: "Module", what });
        }
        handles.bind()?;
        let mut log = vec![0u8; LOG_BYTES];
        let mut keys = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        // Numbers travel as pointers in this interface.
        let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(LOG_BYTES)];
        let mut module = std::ptr::null_mut();
        // SAFETY: the image is whole (checked), so that the driver reads nothing past its end, and it copies it. The log is as
        // long as it is told, and outlives the call.
        let loaded = unsafe {
            let (keys, values) = (keys.as_mut_ptr(), values.as_mut_ptr());
            sys::cuModuleLoadDataEx(&raw mut module, image.as_ptr().cast(), 2, keys, values).result()
        };
        match loaded {
            Ok(()) => Ok(Self { module, handles: handles.clone() }),
            Err(error) => {
                let log =
                    CStr::from_bytes_until_nul(&log).map_or_else(|_| String::new(), |log| log.to_string_lossy().into());
                let is_text = matches!(
                    error.0,
                    CUresult::CUDA_ERROR_INVALID_PTX
                        | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
                        | CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
                        | CUresult::CUDA_ERROR_INVALID_IMAGE
                        | CUresult::CUDA_ERROR_INVALID_SOURCE
                );
                if !is_text {
                    return Err(fault::driver(&handles.name, format!("cuModuleLoadDataEx for {name}"), error));
                }
                let text = image.strip_suffix(b"\0").unwrap_or_default();
                Err(Error::Compile {
                    device: handles.name.clone(),
                    kernel: name.into(),
                    options: String::new(),
                    log: format!("{}\ncuModuleLoadDataEx gave {}", log.trim_end(), fault::text(error)),
                    source_text: String::from_utf8_lossy(text).into(),
                })
            }
        }
    }

    /// The names of its functions, where the driver tells them: since CUDA 12.4.
    fn function_names(&self) -> Vec<String> {
        let calls: [&[u8]; 3] = [b"cuModuleGetFunctionCount\0", b"cuModuleEnumerateFunctions\0", b"cuFuncGetName\0"];
        if !calls.into_iter().all(has) || self.handles.try_bind().is_err() {
            return Vec::new();
        }
        let mut count = 0;
        // SAFETY: the module is loaded, and the number is ours to write.
        if unsafe { sys::cuModuleGetFunctionCount(&raw mut count, self.module) } != CUresult::CUDA_SUCCESS {
            return Vec::new();
        }
        let mut functions = vec![std::ptr::null_mut(); count as usize];
        // SAFETY: the array holds as many functions as the driver is told.
        let listed = unsafe { sys::cuModuleEnumerateFunctions(functions.as_mut_ptr(), count, self.module) };
        if listed != CUresult::CUDA_SUCCESS {
            return Vec::new();
        }
        let name_of = |&function: &CUfunction| {
            let mut name = std::ptr::null();
            // SAFETY: the driver has just named the function; the pointer is ours to write.
            let told = unsafe { sys::cuFuncGetName(&raw mut name, function) };
            // SAFETY: the driver's own text, which lives as long as the function.
            (told == CUresult::CUDA_SUCCESS && !name.is_null())
                .then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
        };
        functions.iter().filter(|function| !function.is_null()).filter_map(name_of).collect()
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // Any stream of the context may still be running a kernel of it, and its code goes with the module. A fault there is
        // not ours to report: the next call that waits reports it too.
        let unloaded = self.handles.try_bind().and_then(|()| {
            let waited = cudarc::driver::result::ctx::synchronize();
            // SAFETY: loaded by `load`, and whoever had something of it is gone.
            waited.and(unsafe { module::unload(self.module) })
        });
        fault::log_release(&self.handles.name, "cuModuleUnload", unloaded);
    }
}

/// True for PTX that ends in a zero byte, and for a cubin or fat binary that is as long as it says: the driver is told no
/// length and reads to where the image says it ends.
fn is_whole(image: &[u8]) -> bool {
    let number = |at: usize, bytes: usize| {
        let field = image.get(at..at + bytes)?;
        Some(field.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    let fits = |start: Option<u64>, count: Option<u64>, size: Option<u64>| {
        let end = count.zip(size).and_then(|(count, size)| start?.checked_add(count.checked_mul(size)?));
        end.is_some_and(|end| end <= image.len() as u64)
    };
    match image {
        // ELF of 64 bits: the tables of segments and of sections are the last that is read by position.
        [0x7f, b'E', b'L', b'F', 2, ..] => {
            fits(number(0x20, 8), number(0x38, 2), number(0x36, 2))
                && fits(number(0x28, 8), number(0x3c, 2), number(0x3a, 2))
        }
        // A fat binary: magic, version, length of the header, length of the rest.
        [0x50, 0xed, 0x55, 0xba, ..] => fits(number(6, 2), Some(1), number(8, 8)),
        text => text.iter().position(|&byte| byte == 0).is_some_and(|zero| zero > 0 && zero + 1 == text.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::is_whole;

    #[test]
    fn an_image_that_is_cut_off_never_reaches_the_driver() {
        let mut elf = vec![0u8; 128];
        elf[..5].copy_from_slice(b"\x7fELF\x02");
        elf[0x28] = 64; // Sections begin at byte 64,
        elf[0x3a] = 32; // of 32 bytes each,
        elf[0x3c] = 2; // two of them.
        assert!(is_whole(&elf));
        assert!(!is_whole(&elf[..127]) && !is_whole(&elf[..40]) && !is_whole(&elf[..5]));
        let mut fat = vec![0u8; 48];
        fat[..4].copy_from_slice(&[0x50, 0xed, 0x55, 0xba]);
        (fat[6], fat[8]) = (16, 32);
        assert!(is_whole(&fat) && !is_whole(&fat[..47]));
        assert!(is_whole(b".version 8.0\0") && !is_whole(b".version 8.0") && !is_whole(b"") && !is_whole(b"\0"));
        assert!(!is_whole(b"a\0b\0"), "the driver would stop at the first zero byte");
    }
}
