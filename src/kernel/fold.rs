//! Arithmetic on constants, done while a kernel is built: what comes of `TILE / 2` may be the step of a loop, which must be
//! known.

use lazuli_codegen::simt::ir::Expr;
use lazuli_codegen::{BinaryOp, DType};

use super::builder::{constant, whole};
use super::scalar::integer;

/// The result of an operation on two integer constants of one type; none of other operands and operations.
pub(super) fn fold(op: BinaryOp, a: &Expr, b: &Expr) -> Option<Expr> {
    let (of, a, b) = (constant(a)?.dtype(), integer(constant(a)?)?, integer(constant(b)?)?);
    // No product of two u64 is out of the range of i128 but the greatest ones, whose low bits are right all the same.
    let value = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div => a.checked_div(b).unwrap_or(0),
        BinaryOp::Rem => a.checked_rem(b).unwrap_or(0),
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
        _ => return None,
    };
    Some(whole(of, value))
}

/// An integer constant as another integer type.
pub(super) fn fold_cast(to: DType, a: &Expr) -> Option<Expr> {
    let value = integer(constant(a)?)?;
    to.is_integer().then(|| whole(to, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_fold_as_devices_compute() {
        let of = |op, a: i128, b: i128| fold(op, &whole(DType::I8, a), &whole(DType::I8, b));
        assert_eq!(of(BinaryOp::Add, 100, 100), Some(whole(DType::I8, -56)));
        assert_eq!(of(BinaryOp::Div, -128, -1), Some(whole(DType::I8, -128)));
        assert_eq!(of(BinaryOp::Div, 7, 0), Some(whole(DType::I8, 0)));
        assert_eq!(of(BinaryOp::Rem, -7, 2), Some(whole(DType::I8, -1)));
        assert_eq!(of(BinaryOp::Shl, 1, 2), None);
        let greatest = whole(DType::U64, i128::from(u64::MAX));
        assert_eq!(fold(BinaryOp::Mul, &greatest, &greatest), Some(whole(DType::U64, 1)));
        assert_eq!(fold_cast(DType::U8, &whole(DType::I32, -1)), Some(whole(DType::U8, 255)));
        assert_eq!(fold_cast(DType::F32, &whole(DType::I32, -1)), None);
    }
}
