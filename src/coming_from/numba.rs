//! From Numba: `@cuda.jit`, `@vectorize`, `@cuda.reduce`.
//!
//! A kernel in Rust is compiled when it is first launched on a device, CUDA, OpenCL or the host, and checked by rustc long before.
//! What a body may contain is told in [`lazuli::kernel`](mod@crate::kernel).
//!
//! # Kernels
//!
//! | Numba | Lazuli |
//! |---|---|
//! | `@cuda.jit` | [`#[lazuli::kernel]`](macro@crate::kernel) on a function of slices and scalars |
//! | signatures, or types found at the call | types of Rust; one body for several by generic parameters |
//! | `cuda.grid(1)` to `grid(3)`, `cuda.gridsize(1)` | [`grid1`](crate::kernel::grid1) to [`grid3`](crate::kernel::grid3), [`grid_size1`](crate::kernel::grid_size1) to [`grid_size3`](crate::kernel::grid_size3). Two and three: test `threads_know_where_they_are` |
//! | `cuda.threadIdx`, `blockIdx`, `blockDim`, `gridDim` | [`thread_idx`](crate::kernel::thread_idx), [`block_idx`](crate::kernel::block_idx), [`block_dim`](crate::kernel::block_dim), [`grid_dim`](crate::kernel::grid_dim) |
//! | `cuda.shared.array(64, float32)` | [`shared::<[f32; 64]>()`](crate::kernel::shared); with a length that the launch sets [`shared_dynamic`](crate::kernel::shared_dynamic) |
//! | `cuda.local.array(4, float32)` | `let mut a = [0.0f32; 4];` |
//! | `cuda.syncthreads()` | [`barrier`](crate::kernel::barrier) |
//! | `cuda.atomic.add(x, i, v)` | [`atomic_add(&mut x[i], v)`](crate::kernel::atomic_add) and its kin |
//! | `@cuda.jit(device=True)` | [`#[lazuli::device]`](macro@crate::device) |
//! | `cuda.shfl_sync`, `ballot_sync`, .. | not built: the host has no warps, and OpenCL 1.2 names none. Shared arrays do it |
//! | `syncthreads_count`, `_and`, `_or` | not built: an atomic on a shared array between two barriers |
//!
//! ```
//! use lazuli::kernel::{atomic_add, barrier, block_dim, block_idx, grid_dim, grid_size1, grid1};
//! use lazuli::kernel::{shared, shared_dynamic, thread_idx};
//! use lazuli::prelude::*;
//!
//! #[lazuli::device]
//! fn polynomial<T: Number>(x: T, coefficients: &[T; 3]) -> T {
//!     (coefficients[2] * x + coefficients[1]) * x + coefficients[0]
//! }
//!
//! /// The sum of a polynomial over all elements, and what each group found.
//! #[lazuli::kernel]
//! fn sums<T: Number>(x: &[T], found: &mut [T], count: &mut [u32]) {
//!     let coefficients = [T::one(), T::zero(), T::one()]; // of this thread
//!     let mut parts = shared_dynamic::<T>();
//!     let mut started = shared::<[u32; 1]>();
//!     let t = thread_idx().x;
//!     if t == 0 {
//!         started[0] = 0;
//!     }
//!     let mut sum = T::zero();
//!     for i in (grid1()..x.len()).step_by(grid_size1()) {
//!         sum += polynomial(x[i], &coefficients);
//!     }
//!     parts[t] = sum;
//!     barrier();
//!     atomic_add(&mut started[0], 1);
//!     barrier();
//!     if t == 0 {
//!         let mut total = T::zero();
//!         for i in 0..block_dim().x {
//!             total += parts[i];
//!         }
//!         found[block_idx().x] = total;
//!         atomic_add(&mut count[0], started[0] + grid_dim().x as u32);
//!     }
//! }
//!
//! let device = Device::auto()?;
//! let x = device.arange(0i64, 100, 1);
//! let (mut found, mut count) = (device.zeros::<i64>(2), device.zeros::<u32>(1));
//! sums(&x, &mut found, &mut count).local_bytes(8 * 8).launch(2, 8)?;
//! assert_eq!(found.sum().item()?, (0..100).map(|i| i * i + 1).sum::<i64>());
//! assert_eq!(count.item()?, 2 * (8 + 2));
//! # Ok::<(), lazuli::Error>(())
//! ```
//!
//! # Launches and memory
//!
//! | Numba | Lazuli |
//! |---|---|
//! | `kernel[grid, block](x, y)` | [`kernel(&x, &mut y).launch(grid, block)`](crate::Launch::launch) |
//! | `kernel[grid, block, stream, shared]` | [`submit`](crate::Launch::submit) on a queue, [`local_bytes`](crate::Launch::local_bytes) |
//! | `kernel.forall(n)` | [`forall(n)`](crate::Launch::forall) |
//! | `cuda.to_device(a)` | [`Device::to_device`](crate::Device::to_device), [`from_slice`](crate::Device::from_slice), [`Buffer::from_slice`](crate::Buffer::from_slice) |
//! | `d.copy_to_host()`, `copy_to_host(out)` | [`get`](crate::Array::get), [`get_into`](crate::Array::get_into); [`Buffer::copy_to_host`](crate::Buffer::copy_to_host) |
//! | `cuda.device_array(shape)` | [`Output::new`](crate::Output::new), or [`Buffer::uninit`](crate::Buffer::uninit) |
//! | `cuda.device_array_like(d)` | the same, of `d.shape()` |
//! | `cuda.pinned_array`, `cuda.pinned(a)` | [`Device::pinned`](crate::Device::pinned) |
//! | `cuda.mapped_array` | not on CUDA, whose kernels are much slower over mapped memory. Elsewhere [`Buffer::from_vec`](crate::Buffer::from_vec) with `USE_HOST_PTR`, and everywhere [`map`](crate::Buffer::map) |
//! | `cuda.stream()`, `stream.synchronize()` | [`Device::queue`](crate::Device::queue), [`synchronize`](crate::Queue::synchronize) |
//! | `cuda.event()`, `event.record(stream)`, `cuda.event_elapsed_time` | [`Queue::record`](crate::Queue::record), [`elapsed_since`](crate::Event::elapsed_since) |
//! | arrays of the host as arguments, copied in and out | not so: copies are asked for |
//!
//! ```
//! use lazuli::kernel::grid1;
//! use lazuli::prelude::*;
//! use lazuli::{Buffer, MemFlags, Output};
//!
//! #[lazuli::kernel]
//! fn add(a: &[f32], b: &[f32], c: &mut [f32]) {
//!     let i = grid1();
//!     if i < c.len() {
//!         c[i] = a[i] + b[i];
//!     }
//! }
//!
//! let device = Device::auto()?;
//! let a = device.to_device(&ndarray::arr1(&[1.0f32, 2.0, 3.0]))?;
//! let b = Buffer::from_slice(&device, MemFlags::COPY_HOST_PTR, &[10.0f32, 20.0, 30.0])?;
//! let mut c = Output::new(&device, a.shape());
//! add(&a, &b, &mut c).launch(1, 32)?;
//! let mut out = ndarray::Array1::<f32>::zeros(3);
//! c.array()?.get_into(&mut out)?;
//! assert_eq!(out, ndarray::arr1(&[11.0, 22.0, 33.0]));
//! assert_eq!(out.into_dyn(), c.array()?.get()?);
//!
//! let mut d = Buffer::from_vec(&device, MemFlags::USE_HOST_PTR, vec![0.0f32; 3])?;
//! let stream = device.queue()?;
//! let start = stream.record()?;
//! let event = add(&c.array()?, &b, &mut d).submit(&stream, &[], 1, 32)?;
//! let read = stream.read(&d, device.pinned(3)?, &[])?;
//! let end = stream.record()?;
//! assert_eq!(read.wait()?[..], [21.0, 42.0, 63.0]);
//! stream.synchronize()?;
//! assert!(end.elapsed_since(&start)? >= event.duration()?);
//! add(&a, &b, &mut d).forall(3)?;
//! assert_eq!(d.map()?[..], [11.0, 22.0, 33.0]);
//! # Ok::<(), lazuli::Error>(())
//! ```
//!
//! # Functions of elements
//!
//! | Numba | Lazuli |
//! |---|---|
//! | `@vectorize(.., target="cuda")` | [`#[lazuli::elementwise]`](macro@crate::elementwise): broadcasts, and fuses with the operators around it |
//! | `@cuda.reduce` | [`Array::reduce`](crate::Array::reduce) by a function of `#[lazuli::device]`, also along axes |
//!
//! ```
//! use lazuli::prelude::*;
//!
//! #[lazuli::elementwise]
//! fn hypotenuse(a: f32, b: f32) -> f32 {
//!     (a * a + b * b).sqrt()
//! }
//!
//! #[lazuli::device]
//! fn longer(a: f32, b: f32) -> f32 {
//!     if a.abs() > b.abs() { a } else { b }
//! }
//!
//! let device = Device::auto()?;
//! let a = device.from_slice(&[3.0f32, 5.0, -8.0])?;
//! let lengths = hypotenuse(&a, device.from_slice(&[4.0f32, 12.0, 6.0])?);
//! assert_eq!((lengths * 2.0).get()?.as_slice().unwrap(), [10.0, 26.0, 20.0]);
//! assert_eq!(a.reduce(longer::Function, 0.0).item()?, -8.0);
//! # Ok::<(), lazuli::Error>(())
//! ```
//!
//! # Looking inside
//!
//! | Numba | Lazuli |
//! |---|---|
//! | `kernel.inspect_llvm()`, `inspect_asm()` | `kernel::Kernel::source(&device)`: the CUDA C or OpenCL C, and a printed form on the host. Compiled as a [`Module`](crate::Module) its [`binary`](crate::Module::binary) is the rest |
//! | `get_regs_per_thread()`, `get_shared_mem_per_block()`, `get_max_threads_per_block()` | `kernel::Kernel::attributes(&device)`: [`KernelAttributes`](crate::KernelAttributes) |
//! | `NumbaPerformanceWarning` for a small grid | no warnings. `forall` chooses a size; [`occupancy`](crate::Function::occupancy) tells of one, on CUDA (test `attributes_are_told`) |
//! | `NUMBA_ENABLE_CUDASIM=1` | [`Device::host`](crate::Device::host): the same kernel, barriers and atomics included, on the CPU's cores |
//! | `@cuda.jit(debug=True)` | [`Config::checked_kernels`](crate::Config::checked_kernels): indices out of range are errors. Always so on CPUs |
//! | `print` in a kernel | not built: kernels have no strings. Write what you want to see to a slice |
//!
//! ```
//! use lazuli::kernel::grid1;
//! use lazuli::prelude::*;
//! use lazuli::Module;
//!
//! #[lazuli::kernel]
//! fn twice(x: &mut [f32]) {
//!     x[grid1()] *= 2.0;
//! }
//!
//! let host = Device::open("host", Config::default().with_checked_kernels(true))?;
//! let mut x = host.ones::<f32>(2);
//! let outcome = twice(&mut x).launch(1, 3); // one thread too many
//! let Err(Error::KernelIndex { kernel, index, extent, .. }) = outcome else { panic!("{outcome:?}") };
//! assert_eq!((kernel.as_str(), index, extent), ("twice", 2, 2));
//! twice(&mut x).launch(1, 2)?; // and the device goes on
//!
//! let device = Device::auto()?;
//! let source = twice::Kernel::source(&device)?;
//! assert!(source.contains("twice"));
//! assert!(twice::Kernel::attributes(&device)?.max_threads > 0);
//! if device.name() != "host" {
//!     assert!(!Module::new(&device, &source)?.binary()?.is_empty());
//! }
//! # Ok::<(), lazuli::Error>(())
//! ```
