//! Queues and events: work that its user puts in order.

use crate::device::Device;
use crate::error::Result;
use crate::graph::Storage;
use crate::runtime::explicit;

/// A queue of a device beside the one that lazy work goes to.
pub struct Queue {
    device: Device,
}

/// A mark in a queue: done once all that was submitted before it is.
#[derive(Clone)]
pub struct Event {}

/// Work on memory, to be submitted in order with all other work on the same memory, whatever queue that is on.
pub(crate) struct Work<'a> {
    /// Where it runs.
    pub device: &'a Device,
    /// The queue; none for the one of lazy work.
    pub queue: Option<&'a Queue>,
    /// What must be done before.
    pub after: &'a [Event],
    /// Memory read.
    pub reads: &'a [&'a dyn Storage],
    /// Memory written.
    pub writes: &'a [&'a dyn Storage],
}

impl Work<'_> {
    /// Submits it.
    pub fn submit(self, submit: impl FnOnce(&dyn explicit::Queue) -> Result<()>) -> Result<()> {
        submit(self.device.runtime().queues().main_queue())
    }

    /// Submits it, and gives the event that marks its end and knows how long the device took.
    pub fn submit_marked(self, submit: impl FnOnce(&dyn explicit::Queue) -> Result<()>) -> Result<Event> {
        submit(self.device.runtime().queues().main_queue())?;
        Ok(Event {})
    }
}

impl Queue {
    /// The device it is a queue of.
    pub fn device(&self) -> &Device {
        &self.device
    }
}
