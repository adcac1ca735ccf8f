//! Elements seen as bytes, and bytes as elements.

use crate::dtype::{DType, Element};

/// The memory of a slice of elements.
pub fn of_slice<T: Element>(slice: &[T]) -> &[u8] {
    // SAFETY: `Element` is sealed; every implementor is a plain value without padding, so all its bytes are initialised,
    // and u8 has no alignment of its own.
    unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), std::mem::size_of_val(slice)) }
}

/// The memory of a slice of elements, to be filled from a device.
///
/// Whoever writes to it writes valid elements: for bool that is 0 or 1, which is all that kernels store.
pub fn of_slice_mut<T: Element>(slice: &mut [T]) -> &mut [u8] {
    // SAFETY: as above; every bit pattern is a value of the numeric types, and kernels store only 0 and 1 as bool.
    unsafe { std::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), std::mem::size_of_val(slice)) }
}

/// True where bytes are a whole number of elements, at an address that elements may have, and each a value of the type: for bool,
/// 0 or 1.
pub fn are_elements<T: Element>(bytes: &[u8]) -> bool {
    let is_whole = bytes.len().is_multiple_of(size_of::<T>()) && bytes.as_ptr().cast::<T>().is_aligned();
    is_whole && (T::DTYPE != DType::Bool || bytes.iter().all(|byte| *byte <= 1))
}
