//! Buffers, and copies in, out and between them.

use std::any::Any;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use opencl3::command_queue::{enqueue_fill_buffer, enqueue_read_buffer, enqueue_write_buffer};
use opencl3::memory::{CL_MEM_READ_WRITE, create_buffer, release_mem_object};
use opencl3::types::{CL_BLOCKING, cl_mem};

use super::fault;
use super::handles::Handles;
use crate::error::{Error, Result};
use crate::runtime::Memory;

/// One buffer. The driver keeps a freed buffer until the commands that use it are done.
pub(super) struct OpenClMemory {
    buffer: cl_mem,
    bytes: usize,
    handles: Arc<Handles>,
}

// SAFETY: cl_mem is a reference to an object of the driver's, and OpenCL lets any thread use it in any call but
// clSetKernelArg, which takes it by value.
unsafe impl Send for OpenClMemory {}
// SAFETY: as above; nothing here changes through a shared reference.
unsafe impl Sync for OpenClMemory {}

impl OpenClMemory {
    /// Asks for memory. Drivers that put off backing a buffer would accept more than the device has, and fail at its first
    /// use, so what cannot fit is refused here.
    pub(super) fn new(handles: &Arc<Handles>, bytes: usize, max_bytes: u64, global_bytes: u64) -> Result<Self> {
        let live = handles.live_bytes.load(Ordering::Relaxed);
        let refuse = |message: String| Error::OutOfMemory {
            device: handles.name.clone(),
            bytes: bytes as u64,
            live_bytes: live,
            message,
        };
        if bytes as u64 > max_bytes {
            return Err(refuse(format!("one allocation may be {max_bytes} bytes at most")));
        }
        if (bytes as u64).saturating_add(live) > global_bytes {
            return Err(refuse(format!("the device has {global_bytes} bytes")));
        }
        // SAFETY: the context lives as long as `handles`, and no host pointer is given, as the flags demand.
        let created = unsafe { create_buffer(handles.context, CL_MEM_READ_WRITE, bytes, ptr::null_mut()) };
        let buffer =
            created.map_err(|code| fault::allocation(&handles.name, "clCreateBuffer", code, bytes as u64, live))?;
        handles.live_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(Self { buffer, bytes, handles: handles.clone() })
    }

    /// The memory as this runtime's own. Errors: `Internal` where another runtime made it.
    pub(super) fn of<'a>(memory: &'a dyn Memory, handles: &Arc<Handles>) -> Result<&'a Self> {
        let memory: &dyn Any = memory;
        match memory.downcast_ref::<Self>() {
            Some(memory) if Arc::ptr_eq(&memory.handles, handles) => Ok(memory),
            _ => Err(Error::Internal(format!("{} was given another runtime's memory", handles.name))),
        }
    }

    pub(super) fn buffer(&self) -> cl_mem {
        self.buffer
    }

    /// Copies in. Blocking, because the source is the caller's again at return.
    pub(super) fn upload(&self, source: &[u8], offset: usize) -> Result<()> {
        self.check("upload", offset, source.len())?;
        if source.is_empty() {
            return Ok(()); // OpenCL refuses copies of no bytes.
        }
        // SAFETY: the range lies in the buffer (checked) and the source is readable until the blocking call is back.
        let event = unsafe {
            let (data, bytes) = (source.as_ptr().cast(), source.len());
            enqueue_write_buffer(self.handles.queue, self.buffer, CL_BLOCKING, offset, bytes, data, 0, ptr::null())
        };
        self.handles.finish_enqueue(|| "clEnqueueWriteBuffer".into(), event, source.len())
    }

    /// Fills the whole buffer with zeros.
    pub(super) fn clear(&self) -> Result<()> {
        const ZERO: [u8; 4] = [0; 4];
        // SAFETY: the driver copies the pattern before it is back. Sizes are multiples of the pattern's, since the pool's are.
        let event = unsafe {
            let (queue, pattern) = (self.handles.queue, ZERO.as_ptr().cast());
            enqueue_fill_buffer(queue, self.buffer, pattern, ZERO.len(), 0, self.bytes, 0, ptr::null())
        };
        self.handles.finish_enqueue(|| "clEnqueueFillBuffer".into(), event, self.bytes)
    }

    /// Copies out, once all that was submitted before is done.
    pub(super) fn download(&self, offset: usize, target: &mut [u8]) -> Result<()> {
        self.check("download", offset, target.len())?;
        if target.is_empty() {
            return Ok(());
        }
        // SAFETY: the range lies in the buffer (checked) and the target is ours to write until the blocking call is back.
        let event = unsafe {
            let (data, bytes) = (target.as_mut_ptr().cast(), target.len());
            enqueue_read_buffer(self.handles.queue, self.buffer, CL_BLOCKING, offset, bytes, data, 0, ptr::null())
        };
        self.handles.finish_enqueue(|| "clEnqueueReadBuffer".into(), event, target.len())
    }

    fn check(&self, what: &str, offset: usize, bytes: usize) -> Result<()> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(()),
            _ => Err(Error::Internal(format!("{what} of {bytes} bytes at {offset} in memory of {} bytes", self.bytes))),
        }
    }
}

impl Memory for OpenClMemory {
    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for OpenClMemory {
    fn drop(&mut self) {
        // SAFETY: this is the one reference made by clCreateBuffer. A failure leaves the buffer to the driver.
        if let Err(code) = unsafe { release_mem_object(self.buffer) } {
            tracing::warn!(device = %self.handles.name, "clReleaseMemObject gave {}", fault::text(code));
        }
        self.handles.live_bytes.fetch_sub(self.bytes as u64, Ordering::Relaxed);
    }
}
