//! The types that values of a kernel have: every element type, and `usize` and `isize` beside them, which no array holds but
//! every index is.

use lazuli_codegen::{DType, Scalar};

use crate::dtype::{Bits, Element, Float, Integer, Number, Signed};

/// A type that values of a kernel have: the element types, `usize` (64 bits wide on every device) and `isize`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of a value in a kernel",
    note = "kernels know bool, i8 to i64, u8 to u64, usize, isize, f16, bf16, f32 and f64"
)]
pub trait KernelScalar: Copy + 'static {
    /// The element type it is computed as.
    const DTYPE: DType;
    /// The name in Rust, which kernels made for it carry.
    const NAME: &'static str;
    /// This value as a constant of a kernel.
    #[doc(hidden)]
    fn literal(self) -> Scalar;
}

impl<T: Element> KernelScalar for T {
    const DTYPE: DType = T::DTYPE;
    const NAME: &'static str = T::DTYPE.name();

    fn literal(self) -> Scalar {
        self.to_scalar()
    }
}

impl KernelScalar for usize {
    const DTYPE: DType = DType::U64;
    const NAME: &'static str = "usize";

    fn literal(self) -> Scalar {
        (self as u64).to_scalar()
    }
}

impl KernelScalar for isize {
    const DTYPE: DType = DType::I64;
    const NAME: &'static str = "isize";

    fn literal(self) -> Scalar {
        (self as i64).to_scalar()
    }
}

macro_rules! kernel_trait {
    ($(#[$meta:meta])* $name:ident: $parent:ident of $element:ident and $($size:ty),*) => {
        $(#[$meta])*
        pub trait $name: $parent {}
        impl<T: $element> $name for T {}
        $(impl $name for $size {})*
    };
}

kernel_trait! {
    /// With `+`, `-`, `*`, `/` and `%`: all but bool.
    #[diagnostic::on_unimplemented(message = "`{Self}` has no arithmetic in a kernel")]
    KernelNumber: KernelScalar of Number and usize, isize
}
kernel_trait! {
    /// With a sign: floats and signed integers.
    #[diagnostic::on_unimplemented(message = "`{Self}` has no sign")]
    KernelSigned: KernelNumber of Signed and isize
}
kernel_trait! {
    /// Integers of either kind.
    #[diagnostic::on_unimplemented(message = "`{Self}` is no integer")]
    KernelInteger: KernelNumber of Integer and usize, isize
}
kernel_trait! {
    /// With `&`, `|`, `^` and `!`: integers and bool.
    #[diagnostic::on_unimplemented(message = "`{Self}` has no bits to combine: only integers and bool have")]
    KernelBits: KernelScalar of Bits and usize, isize
}
macro_rules! mark {
    ($(#[$meta:meta])* $name:ident: $parent:ident for $($type:ty),+) => {
        $(#[$meta])*
        pub trait $name: $parent {}
        $(impl $name for $type {})+
    };
}

mark! {
    /// Integers without a sign.
    #[diagnostic::on_unimplemented(message = "`{Self}` is no unsigned integer")]
    KernelUnsigned: KernelInteger for u8, u16, u32, u64, usize
}
mark! {
    /// What `match` chooses by: integers and bool.
    #[diagnostic::on_unimplemented(
        message = "`match` in a kernel chooses by integers and bool, not by `{Self}`",
        note = "compare floats by `if`"
    )]
    Matched: KernelScalar for bool, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize
}
mark! {
    /// What atomics add to, compare and exchange: integers of 32 and 64 bits, f32 and f64.
    #[diagnostic::on_unimplemented(
        message = "there are no atomics on `{Self}`",
        note = "atomics are on i32, u32, i64, u64, usize, isize; `add`, `min`, `max` and `exchange` on f32 and f64 too"
    )]
    AtomicNumber: KernelNumber for i32, u32, i64, u64, usize, isize, f32, f64
}
mark! {
    /// What all atomics are defined on: integers of 32 and 64 bits.
    #[diagnostic::on_unimplemented(
        message = "this atomic is not defined on `{Self}`",
        note = "it is on i32, u32, i64, u64, usize and isize"
    )]
    AtomicInteger: AtomicNumber for i32, u32, i64, u64, usize, isize
}

/// Floats whose bits are an integer type of a kernel.
#[diagnostic::on_unimplemented(message = "the bits of `{Self}` cannot be had in a kernel: only those of f32 and f64")]
pub trait FloatBits: Float {
    /// The unsigned integer of the same width.
    type Bits: KernelScalar;
}

impl FloatBits for f32 {
    type Bits = u32;
}

impl FloatBits for f64 {
    type Bits = u64;
}

/// Bits of a type, sign included.
pub(super) const fn width(dtype: DType) -> u32 {
    match dtype {
        DType::Bool => 1,
        other => other.size_bytes() as u32 * 8,
    }
}

/// The value of an integer constant, if it is one.
pub(super) fn integer(scalar: Scalar) -> Option<i128> {
    let (bits, width) = (scalar.bits(), width(scalar.dtype()));
    match scalar.dtype() {
        dtype if dtype.is_unsigned_integer() => Some(i128::from(bits)),
        dtype if dtype.is_signed_integer() => Some(i128::from((bits << (64 - width)) as i64 >> (64 - width))),
        _ => None,
    }
}

/// An integer constant of a type, cut to its width.
pub(super) fn integer_of(dtype: DType, value: i128) -> Scalar {
    Scalar::from_bits(dtype, value as u64 & (u64::MAX >> (64 - width(dtype))))
}
