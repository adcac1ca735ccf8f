//! What those ask of a runtime who place memory and write kernels themselves: queues, events, copies of every kind, and kernels
//! launched over a grid of the caller's.

use std::any::Any;
use std::sync::Arc;

use lazuli_codegen::{Dialect, simt};

use super::Memory;
use super::owned_bytes::OwnedBytes;
use crate::error::{Error, Result};

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
#[cfg_attr(
    not(any(feature = "cuda", feature = "opencl")),
    allow(dead_code, reason = "the host compiles no source text")
)]
pub enum ModuleCode<'a> {
    /// Source text, the prelude of the vocabulary already before it where that was asked for.
    Source(&'a str),
    /// PTX, cubin, or the binary of an OpenCL program.
    Binary(&'a [u8]),
}

/// One argument of a launch.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "opencl"), allow(dead_code, reason = "memory of a group is an argument in OpenCL C alone"))]
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
#[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "only CUDA has templates, and the host compiles nothing"))]
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

/// How a kernel that was written in Rust is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RustKernelOptions {
    /// An index out of range reads zero, writes nothing, and is noted in the kernel's last argument, memory of
    /// [`simt::NOTE_BYTES`] bytes that is zero before.
    pub checked: bool,
    /// Fused multiply-adds that round once are allowed.
    pub contraction: bool,
    /// The one size of group that it is launched in, where that is larger than compilers make room for by themselves.
    pub group: Option<[u32; 3]>,
}

/// Modules and kernels of the caller's. See [`super::Runtime`] for order and threads.
pub trait Modules: Send + Sync {
    /// The language it compiles; none on the host.
    fn dialect(&self) -> Option<Dialect>;

    /// Compiles or loads a module. Errors: `Compile`, `Unsupported`, `Driver`.
    fn module(&self, code: ModuleCode<'_>, options: &ModuleOptions) -> Result<Arc<dyn RawModule>>;

    /// Compiles a kernel that was written in Rust.
    fn rust_kernel(&self, kernel: &Arc<simt::ir::Kernel>, options: RustKernelOptions) -> Result<Arc<dyn RawKernel>>;

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

    /// Threads that one compute unit could run at once, where the device tells it.
    fn threads_per_unit(&self) -> Option<u32> {
        None
    }

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

/// How the rows of a copy lie in memory, in bytes: the first byte, and the steps from row to row and from slice to slice. A step
/// between slices is a multiple of that between rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pitches {
    /// The first byte.
    pub offset: usize,
    /// From row to row.
    pub row: usize,
    /// From slice to slice.
    pub slice: usize,
}

/// What is copied: rows of bytes, in slices. None of the three is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Bytes of a row.
    pub row_bytes: usize,
    /// Rows of a slice.
    pub rows: usize,
    /// Slices.
    pub slices: usize,
}

impl Pitches {
    /// Bytes one after the other, from a place on.
    pub fn dense(offset: usize, extent: Extent) -> Self {
        Self { offset, row: extent.row_bytes, slice: extent.row_bytes * extent.rows }
    }

    /// Where the last byte ends; none where that cannot be counted.
    pub fn end(&self, extent: Extent) -> Option<usize> {
        let slices = (extent.slices - 1).checked_mul(self.slice)?;
        let rows = (extent.rows - 1).checked_mul(self.row)?;
        self.offset.checked_add(slices)?.checked_add(rows)?.checked_add(extent.row_bytes)
    }

    /// The first byte of a row.
    pub fn row_at(&self, row: usize, slice: usize) -> usize {
        self.offset + slice * self.slice + row * self.row
    }

    /// The offset as OpenCL takes it: bytes into a row, rows into a slice, slices.
    #[cfg(feature = "opencl")]
    pub fn origin(&self) -> [usize; 3] {
        let (within, row) = (self.offset % self.slice, self.row);
        [within % row, within / row, self.offset / self.slice]
    }
}

impl Extent {
    /// One row.
    pub fn row(row_bytes: usize) -> Self {
        Self { row_bytes, rows: 1, slices: 1 }
    }

    /// The number of bytes, where they lie one after the other on both sides.
    pub fn flat_bytes(&self, from: Pitches, to: Pitches) -> Option<usize> {
        let dense = Pitches::dense(0, *self);
        let is_flat = |side: Pitches| {
            (self.rows == 1 || side.row == dense.row) && (self.slices == 1 || side.slice == dense.slice)
        };
        (is_flat(from) && is_flat(to)).then(|| self.row_bytes * self.rows * self.slices)
    }
}

/// Memory of the host that a device reaches without a detour: page-locked where the driver can do that. Set to zero when made.
pub trait HostBytes: Send + Sync {
    /// The first byte; none of them moves.
    fn data(&self) -> *mut u8;
}

/// Device memory as the host sees it, for a while.
pub trait RawMapping: Send + Sync {
    /// The first byte mapped.
    fn data(&self) -> *mut u8;

    /// Ends it, in order with the queue: what the host wrote is in the memory for whatever comes after. Called once; `memory` and
    /// `offset` are those that were mapped.
    fn end(&mut self, queues: &dyn Queues, queue: &dyn Queue, memory: &dyn Memory, offset: usize) -> Result<()>;
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

    /// Copies in memory of this device. What is read and what is written do not overlap.
    fn copy(
        &self,
        queue: &dyn Queue,
        from: (&dyn Memory, Pitches),
        to: (&dyn Memory, Pitches),
        extent: Extent,
    ) -> Result<()>;

    /// Begins to copy to the device.
    ///
    /// # Safety
    /// What `from` and `extent` name is readable, and does not change before the queue is past this copy.
    unsafe fn begin_write(
        &self,
        queue: &dyn Queue,
        from: (*const u8, Pitches),
        to: (&dyn Memory, Pitches),
        extent: Extent,
    ) -> Result<()>;

    /// Begins to copy to the host.
    ///
    /// # Safety
    /// What `to` and `extent` name is writable, and nobody else looks at it before the queue is past this copy.
    unsafe fn begin_read(
        &self,
        queue: &dyn Queue,
        from: (&dyn Memory, Pitches),
        to: (*mut u8, Pitches),
        extent: Extent,
    ) -> Result<()>;

    /// Copies to the device, and waits.
    fn write(
        &self,
        queue: &dyn Queue,
        from: (&[u8], Pitches),
        to: (&dyn Memory, Pitches),
        extent: Extent,
    ) -> Result<()> {
        check_end("write", from.1.end(extent), from.0.len())?;
        // SAFETY: the slice holds what is read (checked), and is borrowed until the queue has been waited for.
        let begun = unsafe { self.begin_write(queue, (from.0.as_ptr(), from.1), to, extent) };
        // Also where it failed: a part may be under way.
        self.synchronize_queue(queue).and(begun)
    }

    /// Copies to the host, and waits.
    fn read(
        &self,
        queue: &dyn Queue,
        from: (&dyn Memory, Pitches),
        to: (&mut [u8], Pitches),
        extent: Extent,
    ) -> Result<()> {
        check_end("read", to.1.end(extent), to.0.len())?;
        // SAFETY: as above.
        let begun = unsafe { self.begin_read(queue, from, (to.0.as_mut_ptr(), to.1), extent) };
        self.synchronize_queue(queue).and(begun)
    }

    /// Writes `count` copies of a pattern of 1, 2, 4 or 8 bytes, from `offset` on, a multiple of its length.
    fn fill(&self, queue: &dyn Queue, memory: &dyn Memory, offset: usize, pattern: &[u8], count: usize) -> Result<()>;

    /// Memory of the host for copies that nobody waits for. Errors: `OutOfMemory`, `Driver`.
    fn allocate_pinned(&self, bytes: usize) -> Result<Box<dyn HostBytes>>;

    /// Device memory that the host reaches fast, where that is another kind than [`super::Runtime::allocate`] gives.
    fn allocate_reachable(&self, bytes: usize) -> Result<Option<Box<dyn Memory>>> {
        let _ = bytes;
        Ok(None)
    }

    /// True where the device can use memory of the host in place.
    fn adopts(&self) -> bool;

    /// Device memory that is memory of the host. Errors: `Unsupported` where [`Self::adopts`] is false.
    fn adopt(&self, bytes: OwnedBytes) -> Result<Box<dyn Memory>>;

    /// The memory of the host again, with what the device wrote, once all that uses it is done.
    fn give_up(&self, memory: Box<dyn Memory>) -> Result<OwnedBytes>;

    /// Lets the host see memory, after all that was submitted to the queue; waits for it. While it lasts the device does not write
    /// the memory, and where `is_written` it does not read it either.
    fn map(
        &self,
        queue: &dyn Queue,
        memory: &dyn Memory,
        offset: usize,
        bytes: usize,
        is_written: bool,
    ) -> Result<Box<dyn RawMapping>>;
}

fn check_end(what: &str, end: Option<usize>, len: usize) -> Result<()> {
    match end {
        Some(end) if end <= len => Ok(()),
        _ => Err(Error::Internal(format!("{what} of host memory of {len} bytes up to {end:?}"))),
    }
}
