//! The primary context of each device, and its health: all that is opened on one device shares both.
//!
//! Some faults in a kernel leave the context failing every later call. The driver then takes a reset of the primary context,
//! which the next opening makes; it destroys all that was in it. Whoever still holds something of the old context must not call
//! the driver with it again, since what is made next may lie at the same address: their [`Health`] stays that of the lost
//! context, [`Handles::bind`](super::handles::Handles::bind) refuses, and what they held is left to the driver.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::result::{DriverError, ctx, primary_ctx};
use cudarc::driver::sys::{self, CUcontext, CUdevice, CUresult};

use super::fault;
use crate::error::{Error, Result};
use crate::runtime::health::Health;

/// The health of the context that each device now has, by the device's name.
static CONTEXTS: Mutex<Option<HashMap<String, Arc<Health>>>> = Mutex::new(None);

/// Takes the primary context of a device, fresh where the last one was lost, and makes it current on this thread. To be
/// released by who takes it, unless it is lost.
pub(super) fn retain(name: &str, device: CUdevice) -> Result<(CUcontext, Arc<Health>)> {
    let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let contexts = contexts.get_or_insert_default();
    if contexts.get(name).is_some_and(|health| health.is_lost()) {
        reset(name, device)?;
        contexts.remove(name);
    }
    let mut taken = take(device);
    if let Err(error) = taken
        && is_loss(error.0)
    {
        // Lost by somebody else in this process, of which nothing was heard until now.
        if let Some(health) = contexts.remove(name) {
            health.lose(format!("cuDevicePrimaryCtxRetain gave {}", fault::text(error)));
        }
        reset(name, device)?;
        taken = take(device);
    }
    let context = taken.map_err(|error| fault::plain(name, "cuDevicePrimaryCtxRetain", error))?;
    let health = contexts.entry(name.to_string()).or_insert_with(|| Arc::new(Health::new(name)));
    Ok((context, health.clone()))
}

/// The error of a fault after which the context is of no more use.
pub(super) fn lose(name: &str, message: String) -> Error {
    let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let health = contexts.get_or_insert_default().entry(name.to_string());
    health.or_insert_with(|| Arc::new(Health::new(name))).lose(message)
}

/// True for the faults that stay with the context: the driver's documentation says of each that the context can no longer be
/// used.
pub(super) fn is_loss(code: CUresult) -> bool {
    matches!(
        code,
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
    )
}

/// Retains the primary context, makes it current and asks it for an answer.
fn take(device: CUdevice) -> Result<CUcontext, DriverError> {
    // SAFETY: the device came from cuDeviceGet.
    let context = unsafe { primary_ctx::retain(device) }?;
    // SAFETY: the context was just retained.
    let answered = unsafe { ctx::set_current(context) }.and_then(|()| ctx::synchronize());
    match answered {
        Ok(()) => Ok(context),
        Err(error) => {
            // SAFETY: retained above, and nobody else has it from us. Its failure would add nothing to the first.
            let _ = unsafe { primary_ctx::release(device) };
            Err(error)
        }
    }
}

/// Destroys the primary context with all that is in it.
fn reset(name: &str, device: CUdevice) -> Result<()> {
    // SAFETY: the device came from cuDeviceGet. The context is lost: nobody of ours calls the driver with it any more, and
    // nobody else could.
    unsafe { sys::cuDevicePrimaryCtxReset_v2(device) }
        .result()
        .map_err(|error| fault::plain(name, "cuDevicePrimaryCtxReset", error))
}
