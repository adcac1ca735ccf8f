//! Copies of regions in two and three dimensions.

use super::access::{How, Part};
use super::slice::sealed::Target;
use super::{Buffer, BufferSource, BufferTarget, By};
use crate::device::block_of;
use crate::dtype::{DType, Element};
use crate::error::{Error, Result};
use crate::queue::Event;
use crate::runtime::bytes;
use crate::runtime::explicit::{Extent, Pitches};

/// Where a region of a copy lies: the place of its first element, and the elements from row to row and from slice to slice, as
/// in `clEnqueueCopyBufferRect`. All counts are of elements, x first, along which elements are neighbours.
///
/// ```
/// use lazuli::{Buffer, Device, MemFlags, Rect};
///
/// // The middle of a 4 x 4 matrix, as a 2 x 2 one.
/// let elements: Vec<i32> = (0..16).collect();
/// let matrix = Buffer::from_slice(&Device::host()?, MemFlags::COPY_HOST_PTR, &elements)?;
/// let mut middle = [0; 4];
/// matrix.read_rect(Rect::at([1, 1, 0]).with_row_pitch(4), &mut middle, Rect::default(), [2, 2, 1])?;
/// assert_eq!(middle, [5, 6, 9, 10]);
/// # Ok::<(), lazuli::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub struct Rect {
    /// The first element: x, y and z.
    pub origin: [usize; 3],
    /// Elements from one row to the next; 0 for rows without gaps.
    pub row_pitch: usize,
    /// Elements from one slice to the next, a multiple of the row pitch; 0 for slices without gaps.
    pub slice_pitch: usize,
}

impl Rect {
    /// A region at a place, without gaps.
    pub fn at(origin: [usize; 3]) -> Self {
        Self { origin, ..Self::default() }
    }

    /// The same with so many elements from row to row.
    pub fn with_row_pitch(self, row_pitch: usize) -> Self {
        Self { row_pitch, ..self }
    }

    /// The same with so many elements from slice to slice.
    pub fn with_slice_pitch(self, slice_pitch: usize) -> Self {
        Self { slice_pitch, ..self }
    }

    /// The region in bytes, in memory of which `len` elements from `start` on may be used. No extent is 0.
    fn pitches(self, op: &'static str, extents: [usize; 3], start: usize, len: usize, size: usize) -> Result<Pitches> {
        let Rect { origin: [x, y, z], row_pitch, slice_pitch } = self;
        let [width, height, depth] = extents;
        let refuse = |why: String| {
            let what =
                format!("a region of {extents:?} elements at {:?}, pitches {row_pitch} and {slice_pitch}", self.origin);
            Err(Error::OutOfRange { op, what: format!("{what}: {why}") })
        };
        let row = if row_pitch == 0 { width } else { row_pitch };
        if row < width {
            return refuse(format!("a row pitch of {row} is less than a row of {width}"));
        }
        let Some(rows) = row.checked_mul(height) else { return refuse("more than can be counted".into()) };
        let slice = if slice_pitch == 0 { rows } else { slice_pitch };
        if slice < rows || !slice.is_multiple_of(row) {
            return refuse(format!("a slice pitch of {slice} is no multiple of {row} that holds {height} rows"));
        }
        let place =
            |x: usize, y: usize, z: usize| z.checked_mul(slice)?.checked_add(y.checked_mul(row)?)?.checked_add(x);
        let last = || place(x.checked_add(width - 1)?, y.checked_add(height - 1)?, z.checked_add(depth - 1)?);
        match (place(x, y, z), last()) {
            (Some(first), Some(last)) if last < len => {
                Ok(Pitches { offset: (start + first) * size, row: row * size, slice: slice * size })
            }
            (_, Some(last)) => refuse(format!("its last element is number {last} of {len}")),
            _ => refuse("more than can be counted".into()),
        }
    }
}

/// The extents in bytes; none where there is nothing to copy.
fn extent_of(op: &'static str, [width, height, depth]: [usize; 3], size: usize) -> Result<Option<Extent>> {
    match width.checked_mul(size) {
        _ if width == 0 || height == 0 || depth == 0 => Ok(None),
        Some(row_bytes) => Ok(Some(Extent { row_bytes, rows: height, slices: depth })),
        None => Err(Error::OutOfRange { op, what: format!("rows of {width} elements of {size} bytes") }),
    }
}

/// A region of a part of a buffer.
pub(super) struct Side<'a> {
    pub part: Part<'a>,
    pub pitches: Pitches,
}

/// Both sides of a copy in which nothing is wrong; none where there is nothing to copy.
pub(super) fn region<T: Element>(
    op: &'static str,
    rect: Rect,
    extents: [usize; 3],
    start: usize,
    len: usize,
) -> Result<Option<(Pitches, Extent)>> {
    match extent_of(op, extents, size_of::<T>())? {
        Some(extent) => Ok(Some((rect.pitches(op, extents, start, len, size_of::<T>())?, extent))),
        None => Ok(None),
    }
}

/// Copies a region on one device.
pub(super) fn copy_region(how: How<'_>, from: &Side<'_>, to: &Side<'_>, extent: Extent) -> Result<Option<Event>> {
    let (source, target) = (&from.part, &to.part);
    let memories = (block_of(&**source.storage)?.memory()?, block_of(&**target.storage)?.memory()?);
    let queues = target.device.runtime().queues();
    how.submit(target.device, &[&**source.storage], &[&**target.storage], |queue| {
        queues.copy(queue, (memories.0, from.pitches), (memories.1, to.pitches), extent)
    })
}

/// Refuses two devices.
pub(super) fn check_devices(op: &'static str, from: Part<'_>, to: Part<'_>) -> Result<()> {
    if from.device == to.device {
        return Ok(());
    }
    let what = format!("memory of two devices, {} and {}", from.device.name(), to.device.name());
    Err(Error::InvalidUse { op, what })
}

impl<T: Element> Buffer<T> {
    /// Copies a region of `extents` elements along x, y and z to host memory, and waits for it.
    ///
    /// Errors: `OutOfRange` where the region does not lie in the buffer, its copy not in the target, or pitches do not fit;
    /// `InvalidUse` where the flags forbid the host to read, or the buffer is mapped to be written; `Driver`.
    pub fn read_rect(&self, from: Rect, target: &mut [T], to: Rect, extents: [usize; 3]) -> Result<()> {
        const OP: &str = "Buffer::read_rect";
        let part = self.whole().part(OP, By::Host)?;
        let Some((from, extent)) = region::<T>(OP, from, extents, part.start, part.len)? else { return Ok(()) };
        let Some((to, _)) = region::<T>(OP, to, extents, 0, target.len())? else { return Ok(()) };
        let memory = block_of(&**part.storage)?.memory()?;
        let queues = part.device.runtime().queues();
        let copy = |target: &mut [u8]| {
            How::MAIN.submit(part.device, &[&**part.storage], &[], |queue| {
                queues.read(queue, (memory, from), (target, to), extent)
            })
        };
        if T::DTYPE != DType::Bool {
            return copy(bytes::of_slice_mut(target)).map(|_| ());
        }
        // Only 0 and 1 are values of bool in Rust, whatever lies on the device; what is between the rows is kept.
        let mut raw = T::as_bytes(target).to_vec();
        copy(&mut raw)?;
        raw.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        bytes::of_slice_mut(target).copy_from_slice(&raw);
        Ok(())
    }

    /// Copies a region of `extents` elements along x, y and z of host memory in.
    ///
    /// Errors: as [`read_rect`](Buffer::read_rect), with the flags that forbid the host to write.
    pub fn write_rect(&mut self, to: Rect, source: &[T], from: Rect, extents: [usize; 3]) -> Result<()> {
        const OP: &str = "Buffer::write_rect";
        let Some((from, extent)) = region::<T>(OP, from, extents, 0, source.len())? else { return Ok(()) };
        let Some((to, _)) = region::<T>(OP, to, extents, 0, self.len)? else { return Ok(()) };
        let part = self.target(OP, By::Host)?;
        let memory = block_of(&**part.storage)?.memory()?;
        let queues = part.device.runtime().queues();
        let submit = |queue: &dyn crate::runtime::explicit::Queue| {
            queues.write(queue, (T::as_bytes(source), from), (memory, to), extent)
        };
        How::MAIN.submit(part.device, &[], &[&**part.storage], submit).map(|_| ())
    }

    /// Copies a region of `extents` elements along x, y and z of another buffer on the same device in.
    ///
    /// Errors: `OutOfRange` where a region does not lie in its buffer, or pitches do not fit; `InvalidUse` where a buffer is
    /// mapped to be written, or the two are on different devices; `OutOfMemory`, `Driver`.
    pub fn copy_rect<'b>(
        &mut self,
        to: Rect,
        source: impl BufferSource<'b, T>,
        from: Rect,
        extents: [usize; 3],
    ) -> Result<()> {
        copy_rect("Buffer::copy_rect", How::MAIN, (source, from), (self, to), extents).map(|_| ())
    }
}

/// Copies a region on one device. Gives an event where a queue is named, and there is anything to copy.
pub(super) fn copy_rect<'a, 'b, T: Element>(
    op: &'static str,
    how: How<'_>,
    (source, from): (impl BufferSource<'b, T>, Rect),
    (target, to): (impl BufferTarget<'a, T>, Rect),
    extents: [usize; 3],
) -> Result<Option<Event>> {
    let source = source.source().part(op, By::Device)?;
    // The target is looked at before anything is done to it.
    let regions = region::<T>(op, from, extents, source.start, source.len)?.zip(region::<T>(
        op,
        to,
        extents,
        0,
        target.target_len(),
    )?);
    let target = target.target(op, By::Device)?;
    check_devices(op, source, target)?;
    let Some(((from, extent), (mut to, _))) = regions else {
        return how.submit(target.device, &[], &[], |_| Ok(()));
    };
    to.offset += target.start * size_of::<T>();
    copy_region(how, &Side { part: source, pitches: from }, &Side { part: target, pitches: to }, extent)
}
