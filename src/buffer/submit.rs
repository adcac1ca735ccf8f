//! Copies and fills on a queue of the user's, after a list of events, waiting for nothing.

use super::access::{How, Part, check_lens};
use super::copy::{copy_parts, fill_part};
use super::host_buffer::{HostBuffer, Transfer};
use super::rect::{self, Rect, region};
use super::{BufferSource, BufferTarget, By};
use crate::device::block_of;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::queue::{Event, Queue};
use crate::runtime::explicit::{Extent, Pitches};
use crate::runtime::pinned::InFlight;

/// Each call submits one command and comes back at once; `after` lists what must be done before it, beside what the memory's other
/// uses demand. The event knows how long the device took.
impl Queue {
    /// Copies the elements of a buffer, or of a part of one, to another that has as many.
    ///
    /// Errors: `OutOfRange` where the lengths differ; `InvalidUse` where the memory is of another device than the queue, or mapped
    /// to be written; `OutOfMemory`, `Driver`.
    #[doc(alias = "enqueue_copy")]
    pub fn copy<'a, 'b, T: Element>(
        &self,
        source: impl BufferSource<'b, T>,
        target: impl BufferTarget<'a, T>,
        after: &[Event],
    ) -> Result<Event> {
        const OP: &str = "Queue::copy";
        let source = source.source();
        check_lens(OP, source.len(), target.target_len())?;
        let from = source.part(OP, By::Device)?;
        target.overwrite(OP, By::Device, |to| {
            rect::check_devices(OP, from, to)?;
            event_of(copy_parts::<T>(self.after(after), from, to)?)
        })
    }

    /// Sets the elements of a buffer, or of a part of one, to a value.
    ///
    /// Errors: `InvalidUse`, `OutOfMemory`, `Driver`, as [`copy`](Queue::copy).
    #[doc(alias = "enqueue_fill_buffer")]
    pub fn fill<'a, T: Element>(&self, target: impl BufferTarget<'a, T>, value: T, after: &[Event]) -> Result<Event> {
        target.overwrite("Queue::fill", By::Device, |to| event_of(fill_part(self.after(after), to, value)?))
    }

    /// Copies elements of pinned memory to a buffer, or a part of one, that has as many. The memory comes back from the
    /// [`Transfer`].
    ///
    /// Errors: as [`copy`](Queue::copy); `InvalidUse` where the flags forbid the host to write. The pinned memory is freed then.
    #[doc(alias = "memcpy_htod_async")]
    pub fn write<'a, T: Element>(
        &self,
        source: HostBuffer<T>,
        target: impl BufferTarget<'a, T>,
        after: &[Event],
    ) -> Result<Transfer<T>> {
        const OP: &str = "Queue::write";
        check_lens(OP, source.len(), target.target_len())?;
        let extents = [source.len(), 1, 1];
        target.overwrite(OP, By::Host, |to| {
            self.begin_write(OP, (source, Rect::default()), (to, Rect::default()), extents, after)
        })
    }

    /// Copies the elements of a buffer, or of a part of one, to pinned memory that has as many. The memory comes back from the
    /// [`Transfer`].
    ///
    /// Errors: as [`copy`](Queue::copy); `InvalidUse` where the flags forbid the host to read. The pinned memory is freed then.
    #[doc(alias = "memcpy_dtoh_async")]
    pub fn read<'b, T: Element>(
        &self,
        source: impl BufferSource<'b, T>,
        target: HostBuffer<T>,
        after: &[Event],
    ) -> Result<Transfer<T>> {
        const OP: &str = "Queue::read";
        let source = source.source();
        check_lens(OP, source.len(), target.len())?;
        let (from, extents) = (source.part(OP, By::Host)?, [target.len(), 1, 1]);
        self.begin_read(OP, (from, Rect::default()), (target, Rect::default()), extents, after)
    }

    /// Copies a region of `extents` elements along x, y and z from one buffer to another.
    ///
    /// Errors: as [`Buffer::copy_rect`](crate::Buffer::copy_rect).
    #[doc(alias = "enqueue_copy_buffer_rect")]
    pub fn copy_rect<'a, 'b, T: Element>(
        &self,
        source: (impl BufferSource<'b, T>, Rect),
        target: (impl BufferTarget<'a, T>, Rect),
        extents: [usize; 3],
        after: &[Event],
    ) -> Result<Event> {
        event_of(rect::copy_rect("Queue::copy_rect", self.after(after), source, target, extents)?)
    }

    /// Copies a region of `extents` elements along x, y and z of pinned memory to a buffer.
    ///
    /// Errors: as [`Buffer::write_rect`](crate::Buffer::write_rect). The pinned memory is freed then.
    pub fn write_rect<'a, T: Element>(
        &self,
        source: (HostBuffer<T>, Rect),
        target: (impl BufferTarget<'a, T>, Rect),
        extents: [usize; 3],
        after: &[Event],
    ) -> Result<Transfer<T>> {
        const OP: &str = "Queue::write_rect";
        // The target is looked at before anything is done to it.
        region::<T>(OP, source.1, extents, 0, source.0.len())?;
        region::<T>(OP, target.1, extents, 0, target.0.target_len())?;
        let to = target.0.target(OP, By::Host)?;
        self.begin_write(OP, source, (to, target.1), extents, after)
    }

    /// Copies a region of `extents` elements along x, y and z of a buffer to pinned memory.
    ///
    /// Errors: as [`Buffer::read_rect`](crate::Buffer::read_rect). The pinned memory is freed then.
    pub fn read_rect<'b, T: Element>(
        &self,
        source: (impl BufferSource<'b, T>, Rect),
        target: (HostBuffer<T>, Rect),
        extents: [usize; 3],
        after: &[Event],
    ) -> Result<Transfer<T>> {
        const OP: &str = "Queue::read_rect";
        let from = source.0.source().part(OP, By::Host)?;
        self.begin_read(OP, (from, source.1), target, extents, after)
    }

    fn begin_write<T: Element>(
        &self,
        op: &'static str,
        (source, from): (HostBuffer<T>, Rect),
        (to, to_rect): (Part<'_>, Rect),
        extents: [usize; 3],
        after: &[Event],
    ) -> Result<Transfer<T>> {
        let from = region::<T>(op, from, extents, 0, source.len())?;
        let to_at = region::<T>(op, to_rect, extents, to.start, to.len)?;
        let (memory, queues) = (block_of(&**to.storage)?.memory()?, to.device.runtime().queues());
        let mut copy: Option<InFlight> = None;
        let event = self.after(after).submit(to.device, &[], &[&**to.storage], |queue| {
            let (from, to_at, extent) = sides(from, to_at);
            copy = Some(match extent {
                Some(extent) => source.memory.begin_write(queues, queue, from, (memory, to_at), extent)?,
                None => source.memory.hold_idle(queues, queue)?,
            });
            Ok(())
        })?;
        transfer(op, copy, event)
    }

    fn begin_read<T: Element>(
        &self,
        op: &'static str,
        (from, from_rect): (Part<'_>, Rect),
        (target, to): (HostBuffer<T>, Rect),
        extents: [usize; 3],
        after: &[Event],
    ) -> Result<Transfer<T>> {
        let from_at = region::<T>(op, from_rect, extents, from.start, from.len)?;
        let to = region::<T>(op, to, extents, 0, target.len())?;
        let (memory, queues) = (block_of(&**from.storage)?.memory()?, from.device.runtime().queues());
        let mut copy: Option<InFlight> = None;
        let event = self.after(after).submit(from.device, &[&**from.storage], &[], |queue| {
            let (from_at, to, extent) = sides(from_at, to);
            copy = Some(match extent {
                Some(extent) => target.memory.begin_read(queues, queue, (memory, from_at), to, extent)?,
                None => target.memory.hold_idle(queues, queue)?,
            });
            Ok(())
        })?;
        transfer(op, copy, event)
    }

    fn after<'a>(&'a self, after: &'a [Event]) -> How<'a> {
        How { queue: Some(self), after }
    }
}

/// Both sides of a copy, and its extent where there is anything to copy.
fn sides(from: Option<(Pitches, Extent)>, to: Option<(Pitches, Extent)>) -> (Pitches, Pitches, Option<Extent>) {
    const NOWHERE: Pitches = Pitches { offset: 0, row: 0, slice: 0 };
    match from.zip(to) {
        Some(((from, extent), (to, _))) => (from, to, Some(extent)),
        None => (NOWHERE, NOWHERE, None),
    }
}

fn transfer<T: Element>(op: &'static str, copy: Option<InFlight>, event: Option<Event>) -> Result<Transfer<T>> {
    match (copy, event) {
        (Some(copy), Some(event)) => Ok(Transfer::new(copy, event)),
        _ => Err(Error::Internal(format!("{op} submitted nothing"))),
    }
}

fn event_of(event: Option<Event>) -> Result<Event> {
    event.ok_or_else(|| Error::Internal("work on a queue without an event".into()))
}
