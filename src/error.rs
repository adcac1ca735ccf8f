//! What can go wrong, and whose fault it is.
//!
//! Mistakes in a recorded expression are the user's: they name the operation, the shapes and the line that recorded it,
//! and they are kept in the graph until a value is asked for. Faults of a device carry what the driver said; whatever
//! lists `Driver` among its errors gives `DeviceLost` in its place once the device is lost. `Internal` is ours.

use std::panic::Location;
use std::sync::Arc;

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A place in the user's source.
pub type Place = &'static Location<'static>;

/// Why a value could not be had. Cheap to clone, so that every reader of a failed expression gets it.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two shapes that do not broadcast together.
    #[error("{op}: shapes {lhs:?} and {rhs:?} do not broadcast together, at {at}")]
    ShapeMismatch {
        /// The operation.
        op: &'static str,
        /// Shape of the left operand.
        lhs: Vec<usize>,
        /// Shape of the right operand.
        rhs: Vec<usize>,
        /// The line that recorded it.
        at: Place,
    },
    /// An axis the array does not have, or one named twice.
    #[error("{op}: axis {axis} is {what} for shape {shape:?}, at {at}")]
    InvalidAxis {
        /// The operation.
        op: &'static str,
        /// The axis as given.
        axis: isize,
        /// "out of range" or "given twice".
        what: &'static str,
        /// Shape of the operand.
        shape: Vec<usize>,
        /// The line that recorded it.
        at: Place,
    },
    /// An argument that does not fit the shape: a slice out of range, a reshape that does not fit, an empty minimum.
    #[error("{op}: {what}, for shape {shape:?}, at {at}")]
    InvalidArgument {
        /// The operation.
        op: &'static str,
        /// What is wrong, with the numbers.
        what: String,
        /// Shape of the operand.
        shape: Vec<usize>,
        /// The line that recorded it.
        at: Place,
    },
    /// An index, itself a value, that is out of range. Found where the kernel runs, and told by whoever copies to the host what
    /// was made of it; the device goes on working.
    #[error(
        "{op}: index {} is out of range for {}, for shape {shape:?} and indices of shape {indices:?}, at {at}",
        Beyond(*index), Along(*axis, *extent)
    )]
    IndexOutOfRange {
        /// The operation.
        op: &'static str,
        /// The greatest index past the end, else the least below the start; clamped to what an i32 holds.
        index: i64,
        /// The axis indexed; `None` where all elements are.
        axis: Option<usize>,
        /// Its extent.
        extent: usize,
        /// Shape of the operand.
        shape: Vec<usize>,
        /// Shape of the indices.
        indices: Vec<usize>,
        /// The line that recorded it.
        at: Place,
    },
    /// Operands that live on different devices.
    #[error(
        "{op}: operands of shapes {lhs:?} and {rhs:?} are on different devices, {lhs_device} and {rhs_device}, at {at}; move one with `to(&device)`"
    )]
    DeviceMismatch {
        /// The operation.
        op: &'static str,
        /// Shape of the left operand.
        lhs: Vec<usize>,
        /// Shape of the right operand.
        rhs: Vec<usize>,
        /// Device of the left operand.
        lhs_device: String,
        /// Device of the right operand.
        rhs_device: String,
        /// The line that recorded it.
        at: Place,
    },
    /// The expression is past a limit: more elements than can be addressed, for instance.
    #[error("{op}: {what}, at {at}")]
    LimitExceeded {
        /// The operation.
        op: &'static str,
        /// Which limit, with the numbers.
        what: String,
        /// The line that recorded it.
        at: Place,
    },
    /// No such device here. `looked_for` tells what was tried, one line each.
    #[error("device {name:?} not found; looked for: {}", looked_for.join("; "))]
    DeviceNotFound {
        /// The device asked for.
        name: String,
        /// Libraries, platforms and devices that were tried, and what each gave.
        looked_for: Vec<String>,
    },
    /// The device lacks what the kernel needs (f64, for instance).
    #[error("{device} does not support {what}")]
    Unsupported {
        /// The device.
        device: String,
        /// What is missing.
        what: String,
    },
    /// The device's memory is spent, also after the pool was emptied.
    #[error("{device}: out of memory for {bytes} bytes ({live_bytes} bytes live): {message}")]
    OutOfMemory {
        /// The device.
        device: String,
        /// Bytes asked for.
        bytes: u64,
        /// Bytes then in use.
        live_bytes: u64,
        /// What the driver said.
        message: String,
    },
    /// A kernel did not compile.
    #[error(
        "{device}: kernel {kernel} did not compile with options {options:?}:\n{log}\n--- source ---\n{source_text}"
    )]
    Compile {
        /// The device.
        device: String,
        /// The kernel's name.
        kernel: String,
        /// Compiler options.
        options: String,
        /// The compiler's log.
        log: String,
        /// The whole source.
        source_text: Arc<str>,
    },
    /// The driver refused a launch, a transfer or another call.
    #[error("{device}: {call} failed: {message}")]
    Driver {
        /// The device.
        device: String,
        /// What was called, and for what.
        call: String,
        /// What the driver said.
        message: String,
    },
    /// Host data whose shape or element count does not fit.
    #[error("{op}: {what}")]
    HostData {
        /// The operation.
        op: &'static str,
        /// What does not fit, with the numbers.
        what: String,
    },
    /// A launch that its kernel, the device or the arguments do not allow. Nothing was launched.
    #[error("launch of {kernel}: {what}")]
    InvalidLaunch {
        /// The kernel.
        kernel: String,
        /// What is wrong, with the numbers.
        what: String,
    },
    /// No function or variable of this name in a module.
    #[error("module {module} has no {name:?}{}", Available(available))]
    FunctionNotFound {
        /// The name asked for.
        name: String,
        /// The module.
        module: String,
        /// The names that are there, as far as they are known.
        available: Vec<String>,
    },
    /// An index out of range in a kernel written in Rust that was launched with checks. The access read zero or wrote
    /// nothing, and the device goes on working; see [`Config::checked_kernels`](crate::Config::checked_kernels).
    #[error(
        "kernel {kernel}: index {index} is out of range for {}, in thread {thread:?} of group {group:?}, at {at}",
        Along(Some(*axis), *extent)
    )]
    KernelIndex {
        /// The kernel.
        kernel: String,
        /// The index; the first of those out of range that was noted, of which there may be more.
        index: u64,
        /// The axis indexed.
        axis: usize,
        /// Its extent.
        extent: usize,
        /// The group's number along x, y and z.
        group: [u32; 3],
        /// The thread's number in its group along x, y and z.
        thread: [u32; 3],
        /// File, line and column of the access.
        at: String,
    },
    /// A fault that the driver does not recover from: most often a kernel of the caller's that reached past its memory. What
    /// was on the device is gone, and every later call on it gives this error. Other devices go on working, and so does the
    /// process; [`Device::open`](crate::Device::open) opens the device anew where the driver lets it. CUDA's gives the fault to
    /// every context of the process, so that only a new process has the GPU back: opening it gives this error too.
    #[error("{device} is lost{}: {message}", Suspects(kernels))]
    DeviceLost {
        /// The device.
        device: String,
        /// The hand-written kernels launched since the device was last known to be well: one of them is to blame, where
        /// there is any.
        kernels: Vec<String>,
        /// What the driver said.
        message: String,
    },
    /// A part of a buffer, or a region of a copy, that does not lie in it.
    #[error("{op}: {what}")]
    OutOfRange {
        /// The operation.
        op: &'static str,
        /// Which part of what, with the numbers.
        what: String,
    },
    /// Memory, a queue or an event used in a way that its making or its state forbids: a buffer written against its flags, or
    /// while it is mapped.
    #[error("{op}: {what}")]
    InvalidUse {
        /// The operation.
        op: &'static str,
        /// What forbids it.
        what: String,
    },
    /// A kernel or a function written in Rust that no device can run, for a reason that its macro cannot see: functions that call
    /// each other in a circle, or a barrier in a function.
    #[error("{kernel}: {what}")]
    Kernel {
        /// The kernel or function.
        kernel: String,
        /// What is wrong with it.
        what: String,
    },
    /// A fault of Lazuli itself; please report it.
    #[error("internal fault of lazuli, please report it: {0}")]
    Internal(String),
}

/// An index that was clamped, or not.
struct Beyond(i64);

impl std::fmt::Display for Beyond {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.abs() < i64::from(i32::MAX) {
            true => write!(f, "{}", self.0),
            false => write!(f, "{} or beyond", self.0),
        }
    }
}

/// What an index counts along.
struct Along(Option<usize>, usize);

impl std::fmt::Display for Along {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(axis) => write!(f, "axis {axis} of extent {}", self.1),
            None => write!(f, "{} elements", self.1),
        }
    }
}

/// Names to choose from.
struct Available<'a>(&'a [String]);

impl std::fmt::Display for Available<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            [] => Ok(()),
            names => write!(f, "; it has {}", names.join(", ")),
        }
    }
}

/// Kernels that may have done it.
struct Suspects<'a>(&'a [String]);

impl std::fmt::Display for Suspects<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            [] => Ok(()),
            [kernel] => write!(f, " after a launch of {kernel}"),
            kernels => write!(f, " after launches of {}", kernels.join(", ")),
        }
    }
}

impl std::fmt::Debug for Error {
    /// The message: what `main` prints of an error it returns, and what `unwrap` panics with.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
