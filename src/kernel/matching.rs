//! What `match` becomes beside `if`.

use super::scalar::Matched;
use super::value::Value;

/// Has rustc look at the arms of a `match`, as it looks at those of any: whether they cover every value, and whether each can
/// be reached. The function is never called.
#[doc(hidden)]
pub fn cover<V: Scrutinee>(_: &V, _: fn(V::Of)) {}

/// What a `match` chooses by.
#[doc(hidden)]
#[diagnostic::on_unimplemented(message = "`match` in a kernel chooses by an integer, a bool, or a tuple of these")]
pub trait Scrutinee {
    type Of;
}

impl<T: Matched> Scrutinee for Value<T> {
    type Of = T;
}

macro_rules! tuples {
    ($(($($name:ident),+))+) => { $(
        impl<$($name: Scrutinee),+> Scrutinee for ($($name,)+) {
            type Of = ($($name::Of,)+);
        }
    )+ };
}

tuples! { (A) (A, B) (A, B, C) (A, B, C, D) }

/// Stands for a guard in what rustc looks at: true of some values, maybe.
#[doc(hidden)]
pub fn sometimes() -> bool {
    false
}
