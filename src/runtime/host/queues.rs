//! Queues, events and memory operations.

use super::HostRuntime;
use crate::runtime::explicit::{Queue, Queues};

impl Queues for HostRuntime {
    fn main_queue(&self) -> &dyn Queue {
        &self.main
    }
}
