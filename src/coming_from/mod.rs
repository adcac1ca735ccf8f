//! Where users of PyOpenCL, PyCUDA and Numba find what they know. Documentation only: there is nothing here to use.
//!
//! | page | for those who know |
//! |---|---|
//! | [`pyopencl_buffer`] | `pyopencl.Buffer`, queues, events and programs |
//! | [`pyopencl_array`] | `pyopencl.array`: `to_device`, operators, `ElementwiseKernel` and its kin |
//! | [`pycuda`] | `pycuda.driver` and `SourceModule` |
//! | [`numba`] | `@cuda.jit`, `@vectorize`, `@cuda.reduce` |
//!
//! Each page is a row of tables: on the left a name of theirs, on the right what does the same here, or why nothing does. The
//! example under a table shows its rows at work, on whatever device the machine has; a row that needs a device of one kind names
//! the test that shows it. The programs `pyopencl_tour`, `source_module` and `numba_kernel` in `examples/` go through
//! whole programs of theirs, line by line.
//!
//! What is different everywhere:
//!
//! - **Sizes and offsets count elements**, of the type that the memory has. Bytes are nowhere.
//! - **Order is kept.** Work on the same memory runs in the order in which it was asked for, whatever queue it is on. Events are
//!   for what is not to be seen from the memory.
//! - **Lengths, types, flags and devices are held against each other before anything runs.** What does not fit is an
//!   [`Error`](crate::Error) with the numbers in it, and the device goes on.
//! - **Arrays are values.** What writes to memory that an array shares leaves the array as it was.
//! - **No context is current.** A [`Device`](crate::Device) is a handle that goes between threads.

pub mod numba;
pub mod pycuda;
pub mod pyopencl_array;
pub mod pyopencl_buffer;
