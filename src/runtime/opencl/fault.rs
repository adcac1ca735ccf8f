//! OpenCL's error codes as errors of Lazuli.

use opencl3::error_codes::{
    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_INVALID_BUFFER_SIZE, CL_INVALID_COMMAND_QUEUE,
    CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES, error_text,
};
use opencl3::types::cl_int;

use crate::error::Error;

/// The code's name and number, such as `CL_OUT_OF_RESOURCES (-5)`.
pub(super) fn text(code: cl_int) -> String {
    format!("{} ({code})", error_text(code))
}

/// NVIDIA's code for a fault in a kernel, such as an address that is not its own.
const NVIDIA_FAULT: cl_int = -9999;

/// True for codes after which the context is of no more use. Our queues are valid as long as we hold them, so one that is not
/// was lost with its context: NVIDIA's driver says so after a fault.
pub(super) fn is_loss(code: cl_int) -> bool {
    matches!(code, NVIDIA_FAULT | CL_INVALID_COMMAND_QUEUE)
}

/// True for codes by which a wait tells of a fault in what ran before it.
pub(super) fn is_loss_of_wait(code: cl_int) -> bool {
    is_loss(code) || matches!(code, CL_OUT_OF_RESOURCES | CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
}

/// A call that failed for a reason of the driver's own.
pub(super) fn driver(device: &str, call: impl Into<String>, code: cl_int) -> Error {
    Error::Driver { device: device.into(), call: call.into(), message: text(code) }
}

/// A failed request for `bytes` bytes: out of memory where the code says so.
pub(super) fn allocation(device: &str, call: &str, code: cl_int, bytes: u64, live_bytes: u64) -> Error {
    match code {
        CL_MEM_OBJECT_ALLOCATION_FAILURE | CL_OUT_OF_RESOURCES | CL_OUT_OF_HOST_MEMORY | CL_INVALID_BUFFER_SIZE => {
            Error::OutOfMemory {
                device: device.into(),
                bytes,
                live_bytes,
                message: format!("{call} gave {}", text(code)),
            }
        }
        _ => driver(device, format!("{call} of {bytes} bytes"), code),
    }
}

/// A failed launch or transfer. Drivers put off backing a buffer until its first use, so a lack of memory may show only
/// here; `CL_OUT_OF_RESOURCES` is not taken for it, because some drivers report a fault in a kernel that way.
pub(super) fn enqueue(device: &str, call: &str, code: cl_int, bytes: u64, live_bytes: u64) -> Error {
    match code {
        CL_MEM_OBJECT_ALLOCATION_FAILURE | CL_OUT_OF_HOST_MEMORY => allocation(device, call, code, bytes, live_bytes),
        _ => driver(device, call, code),
    }
}
