//! Modules and kernels of the caller's: compiled, loaded and launched.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use lazuli_codegen::{Dialect, simt};
use opencl3::command_queue::enqueue_nd_range_kernel;
use opencl3::kernel::set_kernel_arg;
use opencl3::types::{cl_int, cl_mem};

use super::OpenClRuntime;
use super::memory::OpenClMemory;
use super::queue::OpenClQueue;
use super::raw_module::{OpenClKernel, OpenClModule};
use crate::error::{Error, Result};
use crate::runtime::Memory;
use crate::runtime::explicit::{
    ModuleCode, ModuleOptions, Modules, Queue, RawArg, RawGrid, RawKernel, RawModule, RustKernelOptions,
};

/// Threads of a group where nothing else decides: enough to hide waiting on a GPU, and to fill the vectors of a CPU.
const USUAL_THREADS: u32 = 256;
/// What the driver answers to an argument of another size than the parameter's.
const CL_INVALID_ARG_SIZE: cl_int = -51;

impl OpenClRuntime {
    /// The kernel named `entry` of a source, with the options of this device's own kernels beside those given. For kernels
    /// that Lazuli emits: the binary is kept under the source and the options alone.
    pub(super) fn emitted_kernel(
        &self,
        name: &str,
        text: &str,
        entry: &str,
        options: &[&str],
    ) -> Result<Arc<dyn RawKernel>> {
        let own = self.limits.options.split_whitespace().chain(options.iter().copied());
        let options = ModuleOptions {
            name: name.into(),
            options: own.map(String::from).collect(),
            kept_under: Some(Vec::new()),
            name_expressions: Vec::new(),
        };
        self.module(ModuleCode::Source(text), &options)?.kernel(entry)
    }
}

impl Modules for OpenClRuntime {
    fn dialect(&self) -> Option<Dialect> {
        Some(Dialect::OpenClC)
    }

    fn module(&self, code: ModuleCode<'_>, options: &ModuleOptions) -> Result<Arc<dyn RawModule>> {
        self.handles.alive()?;
        Ok(Arc::new(OpenClModule::make(&self.handles, &code, options, &self.limits, &self.binaries)?))
    }

    fn rust_kernel(&self, kernel: &Arc<simt::ir::Kernel>, options: RustKernelOptions) -> Result<Arc<dyn RawKernel>> {
        simt::verify(kernel).map_err(Error::Internal)?;
        if simt::may_miss_barrier(kernel) {
            // What comes of it is not defined: PoCL sends the others home, runs those that have returned, or ends the process.
            let what = format!(
                "kernel {}, in which some threads may miss a barrier that others come to; let all threads come to it, and put \
                 what only some do into an `if` on either side",
                kernel.name
            );
            return Err(Error::Unsupported { device: self.handles.name.clone(), what });
        }
        let RustKernelOptions { checked, contraction, group } = options;
        let facts = &self.limits.facts;
        let options = simt::emit::EmitOptions { contraction, cpu_math: facts.is_cpu && facts.has_f64, checked, group };
        let emitted = tracing::debug_span!("emit", kernel = kernel.name, dialect = "OpenClC")
            .in_scope(|| simt::emit(kernel, Dialect::OpenClC, &options));
        if emitted.text.contains("cl_khr_fp64") && !facts.has_f64 {
            let what = format!("f64, in which kernel {} computes", kernel.name);
            return Err(Error::Unsupported { device: self.handles.name.clone(), what });
        }
        self.emitted_kernel(&kernel.name, &emitted.text, &emitted.entry, &["-cl-std=CL1.2"])
    }

    fn launch_grid(
        &self,
        queue: &dyn Queue,
        kernel: &dyn RawKernel,
        grid: &RawGrid,
        arguments: &[RawArg<'_>],
    ) -> Result<()> {
        self.handles.alive()?;
        let queue = OpenClQueue::of(queue, &self.handles)?;
        let kernel = OpenClKernel::of(kernel, &self.handles)?;
        if grid.groups.contains(&0) {
            return Ok(()); // No thread would run, and OpenCL 1.2 refuses an empty grid.
        }
        let shape = self.shape(kernel, grid, arguments)?;
        let (_, parameters) = kernel.told();
        if parameters.len() != arguments.len() {
            let (takes, given) = (parameters.len(), arguments.len());
            return Err(refused(kernel, format!("it takes {takes} arguments and was given {given}")));
        }
        let locked = kernel.lock();
        let mut bytes = 0;
        // A kernel does not keep its arguments alive; the command that is made of it does.
        let mut parts = Vec::new();
        for (number, argument) in arguments.iter().enumerate() {
            // Sets one argument. SAFETY, for all three: the kernel lives and is locked, the value is readable for its length,
            // and the driver copies it.
            let set = |length, value: *const c_void| {
                unsafe { set_kernel_arg(locked.0, number as u32, length, value) }.map_err(|code| match code {
                    CL_INVALID_ARG_SIZE => {
                        let what = format!("parameter {number} is of another size than the {length} bytes given");
                        refused(kernel, what)
                    }
                    code => self.handles.fault(format!("clSetKernelArg {number} of {}", kernel.name), code),
                })
            };
            match *argument {
                RawArg::Memory(memory, offset) => {
                    let memory = OpenClMemory::of(memory, &self.handles)?;
                    bytes += memory.bytes();
                    let part = memory.from(offset)?;
                    let buffer: cl_mem = part.buffer();
                    parts.push(part);
                    set(size_of::<cl_mem>(), ptr::from_ref(&buffer).cast())?;
                }
                RawArg::Bytes(value) => set(value.len(), value.as_ptr().cast())?,
                RawArg::Local(length) => set(length.max(1), ptr::null())?,
            }
        }
        self.handles.health.launched(queue.queue.addr(), &kernel.name);
        // SAFETY: every argument is set, under the lock that is still held; the grid was checked against the limits; the arrays
        // hold `dimensions` numbers each.
        let event = unsafe {
            let (global, local) = (shape.global.as_ptr(), shape.local.as_ptr());
            enqueue_nd_range_kernel(queue.queue, locked.0, shape.dimensions, ptr::null(), global, local, 0, ptr::null())
        };
        drop((locked, parts));
        let call = || format!("launch of {} over {:?} groups of {:?}", kernel.name, grid.groups, grid.threads);
        self.handles.finish_enqueue(call, event, bytes)?;
        self.handles.flush_queue(queue.queue)
    }

    fn offset_alignment(&self) -> usize {
        self.limits.offset_alignment
    }

    fn groups_per_unit(&self, kernel: &dyn RawKernel, _threads: u32, _local_bytes: u32) -> Result<u32> {
        let kernel = OpenClKernel::of(kernel, &self.handles)?;
        let what = format!("telling how many groups of {} run at once: OpenCL has no call for it", kernel.name);
        Err(Error::Unsupported { device: self.handles.name.clone(), what })
    }

    fn suggested_threads(&self, kernel: &dyn RawKernel) -> Result<u32> {
        let (attributes, _) = OpenClKernel::of(kernel, &self.handles)?.told();
        let most = attributes.max_threads.min(self.limits.max_items.first().map_or(u32::MAX, |&most| most as u32));
        Ok(USUAL_THREADS.min(most).max(1))
    }
}

/// A grid as OpenCL counts it: threads in all, and threads in a group.
struct Shape {
    dimensions: u32,
    global: [usize; 3],
    local: [usize; 3],
}

impl OpenClRuntime {
    /// Holds a grid against the limits of device and kernel. Errors: `InvalidLaunch`.
    fn shape(&self, kernel: &OpenClKernel, grid: &RawGrid, arguments: &[RawArg]) -> Result<Shape> {
        let (attributes, _) = kernel.told();
        let mut shape = Shape { dimensions: 1, global: [1; 3], local: grid.threads.map(|extent| extent as usize) };
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            let (groups, local) = (grid.groups[axis] as usize, shape.local[axis]);
            if let Some(&most) = self.limits.max_items.get(axis).filter(|&&most| local > most) {
                return Err(refused(
                    kernel,
                    format!("a group of {local} threads along {name}, and {most} are the most"),
                ));
            }
            shape.global[axis] = groups
                .checked_mul(local)
                .ok_or_else(|| refused(kernel, format!("more threads along {name} than can be counted")))?;
            if shape.global[axis] > 1 {
                shape.dimensions = axis as u32 + 1;
            }
        }
        let (threads, most) = (shape.local.iter().product::<usize>(), attributes.max_threads as usize);
        if threads == 0 || threads > most {
            let group = grid.threads;
            return Err(refused(kernel, format!("a group of {group:?} threads, and 1 to {most} in all are allowed")));
        }
        let local = |argument: &RawArg| if let RawArg::Local(bytes) = argument { *bytes as u64 } else { 0 };
        // All of it is in arguments; the grid only says it again.
        let dynamic = arguments.iter().map(local).fold(0, u64::saturating_add);
        let (declared, most) = (attributes.local_bytes, u64::from(self.limits.facts.local_memory_bytes));
        if dynamic > most.saturating_sub(declared) {
            let what = format!(
                "{dynamic} bytes of local memory beside the {declared} that it declares, and a group has {most} at most"
            );
            return Err(refused(kernel, what));
        }
        Ok(shape)
    }
}

fn refused(kernel: &OpenClKernel, what: String) -> Error {
    Error::InvalidLaunch { kernel: kernel.name.clone(), what }
}
