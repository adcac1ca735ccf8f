//! Queues: in-order command queues of the device's context.

use std::any::Any;
use std::sync::Arc;

use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, finish, release_command_queue};
use opencl3::types::{cl_command_queue, cl_event, cl_int};

use super::fault;
use super::handles::Handles;
use crate::error::{Error, Result};
use crate::runtime::explicit::Queue;

/// One command queue.
pub(super) struct OpenClQueue {
    pub(super) queue: cl_command_queue,
    pub(super) handles: Arc<Handles>,
    /// Released with this value; the queue of the handles is released with them.
    is_own: bool,
}

// SAFETY: a command queue is a reference to an object of the driver's, which any thread may use.
unsafe impl Send for OpenClQueue {}
// SAFETY: as above.
unsafe impl Sync for OpenClQueue {}

impl OpenClQueue {
    /// The queue of the handles, which lives as long as they do.
    pub(super) fn main(handles: &Arc<Handles>) -> Self {
        Self { queue: handles.queue, handles: handles.clone(), is_own: false }
    }

    /// Another queue, in order, that keeps the times of its commands.
    pub(super) fn new(handles: &Arc<Handles>) -> Result<Self> {
        #[allow(
            deprecated,
            reason = "the newer call is missing from OpenCL 1.2 drivers, and this one is in all of them"
        )]
        // SAFETY: the context was made of this device, and lives as long as the handles.
        let queue = unsafe {
            opencl3::command_queue::create_command_queue(handles.context, handles.device, CL_QUEUE_PROFILING_ENABLE)
        };
        let queue = queue.map_err(|code| fault::driver(&handles.name, "clCreateCommandQueue", code))?;
        Ok(Self { queue, handles: handles.clone(), is_own: true })
    }

    /// The queue as this runtime's own. Errors: `Internal` where another runtime made it.
    pub(super) fn of<'a>(queue: &'a dyn Queue, handles: &Arc<Handles>) -> Result<&'a Self> {
        let queue: &dyn Any = queue;
        match queue.downcast_ref::<Self>() {
            Some(queue) if Arc::ptr_eq(&queue.handles, handles) => Ok(queue),
            _ => Err(Error::Internal(format!("{} was given another runtime's queue", handles.name))),
        }
    }

    /// Takes the outcome of an enqueue whose event nobody needs, and hands it to the device.
    pub(super) fn submitted(&self, call: &str, event: Result<cl_event, cl_int>, bytes: usize) -> Result<()> {
        self.handles.finish_enqueue(|| call.into(), event, bytes)?;
        self.flush()
    }

    /// Hands what was submitted to the device.
    pub(super) fn flush(&self) -> Result<()> {
        self.handles.flush_queue(self.queue)
    }

    /// Waits until all that was submitted is done.
    pub(super) fn finish(&self) -> Result<()> {
        self.handles.alive()?;
        finish(self.queue).map_err(|code| self.handles.wait_fault("clFinish", code))?;
        self.handles.health.waited(self.queue.addr());
        Ok(())
    }
}

impl Queue for OpenClQueue {}

impl Drop for OpenClQueue {
    fn drop(&mut self) {
        if !self.is_own {
            return;
        }
        // SAFETY: made by `new` with one reference. Releasing flushes, and the driver keeps the queue until it is empty.
        if let Err(code) = unsafe { release_command_queue(self.queue) } {
            self.handles.log_release("clReleaseCommandQueue", &fault::text(code));
        }
    }
}
