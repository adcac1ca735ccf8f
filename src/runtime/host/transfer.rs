//! Elements between memory and dense registers: strided, repeated, gathered and scattered.

use std::mem::MaybeUninit;

use super::walk::Walk;

/// # Safety
/// `data` points to room for `n` elements that nothing else refers to meanwhile.
pub unsafe fn uninitialised<'a, T>(data: *mut T, n: usize) -> &'a mut [MaybeUninit<T>] {
    // SAFETY: the caller's promise; any memory is a valid MaybeUninit.
    unsafe { std::slice::from_raw_parts_mut(data.cast(), n) }
}

/// Calls a generic function for the integer type of a size in bytes.
macro_rules! by_size {
    ($bytes:expr, $function:ident($($argument:expr),*)) => {
        match $bytes {
            1 => $function::<u8>($($argument),*),
            2 => $function::<u16>($($argument),*),
            4 => $function::<u32>($($argument),*),
            _ => $function::<u64>($($argument),*),
        }
    };
}

/// Fills `to` with the `n` elements that `walk` visits from `start`, counted from `from`.
///
/// # Safety
/// Every element visited may be read; `to` has room for `n` elements and lies apart.
pub unsafe fn load(bytes: usize, from: *const u8, walk: &Walk, start: i64, n: usize, to: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { by_size!(bytes, load_as(from.cast(), walk, start, n, to.cast())) }
}

unsafe fn load_as<T: Copy>(from: *const T, walk: &Walk, start: i64, n: usize, to: *mut T) {
    let stride = walk.stride();
    if let Some(plane) = walk.across(start, n) {
        // Along the grain of the memory, against that of the register, which is in the first-level cache.
        for column in 0..plane.columns {
            for row in 0..plane.rows {
                let index = column as i64 * stride + row as i64 * plane.row_stride;
                // SAFETY: the plane's elements are those of the walk.
                unsafe { to.add(row * plane.columns + column).write(from.offset(index as isize).read()) }
            }
        }
        return;
    }
    walk.runs(start, n, |done, index, length| {
        // SAFETY: the run lies within what the caller promised.
        unsafe {
            let (from, to) = (from.offset(index as isize), to.add(done));
            match stride {
                1 => std::ptr::copy_nonoverlapping(from, to, length),
                0 => uninitialised(to, length).fill(MaybeUninit::new(from.read())),
                _ => {
                    for i in 0..length {
                        to.add(i).write(from.offset(i as isize * stride as isize).read());
                    }
                }
            }
        }
    });
}

/// Writes the `n` elements of `from` to those that `walk` visits from `start`, counted from `to`.
///
/// # Safety
/// Every element visited may be written and lies apart from `from`, which holds `n` elements.
pub unsafe fn store(bytes: usize, from: *const u8, walk: &Walk, start: i64, n: usize, to: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { by_size!(bytes, store_as(from.cast(), walk, start, n, to.cast())) }
}

unsafe fn store_as<T: Copy>(from: *const T, walk: &Walk, start: i64, n: usize, to: *mut T) {
    let stride = walk.stride();
    if let Some(plane) = walk.across(start, n) {
        for column in 0..plane.columns {
            for row in 0..plane.rows {
                let index = column as i64 * stride + row as i64 * plane.row_stride;
                // SAFETY: the plane's elements are those of the walk.
                unsafe { to.offset(index as isize).write(from.add(row * plane.columns + column).read()) }
            }
        }
        return;
    }
    walk.runs(start, n, |done, index, length| {
        // SAFETY: the run lies within what the caller promised.
        unsafe {
            let (from, to) = (from.add(done), to.offset(index as isize));
            if stride == 1 {
                std::ptr::copy_nonoverlapping(from, to, length);
            } else {
                for i in 0..length {
                    to.offset(i as isize * stride as isize).write(from.add(i).read());
                }
            }
        }
    });
}

/// Fills `to` with `n` copies of the element at `from`.
///
/// # Safety
/// `from` may be read; `to` has room for `n` elements and lies apart.
pub unsafe fn splat(bytes: usize, from: *const u8, n: usize, to: *mut u8) {
    unsafe fn splat_as<T: Copy>(from: *const T, n: usize, to: *mut T) {
        // SAFETY: the caller's promise.
        unsafe { uninitialised(to, n).fill(MaybeUninit::new(from.read())) }
    }
    // SAFETY: the caller's promise.
    unsafe { by_size!(bytes, splat_as(from.cast(), n, to.cast())) }
}

/// Fills `to` with `length` copies of each of the `rows` elements at `from`.
///
/// # Safety
/// `from` holds `rows` elements; `to` has room for `rows * length` and lies apart.
pub unsafe fn spread(bytes: usize, from: *const u8, rows: usize, length: usize, to: *mut u8) {
    unsafe fn spread_as<T: Copy>(from: *const T, rows: usize, length: usize, to: *mut T) {
        for row in 0..rows {
            // SAFETY: the caller's promise.
            unsafe { uninitialised(to.add(row * length), length).fill(MaybeUninit::new(from.add(row).read())) }
        }
    }
    // SAFETY: the caller's promise.
    unsafe { by_size!(bytes, spread_as(from.cast(), rows, length, to.cast())) }
}

/// True where all indices are below `length`.
pub fn all_within(indices: &[i64], length: i64) -> bool {
    // A negative index is a large one. The fold vectorises, a search with an early end does not.
    indices.iter().fold(true, |all, &index| all & ((index as u64) < length as u64))
}

/// Fills `to` with the elements at `indices`.
///
/// # Safety
/// Every index names an element that may be read; `to` has room for them all and lies apart.
pub unsafe fn gather(bytes: usize, from: *const u8, indices: &[i64], to: *mut u8) {
    unsafe fn gather_as<T: Copy>(from: *const T, indices: &[i64], to: *mut T) {
        for (i, &index) in indices.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { to.add(i).write(from.offset(index as isize).read()) }
        }
    }
    // SAFETY: the caller's promise.
    unsafe { by_size!(bytes, gather_as(from.cast(), indices, to.cast())) }
}

/// Writes the elements of `from` to `indices`.
///
/// # Safety
/// Every index names an element that may be written; `from` has an element for each and lies apart.
pub unsafe fn scatter(bytes: usize, from: *const u8, indices: &[i64], to: *mut u8) {
    unsafe fn scatter_as<T: Copy>(from: *const T, indices: &[i64], to: *mut T) {
        for (i, &index) in indices.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { to.offset(index as isize).write(from.add(i).read()) }
        }
    }
    // SAFETY: the caller's promise.
    unsafe { by_size!(bytes, scatter_as(from.cast(), indices, to.cast())) }
}
