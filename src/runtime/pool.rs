//! The pool of device memory: freed blocks are kept by size and used again, without asking the driver.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::explicit::Mark;
use super::uses::Uses;
use super::{Memory, Runtime};
use crate::error::{Error, Result};
use crate::graph::Storage;

/// Device memory handed out in blocks, over one runtime.
///
/// Sizes are rounded up to an eighth of their power of two, so that arrays that grow a little reuse each other's blocks;
/// a request takes the smallest free block that is not more than a quarter too large. The runtime's main queue is in order, so
/// a block may be handed out again while its last launch is still running. Where other queues use a block, the main queue waits
/// for them, on the device, when it is dropped.
pub struct Pool {
    device: String,
    runtime: Arc<dyn Runtime>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Free blocks by size. A size whose blocks are all in use stays, for when they come back: there are few sizes.
    free: BTreeMap<usize, Vec<Box<dyn Memory>>>,
    live_bytes: u64,
    peak_bytes: u64,
    pooled_bytes: u64,
}

/// Bytes in use, at their peak and kept for reuse.
#[derive(Clone, Copy, Debug)]
pub struct PoolUse {
    /// Bytes held by arrays and by evaluations under way.
    pub live: u64,
    /// The most that was ever live.
    pub peak: u64,
    /// Bytes free in the pool.
    pub pooled: u64,
}

impl Pool {
    /// An empty pool.
    pub fn new(device: String, runtime: Arc<dyn Runtime>) -> Arc<Self> {
        Arc::new(Self { device, runtime, state: Mutex::default() })
    }

    /// A block of at least `bytes` bytes, with whatever its last user left in it. Where the device has none left, the pool
    /// is emptied and the device asked again.
    pub fn allocate(self: &Arc<Self>, bytes: usize) -> Result<Arc<Block>> {
        self.allocate_with(bytes, Uses::default())
    }

    /// A block that queues other than the main one will use.
    pub fn allocate_tracked(self: &Arc<Self>, bytes: usize) -> Result<Arc<Block>> {
        self.allocate_with(bytes, Uses::tracked())
    }

    /// A block over memory that did not come from the pool, and is freed, not kept, when it is dropped.
    pub fn adopt(self: &Arc<Self>, memory: Box<dyn Memory>) -> Arc<Block> {
        self.lock().count_live(memory.bytes());
        Arc::new(Block { memory: Some(memory), pool: self.clone(), is_pooled: false, uses: Uses::tracked() })
    }

    fn allocate_with(self: &Arc<Self>, bytes: usize, uses: Uses) -> Result<Arc<Block>> {
        let size = rounded(bytes);
        let found = self.lock().take_free(size);
        let memory = match found {
            Some(memory) => memory,
            None => {
                let memory = self
                    .runtime
                    .allocate(size)
                    .or_else(|_| {
                        self.trim();
                        self.runtime.synchronize()?;
                        self.runtime.allocate(size)
                    })
                    .map_err(|error| self.out_of_memory(error, bytes))?;
                self.lock().count_live(memory.bytes());
                memory
            }
        };
        Ok(Arc::new(Block { memory: Some(memory), pool: self.clone(), is_pooled: true, uses }))
    }

    /// Gives every free block back to the device.
    pub fn trim(&self) {
        let released = {
            let mut state = self.lock();
            state.pooled_bytes = 0;
            std::mem::take(&mut state.free)
        };
        drop(released);
    }

    /// Bytes in use and in store.
    pub fn usage(&self) -> PoolUse {
        let state = self.lock();
        PoolUse { live: state.live_bytes, peak: state.peak_bytes, pooled: state.pooled_bytes }
    }

    fn give_back(&self, memory: Box<dyn Memory>) {
        let released = self.lock().give_back(memory);
        drop(released);
    }

    /// Has the main queue wait for a use of memory that is about to be handed on.
    fn await_use(&self, mark: &dyn Mark) {
        let queues = self.runtime.queues();
        let waits = queues.wait(queues.main_queue(), mark).or_else(|_| mark.wait());
        if let Err(error) = waits {
            // The use failed, and so is over; who waited for it was told.
            tracing::debug!(device = %self.device, %error, "a use of freed memory");
        }
    }

    fn out_of_memory(&self, error: Error, bytes: usize) -> Error {
        match error {
            Error::OutOfMemory { message, .. } => Error::OutOfMemory {
                device: self.device.clone(),
                bytes: bytes as u64,
                live_bytes: self.lock().live_bytes,
                message,
            },
            other => other,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn count_live(&mut self, bytes: usize) {
        self.live_bytes += bytes as u64;
        self.peak_bytes = self.peak_bytes.max(self.live_bytes);
    }

    /// The smallest free block that fits, which is live from now on.
    fn take_free(&mut self, size: usize) -> Option<Box<dyn Memory>> {
        let memory = self.free.range_mut(size..=size + size / 4).find_map(|(_, blocks)| blocks.pop())?;
        self.pooled_bytes -= memory.bytes() as u64;
        self.count_live(memory.bytes());
        Some(memory)
    }

    /// Keeps a block for later. Gives those that are too many, to be freed once the pool is unlocked.
    fn give_back(&mut self, memory: Box<dyn Memory>) -> Vec<Box<dyn Memory>> {
        let bytes = memory.bytes();
        self.live_bytes -= bytes as u64;
        self.pooled_bytes += bytes as u64;
        self.free.entry(bytes).or_default().push(memory);
        // Blocks of sizes no longer asked for must not pile up: never keep more than the peak of what was live.
        let mut released = Vec::new();
        while self.pooled_bytes > self.peak_bytes {
            let Some(mut entry) = self.free.first_entry() else { break };
            match entry.get_mut().pop() {
                Some(memory) => {
                    self.pooled_bytes -= memory.bytes() as u64;
                    released.push(memory);
                }
                None => {
                    entry.remove();
                }
            }
        }
        released
    }
}

/// Next multiple of an eighth of the power of two below; 256 bytes at least.
fn rounded(bytes: usize) -> usize {
    let bytes = bytes.max(256);
    let step = (bytes.next_power_of_two() / 16).max(256);
    bytes.checked_next_multiple_of(step).unwrap_or(bytes)
}

/// One block of a pool; it goes back when dropped.
pub struct Block {
    memory: Option<Box<dyn Memory>>,
    pool: Arc<Pool>,
    is_pooled: bool,
    uses: Uses,
}

impl Block {
    /// The memory, for the runtime.
    pub fn memory(&self) -> Result<&dyn Memory> {
        self.memory.as_deref().ok_or_else(|| Error::Internal("a block without memory".into()))
    }

    /// Who uses it, where other queues than the main one do.
    #[inline]
    pub fn uses(&self) -> &Uses {
        &self.uses
    }

    /// True where [`Pool::adopt`] made it.
    pub fn is_adopted(&self) -> bool {
        !self.is_pooled
    }

    /// Takes the memory out of a block that [`Pool::adopt`] made, in order after all uses of it.
    pub fn into_memory(mut self) -> Result<Box<dyn Memory>> {
        self.end_uses();
        let memory = self.memory.take().ok_or_else(|| Error::Internal("a block without memory".into()))?;
        self.pool.lock().live_bytes -= memory.bytes() as u64;
        Ok(memory)
    }

    fn end_uses(&mut self) {
        if self.uses.is_tracked() {
            for mark in self.uses.unfinished() {
                self.pool.await_use(&*mark);
            }
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.memory.is_none() {
            return;
        }
        self.end_uses();
        if let Some(memory) = self.memory.take() {
            match self.is_pooled {
                true => self.pool.give_back(memory),
                false => self.pool.lock().live_bytes -= memory.bytes() as u64,
            }
        }
    }
}

impl Storage for Block {
    fn bytes(&self) -> usize {
        self.memory.as_ref().map_or(0, |memory| memory.bytes())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({} bytes on {})", self.bytes(), self.pool.device)
    }
}
