//! The primary context of each device, and its health: all that is opened on one device shares both.
//!
//! Some faults in a kernel leave the context failing every later call. On the drivers we know, every other context of the
//! process then fails alike, also one made after the faulty one was reset or destroyed (tried with driver 580: faults 700, 716
//! and 719); only a new process has the device back. Opening tries once all the same, should a driver come that does better.
//!
//! A reset destroys all that was in the context. Whoever still holds something of it must not call the driver with it again,
//! since what is made next may lie at the same address: their [`Health`] stays that of the lost context,
//! [`Handles::bind`](super::handles::Handles::bind) refuses, and what they held is left to the driver.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::result::{DriverError, ctx, primary_ctx};
use cudarc::driver::sys::{self, CUcontext, CUdevice, CUresult};

use super::fault;
use crate::error::{Error, Result};
use crate::runtime::health::Health;

/// The health of the context that each device now has, by the device's name.
static CONTEXTS: Mutex<Option<HashMap<String, Arc<Health>>>> = Mutex::new(None);

/// Takes the primary context of a device, fresh where the last one was lost and the driver lets it, and makes it current on this
/// thread. To be released by who takes it, unless it is lost. Errors: `DeviceLost`; `Driver`.
pub(super) fn retain(name: &str, device: CUdevice) -> Result<(CUcontext, Arc<Health>)> {
    let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let contexts = contexts.get_or_insert_default();
    let health = contexts.entry(name.to_string()).or_insert_with(|| Arc::new(Health::new(name)));
    if !health.is_lost() {
        match take(device) {
            Ok(context) => return Ok((context, health.clone())),
            // Lost by somebody else in this process, or by us where nobody has heard of it yet.
            Err(error) if is_loss(error.0) => health.lose(format!("the context gave {}", fault::text(error))),
            Err(error) => return Err(fault::plain(name, "cuDevicePrimaryCtxRetain", error)),
        };
    }
    match reset(device).and_then(|()| take(device)) {
        Ok(context) => {
            *health = Arc::new(Health::new(name));
            Ok((context, health.clone()))
        }
        Err(error) => Err(for_good(health, error)),
    }
}

/// The error of a device that does not come back.
fn for_good(health: &Health, error: DriverError) -> Error {
    let advice = format!(
        "the driver gives the fault to every context of this process (a fresh one gave {}): a new process has the device \
         back, and other devices go on working",
        fault::text(error)
    );
    match health.check() {
        Err(Error::DeviceLost { device, kernels, message }) => {
            Error::DeviceLost { device, kernels, message: format!("{message}; {advice}") }
        }
        Err(other) => other,
        Ok(()) => Error::Internal(format!("a device that is not lost: {advice}")),
    }
}

/// The error of a fault after which the context is of no more use.
pub(super) fn lose(name: &str, message: String) -> Error {
    let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let health = contexts.get_or_insert_default().entry(name.to_string());
    health.or_insert_with(|| Arc::new(Health::new(name))).lose(message)
}

/// The loss of a device's context, if it is lost.
pub(super) fn loss(name: &str) -> Option<Error> {
    let contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    contexts.as_ref()?.get(name)?.check().err()
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
fn reset(device: CUdevice) -> Result<(), DriverError> {
    // SAFETY: the device came from cuDeviceGet. The context is lost: nobody of ours calls the driver with it any more, and
    // nobody else could.
    unsafe { sys::cuDevicePrimaryCtxReset_v2(device) }.result()
}
