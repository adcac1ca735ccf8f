//! Elements seen as bytes, and bytes as elements.

use crate::dtype::Element;

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
