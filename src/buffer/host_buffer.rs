//! Page-locked host memory, for copies that nobody waits for.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::device::Device;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::queue::Event;
use crate::runtime::pinned::{InFlight, Pinned};

/// Elements in host memory that a device copies from and to by itself: page-locked on CUDA and on OpenCL's GPUs, plain memory
/// elsewhere. Derefs to a slice. A copy on a [`Queue`](crate::Queue) takes it by value, and the [`Transfer`] that the call
/// gives holds it until the copy is done: what is under way cannot be looked at.
///
/// ```
/// use lazuli::{Buffer, Device, MemFlags};
///
/// let device = Device::host()?;
/// let queue = device.queue()?;
/// let mut host = device.pinned::<f32>(3)?;
/// host.copy_from_slice(&[1.0, 2.0, 3.0]);
/// let mut buffer = Buffer::uninit(&device, MemFlags::READ_WRITE, 3)?;
/// let written = queue.write(host, &mut buffer, &[])?;
/// let host = written.wait()?; // here again
/// let read = queue.read(&buffer, host, &[])?;
/// assert_eq!(read.wait()?[..], [1.0, 2.0, 3.0]);
/// # Ok::<(), lazuli::Error>(())
/// ```
#[doc(alias = "PinnedVec")]
pub struct HostBuffer<T: Element> {
    pub(super) memory: Pinned,
    element: PhantomData<T>,
}

/// A copy between a [`HostBuffer`] and a device that is under way. Dropped, it waits.
#[must_use = "the host memory comes back from `wait`"]
pub struct Transfer<T: Element> {
    copy: InFlight,
    event: Event,
    element: PhantomData<T>,
}

impl Device {
    /// So many elements of host memory, all zero, that the device copies from and to by itself.
    ///
    /// Errors: `OutOfMemory`, `Driver`.
    #[doc(alias = "pagelocked_zeros")]
    pub fn pinned<T: Element>(&self, len: usize) -> Result<HostBuffer<T>> {
        let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| isize::try_from(*bytes).is_ok());
        let too_many = || Error::HostData { op: "Device::pinned", what: format!("{len} elements are too many") };
        let memory = Pinned::new(self.runtime().queues(), bytes.ok_or_else(too_many)?)?;
        Ok(HostBuffer { memory, element: PhantomData })
    }
}

impl<T: Element> Deref for HostBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.memory.elements()
    }
}

impl<T: Element> DerefMut for HostBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.memory.elements_mut()
    }
}

impl<T: Element> fmt::Debug for HostBuffer<T> {
    /// Element type and length; never the elements.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostBuffer<{}>[{}]", T::DTYPE, self.len())
    }
}

impl<T: Element> Transfer<T> {
    pub(super) fn new(copy: InFlight, event: Event) -> Self {
        Self { copy, event, element: PhantomData }
    }

    /// The event that marks the end of the copy, and knows how long the device took.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// True where [`wait`](Transfer::wait) would not wait.
    ///
    /// Errors: `Driver`, where the copy or what was before it failed on the device.
    pub fn is_done(&self) -> Result<bool> {
        self.copy.is_done()
    }

    /// Waits for the copy, and gives the host memory back.
    ///
    /// Errors: as [`is_done`](Transfer::is_done); the host memory is lost.
    pub fn wait(self) -> Result<HostBuffer<T>> {
        Ok(HostBuffer { memory: self.copy.finish::<T>()?, element: PhantomData })
    }
}

impl<T: Element> fmt::Debug for Transfer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transfer<{}>({:?})", T::DTYPE, self.event)
    }
}
