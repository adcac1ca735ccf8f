//! From PyCUDA: `SourceModule`, and what goes with it in `pycuda.driver`, here `drv`.
//!
//! The same modules compile OpenCL C on OpenCL, and one [portable language](crate::Language::Portable) on both. The host
//! compiles neither: there [kernels in Rust](mod@crate::kernel) run.
//!
//! # Modules
//!
//! | PyCUDA | Lazuli |
//! |---|---|
//! | `import pycuda.autoinit` | [`Device::auto`](crate::Device::auto), [`Device::cuda`](crate::Device::cuda) |
//! | `SourceModule(source)` | [`Module::new`](crate::Module::new), in the device's own language |
//! | `options=[..]`, `include_dirs=[..]` | [`option`](crate::ModuleBuilder::option), [`options`](crate::ModuleBuilder::options), [`include`](crate::ModuleBuilder::include), [`define`](crate::ModuleBuilder::define). Folders: test `options_folders_and_defines_reach_the_compiler` |
//! | `arch="sm_90"` | `.option("--gpu-architecture=sm_90")`; the device's own unless it is said |
//! | `no_extern_c=True` | [`extern_c(false)`](crate::ModuleBuilder::extern_c); templates by [`expression`](crate::ModuleBuilder::expression) |
//! | `CompileError`, with `command_line` and `stderr` | [`Error::Compile`](crate::Error::Compile), with `options`, `log` and `source_text` |
//! | `cache_dir=` | `LAZULI_CACHE_DIR`, [`Config::disk_cache`](crate::Config::disk_cache); test `compiled_modules_are_kept_on_disk_under_all_they_depend_on` |
//! | `drv.module_from_buffer`, `module_from_file` | [`from_cubin`](crate::Module::from_cubin), [`from_ptx`](crate::Module::from_ptx), [`from_binary`](crate::Module::from_binary) |
//! | `mod.get_function(name)` | [`function`](crate::Module::function) |
//! | `mod.get_global(name)` | [`global`](crate::Module::global), typed memory, on CUDA: OpenCL has no call for it |
//! | `mod.get_texref(name)` | not built: there are no textures |
//!
//! The rows on architecture, `extern "C"`, binaries and variables are shown under the launches, where CUDA is.
//!
//! ```
//! use lazuli::prelude::*;
//! use lazuli::{Language, Module, args};
//!
//! let device = Device::auto()?;
//! if device.name() == "host" {
//!     return Ok(());
//! }
//! let source = "
//! KERNEL raise(GLOBAL f32 *x, f32 by, u32 n) {
//!     if (INDEX_X < n) x[INDEX_X] += by * TIMES;
//! }";
//! // `Module::new(&device, source)` is for CUDA C on CUDA and OpenCL C on OpenCL.
//! let portable = || Module::builder(&device).language(Language::Portable).name("raise.c");
//! let module = portable().options(["-DTIMES=2"]).source(source)?;
//! let raise = module.function("raise")?;
//! let mut x = device.zeros::<f32>(3);
//! raise.call(args![&mut x, 1.5f32, 3u32]).launch(1, 32)?;
//! assert_eq!(x.sum().item()?, 9.0);
//!
//! let again = Module::from_binary(&device, &module.binary()?)?;
//! again.function("raise")?.call(args![&mut x, 1.0f32, 3u32]).launch(1, 32)?;
//! assert_eq!(x.sum().item()?, 15.0);
//! assert!(matches!(module.function("lower"), Err(Error::FunctionNotFound { .. })));
//!
//! let error = portable().define("TIMES", "twice").source(source).unwrap_err();
//! let Error::Compile { log, source_text, .. } = error else { panic!("{error}") };
//! assert!(log.contains("twice") && *source_text == *source, "{log}");
//! # Ok::<(), lazuli::Error>(())
//! ```
//!
//! # Launches
//!
//! | PyCUDA | Lazuli |
//! |---|---|
//! | `func(*args, grid=(4, 1), block=(32, 1, 1))` | [`func.call(args![..])`](crate::Function::call) and [`launch(4, 32)`](crate::Launch::launch), with one to three numbers for each |
//! | `stream=stream` | [`submit(&queue, &[], 4, 32)`](crate::Launch::submit), which gives an event |
//! | `shared=nbytes` | [`local_bytes`](crate::Launch::local_bytes); for both languages [`LocalMem`](crate::LocalMem) as the last argument |
//! | `time_kernel=True` | [`timed`](crate::Launch::timed) |
//! | `func.prepare`, `prepared_call` | nothing to prepare: arguments are held against parameters without it |
//! | `drv.In(a)` | `&x` of [`to_device`](crate::Device::to_device), or of any expression, which is computed first |
//! | `drv.Out(a)` | `&mut` [`Output`](crate::Output), which holds nothing before |
//! | `drv.InOut(a)` | `&mut` [`Array`](crate::Array) or [`Buffer`](crate::Buffer) |
//! | `np.float32(2)`, packed structs | numbers of Rust; [`Struct`](crate::Struct) |
//! | `func.num_regs`, `local_size_bytes`, `shared_size_bytes`, `max_threads_per_block` | [`attributes`](crate::Function::attributes): [`KernelAttributes`](crate::KernelAttributes) |
//! | `pycuda.tools.OccupancyRecord` | [`occupancy`](crate::Function::occupancy), from the driver, on CUDA |
//!
//! ```
//! use lazuli::prelude::*;
//! use lazuli::{Language, LocalMem, Module, Output, Struct, args};
//!
//! #[derive(Clone, Copy, bytemuck::NoUninit)]
//! #[repr(C)]
//! struct Line {
//!     slope: f32,
//!     offset: f32,
//! }
//!
//! let device = Device::auto()?;
//! if device.name() == "host" {
//!     return Ok(());
//! }
//! let module = Module::builder(&device).language(Language::Portable).source("
//! typedef struct { f32 slope, offset; } Line;
//! KERNEL line(Line line, GLOBAL const f32 *x, GLOBAL f32 *y, GLOBAL f32 *last LOCAL_PARAM(f32, tile)) {
//!     LOCAL_ARRAY(f32, tile)
//!     tile[THREAD_X] = line.slope * x[INDEX_X] + line.offset;
//!     BARRIER;
//!     y[INDEX_X] = tile[THREAD_X];
//!     if (THREAD_X == 0) last[GROUP_X] = tile[GROUP_SIZE_X - 1];
//! }")?;
//! let line = module.function("line")?;
//! let attributes = line.attributes()?;
//! assert!(attributes.max_threads >= 4);
//! assert_eq!(attributes.registers.is_some(), device.name().starts_with("cuda"));
//!
//! let x = device.arange(0.0f32, 8.0, 1.0);
//! let (mut y, mut last) = (Output::<f32>::new(&device, 8), device.zeros::<f32>(2));
//! let shape = Line { slope: 2.0, offset: 1.0 };
//! line.call(args![Struct(&shape), &x, &mut y, &mut last, LocalMem::<f32>::new(4)]).launch(2, 4)?;
//! assert_eq!(y.array()?.sum().item()?, 64.0);
//! assert_eq!(last.get()?.as_slice().unwrap(), [7.0, 15.0]);
//!
//! let queue = device.queue()?;
//! let next = &x + 1.0; // computed before the kernel reads it
//! let arguments = args![Struct(&shape), &next, &mut y, &mut last, LocalMem::<f32>::new(4)];
//! let event = line.call(arguments).submit(&queue, &[], 2, 4)?;
//! assert_eq!(last.get()?.as_slice().unwrap(), [9.0, 17.0]); // in order with the queue
//! let arguments = args![Struct(&shape), &x, &mut y, &mut last, LocalMem::<f32>::new(4)];
//! assert!(line.call(arguments).timed(2, 4)?.as_secs() < 60 && event.duration()?.as_secs() < 60);
//!
//! // Too few arguments are told before anything runs.
//! assert!(matches!(line.call(args![&x]).launch(2, 4), Err(Error::InvalidLaunch { .. })));
//! # Ok::<(), lazuli::Error>(())
//! ```
//!
//! What is CUDA's alone:
//!
//! ```
//! use lazuli::prelude::*;
//! use lazuli::{Module, args};
//!
//! let Ok(device) = Device::cuda(0) else { return Ok(()) };
//! let module = Module::builder(&device).extern_c(false).expression("fill<float>").source(r#"
//! __constant__ float table[4];
//! template <typename T> __global__ void fill(T *x, T value) { x[threadIdx.x] = value; }
//! extern "C" __global__ void turned(float *x) {
//!     extern __shared__ float tile[];
//!     tile[threadIdx.x] = x[threadIdx.x] + table[threadIdx.x];
//!     __syncthreads();
//!     x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
//! }"#)?;
//! module.global::<f32>("table")?.write(&[1.0, 2.0, 3.0, 4.0])?;
//! let mut x = device.zeros::<f32>(4);
//! module.function("fill<float>")?.call(args![&mut x, 10.0f32]).launch(1, 4)?;
//! let turned = module.function("turned")?;
//! turned.call(args![&mut x]).local_bytes(16).launch(1, 4)?;
//! assert_eq!(x.get()?.as_slice().unwrap(), [14.0, 13.0, 12.0, 11.0]);
//! assert!(turned.occupancy(256, 0)?.groups >= 1);
//!
//! let one = "__global__ void one(float *x) { *x = 1.0f; }";
//! let image = Module::new(&device, one)?.binary()?;
//! let ptx = Module::builder(&device).option("--gpu-architecture=compute_75").source(one)?.binary()?;
//! let ptx = String::from_utf8_lossy(&ptx);
//! let again = match image.starts_with(b"\x7fELF") {
//!     true => Module::from_cubin(&device, &image)?,
//!     false => Module::from_binary(&device, &image)?, // of a compiler older than the device, which gives PTX
//! };
//! for module in [again, Module::from_ptx(&device, ptx.trim_end_matches('\0'))?] {
//!     x.slice_assign(ndarray::s![..1], 0.0);
//!     module.function("one")?.call(args![&mut x]).launch(1, 1)?;
//!     assert_eq!(x.sum().item()?, 37.0);
//! }
//! # Ok::<(), lazuli::Error>(())
//! ```
//!
//! # Memory, streams and events
//!
//! | PyCUDA | Lazuli |
//! |---|---|
//! | `drv.mem_alloc(nbytes)`, `mem.free()` | [`Buffer::uninit`](crate::Buffer::uninit), in elements; dropping it |
//! | `drv.memcpy_htod`, `memcpy_dtoh`, `memcpy_dtod` | [`write_at`](crate::Buffer::write_at), [`copy_to_host`](crate::Buffer::copy_to_host), [`copy_from`](crate::Buffer::copy_from) |
//! | `drv.memcpy_htod_async`, .. | [`Queue::write`](crate::Queue::write), [`read`](crate::Queue::read), [`copy`](crate::Queue::copy) |
//! | `drv.memset_d32` and its kin | [`fill`](crate::Buffer::fill), of any element type; [`Queue::fill`](crate::Queue::fill) |
//! | `drv.mem_alloc_pitch` | not built: rows begin where you put them. `Memcpy2D` and `3D` are [`copy_rect`](crate::Buffer::copy_rect) and its kin, with pitches |
//! | `drv.pagelocked_empty` | [`Device::pinned`](crate::Device::pinned) |
//! | `drv.register_host_memory`, `DEVICEMAP` | not on CUDA, whose kernels are much slower over mapped memory. Elsewhere [`Buffer::from_vec`](crate::Buffer::from_vec) with `USE_HOST_PTR` |
//! | `drv.Stream()`, `synchronize` | [`Device::queue`](crate::Device::queue), [`synchronize`](crate::Queue::synchronize) |
//! | `event.record(stream)`, `stream.wait_for_event` | [`Queue::record`](crate::Queue::record), [`wait_for`](crate::Queue::wait_for) |
//! | `end.time_since(start)` | [`elapsed_since`](crate::Event::elapsed_since) |
//! | `pycuda.tools.DeviceMemoryPool` | every device has one: [`counters`](crate::Device::counters), [`trim_pool`](crate::Device::trim_pool) |
//! | `pycuda.tools.PageLockedMemoryPool` | not built: keep a [`HostBuffer`](crate::HostBuffer), which each [`Transfer`](crate::Transfer) gives back, and use it again |
//!
//! ```
//! use lazuli::prelude::*;
//! use lazuli::{Buffer, MemFlags, Rect};
//!
//! let device = Device::auto()?;
//! let mut a_gpu = Buffer::uninit(&device, MemFlags::READ_WRITE, 6)?;
//! a_gpu.write_at(0, &[1, 2, 3, 4, 5, 6])?;
//! let mut b_gpu = Buffer::uninit(&device, MemFlags::READ_WRITE, 6)?;
//! b_gpu.copy_from(&a_gpu)?;
//! b_gpu.fill(7)?;
//! // The second column of three rows of two.
//! let column = Rect::at([1, 0, 0]).with_row_pitch(2);
//! b_gpu.copy_rect(column, &a_gpu, column, [1, 3, 1])?;
//! let mut b = [0; 6];
//! b_gpu.copy_to_host(&mut b)?;
//! assert_eq!(b, [7, 2, 7, 4, 7, 6]);
//!
//! let (stream, other) = (device.queue()?, device.queue()?);
//! let start = stream.record()?;
//! let mut host = device.pinned(6)?;
//! host.fill(9);
//! let written = stream.write(host, &mut a_gpu, &[])?;
//! stream.copy(&a_gpu, &mut b_gpu, &[])?;
//! let end = stream.record()?;
//! other.wait_for(&[end.clone()])?;
//! let host = written.wait()?; // here again, for the next copy
//! assert_eq!(other.read(&b_gpu, host, &[])?.wait()?[..], [9; 6]);
//! stream.fill(&mut b_gpu, 0, &[])?;
//! stream.synchronize()?;
//! assert!(end.elapsed_since(&start)?.as_secs() < 60);
//!
//! let mut in_place = Buffer::from_vec(&device, MemFlags::USE_HOST_PTR, vec![1, 2])?;
//! in_place.fill(3)?;
//! assert_eq!(in_place.into_vec()?, [3, 3]);
//! drop((a_gpu, b_gpu));
//! device.trim_pool(); // what was dropped goes back to the driver
//! # Ok::<(), lazuli::Error>(())
//! ```
//!
//! # What there is not
//!
//! Textures and surfaces, CUDA graphs, memory shared between processes or between peers, and managed memory are not built.
//! `GPUArray`, `ElementwiseKernel` and `ReductionKernel` are told on the page of [PyOpenCL's arrays](super::pyopencl_array), whose
//! names are the same.
