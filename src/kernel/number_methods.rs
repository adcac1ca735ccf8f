//! What numbers of every kind can be asked for in kernels, beside operators.

use lazuli_codegen::simt::ir::Expr;
use lazuli_codegen::{BinaryOp, DType, Scalar, UnaryOp};

use super::builder::whole;
use super::operators::{add, binary, choose, div, gt, lt, mul, ne, rem, sub, unary};
use super::scalar::{KernelNumber, KernelScalar, KernelSigned};
use super::value::Value;
use crate::dtype::{Element, bf16, f16};

impl<T: KernelNumber> Value<T> {
    /// The smaller of two. Where one is NaN, the other.
    #[must_use]
    pub fn min(self, other: Value<T>) -> Value<T> {
        if T::DTYPE.is_float() { ignoring_nan(BinaryOp::Lt, self, other) } else { self.minimum(other) }
    }

    /// The greater of two. Where one is NaN, the other.
    #[must_use]
    pub fn max(self, other: Value<T>) -> Value<T> {
        if T::DTYPE.is_float() { ignoring_nan(BinaryOp::Gt, self, other) } else { self.maximum(other) }
    }

    /// The smaller of two. NaN where one is, as [`Array::minimum`](crate::Array::minimum); one instruction less than
    /// [`min`](Self::min) for floats. Lazuli's.
    #[must_use]
    pub fn minimum(self, other: Value<T>) -> Value<T> {
        binary(BinaryOp::Minimum, self, other)
    }

    /// The greater of two. NaN where one is. Lazuli's.
    #[must_use]
    pub fn maximum(self, other: Value<T>) -> Value<T> {
        binary(BinaryOp::Maximum, self, other)
    }

    /// This, or the nearest of two bounds where it is not between them. NaN stays.
    #[must_use]
    pub fn clamp(self, least: Value<T>, greatest: Value<T>) -> Value<T> {
        let (x, least, greatest) = (self.once(), least.once(), greatest.once());
        let from_above = choose(gt(x.clone(), greatest.clone()), greatest, x.clone());
        choose(lt(x, least.clone()), least, from_above)
    }

    /// The remainder that is never negative, however the operands are signed. 0 of integers by 0.
    #[must_use]
    pub fn rem_euclid(self, divisor: Value<T>) -> Value<T> {
        let divisor = divisor.once();
        let rest = rem(self, divisor.clone()).once();
        if T::DTYPE.is_unsigned_integer() {
            return rest;
        }
        let magnitude = unary(UnaryOp::Abs, divisor);
        choose(lt(rest.clone(), zero()), add(rest.clone(), magnitude), rest)
    }

    /// The quotient of which [`rem_euclid`](Self::rem_euclid) is what remains. 0 of integers by 0.
    #[must_use]
    pub fn div_euclid(self, divisor: Value<T>) -> Value<T> {
        if T::DTYPE.is_unsigned_integer() {
            return div(self, divisor);
        }
        let (x, divisor) = (self.once(), divisor.once());
        let exact = div(x.clone(), divisor.clone());
        let toward_zero = if T::DTYPE.is_float() { unary(UnaryOp::Trunc, exact) } else { exact };
        let toward_zero = toward_zero.once();
        let below = sub(toward_zero.clone(), one());
        let above = add(toward_zero.clone(), one());
        let other = choose(gt(divisor.clone(), zero()), below, above);
        choose(lt(rem(x, divisor), zero()), other, toward_zero)
    }
}

impl<T: KernelSigned> Value<T> {
    /// The magnitude. Of the least integer, which has none, that integer.
    #[must_use]
    pub fn abs(self) -> Value<T> {
        unary(UnaryOp::Abs, self)
    }

    /// As Rust's: of integers -1, 0 or 1; of floats 1 or -1 by the sign bit, NaN of NaN.
    #[must_use]
    pub fn signum(self) -> Value<T> {
        if !T::DTYPE.is_float() {
            return unary(UnaryOp::Sign, self);
        }
        let x = self.once();
        let sign = binary(BinaryOp::Copysign, one(), x.clone());
        choose(ne(x.clone(), x.clone()), x, sign)
    }
}

/// The constant 0.
pub(super) fn zero<T: KernelScalar>() -> Value<T> {
    Value::of(Expr::Literal(Scalar::from_bits(T::DTYPE, 0)))
}

/// The constant 1.
pub(super) fn one<T: KernelScalar>() -> Value<T> {
    Value::of(match T::DTYPE {
        DType::F16 => Expr::Literal(f16::one().to_scalar()),
        DType::BF16 => Expr::Literal(bf16::one().to_scalar()),
        DType::F32 => Expr::Literal(1.0f32.to_scalar()),
        DType::F64 => Expr::Literal(1.0f64.to_scalar()),
        other => whole(other, 1),
    })
}

/// A power by squaring; 1 for the power 0.
pub(super) fn multiplied_out<T: KernelNumber>(x: Value<T>, power: u32) -> Value<T> {
    let mut square = x;
    let mut result: Option<Value<T>> = None;
    let mut rest = power;
    while rest > 0 {
        square = square.once();
        if rest % 2 == 1 {
            result = Some(match result {
                Some(result) => mul(result, square.clone()),
                None => square.clone(),
            });
        }
        rest /= 2;
        if rest > 0 {
            square = mul(square.clone(), square);
        }
    }
    result.unwrap_or_else(one)
}

/// The better of two floats as Rust's `min` and `max` have it: the other one where one is NaN.
fn ignoring_nan<T: KernelNumber>(is_better: BinaryOp, a: Value<T>, b: Value<T>) -> Value<T> {
    let (a, b) = (a.once(), b.once());
    // A comparison with NaN is false: then b is taken, unless b is it.
    let better: Value<bool> = binary(is_better, a.clone(), b.clone());
    let b_is_nan = ne(b.clone(), b.clone());
    let takes_a = Expr::Or(Box::new(better.into_expr()), Box::new(b_is_nan.into_expr()));
    choose(Value::of(takes_a), a, b)
}
