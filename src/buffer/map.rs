//! Device memory as a slice of the host, behind a guard.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::access::{How, Part, State};
use super::{Buffer, BufferSlice, BufferSliceMut, By};
use crate::check;
use crate::device::block_of;
use crate::dtype::Element;
use crate::error::Result;
use crate::graph::Storage;
use crate::runtime::mapping::Mapping;

/// Elements of a buffer that the host reads where they are. Derefs to a slice; unmapped when dropped.
///
/// Kernels may read the buffer meanwhile; the borrow keeps everybody from writing it.
pub struct Mapped<'a, T: Element> {
    open: Open<'a, T>,
}

/// Elements of a buffer that the host reads and writes where they are. Derefs to a slice; unmapped when dropped.
///
/// The borrow keeps everybody else from the buffer. Where it cannot, as for the other part of a
/// [split](BufferSliceMut::split_at_mut) buffer, or after the guard was forgotten, each use of the buffer is an error.
pub struct MappedMut<'a, T: Element> {
    open: Open<'a, T>,
    state: &'a State,
}

/// A mapping, with what it takes to end it.
struct Open<'a, T: Element> {
    /// None where there are no elements, and after the end.
    mapping: Option<Mapping<T>>,
    part: Part<'a>,
    is_written: bool,
    /// Keeps the memory also where the guard is forgotten.
    storage: Option<Arc<dyn Storage>>,
}

impl<T: Element> Buffer<T> {
    /// Lets the host read the elements in place, once all work on them is done.
    ///
    /// On the host and on OpenCL devices that are CPUs the guard is the memory itself. On other OpenCL devices it is what
    /// `clEnqueueMapBuffer` gives; on CUDA a copy in pinned memory.
    ///
    /// Errors: `InvalidUse` where the flags forbid the host to read, or the buffer is mapped to be written; `HostData` where an
    /// element is no value of bool; `OutOfMemory`, `Driver`.
    ///
    /// ```
    /// use lazuli::{Buffer, Device, MemFlags};
    ///
    /// let buffer = Buffer::from_slice(&Device::host()?, MemFlags::COPY_HOST_PTR, &[1, 2, 3])?;
    /// assert_eq!(buffer.map()?.iter().sum::<i32>(), 6);
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    pub fn map(&self) -> Result<Mapped<'_, T>> {
        self.whole().map()
    }

    /// Lets the host read and write the elements in place, once all work on them is done. Where an array holds the memory, it is
    /// copied first, and the array keeps its value. What was written is in the buffer once the guard is dropped; on CUDA that
    /// copies it back, and waits.
    ///
    /// Errors: as [`map`](Buffer::map), with the flags that forbid the host to write.
    ///
    /// ```
    /// use lazuli::{Buffer, Device, MemFlags};
    ///
    /// let mut buffer = Buffer::zeros(&Device::host()?, MemFlags::READ_WRITE, 3)?;
    /// let mut mapped = buffer.map_mut()?;
    /// mapped[1] = 5;
    /// mapped.unmap()?; // or drop it
    /// assert_eq!(buffer.to_vec()?, [0, 5, 0]);
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    pub fn map_mut(&mut self) -> Result<MappedMut<'_, T>> {
        const OP: &str = "Buffer::map_mut";
        // Before anything is copied.
        self.flags.check_read(OP, By::Host)?;
        self.flags.check_write(OP, By::Host)?;
        self.slice_mut(..)?.map_mut()
    }
}

impl<'a, T: Element> BufferSlice<'a, T> {
    /// Lets the host read the elements in place; see [`Buffer::map`].
    ///
    /// Errors: as there.
    pub fn map(&self) -> Result<Mapped<'a, T>> {
        const OP: &str = "Buffer::map";
        Ok(Mapped { open: Open::new(OP, self.part(OP, By::Host)?, false)? })
    }
}

impl<'a, T: Element> BufferSliceMut<'a, T> {
    /// Lets the host read and write the elements in place; see [`Buffer::map_mut`].
    ///
    /// Errors: as there.
    pub fn map_mut(self) -> Result<MappedMut<'a, T>> {
        const OP: &str = "Buffer::map_mut";
        self.read_part(OP, By::Host)?;
        let (part, state) = (self.write_part(OP, By::Host)?, self.state());
        // Set first: the state says so even where this unwinds.
        state.begin_mapping();
        match Open::new(OP, part, true) {
            Ok(open) => Ok(MappedMut { open, state }),
            Err(error) => {
                state.end_mapping();
                Err(error)
            }
        }
    }
}

impl<'a, T: Element> Open<'a, T> {
    fn new(op: &'static str, part: Part<'a>, is_written: bool) -> Result<Self> {
        let mut open = Self { mapping: None, part, is_written, storage: Some(part.storage.clone()) };
        if part.len == 0 {
            return Ok(open);
        }
        check::resolve(part.device, &**part.storage)?;
        let (memory, queues) = (block_of(&**part.storage)?.memory()?, part.device.runtime().queues());
        open.submit(|queue| {
            let (offset, bytes) = (part.start * size_of::<T>(), part.len * size_of::<T>());
            Mapping::new(op, queues, queue, memory, offset, bytes, is_written)
        })
        .map(|mapping| open.mapping = Some(mapping))?;
        Ok(open)
    }

    fn end(&mut self) -> Result<()> {
        let mapping = self.mapping.take();
        let ended = match mapping {
            Some(mapping) => {
                let memory = block_of(&**self.part.storage)?.memory()?;
                let queues = self.part.device.runtime().queues();
                self.submit(|queue| mapping.end(queues, queue, memory))
            }
            None => Ok(()),
        };
        self.storage = None;
        ended
    }

    fn submit<R>(&self, submit: impl FnOnce(&dyn crate::runtime::explicit::Queue) -> Result<R>) -> Result<R> {
        let storage: &dyn Storage = &**self.part.storage;
        let (reads, writes) = if self.is_written { (None, Some(storage)) } else { (Some(storage), None) };
        let How { queue, after } = How::MAIN;
        let (reads, writes) = (reads.as_slice(), writes.as_slice());
        crate::queue::Work { device: self.part.device, queue, after, reads, writes }.submit(submit)
    }

    fn elements(&self) -> &[T] {
        self.mapping.as_ref().map_or(&[], Mapping::elements)
    }
}

impl<T: Element> Mapped<'_, T> {
    /// Ends the mapping, which dropping does too.
    ///
    /// Errors: `Driver`.
    pub fn unmap(mut self) -> Result<()> {
        self.open.end()
    }
}

impl<T: Element> MappedMut<'_, T> {
    /// Ends the mapping: what was written is in the buffer. Dropping does that too, and keeps an error for the buffer's next use.
    ///
    /// Errors: `Driver`.
    pub fn unmap(mut self) -> Result<()> {
        self.open.end()
    }
}

impl<T: Element> Deref for Mapped<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.open.elements()
    }
}

impl<T: Element> Deref for MappedMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.open.elements()
    }
}

impl<T: Element> DerefMut for MappedMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.open.mapping.as_mut().map_or(&mut [], Mapping::elements_mut)
    }
}

impl<T: Element> Drop for Mapped<'_, T> {
    fn drop(&mut self) {
        if let Err(error) = self.open.end() {
            // Nothing was written, so that nothing is lost.
            tracing::warn!(device = %self.open.part.device.name(), %error, "unmapping");
        }
    }
}

impl<T: Element> Drop for MappedMut<'_, T> {
    fn drop(&mut self) {
        let ended = self.open.end();
        self.state.end_mapping();
        if let Err(error) = ended {
            self.state.keep(error);
        }
    }
}

impl<T: Element> fmt::Debug for Mapped<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Element> fmt::Debug for MappedMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
