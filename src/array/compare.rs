//! Comparisons, choices and conversions between element types.

use std::panic::Location;

use lazuli_codegen::BinaryOp;

use super::{Array, Operand};
use crate::dtype::Element;
use crate::graph::record;

macro_rules! comparisons {
    ($($name:ident $op:ident $alias:literal: $about:literal;)+) => {
        impl<T: Element> Array<T> {
            $(
                #[doc = $about]
                ///
                /// Shapes broadcast.
                #[doc(alias = $alias)]
                #[track_caller]
                pub fn $name(&self, rhs: impl Operand<T>) -> Array<bool> {
                    self.binary(BinaryOp::$op, rhs, Location::caller())
                }
            )+
        }
    };
}

comparisons! {
    eq Eq "equal": "True where equal; NaN equals nothing.";
    ne Ne "not_equal": "True where different; NaN differs from everything.";
    lt Lt "less": "True where less; false at NaN.";
    le Le "less_equal": "True where less or equal; false at NaN.";
    gt Gt "greater": "True where greater; false at NaN.";
    ge Ge "greater_equal": "True where greater or equal; false at NaN.";
}

impl<T: Element> Array<T> {
    /// The elements as another type, as Rust's `as` converts: floats to integers saturate, and NaN gives 0; integers to
    /// narrower ones wrap; to bool, everything but 0 is true; floats round to the nearest, ties to even.
    ///
    /// ```
    /// use lazuli::prelude::*;
    ///
    /// let x = Device::host()?.from_slice(&[-1.5f32, 300.0, f32::NAN])?;
    /// assert_eq!(x.cast::<u8>().get()?.as_slice().unwrap(), [0, 255, 0]);
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[doc(alias = "astype")]
    #[track_caller]
    pub fn cast<U: Element>(&self) -> Array<U> {
        self.derive(record::cast(&self.node, U::DTYPE, Location::caller()))
    }
}

impl Array<bool> {
    /// `on_true` where the condition holds, else `on_false`. The three broadcast together.
    ///
    /// ```
    /// use lazuli::prelude::*;
    ///
    /// let x = Device::host()?.from_slice(&[-1.0f32, 2.0])?;
    /// assert_eq!(x.gt(0.0).select(&x, 0.0).get()?.as_slice().unwrap(), [0.0, 2.0]);
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[doc(alias = "where")]
    #[track_caller]
    pub fn select<T: Element>(&self, on_true: impl Operand<T>, on_false: impl Operand<T>) -> Array<T> {
        let at = Location::caller();
        let mismatch =
            self.device_mismatch("select", &on_true, at).or_else(|| self.device_mismatch("select", &on_false, at));
        match mismatch {
            Some(error) => self.fail(error, at),
            None => self.derive(record::select(&self.node, &on_true.node(at), &on_false.node(at), at)),
        }
    }
}
