//! Changes of elements that no other thread comes between, one lane after the other.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use lazuli_codegen::DType;
use lazuli_codegen::simt::ir::AtomicOp;

use super::frame::Frame;
use super::program::{Atomic, MaskId};

impl Frame<'_> {
    pub(super) fn atomic(&mut self, atomic: &Atomic, mask: MaskId) {
        let n = self.n;
        let before = atomic.before.map(|reg| self.register(reg));
        let (value, expected) = (self.register(atomic.value), atomic.expected.map(|reg| self.register(reg)));
        let op = atomic.op;
        let reach = self.reach(&atomic.access, mask);
        let bits = |register: *mut u8, lane: usize| {
            // SAFETY: a register of as many lanes, of the element's size.
            unsafe {
                match atomic.access.bytes {
                    4 => u64::from(register.cast::<u32>().add(lane).read()),
                    _ => register.cast::<u64>().add(lane).read(),
                }
            }
        };
        for lane in 0..n {
            let is_on = reach.mask.is_none_or(|mask| mask[lane] != 0);
            let mut held = 0;
            if is_on {
                let (value, expected) = (bits(value, lane), expected.map(|expected| bits(expected, lane)));
                let at = reach.numbers[lane] as usize * atomic.access.bytes;
                // SAFETY: the lane's element is within the memory, aligned to its size, and other threads reach it by atomics
                // only.
                held = unsafe { change(reach.bound.data.add(at), op, atomic.dtype, value, expected) };
            }
            if let Some(before) = before {
                // SAFETY: as above.
                unsafe {
                    match atomic.access.bytes {
                        4 => before.cast::<u32>().add(lane).write(held as u32),
                        _ => before.cast::<u64>().add(lane).write(held),
                    }
                }
            }
        }
    }
}

/// Changes one element, and gives the bits it held before.
///
/// # Safety
/// `place` points to an element of the type, which others reach by atomics only.
unsafe fn change(place: *mut u8, op: AtomicOp, dtype: DType, value: u64, expected: Option<u64>) -> u64 {
    // SAFETY: the caller's promise.
    let (narrow, wide) = unsafe { (|| AtomicU32::from_ptr(place.cast()), || AtomicU64::from_ptr(place.cast())) };
    macro_rules! with {
        ($atomic:expr, $word:ident, $next:expr) => {{
            let next = $next;
            // The update always gives a value, so the error is none.
            let held = match $atomic.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| next(held)) {
                Ok(held) | Err(held) => held,
            };
            u64::from(held)
        }};
    }
    match dtype {
        DType::I32 => with!(narrow(), u32, |held: u32| {
            Some(on_i32(op, held as i32, value as u32 as i32, expected.map(|expected| expected as u32 as i32))? as u32)
        }),
        DType::U32 => {
            with!(narrow(), u32, |held: u32| on_u32(op, held, value as u32, expected.map(|expected| expected as u32)))
        }
        DType::I64 => with!(wide(), u64, |held: u64| {
            Some(on_i64(op, held as i64, value as i64, expected.map(|expected| expected as i64))? as u64)
        }),
        DType::U64 => with!(wide(), u64, |held: u64| on_u64(op, held, value, expected)),
        DType::F32 => with!(narrow(), u32, |held: u32| {
            Some(on_f32(op, f32::from_bits(held), f32::from_bits(value as u32))?.to_bits())
        }),
        DType::F64 => {
            with!(wide(), u64, |held: u64| { Some(on_f64(op, f64::from_bits(held), f64::from_bits(value))?.to_bits()) })
        }
        // Verified: there are no others.
        _ => 0,
    }
}

macro_rules! integers {
    ($($name:ident $type:ident),+) => { $(
        /// The new value; none where the element stays as it is.
        fn $name(op: AtomicOp, held: $type, value: $type, expected: Option<$type>) -> Option<$type> {
            Some(match op {
                AtomicOp::Add => held.wrapping_add(value),
                AtomicOp::Sub => held.wrapping_sub(value),
                AtomicOp::Min => held.min(value),
                AtomicOp::Max => held.max(value),
                AtomicOp::And => held & value,
                AtomicOp::Or => held | value,
                AtomicOp::Xor => held ^ value,
                AtomicOp::Exchange => value,
                AtomicOp::CompareExchange if expected == Some(held) => value,
                AtomicOp::CompareExchange => return None,
            })
        }
    )+ };
}

integers!(on_i32 i32, on_u32 u32, on_i64 i64, on_u64 u64);

macro_rules! floats {
    ($($name:ident $type:ident),+) => { $(
        fn $name(op: AtomicOp, held: $type, value: $type) -> Option<$type> {
            Some(match op {
                AtomicOp::Add => held + value,
                // NaN if either is NaN, as of arrays.
                AtomicOp::Min => if held.is_nan() || held < value { held } else { value },
                AtomicOp::Max => if held.is_nan() || held > value { held } else { value },
                AtomicOp::Exchange => value,
                _ => return None,
            })
        }
    )+ };
}

floats!(on_f32 f32, on_f64 f64);
