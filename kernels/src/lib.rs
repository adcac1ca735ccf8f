//! Hand-written kernel sources, embedded as text.
//!
//! [`prelude`] holds the helper functions that emitted kernels call. They come in sections, because a run-time compiler's
//! time counts and most kernels need none of them.
#![forbid(unsafe_code)]

/// The sections of the prelude. Those without a language in their name are written in the vocabulary that
/// [`OPENCL_C`](prelude::OPENCL_C) and [`CUDA_C`](prelude::CUDA_C) spell out, one file for both languages.
pub mod prelude {
    /// Types, qualifiers and bit casts in OpenCL C.
    pub const OPENCL_C: &str = include_str!("../prelude/opencl_c.h");
    /// Types, qualifiers and bit casts in CUDA C.
    pub const CUDA_C: &str = include_str!("../prelude/cuda_c.h");
    /// f64 in OpenCL C.
    pub const DOUBLE_OPENCL_C: &str = include_str!("../prelude/double_opencl_c.h");
    /// f64 in CUDA C.
    pub const DOUBLE_CUDA_C: &str = include_str!("../prelude/double_cuda_c.h");
    /// Wrapping, ordering, division and shifts of integers, as macros that define them for one type.
    pub const INTEGERS: &str = include_str!("../prelude/integers.h");
    /// Minimum, maximum, sign, flooring division and tests of floats, as macros that define them for one type.
    pub const FLOATS: &str = include_str!("../prelude/floats.h");
    /// f16 to and from f32 by its bits.
    pub const F16: &str = include_str!("../prelude/f16.h");
    /// f16 to and from f32 by inline PTX.
    pub const F16_CUDA_C: &str = include_str!("../prelude/f16_cuda_c.h");
    /// bf16 to and from f32.
    pub const BF16: &str = include_str!("../prelude/bf16.h");
    /// Saturating casts from floats to integers, as a macro that defines one.
    pub const CASTS: &str = include_str!("../prelude/casts.h");
    /// 64-bit integers to bf16 with one rounding; needs [`BF16`].
    pub const BF16_INTEGERS: &str = include_str!("../prelude/bf16_integers.h");
    /// f64 to f32 by rounding to odd.
    pub const ROUND_TO_ODD: &str = include_str!("../prelude/round_to_odd.h");
    /// `a * b + c` of f16 and bf16, up to the rounding.
    pub const MUL_ADD: &str = include_str!("../prelude/mul_add.h");
    /// f32 functions of which a CPU's OpenCL compiler can make vectors; computed in f64. Its functions and macros are for
    /// picking: each names what it needs, and the two macros at the end define the functions proper.
    pub const MATH_CPU: &str = include_str!("../prelude/math_cpu.h");
    /// Wide loads and stores, as macros that define them for one type and width.
    pub const WIDE: &str = include_str!("../prelude/wide.h");
    /// True in the group that comes last; OpenCL C 2.0 and later, with acquire and release in device scope.
    pub const LAST_GROUP_OPENCL_C: &str = include_str!("../prelude/last_group_opencl_c.h");
    /// True in the group that comes last.
    pub const LAST_GROUP_CUDA_C: &str = include_str!("../prelude/last_group_cuda_c.h");
    /// Groups of a cooperative launch that wait for each other.
    pub const AWAIT_GROUPS_CUDA_C: &str = include_str!("../prelude/await_groups_cuda_c.h");
    /// Elements as indices, checked.
    pub const INDICES: &str = include_str!("../prelude/indices.h");
    /// Atomics on floats by compare-exchange; OpenCL C.
    pub const ATOMICS_OPENCL_C: &str = include_str!("../prelude/atomics_opencl_c.h");
    /// Atomics on floats by compare-exchange; CUDA C.
    pub const ATOMICS_CUDA_C: &str = include_str!("../prelude/atomics_cuda_c.h");
    /// The first index out of range of a hand-written kernel, noted; OpenCL C.
    pub const NOTE_OPENCL_C: &str = include_str!("../prelude/note_opencl_c.h");
    /// The first index out of range of a hand-written kernel, noted; CUDA C.
    pub const NOTE_CUDA_C: &str = include_str!("../prelude/note_cuda_c.h");
    /// Checked accesses of hand-written kernels; needs the section that notes.
    pub const CHECKED: &str = include_str!("../prelude/checked.h");
    /// Kernels, indices, memory of groups and atomics in OpenCL C, for sources that users write once; needs [`OPENCL_C`].
    pub const PORTABLE_OPENCL_C: &str = include_str!("../prelude/portable_opencl_c.h");
    /// Kernels, indices, memory of groups and atomics in CUDA C, for sources that users write once; needs [`CUDA_C`].
    pub const PORTABLE_CUDA_C: &str = include_str!("../prelude/portable_cuda_c.h");
}
