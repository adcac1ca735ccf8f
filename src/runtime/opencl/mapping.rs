//! Buffers mapped into the host's memory, and memory of the host that the device copies from and to by itself.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use opencl3::command_queue::{enqueue_map_buffer, enqueue_unmap_mem_object};
use opencl3::memory::{CL_MAP_READ, CL_MAP_WRITE};
use opencl3::types::{CL_BLOCKING, cl_command_queue};

use super::handles::Handles;
use super::memory::OpenClMemory;
use super::platform::Limits;
use super::queue::OpenClQueue;
use crate::error::Result;
use crate::runtime::Memory;
use crate::runtime::explicit::{HostBytes, Queue, Queues, RawMapping};

/// A part of a buffer that is mapped.
pub(super) struct OpenClMapping {
    data: *mut c_void,
    memory: opencl3::types::cl_mem,
    handles: Arc<Handles>,
}

// SAFETY: the address is that of mapped memory, and cl_mem is a reference to an object of the driver's; any thread may use both.
unsafe impl Send for OpenClMapping {}
// SAFETY: as above.
unsafe impl Sync for OpenClMapping {}

impl OpenClMapping {
    /// Maps a part, after all that was submitted to the queue, and waits for it. There is at least one byte.
    pub(super) fn new(
        handles: &Arc<Handles>,
        queue: cl_command_queue,
        memory: &OpenClMemory,
        offset: usize,
        bytes: usize,
        is_written: bool,
    ) -> Result<Self> {
        memory.check("map", offset, bytes)?;
        let flags = if is_written { CL_MAP_READ | CL_MAP_WRITE } else { CL_MAP_READ };
        let mut data = ptr::null_mut();
        // SAFETY: the queue and the buffer live, and the range lies in the buffer (checked).
        let event = unsafe {
            let buffer = memory.buffer();
            enqueue_map_buffer(queue, buffer, CL_BLOCKING, flags, offset, bytes, &mut data, 0, ptr::null())
        };
        handles.finish_enqueue(|| format!("clEnqueueMapBuffer of {bytes} bytes"), event, bytes)?;
        Ok(Self { data, memory: memory.buffer(), handles: handles.clone() })
    }

    /// Ends it, in order with the queue. Called once, while the buffer lives.
    pub(super) fn unmap(&mut self, queue: cl_command_queue) -> Result<()> {
        // SAFETY: the buffer lives and has this mapping, which nobody uses any more.
        let event = unsafe { enqueue_unmap_mem_object(queue, self.memory, self.data, 0, ptr::null()) };
        self.handles.finish_enqueue(|| "clEnqueueUnmapMemObject".into(), event, 0)
    }
}

impl RawMapping for OpenClMapping {
    fn data(&self) -> *mut u8 {
        self.data.cast()
    }

    fn end(&mut self, _: &dyn Queues, queue: &dyn Queue, _: &dyn Memory, _: usize) -> Result<()> {
        let handles = self.handles.clone();
        let queue = OpenClQueue::of(queue, &handles)?;
        self.unmap(queue.queue)?;
        queue.flush()
    }
}

/// Memory of the driver's that stays mapped: page-locked where the driver does that for `CL_MEM_ALLOC_HOST_PTR`.
pub(super) struct MappedBytes {
    mapping: OpenClMapping,
    /// Released after the mapping has ended.
    _memory: OpenClMemory,
}

impl MappedBytes {
    /// So many bytes, all zero.
    pub(super) fn new(handles: &Arc<Handles>, bytes: usize, limits: &Limits) -> Result<Self> {
        let memory = OpenClMemory::reachable(handles, bytes, limits)?;
        let mapping = OpenClMapping::new(handles, handles.queue, &memory, 0, bytes, true)?;
        // SAFETY: the mapping is this long, and nobody else has it.
        unsafe { mapping.data.cast::<u8>().write_bytes(0, bytes) };
        Ok(Self { mapping, _memory: memory })
    }
}

impl HostBytes for MappedBytes {
    fn data(&self) -> *mut u8 {
        self.mapping.data.cast()
    }
}

impl Drop for MappedBytes {
    fn drop(&mut self) {
        let handles = self.mapping.handles.clone();
        if let Err(error) = self.mapping.unmap(handles.queue) {
            tracing::warn!(device = %handles.name, %error, "pinned memory stays mapped");
        }
    }
}
