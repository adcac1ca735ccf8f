//! Queues, events and memory operations.

use std::sync::Arc;

use super::OpenClRuntime;
use super::mark::OpenClMark;
use super::queue::OpenClQueue;
use crate::error::Result;
use crate::runtime::explicit::{Mark, Queue, Queues};

impl Queues for OpenClRuntime {
    fn main_queue(&self) -> &dyn Queue {
        &self.main
    }

    fn new_queue(&self) -> Result<Arc<dyn Queue>> {
        Ok(Arc::new(OpenClQueue::new(&self.handles)?))
    }

    fn synchronize_queue(&self, queue: &dyn Queue) -> Result<()> {
        OpenClQueue::of(queue, &self.handles)?.finish()
    }

    fn record(&self, queue: &dyn Queue, _is_timed: bool) -> Result<Arc<dyn Mark>> {
        Ok(Arc::new(OpenClMark::record(OpenClQueue::of(queue, &self.handles)?)?))
    }

    fn wait(&self, queue: &dyn Queue, mark: &dyn Mark) -> Result<()> {
        OpenClMark::of(mark, &self.handles)?.hold_up(OpenClQueue::of(queue, &self.handles)?)
    }
}
