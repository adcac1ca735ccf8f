//! Device memory as elements of the host, for a while.

use super::Memory;
use super::bytes;
use super::explicit::{Extent, HostBytes, Pitches, Queue, Queues, RawMapping};
use crate::dtype::Element;
use crate::error::Result;

/// Memory that is mapped. Whoever holds it sees to it that the memory lives, that nobody writes it meanwhile, and that nobody
/// else uses it where it is mapped to be written.
pub struct Mapping {
    raw: Box<dyn RawMapping>,
    offset: usize,
    bytes: usize,
}

impl Mapping {
    /// Maps memory, after all that was submitted to the queue. There is at least one byte.
    pub fn new(
        queues: &dyn Queues,
        queue: &dyn Queue,
        memory: &dyn Memory,
        offset: usize,
        bytes: usize,
        is_written: bool,
    ) -> Result<Self> {
        Ok(Self { raw: queues.map(queue, memory, offset, bytes, is_written)?, offset, bytes })
    }

    /// The elements; none where the bytes are no values of the type.
    pub fn elements<T: Element>(&self) -> Option<&[T]> {
        // SAFETY: the mapping is this long and lasts until `end`, which takes it; nobody writes it meanwhile.
        bytes::as_elements(unsafe { std::slice::from_raw_parts(self.raw.data(), self.bytes) })
    }

    /// The elements, to be written, of memory that was mapped for that.
    pub fn elements_mut<T: Element>(&mut self) -> Option<&mut [T]> {
        // SAFETY: as above; `&mut self` makes us the one user.
        bytes::as_elements_mut(unsafe { std::slice::from_raw_parts_mut(self.raw.data(), self.bytes) })
    }

    /// Ends it.
    pub fn end(mut self, queues: &dyn Queues, queue: &dyn Queue, memory: &dyn Memory) -> Result<()> {
        self.raw.end(queues, queue, memory, self.offset)
    }
}

/// A mapping where the driver has none: a copy in pinned memory, copied back at the end if it was to be written.
#[cfg(feature = "cuda")]
pub struct Staged {
    copy: Box<dyn HostBytes>,
    bytes: usize,
    is_written: bool,
}

#[cfg(feature = "cuda")]
impl Staged {
    /// Copies the memory, and waits for that.
    pub fn new(
        queues: &dyn Queues,
        queue: &dyn Queue,
        memory: &dyn Memory,
        offset: usize,
        bytes: usize,
        is_written: bool,
    ) -> Result<Self> {
        let copy = queues.allocate_pinned(bytes)?;
        let extent = Extent::row(bytes);
        let (from, to) = (Pitches::dense(offset, extent), Pitches::dense(0, extent));
        // SAFETY: the copy is this long and nobody else has it. It lives until the queue was waited for, or for ever.
        let begun = unsafe { queues.begin_read(queue, (memory, from), (copy.data(), to), extent) };
        match queues.synchronize_queue(queue) {
            Ok(()) => begun.map(|()| Self { copy, bytes, is_written }),
            Err(error) => {
                std::mem::forget(copy);
                Err(error)
            }
        }
    }
}

#[cfg(feature = "cuda")]
impl RawMapping for Staged {
    fn data(&self) -> *mut u8 {
        self.copy.data()
    }

    fn end(&mut self, queues: &dyn Queues, queue: &dyn Queue, memory: &dyn Memory, offset: usize) -> Result<()> {
        if !self.is_written {
            return Ok(());
        }
        let extent = Extent::row(self.bytes);
        let (from, to) = (Pitches::dense(0, extent), Pitches::dense(offset, extent));
        // SAFETY: the copy is this long, and nobody writes it any more. It lives until the queue was waited for: freeing
        // pinned memory waits for the copies that use it, where waiting here should fail.
        let begun = unsafe { queues.begin_write(queue, (self.copy.data().cast_const(), from), (memory, to), extent) };
        queues.synchronize_queue(queue).and(begun)
    }
}
