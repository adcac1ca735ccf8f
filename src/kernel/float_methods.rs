//! What floats can be asked for in kernels, beside operators.

use lazuli_codegen::simt::ir::Expr;
use lazuli_codegen::{BinaryOp, UnaryOp};

use super::number_methods::multiplied_out;
use super::operators::{add, binary, choose, div, float, ge, lt, not, sub, unary};
use super::scalar::{FloatBits, KernelScalar, integer};
use super::value::{Value, lit};
use crate::dtype::Float;

macro_rules! unary_methods {
    ($($(#[$meta:meta])* $name:ident => $op:ident $result:ty;)+) => {
        impl<T: Float> Value<T> {
            $(
                $(#[$meta])*
                #[must_use]
                pub fn $name(self) -> Value<$result> {
                    unary(UnaryOp::$op, self)
                }
            )+
        }
    };
}

unary_methods! {
    /// Correctly rounded.
    sqrt => Sqrt T;
    /// The cube root.
    cbrt => Cbrt T;
    /// e to the power of this.
    exp => Exp T;
    /// 2 to the power of this.
    exp2 => Exp2 T;
    /// `exp(x) - 1`, exact near 0.
    exp_m1 => Expm1 T;
    /// The natural logarithm.
    ln => Log T;
    /// The logarithm to base 2.
    log2 => Log2 T;
    /// The logarithm to base 10.
    log10 => Log10 T;
    /// `ln(1 + x)`, exact near 0.
    ln_1p => Log1p T;
    /// The sine, of radians.
    sin => Sin T;
    /// The cosine, of radians.
    cos => Cos T;
    /// The tangent, of radians.
    tan => Tan T;
    /// The angle whose sine this is.
    asin => Asin T;
    /// The angle whose cosine this is.
    acos => Acos T;
    /// The angle whose tangent this is.
    atan => Atan T;
    /// The hyperbolic sine.
    sinh => Sinh T;
    /// The hyperbolic cosine.
    cosh => Cosh T;
    /// The hyperbolic tangent.
    tanh => Tanh T;
    /// Inverse of [`sinh`](Self::sinh).
    asinh => Asinh T;
    /// Inverse of [`cosh`](Self::cosh).
    acosh => Acosh T;
    /// Inverse of [`tanh`](Self::tanh).
    atanh => Atanh T;
    /// To the integer at or below.
    floor => Floor T;
    /// To the integer at or above.
    ceil => Ceil T;
    /// To the integer toward zero.
    trunc => Trunc T;
    /// To the nearest integer, ties to the even one.
    round_ties_even => Round T;
    /// 1 / x, correctly rounded.
    recip => Recip T;
    /// The error function. Lazuli's.
    erf => Erf T;
    /// `1 - erf(x)`, exact where that is small. Lazuli's.
    erfc => Erfc T;
    /// True of NaN.
    is_nan => IsNan bool;
    /// True of both infinities.
    is_infinite => IsInf bool;
    /// True of what is neither NaN nor infinite.
    is_finite => IsFinite bool;
}

impl<T: Float> Value<T> {
    /// To the nearest integer, ties away from zero.
    #[must_use]
    pub fn round(self) -> Value<T> {
        let x = self.once();
        let whole = x.clone().trunc().once();
        // The difference is exact.
        let is_up = ge(sub(x.clone(), whole.clone()).abs(), float(0.5));
        let away = add(whole.clone(), lit(T::one()).copysign(x.clone()));
        // What rounds to zero keeps its sign.
        choose(is_up, away, whole).copysign(x)
    }

    /// `x - trunc(x)`.
    #[must_use]
    pub fn fract(self) -> Value<T> {
        let x = self.once();
        sub(x.clone(), x.trunc())
    }

    /// `self * a + b` with one rounding.
    #[must_use]
    pub fn mul_add(self, a: Value<T>, b: Value<T>) -> Value<T> {
        Value::of(Expr::MulAdd(Box::new([self.into_expr(), a.into_expr(), b.into_expr()])))
    }

    /// This to a power of the same type.
    #[must_use]
    pub fn powf(self, power: Value<T>) -> Value<T> {
        binary(BinaryOp::Pow, self, power)
    }

    /// This to a whole power. A constant one of up to 64 is multiplied out, by squaring; another is [`powf`](Self::powf) of the
    /// power as a float.
    #[must_use]
    pub fn powi(self, power: Value<i32>) -> Value<T> {
        match power.constant().and_then(integer) {
            Some(known) if known.abs() <= 64 => {
                let result = multiplied_out(self, known.unsigned_abs() as u32);
                if known < 0 { result.recip() } else { result }
            }
            _ => {
                let power = Value::of(Expr::Cast(T::DTYPE, Box::new(power.into_expr())));
                self.powf(power)
            }
        }
    }

    /// The logarithm to a base of the same type: `ln(x) / ln(base)`.
    #[must_use]
    pub fn log(self, base: Value<T>) -> Value<T> {
        div(self.ln(), base.ln())
    }

    /// Sine and cosine.
    #[must_use]
    pub fn sin_cos(self) -> (Value<T>, Value<T>) {
        let x = self.once();
        (x.clone().sin(), x.cos())
    }

    /// The angle of the point (x, self), in radians, between -pi and pi.
    #[must_use]
    pub fn atan2(self, x: Value<T>) -> Value<T> {
        binary(BinaryOp::Atan2, self, x)
    }

    /// `sqrt(x * x + y * y)` without overflow on the way.
    #[must_use]
    pub fn hypot(self, y: Value<T>) -> Value<T> {
        binary(BinaryOp::Hypot, self, y)
    }

    /// The magnitude of this with the sign of another.
    #[must_use]
    pub fn copysign(self, sign: Value<T>) -> Value<T> {
        binary(BinaryOp::Copysign, self, sign)
    }

    /// True where the sign bit is set, which -0 and some NaN have.
    #[must_use]
    pub fn is_sign_negative(self) -> Value<bool> {
        lt(lit(T::one()).copysign(self), lit(T::zero()))
    }

    /// True where the sign bit is not set.
    #[must_use]
    pub fn is_sign_positive(self) -> Value<bool> {
        not(self.is_sign_negative())
    }
}

impl<T: FloatBits> Value<T> {
    /// The bits, as an integer of the same width: u32 of f32, u64 of f64.
    #[must_use]
    pub fn to_bits(self) -> Value<T::Bits> {
        Value::of(Expr::Bits(<T::Bits as KernelScalar>::DTYPE, Box::new(self.into_expr())))
    }
}
