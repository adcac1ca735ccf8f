//! Whether a buffer may be used now, and memory of its own before it is written.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Buffer, By};
use crate::device::{Device, block_of};
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::graph::Storage;
use crate::launch::SliceOf;
use crate::queue::{Event, Queue, Work};
use crate::runtime::explicit::{self, Extent, Pitches};

/// What messages call the use of a buffer by a kernel.
pub(super) const KERNEL: &str = "kernel argument";

/// What a buffer remembers between its uses.
#[derive(Default)]
pub(super) struct State {
    /// Guards through which the host may write now; also those that were forgotten.
    mapped: AtomicUsize,
    /// The error of a mapping that ended when its guard was dropped.
    fault: Mutex<Option<Error>>,
}

/// A part of a buffer that may be used in the way it was asked for.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub device: &'a Device,
    pub storage: &'a Arc<dyn Storage>,
    /// First element.
    pub start: usize,
    /// Elements.
    pub len: usize,
}

/// Where work is submitted to, and what it comes after.
#[derive(Clone, Copy)]
pub(super) struct How<'a> {
    /// None for the queue of lazy work.
    pub queue: Option<&'a Queue>,
    pub after: &'a [Event],
}

impl How<'_> {
    /// On the queue of lazy work.
    pub const MAIN: How<'static> = How { queue: None, after: &[] };

    /// Submits work; gives an event where a queue was named.
    pub fn submit(
        self,
        device: &Device,
        reads: &[&dyn Storage],
        writes: &[&dyn Storage],
        submit: impl FnOnce(&dyn explicit::Queue) -> Result<()>,
    ) -> Result<Option<Event>> {
        let How { queue, after } = self;
        let work = Work { device, queue, after, reads, writes };
        match queue {
            Some(_) => work.submit_marked(submit).map(Some),
            None => work.submit(submit).map(|()| None),
        }
    }
}

impl State {
    /// Refuses any use while the host may write, and tells what went wrong when that ended.
    pub fn check(&self, op: &'static str) -> Result<()> {
        if self.mapped.load(Ordering::Acquire) > 0 {
            return Err(Error::InvalidUse { op, what: "the buffer is mapped to be written; unmap it first".into() });
        }
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take();
        fault.map_or(Ok(()), Err)
    }

    pub fn begin_mapping(&self) {
        self.mapped.fetch_add(1, Ordering::AcqRel);
    }

    pub fn end_mapping(&self) {
        self.mapped.fetch_sub(1, Ordering::AcqRel);
    }

    /// Keeps an error for the next use.
    pub fn keep(&self, error: Error) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

impl<T: Element> Buffer<T> {
    /// The memory, to be read.
    ///
    /// Errors: `InvalidUse` where the flags forbid it or the buffer is mapped to be written; what an earlier mapping left.
    pub(crate) fn for_reading(&self, op: &'static str, by: By) -> Result<&Arc<dyn Storage>> {
        self.flags.check_read(op, by)?;
        self.state.check(op)?;
        Ok(&self.storage)
    }

    /// The memory, to be written: where an array holds it too, a copy of it that is the buffer's own from now on.
    ///
    /// Errors: as [`for_reading`](Self::for_reading); `OutOfMemory`, `Driver` where it is copied.
    pub(crate) fn for_writing(&mut self, op: &'static str, by: By) -> Result<&Arc<dyn Storage>> {
        self.flags.check_write(op, by)?;
        self.state.check(op)?;
        self.own()
    }

    /// Has every element written, so that nothing need be copied: where an array holds the memory too, into new memory, which
    /// becomes the buffer's once that has gone well. What is refused leaves the buffer as it was.
    ///
    /// Errors: as [`for_writing`](Self::for_writing), and those of `write`.
    pub(super) fn overwrite<R>(
        &mut self,
        op: &'static str,
        by: By,
        write: impl FnOnce(Part<'_>) -> Result<R>,
    ) -> Result<R> {
        self.flags.check_write(op, by)?;
        self.state.check(op)?;
        if Arc::get_mut(&mut self.storage).is_some() {
            return write(self.part_in(&self.storage));
        }
        let own: Arc<dyn Storage> = self.device.allocate_for(self.flags, self.len * size_of::<T>())?;
        let written = write(self.part_in(&own))?;
        self.storage = own;
        Ok(written)
    }

    /// All elements, in some memory.
    fn part_in<'a>(&'a self, storage: &'a Arc<dyn Storage>) -> Part<'a> {
        Part { device: &self.device, storage, start: 0, len: self.len }
    }

    /// The elements, for a kernel that reads them. Whether the flags allow it is for the launch to say, which knows the kernel.
    ///
    /// Errors: `InvalidUse` where the buffer is mapped to be written; what an earlier mapping left.
    pub(crate) fn kernel_slice(&self) -> Result<SliceOf> {
        self.state.check(KERNEL)?;
        let (device, storage, flags) = (self.device.clone(), self.storage.clone(), self.flags);
        Ok(SliceOf { device, storage, dtype: T::DTYPE, start: 0, len: self.len, is_mut: false, flags })
    }

    /// The elements, for a kernel that writes them: where an array holds the memory too, a copy of it.
    ///
    /// Errors: as [`kernel_slice`](Self::kernel_slice); `OutOfMemory`, `Driver` where it is copied.
    pub(crate) fn kernel_slice_mut(&mut self) -> Result<SliceOf> {
        self.state.check(KERNEL)?;
        self.own()?;
        Ok(SliceOf { is_mut: true, ..self.kernel_slice()? })
    }

    /// Memory that nobody else holds.
    fn own(&mut self) -> Result<&Arc<dyn Storage>> {
        if Arc::get_mut(&mut self.storage).is_none() {
            let bytes = self.len * size_of::<T>();
            let own: Arc<dyn Storage> = self.device.allocate_for(self.flags, bytes)?;
            if bytes > 0 {
                let (extent, flat) = (Extent::row(bytes), Pitches::dense(0, Extent::row(bytes)));
                let (from, to) = (block_of(&*self.storage)?.memory()?, block_of(&*own)?.memory()?);
                let queues = self.device.runtime().queues();
                How::MAIN.submit(&self.device, &[&*self.storage], &[&*own], |queue| {
                    queues.copy(queue, (from, flat), (to, flat), extent)
                })?;
            }
            self.storage = own;
        }
        Ok(&self.storage)
    }
}

/// Refuses a range that is not within `len` elements.
pub(super) fn check_range(
    op: &'static str,
    range: impl std::ops::RangeBounds<usize>,
    len: usize,
) -> Result<(usize, usize)> {
    use std::ops::Bound;
    let start = match range.start_bound() {
        Bound::Included(start) => Some(*start),
        Bound::Excluded(before) => before.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.checked_add(1),
        Bound::Excluded(end) => Some(*end),
        Bound::Unbounded => Some(len),
    };
    match start.zip(end) {
        Some((start, end)) if start <= end && end <= len => Ok((start, end - start)),
        Some((start, end)) => Err(Error::OutOfRange { op, what: format!("range {start}..{end} of {len} elements") }),
        None => Err(Error::OutOfRange { op, what: format!("a range past what can be counted, of {len} elements") }),
    }
}

/// Refuses numbers of elements that differ.
pub(super) fn check_lens(op: &'static str, source: usize, target: usize) -> Result<()> {
    match source == target {
        true => Ok(()),
        false => Err(Error::OutOfRange { op, what: format!("{source} elements into {target}") }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_mapping_is_told_once_and_by_the_next_use() {
        let state = State::default();
        state.begin_mapping();
        assert!(matches!(state.check("read"), Err(Error::InvalidUse { op: "read", .. })));
        let failed =
            Error::Driver { device: "cuda:0".into(), call: "cuMemcpyHtoDAsync".into(), message: "a fault".into() };
        state.keep(failed);
        state.end_mapping();
        assert!(matches!(state.check("read"), Err(Error::Driver { .. })));
        assert!(state.check("read").is_ok());
    }
}
