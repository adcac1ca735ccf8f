//! Kernels that say themselves what each thread does: the SIMT IR that kernels written in Rust enter at.
//!
//! The structured IR of [`crate::ir`] says what is computed; a schedule decides who computes it. Here the threads of a grid are
//! the program: they are numbered, share arrays, meet at barriers and raise atomics.

pub mod function;
pub mod ir;

pub use function::Function;
pub use ir::NOTE_BYTES;
