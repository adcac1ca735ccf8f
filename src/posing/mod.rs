//! Devices that pose as others, for tests from graph to values: lowering takes them for what their facts say, and what it
//! makes of that runs where there is no such device.

#[cfg(feature = "opencl")]
mod gpu;
mod small;
