//! The host runtime: kernel IR run by the processor, with no compiler and no driver.
//!
//! Compiling lowers a kernel once to a list of steps over registers (`lower`, `program`, `registers`). A launch joins it with
//! its arguments (`launch`) and runs it block by block (`frame`): each step is one vectorised loop (`ops`, `math`) over some
//! thousand elements that stay in the first-level cache.

mod checked_index;
mod frame;
mod launch;
mod lower;
mod math;
mod memory;
mod modules;
mod ops;
mod passes;
mod printer;
mod program;
mod queue;
mod queues;
mod registers;
mod simt;
mod tile;
mod transfer;
mod user_function;
mod walk;

#[cfg(test)]
mod tests;

use std::any::Any;
use std::sync::Arc;

use lazuli_codegen::{Cooperation, DeviceFacts, Kernel, Schedule, split_combine};

use self::launch::{Launch, host_memory};
pub(super) use self::memory::HostMemory;
use self::program::Program;
use self::queue::HostQueue;
use super::{Executable, LaunchArgs, Memory, Runtime};
use crate::error::{Error, Result};
use crate::runtime::explicit::{Modules, Queues};

/// The processor as a device. Every call is done when it is back.
pub struct HostRuntime {
    facts: DeviceFacts,
    main: HostQueue,
}

impl HostRuntime {
    /// The host is always there.
    pub fn new() -> Self {
        let facts = DeviceFacts {
            name: processor_name().unwrap_or_else(|| std::env::consts::ARCH.into()),
            is_cpu: true,
            compute_units: rayon::current_num_threads() as u32,
            max_group: 1,
            local_memory_bytes: 0,
            max_parameter_bytes: 1 << 16,
            max_allocation_bytes: isize::MAX as u64,
            has_f64: true,
            // One launch runs what the groups did first and what the last one does after.
            cooperation: Cooperation::LastGroup,
            compiler: "host".into(),
        };
        Self { facts, main: HostQueue }
    }
}

fn processor_name() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().into())
}

/// A kernel ready to run.
struct HostExecutable {
    /// Run one after the other.
    parts: Vec<Part>,
    source: String,
}

/// A kernel of which all points may run at once.
struct Part {
    kernel: Arc<Kernel>,
    /// The best first; see `lower_kernel`.
    programs: Vec<Program>,
}

impl Part {
    fn new(kernel: Arc<Kernel>, schedule: Schedule) -> Result<Self> {
        let programs = lower::lower_kernel(&kernel, schedule)?;
        Ok(Self { kernel, programs })
    }
}

impl Executable for HostExecutable {
    fn source(&self) -> &str {
        &self.source
    }
}

/// Checks that `offset + bytes` lies in a memory, and gives the address.
fn place(memory: &dyn Memory, offset: usize, bytes: usize) -> Result<*mut u8> {
    let memory = host_memory(memory)?;
    match offset.checked_add(bytes) {
        // SAFETY: the offset is within the allocation.
        Some(end) if end <= memory.bytes() => Ok(unsafe { memory.data().add(offset) }),
        _ => Err(Error::Internal(format!("host: {bytes} bytes at {offset} of a memory of {}", memory.bytes()))),
    }
}

impl Runtime for HostRuntime {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        Ok(Box::new(HostMemory::allocate(bytes)?))
    }

    fn upload(&self, source: &[u8], target: &dyn Memory, target_offset: usize) -> Result<()> {
        let to = place(target, target_offset, source.len())?;
        // SAFETY: `place` checked the range; a Rust slice does not overlap memory that only this runtime hands out.
        unsafe { memory::copy(source.as_ptr(), to, source.len()) };
        Ok(())
    }

    fn download(&self, source: &dyn Memory, source_offset: usize, target: &mut [u8]) -> Result<()> {
        let from = place(source, source_offset, target.len())?;
        // SAFETY: as for `upload`.
        unsafe { memory::copy(from, target.as_mut_ptr(), target.len()) };
        Ok(())
    }

    fn clear(&self, memory: &dyn Memory, bytes: usize) -> Result<()> {
        let to = place(memory, 0, bytes)?;
        // SAFETY: `place` checked the range.
        unsafe { to.write_bytes(0, bytes) };
        Ok(())
    }

    fn compile(&self, kernel: &Arc<Kernel>, schedule: Schedule, _contraction: bool) -> Result<Arc<dyn Executable>> {
        let parts = match split_combine(kernel, schedule) {
            Some(parts) => parts.into_iter().map(|(part, schedule)| Part::new(Arc::new(part), schedule)).collect(),
            None => Part::new(kernel.clone(), schedule).map(|part| vec![part]),
        };
        Ok(Arc::new(HostExecutable { parts: parts?, source: printer::print_kernel(kernel, schedule) }))
    }

    fn launch(&self, executable: &dyn Executable, arguments: &LaunchArgs) -> Result<()> {
        let executable: &dyn Any = executable;
        let Some(executable) = executable.downcast_ref::<HostExecutable>() else {
            return Err(Error::Internal("host: an executable of another runtime".into()));
        };
        executable.parts.iter().try_for_each(|part| Launch::new(&part.kernel, &part.programs, arguments)?.run())
    }

    fn queues(&self) -> &dyn Queues {
        self
    }

    fn modules(&self) -> &dyn Modules {
        self
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}
