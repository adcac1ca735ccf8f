//! What the operators of a kernel become. Each takes two values of one type, so that rustc tells a mixture at the operator.

use lazuli_codegen::simt::ir::Expr;
use lazuli_codegen::{BinaryOp, UnaryOp};

use super::builder::whole;
use super::fold::{fold, fold_cast};
use super::scalar::{FloatBits, KernelBits, KernelInteger, KernelNumber, KernelScalar, KernelSigned, integer, width};
use super::value::Value;

pub(super) fn unary<T: KernelScalar, R: KernelScalar>(op: UnaryOp, a: Value<T>) -> Value<R> {
    Value::of(Expr::Unary(op, Box::new(a.into_expr())))
}

pub(super) fn binary<T: KernelScalar, R: KernelScalar>(op: BinaryOp, a: Value<T>, b: Value<T>) -> Value<R> {
    let (a, b) = (a.into_expr(), b.into_expr());
    Value::of(fold(op, &a, &b).unwrap_or_else(|| Expr::Binary(op, Box::new(a), Box::new(b))))
}

macro_rules! operators {
    ($($name:ident: $bound:ident => $op:ident $result:ty;)+) => { $(
        #[doc(hidden)]
        pub fn $name<T: $bound>(a: Value<T>, b: Value<T>) -> Value<$result> {
            binary(BinaryOp::$op, a, b)
        }
    )+ };
}

operators! {
    add: KernelNumber => Add T;
    sub: KernelNumber => Sub T;
    mul: KernelNumber => Mul T;
    div: KernelNumber => Div T;
    rem: KernelNumber => Rem T;
    bit_and: KernelBits => BitAnd T;
    bit_or: KernelBits => BitOr T;
    bit_xor: KernelBits => BitXor T;
    eq: KernelScalar => Eq bool;
    ne: KernelScalar => Ne bool;
    lt: KernelScalar => Lt bool;
    le: KernelScalar => Le bool;
    gt: KernelScalar => Gt bool;
    ge: KernelScalar => Ge bool;
}

#[doc(hidden)]
pub fn neg<T: KernelSigned>(a: Value<T>) -> Value<T> {
    unary(UnaryOp::Neg, a)
}

#[doc(hidden)]
pub fn not<T: KernelBits>(a: Value<T>) -> Value<T> {
    unary(UnaryOp::Not, a)
}

/// `a << count` by a count of any integer type.
#[doc(hidden)]
pub fn shl<T: KernelInteger, C: KernelInteger>(a: Value<T>, count: Value<C>) -> Value<T> {
    binary(BinaryOp::Shl, a, shift_count(count))
}

/// `a >> count` by a count of any integer type.
#[doc(hidden)]
pub fn shr<T: KernelInteger, C: KernelInteger>(a: Value<T>, count: Value<C>) -> Value<T> {
    binary(BinaryOp::Shr, a, shift_count(count))
}

/// The count of a shift in the type of what is shifted. One that shifts everything out still does so.
fn shift_count<T: KernelInteger, C: KernelInteger>(count: Value<C>) -> Value<T> {
    let bits = i128::from(width(T::DTYPE));
    if let Some(known) = count.constant().and_then(integer) {
        let known = if (0..bits).contains(&known) { known } else { bits };
        return Value::of(whole(T::DTYPE, known));
    }
    if C::DTYPE == T::DTYPE {
        return Value::of(count.into_expr());
    }
    // As u64 a negative count is a great one. 64 shifts everything out, and every type holds it.
    let least = Value::<u64>::of(whole(u64::DTYPE, 64));
    let clamped: Value<u64> = binary(BinaryOp::Minimum, cast::<u64, C>(count), least);
    Value::of(Expr::Cast(T::DTYPE, Box::new(clamped.into_expr())))
}

/// `a as U`.
#[doc(hidden)]
pub fn cast<U: KernelNumber, T: KernelScalar>(a: Value<T>) -> Value<U> {
    Value::of(convert(U::DTYPE, T::DTYPE, a.into_expr()))
}

pub(super) fn convert(to: lazuli_codegen::DType, from: lazuli_codegen::DType, a: Expr) -> Expr {
    match fold_cast(to, &a) {
        _ if to == from => a,
        Some(constant) => constant,
        None => Expr::Cast(to, Box::new(a)),
    }
}

/// `U::from(a)`, where Rust has it.
#[doc(hidden)]
pub fn from<U: KernelNumber + From<T>, T: KernelScalar>(a: Value<T>) -> Value<U> {
    cast(a)
}

/// A value whose type is known: the receiver of `f32::max(a, b)`.
#[doc(hidden)]
pub fn typed<T: KernelScalar>(a: Value<T>) -> Value<T> {
    a
}

/// `F::from_bits(a)`.
#[doc(hidden)]
pub fn from_bits<F: FloatBits>(a: Value<F::Bits>) -> Value<F> {
    Value::of(Expr::Bits(F::DTYPE, Box::new(a.into_expr())))
}

/// `if condition { a } else { b }` of values that need no statements.
pub(super) fn choose<T: KernelScalar>(condition: Value<bool>, a: Value<T>, b: Value<T>) -> Value<T> {
    Value::of(Expr::Choose(Box::new([condition.into_expr(), a.into_expr(), b.into_expr()])))
}

/// A constant of a float type.
pub(super) fn float<T: crate::dtype::Float>(value: f64) -> Value<T> {
    super::value::lit(T::from_f64(value))
}
