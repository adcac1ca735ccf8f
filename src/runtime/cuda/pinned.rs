//! Page-locked host memory, which the device copies from and to by itself.

use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::CUresult;

use super::fault;
use super::handles::Handles;
use crate::error::Result;
use crate::runtime::explicit::HostBytes;

/// A block of page-locked memory.
pub(super) struct PinnedBytes {
    data: NonNull<u8>,
    handles: Arc<Handles>,
}

// SAFETY: page-locked memory is plain memory; who uses it at a time is ordered by whoever holds it.
unsafe impl Send for PinnedBytes {}
// SAFETY: as above.
unsafe impl Sync for PinnedBytes {}

impl PinnedBytes {
    /// So many bytes, all zero.
    pub(super) fn new(handles: &Arc<Handles>, bytes: usize) -> Result<Self> {
        handles.bind()?;
        let failed = |error| fault::allocation(&handles.name, "cuMemHostAlloc", error, bytes as u64, 0);
        // SAFETY: the context is bound. No flag: write-combined memory would be slow to read.
        let data = unsafe { result::malloc_host(bytes, 0) }.map_err(failed)?;
        let data =
            NonNull::new(data.cast::<u8>()).ok_or_else(|| failed(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)))?;
        // SAFETY: the memory was just allocated and is this long.
        unsafe { data.as_ptr().write_bytes(0, bytes) };
        Ok(Self { data, handles: handles.clone() })
    }
}

impl HostBytes for PinnedBytes {
    fn data(&self) -> *mut u8 {
        self.data.as_ptr()
    }
}

impl Drop for PinnedBytes {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, and nobody else has it. The call waits for copies that use it.
        let freed = self.handles.try_bind().and_then(|()| unsafe { result::free_host(self.data.as_ptr().cast()) });
        fault::log_release(&self.handles.name, "cuMemFreeHost", freed);
    }
}
