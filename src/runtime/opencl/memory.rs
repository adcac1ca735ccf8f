//! Buffers, and copies in, out and between them.

use std::any::Any;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use opencl3::command_queue::{enqueue_fill_buffer, enqueue_read_buffer, enqueue_write_buffer};
use opencl3::error_codes::CL_MISALIGNED_SUB_BUFFER_OFFSET;
use opencl3::event::{CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS, get_event_info, release_event, wait_for_events};
use opencl3::memory::{
    CL_BUFFER_CREATE_TYPE_REGION, CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR, create_buffer,
    create_sub_buffer, release_mem_object,
};
use opencl3::types::{CL_BLOCKING, CL_NON_BLOCKING, cl_buffer_region, cl_event, cl_mem, cl_mem_flags};

use super::fault;
use super::handles::Handles;
use super::mapping::OpenClMapping;
use super::platform::Limits;
use crate::error::{Error, Result};
use crate::runtime::host::HostMemory;
use crate::runtime::owned_bytes::OwnedBytes;
use crate::runtime::{Download, Memory};

/// One buffer. The driver keeps a freed buffer until the commands that use it are done.
pub(super) struct OpenClMemory {
    buffer: cl_mem,
    /// What the buffer is a view of, on a CPU: memory that we can place better than its driver does.
    host: Option<HostMemory>,
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
    pub(super) fn new(handles: &Arc<Handles>, bytes: usize, limits: &Limits) -> Result<Self> {
        refuse_excess(handles, bytes, limits)?;
        let host = match limits.facts.is_cpu {
            // Whole cache lines, which drivers ask for before they use host memory as it is.
            true => Some(
                HostMemory::allocate(bytes.next_multiple_of(64))
                    .map_err(|error| out_of_memory(handles, bytes, error.to_string()))?,
            ),
            false => None,
        };
        Self::create(handles, bytes, host, 0)
    }

    /// Asks for memory that the host reaches fast.
    pub(super) fn reachable(handles: &Arc<Handles>, bytes: usize, limits: &Limits) -> Result<Self> {
        refuse_excess(handles, bytes, limits)?;
        Self::create(handles, bytes, None, CL_MEM_ALLOC_HOST_PTR)
    }

    /// Memory of the host, used in place.
    pub(super) fn adopt(handles: &Arc<Handles>, owned: OwnedBytes) -> Result<Self> {
        let bytes = owned.bytes();
        Self::create(handles, bytes, Some(HostMemory::adopt(owned)?), 0)
    }

    /// The adopted memory again, with what the device wrote; none where it was not adopted.
    pub(super) fn give_up(mut self) -> Result<Option<OwnedBytes>> {
        // A driver may keep a copy of its own; mapping brings the host's up to date.
        let (queue, handles) = (self.handles.queue, self.handles.clone());
        let mut mapping = OpenClMapping::new(&handles, queue, &self, 0, self.bytes, false)?;
        mapping.unmap(queue)?;
        handles.synchronize()?;
        Ok(self.host.take().and_then(HostMemory::give_up))
    }

    fn create(handles: &Arc<Handles>, bytes: usize, host: Option<HostMemory>, kind: cl_mem_flags) -> Result<Self> {
        let live = handles.live_bytes.load(Ordering::Relaxed);
        let (flags, data) = match &host {
            Some(host) => (CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, host.data().cast()),
            None => (CL_MEM_READ_WRITE | kind, ptr::null_mut()),
        };
        // SAFETY: the context lives as long as `handles`. Where a host pointer is given, its flag is, and the memory is as
        // long as the buffer and outlives it.
        let created = unsafe { create_buffer(handles.context, flags, bytes, data) };
        let buffer =
            created.map_err(|code| fault::allocation(&handles.name, "clCreateBuffer", code, bytes as u64, live))?;
        handles.live_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(Self { buffer, host, bytes, handles: handles.clone() })
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

    /// The part from so many bytes on. Errors: `HostData` for a place that the device does not let a part begin at.
    pub(super) fn from(&self, offset: usize) -> Result<Part<'_>> {
        if offset == 0 {
            return Ok(Part { buffer: self.buffer, is_own: false, whole: self });
        }
        self.check("a part", offset, 1)?;
        let region = cl_buffer_region { origin: offset, size: self.bytes - offset };
        // SAFETY: the region is one of this kind, and lies in the buffer (checked).
        let created =
            unsafe { create_sub_buffer(self.buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, ptr::from_ref(&region).cast()) };
        match created {
            Ok(buffer) => Ok(Part { buffer, is_own: true, whole: self }),
            Err(CL_MISALIGNED_SUB_BUFFER_OFFSET) => Err(Error::HostData {
                op: "launch",
                what: format!("memory from byte {offset} on: {} has parts begin at wider steps", self.handles.name),
            }),
            Err(code) => Err(self.handles.fault("clCreateSubBuffer", code)),
        }
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
        // It waits for all that was submitted before, whose faults it tells.
        let event = match event {
            Err(code) if fault::is_loss_of_wait(code) => {
                return Err(self.handles.wait_fault("clEnqueueReadBuffer", code));
            }
            event => event,
        };
        self.handles.finish_enqueue(|| "clEnqueueReadBuffer".into(), event, target.len())?;
        self.handles.health.waited(self.handles.queue.addr());
        Ok(())
    }

    /// Sets the first bytes to zero.
    pub(super) fn clear(&self, bytes: usize) -> Result<()> {
        self.check("clear", 0, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let zero = [0u8; 4];
        // SAFETY: the range lies in the buffer (checked), and the pattern is copied before the call is back.
        let event = unsafe {
            let pattern = zero.as_ptr().cast_mut().cast();
            // The size of the pattern divides that of what is filled.
            let size = if bytes.is_multiple_of(zero.len()) { zero.len() } else { 1 };
            enqueue_fill_buffer(self.handles.queue, self.buffer, pattern, size, 0, bytes, 0, ptr::null())
        };
        self.handles.finish_enqueue(|| "clEnqueueFillBuffer".into(), event, bytes)
    }

    /// Begins to copy out, once all that was submitted before is done.
    pub(super) fn begin_download(&self, offset: usize, bytes: usize) -> Result<PendingDownload> {
        self.check("download", offset, bytes)?;
        let mut target = vec![0u8; bytes];
        // SAFETY: the range lies in the buffer (checked); the target stays where it is until the command is done, for which
        // `PendingDownload` waits before it lets go of it.
        let event = unsafe {
            let data = target.as_mut_ptr().cast();
            enqueue_read_buffer(self.handles.queue, self.buffer, CL_NON_BLOCKING, offset, bytes, data, 0, ptr::null())
        };
        let live = self.handles.live_bytes.load(Ordering::Relaxed);
        let failed = |code| fault::enqueue(&self.handles.name, "clEnqueueReadBuffer", code, bytes as u64, live);
        let pending = PendingDownload { target, event: event.map_err(failed)?, handles: self.handles.clone() };
        self.handles.flush()?;
        Ok(pending)
    }

    pub(super) fn check(&self, what: &str, offset: usize, bytes: usize) -> Result<()> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(()),
            _ => Err(Error::Internal(format!("{what} of {bytes} bytes at {offset} in memory of {} bytes", self.bytes))),
        }
    }
}

fn out_of_memory(handles: &Handles, bytes: usize, message: String) -> Error {
    let live_bytes = handles.live_bytes.load(Ordering::Relaxed);
    Error::OutOfMemory { device: handles.name.clone(), bytes: bytes as u64, live_bytes, message }
}

/// Refuses more bytes than the device can give at once or has left.
fn refuse_excess(handles: &Handles, bytes: usize, limits: &Limits) -> Result<()> {
    let (max_bytes, global_bytes) = (limits.facts.max_allocation_bytes, limits.global_memory_bytes);
    if bytes as u64 > max_bytes {
        return Err(out_of_memory(handles, bytes, format!("one allocation may be {max_bytes} bytes at most")));
    }
    if (bytes as u64).saturating_add(handles.live_bytes.load(Ordering::Relaxed)) > global_bytes {
        return Err(out_of_memory(handles, bytes, format!("the device has {global_bytes} bytes")));
    }
    Ok(())
}

impl Memory for OpenClMemory {
    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for OpenClMemory {
    fn drop(&mut self) {
        // The driver keeps its own memory while commands use it, but not ours. If waiting fails nobody knows who still does.
        if let Err(error) = self.host.as_ref().map_or(Ok(()), |_| self.handles.synchronize()) {
            self.handles.log_release("memory that is never freed", &error);
            std::mem::forget(self.host.take());
        }
        // SAFETY: this is the one reference made by clCreateBuffer. A failure leaves the buffer to the driver.
        if let Err(code) = unsafe { release_mem_object(self.buffer) } {
            self.handles.log_release("clReleaseMemObject", &fault::text(code));
        }
        self.handles.live_bytes.fetch_sub(self.bytes as u64, Ordering::Relaxed);
    }
}

/// A buffer, or the part of one from some byte on, for as long as a command is made of it.
pub(super) struct Part<'a> {
    buffer: cl_mem,
    is_own: bool,
    whole: &'a OpenClMemory,
}

impl Part<'_> {
    pub(super) fn buffer(&self) -> cl_mem {
        self.buffer
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        if !self.is_own {
            return;
        }
        // SAFETY: this is the one reference made by clCreateSubBuffer. Commands that use it keep it.
        if let Err(code) = unsafe { release_mem_object(self.buffer) } {
            self.whole.handles.log_release("clReleaseMemObject", &fault::text(code));
        }
    }
}

/// A copy on its way to memory of ours.
pub(super) struct PendingDownload {
    target: Vec<u8>,
    event: cl_event,
    handles: Arc<Handles>,
}

// SAFETY: an event is a reference to an object of the driver's that any thread may use.
unsafe impl Send for PendingDownload {}

impl Download for PendingDownload {
    fn is_done(&self) -> Result<bool> {
        match get_event_info(self.event, CL_EVENT_COMMAND_EXECUTION_STATUS) {
            Ok(status) => Ok(status.to_int() <= CL_COMPLETE), // Faults are below.
            Err(code) => Err(self.handles.wait_fault("clGetEventInfo", code)),
        }
    }

    fn finish(self: Box<Self>, target: &mut [u8]) -> Result<()> {
        wait_for_events(&[self.event]).map_err(|code| self.handles.wait_fault("clWaitForEvents", code))?;
        target.copy_from_slice(&self.target);
        Ok(())
    }
}

impl Drop for PendingDownload {
    fn drop(&mut self) {
        // A command that fails is over too; any other failure leaves it unknown whether the target is still written.
        let is_over = wait_for_events(&[self.event]).is_ok() || matches!(self.is_done(), Ok(true));
        if !is_over {
            std::mem::forget(std::mem::take(&mut self.target));
        }
        // SAFETY: the enqueue made this event with one reference, which is ours.
        if let Err(code) = unsafe { release_event(self.event) } {
            self.handles.log_release("clReleaseEvent", &fault::text(code));
        }
    }
}
