//! Reductions: over all axes, over one, over several, and with the reduced axes kept at extent 1.
//!
//! Result types widen as in NumPy, by casts recorded before the fold: sums of small integers and bool are i64 or u64, means
//! of integers f64; f16 and bf16 are folded in f32 and rounded once at the end.

use std::panic::Location;
use std::sync::Arc;

use lazuli_codegen::{BinaryOp, DType, ReduceOp, UnaryOp};

use super::Array;
use super::views::axes_of;
use crate::dtype::{Element, Number};
use crate::error::{Error, Place};
use crate::graph::op::{AxisMap, AxisMask, View};
use crate::graph::{Node, record};
use crate::shape::Shape;

/// How one reduction folds.
#[derive(Clone, Copy)]
struct Fold {
    op: ReduceOp,
    name: &'static str,
    /// The type folded in.
    accumulator: DType,
    /// What is done before and after.
    around: Around,
}

/// What a reduction does beside folding.
#[derive(Clone, Copy, PartialEq)]
enum Around {
    Nothing,
    /// Divides by the count at the end.
    Mean,
    /// Folds whether elements are true or not 0, as 1 and 0.
    Count,
}

impl Fold {
    const fn new(op: ReduceOp, name: &'static str, accumulator: DType) -> Fold {
        Fold { op, name, accumulator, around: Around::Nothing }
    }

    const fn around(self, around: Around) -> Fold {
        Fold { around, ..self }
    }
}

macro_rules! reductions {
    (
        $(
            [$($generics:tt)*] $type:ty => $result:ty, $fold:expr =>
            $whole:ident $axis:ident $axes:ident $axes_keep:ident $(alias $alias:literal)?, $about:literal;
        )+
    ) => {
        $(
            impl<$($generics)*> $type {
                #[doc = $about]
                ///
                /// Over all axes; the result has none.
                $(#[doc(alias = $alias)])?
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
                #[doc(alias = "keepdims")]
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
        prod prod_axis prod_axes prod_axes_keep alias "product", "Products. The product of nothing is 1.";
    [T: Element] Array<T> => T::Mean, Fold::new(ReduceOp::Sum, "mean", accumulator(T::Mean::DTYPE)).around(Around::Mean) =>
        mean mean_axis mean_axes mean_axes_keep alias "average", "Means: the sum divided by the count. The mean of nothing is NaN.";
    [T: Element] Array<T> => i64, Fold::new(ReduceOp::Sum, "count_nonzero", DType::I64).around(Around::Count) =>
        count_nonzero count_nonzero_axis count_nonzero_axes count_nonzero_axes_keep,
        "How many elements are true, or not 0; NaN is not 0. Of nothing, 0.";
    [T: Number] Array<T> => T, Fold::new(ReduceOp::Min, "min", T::DTYPE) =>
        min min_axis min_axes min_axes_keep alias "amin", "The least elements; NaN where one is NaN. The least of nothing is an error.";
    [T: Number] Array<T> => T, Fold::new(ReduceOp::Max, "max", T::DTYPE) =>
        max max_axis max_axes max_axes_keep alias "amax", "The greatest elements; NaN where one is NaN. The greatest of nothing is an error.";
    [] Array<bool> => bool, Fold::new(ReduceOp::Any, "any", DType::Bool) =>
        any any_axis any_axes any_axes_keep, "True where any element is. Of nothing, false.";
    [] Array<bool> => bool, Fold::new(ReduceOp::All, "all", DType::Bool) =>
        all all_axis all_axes all_axes_keep, "True where all elements are. Of nothing, true.";
}

/// Some axes of an array, to be folded away, perhaps several times over.
pub(super) struct Over {
    reduced: AxisMask,
    shape: Shape,
    pub at: Place,
}

impl Over {
    /// Elements folded into one.
    pub fn count(&self) -> f64 {
        let folded = self.shape.iter().zip(&self.reduced).filter(|(_, reduced)| **reduced);
        folded.fold(1.0, |count, (&extent, _)| count * extent as f64)
    }

    /// The array's shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Folds the axes of a node of the array's shape away.
    pub fn fold(&self, op: ReduceOp, x: &Arc<Node>) -> Arc<Node> {
        record::reduce(op, x, self.reduced.clone(), self.at)
    }

    /// What was folded, with the axes given back at extent 1, so that it broadcasts against the array.
    pub fn stretch(&self, folded: &Arc<Node>) -> Arc<Node> {
        let axes = (0..self.shape.len()).filter(|axis| !self.reduced[*axis]);
        let view = View { axes: axes.map(|axis| AxisMap::whole(axis as u32)).collect() };
        let extent = |(&extent, &reduced): (&usize, &bool)| if reduced { 1 } else { extent };
        record::view(folded, view, self.shape.iter().zip(&self.reduced).map(extent).collect(), self.at)
    }

    pub fn binary(&self, op: BinaryOp, a: &Arc<Node>, b: &Arc<Node>) -> Arc<Node> {
        record::binary(op, a, b, self.at)
    }

    pub fn unary(&self, op: UnaryOp, x: &Arc<Node>) -> Arc<Node> {
        record::unary(op, x, self.at)
    }

    /// A number as a constant of f32 or f64, the types that means are taken in.
    pub fn float(&self, dtype: DType, value: f64) -> Arc<Node> {
        let scalar = if dtype == DType::F32 { (value as f32).to_scalar() } else { value.to_scalar() };
        record::scalar(scalar, self.at)
    }

    /// The error of folding no elements by something that has no value for them; `None` where there are some.
    pub fn nothing_folded(&self, op: &'static str) -> Option<Error> {
        let is_kept = |(_, reduced): &(&usize, &bool)| !**reduced;
        let has_results = !self.shape.iter().zip(&self.reduced).filter(is_kept).any(|(extent, _)| *extent == 0);
        (has_results && self.count() == 0.0).then(|| {
            let what = format!("no elements to fold, and the {op} of nothing has no value");
            Error::InvalidArgument { op, what, shape: self.shape.to_vec(), at: self.at }
        })
    }
}

impl<T: Element> Array<T> {
    fn fold<U: Element>(&self, fold: Fold, axes: Option<&[isize]>, keep: bool, at: Place) -> Array<U> {
        self.fold_by(fold.name, axes, keep, at, |over| {
            let counted = match fold.around {
                Around::Count => record::cast(&self.node, DType::Bool, at),
                Around::Nothing | Around::Mean => self.node.clone(),
            };
            let folded = over.fold(fold.op, &record::cast(&counted, fold.accumulator, at));
            match fold.around {
                Around::Mean => over.binary(BinaryOp::Div, &folded, &over.float(fold.accumulator, over.count())),
                Around::Nothing | Around::Count => folded,
            }
        })
    }

    /// A fold by a function of the user's.
    pub(crate) fn fold_custom(&self, op: ReduceOp, axes: Option<&[isize]>, keep: bool, at: Place) -> Array<T> {
        self.fold(Fold::new(op, op.name(), T::DTYPE), axes, keep, at)
    }

    /// What `record` makes of this array over all axes or some of them: a node without those axes, of any type that converts to
    /// the result's. `keep` gives them back at extent 1.
    pub(super) fn fold_by<U: Element>(
        &self,
        op: &'static str,
        axes: Option<&[isize]>,
        keep: bool,
        at: Place,
        record: impl FnOnce(&Over) -> Arc<Node>,
    ) -> Array<U> {
        match self.over(op, axes, at) {
            Ok(over) => {
                let folded = record::cast(&record(&over), U::DTYPE, at);
                self.derive(if keep { over.stretch(&folded) } else { folded })
            }
            Err(node) => self.derive(node),
        }
    }

    /// What `record` makes of this array along an axis: a node of its shape, of any type that converts to its own.
    pub(super) fn map_over(
        &self,
        op: &'static str,
        axis: isize,
        at: Place,
        record: impl FnOnce(&Over) -> Arc<Node>,
    ) -> Array<T> {
        match self.over(op, Some(&[axis]), at) {
            Ok(over) => self.derive(record::cast(&record(&over), T::DTYPE, at)),
            Err(node) => self.derive(node),
        }
    }

    /// The axes meant, or the node that carries the error.
    fn over(&self, op: &'static str, axes: Option<&[isize]>, at: Place) -> Result<Over, Arc<Node>> {
        if self.is_failed() {
            return Err(self.node.clone());
        }
        let shape = Shape::from_slice(self.shape());
        let reduced = match axes {
            None => Ok(AxisMask::from_elem(true, shape.len())),
            Some(axes) => axes_of(op, axes, &shape, at),
        };
        match reduced {
            Ok(reduced) => Ok(Over { reduced, shape, at }),
            Err(error) => Err(record::failed(error, T::DTYPE, at)),
        }
    }
}

/// The type to fold in for a result type.
pub(super) const fn accumulator(result: DType) -> DType {
    match result {
        DType::F16 | DType::BF16 => DType::F32,
        other => other,
    }
}
