//! Host memory for copies that nobody waits for, held back from its owner while a copy is under way.

use std::sync::Arc;

use super::Memory;
use super::explicit::{Extent, HostBytes, Mark, Pitches, Queue, Queues};
use crate::dtype::{DType, Element};
use crate::error::{Error, Result};

/// Host memory that the device reaches without a detour.
pub struct Pinned {
    memory: Box<dyn HostBytes>,
    bytes: usize,
}

/// A copy under way, with the host memory that it reads or writes.
pub struct InFlight {
    memory: Option<Pinned>,
    mark: Arc<dyn Mark>,
}

impl Pinned {
    /// So many bytes, all zero.
    pub fn new(queues: &dyn Queues, bytes: usize) -> Result<Self> {
        Ok(Self { memory: queues.allocate_pinned(bytes.max(1))?, bytes })
    }

    /// The memory as elements, as many as fit.
    pub fn elements<T: Element>(&self) -> &[T] {
        let len = self.bytes / size_of::<T>();
        // SAFETY: the memory is this long, initialised when made, aligned for any element, and ours alone: a copy under way
        // holds the value. What copies leave in it are valid elements; see `InFlight::finish`.
        unsafe { std::slice::from_raw_parts(self.memory.data().cast(), len) }
    }

    /// The same to be written.
    pub fn elements_mut<T: Element>(&mut self) -> &mut [T] {
        let len = self.bytes / size_of::<T>();
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.memory.data().cast(), len) }
    }

    /// Begins to copy it to the device.
    pub fn begin_write(
        self,
        queues: &dyn Queues,
        queue: &dyn Queue,
        from: Pitches,
        to: (&dyn Memory, Pitches),
        extent: Extent,
    ) -> Result<InFlight> {
        self.check(from, extent)?;
        // SAFETY: the memory holds what is read (checked). It is alive and out of its owner's reach until the mark is reached,
        // or the queue has been waited for.
        let begun = unsafe { queues.begin_write(queue, (self.memory.data().cast_const(), from), to, extent) };
        self.hold(queues, queue, begun)
    }

    /// Begins to copy from the device into it.
    pub fn begin_read(
        self,
        queues: &dyn Queues,
        queue: &dyn Queue,
        from: (&dyn Memory, Pitches),
        to: Pitches,
        extent: Extent,
    ) -> Result<InFlight> {
        self.check(to, extent)?;
        // SAFETY: as above.
        let begun = unsafe { queues.begin_read(queue, from, (self.memory.data(), to), extent) };
        self.hold(queues, queue, begun)
    }

    /// The same where there is nothing to copy.
    pub fn hold_idle(self, queues: &dyn Queues, queue: &dyn Queue) -> Result<InFlight> {
        self.hold(queues, queue, Ok(()))
    }

    fn hold(self, queues: &dyn Queues, queue: &dyn Queue, begun: Result<()>) -> Result<InFlight> {
        match begun.and_then(|()| queues.record(queue, false)) {
            Ok(mark) => Ok(InFlight { memory: Some(self), mark }),
            Err(error) => {
                // A part may be under way. Where that cannot be waited for, nobody knows who still uses the memory.
                if queues.synchronize_queue(queue).is_err() {
                    std::mem::forget(self);
                }
                Err(error)
            }
        }
    }

    fn check(&self, side: Pitches, extent: Extent) -> Result<()> {
        match side.end(extent) {
            Some(end) if end <= self.bytes => Ok(()),
            end => Err(Error::Internal(format!("a copy up to byte {end:?} of {} pinned ones", self.bytes))),
        }
    }
}

impl InFlight {
    /// Waits for the copy, and gives the memory back with elements of `T` in it.
    pub fn finish<T: Element>(mut self) -> Result<Pinned> {
        self.mark.wait()?;
        let Some(mut memory) = self.memory.take() else {
            return Err(Error::Internal("a copy without its memory".into()));
        };
        if T::DTYPE == DType::Bool {
            // Only 0 and 1 are values of bool in Rust, whatever lay on the device.
            memory.elements_mut::<u8>().iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        Ok(memory)
    }

    /// True where `finish` would not wait.
    pub fn is_done(&self) -> Result<bool> {
        self.mark.is_done()
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take()
            && self.mark.wait().is_err()
        {
            // Whether the device still uses it is not known.
            std::mem::forget(memory);
        }
    }
}
