//! Parts of buffers: borrowed, so that the borrow checker keeps those that are written apart from all others.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use super::access::{KERNEL, Part, State, check_range};
use super::{Buffer, By, MemFlags};
use crate::array::{Array, IntoShape};
use crate::device::Device;
use crate::dtype::Element;
use crate::error::Result;
use crate::graph::Storage;
use crate::launch::SliceOf;

/// A part of a buffer, to be read: a sub-buffer. Copied, and given to kernels, without a copy.
///
/// OpenCL has a part that a kernel is given begin at a multiple of some bytes (`CL_DEVICE_MEM_BASE_ADDR_ALIGN`; 128 on PoCL, 512
/// on GPUs): another is an [`Error::InvalidLaunch`](crate::Error::InvalidLaunch) with the number. Copies, fills and mappings begin
/// anywhere, and so do kernels' parts on CUDA and on the host.
#[derive(Clone, Copy)]
pub struct BufferSlice<'a, T: Element> {
    buffer: &'a Buffer<T>,
    start: usize,
    len: usize,
}

/// A part of a buffer, to be written: a sub-buffer. Two that do not overlap come from [`split_at_mut`](BufferSliceMut::split_at_mut).
/// Where those for kernels begin is told at [`BufferSlice`].
pub struct BufferSliceMut<'a, T: Element> {
    /// The buffer's own, since this was made.
    storage: &'a Arc<dyn Storage>,
    device: &'a Device,
    flags: MemFlags,
    state: &'a State,
    start: usize,
    len: usize,
    element: PhantomData<&'a mut [T]>,
}

/// What is read by copies: `&Buffer<T>` or a [`BufferSlice`].
pub trait BufferSource<'a, T: Element>: sealed::Source<'a, T> {}

/// What is written by copies and fills: `&mut Buffer<T>` or a [`BufferSliceMut`].
pub trait BufferTarget<'a, T: Element>: sealed::Target<'a, T> {}

pub(super) mod sealed {
    use super::super::access::Part;
    use super::super::{BufferSlice, By};
    use crate::dtype::Element;
    use crate::error::Result;

    pub trait Source<'a, T: Element> {
        #[doc(hidden)]
        fn source(self) -> BufferSlice<'a, T>;
    }

    pub trait Target<'a, T: Element> {
        /// Number of elements.
        #[doc(hidden)]
        fn target_len(&self) -> usize;
        /// The part, to be written in part.
        #[doc(hidden)]
        #[allow(private_interfaces, reason = "the trait is sealed, and called from this folder alone")]
        fn target(self, op: &'static str, by: By) -> Result<Part<'a>>;
        /// Has the part written in whole. Where that fails, a buffer keeps its elements.
        #[doc(hidden)]
        #[allow(private_interfaces, private_bounds, reason = "as above")]
        fn overwrite<R>(self, op: &'static str, by: By, write: impl FnOnce(Part<'_>) -> Result<R>) -> Result<R>;
    }
}

impl<T: Element> Buffer<T> {
    /// A part, to be read.
    ///
    /// Errors: `OutOfRange` where the range is not within the buffer.
    ///
    /// ```
    /// use lazuli::{Buffer, Device, MemFlags};
    ///
    /// let device = Device::host()?;
    /// let buffer = Buffer::from_slice(&device, MemFlags::COPY_HOST_PTR, &[1, 2, 3, 4])?;
    /// assert_eq!(buffer.slice(1..3)?.to_vec()?, [2, 3]);
    /// assert!(buffer.slice(3..5).is_err());
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[doc(alias = "get_sub_region")]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<BufferSlice<'_, T>> {
        let (start, len) = check_range("Buffer::slice", range, self.len)?;
        Ok(BufferSlice { buffer: self, start, len })
    }

    /// A part, to be written. Where an array holds the buffer's memory, that is copied now.
    ///
    /// Errors: `OutOfRange` where the range is not within the buffer; `InvalidUse` where the buffer is mapped to be written;
    /// `OutOfMemory`, `Driver`.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<BufferSliceMut<'_, T>> {
        const OP: &str = "Buffer::slice_mut";
        let (start, len) = check_range(OP, range, self.len)?;
        self.for_writing(OP, By::Device)?;
        let Self { storage, device, flags, state, .. } = self;
        Ok(BufferSliceMut { storage, device, flags: *flags, state, start, len, element: PhantomData })
    }
}

impl<'a, T: Element> BufferSlice<'a, T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True where there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device whose memory it is.
    pub fn device(&self) -> &'a Device {
        &self.buffer.device
    }

    /// A part of the part.
    ///
    /// Errors: `OutOfRange` where the range is not within it.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<BufferSlice<'a, T>> {
        let (start, len) = check_range("BufferSlice::slice", range, self.len)?;
        Ok(BufferSlice { buffer: self.buffer, start: self.start + start, len })
    }

    /// The elements as an array, in row-major order, without a copy.
    ///
    /// Errors: as [`Buffer::to_array`].
    #[track_caller]
    pub fn to_array(&self, shape: impl IntoShape) -> Result<Array<T>> {
        let shape = shape.into_shape();
        crate::array::transfer::check_count("BufferSlice::to_array", &shape, self.len)?;
        let whole = self.buffer.to_array([self.buffer.len])?;
        Ok(whole.slice(ndarray::s![self.start..self.start + self.len]).reshape(&shape[..]))
    }

    /// The part, to be read.
    pub(super) fn part(&self, op: &'static str, by: By) -> Result<Part<'a>> {
        let BufferSlice { buffer, start, len } = *self;
        Ok(Part { device: &buffer.device, storage: buffer.for_reading(op, by)?, start, len })
    }

    /// The part as an argument of a kernel that reads it. Errors: `InvalidUse` while the buffer is mapped to be written.
    pub(crate) fn kernel_slice(&self) -> Result<SliceOf> {
        let BufferSlice { buffer, start, len } = *self;
        Ok(SliceOf { start, len, ..buffer.kernel_slice()? })
    }
}

impl<'a, T: Element> BufferSliceMut<'a, T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True where there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device whose memory it is.
    pub fn device(&self) -> &'a Device {
        self.device
    }

    /// Two parts: the first `at` elements, and the others.
    ///
    /// Errors: `OutOfRange` where there are not as many.
    ///
    /// ```
    /// use lazuli::{Buffer, Device, MemFlags};
    ///
    /// let mut buffer = Buffer::zeros(&Device::host()?, MemFlags::READ_WRITE, 4)?;
    /// let (mut left, mut right) = buffer.slice_mut(..)?.split_at_mut(1)?;
    /// left.fill(1)?;
    /// right.fill(2)?;
    /// assert_eq!(buffer.to_vec()?, [1, 2, 2, 2]);
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    pub fn split_at_mut(self, at: usize) -> Result<(BufferSliceMut<'a, T>, BufferSliceMut<'a, T>)> {
        check_range("BufferSliceMut::split_at_mut", at.., self.len)?;
        let Self { storage, device, flags, state, start, len, element } = self;
        let part = |start, len| BufferSliceMut { storage, device, flags, state, start, len, element };
        Ok((part(start, at), part(start + at, len - at)))
    }

    /// The same part, borrowed again for a while.
    pub fn reborrow(&mut self) -> BufferSliceMut<'_, T> {
        let Self { storage, device, flags, state, start, len, element } = *self;
        BufferSliceMut { storage, device, flags, state, start, len, element }
    }

    /// The part, to be read.
    pub(super) fn read_part(&self, op: &'static str, by: By) -> Result<Part<'a>> {
        self.flags.check_read(op, by)?;
        self.state.check(op)?;
        Ok(Part { device: self.device, storage: self.storage, start: self.start, len: self.len })
    }

    /// The part, to be written.
    pub(super) fn write_part(&self, op: &'static str, by: By) -> Result<Part<'a>> {
        self.flags.check_write(op, by)?;
        self.state.check(op)?;
        Ok(Part { device: self.device, storage: self.storage, start: self.start, len: self.len })
    }

    pub(super) fn state(&self) -> &'a State {
        self.state
    }

    /// The part as an argument of a kernel that writes it, and may read it. Errors: `InvalidUse` while the buffer is mapped.
    pub(crate) fn kernel_slice(&self) -> Result<SliceOf> {
        self.state.check(KERNEL)?;
        let Self { storage, device, flags, start, len, .. } = *self;
        let (storage, device) = (storage.clone(), device.clone());
        Ok(SliceOf { device, storage, dtype: T::DTYPE, start, len, is_mut: true, flags })
    }
}

impl<'a, T: Element> sealed::Source<'a, T> for &'a Buffer<T> {
    fn source(self) -> BufferSlice<'a, T> {
        BufferSlice { buffer: self, start: 0, len: self.len }
    }
}

impl<'a, T: Element> sealed::Source<'a, T> for BufferSlice<'a, T> {
    fn source(self) -> BufferSlice<'a, T> {
        self
    }
}

impl<'a, T: Element> sealed::Target<'a, T> for &'a mut Buffer<T> {
    fn target_len(&self) -> usize {
        self.len
    }

    #[allow(private_interfaces, reason = "as in the trait")]
    fn target(self, op: &'static str, by: By) -> Result<Part<'a>> {
        self.for_writing(op, by)?;
        Ok(Part { device: &self.device, storage: &self.storage, start: 0, len: self.len })
    }

    #[allow(private_interfaces, private_bounds, reason = "as in the trait")]
    fn overwrite<R>(self, op: &'static str, by: By, write: impl FnOnce(Part<'_>) -> Result<R>) -> Result<R> {
        Buffer::overwrite(self, op, by, write)
    }
}

impl<'a, T: Element> sealed::Target<'a, T> for BufferSliceMut<'a, T> {
    fn target_len(&self) -> usize {
        self.len
    }

    #[allow(private_interfaces, reason = "as in the trait")]
    fn target(self, op: &'static str, by: By) -> Result<Part<'a>> {
        self.write_part(op, by)
    }

    #[allow(private_interfaces, private_bounds, reason = "as in the trait")]
    fn overwrite<R>(self, op: &'static str, by: By, write: impl FnOnce(Part<'_>) -> Result<R>) -> Result<R> {
        write(self.write_part(op, by)?)
    }
}

impl<'a, T: Element> BufferSource<'a, T> for &'a Buffer<T> {}
impl<'a, T: Element> BufferSource<'a, T> for BufferSlice<'a, T> {}
impl<'a, T: Element> BufferTarget<'a, T> for &'a mut Buffer<T> {}
impl<'a, T: Element> BufferTarget<'a, T> for BufferSliceMut<'a, T> {}

impl<T: Element> fmt::Debug for BufferSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{} of {:?}", self.start, self.start + self.len, self.buffer)
    }
}

impl<T: Element> fmt::Debug for BufferSliceMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{} of a Buffer<{}> on {}", self.start, self.start + self.len, T::DTYPE, self.device.name())
    }
}
