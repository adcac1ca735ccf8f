//! Modules and kernels of the caller's.

use std::sync::Arc;

use lazuli_codegen::{Dialect, simt};

use super::CudaRuntime;
use crate::error::{Error, Result};
use crate::runtime::explicit::{ModuleCode, ModuleOptions, Modules, Queue, RawArg, RawGrid, RawKernel, RawModule};

impl CudaRuntime {
    fn unsupported<T>(&self, what: &str) -> Result<T> {
        use crate::runtime::Runtime;
        Err(Error::Unsupported { device: self.facts().name.clone(), what: what.into() })
    }
}

impl Modules for CudaRuntime {
    fn dialect(&self) -> Option<Dialect> {
        Some(Dialect::CudaC)
    }

    fn module(&self, _code: ModuleCode<'_>, _options: &ModuleOptions) -> Result<Arc<dyn RawModule>> {
        self.unsupported("modules")
    }

    fn rust_kernel(
        &self,
        _kernel: &Arc<simt::ir::Kernel>,
        _checked: bool,
        _contraction: bool,
    ) -> Result<Arc<dyn RawKernel>> {
        self.unsupported("kernels in Rust")
    }

    fn launch_grid(
        &self,
        _queue: &dyn Queue,
        _kernel: &dyn RawKernel,
        _grid: &RawGrid,
        _arguments: &[RawArg<'_>],
    ) -> Result<()> {
        self.unsupported("launches")
    }

    fn groups_per_unit(&self, _kernel: &dyn RawKernel, _threads: u32, _local_bytes: u32) -> Result<u32> {
        self.unsupported("occupancy")
    }

    fn suggested_threads(&self, _kernel: &dyn RawKernel) -> Result<u32> {
        self.unsupported("occupancy")
    }
}
