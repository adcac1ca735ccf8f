//! What a kernel is given.

use std::sync::Arc;

use lazuli_codegen::{DType, Scalar};

use crate::array::Array;
use crate::buffer::Buffer;
use crate::device::Device;
use crate::dtype::Element;
use crate::error::Result;
use crate::graph::Storage;

/// One argument of a launch.
pub struct Arg<'a>(pub(super) ArgKind<'a>);

/// What an argument is.
pub(super) enum ArgKind<'a> {
    /// Elements in device memory.
    Slice(SliceOf),
    /// An array that the kernel writes: bound to the new value after the launch.
    Array(&'a mut dyn Rebind),
    /// An element by value.
    Scalar(Scalar),
    /// A struct by value.
    Bytes(Vec<u8>),
    /// So many bytes of memory for each group (a `__local` pointer).
    Local(usize),
    /// One that could not be had; told by the launch.
    Failed(crate::error::Error),
}

/// Elements in device memory.
pub(super) struct SliceOf {
    pub device: Device,
    pub storage: Arc<dyn Storage>,
    pub dtype: DType,
    /// First element.
    pub start: usize,
    /// Elements.
    pub len: usize,
    pub is_mut: bool,
}

/// An array that a kernel writes.
pub(super) trait Rebind {
    /// Its elements in memory that nobody else reads, in row-major order.
    fn prepare(&mut self) -> Result<SliceOf>;
    /// Binds the array to what the memory holds now.
    fn rebind(&mut self, written: &SliceOf);
}

/// What a kernel in Rust takes for `&[T]`: `&Buffer<T>`, `&Array<T>`, or a part of a buffer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no `&[{T}]` for a kernel: give a `&Buffer<{T}>` or an `&Array<{T}>`"
)]
pub trait SliceArg<'a, T: Element> {
    #[doc(hidden)]
    fn into_arg(self) -> Arg<'a>;
}

/// What a kernel in Rust takes for `&mut [T]`: `&mut Buffer<T>`, `&mut Array<T>`, or a part of a buffer.
///
/// A buffer that an array still reads is copied first, so that the array keeps its value. An array is bound to its new
/// value; whoever recorded the old one keeps it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no `&mut [{T}]` for a kernel: give a `&mut Buffer<{T}>` or an `&mut Array<{T}>`"
)]
pub trait SliceMutArg<'a, T: Element> {
    #[doc(hidden)]
    fn into_arg(self) -> Arg<'a>;
}

/// What a kernel in Rust takes for a scalar.
#[diagnostic::on_unimplemented(message = "`{Self}` is no `{T}` for a kernel")]
pub trait ScalarArg<T> {
    #[doc(hidden)]
    fn into_arg<'a>(self) -> Arg<'a>;
}

impl<T: Element> ScalarArg<T> for T {
    fn into_arg<'a>(self) -> Arg<'a> {
        Arg(ArgKind::Scalar(self.to_scalar()))
    }
}

impl ScalarArg<usize> for usize {
    fn into_arg<'a>(self) -> Arg<'a> {
        Arg(ArgKind::Scalar((self as u64).to_scalar()))
    }
}

impl ScalarArg<isize> for isize {
    fn into_arg<'a>(self) -> Arg<'a> {
        Arg(ArgKind::Scalar((self as i64).to_scalar()))
    }
}

impl<'a, T: Element> SliceArg<'a, T> for &'a Buffer<T> {
    fn into_arg(self) -> Arg<'a> {
        todo!()
    }
}

impl<'a, T: Element> SliceMutArg<'a, T> for &'a mut Buffer<T> {
    fn into_arg(self) -> Arg<'a> {
        todo!()
    }
}

impl<'a, T: Element> SliceArg<'a, T> for &'a Array<T> {
    fn into_arg(self) -> Arg<'a> {
        todo!()
    }
}

impl<'a, T: Element> SliceMutArg<'a, T> for &'a mut Array<T> {
    fn into_arg(self) -> Arg<'a> {
        todo!()
    }
}
