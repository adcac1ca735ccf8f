//! Queues and events: work that its user puts in order.

mod event;
mod watch;
mod work;

pub use event::{Event, EventFuture};
pub(crate) use work::Work;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::device::Device;
use crate::error::Result;
use crate::runtime::explicit;
use crate::runtime::uses::{MAIN, QueueId};

/// A queue of a device, beside the one that lazy work goes to: a stream of CUDA, a command queue of OpenCL.
///
/// What is submitted to one queue runs in that order; work on different queues may run at once. Memory is kept in order
/// between queues: whoever uses a buffer or an array waits, on the device, for the work of other queues that wrote it, and whoever
/// writes it also for the work that reads it. Beyond that, order is what [`wait_for`](Queue::wait_for) and lists of events
/// make it.
///
/// A handle; cheap to clone, `Send + Sync`. When the last one is dropped, what was submitted still runs to its end. On the host
/// every call is done when it is back, and so is its event.
///
/// ```
/// use lazuli::Device;
///
/// let device = Device::host()?;
/// let (first, second) = (device.queue()?, device.queue()?);
/// let event = first.record()?;
/// second.wait_for(&[event.clone()])?;
/// second.synchronize()?;
/// assert!(event.is_done()?);
/// # Ok::<(), lazuli::Error>(())
/// ```
#[derive(Clone)]
pub struct Queue {
    inner: Arc<Inner>,
}

struct Inner {
    id: QueueId,
    device: Device,
    queue: Arc<dyn explicit::Queue>,
}

impl Queue {
    /// The device it is a queue of.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// Waits until all that was submitted to the queue is done.
    ///
    /// Errors: `Driver`, where a part of it failed on the device.
    pub fn synchronize(&self) -> Result<()> {
        self.queues().synchronize_queue(&*self.inner.queue)
    }

    /// Marks the place after all that was submitted so far.
    ///
    /// Errors: `Driver`.
    pub fn record(&self) -> Result<Event> {
        let mark = self.queues().record(&*self.inner.queue, true)?;
        Ok(Event::new(&self.inner.device, None, mark))
    }

    /// Whatever is submitted to the queue from now on begins once the events are done. Does not wait itself, but for
    /// events of other devices, of which this one knows nothing.
    ///
    /// Errors: `Driver`.
    pub fn wait_for(&self, events: &[Event]) -> Result<()> {
        events.iter().try_for_each(|event| event.hold_up(&self.inner.device, &*self.inner.queue))
    }

    pub(crate) fn new(device: &Device) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(MAIN + 1);
        let queue = device.runtime().queues().new_queue()?;
        let inner = Inner { id: NEXT.fetch_add(1, Ordering::Relaxed), device: device.clone(), queue };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// What the runtime knows it by.
    pub(crate) fn raw(&self) -> &Arc<dyn explicit::Queue> {
        &self.inner.queue
    }

    fn id(&self) -> QueueId {
        self.inner.id
    }

    fn queues(&self) -> &dyn explicit::Queues {
        self.inner.device.runtime().queues()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Whoever synchronises the device waits for what is still under way here.
        match self.device.runtime().queues().record(&*self.queue, false) {
            Ok(mark) => self.device.retire_queue(&self.queue, mark),
            Err(error) => tracing::warn!(device = %self.device.name(), %error, "a queue with faults was dropped"),
        }
    }
}

impl PartialEq for Queue {
    /// True for handles of one queue.
    fn eq(&self, other: &Queue) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Queue {}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queue({} of {})", self.inner.id, self.inner.device.name())
    }
}
