//! The runtimes: where kernels are compiled and run. The only folder with `unsafe`.
//!
//! A runtime takes kernels and bytes. It never sees a graph, a shape or a plan.

pub mod bytes;
pub mod explicit;
#[cfg_attr(not(any(feature = "cuda", feature = "opencl")), allow(dead_code, reason = "the host is never lost"))]
pub mod health;
pub mod host;
pub mod mapping;
pub mod owned_bytes;
pub mod pinned;
pub mod pool;
pub mod uses;

pub mod discover;

#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(feature = "opencl")]
pub mod opencl;

#[cfg(test)]
mod agreement;

use std::any::Any;
use std::sync::Arc;

use lazuli_codegen::{DeviceFacts, Grid, Kernel, Scalar, Schedule};

use self::explicit::{Modules, Queues};
use crate::cache::disk::DiskStore;
use crate::error::Result;

/// Where a runtime keeps its binaries between processes, if anywhere.
pub type Binaries = Option<Arc<DiskStore>>;

/// One device, opened: its memory, its compiler and one in-order queue.
///
/// All calls may come from several threads at once. Work is ordered as it was submitted: a launch sees every transfer and
/// launch submitted before it, so memory may be used again as soon as its last use is submitted.
pub trait Runtime: Send + Sync {
    /// What lowering must know of the device.
    fn facts(&self) -> &DeviceFacts;

    /// Bytes of uninitialised device memory; `bytes` is at least 1. It is aligned to 64 bytes or more.
    /// Errors: `OutOfMemory`, `Driver`.
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>>;

    /// Copies host bytes into device memory. `source` may be changed or freed once the call is back.
    fn upload(&self, source: &[u8], target: &dyn Memory, target_offset: usize) -> Result<()>;

    /// Copies device memory to the host, after all work submitted before it.
    fn download(&self, source: &dyn Memory, source_offset: usize, target: &mut [u8]) -> Result<()>;

    /// Sets the first `bytes` bytes of device memory to zero, in order with all other work.
    fn clear(&self, memory: &dyn Memory, bytes: usize) -> Result<()>;

    /// Begins to copy device memory to the host, after all work submitted before it; what is submitted later may write that
    /// memory. Comes back at once where the device can copy by itself.
    fn begin_download(&self, source: &dyn Memory, source_offset: usize, bytes: usize) -> Result<Box<dyn Download>> {
        let mut copied = vec![0; bytes];
        self.download(source, source_offset, &mut copied)?;
        Ok(Box::new(Downloaded(copied)))
    }

    /// Emits and compiles a kernel, or takes what the store of binaries keeps for its source. `contraction` allows fused
    /// multiply-adds that round once.
    /// Errors: `Compile`, with the log and the source; `Unsupported`.
    fn compile(&self, kernel: &Arc<Kernel>, schedule: Schedule, contraction: bool) -> Result<Arc<dyn Executable>>;

    /// Whether several threads compiling at once gain time. Where not, one thread compiles one kernel after the other;
    /// calls from several are still allowed.
    fn compiles_in_parallel(&self) -> bool {
        false
    }

    /// Submits one launch.
    fn launch(&self, executable: &dyn Executable, arguments: &LaunchArgs) -> Result<()>;

    /// Waits until all submitted work is done, and reports its faults.
    fn synchronize(&self) -> Result<()>;

    /// True once the device has met a fault after which every call fails with `DeviceLost`.
    fn is_lost(&self) -> bool {
        false
    }

    /// Queues, events, and memory operations on them.
    fn queues(&self) -> &dyn Queues;

    /// Modules and kernels of the caller's.
    fn modules(&self) -> &dyn Modules;
}

/// Memory of one runtime, freed when dropped. The runtime that made it recovers its own type through `Any`.
pub trait Memory: Any + Send + Sync {
    /// Size in bytes.
    fn bytes(&self) -> usize;
}

/// A copy to the host that is under way. Where it is dropped, nobody wants the bytes any more.
pub trait Download: Send {
    /// True where [`finish`](Self::finish) would not wait. Errors: `Driver`.
    fn is_done(&self) -> Result<bool>;

    /// Waits for the bytes and hands them out; `target` is as long as was asked for. Errors: `Driver`.
    fn finish(self: Box<Self>, target: &mut [u8]) -> Result<()>;
}

/// A copy that was done at once.
struct Downloaded(Vec<u8>);

impl Download for Downloaded {
    fn is_done(&self) -> Result<bool> {
        Ok(true)
    }

    fn finish(self: Box<Self>, target: &mut [u8]) -> Result<()> {
        target.copy_from_slice(&self.0);
        Ok(())
    }
}

/// A compiled kernel of one runtime.
pub trait Executable: Any + Send + Sync {
    /// The emitted source; on the host a printed form of the kernel IR.
    fn source(&self) -> &str;

    /// True where its binary came from the store and no compiler saw its source.
    fn is_from_disk(&self) -> bool {
        false
    }
}

/// The arguments of one launch, in the order of the kernel's parameters.
pub struct LaunchArgs<'a> {
    /// One for each of `Kernel::buffers`.
    pub buffers: &'a [&'a dyn Memory],
    /// One for each size parameter. Converted to i32 where the kernel's index width is 32 bits.
    pub sizes: &'a [i64],
    /// One for each of `Kernel::scalars`.
    pub scalars: &'a [Scalar],
    /// Groups and threads, from `Schedule::grid`.
    #[cfg_attr(
        not(any(feature = "cuda", feature = "opencl")),
        allow(dead_code, reason = "the host deals work out by itself")
    )]
    pub grid: Grid,
}
