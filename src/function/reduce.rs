//! Folds by a function of the user's.

use std::panic::Location;

use lazuli_codegen::{Combiner, ReduceOp};

use super::definition::CombineFunction;
use crate::array::Array;
use crate::dtype::Element;
use crate::error::Place;

impl<T: Element> Array<T> {
    /// Folds all elements by a function of two elements, from `identity`, which leaves every element as it is. Of nothing,
    /// `identity`.
    ///
    /// The function must be associative and commutative; a tree, the same at every run, decides what meets what. The fold fuses
    /// with what it reads and with what is made of it, as a sum does. f16 and bf16 are folded in their own type.
    ///
    /// ```
    /// use lazuli::prelude::*;
    ///
    /// #[lazuli::device]
    /// fn longer(a: f32, b: f32) -> f32 {
    ///     if a.abs() > b.abs() { a } else { b }
    /// }
    ///
    /// let x = Device::host()?.from_slice(&[1.0f32, -7.0, 3.0])?;
    /// assert_eq!(x.reduce(longer::Function, 0.0).item()?, -7.0);
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[track_caller]
    pub fn reduce(&self, combine: impl CombineFunction<T>, identity: T) -> Array<T> {
        self.reduce_by(&combine, identity, None, false, Location::caller())
    }

    /// [`reduce`](Array::reduce) along one axis, which is removed. Negative axes count from the end.
    ///
    /// Errors, kept until a value is asked for: `InvalidAxis`.
    #[track_caller]
    pub fn reduce_axis(&self, combine: impl CombineFunction<T>, identity: T, axis: isize) -> Array<T> {
        self.reduce_by(&combine, identity, Some(&[axis]), false, Location::caller())
    }

    /// [`reduce`](Array::reduce) along several axes, which are removed.
    ///
    /// Errors, kept until a value is asked for: `InvalidAxis`, also for an axis given twice.
    #[track_caller]
    pub fn reduce_axes(&self, combine: impl CombineFunction<T>, identity: T, axes: &[isize]) -> Array<T> {
        self.reduce_by(&combine, identity, Some(axes), false, Location::caller())
    }

    /// [`reduce`](Array::reduce) along several axes, which stay with extent 1, so that the result broadcasts against the array.
    ///
    /// Errors, kept until a value is asked for: `InvalidAxis`, also for an axis given twice.
    #[track_caller]
    pub fn reduce_axes_keep(&self, combine: impl CombineFunction<T>, identity: T, axes: &[isize]) -> Array<T> {
        self.reduce_by(&combine, identity, Some(axes), true, Location::caller())
    }

    fn reduce_by(
        &self,
        combine: &impl CombineFunction<T>,
        identity: T,
        axes: Option<&[isize]>,
        keep: bool,
        at: Place,
    ) -> Array<T> {
        match combine.function() {
            Ok(function) => {
                let op = ReduceOp::Custom(Combiner { function, identity: identity.to_scalar() });
                self.fold_custom(op, axes, keep, at)
            }
            Err(error) => self.fail(error, at),
        }
    }
}
