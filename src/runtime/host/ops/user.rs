//! Functions of the user's over whole vectors, and folds by them.

use std::sync::Arc;

use lazuli_codegen::{Combiner, Scalar};

use super::register_bytes;

/// A function of the user's, run for many elements at once.
pub trait VectorFunction: Send + Sync {
    /// Runs it for `n` elements.
    ///
    /// # Safety
    /// There is an argument for each parameter, readable for `n` elements as registers hold them, and `to` is writable for
    /// `n` of the result's, apart from all of them.
    unsafe fn run(&self, arguments: &[*const u8], to: *mut u8, n: usize);
}

/// A fold by a function of the user's. It combines what the loops of the built-in folds combine, in the same order.
pub struct UserFold {
    function: Arc<dyn VectorFunction>,
    /// The identity, as a register holds it.
    identity: [u8; 8],
    /// Bytes of an element in a register.
    bytes: usize,
}

/// Elements folded at a time; results are computed apart from the accumulators, then copied over them.
const AT_ONCE: usize = 64;

impl UserFold {
    /// The fold by a function that runs as given.
    pub fn new(combiner: Combiner, function: Arc<dyn VectorFunction>) -> Self {
        let bytes = register_bytes(combiner.identity.dtype());
        Self { function, identity: held(combiner.identity), bytes }
    }

    /// As [`FoldOps::start`](super::fold::FoldOps::start).
    ///
    /// # Safety
    /// `acc` is writable for `n` elements.
    pub unsafe fn start(&self, acc: *mut u8, n: usize) {
        for i in 0..n {
            // SAFETY: within the n elements; an element is at most eight bytes.
            unsafe { std::ptr::copy_nonoverlapping(self.identity.as_ptr(), acc.add(i * self.bytes), self.bytes) }
        }
    }

    /// As [`FoldOps::columns`](super::fold::FoldOps::columns).
    ///
    /// # Safety
    /// `acc` and `values` have `n` elements each and do not overlap.
    pub unsafe fn columns(&self, acc: *mut u8, values: *const u8, n: usize) {
        let mut results = [0u64; AT_ONCE];
        let to = results.as_mut_ptr().cast::<u8>();
        for start in (0..n).step_by(AT_ONCE) {
            let (offset, count) = (start * self.bytes, AT_ONCE.min(n - start));
            // SAFETY: the piece lies in both, and the results have room for it, apart from both.
            unsafe {
                let acc = acc.add(offset);
                self.function.run(&[acc.cast_const(), values.add(offset)], to, count);
                std::ptr::copy_nonoverlapping(to, acc, count * self.bytes);
            }
        }
    }

    /// As [`FoldOps::rows`](super::fold::FoldOps::rows).
    ///
    /// # Safety
    /// `acc` has `width` elements, `values` has `n`, and they do not overlap.
    pub unsafe fn rows(&self, acc: *mut u8, values: *const u8, n: usize, phase: usize, width: usize) {
        let (mut done, mut place) = (0, phase);
        while done < n {
            let count = (width - place).min(n - done);
            // SAFETY: the piece lies within the accumulators and within the values.
            unsafe { self.columns(acc.add(place * self.bytes), values.add(done * self.bytes), count) }
            (done, place) = (done + count, 0);
        }
    }

    /// As [`FoldOps::combine`](super::fold::FoldOps::combine).
    ///
    /// # Safety
    /// `acc` has `lanes * width` elements.
    pub unsafe fn combine(&self, acc: *mut u8, lanes: usize, width: usize) {
        for lane in 0..lanes {
            // SAFETY: the lane's accumulators.
            unsafe { self.halve(acc.add(lane * width * self.bytes), width, 1) }
        }
        // SAFETY: the first accumulator of each lane.
        unsafe { self.halve(acc, lanes, width) }
    }

    /// As [`FoldOps::segments`](super::fold::FoldOps::segments).
    ///
    /// # Safety
    /// As there: `rows` results, the accumulators of one row, `rows * length` values, all apart.
    pub unsafe fn segments(
        &self,
        results: *mut u8,
        acc: *mut u8,
        values: *const u8,
        rows: usize,
        length: usize,
        [lanes, width]: [usize; 2],
    ) {
        for row in 0..rows {
            // SAFETY: the row's values and its result.
            unsafe {
                self.start(acc, lanes * width);
                self.rows(acc, values.add(row * length * self.bytes), length, 0, lanes * width);
                self.combine(acc, lanes, width);
                std::ptr::copy_nonoverlapping(acc, results.add(row * self.bytes), self.bytes);
            }
        }
    }

    /// Folds `count` accumulators that are `step` apart into the first, by halving.
    ///
    /// # Safety
    /// `acc` has them.
    unsafe fn halve(&self, acc: *mut u8, count: usize, step: usize) {
        let mut half = count / 2;
        while half > 0 {
            for v in 0..half {
                // SAFETY: both are among the accumulators, and differ.
                unsafe {
                    let (to, from) = (acc.add(v * step * self.bytes), acc.add((v + half) * step * self.bytes));
                    self.columns(to, from, 1);
                }
            }
            half /= 2;
        }
    }
}

/// A value as registers hold it, in the first bytes.
fn held(value: Scalar) -> [u8; 8] {
    // Halves are f32 in registers as they are in arguments.
    value.argument_bytes().0
}
