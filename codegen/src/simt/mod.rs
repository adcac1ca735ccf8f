//! Kernels that say themselves what each thread does: the SIMT IR that kernels written in Rust enter at.
//!
//! The structured IR of [`crate::ir`] says what is computed; a schedule decides who computes it. Here the threads of a grid are
//! the program: they are numbered, share arrays, meet at barriers and raise atomics.
//!
//! `ir` and `function` are the IR, `scope` says what its numbers stand for, `walk` visits it, `meeting` asks whether all come to its
//! barriers, [`verify()`] refuses what makes no
//! sense, [`emit()`] prints the rest, and [`sites`] tells where in the user's source an index was out of range.

pub mod function;
pub mod ir;

mod meeting;
mod scope;
mod sites;
mod verify;
mod walk;

pub mod emit;

pub use emit::emit;
pub use function::Function;
pub use ir::NOTE_BYTES;
pub use meeting::may_miss_barrier;
pub use scope::{MemoryInfo, Scope};
pub use sites::{first_sites, has_sites, reached_functions, sites};
pub use verify::{MAX_DEPTH, verify, verify_function};
pub use walk::{Node, walk};
