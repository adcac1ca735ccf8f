//! Queues: streams of the device's context.

use std::any::Any;
use std::sync::Arc;

use cudarc::driver::sys::CUstream;

use super::handles::Handles;
use crate::error::{Error, Result};
use crate::runtime::explicit::Queue;

/// One stream.
pub(super) struct CudaQueue {
    pub(super) stream: CUstream,
    pub(super) handles: Arc<Handles>,
}

// SAFETY: a stream is a reference to an object of the driver's, which any thread may use once the context is bound.
unsafe impl Send for CudaQueue {}
// SAFETY: as above.
unsafe impl Sync for CudaQueue {}

impl CudaQueue {
    /// The stream of the handles, which lives as long as they do.
    pub(super) fn main(handles: &Arc<Handles>) -> Self {
        Self { stream: handles.stream, handles: handles.clone() }
    }

    /// The queue as this runtime's own. Errors: `Internal` where another runtime made it.
    pub(super) fn of<'a>(queue: &'a dyn Queue, handles: &Arc<Handles>) -> Result<&'a Self> {
        let queue: &dyn Any = queue;
        match queue.downcast_ref::<Self>() {
            Some(queue) if Arc::ptr_eq(&queue.handles, handles) => Ok(queue),
            _ => Err(Error::Internal(format!("{} was given another runtime's queue", handles.name))),
        }
    }
}

impl Queue for CudaQueue {}
