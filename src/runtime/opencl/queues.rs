//! Queues, events and memory operations.

use std::any::Any;
use std::ptr;
use std::sync::Arc;

use opencl3::command_queue::{
    enqueue_copy_buffer, enqueue_copy_buffer_rect, enqueue_fill_buffer, enqueue_read_buffer, enqueue_read_buffer_rect,
    enqueue_write_buffer, enqueue_write_buffer_rect,
};
use opencl3::types::CL_NON_BLOCKING;

use super::OpenClRuntime;
use super::mapping::{MappedBytes, OpenClMapping};
use super::mark::OpenClMark;
use super::memory::OpenClMemory;
use super::queue::OpenClQueue;
use crate::error::{Error, Result};
use crate::runtime::Memory;
use crate::runtime::explicit::{Extent, HostBytes, Mark, Pitches, Queue, Queues, RawMapping};
use crate::runtime::host::HostMemory;
use crate::runtime::owned_bytes::OwnedBytes;

impl Queues for OpenClRuntime {
    fn main_queue(&self) -> &dyn Queue {
        &self.main
    }

    fn new_queue(&self) -> Result<Arc<dyn Queue>> {
        Ok(Arc::new(OpenClQueue::new(&self.handles)?))
    }

    fn synchronize_queue(&self, queue: &dyn Queue) -> Result<()> {
        OpenClQueue::of(queue, &self.handles)?.finish()
    }

    fn record(&self, queue: &dyn Queue, _is_timed: bool) -> Result<Arc<dyn Mark>> {
        Ok(Arc::new(OpenClMark::record(OpenClQueue::of(queue, &self.handles)?)?))
    }

    fn wait(&self, queue: &dyn Queue, mark: &dyn Mark) -> Result<()> {
        OpenClMark::of(mark, &self.handles)?.hold_up(OpenClQueue::of(queue, &self.handles)?)
    }

    fn copy(
        &self,
        queue: &dyn Queue,
        from: (&dyn Memory, Pitches),
        to: (&dyn Memory, Pitches),
        extent: Extent,
    ) -> Result<()> {
        let (queue, source, target) = (self.own(queue)?, self.region(from, extent)?, self.region(to, extent)?);
        let (from, to) = (from.1, to.1);
        if let Some(bytes) = extent.flat_bytes(from, to) {
            // SAFETY: the queue and the buffers live, and the regions lie in them (checked).
            let event = unsafe {
                let (source, target) = (source.buffer(), target.buffer());
                enqueue_copy_buffer(queue.queue, source, target, from.offset, to.offset, bytes, 0, ptr::null())
            };
            return queue.submitted("clEnqueueCopyBuffer", event, bytes);
        }
        let region = [extent.row_bytes, extent.rows, extent.slices];
        // SAFETY: as above; the arrays hold three numbers each.
        let event = unsafe {
            enqueue_copy_buffer_rect(
                queue.queue,
                source.buffer(),
                target.buffer(),
                from.origin().as_ptr(),
                to.origin().as_ptr(),
                region.as_ptr(),
                from.row,
                from.slice,
                to.row,
                to.slice,
                0,
                ptr::null(),
            )
        };
        queue.submitted("clEnqueueCopyBufferRect", event, 0)
    }

    unsafe fn begin_write(
        &self,
        queue: &dyn Queue,
        from: (*const u8, Pitches),
        to: (&dyn Memory, Pitches),
        extent: Extent,
    ) -> Result<()> {
        let (queue, target) = (self.own(queue)?, self.region(to, extent)?.buffer());
        let ((data, from), to) = (from, to.1);
        if let Some(bytes) = extent.flat_bytes(from, to) {
            // SAFETY: the caller's promise of the source; the target's region lies in its buffer (checked).
            let event = unsafe {
                let data = data.add(from.offset).cast();
                enqueue_write_buffer(queue.queue, target, CL_NON_BLOCKING, to.offset, bytes, data, 0, ptr::null())
            };
            return queue.submitted("clEnqueueWriteBuffer", event, bytes);
        }
        let region = [extent.row_bytes, extent.rows, extent.slices];
        // SAFETY: as above; the arrays hold three numbers each.
        let event = unsafe {
            enqueue_write_buffer_rect(
                queue.queue,
                target,
                CL_NON_BLOCKING,
                to.origin().as_ptr(),
                [0; 3].as_ptr(),
                region.as_ptr(),
                to.row,
                to.slice,
                from.row,
                from.slice,
                data.add(from.offset).cast(),
                0,
                ptr::null(),
            )
        };
        queue.submitted("clEnqueueWriteBufferRect", event, 0)
    }

    unsafe fn begin_read(
        &self,
        queue: &dyn Queue,
        from: (&dyn Memory, Pitches),
        to: (*mut u8, Pitches),
        extent: Extent,
    ) -> Result<()> {
        let (queue, source) = (self.own(queue)?, self.region(from, extent)?.buffer());
        let ((data, to), from) = (to, from.1);
        if let Some(bytes) = extent.flat_bytes(from, to) {
            // SAFETY: the caller's promise of the target; the source's region lies in its buffer (checked).
            let event = unsafe {
                let data = data.add(to.offset).cast();
                enqueue_read_buffer(queue.queue, source, CL_NON_BLOCKING, from.offset, bytes, data, 0, ptr::null())
            };
            return queue.submitted("clEnqueueReadBuffer", event, bytes);
        }
        let region = [extent.row_bytes, extent.rows, extent.slices];
        // SAFETY: as above; the arrays hold three numbers each.
        let event = unsafe {
            enqueue_read_buffer_rect(
                queue.queue,
                source,
                CL_NON_BLOCKING,
                from.origin().as_ptr(),
                [0; 3].as_ptr(),
                region.as_ptr(),
                from.row,
                from.slice,
                to.row,
                to.slice,
                data.add(to.offset).cast(),
                0,
                ptr::null(),
            )
        };
        queue.submitted("clEnqueueReadBufferRect", event, 0)
    }

    fn fill(&self, queue: &dyn Queue, memory: &dyn Memory, offset: usize, pattern: &[u8], count: usize) -> Result<()> {
        let (queue, memory) = (self.own(queue)?, OpenClMemory::of(memory, &self.handles)?);
        let bytes = pattern.len().saturating_mul(count);
        memory.check("fill", offset, bytes)?;
        // SAFETY: the range lies in the buffer (checked), and the pattern is copied before the call is back.
        let event = unsafe {
            let (data, buffer) = (pattern.as_ptr().cast_mut().cast(), memory.buffer());
            enqueue_fill_buffer(queue.queue, buffer, data, pattern.len(), offset, bytes, 0, ptr::null())
        };
        queue.submitted("clEnqueueFillBuffer", event, bytes)
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<Box<dyn HostBytes>> {
        match self.limits.facts.is_cpu {
            true => Ok(Box::new(HostMemory::zeroed(bytes)?)),
            false => Ok(Box::new(MappedBytes::new(&self.handles, bytes, &self.limits)?)),
        }
    }

    fn allocate_reachable(&self, bytes: usize) -> Result<Option<Box<dyn Memory>>> {
        match self.limits.facts.is_cpu {
            true => Ok(None),
            false => Ok(Some(Box::new(OpenClMemory::reachable(&self.handles, bytes, &self.limits)?))),
        }
    }

    fn adopts(&self) -> bool {
        self.limits.facts.is_cpu
    }

    fn adopt(&self, bytes: OwnedBytes) -> Result<Box<dyn Memory>> {
        match self.adopts() {
            true => Ok(Box::new(OpenClMemory::adopt(&self.handles, bytes)?)),
            false => {
                let what = "memory of the host in place of its own".into();
                Err(Error::Unsupported { device: self.handles.name.clone(), what })
            }
        }
    }

    fn give_up(&self, memory: Box<dyn Memory>) -> Result<OwnedBytes> {
        let memory: Box<dyn Any> = memory;
        let given = memory.downcast::<OpenClMemory>().ok().map(|memory| memory.give_up()).transpose()?.flatten();
        given.ok_or_else(|| Error::Internal(format!("{}: memory that was not adopted", self.handles.name)))
    }

    fn map(
        &self,
        queue: &dyn Queue,
        memory: &dyn Memory,
        offset: usize,
        bytes: usize,
        is_written: bool,
    ) -> Result<Box<dyn RawMapping>> {
        let (queue, memory) = (self.own(queue)?, OpenClMemory::of(memory, &self.handles)?);
        Ok(Box::new(OpenClMapping::new(&self.handles, queue.queue, memory, offset, bytes, is_written)?))
    }
}

impl OpenClRuntime {
    fn own<'a>(&self, queue: &'a dyn Queue) -> Result<&'a OpenClQueue> {
        OpenClQueue::of(queue, &self.handles)
    }

    /// The buffer of a side of a copy, which lies in it.
    fn region<'a>(&self, side: (&'a dyn Memory, Pitches), extent: Extent) -> Result<&'a OpenClMemory> {
        let memory = OpenClMemory::of(side.0, &self.handles)?;
        memory.check("a copy", 0, side.1.end(extent).unwrap_or(usize::MAX))?;
        Ok(memory)
    }
}
