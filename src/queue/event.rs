//! Events: places in queues, to be waited for, asked and timed.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::watch;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::runtime::explicit::{self, Mark};

/// A place in a queue: done once all that was submitted before it is.
///
/// Cheap to clone. It can be waited for here ([`wait`](Event::wait)), by another queue ([`Queue::wait_for`](super::Queue)), by a
/// callback, or by `.await`, on any executor: what wakes the task is a thread of Lazuli's own.
///
/// ```
/// use lazuli::Device;
///
/// let queue = Device::host()?.queue()?;
/// let (before, after) = (queue.record()?, queue.record()?);
/// after.wait()?;
/// let between = after.elapsed_since(&before)?;
/// assert!(between.as_secs() < 60);
/// # Ok::<(), lazuli::Error>(())
/// ```
#[derive(Clone)]
pub struct Event {
    inner: Arc<Inner>,
}

struct Inner {
    device: Device,
    /// The place before the command that it marks; none where it marks but a place.
    start: Option<Arc<dyn Mark>>,
    end: Arc<dyn Mark>,
}

impl Event {
    pub(super) fn new(device: &Device, start: Option<Arc<dyn Mark>>, end: Arc<dyn Mark>) -> Self {
        Self { inner: Arc::new(Inner { device: device.clone(), start, end }) }
    }

    /// The device whose work it marks.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// Waits until it is done.
    ///
    /// Errors: `Driver`, where what was before it failed on the device.
    pub fn wait(&self) -> Result<()> {
        self.inner.end.wait()
    }

    /// True once it is done.
    ///
    /// Errors: as [`wait`](Event::wait).
    pub fn is_done(&self) -> Result<bool> {
        self.inner.end.is_done()
    }

    /// How long the device took for the command that it marks, by the device's clock. Waits until it is done.
    ///
    /// On CUDA, between two events around the command (in steps of about half a microsecond); on OpenCL, between the profiling
    /// times of two markers around it, so that a queue that was idle also counts how long the command took to arrive; on the
    /// host, the time of the call.
    ///
    /// Errors: `InvalidUse` for a place that marks no command ([`Queue::record`](super::Queue::record)), and for work on the
    /// queue of lazy work where that keeps no times (OpenCL); as [`wait`](Event::wait).
    pub fn duration(&self) -> Result<Duration> {
        const OP: &str = "Event::duration";
        let Some(start) = &self.inner.start else {
            let what = "the event marks a place, not a command; use `elapsed_since` between two".to_string();
            return Err(Error::InvalidUse { op: OP, what });
        };
        self.since(OP, start)
    }

    /// The time from an earlier event of the same device to this one, by the device's clock. Waits until both are done.
    ///
    /// Errors: `InvalidUse` for events of two devices, for an `earlier` one that is the later, and where the queue keeps no
    /// times; as [`wait`](Event::wait).
    pub fn elapsed_since(&self, earlier: &Event) -> Result<Duration> {
        const OP: &str = "Event::elapsed_since";
        if self.inner.device != earlier.inner.device {
            let (own, other) = (self.inner.device.name(), earlier.inner.device.name());
            let what = format!("events of different devices, {own} and {other}, have no clock in common");
            return Err(Error::InvalidUse { op: OP, what });
        }
        self.since(OP, &earlier.inner.end)
    }

    /// Calls a function once it is done, with what [`wait`](Event::wait) would give; at once, or soon after.
    ///
    /// It runs on a thread of Lazuli's that serves all callbacks of the process, never on one of the driver's, so that it may
    /// use devices. It should be short.
    pub fn on_done(&self, callback: impl FnOnce(Result<()>) + Send + 'static) {
        watch::add(self.clone(), Box::new(callback));
    }

    /// Has a queue of a device wait for it.
    pub(super) fn hold_up(&self, device: &Device, queue: &dyn explicit::Queue) -> Result<()> {
        match self.inner.device == *device {
            true => device.runtime().queues().wait(queue, &*self.inner.end),
            false => self.wait(),
        }
    }

    fn since(&self, op: &'static str, start: &Arc<dyn Mark>) -> Result<Duration> {
        start.wait()?;
        self.wait()?;
        match self.inner.end.nanoseconds_since(&**start)? {
            Some(nanoseconds) => u64::try_from(nanoseconds).map(Duration::from_nanos).map_err(|_| Error::InvalidUse {
                op,
                what: format!("the other event is the later one, by {} ns", -i128::from(nanoseconds)),
            }),
            None => {
                let what = format!("the queue of lazy work on {} keeps no times", self.inner.device.name());
                Err(Error::InvalidUse { op, what })
            }
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event(on {}, done: {:?})", self.inner.device.name(), self.is_done())
    }
}

impl IntoFuture for Event {
    type Output = Result<()>;
    type IntoFuture = EventFuture;

    fn into_future(self) -> EventFuture {
        EventFuture { event: self, waker: None }
    }
}

/// An event as a future, with what [`Event::wait`] would give. Belongs to no executor.
#[must_use = "futures do nothing unless awaited"]
pub struct EventFuture {
    event: Event,
    /// Whom to wake; shared with the callback, once there is one.
    waker: Option<Arc<Mutex<Waker>>>,
}

impl Future for EventFuture {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let newest = |waker: &Mutex<Waker>| waker.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(waker) = &self.waker {
            // The task may have moved since. Set before the question below, else a callback in between would wake the old one.
            waker.lock().unwrap_or_else(PoisonError::into_inner).clone_from(context.waker());
        }
        match self.event.is_done() {
            Ok(false) => {}
            Ok(true) => return Poll::Ready(Ok(())),
            Err(error) => return Poll::Ready(Err(error)),
        }
        if self.waker.is_none() {
            let waker = Arc::new(Mutex::new(context.waker().clone()));
            self.waker = Some(waker.clone());
            self.event.on_done(move |_| newest(&waker).wake());
        }
        Poll::Pending
    }
}

impl fmt::Debug for EventFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventFuture({:?})", self.event)
    }
}
