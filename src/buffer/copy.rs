//! Copies between host and device and on the device, and fills: whole parts, on the queue of lazy work.

use std::ops::RangeBounds;

use super::access::{How, Part, check_lens, check_range};
use super::slice::sealed::Target;
use super::{Buffer, BufferSlice, BufferSliceMut, BufferSource, By};
use crate::array::transfer;
use crate::device::block_of;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::queue::Event;
use crate::runtime::explicit::{Extent, Pitches};

/// The place of a part in its memory, as dense bytes.
fn dense<T: Element>(part: Part<'_>) -> (Pitches, Extent) {
    let extent = Extent::row(part.len * size_of::<T>());
    (Pitches::dense(part.start * size_of::<T>(), extent), extent)
}

/// Copies between parts of one length on one device.
pub(super) fn copy_parts<T: Element>(how: How<'_>, from: Part<'_>, to: Part<'_>) -> Result<Option<Event>> {
    let ((from_at, extent), (to_at, _)) = (dense::<T>(from), dense::<T>(to));
    let (source, target) = (block_of(&**from.storage)?.memory()?, block_of(&**to.storage)?.memory()?);
    let queues = to.device.runtime().queues();
    how.submit(to.device, &[&**from.storage], &[&**to.storage], |queue| match extent.row_bytes {
        0 => Ok(()),
        _ => queues.copy(queue, (source, from_at), (target, to_at), extent),
    })
}

/// Fills a part.
pub(super) fn fill_part<T: Element>(how: How<'_>, to: Part<'_>, value: T) -> Result<Option<Event>> {
    let memory = block_of(&**to.storage)?.memory()?;
    let queues = to.device.runtime().queues();
    how.submit(to.device, &[], &[&**to.storage], |queue| match to.len {
        0 => Ok(()),
        len => queues.fill(queue, memory, to.start * size_of::<T>(), T::as_bytes(&[value]), len),
    })
}

/// Copies host elements to a part.
fn write_part<T: Element>(to: Part<'_>, elements: &[T]) -> Result<()> {
    if elements.is_empty() {
        return Ok(());
    }
    let bytes = T::as_bytes(elements);
    let _span = tracing::debug_span!("transfer", direction = "to_device", bytes = bytes.len()).entered();
    let (memory, offset) = (block_of(&**to.storage)?.memory()?, to.start * size_of::<T>());
    How::MAIN
        .submit(to.device, &[], &[&**to.storage], |_| to.device.runtime().upload(bytes, memory, offset))
        .map(|_| ())
}

/// Copies a part to the host.
fn read_part<T: Element>(op: &'static str, from: Part<'_>, target: &mut [T]) -> Result<()> {
    if from.len != target.len() {
        let what = format!("a buffer of {} elements into a slice of {}", from.len, target.len());
        return Err(Error::HostData { op, what });
    }
    transfer::download(from.device, &**from.storage, from.start, target)
}

/// Copies between parts, through the host where they are on two devices.
fn copy_anywhere<'a, 'b, T: Element>(
    op: &'static str,
    source: BufferSlice<'b, T>,
    target: impl Target<'a, T>,
) -> Result<()> {
    check_lens(op, source.len(), target.target_len())?;
    let from = source.part(op, By::Device)?;
    target.overwrite(op, By::Device, |to| {
        if from.device == to.device {
            return copy_parts::<T>(How::MAIN, from, to).map(|_| ());
        }
        let mut elements = vec![T::zero(); from.len];
        read_part(op, from, &mut elements)?;
        write_part(to, &elements)
    })
}

impl<T: Element> Buffer<T> {
    /// Copies the elements to the host, and waits for them.
    ///
    /// Errors: `HostData` where the lengths differ; `InvalidUse` where the flags forbid the host to read, or the buffer is mapped
    /// to be written; `Driver`.
    pub fn copy_to_host(&self, target: &mut [T]) -> Result<()> {
        const OP: &str = "Buffer::copy_to_host";
        self.whole().read_into(OP, target)
    }

    /// The elements, copied to the host.
    ///
    /// Errors: as [`copy_to_host`](Buffer::copy_to_host).
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.whole().to_vec()
    }

    /// Copies as many elements to the host as the target has, from element `offset` on.
    ///
    /// Errors: `OutOfRange` where there are not as many; else as [`copy_to_host`](Buffer::copy_to_host).
    pub fn read_at(&self, offset: usize, target: &mut [T]) -> Result<()> {
        const OP: &str = "Buffer::read_at";
        let end = end_of(OP, offset, target.len(), self.len)?;
        self.slice(offset..end)?.read_into(OP, target)
    }

    /// Copies elements of the host in, from element `offset` on. `elements` may change once the call is back.
    ///
    /// Errors: `OutOfRange` where they do not all lie within the buffer; `InvalidUse` where the flags forbid the host to write,
    /// or the buffer is mapped to be written; `OutOfMemory`, `Driver`.
    pub fn write_at(&mut self, offset: usize, elements: &[T]) -> Result<()> {
        const OP: &str = "Buffer::write_at";
        end_of(OP, offset, elements.len(), self.len)?;
        if elements.len() == self.len {
            return self.overwrite(OP, By::Host, |to| write_part(to, elements));
        }
        let to = self.target(OP, By::Host)?;
        write_part(Part { start: offset, len: elements.len(), ..to }, elements)
    }

    /// Copies all elements of a buffer, or of a part of one, that has as many. Between devices they go through the host.
    ///
    /// Errors: `OutOfRange` where the lengths differ; `InvalidUse` where either is mapped to be written; `OutOfMemory`, `Driver`.
    pub fn copy_from<'b>(&mut self, source: impl BufferSource<'b, T>) -> Result<()> {
        copy_anywhere("Buffer::copy_from", source.source(), self)
    }

    /// Copies a range of another buffer, to element `offset` and those after it.
    ///
    /// Errors: `OutOfRange` where the range is not within the other buffer, or its copy not within this one; else as
    /// [`copy_from`](Buffer::copy_from).
    ///
    /// ```
    /// use lazuli::{Buffer, Device, MemFlags};
    ///
    /// let device = Device::host()?;
    /// let source = Buffer::from_slice(&device, MemFlags::COPY_HOST_PTR, &[1, 2, 3, 4])?;
    /// let mut target = Buffer::zeros(&device, MemFlags::READ_WRITE, 3)?;
    /// target.copy_range(1, &source, 2..)?;
    /// assert_eq!(target.to_vec()?, [0, 3, 4]);
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    pub fn copy_range(&mut self, offset: usize, source: &Buffer<T>, range: impl RangeBounds<usize>) -> Result<()> {
        const OP: &str = "Buffer::copy_range";
        let (start, len) = check_range(OP, range, source.len)?;
        let end = end_of(OP, offset, len, self.len)?;
        let source = source.slice(start..start + len)?;
        copy_anywhere(OP, source, self.slice_mut(offset..end)?)
    }

    /// Copies a range of the buffer to another place in it; the two may overlap.
    ///
    /// Errors: as [`copy_range`](Buffer::copy_range).
    pub fn copy_within(&mut self, range: impl RangeBounds<usize>, offset: usize) -> Result<()> {
        const OP: &str = "Buffer::copy_within";
        let (start, len) = check_range(OP, range, self.len)?;
        end_of(OP, offset, len, self.len)?;
        let own = self.target(OP, By::Device)?;
        let from = Part { start, len, ..own };
        let to = Part { start: offset, len, ..own };
        if start.abs_diff(offset) >= len {
            return copy_parts::<T>(How::MAIN, from, to).map(|_| ());
        }
        // Drivers refuse copies onto themselves.
        let between: std::sync::Arc<dyn crate::graph::Storage> =
            own.device.allocate_tracked(len.saturating_mul(size_of::<T>()))?;
        let aside = Part { device: own.device, storage: &between, start: 0, len };
        copy_parts::<T>(How::MAIN, from, aside)?;
        copy_parts::<T>(How::MAIN, aside, to).map(|_| ())
    }

    /// Sets every element to a value.
    ///
    /// Errors: `InvalidUse` where the buffer is mapped to be written; `OutOfMemory`, `Driver`.
    pub fn fill(&mut self, value: T) -> Result<()> {
        self.fill_all("Buffer::fill", value)
    }

    /// Sets the elements of a range to a value.
    ///
    /// Errors: `OutOfRange` where the range is not within the buffer; else as [`fill`](Buffer::fill).
    pub fn fill_range(&mut self, range: impl RangeBounds<usize>, value: T) -> Result<()> {
        const OP: &str = "Buffer::fill_range";
        let (start, len) = check_range(OP, range, self.len)?;
        if len == self.len {
            return self.fill_all(OP, value);
        }
        let own = self.target(OP, By::Device)?;
        fill_part(How::MAIN, Part { start, len, ..own }, value).map(|_| ())
    }

    pub(super) fn fill_all(&mut self, op: &'static str, value: T) -> Result<()> {
        self.overwrite(op, By::Device, |own| fill_part(How::MAIN, own, value).map(|_| ()))
    }

    pub(super) fn whole(&self) -> BufferSlice<'_, T> {
        super::slice::sealed::Source::source(self)
    }
}

impl<T: Element> BufferSlice<'_, T> {
    /// The elements, copied to the host.
    ///
    /// Errors: as [`Buffer::copy_to_host`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut elements = vec![T::zero(); self.len()];
        self.read_into("BufferSlice::to_vec", &mut elements)?;
        Ok(elements)
    }

    /// Copies the elements to the host, and waits for them.
    ///
    /// Errors: as [`Buffer::copy_to_host`].
    pub fn copy_to_host(&self, target: &mut [T]) -> Result<()> {
        self.read_into("BufferSlice::copy_to_host", target)
    }

    fn read_into(&self, op: &'static str, target: &mut [T]) -> Result<()> {
        read_part(op, self.part(op, By::Host)?, target)
    }
}

impl<T: Element> BufferSliceMut<'_, T> {
    /// The elements, copied to the host.
    ///
    /// Errors: as [`Buffer::copy_to_host`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        const OP: &str = "BufferSliceMut::to_vec";
        let mut elements = vec![T::zero(); self.len()];
        read_part(OP, self.read_part(OP, By::Host)?, &mut elements)?;
        Ok(elements)
    }

    /// Copies as many elements of the host in as the part has.
    ///
    /// Errors: `OutOfRange` where the lengths differ; else as [`Buffer::write_at`].
    pub fn write(&mut self, elements: &[T]) -> Result<()> {
        const OP: &str = "BufferSliceMut::write";
        check_lens(OP, elements.len(), self.len())?;
        write_part(self.write_part(OP, By::Host)?, elements)
    }

    /// Copies all elements of a buffer, or of a part of one, that has as many.
    ///
    /// Errors: as [`Buffer::copy_from`].
    pub fn copy_from<'b>(&mut self, source: impl BufferSource<'b, T>) -> Result<()> {
        copy_anywhere("BufferSliceMut::copy_from", source.source(), self.reborrow())
    }

    /// Sets every element to a value.
    ///
    /// Errors: as [`Buffer::fill`].
    pub fn fill(&mut self, value: T) -> Result<()> {
        fill_part(How::MAIN, self.write_part("BufferSliceMut::fill", By::Device)?, value).map(|_| ())
    }
}

/// The end of `count` elements from `offset` on. Errors: `OutOfRange` where it is past `len`.
fn end_of(op: &'static str, offset: usize, count: usize, len: usize) -> Result<usize> {
    match offset.checked_add(count) {
        Some(end) if end <= len => Ok(end),
        _ => Err(Error::OutOfRange { op, what: format!("{count} elements from {offset} on, of {len}") }),
    }
}
