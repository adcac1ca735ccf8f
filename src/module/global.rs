//! Variables of a module.

use std::fmt;
use std::marker::PhantomData;

use crate::array::transfer::fill;
use crate::device::Device;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::runtime::Memory;

/// A variable at the top of a [`Module`](crate::Module), `__device__` or `__constant__`, as elements of `T`: typed memory that
/// lives as long as the module.
///
/// Reads and writes are in order with lazy work and with launches on the same queue. A launch on a queue of its own does not
/// tell which variables it uses: wait for it before, and after a write for the device.
pub struct Global<T: Element> {
    name: String,
    device: Device,
    memory: Box<dyn Memory>,
    element: PhantomData<fn() -> T>,
}

impl<T: Element> Global<T> {
    pub(super) fn new(device: &Device, name: &str, memory: Box<dyn Memory>) -> Result<Self> {
        let (bytes, size) = (memory.bytes(), size_of::<T>());
        if !bytes.is_multiple_of(size) {
            let what = format!("variable {name} has {bytes} bytes, which is no number of {} ({size} bytes)", T::DTYPE);
            return Err(Error::HostData { op: "Module::global", what });
        }
        Ok(Self { name: name.into(), device: device.clone(), memory, element: PhantomData })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.memory.bytes() / size_of::<T>()
    }

    /// True where there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives the variable its elements, all of them.
    ///
    /// Errors: `HostData` where there are more or fewer; `Driver`.
    pub fn write(&self, elements: &[T]) -> Result<()> {
        self.check("Global::write", elements.len())?;
        self.device.runtime().upload(T::as_bytes(elements), &*self.memory, 0)
    }

    /// Copies the elements to the host.
    ///
    /// Errors: `Driver`.
    pub fn read(&self) -> Result<Vec<T>> {
        let mut elements = vec![T::zero(); self.len()];
        self.read_into(&mut elements)?;
        Ok(elements)
    }

    /// Copies the elements into a slice of the host, all of them.
    ///
    /// Errors: `HostData` where there are more or fewer; `Driver`.
    pub fn read_into(&self, target: &mut [T]) -> Result<()> {
        self.check("Global::read_into", target.len())?;
        fill(target, |bytes| self.device.runtime().download(&*self.memory, 0, bytes))
    }

    fn check(&self, op: &'static str, given: usize) -> Result<()> {
        if given == self.len() {
            return Ok(());
        }
        let what = format!("{given} elements for variable {}, which has {} of {}", self.name, self.len(), T::DTYPE);
        Err(Error::HostData { op, what })
    }
}

impl<T: Element> fmt::Debug for Global<T> {
    /// Name, element type and length; never the elements.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Global<{}>({}[{}] on {})", T::DTYPE, self.name, self.len(), self.device.name())
    }
}
