//! Kernels and functions of the SIMT IR on the host.
//!
//! The threads of a group run in step, as the lanes of vectors: every expression is computed for all of them by the loops of
//! [`super::ops`], so that results are those of lazy arrays, bit for bit, and masks say which lanes an assignment, a read, a
//! write or an atomic is for. Arithmetic never traps, so what masked lanes compute does no harm. A loop runs while any lane
//! is in it. A barrier then only has to see that all lanes are there.
//!
//! `lower` makes a [`program::Program`] of the IR, `frame` runs it for one group at a time, `control` decides which lanes go
//! where, `access` reads and writes, `atomic` what no other group may come between; `launch` deals groups to cores, and
//! `function` runs a function over vectors of elements.

mod access;
mod advance;
mod atomic;
mod control;
mod frame;
mod function;
mod launch;
mod lower;
mod mask;
mod program;
mod words;

#[cfg(test)]
mod tests;

pub use function::HostFunction;
pub use launch::{HostKernel, launch};
