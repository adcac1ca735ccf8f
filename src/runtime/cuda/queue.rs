//! Queues: streams of the device's context.

use std::any::Any;
use std::sync::Arc;

use cudarc::driver::result::stream;
use cudarc::driver::sys::CUstream;

use super::fault;
use super::handles::Handles;
use crate::error::{Error, Result};
use crate::runtime::explicit::Queue;

/// One stream.
pub(super) struct CudaQueue {
    pub(super) stream: CUstream,
    pub(super) handles: Arc<Handles>,
    /// Destroyed with this value; the stream of the handles is destroyed with them.
    is_own: bool,
}

// SAFETY: a stream is a reference to an object of the driver's, which any thread may use once the context is bound.
unsafe impl Send for CudaQueue {}
// SAFETY: as above.
unsafe impl Sync for CudaQueue {}

impl CudaQueue {
    /// The stream of the handles, which lives as long as they do.
    pub(super) fn main(handles: &Arc<Handles>) -> Self {
        Self { stream: handles.stream, handles: handles.clone(), is_own: false }
    }

    /// Another stream.
    pub(super) fn new(handles: &Arc<Handles>) -> Result<Self> {
        handles.bind()?;
        // The default kind would wait for, and hold up, whoever uses the legacy stream.
        let stream = stream::create(stream::StreamKind::NonBlocking)
            .map_err(|error| fault::driver(&handles.name, "cuStreamCreate", error))?;
        Ok(Self { stream, handles: handles.clone(), is_own: true })
    }

    /// The queue as this runtime's own. Errors: `Internal` where another runtime made it.
    pub(super) fn of<'a>(queue: &'a dyn Queue, handles: &Arc<Handles>) -> Result<&'a Self> {
        let queue: &dyn Any = queue;
        match queue.downcast_ref::<Self>() {
            Some(queue) if Arc::ptr_eq(&queue.handles, handles) => Ok(queue),
            _ => Err(Error::Internal(format!("{} was given another runtime's queue", handles.name))),
        }
    }

    /// Waits until all that was submitted is done.
    pub(super) fn synchronize(&self) -> Result<()> {
        self.handles.bind()?;
        // SAFETY: the stream lives as long as this value or its handles.
        unsafe { stream::synchronize(self.stream) }
            .map_err(|error| fault::driver(&self.handles.name, "cuStreamSynchronize", error))?;
        self.handles.health.waited(self.stream.addr());
        Ok(())
    }
}

impl Queue for CudaQueue {}

impl Drop for CudaQueue {
    fn drop(&mut self) {
        if !self.is_own {
            return;
        }
        // SAFETY: made by `new`, and nobody else has it. The call is back at once; the driver keeps the stream until what was
        // submitted to it is done.
        let ended = self.handles.try_bind().and_then(|()| unsafe { stream::destroy(self.stream) });
        fault::log_release(&self.handles.name, "cuStreamDestroy", ended);
    }
}
