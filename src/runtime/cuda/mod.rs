//! The CUDA runtime: CUDA C compiled by NVRTC, run through the driver. Both libraries are loaded at run time.
//!
//! The device's primary context and one stream of our own for each opened device. All work goes through cudarc's plain
//! functions: its safe layer records two events for each slice, which one stream does not need.

mod compiler;
mod contexts;
mod cooperative;
mod device;
mod fault;
mod handles;
mod launch;
mod libraries;
mod mark;
mod memory;
mod modules;
mod nvrtc;
mod pinned;
mod program;
mod queue;
mod queues;
mod raw_module;
mod staging;
mod transfer;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use lazuli_codegen::{DeviceFacts, Dialect, EmitOptions, Kernel, Schedule, emit};

use self::compiler::Compiler;
use self::device::Properties;
use self::handles::Handles;
use self::memory::CudaMemory;
use self::program::{CudaExecutable, Parameters, SourceText};
use self::queue::CudaQueue;
use self::staging::{Landing, Staging};
use crate::error::{Error, Result};
use crate::runtime::explicit::{Modules, Queues};
use crate::runtime::{Binaries, Download, Downloaded, Executable, LaunchArgs, Memory, Runtime};

/// One CUDA device, opened.
pub struct CudaRuntime {
    // Before `handles`, so that pinned memory goes while the context is still there.
    uploads: Staging,
    downloads: Staging,
    landing: Landing,
    main: CudaQueue,
    facts: DeviceFacts,
    compiler: Compiler,
    handles: Arc<Handles>,
}

/// One line for each device in order of number, and why there is none. Opens none.
pub(crate) fn candidates() -> (Vec<String>, Vec<String>) {
    let count = match device::count() {
        Ok(count) => count,
        Err(why) => return (Vec::new(), vec![why]),
    };
    let describe = |ordinal| {
        device::description(ordinal).unwrap_or_else(|error| format!("a device that gives {}", fault::text(error)))
    };
    ((0..count).map(describe).collect(), Vec::new())
}

/// Why NVRTC cannot be loaded, if so.
pub(crate) fn compiler_absent() -> Option<String> {
    libraries::require_nvrtc().err()
}

impl CudaRuntime {
    /// Opens a device by its number among the devices that CUDA shows (`CUDA_VISIBLE_DEVICES` may hide some).
    /// NVRTC is loaded when a kernel is not in the store of binaries; where it is missing, that kernel's compilation fails.
    /// Errors: `DeviceNotFound` with what was looked for; `Driver`.
    pub fn open(ordinal: usize, binaries: Binaries) -> Result<CudaRuntime> {
        let name = format!("cuda:{ordinal}");
        // A driver that no longer answers for its fault has not lost sight of the device.
        let not_found = |looked_for| {
            contexts::loss(&name).unwrap_or_else(|| Error::DeviceNotFound { name: name.clone(), looked_for })
        };
        let count = device::count().map_err(|why| not_found(vec![why]))?;
        if ordinal >= count {
            let (devices, _) = candidates();
            let devices = devices.iter().enumerate().map(|(i, device)| format!("cuda:{i} is {device}")).collect();
            return Err(not_found(devices));
        }
        let properties = Properties::query(ordinal)
            .map_err(|error| fault::driver(&name, "asking for the device's properties", error))?;
        let compiler = Compiler::new(&properties, binaries);
        let facts = properties.facts(&compiler.describe());
        let handles = Arc::new(Handles::new(name, &properties)?);
        Ok(CudaRuntime {
            uploads: Staging::new(),
            downloads: Staging::new(),
            landing: Landing::new(),
            main: CudaQueue::main(&handles),
            facts,
            compiler,
            handles,
        })
    }

    /// Takes a kernel from the store, or compiles it from its source.
    fn compile_source(&self, source: SourceText, contraction: bool) -> Result<CudaExecutable> {
        self.compiler.make(&self.handles, source, contraction)
    }
}

impl Runtime for CudaRuntime {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        Ok(Box::new(CudaMemory::new(&self.handles, bytes)?))
    }

    fn upload(&self, source: &[u8], target: &dyn Memory, target_offset: usize) -> Result<()> {
        let target = CudaMemory::of(target, &self.handles)?.range("upload", target_offset, source.len())?;
        self.handles.bind()?;
        // SAFETY: the range was checked.
        unsafe { self.uploads.upload(&self.handles, source, target) }
            .map_err(|error| fault::driver(&self.handles.name, format!("upload of {} bytes", source.len()), error))
    }

    fn download(&self, source: &dyn Memory, source_offset: usize, target: &mut [u8]) -> Result<()> {
        let source = CudaMemory::of(source, &self.handles)?.range("download", source_offset, target.len())?;
        self.handles.bind()?;
        let bytes = target.len();
        // SAFETY: the range was checked.
        unsafe { self.downloads.download(&self.handles, source, target) }
            .map_err(|error| fault::driver(&self.handles.name, format!("download of {bytes} bytes"), error))?;
        // The copy came after all that was on the stream.
        self.handles.health.waited(self.handles.stream.addr());
        Ok(())
    }

    fn clear(&self, memory: &dyn Memory, bytes: usize) -> Result<()> {
        let target = CudaMemory::of(memory, &self.handles)?.range("clear", 0, bytes)?;
        self.handles.bind()?;
        // SAFETY: the range was checked, and the stream lives as long as the handles.
        unsafe { cudarc::driver::result::memset_d8_async(target, 0, bytes, self.handles.stream) }
            .map_err(|error| fault::driver(&self.handles.name, format!("clearing {bytes} bytes"), error))
    }

    fn begin_download(&self, source: &dyn Memory, source_offset: usize, bytes: usize) -> Result<Box<dyn Download>> {
        let address = CudaMemory::of(source, &self.handles)?.range("download", source_offset, bytes)?;
        self.handles.bind()?;
        // SAFETY: the range was checked.
        let begun = unsafe { self.landing.begin(&self.handles, address, bytes) };
        let failed = |error| fault::driver(&self.handles.name, format!("download of {bytes} bytes"), error);
        match begun.map_err(failed)? {
            Some(pending) => Ok(Box::new(pending)),
            None => {
                let mut copied = vec![0; bytes];
                self.download(source, source_offset, &mut copied)?;
                Ok(Box::new(Downloaded(copied)))
            }
        }
    }

    fn compile(&self, kernel: &Arc<Kernel>, schedule: Schedule, contraction: bool) -> Result<Arc<dyn Executable>> {
        let options = EmitOptions { contraction, ..Default::default() };
        let emitted = tracing::debug_span!("emit", kernel = kernel.name, dialect = "CudaC")
            .in_scope(|| emit(kernel, &schedule, Dialect::CudaC, &options));
        let parameters = Parameters::of(kernel);
        let source = SourceText { text: &emitted.text, entry: &emitted.entry, name: &kernel.name, parameters };
        Ok(Arc::new(self.compile_source(source, contraction)?))
    }

    fn compiles_in_parallel(&self) -> bool {
        true
    }

    fn launch(&self, executable: &dyn Executable, arguments: &LaunchArgs) -> Result<()> {
        launch::launch(&self.handles, CudaExecutable::of(executable, &self.handles)?, arguments)
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
        self.handles.synchronize()
    }
}
