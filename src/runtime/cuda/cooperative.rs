//! Cooperative launches, one after the other.
//!
//! Groups that wait for each other must all be running. Two such launches at once could each hold a part of the device and
//! wait for the rest of it for ever; launches of one stream come in turn, and those of several are put in turn here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice};

use super::handles::Handles;

/// Submits a launch that begins when the last one of its kind on the device is done. The context is bound.
pub(super) fn in_turn(
    handles: &Arc<Handles>,
    launch: impl FnOnce() -> Result<(), DriverError>,
) -> Result<(), DriverError> {
    static LAST: Mutex<Option<HashMap<CUdevice, Weak<Handles>>>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let last = last.get_or_insert_default();
    // Handles that are gone waited for their stream.
    if let Some(other) = last.get(&handles.device).and_then(Weak::upgrade)
        && !Arc::ptr_eq(&other, handles)
        && !other.health.is_lost()
    {
        wait_for(&other, handles)?;
    }
    launch()?;
    last.insert(handles.device, Arc::downgrade(handles));
    Ok(())
}

/// Lets the stream of `waiting` wait for all that was submitted to that of `other`.
fn wait_for(other: &Handles, waiting: &Handles) -> Result<(), DriverError> {
    let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)?;
    // SAFETY: both streams live, in the device's one primary context; the event was just made, and the driver keeps a
    // destroyed event until it has come to pass.
    unsafe {
        result::event::record(event, other.stream)
            .and_then(|()| {
                let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
                result::stream::wait_event(waiting.stream, event, flags)
            })
            .and(result::event::destroy(event))
    }
}
