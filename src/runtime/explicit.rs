//! What those ask of a runtime who place memory and write kernels themselves: queues, events, copies of every kind, and kernels
//! launched over a grid of the caller's.

use std::any::Any;
use std::sync::Arc;

use lazuli_codegen::{Dialect, simt};

use super::Memory;
use crate::error::Result;

/// A queue of one device: what is submitted to it runs in the order of submission. Work on different queues may run at once.
/// The runtime that made it recovers its own type through `Any`.
pub trait Queue: Any + Send + Sync {}

/// A kernel that is launched over a grid of its caller's, from a module or written in Rust.
pub trait RawKernel: Any + Send + Sync {
    /// The source it was compiled from; on the host a printed form. None for one that came from a binary.
    fn source(&self) -> Option<&str>;

    /// What the compiler tells of it.
    fn attributes(&self) -> Result<KernelAttributes>;

    /// Its parameters in order, where the compiler tells them.
    fn parameters(&self) -> Option<&[RawParam]>;

    /// True where its binary came from the store and no compiler saw its source.
    fn is_from_disk(&self) -> bool {
        false
    }
}

/// What a compiler tells of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct KernelAttributes {
    /// Registers of a thread, where the device has such (CUDA).
    pub registers: Option<u32>,
    /// Bytes of memory each thread has for itself beside registers: local arrays and spilled registers.
    pub private_bytes: u64,
    /// Bytes of memory of a group that the source declares.
    pub local_bytes: u64,
    /// The most threads a group of this kernel may have.
    pub max_threads: u32,
    /// Threads that run in step; a group's size is best a multiple of it.
    pub preferred_multiple: u32,
}

/// A parameter as far as a compiler tells it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RawParam {
    /// Its size as an argument.
    pub bytes: Option<usize>,
    /// Whether it is a pointer to device memory, a value, or memory of the group.
    pub kind: Option<RawParamKind>,
    /// Its type as the source spells it.
    pub type_name: Option<String>,
    /// Its name.
    pub name: Option<String>,
}

/// What a parameter takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum RawParamKind {
    Pointer,
    Value,
    LocalMemory,
}

/// A program that a compiler made, or loaded, with the kernels in it.
pub trait RawModule: Any + Send + Sync {
    /// One kernel. Errors: `FunctionNotFound`, with the names that are there where they are known.
    fn kernel(&self, name: &str) -> Result<Arc<dyn RawKernel>>;

    /// A variable at the top of the module (`__device__`, `__constant__`). Errors: `FunctionNotFound`; `Unsupported`.
    fn global(&self, name: &str) -> Result<Box<dyn Memory>>;

    /// The binary, to be kept and loaded again on the same device.
    fn binary(&self) -> Result<Vec<u8>>;

    /// True where it came from the store and no compiler saw its source.
    fn is_from_disk(&self) -> bool;
}

/// What a module is made of.
#[derive(Clone, Debug)]
pub enum ModuleCode<'a> {
    /// Source text, the prelude of the vocabulary already before it where that was asked for.
    Source(&'a str),
    /// PTX, cubin, or the binary of an OpenCL program.
    Binary(&'a [u8]),
}

/// One argument of a launch.
#[derive(Clone, Copy)]
pub enum RawArg<'a> {
    /// A pointer to device memory, so many bytes in.
    Memory(&'a dyn Memory, usize),
    /// A value, as it lies in memory.
    Bytes(&'a [u8]),
    /// Memory of each group, in bytes (a `__local` pointer of OpenCL C).
    Local(usize),
}

/// A grid of the caller's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawGrid {
    /// Groups along x, y and z.
    pub groups: [u32; 3],
    /// Threads of a group along each.
    pub threads: [u32; 3],
    /// Bytes of group memory beside what the source declares (CUDA's dynamic shared memory).
    pub local_bytes: u32,
}

/// How source text is compiled.
#[derive(Clone, Debug, Default)]
pub struct ModuleOptions {
    /// What messages call the source.
    pub name: String,
    /// The compiler's options, defines and include folders among them, each as the compiler takes it.
    pub options: Vec<String>,
    /// The binary is kept on disk under this, the source, the options, the device, its driver and its compiler: whatever else
    /// the code depends on, such as the content of the files it includes. None: it is not kept.
    pub kept_under: Option<Vec<u8>>,
    /// Expressions that name functions, such as `scale<float>`, which the compiler gives names of its own (CUDA).
    pub name_expressions: Vec<String>,
}

/// Modules and kernels of the caller's. See [`super::Runtime`] for order and threads.
pub trait Modules: Send + Sync {
    /// The language it compiles; none on the host.
    fn dialect(&self) -> Option<Dialect>;

    /// Compiles or loads a module. Errors: `Compile`, `Unsupported`, `Driver`.
    fn module(&self, code: ModuleCode<'_>, options: &ModuleOptions) -> Result<Arc<dyn RawModule>>;

    /// Compiles a kernel that was written in Rust. `checked`: an index out of range reads zero, writes nothing, and is noted in
    /// the kernel's last argument, memory of [`simt::NOTE_BYTES`] bytes that is zero before.
    fn rust_kernel(
        &self,
        kernel: &Arc<simt::ir::Kernel>,
        checked: bool,
        contraction: bool,
    ) -> Result<Arc<dyn RawKernel>>;

    /// Submits a launch. The caller has put it in order with other queues' work on the same memory.
    /// Errors: `InvalidLaunch` for a grid or arguments that do not fit; `Driver`.
    fn launch_grid(
        &self,
        queue: &dyn Queue,
        kernel: &dyn RawKernel,
        grid: &RawGrid,
        arguments: &[RawArg<'_>],
    ) -> Result<()>;

    /// The offset of a [`RawArg::Memory`] is a multiple of so many bytes.
    fn offset_alignment(&self) -> usize {
        1
    }

    /// Groups of so many threads that one compute unit runs at once.
    fn groups_per_unit(&self, kernel: &dyn RawKernel, threads: u32, local_bytes: u32) -> Result<u32>;

    /// The group size at which the most threads run at once.
    fn suggested_threads(&self, kernel: &dyn RawKernel) -> Result<u32>;
}

/// A place in a queue, which is reached once all that was submitted before it is done.
pub trait Mark: Any + Send + Sync {
    /// True once it is reached. Errors: `Driver`, where what was before it failed.
    fn is_done(&self) -> Result<bool>;

    /// Waits until it is reached. Errors: as `is_done`.
    fn wait(&self) -> Result<()>;

    /// Nanoseconds on the device from an earlier mark of the same runtime to this one, both reached; negative where the other
    /// is the later one. None where one of them was recorded without its time.
    fn nanoseconds_since(&self, earlier: &dyn Mark) -> Result<Option<i64>>;
}

/// Queues and what is submitted to them beside kernels. What is called here is in order with the other work of the same queue
/// only: the caller orders it with other queues' work.
pub trait Queues: Send + Sync {
    /// The queue that lazy work, uploads and downloads go to.
    fn main_queue(&self) -> &dyn Queue;

    /// Another queue. Dropped, it lets what was submitted to it finish.
    fn new_queue(&self) -> Result<Arc<dyn Queue>>;

    /// Waits until all that was submitted to a queue is done, and reports its faults.
    fn synchronize_queue(&self, queue: &dyn Queue) -> Result<()>;

    /// Marks the place after all that was submitted so far, and sees to it that the device gets there without anybody waiting.
    /// `is_timed`: with the time at which it is reached, where the queue keeps times.
    fn record(&self, queue: &dyn Queue, is_timed: bool) -> Result<Arc<dyn Mark>>;

    /// What is submitted to the queue from now on begins once the mark, of any queue of this runtime, is reached.
    fn wait(&self, queue: &dyn Queue, mark: &dyn Mark) -> Result<()>;
}
