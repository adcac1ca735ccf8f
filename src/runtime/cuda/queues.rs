//! Queues, events and memory operations.

use super::CudaRuntime;
use crate::runtime::explicit::{Queue, Queues};

impl Queues for CudaRuntime {
    fn main_queue(&self) -> &dyn Queue {
        &self.main
    }
}
