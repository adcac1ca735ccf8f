//! Queues, events and memory operations.

use super::OpenClRuntime;
use crate::runtime::explicit::{Queue, Queues};

impl Queues for OpenClRuntime {
    fn main_queue(&self) -> &dyn Queue {
        &self.main
    }
}
