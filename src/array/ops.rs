//! Operators: `+ - * / %`, `& | ^ ! << >>`, unary minus, and the in-place forms.
//!
//! On the right stands anything that is an [`Operand`]; on the left an array, a reference to one, or a scalar. Shapes
//! broadcast as in NumPy.

use std::borrow::Cow;
use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul, MulAssign,
    Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};
use std::panic::Location;

use half::{bf16, f16};
use lazuli_codegen::{BinaryOp, UnaryOp};

use super::{Array, Operand};
use crate::dtype::{Bits, Element, Integer, Number, Signed};
use crate::error::{Error, Place};
use crate::graph::record;
use crate::shape;

impl<T: Element> Array<T> {
    /// Binds the array to `self op rhs`, which must have the shape of `self`.
    fn rebind(&mut self, op: BinaryOp, name: &'static str, rhs: impl Operand<T>, at: Place) {
        *self = match self.device_mismatch(name, &rhs, at) {
            Some(error) => self.fail(error, at),
            None => {
                let rhs = rhs.node(at);
                let failed = self.is_failed() || record::failure(&rhs).is_some();
                if failed || shape::broadcast(self.shape(), rhs.shape()).as_deref() == Some(self.shape()) {
                    self.derive(record::binary(op, &self.node, &rhs, at))
                } else {
                    let (lhs, rhs) = (self.shape().to_vec(), rhs.shape().to_vec());
                    self.fail(Error::ShapeMismatch { op: name, lhs, rhs, at }, at)
                }
            }
        };
    }

    /// `scalar op array`.
    fn scalar_left(scalar: T, op: BinaryOp, array: &Array<T>, at: Place) -> Array<T> {
        let operands = [Cow::Owned(record::scalar(scalar.to_scalar(), at)), Cow::Borrowed(&array.node)];
        array.derive(record::binary_of(op, operands, at))
    }
}

macro_rules! operator {
    (
        $trait:ident $method:ident, $assign:ident $assign_method:ident, $bound:ident: $op:ident, $about:literal,
        scalars $($scalar:ty)+
    ) => {
        impl<T: $bound, R: Operand<T>> $trait<R> for Array<T> {
            type Output = Array<T>;
            #[doc = $about]
            #[track_caller]
            fn $method(self, rhs: R) -> Array<T> {
                self.into_binary(BinaryOp::$op, rhs, Location::caller())
            }
        }

        impl<T: $bound, R: Operand<T>> $trait<R> for &Array<T> {
            type Output = Array<T>;
            #[doc = $about]
            #[track_caller]
            fn $method(self, rhs: R) -> Array<T> {
                self.binary(BinaryOp::$op, rhs, Location::caller())
            }
        }

        impl<T: $bound, R: Operand<T>> $assign<R> for Array<T> {
            /// Binds the array to the result, which must have the shape of the array.
            #[track_caller]
            fn $assign_method(&mut self, rhs: R) {
                self.rebind(BinaryOp::$op, stringify!($assign_method), rhs, Location::caller());
            }
        }

        $(
            impl $trait<Array<$scalar>> for $scalar {
                type Output = Array<$scalar>;
                #[doc = $about]
                #[track_caller]
                fn $method(self, rhs: Array<$scalar>) -> Array<$scalar> {
                    Array::scalar_left(self, BinaryOp::$op, &rhs, Location::caller())
                }
            }

            impl $trait<&Array<$scalar>> for $scalar {
                type Output = Array<$scalar>;
                #[doc = $about]
                #[track_caller]
                fn $method(self, rhs: &Array<$scalar>) -> Array<$scalar> {
                    Array::scalar_left(self, BinaryOp::$op, rhs, Location::caller())
                }
            }
        )+
    };
}

operator!(Add add, AddAssign add_assign, Number: Add, "Sums; integers wrap.",
    scalars i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);
operator!(Sub sub, SubAssign sub_assign, Number: Sub, "Differences; integers wrap.",
    scalars i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);
operator!(Mul mul, MulAssign mul_assign, Number: Mul, "Products; integers wrap.",
    scalars i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);
operator!(Div div, DivAssign div_assign, Number: Div, "Quotients; integers truncate, and `x / 0` is 0.",
    scalars i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);
operator!(Rem rem, RemAssign rem_assign, Number: Rem, "Remainders with the sign of the dividend; `x % 0` is 0 for integers.",
    scalars i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);
operator!(BitAnd bitand, BitAndAssign bitand_assign, Bits: BitAnd, "Bits in both; logical and of bool.",
    scalars bool i8 i16 i32 i64 u8 u16 u32 u64);
operator!(BitOr bitor, BitOrAssign bitor_assign, Bits: BitOr, "Bits in either; logical or of bool.",
    scalars bool i8 i16 i32 i64 u8 u16 u32 u64);
operator!(BitXor bitxor, BitXorAssign bitxor_assign, Bits: BitXor, "Bits in one alone; exclusive or of bool.",
    scalars bool i8 i16 i32 i64 u8 u16 u32 u64);
operator!(Shl shl, ShlAssign shl_assign, Integer: Shl, "Bits shifted left; 0 where the count is the width or more.",
    scalars i8 i16 i32 i64 u8 u16 u32 u64);
operator!(Shr shr, ShrAssign shr_assign, Integer: Shr, "Bits shifted right; the sign is kept, also past the width.",
    scalars i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! prefix {
    ($trait:ident $method:ident, $bound:ident: $about:literal) => {
        impl<T: $bound> $trait for Array<T> {
            type Output = Array<T>;
            #[doc = $about]
            #[track_caller]
            fn $method(self) -> Array<T> {
                self.unary(UnaryOp::$trait, Location::caller())
            }
        }

        impl<T: $bound> $trait for &Array<T> {
            type Output = Array<T>;
            #[doc = $about]
            #[track_caller]
            fn $method(self) -> Array<T> {
                self.unary(UnaryOp::$trait, Location::caller())
            }
        }
    };
}

prefix!(Neg neg, Signed: "Negatives; the least integer stays as it is.");
prefix!(Not not, Bits: "All bits the other way; logical not of bool.");
