//! Device memory, as the runtime's users hold it.

use std::any::Any;
use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;

use super::handles::Handles;
use crate::error::{Error, Result};
use crate::runtime::Memory;

/// Memory of one runtime. Freed in stream order, so work under way keeps it.
pub(super) struct CudaMemory {
    address: CUdeviceptr,
    bytes: usize,
    /// What it is a part of, if it is not memory of its own: a module that has it as a variable.
    part_of: Option<Arc<dyn Any + Send + Sync>>,
    handles: Arc<Handles>,
}

impl CudaMemory {
    pub(super) fn new(handles: &Arc<Handles>, bytes: usize) -> Result<Self> {
        let address = handles.allocate(bytes)?;
        Ok(Self { address, bytes, part_of: None, handles: handles.clone() })
    }

    /// Memory of a module, which it keeps.
    pub(super) fn of_module(
        handles: &Arc<Handles>,
        address: CUdeviceptr,
        bytes: usize,
        module: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        Self { address, bytes, part_of: Some(module), handles: handles.clone() }
    }

    /// The memory as this runtime's own. Errors: `Internal` where another runtime made it.
    pub(super) fn of<'a>(memory: &'a dyn Memory, handles: &Arc<Handles>) -> Result<&'a Self> {
        let memory: &dyn Any = memory;
        match memory.downcast_ref::<Self>() {
            Some(memory) if Arc::ptr_eq(&memory.handles, handles) => Ok(memory),
            _ => Err(Error::Internal(format!("{} was given another runtime's memory", handles.name))),
        }
    }

    pub(super) fn address(&self) -> CUdeviceptr {
        self.address
    }

    /// The address of `bytes` bytes at an offset. Errors: `Internal` where they do not all lie in the memory.
    pub(super) fn range(&self, what: &str, offset: usize, bytes: usize) -> Result<CUdeviceptr> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(self.address + offset as CUdeviceptr),
            _ => Err(Error::Internal(format!("{what} of {bytes} bytes at {offset} in memory of {} bytes", self.bytes))),
        }
    }
}

impl Memory for CudaMemory {
    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for CudaMemory {
    fn drop(&mut self) {
        if self.part_of.is_none() {
            self.handles.free(self.address, self.bytes);
        }
    }
}
