//! Elements as the bits they are.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// An unsigned integer of an element's width.
pub trait Word: Copy + Default {
    /// Reads an element that others may write meanwhile.
    ///
    /// # Safety
    /// `from` points to an element, aligned, which nobody writes but by atomics.
    unsafe fn load_shared(from: *const Self) -> Self;

    /// Writes an element that others may read and write meanwhile.
    ///
    /// # Safety
    /// `to` points to an element, aligned, which nobody reads or writes but by atomics.
    unsafe fn store_shared(to: *mut Self, value: Self);
}

macro_rules! words {
    ($($word:ident $atomic:ident),+) => { $(
        impl Word for $word {
            #[inline(always)]
            unsafe fn load_shared(from: *const Self) -> Self {
                // SAFETY: the caller's promise; loading does not write through the pointer.
                unsafe { $atomic::from_ptr(from.cast_mut()) }.load(Ordering::Relaxed)
            }
            #[inline(always)]
            unsafe fn store_shared(to: *mut Self, value: Self) {
                // SAFETY: the caller's promise.
                unsafe { $atomic::from_ptr(to) }.store(value, Ordering::Relaxed);
            }
        }
    )+ };
}

words!(u8 AtomicU8, u16 AtomicU16, u32 AtomicU32, u64 AtomicU64);

/// Calls a generic function for the word of so many bytes.
macro_rules! by_width {
    ($bytes:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $bytes {
            1 => $function::<u8>($($argument),*),
            2 => $function::<u16>($($argument),*),
            4 => $function::<u32>($($argument),*),
            _ => $function::<u64>($($argument),*),
        }
    };
}
pub(super) use by_width;
