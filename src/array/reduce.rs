//! Reductions: over all axes, over one, over several, and with the reduced axes kept at extent 1.
//!
//! Result types widen as in NumPy, by casts recorded before the fold: sums of small integers and bool are i64 or u64, means
//! of integers f64; f16 and bf16 are folded in f32 and rounded once at the end.

use std::panic::Location;

use lazuli_codegen::{BinaryOp, DType, ReduceOp, Scalar};

use super::Array;
use super::views::axes_of;
use crate::dtype::{Element, Number};
use crate::error::Place;
use crate::graph::op::{AxisMap, View};
use crate::graph::record;
use crate::shape::Shape;

/// How one reduction folds.
#[derive(Clone, Copy)]
struct Fold {
    op: ReduceOp,
    name: &'static str,
    /// The type folded in.
    accumulator: DType,
    /// Divide by the count at the end.
    mean: bool,
}

impl Fold {
    const fn new(op: ReduceOp, name: &'static str, accumulator: DType) -> Fold {
        Fold { op, name, accumulator, mean: false }
    }
}

macro_rules! reductions {
    (
        $(
            [$($generics:tt)*] $type:ty => $result:ty, $fold:expr =>
            $whole:ident $axis:ident $axes:ident $axes_keep:ident, $about:literal;
        )+
    ) => {
        $(
            impl<$($generics)*> $type {
                #[doc = $about]
                ///
                /// Over all axes; the result has none.
                #[track_caller]
                pub fn $whole(&self) -> Array<$result> {
                    self.fold($fold, None, false, Location::caller())
                }

                #[doc = $about]
                ///
                /// Over one axis, which is removed. Negative axes count from the end.
                ///
                /// Errors, kept until a value is asked for: `InvalidAxis`.
                #[track_caller]
                pub fn $axis(&self, axis: isize) -> Array<$result> {
                    self.fold($fold, Some(&[axis]), false, Location::caller())
                }

                #[doc = $about]
                ///
                /// Over several axes, which are removed; over none, every element is a result of its own. Negative axes
                /// count from the end.
                ///
                /// Errors, kept until a value is asked for: `InvalidAxis`, also for an axis given twice.
                #[track_caller]
                pub fn $axes(&self, axes: &[isize]) -> Array<$result> {
                    self.fold($fold, Some(axes), false, Location::caller())
                }

                #[doc = $about]
                ///
                /// Over several axes, which stay with extent 1, so that the result broadcasts against the array.
                ///
                /// Errors, kept until a value is asked for: `InvalidAxis`, also for an axis given twice.
                #[track_caller]
                pub fn $axes_keep(&self, axes: &[isize]) -> Array<$result> {
                    self.fold($fold, Some(axes), true, Location::caller())
                }
            }
        )+
    };
}

reductions! {
    [T: Element] Array<T> => T::Sum, Fold::new(ReduceOp::Sum, "sum", accumulator(T::Sum::DTYPE)) =>
        sum sum_axis sum_axes sum_axes_keep, "Sums, by a tree. The sum of nothing is 0.";
    [T: Element] Array<T> => T::Sum, Fold::new(ReduceOp::Prod, "prod", accumulator(T::Sum::DTYPE)) =>
        prod prod_axis prod_axes prod_axes_keep, "Products. The product of nothing is 1.";
    [T: Element] Array<T> => T::Mean, Fold { mean: true, ..Fold::new(ReduceOp::Sum, "mean", accumulator(T::Mean::DTYPE)) } =>
        mean mean_axis mean_axes mean_axes_keep, "Means: the sum divided by the count. The mean of nothing is NaN.";
    [T: Number] Array<T> => T, Fold::new(ReduceOp::Min, "min", T::DTYPE) =>
        min min_axis min_axes min_axes_keep, "The least elements; NaN where one is NaN. The least of nothing is an error.";
    [T: Number] Array<T> => T, Fold::new(ReduceOp::Max, "max", T::DTYPE) =>
        max max_axis max_axes max_axes_keep, "The greatest elements; NaN where one is NaN. The greatest of nothing is an error.";
    [] Array<bool> => bool, Fold::new(ReduceOp::Any, "any", DType::Bool) =>
        any any_axis any_axes any_axes_keep, "True where any element is. Of nothing, false.";
    [] Array<bool> => bool, Fold::new(ReduceOp::All, "all", DType::Bool) =>
        all all_axis all_axes all_axes_keep, "True where all elements are. Of nothing, true.";
}

impl<T: Element> Array<T> {
    fn fold<U: Element>(&self, fold: Fold, axes: Option<&[isize]>, keep: bool, at: Place) -> Array<U> {
        if self.is_failed() {
            return self.derive(self.node.clone());
        }
        let shape = self.shape();
        let reduced = match axes {
            None => smallvec::SmallVec::from_elem(true, shape.len()),
            Some(axes) => match axes_of(fold.name, axes, shape, at) {
                Ok(reduced) => reduced,
                Err(error) => return self.fail(error, at),
            },
        };
        let kept = keep.then(|| unreduced(shape, &reduced));
        let folded = shape.iter().zip(&reduced).filter(|(_, reduced)| **reduced);
        let count = folded.fold(1.0, |count, (&extent, _)| count * extent as f64);

        let widened = record::cast(&self.node, fold.accumulator, at);
        let mut node = record::reduce(fold.op, &widened, reduced, at);
        if fold.mean {
            node = record::binary(BinaryOp::Div, &node, &record::scalar(float(fold.accumulator, count), at), at);
        }
        node = record::cast(&node, U::DTYPE, at);
        if let Some((view, result)) = kept {
            node = record::view(&node, view, result, at);
        }
        self.derive(node)
    }
}

/// The type to fold in for a result type.
const fn accumulator(result: DType) -> DType {
    match result {
        DType::F16 | DType::BF16 => DType::F32,
        other => other,
    }
}

/// The view that gives the reduced axes back, with extent 1.
fn unreduced(shape: &[usize], reduced: &[bool]) -> (View, Shape) {
    let axes = (0..shape.len()).filter(|axis| !reduced[*axis]).map(|axis| AxisMap::whole(axis as u32)).collect();
    let result = shape.iter().zip(reduced).map(|(&extent, &reduced)| if reduced { 1 } else { extent }).collect();
    (View { axes }, result)
}

/// A number as a scalar of f32 or f64, the types that means are taken in.
fn float(dtype: DType, value: f64) -> Scalar {
    match dtype {
        DType::F32 => (value as f32).to_scalar(),
        _ => value.to_scalar(),
    }
}
