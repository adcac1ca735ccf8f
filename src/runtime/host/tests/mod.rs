//! Kernels built by hand, each against plain scalar Rust.

mod bench;
mod build;
mod elementwise;
mod functions;
mod indexing;
mod operations;
mod reductions;
mod rows;
