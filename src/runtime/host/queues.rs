//! Queues, events and memory operations.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use super::HostRuntime;
use super::queue::HostQueue;
use crate::error::{Error, Result};
use crate::runtime::explicit::{Mark, Queue, Queues};

/// The time at which a place in a queue was passed.
struct HostMark(Instant);

impl Mark for HostMark {
    fn is_done(&self) -> Result<bool> {
        Ok(true)
    }

    fn wait(&self) -> Result<()> {
        Ok(())
    }

    fn nanoseconds_since(&self, earlier: &dyn Mark) -> Result<Option<i64>> {
        let earlier: &dyn Any = earlier;
        let Some(HostMark(earlier)) = earlier.downcast_ref() else {
            return Err(Error::Internal("host: a mark of another runtime".into()));
        };
        let nanoseconds = match self.0.checked_duration_since(*earlier) {
            Some(duration) => i64::try_from(duration.as_nanos()).ok(),
            None => i64::try_from(earlier.duration_since(self.0).as_nanos()).ok().map(|nanoseconds| -nanoseconds),
        };
        Ok(nanoseconds)
    }
}

impl Queues for HostRuntime {
    fn main_queue(&self) -> &dyn Queue {
        &self.main
    }

    fn new_queue(&self) -> Result<Arc<dyn Queue>> {
        Ok(Arc::new(HostQueue))
    }

    fn synchronize_queue(&self, _queue: &dyn Queue) -> Result<()> {
        Ok(())
    }

    fn record(&self, _queue: &dyn Queue, _is_timed: bool) -> Result<Arc<dyn Mark>> {
        Ok(Arc::new(HostMark(Instant::now())))
    }

    fn wait(&self, _queue: &dyn Queue, _mark: &dyn Mark) -> Result<()> {
        Ok(())
    }
}
