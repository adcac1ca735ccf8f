//! Kernels of a module.

use std::fmt;
use std::sync::Arc;

use crate::device::Device;
use crate::error::Result;
use crate::launch::{Arg, Launch};
use crate::runtime::explicit::{KernelAttributes, RawKernel};

/// A kernel of a [`Module`](crate::Module). A handle; cheap to clone.
#[derive(Clone)]
pub struct Function(FunctionOf);

/// A function of a module, as launches hold it.
#[derive(Clone)]
pub(crate) struct FunctionOf {
    pub name: String,
    pub device: Device,
    pub kernel: Arc<dyn RawKernel>,
}

/// How full a function keeps a compute unit (a multiprocessor) of the device.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Occupancy {
    /// Groups that one unit runs at once.
    pub groups: u32,
    /// Threads that one unit runs at once.
    pub threads: u32,
    /// Of the threads that a unit could run at once, the part it does; none where the device does not tell how many those are.
    pub fraction: Option<f64>,
}

impl Function {
    pub(super) fn new(device: Device, name: &str, kernel: Arc<dyn RawKernel>) -> Self {
        Self(FunctionOf { name: name.into(), device, kernel })
    }

    /// The function with its arguments, ready to be launched: `function.call(args![&x, &mut y, 2.0f32])`.
    ///
    /// The arguments are held against the function's parameters when it is launched, as far as the compiler tells these: on
    /// OpenCL count, kind and element type, on CUDA (drivers for 12.4 and newer) count and size.
    pub fn call<'a>(&self, arguments: Vec<Arg<'a>>) -> Launch<'a> {
        Launch::of_function(self.0.clone(), arguments)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The device it was compiled for.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The source its module was compiled from, with what was put before it; none for a module loaded from its compiled code.
    pub fn source(&self) -> Option<&str> {
        self.0.kernel.source()
    }

    /// How many arguments it takes, where the compiler tells it. Memory of a group whose length the launch sets
    /// ([`LocalMem`](crate::LocalMem)) is among them on OpenCL only.
    pub fn parameter_count(&self) -> Option<usize> {
        self.0.kernel.parameters().map(<[_]>::len)
    }

    /// Registers, memory and limits, as the compiler tells them.
    ///
    /// Errors: `Driver`.
    pub fn attributes(&self) -> Result<KernelAttributes> {
        self.0.kernel.attributes()
    }

    /// How many groups of so many threads, with so many bytes of local memory beside what the function declares, one compute
    /// unit runs at once.
    ///
    /// Errors: `Unsupported` on OpenCL, which has no call for it; `Driver`.
    pub fn occupancy(&self, threads: u32, local_bytes: u32) -> Result<Occupancy> {
        let modules = self.0.device.runtime().modules();
        let groups = modules.groups_per_unit(&*self.0.kernel, threads, local_bytes)?;
        let at_once = groups.saturating_mul(threads);
        let fraction = modules.threads_per_unit().map(|most| f64::from(at_once) / f64::from(most.max(1)));
        Ok(Occupancy { groups, threads: at_once, fraction })
    }

    /// A group size at which the device runs as many threads at once as it can; what [`Launch::forall`] takes.
    ///
    /// Errors: `Driver`.
    pub fn suggested_threads(&self) -> Result<u32> {
        self.0.device.runtime().modules().suggested_threads(&*self.0.kernel)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({} on {})", self.0.name, self.0.device.name())
    }
}
