//! Work on memory, put in order with all other work on the same memory.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Event, Queue};
use crate::device::{Device, block_of};
use crate::error::{Error, Result};
use crate::graph::Storage;
use crate::runtime::explicit::{self, Mark};
use crate::runtime::pool::Block;
use crate::runtime::uses::{Before, Marks};

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

/// The places before and after some work.
type Span = (Arc<dyn Mark>, Arc<dyn Mark>);

/// The blocks of some work, and whether it writes each.
type Used<'a> = SmallVec<[(&'a Block, bool); 4]>;

impl Work<'_> {
    /// Submits it.
    pub fn submit<R>(self, submit: impl FnOnce(&dyn explicit::Queue) -> Result<R>) -> Result<R> {
        let (result, _) = self.run(false, submit)?;
        Ok(result)
    }

    /// Submits it, and gives the event that marks its end and knows how long the device took.
    pub fn submit_marked(self, submit: impl FnOnce(&dyn explicit::Queue) -> Result<()>) -> Result<Event> {
        let (device, queue) = (self.device, self.queue);
        match self.run(true, submit)? {
            ((), Some((start, end))) => Ok(Event::new(device, Some(start), end)),
            _ => Err(Error::Internal(format!("work without its marks on {queue:?}"))),
        }
    }

    fn run<R>(
        self,
        is_marked: bool,
        submit: impl FnOnce(&dyn explicit::Queue) -> Result<R>,
    ) -> Result<(R, Option<Span>)> {
        let Work { device, queue, after, reads, writes } = self;
        let queues = device.runtime().queues();
        let raw = queue.map_or(queues.main_queue(), |queue| &**queue.raw());
        if let Some(queue) = queue.filter(|queue| queue.device() != device) {
            let (own, other) = (queue.device().name(), device.name());
            let what = format!("the queue is one of {own}, the memory is on {other}");
            return Err(Error::InvalidUse { op: "submitting to a queue", what });
        }
        let mut used = Used::new();
        for (storages, is_written) in [(reads, false), (writes, true)] {
            for storage in storages {
                used.push((block_of(*storage)?, is_written));
            }
        }
        after.iter().try_for_each(|event| event.hold_up(device, raw))?;
        let before = match queue {
            None => main_waits(queues, &used).map(|()| SmallVec::new())?,
            Some(queue) => queue_waits(queues, queue, &used)?,
        };
        let start = is_marked.then(|| queues.record(raw, true)).transpose()?;
        let outcome = submit(raw);
        // Where only a part of the work was submitted, that part is under way, and others must wait for it.
        let end = match is_marked || queue.is_some() {
            true => match queues.record(raw, is_marked) {
                Ok(end) => Some(end),
                Err(error) => {
                    // Nobody could wait for it later, so it is waited for here; then nothing is left to be noted.
                    queues.synchronize_queue(raw)?;
                    return Err(error);
                }
            },
            false => None,
        };
        match queue.zip(end.as_ref()) {
            Some((queue, end)) => {
                for ((block, is_written), before) in used.iter().zip(&before) {
                    block.uses().after(queue.id(), *is_written, end, before);
                }
            }
            None => {
                for (block, is_written) in used.iter().filter(|(block, _)| block.uses().is_tracked()) {
                    block.uses().after_main(*is_written);
                }
            }
        }
        Ok((outcome?, start.zip(end)))
    }
}

/// Has the main queue wait for other queues' work on the blocks.
fn main_waits(queues: &dyn explicit::Queues, used: &[(&Block, bool)]) -> Result<()> {
    for (block, is_written) in used.iter().filter(|(block, _)| block.uses().is_tracked()) {
        block.uses().before_main(*is_written, &mut |mark| queues.wait(queues.main_queue(), mark))?;
    }
    Ok(())
}

/// Has a queue wait for the work of all others on the blocks.
fn queue_waits(queues: &dyn explicit::Queues, queue: &Queue, used: &[(&Block, bool)]) -> Result<SmallVec<[Before; 4]>> {
    let (mut all, mut marks) = (SmallVec::new(), Marks::new());
    for (block, is_written) in used {
        // A mark for each block: by one that was recorded for an earlier block, reads submitted since would be forgotten.
        let mut main_mark = || queues.record(queues.main_queue(), false);
        let before = block.uses().before(queue.id(), *is_written, &mut main_mark)?;
        for mark in &before.marks {
            if !marks.iter().any(|other| Arc::ptr_eq(other, mark)) {
                marks.push(mark.clone());
            }
        }
        all.push(before);
    }
    marks.iter().try_for_each(|mark| queues.wait(&**queue.raw(), &**mark))?;
    Ok(all)
}
