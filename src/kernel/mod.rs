//! Kernels written in Rust (Numba's `@cuda.jit`), for CUDA, OpenCL and the host.
//!
//! ```
//! use lazuli::kernel::grid1;
//! use lazuli::prelude::*;
//!
//! #[lazuli::kernel]
//! fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
//!     let i = grid1();
//!     if i < y.len() {
//!         y[i] = a * x[i] + y[i];
//!     }
//! }
//!
//! let device = Device::auto()?;
//! let x = device.from_slice(&[1.0f32, 2.0, 3.0])?;
//! let mut y = device.from_slice(&[10.0f32, 20.0, 30.0])?;
//! saxpy(2.0, &x, &mut y).launch([1], [32])?; // one group of 32 threads
//! assert_eq!(y.get()?.as_slice().unwrap(), [12.0, 24.0, 36.0]);
//! saxpy(1.0, &x, &mut y).forall(3)?; // as many threads as there are elements, in groups that suit the device
//! assert_eq!(y.get()?.as_slice().unwrap(), [13.0, 26.0, 39.0]);
//! # Ok::<(), lazuli::Error>(())
//! ```
//!
//! Three attributes take a Rust function:
//!
//! | attribute | the function takes | and becomes |
//! |---|---|---|
//! | `#[lazuli::kernel]` | scalars, `&[T]`, `&mut [T]` | a function that gives a [`Launch`](crate::Launch): every thread of a grid runs the body |
//! | `#[lazuli::device]` | scalars, slices, references to arrays | what the bodies of all three may call |
//! | `#[lazuli::elementwise]` | one to eight scalars | a function over whole arrays, with broadcasting, that fuses as the built-in ones do |
//!
//! A kernel `saxpy` is also the type `saxpy::Kernel`: its `source(&device)` is the generated code, and its `attributes(&device)`
//! are what the compiler tells of it. A device function or
//! element-wise function `longer` is the type `longer::Function`, by which [`Array::reduce`](crate::Array::reduce) and
//! [`Array::scan`](crate::Array::scan) combine elements. With generic parameters these are `saxpy::Kernel::<f32>` and
//! `longer::Function::<f32>::new()`.
//!
//! ```
//! use lazuli::prelude::*;
//!
//! #[lazuli::device]
//! fn cube<T: Float>(x: T) -> T {
//!     x * x * x
//! }
//!
//! #[lazuli::elementwise]
//! fn gelu(x: f32) -> f32 {
//!     const SCALE: f32 = 0.797_884_6; // sqrt(2 / pi)
//!     0.5 * x * (1.0 + (SCALE * (x + 0.044_715 * cube(x))).tanh())
//! }
//!
//! let x = Device::host()?.from_slice(&[-1.0f32, 0.0, 2.0])?;
//! let y = (gelu(&x) + 1.0).get()?; // one kernel
//! assert_eq!(y[[1]], 1.0);
//! # Ok::<(), lazuli::Error>(())
//! ```
//!
//! # The language
//!
//! A body is Rust, checked by rustc: types never mix without a cast, `let` without `mut` is not assigned, and what is misspelt
//! is not there. It is run by a device, so that there is no heap, no panic, no recursion and no reference but to memory. What is
//! left out is a compile error where it stands, which says what to write instead.
//!
//! | written | meaning |
//! |---|---|
//! | `bool`, `i8` .. `i64`, `u8` .. `u64`, `f16`, `bf16`, `f32`, `f64` | as in Rust |
//! | `usize`, `isize` | 64 bits wide on every device; indices are `usize` |
//! | `1`, `2.5`, `true`, `TILE`, `f32::MAX`, `std::f32::consts::PI`, const generics, `const { .. }` | constants of Rust, typed by Rust's inference |
//! | `T::zero()`, `T::one()`, `T::from_f64(0.5)` | constants of a generic type `T: Float` (`Number`, `Integer`, ..) |
//! | `+ - *` | integers wrap |
//! | `/ %` | integers truncate toward zero; `x / 0` and `x % 0` are 0, `MIN / -1` is `MIN`; floats as in Rust |
//! | `& \| ^ !` | on integers and `bool` |
//! | `<< >>` | by a count of any integer type; by the width or more, or less than 0, all bits leave: 0, or -1 for a negative number `>>` |
//! | `&& \|\|` | the second operand is evaluated only where it is asked for |
//! | `== != < <= > >=` | as in Rust: false with NaN, but `!=` |
//! | `x as T` | as in Rust: floats saturate, NaN is 0 |
//! | arithmetic on `f16` and `bf16` | each operation computed in `f32` and rounded |
//! | `x.sqrt()`, `x.min(y)`, `f32::max(x, y)`, `x.count_ones()` | the methods of [`Value`], named after Rust's |
//! | `x[i]`, `x.len()` | of slices and arrays; `a[i][j]` of arrays with two axes |
//! | `let`, `let mut`, `let (a, b) =`, `let x: T;` | variables; of a tuple its parts |
//! | `[0.0; 8]`, `[a, b, c]`, `[[0; 4]; 4]` | an array of the thread, of one to three axes: `let mut a = [0.0; 8];` |
//! | [`shared::<[[f32; 33]; 32]>()`](shared), [`shared_dynamic`] | an array of the group |
//! | `=`, `+=`, .., `(a, b) = (b, a + b)` | assignments: the right side first, as in Rust |
//! | `if`, `match`, blocks | statements or values; `match` on integers, `bool` and tuples of these, with ranges, `\|`, `x @ ..`, guards |
//! | `while`, `loop`, `break`, `continue`, `return` | without labels; a `loop` has no value |
//! | `for i in a..b`, `a..=b`, `(a..b).rev()`, `.step_by(n)` | ranges of integers; a step of 0 goes one round |
//! | `f(x, &v, &mut w)` | calls of device functions; memory is lent whole |
//! | [`thread_idx`], [`block_idx`], [`block_dim`], [`grid_dim`], [`grid1`], [`grid_size1`], .. | where the thread is |
//! | [`barrier`] | the group meets |
//! | [`atomic_add(&mut x[i], v)`](atomic_add), .. | changes that no other thread comes between |
//!
//! Operands are evaluated from the left, and each has the value it has there, whatever is assigned after it, as in Rust.
//! Arithmetic has the same bits on every device, but for functions that are not correctly rounded (`sin`, `exp`, ..) and for a
//! device whose [`Config`](crate::Config) allows contraction.
//!
//! **Memory.** Threads run in any order. What one writes others see after a [`barrier`], in the same group, or in a later
//! launch; two threads that write one element, or of which one reads it, without either or an atomic, have a race: then the
//! element holds one of the values, and no more is promised. An index past the end is not looked at on a GPU, unless
//! [`Config::checked_kernels`](crate::Config::checked_kernels) asks for it; on CPUs it is. A checked access that is out of range
//! reads zero and writes nothing, and the launch gives an [`Error::KernelIndex`](crate::Error::KernelIndex) with kernel, thread,
//! index and line.
//!
//! **Barriers.** All threads of the group that have not returned must come to the same barrier. One stands in kernels only, and
//! in no branch or loop that threads of a group leave at different times. The host tells where that is not so; elsewhere
//! what comes of it is not defined, be it a hang: try a new kernel on the host first. OpenCL asks those that have returned to come too, so that a kernel in which threads may return
//! one by one before a barrier is an [`Error::Unsupported`](crate::Error::Unsupported) there, as is one with a barrier under a
//! condition that is made of the thread's number.
//!
//! **Functions over arrays.** In an element-wise function, and in one that folds, an index out of range of its own array reads
//! zero and writes nothing, on every device; nobody is told. In one that scans, on CPUs, it is a `KernelIndex` error.
//!
//! **Functions.** What a body calls has `#[lazuli::device]` over it (rustc says of one that has not: "expected `f32`, found
//! `Value<f32>`"). Device functions are built once for each set of generic arguments and for memory of each kind they are lent.
//! One that calls itself, be it through others, is an [`Error::Kernel`](crate::Error::Kernel).
//!
//! A mixture of types is rustc's own error, at the operand:
//!
//! ```compile_fail
//! #[lazuli::kernel]
//! fn mixed(x: &[f32], y: &mut [f64]) {
//!     y[0] = x[0] + y[0]; // `x[0] as f64 + y[0]`
//! }
//! ```

mod scalar;

mod builder;
mod walk;

mod value;

mod fold;
mod operators;

mod number_methods;

mod float_methods;

mod integer_methods;

mod control;

mod matching;

mod range;

mod arrays;
mod memory;

mod intrinsics;

mod atomics;

mod define;

mod elementwise;

mod inspect;

pub use atomics::{
    atomic_add, atomic_and, atomic_compare_exchange, atomic_exchange, atomic_max, atomic_min, atomic_or, atomic_sub,
    atomic_xor,
};
pub use intrinsics::{
    Index3, barrier, block_dim, block_idx, grid_dim, grid_size1, grid_size2, grid_size3, grid1, grid2, grid3, shared,
    shared_dynamic, thread_idx,
};
pub use scalar::{
    AtomicInteger, AtomicNumber, FloatBits, KernelBits, KernelInteger, KernelNumber, KernelScalar, KernelSigned,
    KernelUnsigned, Matched,
};
pub use value::Value;

/// What the macros write.
#[doc(hidden)]
pub mod build {
    pub use std::marker::PhantomData;
    pub use std::panic::Location;
    pub use std::string::{String, ToString};
    pub use std::vec;

    pub use lazuli_codegen::simt::Function;
    pub use lazuli_codegen::simt::ir::Kernel;

    pub use super::arrays::{array_of, array_of_rows, array1, array2, array3};
    pub use super::control::{
        begin_and, begin_if, begin_loop, begin_or, give_back, give_back_nothing, go_on, leave, leave_unless,
    };
    pub use super::define::{
        Passed, PassedArray, PassedArrayMut, PassedSlice, PassedSliceMut, array_mut_param, array_param, call, function,
        kernel, scalar_param, slice_mut_param, slice_param, type_name, value,
    };
    pub use super::elementwise::over_arrays;
    pub use super::inspect::{attributes, source};
    pub use super::matching::{cover, sometimes};
    pub use super::memory::{
        ArrayMut, ArrayRef, LocalArray, Slice, SliceMut, before, by_mut, by_ref, element, is_empty, len, load, store,
    };
    pub use super::operators::{
        add, bit_and, bit_or, bit_xor, cast, div, eq, from, from_bits, ge, gt, le, lt, mul, ne, neg, not, rem, shl,
        shr, sub, typed,
    };
    pub use super::range::{begin_for, range, range_inclusive};
    pub use super::value::{Local, Value, declared, lit, local, never, read, set};
    pub use crate::function::AnyOperand;
}
