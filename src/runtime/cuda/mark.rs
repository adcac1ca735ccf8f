//! Places in streams, as events.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use cudarc::driver::result::{self, DriverError, event};
use cudarc::driver::sys::{self, CUevent, CUevent_flags_enum as EventFlags, CUresult};

use super::fault;
use super::handles::Handles;
use super::queue::CudaQueue;
use crate::error::{Error, Result};
use crate::runtime::explicit::Mark;

/// One event, recorded once.
pub(super) struct CudaMark {
    event: CUevent,
    is_timed: bool,
    handles: Arc<Handles>,
}

// SAFETY: an event is a reference to an object of the driver's, which any thread may use once the context is bound.
unsafe impl Send for CudaMark {}
// SAFETY: as above.
unsafe impl Sync for CudaMark {}

impl CudaMark {
    /// Marks the place after all that was submitted to the stream.
    pub(super) fn record(queue: &CudaQueue, is_timed: bool) -> Result<Self> {
        let handles = queue.handles.clone();
        handles.bind()?;
        let flags = if is_timed { EventFlags::CU_EVENT_DEFAULT } else { EventFlags::CU_EVENT_DISABLE_TIMING };
        let event = event::create(flags).map_err(|error| fault::driver(&handles.name, "cuEventCreate", error))?;
        let mark = Self { event, is_timed, handles };
        // SAFETY: the event was just made, and the stream lives.
        unsafe { event::record(mark.event, queue.stream) }.map_err(|error| mark.failed("cuEventRecord", error))?;
        Ok(mark)
    }

    /// Has a stream wait until this is reached.
    pub(super) fn hold_up(&self, queue: &CudaQueue) -> Result<()> {
        self.handles.bind()?;
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: both live, in one context.
        unsafe { result::stream::wait_event(queue.stream, self.event, flags) }
            .map_err(|error| self.failed("cuStreamWaitEvent", error))
    }

    /// A mark as this runtime's own. Errors: `Internal` where another runtime made it.
    pub(super) fn of<'a>(mark: &'a dyn Mark, handles: &Arc<Handles>) -> Result<&'a Self> {
        let mark: &dyn Any = mark;
        match mark.downcast_ref::<Self>() {
            Some(mark) if Arc::ptr_eq(&mark.handles, handles) => Ok(mark),
            _ => Err(Error::Internal(format!("{} was given another runtime's mark", handles.name))),
        }
    }

    fn failed(&self, call: &str, error: DriverError) -> Error {
        fault::driver(&self.handles.name, call, error)
    }
}

impl Mark for CudaMark {
    fn is_done(&self) -> Result<bool> {
        self.handles.bind()?;
        // SAFETY: the event lives, and the context is bound.
        match unsafe { event::query(self.event) } {
            Ok(()) => Ok(true),
            Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            Err(error) => Err(self.failed("cuEventQuery", error)),
        }
    }

    fn wait(&self) -> Result<()> {
        self.handles.bind()?;
        // SAFETY: as above.
        unsafe { sys::cuEventSynchronize(self.event) }
            .result()
            .map_err(|error| self.failed("cuEventSynchronize", error))
    }

    fn nanoseconds_since(&self, earlier: &dyn Mark) -> Result<Option<i64>> {
        let earlier = Self::of(earlier, &self.handles)?;
        if !self.is_timed || !earlier.is_timed {
            return Ok(None);
        }
        self.handles.bind()?;
        let mut milliseconds = 0.0f32;
        // SAFETY: the function is the driver's of this name and type; both events live, and the number is ours to write.
        let outcome = unsafe {
            let elapsed = elapsed_time().map_err(|why| Error::Driver {
                device: self.handles.name.clone(),
                call: "cuEventElapsedTime".into(),
                message: why.into(),
            })?;
            elapsed(&raw mut milliseconds, earlier.event, self.event)
        };
        outcome.result().map_err(|error| self.failed("cuEventElapsedTime", error))?;
        Ok(Some((f64::from(milliseconds) * 1e6) as i64))
    }
}

/// `cuEventElapsedTime`, which every driver has. cudarc offers for CUDA 13 only its second version, which drivers before 12.8
/// lack, and panics there.
type ElapsedTime = unsafe extern "C" fn(*mut f32, CUevent, CUevent) -> CUresult;

fn elapsed_time() -> Result<ElapsedTime, &'static str> {
    static FOUND: OnceLock<Option<ElapsedTime>> = OnceLock::new();
    let find = || {
        // SAFETY: the library is loaded, or no mark could have been made; the symbol has this type in every version of CUDA.
        unsafe { sys::culib().get::<ElapsedTime>(b"cuEventElapsedTime\0") }.ok().map(|symbol| *symbol)
    };
    FOUND.get_or_init(find).ok_or("the driver's library lacks it")
}

impl Drop for CudaMark {
    fn drop(&mut self) {
        // SAFETY: made by `record`, and nobody else has it. The driver keeps an event that is not reached yet.
        let destroyed = self.handles.try_bind().and_then(|()| unsafe { event::destroy(self.event) });
        fault::log_release(&self.handles.name, "cuEventDestroy", destroyed);
    }
}
