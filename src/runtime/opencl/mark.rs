//! Places in queues, as events of marker commands.

use std::any::Any;
use std::ptr;
use std::sync::Arc;

use opencl3::command_queue::{enqueue_barrier_with_wait_list, enqueue_marker_with_wait_list};
use opencl3::error_codes::CL_PROFILING_INFO_NOT_AVAILABLE;
use opencl3::event::{
    CL_EVENT_COMMAND_EXECUTION_STATUS, CL_PROFILING_COMMAND_END, get_event_info, get_event_profiling_info,
    release_event, wait_for_events,
};
use opencl3::types::{cl_event, cl_int};

use super::fault;
use super::handles::Handles;
use super::queue::OpenClQueue;
use crate::error::{Error, Result};
use crate::runtime::explicit::Mark;

/// The event of a marker.
pub(super) struct OpenClMark {
    event: cl_event,
    handles: Arc<Handles>,
}

// SAFETY: an event is a reference to an object of the driver's that any thread may use.
unsafe impl Send for OpenClMark {}
// SAFETY: as above.
unsafe impl Sync for OpenClMark {}

impl OpenClMark {
    /// Marks the place after all that was submitted to the queue, and hands that to the device.
    pub(super) fn record(queue: &OpenClQueue) -> Result<Self> {
        // SAFETY: the queue lives; the wait list is empty, which means all that is before.
        let event = unsafe { enqueue_marker_with_wait_list(queue.queue, 0, ptr::null()) };
        let handles = queue.handles.clone();
        let event = event.map_err(|code| fault::driver(&handles.name, "clEnqueueMarkerWithWaitList", code))?;
        let mark = Self { event, handles };
        queue.flush()?;
        Ok(mark)
    }

    /// Has a queue wait until this is reached.
    pub(super) fn hold_up(&self, queue: &OpenClQueue) -> Result<()> {
        // SAFETY: the queue and the event live, and there is one event in the list.
        let barrier = unsafe { enqueue_barrier_with_wait_list(queue.queue, 1, &raw const self.event) };
        self.handles.finish_enqueue(|| "clEnqueueBarrierWithWaitList".into(), barrier, 0)
    }

    /// A mark as this runtime's own. Errors: `Internal` where another runtime made it.
    pub(super) fn of<'a>(mark: &'a dyn Mark, handles: &Arc<Handles>) -> Result<&'a Self> {
        let mark: &dyn Any = mark;
        match mark.downcast_ref::<Self>() {
            Some(mark) if Arc::ptr_eq(&mark.handles, handles) => Ok(mark),
            _ => Err(Error::Internal(format!("{} was given another runtime's mark", handles.name))),
        }
    }

    fn status(&self) -> Result<cl_int> {
        let status = get_event_info(self.event, CL_EVENT_COMMAND_EXECUTION_STATUS);
        status.map(|status| status.to_int()).map_err(|code| self.handles.wait_fault("clGetEventInfo", code))
    }

    /// The time at which it was reached; none where the queue keeps no times.
    fn nanoseconds(&self) -> Result<Option<u64>> {
        match get_event_profiling_info(self.event, CL_PROFILING_COMMAND_END) {
            Ok(time) => Ok(Some(time.to_ulong())),
            Err(CL_PROFILING_INFO_NOT_AVAILABLE) => Ok(None),
            Err(code) => Err(fault::driver(&self.handles.name, "clGetEventProfilingInfo", code)),
        }
    }
}

impl Mark for OpenClMark {
    fn is_done(&self) -> Result<bool> {
        match self.status()? {
            0 => Ok(true),
            fault if fault < 0 => Err(self.handles.wait_fault("a command before an event", fault)),
            _ => Ok(false),
        }
    }

    fn wait(&self) -> Result<()> {
        self.handles.alive()?;
        wait_for_events(&[self.event]).map_err(|code| self.handles.wait_fault("clWaitForEvents", code))
    }

    fn nanoseconds_since(&self, earlier: &dyn Mark) -> Result<Option<i64>> {
        let earlier = Self::of(earlier, &self.handles)?.nanoseconds()?;
        Ok(earlier.zip(self.nanoseconds()?).map(|(earlier, own)| own.wrapping_sub(earlier) as i64))
    }
}

impl Drop for OpenClMark {
    fn drop(&mut self) {
        // SAFETY: the enqueue made this event with one reference, which is ours.
        if let Err(code) = unsafe { release_event(self.event) } {
            self.handles.log_release("clReleaseEvent", &fault::text(code));
        }
    }
}
