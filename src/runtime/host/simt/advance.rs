//! The counters of loops, one step on.

use lazuli_codegen::DType;

/// Adds a step to each of so many counters, none of which passes its end: counters, ends, step, lanes.
pub type Advance = unsafe fn(*mut u8, *const u8, u64, usize);

/// The loop for counters of a type; none for what is no integer.
pub fn advance(dtype: DType) -> Option<Advance> {
    Some(match dtype {
        DType::I8 => advance_i8,
        DType::I16 => advance_i16,
        DType::I32 => advance_i32,
        DType::I64 => advance_i64,
        DType::U8 => advance_u8,
        DType::U16 => advance_u16,
        DType::U32 => advance_u32,
        DType::U64 => advance_u64,
        _ => return None,
    })
}

macro_rules! loops {
    ($($name:ident $type:ident $unsigned:ident),+) => { $(
        unsafe fn $name(counters: *mut u8, ends: *const u8, step: u64, n: usize) {
            // SAFETY: both hold `n` elements of this type, in registers that lie apart.
            let (counters, ends) = unsafe {
                (std::slice::from_raw_parts_mut(counters.cast::<$type>(), n), std::slice::from_raw_parts(ends.cast::<$type>(), n))
            };
            match $unsigned::try_from(step) {
                // The counters of lanes that left the loop may wrap; nobody reads them.
                Ok(1) => counters.iter_mut().for_each(|counter| *counter = counter.wrapping_add(1)),
                Ok(step) => {
                    for (counter, &end) in counters.iter_mut().zip(ends) {
                        let left = end.wrapping_sub(*counter) as $unsigned;
                        *counter = if left > step { counter.wrapping_add(step as $type) } else { end };
                    }
                }
                Err(_) => counters.copy_from_slice(ends),
            }
        }
    )+ };
}

loops!(
    advance_i8 i8 u8, advance_i16 i16 u16, advance_i32 i32 u32, advance_i64 i64 u64,
    advance_u8 u8 u8, advance_u16 u16 u16, advance_u32 u32 u32, advance_u64 u64 u64
);
