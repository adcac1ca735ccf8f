//! Queues, events and memory operations.

use std::sync::Arc;

use super::CudaRuntime;
use super::mark::CudaMark;
use super::queue::CudaQueue;
use crate::error::Result;
use crate::runtime::explicit::{Mark, Queue, Queues};

impl Queues for CudaRuntime {
    fn main_queue(&self) -> &dyn Queue {
        &self.main
    }

    fn new_queue(&self) -> Result<Arc<dyn Queue>> {
        Ok(Arc::new(CudaQueue::new(&self.handles)?))
    }

    fn synchronize_queue(&self, queue: &dyn Queue) -> Result<()> {
        CudaQueue::of(queue, &self.handles)?.synchronize()
    }

    fn record(&self, queue: &dyn Queue, is_timed: bool) -> Result<Arc<dyn Mark>> {
        Ok(Arc::new(CudaMark::record(CudaQueue::of(queue, &self.handles)?, is_timed)?))
    }

    fn wait(&self, queue: &dyn Queue, mark: &dyn Mark) -> Result<()> {
        CudaMark::of(mark, &self.handles)?.hold_up(CudaQueue::of(queue, &self.handles)?)
    }
}
