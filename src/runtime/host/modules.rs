//! Modules and kernels of the caller's.

use std::sync::Arc;

use lazuli_codegen::{Dialect, simt};

use super::HostRuntime;
use super::simt::{HostKernel, launch};
use crate::error::{Error, Result};
use crate::runtime::explicit::{
    ModuleCode, ModuleOptions, Modules, Queue, RawArg, RawGrid, RawKernel, RawModule, RustKernelOptions,
};

/// Threads of a group whose registers stay in the first-level cache.
const SUGGESTED_THREADS: u32 = 256;

impl HostRuntime {
    fn unsupported<T>(&self, what: &str) -> Result<T> {
        use crate::runtime::Runtime;
        Err(Error::Unsupported { device: self.facts().name.clone(), what: what.into() })
    }
}

impl Modules for HostRuntime {
    fn dialect(&self) -> Option<Dialect> {
        None
    }

    fn module(&self, _code: ModuleCode<'_>, _options: &ModuleOptions) -> Result<Arc<dyn RawModule>> {
        self.unsupported("modules")
    }

    fn rust_kernel(&self, kernel: &Arc<simt::ir::Kernel>, options: RustKernelOptions) -> Result<Arc<dyn RawKernel>> {
        Ok(Arc::new(HostKernel::new(kernel, options.checked)?))
    }

    fn launch_grid(
        &self,
        _queue: &dyn Queue,
        kernel: &dyn RawKernel,
        grid: &RawGrid,
        arguments: &[RawArg<'_>],
    ) -> Result<()> {
        launch(HostKernel::of(kernel)?, grid, arguments)
    }

    fn groups_per_unit(&self, kernel: &dyn RawKernel, _threads: u32, _local_bytes: u32) -> Result<u32> {
        // A core runs one group after the other.
        HostKernel::of(kernel).map(|_| 1)
    }

    fn suggested_threads(&self, kernel: &dyn RawKernel) -> Result<u32> {
        HostKernel::of(kernel).map(|_| SUGGESTED_THREADS)
    }
}
