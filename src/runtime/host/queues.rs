//! Queues, events and memory operations.

use std::any::Any;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Instant;

use super::memory::{self, HostMemory};
use super::queue::HostQueue;
use super::{HostRuntime, place};
use crate::error::{Error, Result};
use crate::runtime::Memory;
use crate::runtime::explicit::{Extent, HostBytes, Mark, Pitches, Queue, Queues, RawMapping};
use crate::runtime::owned_bytes::OwnedBytes;

/// The time at which a place in a queue was passed.
struct HostMark(Instant);

impl Mark for HostMark {
    fn is_done(&self) -> Result<bool> {
        Ok(true)
    }

    fn wait(&self) -> Result<()> {
        Ok(())
    }

    fn nanoseconds_since(&self, earlier: &dyn Mark) -> Result<Option<i64>> {
        let earlier: &dyn Any = earlier;
        let Some(HostMark(earlier)) = earlier.downcast_ref() else {
            return Err(Error::Internal("host: a mark of another runtime".into()));
        };
        let nanoseconds = match self.0.checked_duration_since(*earlier) {
            Some(duration) => i64::try_from(duration.as_nanos()).ok(),
            None => i64::try_from(earlier.duration_since(self.0).as_nanos()).ok().map(|nanoseconds| -nanoseconds),
        };
        Ok(nanoseconds)
    }
}

impl Queues for HostRuntime {
    fn main_queue(&self) -> &dyn Queue {
        &self.main
    }

    fn new_queue(&self) -> Result<Arc<dyn Queue>> {
        Ok(Arc::new(HostQueue))
    }

    fn synchronize_queue(&self, _queue: &dyn Queue) -> Result<()> {
        Ok(())
    }

    fn record(&self, _queue: &dyn Queue, _is_timed: bool) -> Result<Arc<dyn Mark>> {
        Ok(Arc::new(HostMark(Instant::now())))
    }

    fn wait(&self, _queue: &dyn Queue, _mark: &dyn Mark) -> Result<()> {
        Ok(())
    }

    fn copy(
        &self,
        _queue: &dyn Queue,
        from: (&dyn Memory, Pitches),
        to: (&dyn Memory, Pitches),
        extent: Extent,
    ) -> Result<()> {
        let (source, target) = (range(from, extent)?, range(to, extent)?);
        // SAFETY: both ranges were checked, and the caller promises that they are apart.
        unsafe { copy_rows((source, from.1), (target, to.1), extent) };
        Ok(())
    }

    unsafe fn begin_write(
        &self,
        _queue: &dyn Queue,
        from: (*const u8, Pitches),
        to: (&dyn Memory, Pitches),
        extent: Extent,
    ) -> Result<()> {
        let target = range(to, extent)?;
        // SAFETY: the caller's promise, and the range in our memory was checked.
        unsafe { copy_rows(from, (target, to.1), extent) };
        Ok(())
    }

    unsafe fn begin_read(
        &self,
        _queue: &dyn Queue,
        from: (&dyn Memory, Pitches),
        to: (*mut u8, Pitches),
        extent: Extent,
    ) -> Result<()> {
        let source = range(from, extent)?;
        // SAFETY: as above.
        unsafe { copy_rows((source, from.1), to, extent) };
        Ok(())
    }

    fn fill(&self, _queue: &dyn Queue, memory: &dyn Memory, offset: usize, pattern: &[u8], count: usize) -> Result<()> {
        let bytes = pattern.len().saturating_mul(count);
        let target = place(memory, offset, bytes)?;
        // SAFETY: the range was checked; who else uses it is ordered by the engine.
        let target = unsafe { std::slice::from_raw_parts_mut(target.cast::<MaybeUninit<u8>>(), bytes) };
        for (to, byte) in target.iter_mut().zip(pattern.iter().cycle()) {
            to.write(*byte);
        }
        Ok(())
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<Box<dyn HostBytes>> {
        Ok(Box::new(HostMemory::zeroed(bytes)?))
    }

    fn adopts(&self) -> bool {
        true
    }

    fn adopt(&self, bytes: OwnedBytes) -> Result<Box<dyn Memory>> {
        Ok(Box::new(HostMemory::adopt(bytes)?))
    }

    fn give_up(&self, memory: Box<dyn Memory>) -> Result<OwnedBytes> {
        let memory: Box<dyn Any> = memory;
        let memory = memory.downcast::<HostMemory>().ok().and_then(|memory| memory.give_up());
        memory.ok_or_else(|| Error::Internal("host: memory that was not adopted".into()))
    }

    fn map(
        &self,
        _queue: &dyn Queue,
        memory: &dyn Memory,
        offset: usize,
        bytes: usize,
        _is_written: bool,
    ) -> Result<Box<dyn RawMapping>> {
        Ok(Box::new(InPlace(place(memory, offset, bytes)?)))
    }
}

/// A mapping of memory that the host uses anyway.
struct InPlace(*mut u8);

// SAFETY: an address in memory that outlives the mapping; who uses it meanwhile is ordered by the engine.
unsafe impl Send for InPlace {}
// SAFETY: as above.
unsafe impl Sync for InPlace {}

impl RawMapping for InPlace {
    fn data(&self) -> *mut u8 {
        self.0
    }

    fn end(&mut self, _: &dyn Queues, _: &dyn Queue, _: &dyn Memory, _: usize) -> Result<()> {
        Ok(())
    }
}

/// The start of a memory in which a region lies.
fn range(side: (&dyn Memory, Pitches), extent: Extent) -> Result<*mut u8> {
    let (memory, pitches) = side;
    match pitches.end(extent) {
        Some(end) => place(memory, 0, end),
        None => Err(Error::Internal(format!("host: a region {pitches:?} of {extent:?} past what can be counted"))),
    }
}

/// Copies rows, all at once where they lie one after the other.
///
/// # Safety
/// The regions lie in memory that is readable and writable, and apart from each other.
unsafe fn copy_rows(from: (*const u8, Pitches), to: (*mut u8, Pitches), extent: Extent) {
    if let Some(bytes) = extent.flat_bytes(from.1, to.1) {
        // SAFETY: the caller's promise.
        return unsafe { memory::copy(from.0.add(from.1.offset), to.0.add(to.1.offset), bytes) };
    }
    for slice in 0..extent.slices {
        for row in 0..extent.rows {
            // SAFETY: the row lies in its region.
            unsafe {
                let (from, to) = (from.0.add(from.1.row_at(row, slice)), to.0.add(to.1.row_at(row, slice)));
                std::ptr::copy_nonoverlapping(from, to, extent.row_bytes);
            }
        }
    }
}
