//! Arithmetic on indices, which are i64 whatever the kernel's index width.

use lazuli_codegen::IndexOp;

use super::apply::{Fn2, op2, pick2};

op2!(Add: i64 => i64, |a, b| a.wrapping_add(b));
op2!(Sub: i64 => i64, |a, b| a.wrapping_sub(b));
op2!(Mul: i64 => i64, |a, b| a.wrapping_mul(b));
// Divisors are positive by contract; one that is not must not end the process.
op2!(Div: i64 => i64, |a, b| if b == 0 { 0 } else { a.wrapping_div(b) });
op2!(Rem: i64 => i64, |a, b| if b == 0 { 0 } else { a.wrapping_rem(b) });
op2!(Min: i64 => i64, |a, b| a.min(b));
op2!(Max: i64 => i64, |a, b| a.max(b));

/// The loop of an index operation.
pub fn index(op: IndexOp) -> Fn2 {
    match op {
        IndexOp::Add => pick2::<Add>(),
        IndexOp::Sub => pick2::<Sub>(),
        IndexOp::Mul => pick2::<Mul>(),
        IndexOp::Div => pick2::<Div>(),
        IndexOp::Rem => pick2::<Rem>(),
        IndexOp::Min => pick2::<Min>(),
        IndexOp::Max => pick2::<Max>(),
    }
}
