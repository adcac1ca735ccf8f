//! Modules and kernels of the caller's: compiled, loaded and launched.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUdevice_attribute_enum as DeviceAttribute};
use lazuli_codegen::{Dialect, simt};
use smallvec::SmallVec;

use super::CudaRuntime;
use super::fault;
use super::memory::CudaMemory;
use super::queue::CudaQueue;
use super::raw_module::{CudaKernel, CudaModule};
use crate::error::{Error, Result};
use crate::runtime::explicit::{
    ModuleCode, ModuleOptions, Modules, Queue, RawArg, RawGrid, RawKernel, RawModule, RustKernelOptions,
};

/// Groups along x, y and z; the same on every architecture.
const MOST_GROUPS: [u32; 3] = [(1 << 31) - 1, 65_535, 65_535];
/// Threads of a group along x, y and z; the same on every architecture.
const MOST_THREADS: [u32; 3] = [1024, 1024, 64];
/// Shared memory that a group has without asking.
const USUAL_SHARED_BYTES: u32 = 48 << 10;
/// A size of groups that leaves the device free to place them, where it runs as many threads as a larger one.
const USUAL_THREADS: u32 = 256;
/// Bytes and pointers that are there to be read for a kernel whose parameters the driver does not tell.
const UNTOLD_BYTES: usize = 4 << 10;
/// Parameters that a kernel may have, were each one byte.
const UNTOLD_PARAMETERS: usize = 4 << 10;

impl CudaRuntime {
    /// The kernel named `entry` of a source, with these options beside the architecture's. For kernels that Lazuli emits: the
    /// binary is kept under the source and the options alone.
    pub(super) fn emitted_kernel(
        &self,
        name: &str,
        text: &str,
        entry: &str,
        options: &[&str],
    ) -> Result<Arc<dyn RawKernel>> {
        let options = ModuleOptions {
            name: name.into(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            kept_under: Some(Vec::new()),
            name_expressions: Vec::new(),
        };
        self.module(ModuleCode::Source(text), &options)?.kernel(entry)
    }
}

impl Modules for CudaRuntime {
    fn dialect(&self) -> Option<Dialect> {
        Some(Dialect::CudaC)
    }

    fn module(&self, code: ModuleCode<'_>, options: &ModuleOptions) -> Result<Arc<dyn RawModule>> {
        self.handles.bind()?;
        let module = match code {
            ModuleCode::Source(source) => self.compiler.module(&self.handles, source, options)?,
            ModuleCode::Binary(binary) => {
                let mut image = binary.to_vec();
                let is_text = !binary.starts_with(b"\x7fELF") && !binary.starts_with(&[0x50, 0xed, 0x55, 0xba]);
                if is_text && !binary.ends_with(b"\0") {
                    image.push(0);
                }
                CudaModule::load(&self.handles, options, None, image, Vec::new(), false)?
            }
        };
        Ok(Arc::new(module))
    }

    fn rust_kernel(&self, kernel: &Arc<simt::ir::Kernel>, options: RustKernelOptions) -> Result<Arc<dyn RawKernel>> {
        simt::verify(kernel).map_err(Error::Internal)?;
        let RustKernelOptions { checked, contraction, group } = options;
        let options = simt::emit::EmitOptions { contraction, cpu_math: false, checked, group };
        let emitted = tracing::debug_span!("emit", kernel = kernel.name, dialect = "CudaC")
            .in_scope(|| simt::emit(kernel, Dialect::CudaC, &options));
        let fmad = format!("--fmad={contraction}");
        self.emitted_kernel(&kernel.name, &emitted.text, &emitted.entry, &["--std=c++17", &fmad])
    }

    fn launch_grid(
        &self,
        queue: &dyn Queue,
        kernel: &dyn RawKernel,
        grid: &RawGrid,
        arguments: &[RawArg<'_>],
    ) -> Result<()> {
        let queue = CudaQueue::of(queue, &self.handles)?;
        let kernel = CudaKernel::of(kernel, &self.handles)?;
        if grid.groups.contains(&0) {
            return Ok(()); // No thread would run, and the driver refuses an empty grid.
        }
        let mut values = self.pack(kernel, arguments)?;
        self.handles.bind()?;
        self.check_grid(kernel, grid)?;
        let call = || format!("launch of {} over {:?} groups of {:?}", kernel.name, grid.groups, grid.threads);
        if u64::from(grid.local_bytes) + kernel.told().0.local_bytes > USUAL_SHARED_BYTES.into() {
            kernel.allow_shared(grid.local_bytes).map_err(|error| {
                fault::driver(&self.handles.name, format!("cuFuncSetAttribute for {}", kernel.name), error)
            })?;
        }
        let mut pointers: SmallVec<[*mut c_void; 32]> =
            values.iter_mut().map(|value| value.as_mut_ptr().cast::<c_void>()).collect();
        let mut nothing = [0u64; UNTOLD_BYTES / size_of::<u64>()];
        if kernel.told().1.is_none() {
            // The driver reads a pointer for each parameter that the kernel has, and does not tell how many those are.
            pointers.resize(UNTOLD_PARAMETERS.max(pointers.len()), nothing.as_mut_ptr().cast());
        }
        self.handles.health.launched(queue.stream.addr(), &kernel.name);
        let ([x, y, z], [threads_x, threads_y, threads_z]) = (grid.groups, grid.threads);
        // SAFETY: the function lives (its kernel does), and so does the stream. There is a pointer for each parameter, to as many
        // bytes as it has or more (`pack`), and the driver copies what they point to. What the kernel itself does with its
        // arguments is its author's promise.
        let launched = unsafe {
            let (function, stream) = (kernel.function(), queue.stream);
            let threads = (threads_x, threads_y, threads_z);
            result::launch_kernel(function, (x, y, z), threads, grid.local_bytes, stream, &mut pointers)
        };
        launched.map_err(|error| fault::driver(&self.handles.name, call(), error))
    }

    fn groups_per_unit(&self, kernel: &dyn RawKernel, threads: u32, local_bytes: u32) -> Result<u32> {
        let kernel = CudaKernel::of(kernel, &self.handles)?;
        self.handles.bind()?;
        if u64::from(local_bytes) + kernel.told().0.local_bytes > USUAL_SHARED_BYTES.into()
            && kernel.allow_shared(local_bytes).is_err()
        {
            return Ok(0);
        }
        let mut groups = 0;
        let threads = i32::try_from(threads).unwrap_or(i32::MAX);
        // SAFETY: the function lives as long as the kernel, and the number is ours to write.
        let asked = unsafe {
            let function = kernel.function();
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut groups, function, threads, local_bytes as usize)
        };
        let call = || format!("cuOccupancyMaxActiveBlocksPerMultiprocessor for {}", kernel.name);
        asked.result().map_err(|error| fault::driver(&self.handles.name, call(), error))?;
        Ok(u32::try_from(groups).unwrap_or(0))
    }

    fn threads_per_unit(&self) -> Option<u32> {
        let which = DeviceAttribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
        // SAFETY: the device came from cuDeviceGet.
        let most = unsafe { result::device::get_attribute(self.handles.device, which) }.ok()?;
        u32::try_from(most).ok()
    }

    fn suggested_threads(&self, kernel: &dyn RawKernel) -> Result<u32> {
        let own = CudaKernel::of(kernel, &self.handles)?;
        self.handles.bind()?;
        let (mut groups, mut threads) = (0, 0);
        // SAFETY: the function lives as long as the kernel, both numbers are ours to write, and no function is given that would
        // be called back.
        let asked = unsafe {
            let function = own.function();
            sys::cuOccupancyMaxPotentialBlockSize(&raw mut groups, &raw mut threads, function, None, 0, 0)
        };
        let call = || format!("cuOccupancyMaxPotentialBlockSize for {}", own.name);
        asked.result().map_err(|error| fault::driver(&self.handles.name, call(), error))?;
        let most = u32::try_from(threads).unwrap_or(0).max(1);
        let at_once = |threads: u32| self.groups_per_unit(kernel, threads, 0).map(|groups| groups * threads);
        if most > USUAL_THREADS && at_once(USUAL_THREADS)? >= at_once(most)? {
            return Ok(USUAL_THREADS);
        }
        Ok(most)
    }
}

/// The bytes of one argument, aligned for any parameter.
type Packed = SmallVec<[u64; 2]>;

impl CudaRuntime {
    /// The arguments in order, each with at least as many bytes as its parameter. Errors: `InvalidLaunch`.
    fn pack(&self, kernel: &CudaKernel, arguments: &[RawArg]) -> Result<SmallVec<[Packed; 16]>> {
        let (_, parameters) = kernel.told();
        if let Some(parameters) = parameters
            && parameters.len() != arguments.len()
        {
            let (takes, given) = (parameters.len(), arguments.len());
            return Err(refused(kernel, format!("it takes {takes} arguments and was given {given}")));
        }
        let mut values: SmallVec<[Packed; 16]> = SmallVec::new();
        for (number, argument) in arguments.iter().enumerate() {
            let address;
            let bytes: &[u8] = match *argument {
                RawArg::Memory(memory, offset) => {
                    let memory = CudaMemory::of(memory, &self.handles)?;
                    address = memory.range("an argument", offset, 0)?.to_ne_bytes();
                    &address
                }
                RawArg::Bytes(bytes) => bytes,
                RawArg::Local(_) => {
                    let what = "local memory is no argument in CUDA C: the launch sets its bytes".into();
                    return Err(refused(kernel, what));
                }
            };
            let takes = parameters.and_then(|parameters| parameters[number].bytes);
            if let Some(takes) = takes.filter(|&takes| takes != bytes.len()) {
                let given = bytes.len();
                return Err(refused(kernel, format!("parameter {number} takes {takes} bytes and was given {given}")));
            }
            values.push(packed(bytes, if takes.is_some() { 0 } else { UNTOLD_BYTES }));
        }
        Ok(values)
    }

    /// Holds a grid against the limits of device and kernel. Errors: `InvalidLaunch`; `Driver`.
    fn check_grid(&self, kernel: &CudaKernel, grid: &RawGrid) -> Result<()> {
        let past = |extents: [u32; 3], most: [u32; 3]| (0..3).find(|&axis| extents[axis] > most[axis]);
        let axes = ["x", "y", "z"];
        if let Some(axis) = past(grid.groups, MOST_GROUPS) {
            let (given, most) = (grid.groups[axis], MOST_GROUPS[axis]);
            return Err(refused(kernel, format!("{given} groups along {}, and {most} are the most", axes[axis])));
        }
        if let Some(axis) = past(grid.threads, MOST_THREADS) {
            let (given, most) = (grid.threads[axis], MOST_THREADS[axis]);
            let what = format!("a group of {given} threads along {}, and {most} are the most", axes[axis]);
            return Err(refused(kernel, what));
        }
        let (attributes, _) = kernel.told();
        let threads = grid.threads.iter().product::<u32>();
        if threads == 0 || threads > attributes.max_threads {
            let (group, most) = (grid.threads, attributes.max_threads);
            return Err(refused(kernel, format!("a group of {group:?} threads, and 1 to {most} in all are allowed")));
        }
        if grid.local_bytes == 0 {
            return Ok(());
        }
        let which = DeviceAttribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        // SAFETY: the device came from cuDeviceGet.
        let most = unsafe { result::device::get_attribute(self.handles.device, which) }
            .map_err(|error| fault::driver(&self.handles.name, "cuDeviceGetAttribute", error))?;
        let most = u64::try_from(most).unwrap_or(0).max(USUAL_SHARED_BYTES.into());
        let (dynamic, declared) = (u64::from(grid.local_bytes), attributes.local_bytes);
        if dynamic + declared > most {
            let what = format!(
                "{dynamic} bytes of local memory beside the {declared} that it declares, and a group has {most} at most"
            );
            return Err(refused(kernel, what));
        }
        Ok(())
    }
}

/// Bytes in whole words, at least so many.
fn packed(bytes: &[u8], least: usize) -> Packed {
    let mut words: Packed = SmallVec::from_elem(0, bytes.len().max(least).div_ceil(size_of::<u64>()).max(1));
    for (word, piece) in words.iter_mut().zip(bytes.chunks(size_of::<u64>())) {
        let mut whole = [0; size_of::<u64>()];
        whole[..piece.len()].copy_from_slice(piece);
        *word = u64::from_ne_bytes(whole);
    }
    words
}

fn refused(kernel: &CudaKernel, what: String) -> Error {
    Error::InvalidLaunch { kernel: kernel.name.clone(), what }
}
