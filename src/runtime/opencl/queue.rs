//! Queues: in-order command queues of the device's context.

use std::any::Any;
use std::sync::Arc;

use opencl3::types::cl_command_queue;

use super::handles::Handles;
use crate::error::{Error, Result};
use crate::runtime::explicit::Queue;

/// One command queue.
pub(super) struct OpenClQueue {
    pub(super) queue: cl_command_queue,
    pub(super) handles: Arc<Handles>,
}

// SAFETY: a command queue is a reference to an object of the driver's, which any thread may use.
unsafe impl Send for OpenClQueue {}
// SAFETY: as above.
unsafe impl Sync for OpenClQueue {}

impl OpenClQueue {
    /// The queue of the handles, which lives as long as they do.
    pub(super) fn main(handles: &Arc<Handles>) -> Self {
        Self { queue: handles.queue, handles: handles.clone() }
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

impl Queue for OpenClQueue {}
