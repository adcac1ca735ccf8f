//! The OpenCL runtime: OpenCL C 1.2 on any vendor's device, through an ICD loader that is loaded at run time.
//!
//! One context and one in-order queue for each opened device. opencl3's owning types panic where a release or an argument
//! fails, so this folder calls the plain functions beneath them and maps every code.

mod fault;
mod handles;
mod launch;
mod mapping;
mod mark;
mod memory;
mod modules;
mod platform;
mod program;
mod queue;
mod queues;
mod raw_module;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use lazuli_codegen::{DeviceFacts, Dialect, EmitOptions, Kernel, Schedule, emit};

use self::handles::Handles;
use self::memory::OpenClMemory;
use self::platform::Limits;
use self::program::{OpenClExecutable, SourceText, Standard};
use self::queue::OpenClQueue;
use crate::error::{Error, Result};
use crate::runtime::explicit::{Modules, Queues};
use crate::runtime::{Binaries, Download, Executable, LaunchArgs, Memory, Runtime};

pub(crate) use self::platform::Class;

/// One OpenCL device, opened.
pub struct OpenClRuntime {
    handles: Arc<Handles>,
    limits: Limits,
    binaries: Binaries,
    main: OpenClQueue,
}

/// A device that could be opened: its number is its place in the list.
pub(crate) struct Candidate {
    pub(crate) class: Class,
    pub(crate) description: String,
}

/// The devices in order of number, and a line for each thing looked for in vain. Opens none.
pub(crate) fn candidates() -> (Vec<Candidate>, Vec<String>) {
    let (listed, absent) = platform::list();
    let candidates =
        listed.iter().map(|listed| Candidate { class: listed.class(), description: listed.description() }).collect();
    (candidates, absent)
}

impl OpenClRuntime {
    /// Opens a device by number: GPUs first over all platforms, then accelerators, then CPUs. Programs that are in the store
    /// are not built from their sources again.
    /// Errors: `DeviceNotFound` with what was looked for; `Driver`.
    pub fn open(index: usize, binaries: Binaries) -> Result<OpenClRuntime> {
        let name = format!("opencl:{index}");
        let (listed, absent) = platform::list();
        let Some(listed_device) = listed.get(index) else {
            let mut looked_for: Vec<String> = listed
                .iter()
                .enumerate()
                .map(|(i, listed)| format!("opencl:{i} is {}", listed.description()))
                .collect();
            looked_for.extend(absent);
            return Err(Error::DeviceNotFound { name, looked_for });
        };
        let limits =
            platform::limits(listed_device).map_err(|error| fault::driver(&name, "clGetDeviceInfo", error.0))?;
        let handles = Arc::new(Handles::new(name, listed_device.device.id())?);
        Ok(OpenClRuntime { main: OpenClQueue::main(&handles), handles, limits, binaries })
    }

    /// Builds a kernel from its source.
    fn compile_source(&self, source: &SourceText) -> Result<OpenClExecutable> {
        OpenClExecutable::make(&self.handles, source, &self.limits, &self.binaries)
    }
}

impl Runtime for OpenClRuntime {
    fn facts(&self) -> &DeviceFacts {
        &self.limits.facts
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        self.handles.alive()?;
        Ok(Box::new(OpenClMemory::new(&self.handles, bytes, &self.limits)?))
    }

    fn upload(&self, source: &[u8], target: &dyn Memory, target_offset: usize) -> Result<()> {
        self.handles.alive()?;
        OpenClMemory::of(target, &self.handles)?.upload(source, target_offset)
    }

    fn download(&self, source: &dyn Memory, source_offset: usize, target: &mut [u8]) -> Result<()> {
        self.handles.alive()?;
        OpenClMemory::of(source, &self.handles)?.download(source_offset, target)
    }

    fn clear(&self, memory: &dyn Memory, bytes: usize) -> Result<()> {
        self.handles.alive()?;
        OpenClMemory::of(memory, &self.handles)?.clear(bytes)
    }

    fn begin_download(&self, source: &dyn Memory, source_offset: usize, bytes: usize) -> Result<Box<dyn Download>> {
        self.handles.alive()?;
        Ok(Box::new(OpenClMemory::of(source, &self.handles)?.begin_download(source_offset, bytes)?))
    }

    fn compile(&self, kernel: &Arc<Kernel>, schedule: Schedule, contraction: bool) -> Result<Arc<dyn Executable>> {
        self.handles.alive()?;
        let facts = &self.limits.facts;
        let options = EmitOptions { contraction, cpu_math: facts.is_cpu && facts.has_f64 };
        let emitted = tracing::debug_span!("emit", kernel = kernel.name, dialect = "OpenClC")
            .in_scope(|| emit(kernel, &schedule, Dialect::OpenClC, &options));
        let source = SourceText {
            text: &emitted.text,
            entry: &emitted.entry,
            name: &kernel.name,
            index: kernel.index,
            standard: if kernel.combine().is_some() { Standard::V3_0 } else { Standard::V1_2 },
        };
        Ok(Arc::new(self.compile_source(&source)?))
    }

    fn compiles_in_parallel(&self) -> bool {
        self.limits.builds_in_parallel
    }

    fn launch(&self, executable: &dyn Executable, arguments: &LaunchArgs) -> Result<()> {
        self.handles.alive()?;
        let executable = OpenClExecutable::of(executable, &self.handles)?;
        launch::launch(&self.handles, executable, arguments, &self.limits.max_items)
    }

    fn is_lost(&self) -> bool {
        self.handles.health.is_lost()
    }

    fn queues(&self) -> &dyn Queues {
        self
    }

    fn modules(&self) -> &dyn Modules {
        self
    }

    fn synchronize(&self) -> Result<()> {
        self.handles.alive()?;
        self.handles.synchronize()
    }
}
