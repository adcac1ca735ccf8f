//! Modules: kernels in the device's own language, compiled at run time, and what is in them.

mod builder;
mod function;
mod global;
mod includes;
mod report;
mod text;

pub use builder::{Language, ModuleBuilder};
pub(crate) use function::FunctionOf;
pub use function::{Function, Occupancy};
pub use global::Global;
#[cfg(test)]
pub(crate) use report::with_source_lines;
#[cfg(test)]
pub(crate) use text::Text;

use std::fmt;
use std::sync::Arc;

use crate::device::Device;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::runtime::explicit::{ModuleCode, ModuleOptions, RawModule};

/// A program in CUDA C on CUDA or in OpenCL C on OpenCL, compiled at run time: PyCUDA's `SourceModule`, PyOpenCL's `Program`.
///
/// A module is a handle, cheap to clone; its [`Function`]s are called with [`args!`](crate::args) and launched over a grid. Its
/// compiled code is kept on disk like that of all other kernels, under everything it depends on: source, options, the content
/// of the files it includes, device, driver and compiler.
///
/// The host has no compiler for either language: a kernel written in Rust runs there, as on every device.
///
/// ```
/// use lazuli::prelude::*;
/// use lazuli::{Language, Module};
///
/// # let Ok(device) = Device::opencl(0) else { return Ok(()) };
/// let module = Module::builder(&device).language(Language::Portable).source(
///     "KERNEL scale(GLOBAL f32 *x, f32 by, u32 n) {
///          if (INDEX_X < n) x[INDEX_X] *= by;
///      }",
/// )?;
/// let mut x = device.from_slice(&[1.0f32, 2.0, 3.0])?;
/// let before = x.clone();
/// module.function("scale")?.call(lazuli::args![&mut x, 2.0f32, 3u32]).forall(3)?;
/// assert_eq!(x.get()?.as_slice(), Some(&[2.0, 4.0, 6.0][..]));
/// assert_eq!(before.get()?.as_slice(), Some(&[1.0, 2.0, 3.0][..]));
/// # Ok::<(), lazuli::Error>(())
/// ```
#[derive(Clone)]
pub struct Module {
    name: String,
    device: Device,
    raw: Arc<dyn RawModule>,
}

impl Module {
    /// Compiles a source in the device's own language: CUDA C or OpenCL C. For all else there is the
    /// [`builder`](Module::builder).
    ///
    /// Errors: as [`ModuleBuilder::source`].
    pub fn new(device: &Device, source: &str) -> Result<Module> {
        Module::builder(device).source(source)
    }

    /// A module to be: options, include folders, defines, and then the source.
    pub fn builder(device: &Device) -> ModuleBuilder {
        ModuleBuilder::new(device)
    }

    /// Loads PTX, which the driver compiles for the device.
    ///
    /// Errors: `Compile` with the driver's log; `Unsupported` but on CUDA; `Driver`.
    pub fn from_ptx(device: &Device, ptx: &str) -> Result<Module> {
        Self::load(device, "PTX", "module.ptx", ptx.as_bytes())
    }

    /// Loads a cubin or a fat binary, made for the device's architecture by NVRTC or nvcc.
    ///
    /// Errors: `HostData` for what is no such binary; `Compile` for another architecture's; `Unsupported` but on CUDA; `Driver`.
    pub fn from_cubin(device: &Device, cubin: &[u8]) -> Result<Module> {
        Self::load(device, "a cubin", "module.cubin", cubin)
    }

    /// Loads what [`binary`](Module::binary) gave, on the same device and driver; or the binary of another tool, where the
    /// driver checks those (PoCL does not).
    ///
    /// Errors: `HostData` for a damaged one; `Compile` or `Driver` where the driver refuses it; `Unsupported` on the host.
    pub fn from_binary(device: &Device, binary: &[u8]) -> Result<Module> {
        let modules = device.runtime().modules();
        if modules.dialect().is_none() {
            return Err(unsupported(device, "binaries of modules"));
        }
        Self::load_code(device, "module.bin", binary)
    }

    /// The compiled code: a cubin or PTX on CUDA; on OpenCL the driver's binary, with a checksum of ours behind it, as some
    /// drivers trust whatever they are given.
    ///
    /// Errors: `Driver`, where the driver gives none.
    pub fn binary(&self) -> Result<Vec<u8>> {
        self.raw.binary()
    }

    /// A kernel, by its name in the source, or on CUDA by an [expression](ModuleBuilder::expression) that names it.
    ///
    /// Errors: `FunctionNotFound`, with the names that are there where the driver tells them.
    pub fn function(&self, name: &str) -> Result<Function> {
        Ok(Function::new(self.device.clone(), name, self.raw.kernel(name)?))
    }

    /// A variable at the top of the module, `__device__` or `__constant__`, as elements of `T`.
    ///
    /// Errors: `FunctionNotFound` where there is none; `HostData` where its size is no number of such elements; `Unsupported`
    /// but on CUDA: OpenCL has no call that finds one.
    pub fn global<T: Element>(&self, name: &str) -> Result<Global<T>> {
        Global::new(&self.device, name, self.raw.global(name)?)
    }

    /// The device it was compiled for.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True where its code came from disk and no compiler saw its source.
    pub fn is_from_disk(&self) -> bool {
        self.raw.is_from_disk()
    }

    fn load(device: &Device, what: &str, name: &str, code: &[u8]) -> Result<Module> {
        match device.runtime().modules().dialect() {
            Some(lazuli_codegen::Dialect::CudaC) => Self::load_code(device, name, code),
            Some(_) => Err(Error::Unsupported {
                device: device.name().into(),
                what: format!("{what}, which is CUDA's; `Module::from_binary` takes OpenCL's binaries"),
            }),
            None => Err(unsupported(device, what)),
        }
    }

    fn load_code(device: &Device, name: &str, code: &[u8]) -> Result<Module> {
        let options = ModuleOptions { name: name.into(), ..Default::default() };
        let raw = device.runtime().modules().module(ModuleCode::Binary(code), &options)?;
        Ok(Module { name: name.into(), device: device.clone(), raw })
    }
}

/// The error of a device that compiles no source text.
fn unsupported(device: &Device, what: &str) -> Error {
    let what = format!("{what}; write the kernel in Rust with `#[lazuli::kernel]`, which runs on every device");
    Error::Unsupported { device: device.name().into(), what }
}

impl fmt::Debug for Module {
    /// Name and device; never the source.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({} on {})", self.name, self.device.name())
    }
}
