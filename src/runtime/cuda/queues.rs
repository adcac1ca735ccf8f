//! Queues, events and memory operations.

use std::sync::Arc;

use super::CudaRuntime;
use super::mark::CudaMark;
use super::memory::CudaMemory;
use super::pinned::PinnedBytes;
use super::queue::CudaQueue;
use super::transfer::{self, Side};
use crate::error::{Error, Result};
use crate::runtime::Memory;
use crate::runtime::explicit::{Extent, HostBytes, Mark, Pitches, Queue, Queues, RawMapping};
use crate::runtime::mapping::Staged;
use crate::runtime::owned_bytes::OwnedBytes;

impl Queues for CudaRuntime {
    fn main_queue(&self) -> &dyn Queue {
        &self.main
    }

    fn new_queue(&self) -> Result<Arc<dyn Queue>> {
        Ok(Arc::new(CudaQueue::new(&self.handles)?))
    }

    fn synchronize_queue(&self, queue: &dyn Queue) -> Result<()> {
        CudaQueue::of(queue, &self.handles)?.synchronize()
    }

    fn record(&self, queue: &dyn Queue, is_timed: bool) -> Result<Arc<dyn Mark>> {
        Ok(Arc::new(CudaMark::record(CudaQueue::of(queue, &self.handles)?, is_timed)?))
    }

    fn wait(&self, queue: &dyn Queue, mark: &dyn Mark) -> Result<()> {
        CudaMark::of(mark, &self.handles)?.hold_up(CudaQueue::of(queue, &self.handles)?)
    }

    fn copy(
        &self,
        queue: &dyn Queue,
        from: (&dyn Memory, Pitches),
        to: (&dyn Memory, Pitches),
        extent: Extent,
    ) -> Result<()> {
        let (source, target) = (self.region(from, extent)?, self.region(to, extent)?);
        // SAFETY: both regions lie in device memory (checked).
        unsafe { transfer::copy(self.own(queue)?, (source, from.1), (target, to.1), extent) }
    }

    unsafe fn begin_write(
        &self,
        queue: &dyn Queue,
        from: (*const u8, Pitches),
        to: (&dyn Memory, Pitches),
        extent: Extent,
    ) -> Result<()> {
        let target = self.region(to, extent)?;
        let source = Side::Host(from.0.cast_mut());
        // SAFETY: the caller's promise of the source; the target lies in device memory (checked).
        unsafe { transfer::copy(self.own(queue)?, (source, from.1), (target, to.1), extent) }
    }

    unsafe fn begin_read(
        &self,
        queue: &dyn Queue,
        from: (&dyn Memory, Pitches),
        to: (*mut u8, Pitches),
        extent: Extent,
    ) -> Result<()> {
        let source = self.region(from, extent)?;
        // SAFETY: the caller's promise of the target; the source lies in device memory (checked).
        unsafe { transfer::copy(self.own(queue)?, (source, from.1), (Side::Host(to.0), to.1), extent) }
    }

    fn fill(&self, queue: &dyn Queue, memory: &dyn Memory, offset: usize, pattern: &[u8], count: usize) -> Result<()> {
        let bytes = pattern.len().saturating_mul(count);
        let target = CudaMemory::of(memory, &self.handles)?.range("fill", offset, bytes)?;
        // SAFETY: the range was checked.
        unsafe { transfer::fill(self.own(queue)?, target, pattern, count) }
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<Box<dyn HostBytes>> {
        Ok(Box::new(PinnedBytes::new(&self.handles, bytes)?))
    }

    fn adopts(&self) -> bool {
        false
    }

    fn adopt(&self, _bytes: OwnedBytes) -> Result<Box<dyn Memory>> {
        let what = "memory of the host in place of its own".into();
        Err(Error::Unsupported { device: self.handles.name.clone(), what })
    }

    fn give_up(&self, _memory: Box<dyn Memory>) -> Result<OwnedBytes> {
        Err(Error::Internal(format!("{}: memory that was not adopted", self.handles.name)))
    }

    fn map(
        &self,
        queue: &dyn Queue,
        memory: &dyn Memory,
        offset: usize,
        bytes: usize,
        is_written: bool,
    ) -> Result<Box<dyn RawMapping>> {
        Ok(Box::new(Staged::new(self, queue, memory, offset, bytes, is_written)?))
    }
}

impl CudaRuntime {
    fn own<'a>(&self, queue: &'a dyn Queue) -> Result<&'a CudaQueue> {
        CudaQueue::of(queue, &self.handles)
    }

    /// The memory of a side of a copy, which lies in it.
    fn region(&self, side: (&dyn Memory, Pitches), extent: Extent) -> Result<Side> {
        let end = side.1.end(extent).unwrap_or(usize::MAX);
        Ok(Side::Device(CudaMemory::of(side.0, &self.handles)?.range("a copy", 0, end)?))
    }
}
