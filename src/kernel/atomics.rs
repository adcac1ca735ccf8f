//! Changes of an element that no other thread comes between.

use lazuli_codegen::simt::function::PointsTo;
use lazuli_codegen::simt::ir::{AtomicOp, Expr, Stmt};

use super::builder;
use super::memory::ElementMut;
use super::scalar::{AtomicInteger, AtomicNumber, KernelScalar};
use super::value::Value;

fn atomic<T: KernelScalar>(
    op: AtomicOp,
    element: ElementMut<T>,
    value: Value<T>,
    expected: Option<Value<T>>,
) -> Value<T> {
    if element.place == PointsTo::Thread {
        builder::fail(|| "an atomic on an array of the thread, which no other thread can reach".into());
    }
    let before = builder::variable("before", T::DTYPE);
    let (element, value, expected) = (element.into_element(), value.into_expr(), expected.map(Value::into_expr));
    builder::push(Stmt::Atomic { before: Some(before), op, element, value, expected });
    Value::of(Expr::Var(before))
}

macro_rules! atomics {
    ($($(#[$meta:meta])* $name:ident: $bound:ident => $op:ident;)+) => { $(
        $(#[$meta])*
        ///
        /// Gives what the element held before. The order among threads is any; nothing else is ordered by it.
        pub fn $name<T: $bound>(element: ElementMut<T>, value: Value<T>) -> Value<T> {
            atomic(AtomicOp::$op, element, value, None)
        }
    )+ };
}

atomics! {
    /// `atomic_add(&mut x[i], value)`: adds. Integers wrap; the sum of floats depends on the order.
    atomic_add: AtomicNumber => Add;
    /// `atomic_sub(&mut x[i], value)`: subtracts, wrapping.
    atomic_sub: AtomicInteger => Sub;
    /// `atomic_min(&mut x[i], value)`: leaves the smaller of both; NaN where one is.
    atomic_min: AtomicNumber => Min;
    /// `atomic_max(&mut x[i], value)`: leaves the greater of both; NaN where one is.
    atomic_max: AtomicNumber => Max;
    /// `atomic_and(&mut x[i], value)`: leaves the bits that both have.
    atomic_and: AtomicInteger => And;
    /// `atomic_or(&mut x[i], value)`: leaves the bits that either has.
    atomic_or: AtomicInteger => Or;
    /// `atomic_xor(&mut x[i], value)`: leaves the bits that one has and the other has not.
    atomic_xor: AtomicInteger => Xor;
    /// `atomic_exchange(&mut x[i], value)`: writes.
    atomic_exchange: AtomicNumber => Exchange;
}

/// `atomic_compare_exchange(&mut x[i], expected, value)`: writes where the element holds what is expected.
///
/// Gives what the element held before, which is `expected` where it was written.
pub fn atomic_compare_exchange<T: AtomicInteger>(
    element: ElementMut<T>,
    expected: Value<T>,
    value: Value<T>,
) -> Value<T> {
    atomic(AtomicOp::CompareExchange, element, value, Some(expected))
}
