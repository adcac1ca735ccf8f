//! Programs of the caller's, and the kernels in them.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opencl3::kernel::{
    CL_KERNEL_ARG_ADDRESS_CONSTANT, CL_KERNEL_ARG_ADDRESS_GLOBAL, CL_KERNEL_ARG_ADDRESS_LOCAL,
    CL_KERNEL_ARG_ADDRESS_PRIVATE, CL_KERNEL_ARG_ADDRESS_QUALIFIER, CL_KERNEL_ARG_NAME, CL_KERNEL_ARG_TYPE_NAME,
    CL_KERNEL_COMPILE_WORK_GROUP_SIZE, CL_KERNEL_LOCAL_MEM_SIZE, CL_KERNEL_NUM_ARGS,
    CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, CL_KERNEL_PRIVATE_MEM_SIZE, CL_KERNEL_WORK_GROUP_SIZE, create_kernel,
    get_kernel_arg_data, get_kernel_data, get_kernel_work_group_data,
};
use opencl3::types::cl_int;

use super::handles::Handles;
use super::platform::Limits;
use super::program::{Kernel, Program, c_string, number, turn_to_build};
use crate::cache::disk::key_of;
use crate::error::{Error, Result};
use crate::runtime::explicit::{
    KernelAttributes, ModuleCode, ModuleOptions, RawKernel, RawModule, RawParam, RawParamKind,
};
use crate::runtime::{Binaries, Memory};

/// What the driver answers where there is no kernel of a name.
const CL_INVALID_KERNEL_NAME: cl_int = -46;

/// A program, built.
pub(super) struct OpenClModule {
    name: String,
    source: Option<Arc<str>>,
    program: Program,
    is_from_disk: bool,
    handles: Arc<Handles>,
}

impl OpenClModule {
    /// Builds a source or takes its binary from the store; or loads a binary.
    /// Errors: `Compile` with the log, the options and the source; `Driver`.
    pub(super) fn make(
        handles: &Arc<Handles>,
        code: &ModuleCode,
        options: &ModuleOptions,
        limits: &Limits,
        binaries: &Binaries,
    ) -> Result<Self> {
        let _turn = turn_to_build(limits);
        let (name, text) = (&options.name, options.options.join(" "));
        let made = |source: Option<&str>, program, is_from_disk| Self {
            name: name.clone(),
            source: source.map(Arc::from),
            program,
            is_from_disk,
            handles: handles.clone(),
        };
        let source = match *code {
            ModuleCode::Source(source) => source,
            ModuleCode::Binary(binary) => {
                let binary = unsealed(binary, limits.checks_binaries)
                    .map_err(|what| Error::HostData { op: "Module::from_binary", what })?;
                let program = Program::from_binary(handles, name, "", &text, binary)?;
                return Ok(made(None, program, false));
            }
        };
        let kept = binaries.as_ref().zip(options.kept_under.as_deref()).map(|(binaries, under)| {
            let (compiler, version) = (limits.facts.compiler.as_bytes(), env!("CARGO_PKG_VERSION").as_bytes());
            let parts = [b"opencl module", version, compiler, text.as_bytes(), under, source.as_bytes()];
            (binaries, key_of(&parts))
        });
        if let Some((binaries, key)) = &kept
            && let Some(binary) = binaries.get(key)
        {
            match Program::from_binary(handles, name, source, &text, &binary) {
                Ok(program) => return Ok(made(Some(source), program, true)),
                Err(error) => tracing::debug!(module = name, %error, "a stored binary was refused"),
            }
        }
        let program = Program::from_source(handles, name, source, &text)?;
        if let Some((binaries, key)) = &kept {
            match program.binary() {
                Ok(binary) => binaries.put(key, &binary),
                Err(why) => tracing::debug!(module = name, why, "the binary is not kept"),
            }
        }
        Ok(made(Some(source), program, false))
    }
}

impl RawModule for OpenClModule {
    fn kernel(&self, name: &str) -> Result<Arc<dyn RawKernel>> {
        let not_found = || Error::FunctionNotFound {
            name: name.into(),
            module: self.name.clone(),
            available: self.program.kernel_names(),
        };
        let c_name = c_string(name).map_err(|_| not_found())?;
        let kernel = create_kernel(self.program.0, &c_name).map_err(|code| match code {
            CL_INVALID_KERNEL_NAME => not_found(),
            code => self.handles.fault(format!("clCreateKernel for {name}"), code),
        })?;
        let kernel = OpenClKernel::new(self, name, Kernel(kernel))?;
        Ok(Arc::new(kernel))
    }

    fn global(&self, name: &str) -> Result<Box<dyn Memory>> {
        Err(Error::Unsupported {
            device: self.handles.name.clone(),
            what: format!(
                "finding variable {name:?} of a module: OpenCL has no call for it; pass a buffer to the kernel"
            ),
        })
    }

    fn binary(&self) -> Result<Vec<u8>> {
        let binary = self.program.binary().map_err(|why| Error::Driver {
            device: self.handles.name.clone(),
            call: format!("reading the binary of {}", self.name),
            message: why,
        })?;
        Ok(sealed(binary))
    }

    fn is_from_disk(&self) -> bool {
        self.is_from_disk
    }
}

/// A kernel of a program of the caller's. It holds its arguments, so a launch sets and submits them under the lock.
pub(super) struct OpenClKernel {
    pub(super) name: String,
    source: Option<Arc<str>>,
    is_from_disk: bool,
    attributes: KernelAttributes,
    parameters: Vec<RawParam>,
    kernel: Mutex<Kernel>,
    handles: Arc<Handles>,
}

impl OpenClKernel {
    fn new(module: &OpenClModule, name: &str, kernel: Kernel) -> Result<Self> {
        let handles = &module.handles;
        let failed = |call: &str, code| handles.fault(format!("{call} for {name}"), code);
        let work_group = |item| {
            get_kernel_work_group_data(kernel.0, handles.device, item)
                .map_err(|code| failed("clGetKernelWorkGroupInfo", code))
        };
        let small = |item| work_group(item).map(|bytes| u32::try_from(number(&bytes)).unwrap_or(u32::MAX));
        let required = work_group(CL_KERNEL_COMPILE_WORK_GROUP_SIZE)?;
        let required: usize = required.chunks(size_of::<usize>()).map(number).product();
        let attributes = KernelAttributes {
            registers: None,
            private_bytes: number(&work_group(CL_KERNEL_PRIVATE_MEM_SIZE)?) as u64,
            local_bytes: number(&work_group(CL_KERNEL_LOCAL_MEM_SIZE)?) as u64,
            // A driver may report less than a kernel's own required size, though it runs groups of it (NVIDIA's does).
            max_threads: small(CL_KERNEL_WORK_GROUP_SIZE)?.max(u32::try_from(required).unwrap_or(0)),
            preferred_multiple: small(CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE)?.max(1),
        };
        let count = get_kernel_data(kernel.0, CL_KERNEL_NUM_ARGS).map_err(|code| failed("clGetKernelInfo", code))?;
        let parameters = (0..number(&count)).map(|index| parameter(&kernel, index as u32)).collect();
        Ok(Self {
            name: name.into(),
            source: module.source.clone(),
            is_from_disk: module.is_from_disk,
            attributes,
            parameters,
            kernel: Mutex::new(kernel),
            handles: handles.clone(),
        })
    }

    /// The kernel as this runtime's own. Errors: `Internal` where another runtime made it.
    pub(super) fn of<'a>(kernel: &'a dyn RawKernel, handles: &Arc<Handles>) -> Result<&'a Self> {
        let kernel: &dyn Any = kernel;
        match kernel.downcast_ref::<Self>() {
            Some(kernel) if Arc::ptr_eq(&kernel.handles, handles) => Ok(kernel),
            _ => Err(Error::Internal(format!("{} was given another runtime's kernel", handles.name))),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Kernel> {
        // A thread that panicked with the lock left some arguments set, and every launch sets all of them.
        self.kernel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is told of it, without asking the driver again.
    pub(super) fn told(&self) -> (&KernelAttributes, &[RawParam]) {
        (&self.attributes, &self.parameters)
    }
}

impl RawKernel for OpenClKernel {
    fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    fn attributes(&self) -> Result<KernelAttributes> {
        Ok(self.attributes)
    }

    fn parameters(&self) -> Option<&[RawParam]> {
        Some(&self.parameters)
    }

    fn is_from_disk(&self) -> bool {
        self.is_from_disk
    }
}

/// What the driver tells of a parameter; for programs from a binary that may be nothing.
fn parameter(kernel: &Kernel, index: u32) -> RawParam {
    let ask = |item| get_kernel_arg_data(kernel.0, index, item).ok();
    let text = |item| {
        let bytes = ask(item)?;
        let text = String::from_utf8_lossy(&bytes).trim_end_matches('\0').trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    let kind = ask(CL_KERNEL_ARG_ADDRESS_QUALIFIER).and_then(|bytes| match number(&bytes) as u32 {
        CL_KERNEL_ARG_ADDRESS_GLOBAL | CL_KERNEL_ARG_ADDRESS_CONSTANT => Some(RawParamKind::Pointer),
        CL_KERNEL_ARG_ADDRESS_LOCAL => Some(RawParamKind::LocalMemory),
        CL_KERNEL_ARG_ADDRESS_PRIVATE => Some(RawParamKind::Value),
        _ => None,
    });
    let bytes = (kind == Some(RawParamKind::Pointer)).then_some(size_of::<u64>());
    RawParam { bytes, kind, type_name: text(CL_KERNEL_ARG_TYPE_NAME), name: text(CL_KERNEL_ARG_NAME) }
}

/// What stands between the driver's binary and its checksum.
const SEAL: &[u8; 8] = b"lazuli\0b";

/// A driver's binary with a checksum behind it: some drivers take a damaged one without a look, and crash.
fn sealed(mut binary: Vec<u8>) -> Vec<u8> {
    let checksum = blake3::hash(&binary);
    binary.extend_from_slice(SEAL);
    binary.extend_from_slice(checksum.as_bytes());
    binary
}

/// The driver's binary, if its checksum is right; without one, if the driver looks at what it is given.
fn unsealed(binary: &[u8], is_checked_by_driver: bool) -> Result<&[u8], String> {
    let parts = binary.split_last_chunk::<{ blake3::OUT_LEN }>();
    let sealed = parts.and_then(|(rest, checksum)| Some((rest.strip_suffix(SEAL)?, checksum)));
    match sealed {
        Some((binary, checksum)) if blake3::hash(binary).as_bytes() == checksum => Ok(binary),
        Some(_) => Err(format!("{} bytes whose checksum is wrong", binary.len())),
        None if is_checked_by_driver && !binary.is_empty() => Ok(binary),
        None => Err(format!("{} bytes that `Module::binary` did not give", binary.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::{sealed, unsealed};

    #[test]
    fn a_binary_that_was_damaged_never_reaches_a_driver_that_trusts_it() {
        let kept = sealed(b"code".to_vec());
        assert_eq!(unsealed(&kept, false), Ok(&b"code"[..]));
        let mut damaged = kept.clone();
        damaged[1] ^= 1;
        for binary in [&damaged[..], &kept[..20], &kept[1..], b"code", b""] {
            assert!(unsealed(binary, false).is_err());
        }
        assert!(unsealed(&damaged, true).is_err());
        assert_eq!(unsealed(b"code", true), Ok(&b"code"[..]), "another tool's");
        assert!(unsealed(b"", true).is_err());
    }
}
