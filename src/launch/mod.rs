//! Launches over a grid of the caller's: of a function of a [`Module`](crate::Module), or of a kernel written in Rust.

mod arg;
mod buffer_slice;
mod dim;

pub use arg::{Arg, ScalarArg, SliceArg, SliceMutArg};
pub use dim::Dim3;

use std::any::TypeId;
use std::sync::Arc;

use lazuli_codegen::simt;

use crate::error::Result;
use crate::queue::{Event, Queue};

/// A kernel written in Rust, as `#[lazuli::kernel]` defines it: one type for each set of generic arguments.
pub trait KernelDefinition: 'static {
    /// The function's name in Rust.
    const NAME: &'static str;

    /// The kernel in the IR. Called once a device; what it builds depends on nothing but the type.
    fn build() -> simt::ir::Kernel;
}

/// A kernel with its arguments, ready to be launched over a grid.
#[must_use = "nothing runs before `launch`, `forall` or `submit`"]
pub struct Launch<'a> {
    kernel: KernelSource,
    arguments: Vec<Arg<'a>>,
}

/// What is launched.
enum KernelSource {
    /// A kernel in Rust, compiled for the device of its arguments.
    Rust { name: &'static str, id: TypeId, build: fn() -> simt::ir::Kernel },
    /// A function of a module.
    Module(Arc<dyn crate::runtime::explicit::RawKernel>),
}

impl<'a> Launch<'a> {
    /// A kernel in Rust with its arguments; what the function that `#[lazuli::kernel]` makes gives back.
    #[doc(hidden)]
    pub fn of_kernel<K: KernelDefinition>(arguments: Vec<Arg<'a>>) -> Self {
        let kernel = KernelSource::Rust { name: K::NAME, id: TypeId::of::<K>(), build: K::build };
        Self { kernel, arguments }
    }

    /// Launches over so many groups of so many threads.
    pub fn launch(self, groups: impl Into<Dim3>, threads: impl Into<Dim3>) -> Result<()> {
        let _ = (self, groups.into(), threads.into());
        todo!()
    }

    /// Launches at least `n` threads along x, in groups of a size that suits the device. The kernel itself must leave out
    /// the threads past the end.
    pub fn forall(self, n: usize) -> Result<()> {
        let _ = (self, n);
        todo!()
    }

    /// The same on a queue, after some events; gives the event that marks its end and knows how long it took.
    pub fn submit(
        self,
        queue: &Queue,
        after: &[Event],
        groups: impl Into<Dim3>,
        threads: impl Into<Dim3>,
    ) -> Result<Event> {
        let _ = (self, queue, after, groups.into(), threads.into());
        todo!()
    }
}
