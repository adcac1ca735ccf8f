//! Device memory as elements of the host, for a while.

use std::marker::PhantomData;

#[cfg(feature = "cuda")]
use super::explicit::{Extent, HostBytes, Pitches};
use super::explicit::{Queue, Queues, RawMapping};
use super::{Memory, bytes};
use crate::dtype::Element;
use crate::error::{Error, Result};

/// Memory that is mapped as elements. Whoever holds it sees to it that the memory lives, that nobody writes it meanwhile, and
/// that nobody else uses it where it is mapped to be written.
pub struct Mapping<T> {
    raw: Box<dyn RawMapping>,
    offset: usize,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Element> Mapping<T> {
    /// Maps memory, after all that was submitted to the queue. There is at least one element.
    /// Errors: `HostData` where the bytes are no values of the type.
    pub fn new(
        op: &'static str,
        queues: &dyn Queues,
        queue: &dyn Queue,
        memory: &dyn Memory,
        offset: usize,
        bytes: usize,
        is_written: bool,
    ) -> Result<Self> {
        let mut raw = queues.map(queue, memory, offset, bytes, is_written)?;
        // SAFETY: the mapping is this long, and lasts until it is ended below or by `end`.
        let is_valid = bytes::are_elements::<T>(unsafe { std::slice::from_raw_parts(raw.data(), bytes) });
        if !is_valid {
            raw.end(queues, queue, memory, offset)?;
            let what = format!("what lies in memory are no values of {}", T::DTYPE);
            return Err(Error::HostData { op, what });
        }
        Ok(Self { raw, offset, len: bytes / size_of::<T>(), element: PhantomData })
    }

    /// The elements.
    pub fn elements(&self) -> &[T] {
        // SAFETY: they were checked when mapped, and since then nobody but `elements_mut` wrote them. The mapping lasts until
        // `end`, which takes it.
        unsafe { std::slice::from_raw_parts(self.raw.data().cast(), self.len) }
    }

    /// The elements, to be written, of memory that was mapped for that.
    pub fn elements_mut(&mut self) -> &mut [T] {
        // SAFETY: as above; `&mut self` makes us the one user.
        unsafe { std::slice::from_raw_parts_mut(self.raw.data().cast(), self.len) }
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
