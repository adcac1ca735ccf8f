//! A function of the user's over vectors of elements.

use std::sync::{Arc, Mutex, PoisonError};

use lazuli_codegen::simt::{self, Function};

use super::frame::{Faults, Frame, Shape};
use super::lower::{Lowered, lower_function};
use crate::runtime::host::ops::user::VectorFunction;

/// Elements computed at a time: what registers hold of them stays in the first-level cache.
const AT_ONCE: usize = 256;

/// A function over values, ready to be run for many elements at once.
pub struct HostFunction {
    // Before what they borrow.
    idle: Mutex<Vec<Frame<'static>>>,
    shared: Arc<Shared>,
}

struct Shared {
    lowered: Lowered,
    /// Functions over values reach no memory but arrays of their own, of which a read out of range gives zero.
    faults: Faults,
}

impl HostFunction {
    /// Lowers a function.
    ///
    /// # Errors
    /// What the host cannot run: source text. And what is no function over values.
    pub fn new(function: Function) -> Result<Self, String> {
        simt::verify_function(function)?;
        let lowered = lower_function(function)?;
        Ok(Self { idle: Mutex::default(), shared: Arc::new(Shared { lowered, faults: Faults::default() }) })
    }

    fn frame(&self) -> Frame<'static> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.unwrap_or_else(|| {
            // SAFETY: what is behind the Arc does not move and lives as long as `self`; frames are kept in `self` alone, where
            // they go first.
            let shared: &'static Shared = unsafe { &*Arc::as_ptr(&self.shared) };
            Frame::new(&shared.lowered, &shared.faults, Shape::line(AT_ONCE), &[], 0)
        })
    }
}

impl VectorFunction for HostFunction {
    unsafe fn run(&self, arguments: &[*const u8], to: *mut u8, n: usize) {
        let program = &self.shared.lowered.program;
        let Some(result) = program.result else { return };
        let mut frame = self.frame();
        for start in (0..n).step_by(AT_ONCE) {
            let count = AT_ONCE.min(n - start);
            for (&reg, argument) in program.scalars.iter().zip(arguments) {
                let bytes = program.registers[reg.at()];
                // SAFETY: the argument has `n` elements as registers hold them, and the register has room for `AT_ONCE`.
                unsafe {
                    std::ptr::copy_nonoverlapping(argument.add(start * bytes), frame.register(reg), count * bytes);
                }
            }
            frame.run_body(count);
            let bytes = program.registers[result.at()];
            // SAFETY: as above, the other way.
            unsafe { std::ptr::copy_nonoverlapping(frame.register(result), to.add(start * bytes), count * bytes) }
        }
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(frame);
    }
}
