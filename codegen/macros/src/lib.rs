//! Kernels, device functions and element-wise functions written in Rust. Use them through the crate `lazuli`.
#![forbid(unsafe_code)]
