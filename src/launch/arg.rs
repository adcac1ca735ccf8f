//! What a kernel is given.

use std::marker::PhantomData;
use std::sync::Arc;

use lazuli_codegen::{DType, Scalar};

use crate::array::Array;
use crate::buffer::{Buffer, BufferSlice, BufferSliceMut, MemFlags};
use crate::device::Device;
use crate::dtype::Element;
use crate::error::{Error, Place, Result};
use crate::graph::{Node, Storage};
use crate::shape::Shape;

/// One argument of a launch. [`args!`](crate::args) makes them for the functions of a module.
pub struct Arg<'a>(pub(crate) ArgKind<'a>);

/// What an argument is.
pub(crate) enum ArgKind<'a> {
    /// Elements in device memory.
    Slice(SliceOf),
    /// An array that the kernel reads.
    Read(&'a (dyn ReadArray + 'a)),
    /// An array that the kernel writes: bound to the new value after the launch.
    Array(&'a mut (dyn Rebind + 'a)),
    /// An element by value.
    Scalar(Scalar),
    /// A struct by value, as it lies in memory.
    Bytes(&'a [u8]),
    /// So many bytes of memory for each group.
    Local(usize),
    /// One that could not be had; told by the launch.
    Failed(Error),
}

/// Elements in device memory.
#[derive(Clone)]
pub(crate) struct SliceOf {
    pub device: Device,
    pub storage: Arc<dyn Storage>,
    pub dtype: DType,
    /// First element.
    pub start: usize,
    /// Elements.
    pub len: usize,
    pub is_mut: bool,
    /// How the memory may be used.
    pub flags: MemFlags,
}

/// An array that a kernel reads.
pub(crate) trait ReadArray {
    /// Where it is.
    fn device(&self) -> &Device;
    /// Its elements in row-major order: computed now, where they are not there.
    fn slice(&self) -> Result<SliceOf>;
    /// What it records.
    fn node(&self) -> &Arc<Node>;
}

/// An array that a kernel writes.
pub(crate) trait Rebind {
    /// Where it is.
    fn device(&self) -> &Device;
    /// Its elements in memory that nobody else reads, in row-major order.
    fn prepare(&mut self) -> Result<SliceOf>;
    /// Binds the array to what the memory holds now.
    fn rebind(&mut self, written: &SliceOf, at: Place);
    /// What a recorded launch will write.
    fn target(&self) -> Target;
    /// Binds the array to what a recorded launch will have written.
    fn bind_to_node(&mut self, node: Arc<Node>);
}

/// What a recorded launch will write.
pub(crate) struct Target {
    /// What it holds before; none where that is of no interest.
    pub start: Option<Arc<Node>>,
    pub shape: Shape,
    pub dtype: DType,
}

/// What a kernel in Rust takes for `&[T]`: `&Buffer<T>`, `&Array<T>`, or a part of a buffer.
///
/// An array is computed first, and copied where its elements do not lie side by side in row-major order.
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
#[diagnostic::on_unimplemented(
    message = "a kernel takes no `{T}`",
    note = "it takes scalars (bool, i8 to i64, u8 to u64, usize, isize, f16, bf16, f32, f64), and memory as `&[T]` or `&mut [T]`"
)]
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

impl Arg<'_> {
    fn of_part(part: Result<SliceOf>) -> Self {
        Arg(part.map_or_else(ArgKind::Failed, ArgKind::Slice))
    }
}

impl<'a, T: Element> SliceArg<'a, T> for &'a Buffer<T> {
    fn into_arg(self) -> Arg<'a> {
        Arg::of_part(self.kernel_slice())
    }
}

impl<'a, T: Element> SliceMutArg<'a, T> for &'a mut Buffer<T> {
    fn into_arg(self) -> Arg<'a> {
        Arg::of_part(self.kernel_slice_mut())
    }
}

impl<'a, T: Element> SliceArg<'a, T> for BufferSlice<'a, T> {
    fn into_arg(self) -> Arg<'a> {
        Arg::of_part(self.kernel_slice())
    }
}

impl<'a, T: Element> SliceMutArg<'a, T> for BufferSliceMut<'a, T> {
    fn into_arg(self) -> Arg<'a> {
        Arg::of_part(self.kernel_slice())
    }
}

impl<'a, T: Element> SliceArg<'a, T> for &'a Array<T> {
    fn into_arg(self) -> Arg<'a> {
        Arg(ArgKind::Read(self))
    }
}

impl<T: Element> ReadArray for Array<T> {
    fn device(&self) -> &Device {
        Array::device(self)
    }

    fn slice(&self) -> Result<SliceOf> {
        let (storage, start) = self.dense()?;
        Ok(SliceOf {
            device: Array::device(self).clone(),
            storage,
            dtype: T::DTYPE,
            start,
            len: self.len(),
            is_mut: false,
            flags: MemFlags::READ_WRITE,
        })
    }

    fn node(&self) -> &Arc<Node> {
        Array::node(self)
    }
}

impl<'a, T: Element> SliceMutArg<'a, T> for &'a mut Array<T> {
    fn into_arg(self) -> Arg<'a> {
        Arg(ArgKind::Array(self))
    }
}

impl<T: Element> Rebind for Array<T> {
    fn device(&self) -> &Device {
        Array::device(self)
    }

    fn prepare(&mut self) -> Result<SliceOf> {
        Ok(SliceOf {
            storage: self.exclusive()?,
            device: Array::device(self).clone(),
            dtype: T::DTYPE,
            start: 0,
            len: self.len(),
            is_mut: true,
            flags: MemFlags::READ_WRITE,
        })
    }

    fn rebind(&mut self, written: &SliceOf, at: Place) {
        self.bind_to(written.storage.clone(), at);
    }

    fn target(&self) -> Target {
        Target { start: Some(self.node().clone()), shape: Shape::from_slice(self.shape()), dtype: T::DTYPE }
    }

    fn bind_to_node(&mut self, node: Arc<Node>) {
        *self = Array::from_node(node, Array::device(self));
    }
}

/// What a function of a [`Module`](crate::Module) takes: `&Buffer<T>` and `&Array<T>` for memory that it reads, `&mut` of
/// either for memory that it writes, numbers of every element type, [`Struct`] and [`LocalMem`].
///
/// A function sees a pointer to the first element for memory, and numbers in their own size: an f16 is two bytes.
///
/// That it writes to what it was given as `&mut` alone is the caller's promise: nobody sees what is behind a pointer. A function
/// that writes through `&` changes the value of every array that shares the memory, whatever a buffer's flags say, and is not
/// put in order with those that read it on other queues. A pointer that is only read is best declared `const`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument of a kernel: give `&` or `&mut` of a `Buffer` or an `Array`, a number, a `Struct` or a `LocalMem`"
)]
pub trait IntoArg<'a> {
    /// The argument.
    fn into_arg(self) -> Arg<'a>;
}

impl<'a, T: Element> IntoArg<'a> for T {
    fn into_arg(self) -> Arg<'a> {
        ScalarArg::into_arg(self)
    }
}

impl<'a> IntoArg<'a> for usize {
    fn into_arg(self) -> Arg<'a> {
        ScalarArg::into_arg(self)
    }
}

impl<'a> IntoArg<'a> for isize {
    fn into_arg(self) -> Arg<'a> {
        ScalarArg::into_arg(self)
    }
}

impl<'a, T: Element> IntoArg<'a> for &'a Buffer<T> {
    fn into_arg(self) -> Arg<'a> {
        SliceArg::into_arg(self)
    }
}

impl<'a, T: Element> IntoArg<'a> for &'a mut Buffer<T> {
    fn into_arg(self) -> Arg<'a> {
        SliceMutArg::into_arg(self)
    }
}

impl<'a, T: Element> IntoArg<'a> for BufferSlice<'a, T> {
    fn into_arg(self) -> Arg<'a> {
        SliceArg::into_arg(self)
    }
}

impl<'a, T: Element> IntoArg<'a> for BufferSliceMut<'a, T> {
    fn into_arg(self) -> Arg<'a> {
        SliceMutArg::into_arg(self)
    }
}

impl<'a, T: Element> IntoArg<'a> for &'a Array<T> {
    fn into_arg(self) -> Arg<'a> {
        SliceArg::into_arg(self)
    }
}

impl<'a, T: Element> IntoArg<'a> for &'a mut Array<T> {
    fn into_arg(self) -> Arg<'a> {
        SliceMutArg::into_arg(self)
    }
}

impl<'a> IntoArg<'a> for Arg<'a> {
    fn into_arg(self) -> Arg<'a> {
        self
    }
}

/// A struct as one argument, by value. Its layout must be that of the kernel's struct: `#[repr(C)]`, and no padding, which
/// [`bytemuck::NoUninit`] sees to.
///
/// ```
/// #[derive(Clone, Copy, bytemuck::NoUninit)]
/// #[repr(C)]
/// struct Line {
///     slope: f32,
///     offset: f32,
/// }
///
/// let line = Line { slope: 2.0, offset: 1.0 };
/// let arguments = lazuli::args![lazuli::Struct(&line), 3u32];
/// assert_eq!(arguments.len(), 2);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Struct<'a, T>(pub &'a T);

impl<'a, T: bytemuck::NoUninit> IntoArg<'a> for Struct<'a, T> {
    fn into_arg(self) -> Arg<'a> {
        Arg(ArgKind::Bytes(bytemuck::bytes_of(self.0)))
    }
}

/// Memory of each group, for so many elements, whose length the launch sets.
///
/// In OpenCL C it is the argument of a `__local` pointer. CUDA C declares such memory inside the kernel, as
/// `extern __shared__`: there it is no argument, and is the same as [`Launch::local_bytes`](crate::Launch::local_bytes).
#[derive(Clone, Copy, Debug)]
pub struct LocalMem<T> {
    len: usize,
    element: PhantomData<fn() -> T>,
}

impl<T: Element> LocalMem<T> {
    /// Room for `len` elements.
    pub fn new(len: usize) -> Self {
        Self { len, element: PhantomData }
    }
}

impl<'a, T: Element> IntoArg<'a> for LocalMem<T> {
    fn into_arg(self) -> Arg<'a> {
        Arg(ArgKind::Local(self.len.saturating_mul(size_of::<T>())))
    }
}

/// The arguments of a function of a [`Module`](crate::Module), in order: each is anything that is [`IntoArg`].
///
/// ```
/// use lazuli::prelude::*;
///
/// let device = Device::host()?;
/// let (x, mut y) = (device.from_slice(&[1.0f32, 2.0])?, device.from_slice(&[0.0f32; 2])?);
/// assert_eq!(lazuli::args![2.0f32, &x, &mut y, lazuli::LocalMem::<f32>::new(64)].len(), 4);
/// # Ok::<(), lazuli::Error>(())
/// ```
#[macro_export]
macro_rules! args {
    ($($argument:expr),* $(,)?) => {
        ::std::vec![$($crate::IntoArg::into_arg($argument)),*]
    };
}
