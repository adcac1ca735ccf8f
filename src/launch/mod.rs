//! Launches over a grid of the caller's: of a function of a [`Module`](crate::Module), or of a kernel written in Rust.

mod arg;
mod definition;
mod dim;
mod output;
mod record;
mod rust_kernel;
mod submit;
mod value;

pub use arg::{Arg, IntoArg, LocalMem, ScalarArg, SliceArg, SliceMutArg, Struct};
pub use definition::KernelDefinition;
pub use dim::Dim3;
pub use output::Output;
pub(crate) use rust_kernel::{RustKernel, RustKernelKey, RustSource};

pub(crate) use arg::{ArgKind, SliceOf};

use std::panic::Location;
use std::time::Duration;

use self::submit::{Place, Size};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::module::FunctionOf;
use crate::queue::{Event, Queue};

/// A kernel with its arguments, ready to be launched over a grid: what a function of a [`Module`](crate::Module) and a kernel
/// written in Rust give when they are called.
///
/// A launch is put in order with all other work on the same memory, whatever queue that is on, and does not wait for its end.
/// An array it reads is computed first. An array it writes (`&mut`) is bound to the new value; whoever recorded or cloned the
/// old one keeps that.
///
/// What is checked before anything is launched, and comes as an [`Error::InvalidLaunch`]: the count and the kinds of the
/// arguments (for functions of a module as far as the compiler tells them), the device they are on, the flags of buffers,
/// where parts of buffers begin ([`Buffer::slice`](crate::Buffer::slice)), and the device's limits. A grid of no groups is no error, and launches nothing, as an array of no elements needs no thread;
/// a group of no threads is one.
///
/// Kernels in Rust check their indices on CPUs, and where [`Config::checked_kernels`](crate::Config::checked_kernels) says so;
/// such a launch waits for its end, to tell an index out of range as an [`Error::KernelIndex`]. Functions of a module are the
/// device's own code and check nothing: one that reaches past its memory may end the process on a CPU, and lose the device on
/// a GPU ([`Error::DeviceLost`]).
#[must_use = "nothing runs before `launch`, `forall`, `submit` or `timed`"]
pub struct Launch<'a> {
    kernel: KernelSource,
    arguments: Vec<Arg<'a>>,
    device: Option<Device>,
    local_bytes: usize,
}

/// What is launched.
#[derive(Clone)]
enum KernelSource {
    /// A kernel in Rust, compiled for the device of its arguments.
    Rust(RustSource),
    /// A function of a module.
    Function(FunctionOf),
}

impl<'a> Launch<'a> {
    /// A kernel in Rust with its arguments; what the function that `#[lazuli::kernel]` makes gives back.
    #[doc(hidden)]
    pub fn of_kernel<K: KernelDefinition>(arguments: Vec<Arg<'a>>) -> Self {
        Self::new(KernelSource::Rust(RustSource::of::<K>()), arguments)
    }

    /// A kernel of the engine's own in the SIMT IR.
    pub(crate) fn of_source(source: RustSource, arguments: Vec<Arg<'a>>) -> Self {
        Self::new(KernelSource::Rust(source), arguments)
    }

    pub(crate) fn of_function(function: FunctionOf, arguments: Vec<Arg<'a>>) -> Self {
        Self::new(KernelSource::Function(function), arguments)
    }

    fn new(kernel: KernelSource, arguments: Vec<Arg<'a>>) -> Self {
        Self { kernel, arguments, device: None, local_bytes: 0 }
    }

    /// The device to run on, for a kernel in Rust none of whose arguments is memory; where one is, it runs there.
    pub fn on(self, device: &Device) -> Self {
        Self { device: Some(device.clone()), ..self }
    }

    /// So many bytes of memory for each group beside what the kernel declares with a fixed length: CUDA's dynamic shared
    /// memory, and the array of a kernel in Rust whose length the launch sets. In OpenCL C such memory is an argument,
    /// [`LocalMem`].
    pub fn local_bytes(self, bytes: usize) -> Self {
        Self { local_bytes: bytes, ..self }
    }

    /// Launches over so many groups of so many threads, on the queue of lazy work.
    ///
    /// Errors: `InvalidLaunch`; `KernelIndex` for a checked kernel in Rust; those of computing the arrays given; `Driver`.
    #[track_caller]
    pub fn launch(self, groups: impl Into<Dim3>, threads: impl Into<Dim3>) -> Result<()> {
        let size = Size::Grid(groups.into(), threads.into());
        self.run(&Place::main(), size, false, Location::caller()).map(|_| ())
    }

    /// Launches at least `n` threads along x, in groups of a size that suits kernel and device. The kernel itself must leave
    /// out the threads past the end. Nothing is launched where `n` is 0.
    ///
    /// Errors: as [`launch`](Self::launch).
    #[track_caller]
    pub fn forall(self, n: usize) -> Result<()> {
        self.run(&Place::main(), Size::AtLeast(n), false, Location::caller()).map(|_| ())
    }

    /// The same as [`launch`](Self::launch) on a queue, after some events; gives the event that marks its end and knows how
    /// long it took.
    ///
    /// Errors: as [`launch`](Self::launch), and `InvalidLaunch` for a queue of another device.
    #[track_caller]
    pub fn submit(
        self,
        queue: &Queue,
        after: &[Event],
        groups: impl Into<Dim3>,
        threads: impl Into<Dim3>,
    ) -> Result<Event> {
        let size = Size::Grid(groups.into(), threads.into());
        let marked = self.run(&Place { queue: Some(queue), after }, size, true, Location::caller())?;
        marked.ok_or_else(|| Error::Internal("a marked launch without its mark".into()))
    }

    /// Records the launch in place of running it: it becomes an operation of the lazy graph, in the order of the data flow.
    ///
    /// What it reads (`&Array`) is computed before it, what is made of its outputs after it, each fused for itself. What it
    /// writes is an [`Output`], or an `&mut Array`, which then stands for the value after the launch: the kernel works on a copy.
    /// A `&Buffer` is read as it is now. The kernel must write nothing else and must not depend on what it did before, for it
    /// runs when a value of its outputs is asked for, or never.
    ///
    /// Errors: `InvalidLaunch` for a buffer that the kernel would write, for arguments of several devices, and for whatever can
    /// be told without the values. The rest comes out of `get`.
    #[track_caller]
    pub fn record(self, groups: impl Into<Dim3>, threads: impl Into<Dim3>) -> Result<()> {
        self.record_at(Size::Grid(groups.into(), threads.into()), Location::caller())
    }

    /// [`record`](Self::record) for a launch over at least `n` threads, as by [`forall`](Self::forall).
    ///
    /// Errors: as [`record`](Self::record).
    #[track_caller]
    pub fn record_forall(self, n: usize) -> Result<()> {
        self.record_at(Size::AtLeast(n), Location::caller())
    }

    /// The same as [`launch`](Self::launch), and how long it took the device. Waits for it.
    ///
    /// Errors: as [`launch`](Self::launch).
    #[track_caller]
    pub fn timed(self, groups: impl Into<Dim3>, threads: impl Into<Dim3>) -> Result<Duration> {
        // A queue of its own keeps times on every device; the memory is kept in order between the two.
        let queue = self.device()?.queue()?;
        self.submit(&queue, &[], groups, threads)?.duration()
    }
}
