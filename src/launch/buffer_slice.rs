//! Parts of buffers as arguments of kernels.

use super::arg::{Arg, ArgKind, SliceArg, SliceMutArg, SliceOf};
use crate::buffer::{BufferSlice, BufferSliceMut};
use crate::dtype::Element;
use crate::error::Result;

/// What messages call the use of a buffer.
const OP: &str = "kernel argument";

fn argument<'a>(part: Result<SliceOf>) -> Arg<'a> {
    Arg(part.map_or_else(ArgKind::Failed, ArgKind::Slice))
}

impl<'a, T: Element> SliceArg<'a, T> for BufferSlice<'a, T> {
    fn into_arg(self) -> Arg<'a> {
        argument(self.for_kernel(OP).map(|(device, storage, start, len)| SliceOf {
            device: device.clone(),
            storage: storage.clone(),
            dtype: T::DTYPE,
            start,
            len,
            is_mut: false,
        }))
    }
}

impl<'a, T: Element> SliceMutArg<'a, T> for BufferSliceMut<'a, T> {
    fn into_arg(self) -> Arg<'a> {
        argument(self.for_kernel(OP).map(|(device, storage, start, len)| SliceOf {
            device: device.clone(),
            storage: storage.clone(),
            dtype: T::DTYPE,
            start,
            len,
            is_mut: true,
        }))
    }
}
