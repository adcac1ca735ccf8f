//! Kernels written in Rust.

mod scalar;

mod builder;
mod walk;

mod value;

mod operators;

mod number_methods;

mod float_methods;

mod integer_methods;

mod control;

mod matching;

mod range;

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

    pub use super::control::{
        begin_and, begin_if, begin_loop, begin_or, give_back, give_back_nothing, go_on, leave, leave_unless,
    };
    pub use super::define::{
        Passed, PassedArray, PassedArrayMut, PassedSlice, PassedSliceMut, array_mut_param, array_param, call, function,
        kernel, scalar_param, slice_mut_param, slice_param, type_name, value,
    };
    pub use super::elementwise::over_arrays;
    pub use super::inspect::source;
    pub use super::matching::{cover, sometimes};
    pub use super::memory::{
        ArrayMut, ArrayRef, LocalArray, Slice, SliceMut, array_of, array_of_rows, array1, array2, array3, before,
        by_mut, by_ref, element, is_empty, len, load, store,
    };
    pub use super::operators::{
        add, bit_and, bit_or, bit_xor, cast, div, eq, from, from_bits, ge, gt, le, lt, mul, ne, neg, not, rem, shl,
        shr, sub, typed,
    };
    pub use super::range::{begin_for, range, range_inclusive};
    pub use super::value::{Local, Value, declared, lit, local, never, read, set};
    pub use crate::function::AnyOperand;
}
