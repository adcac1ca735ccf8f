//! Lazuli is a lazy array engine: NumPy-style Rust code is recorded, cut into the fewest kernels its data flow allows, and
//! run as CUDA C, OpenCL C or on the host.
//!
//! ```
//! use lazuli::prelude::*;
//!
//! let device = Device::auto()?;
//! let a = device.to_device(&ndarray::Array1::<f32>::linspace(0.0, 1.0, 1000))?;
//! let doubled = &a * 2.0; // recorded, not run
//! let host = doubled.get()?; // one kernel
//! assert_eq!(host[[999]], 2.0);
//! # Ok::<(), lazuli::Error>(())
//! ```

// What the macros write names the crate from outside; the crate's own tests use them too.
extern crate self as lazuli;

pub mod dtype;
pub mod error;

mod config;
mod shape;

mod array;

mod buffer;

mod queue;

mod launch;

mod function;

pub mod kernel;

mod module;

mod graph;

mod fuse;

mod lower;

mod cache;

mod runtime;

mod device;

mod plan;

mod compile;

mod check;

mod evaluate;

mod explain;

#[cfg(test)]
mod dispatch_cost;

#[cfg(test)]
mod posing;

pub mod prelude;

pub mod coming_from;

pub use array::{Array, Arrays, Fetch, IntoShape, Norm, Operand, eval, get};
pub use buffer::{
    Buffer, BufferSlice, BufferSliceMut, BufferSource, BufferTarget, HostBuffer, Mapped, MappedMut, MemFlags, Rect,
    Transfer,
};
pub use config::Config;
pub use device::{Counters, Device, DeviceInfo};
pub use dtype::{Bits, DType, Element, Float, Integer, Number, Signed, bf16, f16};
pub use error::{Error, Result};
pub use explain::{Explanation, KernelExplanation};
pub use function::{AnyOperand, CombineFunction, ElementwiseKernel, FunctionDefinition, ReductionKernel, ScanKernel};
pub use launch::{
    Arg, Dim3, IntoArg, KernelDefinition, Launch, LocalMem, Output, ScalarArg, SliceArg, SliceMutArg, Struct,
};
pub use lazuli_macros::{device, elementwise, kernel};
pub use module::{Function, Global, Language, Module, ModuleBuilder, Occupancy};
pub use queue::{Event, EventFuture, Queue};
pub use runtime::explicit::KernelAttributes;

/// The crate whose arrays go in and come out, and whose `s![]` makes slices.
pub use ndarray;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
