//! Explicit device memory, for those who place it themselves.

mod access;
mod copy;
mod create;
mod flags;
mod host_buffer;
mod map;
mod rect;
mod slice;
mod submit;

pub(crate) use flags::By;
pub use flags::MemFlags;
pub use host_buffer::{HostBuffer, Transfer};
pub use map::{Mapped, MappedMut};
pub use rect::Rect;
pub use slice::{BufferSlice, BufferSliceMut, BufferSource, BufferTarget};

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use self::access::State;
use crate::array::transfer::check_count;
use crate::array::{Array, IntoShape};
use crate::device::Device;
use crate::dtype::Element;
use crate::error::Result;
use crate::graph::{Node, Storage};
use crate::shape::Order;

/// Elements of `T` in device memory, along one axis. Freed when neither the buffer nor an array holds it.
///
/// Its calls are in order with each other, with lazy work and with other queues' work on the same memory. Those of the buffer
/// itself and of its slices go to the queue of lazy work; those that read to the host wait. The same on a queue
/// of one's own, waiting for nothing, are methods of [`Queue`](crate::Queue): `copy`, `read`, `write`, `fill`.
///
/// [`to_array`](Buffer::to_array) and [`from_array`](Buffer::from_array) share memory with arrays, which are values: the first write
/// to a buffer whose memory an array still holds copies it, and the array keeps what it had.
///
/// ```
/// use lazuli::{Buffer, Device, MemFlags};
///
/// let device = Device::host()?;
/// let mut buffer = Buffer::from_slice(&device, MemFlags::READ_WRITE | MemFlags::COPY_HOST_PTR, &[1.0f32, 2.0, 3.0, 4.0])?;
/// let sums = (buffer.to_array([2, 2])? + 1.0).sum_axis(0);
/// buffer.slice_mut(1..3)?.fill(0.0)?; // the array keeps its value
/// assert_eq!(sums.get()?.as_slice().unwrap(), [6.0, 8.0]);
/// assert_eq!(buffer.to_vec()?, [1.0, 0.0, 0.0, 4.0]);
/// # Ok::<(), lazuli::Error>(())
/// ```
pub struct Buffer<T: Element> {
    storage: Arc<dyn Storage>,
    len: usize,
    flags: MemFlags,
    device: Device,
    /// The vector it was made of, where the device has a copy, to be filled and given back.
    home: Option<Vec<T>>,
    state: State,
}

impl<T: Element> Buffer<T> {
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
    /// Errors: `HostData` where the shape has not as many elements; `InvalidUse` where the buffer is `WRITE_ONLY`, or mapped to
    /// be written.
    #[track_caller]
    pub fn to_array(&self, shape: impl IntoShape) -> Result<Array<T>> {
        const OP: &str = "Buffer::to_array";
        let (shape, at) = (shape.into_shape(), Location::caller());
        check_count(OP, &shape, self.len)?;
        let storage = self.for_reading(OP, By::Kernel)?.clone();
        let node = Node::leaf(storage, shape, T::DTYPE, Order::RowMajor, at);
        Ok(Array::from_node(node, &self.device))
    }
}

impl<T: Element> fmt::Debug for Buffer<T> {
    /// Element type, length, flags and device; never the elements.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer<{}>[{}] ({:?}) on {}", T::DTYPE, self.len, self.flags, self.device.name())
    }
}
