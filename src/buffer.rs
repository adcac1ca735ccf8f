//! Explicit device memory, for those who place it themselves.

use std::panic::Location;
use std::sync::Arc;

use bitflags::bitflags;

use crate::array::transfer::{check_count, download};
use crate::array::{Array, IntoShape};
use crate::device::Device;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::graph::{Node, Storage};
use crate::launch::SliceOf;
use crate::shape::{Order, Shape};

bitflags! {
    /// How a [`Buffer`] is made and used: OpenCL's flags, with their meaning and bits.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub struct MemFlags: u64 {
        /// Kernels read and write. The default where no access is named.
        const READ_WRITE = 1;
        /// Kernels only write.
        const WRITE_ONLY = 1 << 1;
        /// Kernels only read.
        const READ_ONLY = 1 << 2;
        /// Use the host's memory in place of device memory. Not possible with a borrowed slice.
        const USE_HOST_PTR = 1 << 3;
        /// Place the buffer where the host reaches it fast. A wish; devices may pass it over.
        const ALLOC_HOST_PTR = 1 << 4;
        /// Copy the host's elements in.
        const COPY_HOST_PTR = 1 << 5;
    }
}

/// Elements of `T` in device memory, along one axis. Freed when neither the buffer nor an array holds it.
///
/// ```
/// use lazuli::{Buffer, Device, MemFlags};
///
/// let device = Device::host()?;
/// let buffer = Buffer::from_slice(&device, MemFlags::READ_ONLY | MemFlags::COPY_HOST_PTR, &[1.0f32, 2.0, 3.0, 4.0])?;
/// let sums = (buffer.to_array([2, 2])? + 1.0).sum_axis(0).get()?;
/// assert_eq!(sums.as_slice().unwrap(), [6.0, 8.0]);
/// # Ok::<(), lazuli::Error>(())
/// ```
pub struct Buffer<T: Element> {
    storage: Arc<dyn Storage>,
    len: usize,
    flags: MemFlags,
    device: Device,
    element: std::marker::PhantomData<fn() -> T>,
}

impl<T: Element> Buffer<T> {
    /// A buffer with a copy of the elements.
    ///
    /// Errors: `HostData` for flags that contradict each other or lack `COPY_HOST_PTR`, `Unsupported` for `USE_HOST_PTR`,
    /// `OutOfMemory`, `Driver`.
    pub fn from_slice(device: &Device, flags: MemFlags, elements: &[T]) -> Result<Self> {
        const OP: &str = "Buffer::from_slice";
        let refused = |what: &str| Err(Error::HostData { op: OP, what: format!("flags {flags:?}: {what}") });
        let access = MemFlags::READ_WRITE | MemFlags::READ_ONLY | MemFlags::WRITE_ONLY;
        if !MemFlags::all().contains(flags) {
            return refused("unknown bits");
        }
        if (flags & access).bits().count_ones() > 1 {
            return refused("READ_WRITE, READ_ONLY and WRITE_ONLY exclude each other");
        }
        if flags.contains(MemFlags::USE_HOST_PTR) {
            if flags.intersects(MemFlags::COPY_HOST_PTR | MemFlags::ALLOC_HOST_PTR) {
                return refused("USE_HOST_PTR excludes COPY_HOST_PTR and ALLOC_HOST_PTR");
            }
            let what = "MemFlags::USE_HOST_PTR over a borrowed slice; use COPY_HOST_PTR".to_string();
            return Err(Error::Unsupported { device: device.name().to_string(), what });
        }
        if !flags.contains(MemFlags::COPY_HOST_PTR) {
            return refused("elements are given, which takes COPY_HOST_PTR");
        }
        let storage = device.upload(T::as_bytes(elements))?;
        Ok(Self { storage, len: elements.len(), flags, device: device.clone(), element: std::marker::PhantomData })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True where there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The flags it was made with.
    pub fn flags(&self) -> MemFlags {
        self.flags
    }

    /// The device whose memory it is.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The elements as an array, in row-major order, without a copy. The buffer's memory is never written through it.
    ///
    /// Errors: `HostData` where the shape has not as many elements, or the buffer is `WRITE_ONLY`.
    #[track_caller]
    pub fn to_array(&self, shape: impl IntoShape) -> Result<Array<T>> {
        const OP: &str = "Buffer::to_array";
        let (shape, at) = (shape.into_shape(), Location::caller());
        check_count(OP, &shape, self.len)?;
        if self.flags.contains(MemFlags::WRITE_ONLY) {
            return Err(Error::HostData { op: OP, what: "kernels may not read a WRITE_ONLY buffer".to_string() });
        }
        let node = Node::leaf(self.storage.clone(), shape, T::DTYPE, Order::RowMajor, at);
        Ok(Array::from_node(node, &self.device))
    }

    /// Copies the elements to the host.
    ///
    /// Errors: `HostData` where the lengths differ, `Driver`.
    pub fn copy_to_host(&self, target: &mut [T]) -> Result<()> {
        if target.len() != self.len {
            let what = format!("a buffer of {} elements into a slice of {}", self.len, target.len());
            return Err(Error::HostData { op: "Buffer::copy_to_host", what });
        }
        download(&self.device, &*self.storage, 0, target)
    }

    /// The elements, for a kernel that reads them.
    pub(crate) fn kernel_slice(&self) -> SliceOf {
        SliceOf {
            device: self.device.clone(),
            storage: self.storage.clone(),
            dtype: T::DTYPE,
            start: 0,
            len: self.len,
            is_mut: false,
            flags: self.flags,
        }
    }

    /// The elements, for a kernel that writes them: in memory that no array reads, for which they are copied first where one
    /// does.
    pub(crate) fn kernel_slice_mut(&mut self) -> Result<SliceOf> {
        if Arc::strong_count(&self.storage) > 1 {
            let shape = Shape::from_slice(&[self.len]);
            let node = Node::leaf(self.storage.clone(), shape, T::DTYPE, Order::RowMajor, Location::caller());
            self.storage = Array::<T>::from_node(node, &self.device).exclusive()?;
        }
        Ok(SliceOf { is_mut: true, ..self.kernel_slice() })
    }
}

impl<T: Element> std::fmt::Debug for Buffer<T> {
    /// Element type, length, flags and device; never the elements.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer<{}>[{}] ({:?}) on {}", T::DTYPE, self.len, self.flags, self.device.name())
    }
}
