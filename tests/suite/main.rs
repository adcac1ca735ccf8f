//! The engine from outside, on every device there is, fused and not: recorded cases, mistakes, launches and values.
//!
//! `LAZULI_TEST_DEVICES=host,opencl:0` names the devices; else the host, `opencl:0` and `cuda:0` are taken where they are.

#![allow(
    clippy::reversed_empty_ranges,
    reason = "in `s![]` a negative end counts from the end, and empty ranges are a point"
)]

mod common;

mod long_reductions;
mod oracle;

mod ulps;

mod cases;

mod bad_input;

mod fusion;

mod spans;

mod asynchronous;

mod values;

mod reductions;

mod rust_launch;

mod rows;

mod gather;

mod statistics;

mod device_lost;
mod launch;
mod layouts;

mod module;

mod properties;

mod functions;
mod poclcount;

#[macro_use]
mod rust_kernels;
mod recorded_launches;
mod source_functions;

mod buffer;
mod queues;
