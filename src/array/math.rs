//! Element-wise mathematics, by NumPy's names.

use std::panic::Location;

use lazuli_codegen::{BinaryOp, UnaryOp};

use super::{Array, Operand};
use crate::dtype::{Float, Number};
use crate::graph::record;

macro_rules! unary {
    ($bound:ident, $result:ty: $($name:ident $op:ident $(alias $alias:literal)*: $about:literal;)+) => {
        impl<T: $bound> Array<T> {
            $(
                #[doc = $about]
                $(#[doc(alias = $alias)])*
                #[track_caller]
                pub fn $name(&self) -> Array<$result> {
                    self.unary(UnaryOp::$op, Location::caller())
                }
            )+
        }
    };
}

unary! { Number, T:
    abs Abs alias "absolute": "Absolute values; the least integer stays as it is.";
    sign Sign alias "signum": "-1, 0 or 1; NaN stays NaN, and a zero keeps its sign.";
}

unary! { Float, T:
    sqrt Sqrt: "Square roots, correctly rounded.";
    cbrt Cbrt: "Cube roots.";
    recip Recip alias "reciprocal": "`1 / x`, correctly rounded.";
    exp Exp: "e to the power x.";
    exp2 Exp2: "2 to the power x.";
    expm1 Expm1 alias "exp_m1": "`exp(x) - 1`, exact also near 0.";
    log Log: "Natural logarithms.";
    ln Log: "Natural logarithms, by the name they have in Rust.";
    log2 Log2: "Logarithms to base 2.";
    log10 Log10: "Logarithms to base 10.";
    log1p Log1p alias "ln_1p": "`log(1 + x)`, exact also near 0.";
    sin Sin: "Sines of radians.";
    cos Cos: "Cosines of radians.";
    tan Tan: "Tangents of radians.";
    asin Asin alias "arcsin": "Arc sines, in radians.";
    acos Acos alias "arccos": "Arc cosines, in radians.";
    atan Atan alias "arctan": "Arc tangents, in radians.";
    sinh Sinh: "Hyperbolic sines.";
    cosh Cosh: "Hyperbolic cosines.";
    tanh Tanh: "Hyperbolic tangents.";
    asinh Asinh alias "arcsinh": "Inverse hyperbolic sines.";
    acosh Acosh alias "arccosh": "Inverse hyperbolic cosines.";
    atanh Atanh alias "arctanh": "Inverse hyperbolic tangents.";
    floor Floor: "The next integers below.";
    ceil Ceil: "The next integers above.";
    round Round alias "rint": "The nearest integers, ties to even as in NumPy.";
    trunc Trunc: "The next integers towards 0.";
    erf Erf: "The error function.";
    erfc Erfc: "`1 - erf(x)`, exact also for large x.";
}

unary! { Float, bool:
    is_nan IsNan alias "isnan": "True at NaN.";
    is_inf IsInf alias "isinf" alias "is_infinite": "True at either infinity.";
    is_finite IsFinite alias "isfinite": "True at everything but NaN and the infinities.";
}

macro_rules! binary {
    ($bound:ident: $($name:ident $op:ident $(alias $alias:literal)*: $about:literal;)+) => {
        impl<T: $bound> Array<T> {
            $(
                #[doc = $about]
                ///
                /// Shapes broadcast.
                $(#[doc(alias = $alias)])*
                #[track_caller]
                pub fn $name(&self, rhs: impl Operand<T>) -> Array<T> {
                    self.binary(BinaryOp::$op, rhs, Location::caller())
                }
            )+
        }
    };
}

binary! { Number:
    minimum Minimum: "The lesser of two; NaN where either is.";
    maximum Maximum: "The greater of two; NaN where either is.";
    floor_divide FloorDivide: "NumPy's `//`: quotients rounded towards minus infinity; `x // 0` is 0 for integers.";
    remainder Remainder alias "mod": "NumPy's `%`: remainders with the sign of the divisor; `x % 0` is 0 for integers.";
}

binary! { Float:
    pow Pow alias "power" alias "powf": "`self` to the power `rhs`.";
    atan2 Atan2 alias "arctan2": "The angle of the point (`rhs`, `self`), in radians from -π to π.";
    hypot Hypot: "`sqrt(self² + rhs²)`, without overflow between.";
    copysign Copysign: "`self` with the sign of `rhs`.";
}

impl<T: Number> Array<T> {
    /// `self * self`.
    #[track_caller]
    pub fn square(&self) -> Array<T> {
        self.binary(BinaryOp::Mul, self, Location::caller())
    }

    /// The elements held between `min` and `max`, which broadcast; `max` where the two cross, as in NumPy. NaN stays NaN.
    #[doc(alias = "clip")]
    #[track_caller]
    pub fn clamp(&self, min: impl Operand<T>, max: impl Operand<T>) -> Array<T> {
        let at = Location::caller();
        let raised: Array<T> = self.binary(BinaryOp::Maximum, min, at);
        raised.binary(BinaryOp::Minimum, max, at)
    }
}

impl<T: Float> Array<T> {
    /// `self * b + c` with one rounding. The three broadcast together.
    #[doc(alias = "fma")]
    #[track_caller]
    pub fn mul_add(&self, b: impl Operand<T>, c: impl Operand<T>) -> Array<T> {
        let at = Location::caller();
        match self.device_mismatch("mul_add", &b, at).or_else(|| self.device_mismatch("mul_add", &c, at)) {
            Some(error) => self.fail(error, at),
            None => self.derive(record::mul_add(&self.node, &b.node(at), &c.node(at), at)),
        }
    }
}
