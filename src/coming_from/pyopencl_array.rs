//! From PyOpenCL's arrays: `to_device`, operators, and kernels over elements. `cla` is `pyopencl.array`.
//!
//! An expression is recorded, and runs when a value is asked for: `(a * 2 + b).sum()` is one kernel and not three.
//!
//! # In and out
//!
//! | PyOpenCL | Lazuli |
//! |---|---|
//! | `cla.to_device(queue, a)` | [`Device::to_device`](crate::Device::to_device), [`from_slice`](crate::Device::from_slice), [`from_shape`](crate::Device::from_shape) |
//! | `a.get()`, `a.get(ary=out)`, `a[()].get()` | [`get`](crate::Array::get), [`get_into`](crate::Array::get_into), [`item`](crate::Array::item) |
//! | `a.get_async()` | [`get_async`](crate::Array::get_async) |
//! | `a.set(b)`, `a[2:4] = b` | bind a new array; [`slice_assign`](crate::Array::slice_assign) for a part |
//! | `a.set(b, async_=True)` | [`Queue::write`](crate::Queue::write) into a [`Buffer`](crate::Buffer), and [`to_array`](crate::Buffer::to_array) |
//! | `cla.zeros`, `zeros_like`, `arange` | [`zeros`](crate::Device::zeros), [`ones`](crate::Device::ones), [`full`](crate::Device::full), [`arange`](crate::Device::arange), [`linspace`](crate::Device::linspace), [`eye`](crate::Device::eye); of the shape `a.shape()` |
//! | `cla.empty` | [`Output::new`](crate::Output::new) for what a kernel writes, else [`Buffer::uninit`](crate::Buffer::uninit), as below. Lazy arrays need none |
//! | `a.base_data` | [`Buffer::from_array`](crate::Buffer::from_array), without a copy |
//! | `cl.tools.MemoryPool` | every device has one: [`counters`](crate::Device::counters), [`trim_pool`](crate::Device::trim_pool) |
//!
//! ```
//! use lazuli::prelude::*;
//! use lazuli::{Buffer, MemFlags};
//! use ndarray::{Array1, arr1, s};
//!
//! let device = Device::auto()?;
//! let a = arr1(&[1.0f32, 2.0, 3.0, 4.0]);
//! let mut x = device.to_device(&a)?;
//! let later = (&x * 2.0).get_async()?;
//! assert_eq!(device.from_shape([2, 2], &[1.0f32, 0.0, 0.0, 1.0])?.get()?, device.eye::<f32>(2).get()?);
//! assert_eq!(device.linspace(1.0f32, 4.0, 4).get()?, a.clone().into_dyn());
//! let mut out = Array1::<f32>::zeros(4);
//! (&x + device.ones::<f32>(x.shape())).get_into(&mut out)?;
//! assert_eq!(out, arr1(&[2.0, 3.0, 4.0, 5.0]));
//! x.slice_assign(s![1..3], device.arange(10.0f32, 12.0, 1.0));
//! assert_eq!((x.sum().item()?, later.wait()?[[3]]), (26.0, 8.0));
//!
//! // A new value without waiting: through pinned memory, on a queue.
//! let mut host = device.pinned::<f32>(4)?;
//! host.copy_from_slice(&[5.0, 6.0, 7.0, 8.0]);
//! let mut buffer = Buffer::uninit(&device, MemFlags::READ_WRITE, 4)?;
//! let written = device.queue()?.write(host, &mut buffer, &[])?;
//! x = buffer.to_array(4)?;
//! assert_eq!(x.max().item()?, 8.0);
//! written.wait()?;
//!
//! let buffer = Buffer::from_array(MemFlags::READ_WRITE, &(&x - 1.0))?;
//! assert_eq!(buffer.to_vec()?, [4.0, 5.0, 6.0, 7.0]);
//! device.trim_pool();
//! assert!(device.counters().live_bytes > 0);
//! # Ok::<(), lazuli::Error>(())
//! ```
//!
//! # Operators and functions
//!
//! | PyOpenCL | Lazuli |
//! |---|---|
//! | `a + b`, `2 * a`, `a += b`, `a < b`, `a ** b` | the operators of Rust; [`lt`](crate::Array::lt) and its kin; [`pow`](crate::Array::pow). Shapes broadcast |
//! | `a[::2]`, `a.reshape`, `a.T`, `a.transpose(axes)` | [`slice`](crate::Array::slice), [`reshape`](crate::Array::reshape), [`t`](crate::Array::t), [`permute`](crate::Array::permute). Views, never copies |
//! | `a.astype(np.int32)` | [`cast`](crate::Array::cast) |
//! | `cla.take(a, indices)` | [`take_flat`](crate::Array::take_flat), and along an axis [`take`](crate::Array::take). Indices are checked |
//! | `cla.if_positive`, `where` | [`select`](crate::Array::select) |
//! | `cla.minimum`, `cla.maximum` | [`minimum`](crate::Array::minimum), [`maximum`](crate::Array::maximum) |
//! | `cla.sum`, `cla.min`, `cla.max` | [`sum`](crate::Array::sum), [`min`](crate::Array::min), [`max`](crate::Array::max), over all or some axes |
//! | `cla.dot(a, b)` | `(&a * &b).sum()`, one kernel |
//! | `a.any()`, `a.all()` | [`any`](crate::Array::any), [`all`](crate::Array::all) |
//! | `cla.cumsum(a)` | [`scan`](crate::Array::scan) by addition, along any axis |
//! | `pyopencl.clmath` | methods: [`exp`](crate::Array::exp), [`log`](crate::Array::log), [`hypot`](crate::Array::hypot), .. |
//! | `cla.concatenate` | not built. [`slice_assign`](crate::Array::slice_assign) into an array of zeros does it |
//! | `cla.stack` | not built. [`insert_axis`](crate::Array::insert_axis) of each, and the same |
//!
//! ```
//! use lazuli::prelude::*;
//! use ndarray::{arr1, arr2, s};
//!
//! #[lazuli::device]
//! fn add(a: f32, b: f32) -> f32 {
//!     a + b
//! }
//!
//! let device = Device::auto()?;
//! let (a, b) = (device.from_slice(&[1.0f32, 2.0, 3.0, 4.0])?, device.full(4, 2.0f32));
//! let mut c = 2.0 * &a - &b;
//! c += 1.0;
//! assert_eq!(c.get()?, arr1(&[1.0, 3.0, 5.0, 7.0]).into_dyn());
//! assert_eq!((a.lt(&b).any().item()?, a.le(4.0).all().item()?), (true, true));
//! assert_eq!(((&a * &b).sum().item()?, a.min().item()?, a.max().item()?), (20.0, 1.0, 4.0));
//! assert_eq!((&a * 0.0).exp().sum().item()?, 4.0);
//! assert_eq!(a.pow(2.0).cast::<i32>().get()?, arr1(&[1, 4, 9, 16]).into_dyn());
//! assert_eq!(a.hypot(0.0).minimum(3.0).maximum(&b).get()?, arr1(&[2.0, 2.0, 3.0, 3.0]).into_dyn());
//!
//! let square = a.reshape([2, 2]);
//! assert_eq!(square.t().get()?, square.permute(&[1, 0]).get()?);
//! assert_eq!(a.slice(s![..;2]).get()?, arr1(&[1.0, 3.0]).into_dyn());
//! let indices = device.from_slice(&[3, 0])?;
//! assert_eq!(a.take_flat(&indices).get()?, arr1(&[4.0, 1.0]).into_dyn());
//! assert_eq!(square.take(&indices.slice(s![1..]), 0).get()?, arr2(&[[1.0, 2.0]]).into_dyn());
//! assert_eq!(a.gt(2.0).select(&a, 0.0).get()?, arr1(&[0.0, 0.0, 3.0, 4.0]).into_dyn());
//! assert_eq!(a.scan(add::Function, 0.0, 0).get()?, arr1(&[1.0, 3.0, 6.0, 10.0]).into_dyn());
//!
//! let mut joined = device.zeros::<f32>(8);
//! joined.slice_assign(s![..4], &a);
//! joined.slice_assign(s![4..], &b);
//! assert_eq!(joined.get()?, arr1(&[1.0, 2.0, 3.0, 4.0, 2.0, 2.0, 2.0, 2.0]).into_dyn());
//! let mut stacked = device.zeros::<f32>([2, 4]);
//! stacked.slice_assign(s![..1, ..], a.insert_axis(0));
//! stacked.slice_assign(s![1.., ..], b.insert_axis(0));
//! assert_eq!(stacked.reshape(8).get()?, joined.get()?);
//! # Ok::<(), lazuli::Error>(())
//! ```
//!
//! # Kernels over elements
//!
//! | PyOpenCL | Lazuli |
//! |---|---|
//! | `ElementwiseKernel(ctx, "float a, float *x, float *z", "z[i] = a * x[i]")` | [`ElementwiseKernel`](crate::ElementwiseKernel), which gives its value and fuses; in Rust [`#[lazuli::elementwise]`](macro@crate::elementwise) |
//! | `kernel(x, z, range=slice(2, 8))`, `slice=` | operands that are views: `x.slice(s![2..8])` |
//! | `ReductionKernel(.., neutral, reduce_expr, map_expr)` | [`ReductionKernel`](crate::ReductionKernel) with [`mapping`](crate::ReductionKernel::mapping); in Rust [`Array::reduce`](crate::Array::reduce) of an expression |
//! | `InclusiveScanKernel`, `ExclusiveScanKernel` | [`ScanKernel`](crate::ScanKernel); in Rust [`Array::scan`](crate::Array::scan), [`scan_exclusive`](crate::Array::scan_exclusive) |
//! | `GenericScanKernel` | its input expression is what is scanned, its output statement what is made of the scan, each fused for itself. Segments are not built |
//!
//! In Rust, on every device:
//!
//! ```
//! use lazuli::prelude::*;
//! use ndarray::{arr1, s};
//!
//! #[lazuli::elementwise]
//! fn linear(a: f32, x: f32, y: f32) -> f32 {
//!     a * x + y
//! }
//!
//! #[lazuli::device]
//! fn longer(a: f32, b: f32) -> f32 {
//!     if a.abs() > b.abs() { a } else { b }
//! }
//!
//! let device = Device::auto()?;
//! let (x, y) = (device.from_slice(&[1.0f32, -5.0, 3.0])?, device.ones::<f32>(3));
//! let z = linear(2.0, &x, &y); // recorded; fuses with what reads it
//! assert_eq!(z.get()?, arr1(&[3.0, -9.0, 7.0]).into_dyn());
//! assert_eq!(linear(2.0, x.slice(s![1..]), 0.0).get()?, arr1(&[-10.0, 6.0]).into_dyn());
//! assert_eq!(z.reduce(longer::Function, 0.0).item()?, -9.0);
//! let before = z.abs().scan_exclusive(longer::Function, 0.0, 0);
//! assert_eq!((before + 1.0).get()?, arr1(&[1.0, 4.0, 10.0]).into_dyn());
//! # Ok::<(), lazuli::Error>(())
//! ```
//!
//! From text that is known only at run time, on devices that compile text:
//!
//! ```
//! use lazuli::prelude::*;
//! use lazuli::{ElementwiseKernel, ReductionKernel, ScanKernel, operands};
//! use ndarray::{arr1, s};
//!
//! let device = Device::auto()?;
//! if device.name() == "host" {
//!     return Ok(());
//! }
//! let linear = ElementwiseKernel::<f32>::new("linear", "f32 a, f32 x, f32 y", "a * x + y")?;
//! let dot = ReductionKernel::new("dot", 0.0f32, "a + b")?.mapping("f32 x, f32 y", "x * y")?;
//! let running = ScanKernel::new("running", 0, "a + b")?;
//!
//! let (x, y) = (device.from_slice(&[1.0f32, 2.0, 3.0])?, device.ones::<f32>(3));
//! assert_eq!(linear.call(&operands![2.0f32, &x, &y]).get()?, arr1(&[3.0, 5.0, 7.0]).into_dyn());
//! assert_eq!(linear.call(&operands![2.0f32, &x.slice(s![1..]), 0.0f32]).get()?, arr1(&[4.0, 6.0]).into_dyn());
//! assert_eq!(dot.call(&operands![&x, &y]).item()?, 6.0);
//! let counts = device.from_slice(&[1, 2, 3])?;
//! assert_eq!(running.inclusive(&counts, 0).get()?, arr1(&[1, 3, 6]).into_dyn());
//! assert_eq!(running.exclusive(&counts, 0).get()?, arr1(&[0, 1, 3]).into_dyn());
//! # Ok::<(), lazuli::Error>(())
//! ```
//!
//! # Algorithms
//!
//! | PyOpenCL | Lazuli |
//! |---|---|
//! | `copy_if(a, "ary[i] > 0")` | not built in. An exclusive scan of the mask says where each element goes, and a kernel moves it, as below |
//! | `partition` | not built in. The same twice, with the mask and without |
//! | `unique` of what is sorted | not built in. The same, with the mask of elements that differ from the one before |
//! | `RadixSort` | not built: sorting wants kernels of its own. Sort on the host, or give `partition` a bit at a time |
//! | `pyopencl.clrandom` | not built. Make numbers on the host and send them, or hash an index in `#[lazuli::elementwise]` |
//! | complex numbers | no such element type. Two arrays, for the parts |
//!
//! ```
//! use lazuli::kernel::grid1;
//! use lazuli::prelude::*;
//! use ndarray::{arr1, s};
//!
//! #[lazuli::device]
//! fn add(a: u32, b: u32) -> u32 {
//!     a + b
//! }
//!
//! #[lazuli::kernel]
//! fn move_marked(x: &[i32], marks: &[bool], places: &[u32], out: &mut [i32]) {
//!     let i = grid1();
//!     if i < x.len() && marks[i] {
//!         out[places[i] as usize] = x[i];
//!     }
//! }
//!
//! fn copy_if(x: &Array<i32>, marks: &Array<bool>) -> lazuli::Result<Array<i32>> {
//!     let places = marks.cast::<u32>().scan_exclusive(add::Function, 0, 0);
//!     let mut out = x.device().zeros(marks.count_nonzero().item()? as usize);
//!     move_marked(x, marks, &places, &mut out).forall(x.len())?;
//!     Ok(out)
//! }
//!
//! #[lazuli::elementwise]
//! fn noise(i: u32) -> f32 {
//!     let mixed = (i ^ (i >> 16)) * 0x045d_9f3b;
//!     ((mixed ^ (mixed >> 16)) >> 8) as f32 / 16_777_216.0
//! }
//!
//! let device = Device::auto()?;
//! let x = device.from_slice(&[1, 1, 4, 4, 5])?;
//! assert_eq!(copy_if(&x, &x.lt(5))?.get()?, arr1(&[1, 1, 4, 4]).into_dyn());
//! // partition
//! let marks = x.eq(4);
//! let (these, others) = (copy_if(&x, &marks)?, copy_if(&x, &!&marks)?);
//! assert_eq!((these.get()?, others.get()?), (arr1(&[4, 4]).into_dyn(), arr1(&[1, 1, 5]).into_dyn()));
//! // unique
//! let mut is_new = device.full(5, true);
//! is_new.slice_assign(s![1..], x.slice(s![1..]).ne(x.slice(s![..-1])));
//! assert_eq!(copy_if(&x, &is_new)?.get()?, arr1(&[1, 4, 5]).into_dyn());
//! // numbers between 0 and 1
//! let numbers = noise(device.arange(0u32, 1000, 1));
//! assert!((numbers.mean().item()? - 0.5).abs() < 0.05 && numbers.max().item()? < 1.0);
//! # Ok::<(), lazuli::Error>(())
//! ```
