//! The CUDA driver's error codes as errors of Lazuli.

use cudarc::driver::result::DriverError;
use cudarc::driver::sys::CUresult;

use super::contexts;
use crate::error::Error;

/// The code's name and what the driver says of it, such as `CUDA_ERROR_INVALID_VALUE (1): invalid argument`.
pub(super) fn text(error: DriverError) -> String {
    match error.error_string() {
        Ok(said) => format!("{:?} ({}): {}", error.0, error.0 as u32, said.to_string_lossy()),
        Err(_) => format!("{:?} ({})", error.0, error.0 as u32),
    }
}

/// A call that failed for a reason of the driver's own: `DeviceLost` where the context is of no more use.
pub(super) fn driver(device: &str, call: impl Into<String>, error: DriverError) -> Error {
    match contexts::is_loss(error.0) {
        true => contexts::lose(device, format!("{} gave {}", call.into(), text(error))),
        false => plain(device, call, error),
    }
}

/// The same for calls that use no context, or make one.
pub(super) fn plain(device: &str, call: impl Into<String>, error: DriverError) -> Error {
    Error::Driver { device: device.into(), call: call.into(), message: text(error) }
}

/// A failed request for `bytes` bytes: out of memory where the code says so.
pub(super) fn allocation(device: &str, call: &str, error: DriverError, bytes: u64, live_bytes: u64) -> Error {
    match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::OutOfMemory {
            device: device.into(),
            bytes,
            live_bytes,
            message: format!("{call} gave {}", text(error)),
        },
        _ => driver(device, format!("{call} of {bytes} bytes"), error),
    }
}

/// True at the end of the process, when the driver has shut down before us and has freed everything itself.
pub(super) fn is_shutdown(error: DriverError) -> bool {
    matches!(error.0, CUresult::CUDA_ERROR_DEINITIALIZED | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED)
}

/// Logs what a destructor cannot return. After a fault in a kernel every call fails, and the fault itself was reported
/// where somebody waited, so this is no warning.
pub(super) fn log_release(device: &str, call: &str, result: Result<(), DriverError>) {
    match result {
        Err(error) if !is_shutdown(error) => tracing::debug!(device, "{call} gave {}", text(error)),
        _ => {}
    }
}
