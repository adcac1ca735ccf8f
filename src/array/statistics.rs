//! Variance, norms, and the exponential forms that go with probabilities: compositions of reductions, each one kernel where
//! a group of the device can hold a row.
//!
//! Halves are computed in f32 and rounded once at the end, integers in f64.

use std::panic::Location;
use std::sync::Arc;

use lazuli_codegen::{BinaryOp, ReduceOp, UnaryOp};

use super::Array;
use super::reduce::{Over, accumulator};
use crate::dtype::{Element, Float};
use crate::error::Place;
use crate::graph::{Node, record};

/// How the length of a vector is measured.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Norm {
    /// The sum of the absolute values.
    L1,
    /// The square root of the sum of the squares: the Euclidean length.
    L2,
    /// The greatest absolute value.
    Max,
}

macro_rules! statistics {
    (
        $(
            [$bound:ident] => $result:ty, $whole:ident $axis:ident $axes:ident $axes_keep:ident
            ($($argument:ident: $type:ty)?), $about:literal, $record:expr;
        )+
    ) => {
        $(
            impl<T: $bound> Array<T> {
                #[doc = $about]
                ///
                /// Over all axes; the result has none.
                #[track_caller]
                pub fn $whole(&self $(, $argument: $type)?) -> Array<$result> {
                    ($record)(self, None, false, Location::caller() $(, $argument)?)
                }

                #[doc = $about]
                ///
                /// Over one axis, which is removed. Negative axes count from the end.
                ///
                /// Errors, kept until a value is asked for: `InvalidAxis`.
                #[track_caller]
                pub fn $axis(&self, axis: isize $(, $argument: $type)?) -> Array<$result> {
                    ($record)(self, Some(&[axis]), false, Location::caller() $(, $argument)?)
                }

                #[doc = $about]
                ///
                /// Over several axes, which are removed; over none, every element is a result of its own. Negative axes
                /// count from the end.
                ///
                /// Errors, kept until a value is asked for: `InvalidAxis`, also for an axis given twice.
                #[track_caller]
                pub fn $axes(&self, axes: &[isize] $(, $argument: $type)?) -> Array<$result> {
                    ($record)(self, Some(axes), false, Location::caller() $(, $argument)?)
                }

                #[doc = $about]
                ///
                /// Over several axes, which stay with extent 1, so that the result broadcasts against the array.
                ///
                /// Errors, kept until a value is asked for: `InvalidAxis`, also for an axis given twice.
                #[track_caller]
                pub fn $axes_keep(&self, axes: &[isize] $(, $argument: $type)?) -> Array<$result> {
                    ($record)(self, Some(axes), true, Location::caller() $(, $argument)?)
                }
            }
        )+
    };
}

/// The axes as they were given: all where there are none.
type Axes<'a> = Option<&'a [isize]>;

statistics! {
    [Element] => T::Mean, var var_axis var_axes var_axes_keep (ddof: usize),
        "Variances: the sum of the squared distances from the mean, divided by the count less `ddof` (0 for the variance of the \
         elements themselves, 1 for an estimate from a sample). As in NumPy that is infinity or NaN where `ddof` is not less \
         than the count, and NaN of nothing. The mean is taken first, so that nothing cancels.",
        |x: &Self, axes: Axes, keep, at, ddof| x.fold_by("var", axes, keep, at, |over| variance::<T>(over, &x.node, ddof));
    [Element] => T::Mean, std std_axis std_axes std_axes_keep (ddof: usize),
        "Standard deviations: the square roots of the variances, divided by the count less `ddof`.",
        |x: &Self, axes: Axes, keep, at, ddof| {
            x.fold_by("std", axes, keep, at, |over| over.unary(UnaryOp::Sqrt, &variance::<T>(over, &x.node, ddof)))
        };
    [Element] => T::Mean, norm norm_axis norm_axes norm_axes_keep (kind: Norm),
        "Norms: the lengths of vectors, by the measure named. Of nothing 0, but for [`Norm::Max`], which is then an error. \
         Squares are taken as they are: where they overflow, so does the norm.",
        |x: &Self, axes: Axes, keep, at, kind| x.fold_by("norm", axes, keep, at, |over| norm::<T>(over, &x.node, kind));
    [Float] => T, logsumexp logsumexp_axis logsumexp_axes logsumexp_axes_keep (),
        "The logarithms of the sums of the exponentials, without overflow: the greatest element is taken out first. Of nothing \
         an error.",
        |x: &Self, axes: Axes, keep, at| x.fold_by("logsumexp", axes, keep, at, |over| log_sum_exp::<T>(over, &x.node));
}

impl<T: Float> Array<T> {
    /// The exponentials along an axis, divided by their sum: probabilities that sum to 1. The greatest element is subtracted
    /// first, so that nothing overflows. A row with a NaN or +infinity in it, or of -infinity throughout, is NaN throughout.
    ///
    /// Errors, kept until a value is asked for: `InvalidAxis`.
    ///
    /// ```
    /// use lazuli::prelude::*;
    ///
    /// let x = Device::host()?.from_slice(&[1000.0f32, 1000.0, -1000.0])?;
    /// assert_eq!(x.softmax(0).get()?.as_slice().unwrap(), [0.5, 0.5, 0.0]);
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[track_caller]
    pub fn softmax(&self, axis: isize) -> Array<T> {
        self.along("softmax", axis, Location::caller(), |over, x| {
            let highest = over.stretch(&over.fold(ReduceOp::Max, x));
            let e = over.unary(UnaryOp::Exp, &over.binary(BinaryOp::Sub, x, &highest));
            over.binary(BinaryOp::Div, &e, &over.stretch(&over.fold(ReduceOp::Sum, &e)))
        })
    }

    /// The logarithms of [`softmax`](Array::softmax), exact also where that rounds to 0.
    ///
    /// Errors, kept until a value is asked for: `InvalidAxis`.
    #[track_caller]
    pub fn log_softmax(&self, axis: isize) -> Array<T> {
        self.along("log_softmax", axis, Location::caller(), |over, x| {
            let highest = over.stretch(&over.fold(ReduceOp::Max, x));
            let z = over.binary(BinaryOp::Sub, x, &highest);
            let sum = over.fold(ReduceOp::Sum, &over.unary(UnaryOp::Exp, &z));
            over.binary(BinaryOp::Sub, &z, &over.stretch(&over.unary(UnaryOp::Log, &sum)))
        })
    }

    /// What `record` makes of the widened elements along an axis, of the array's own shape.
    fn along(
        &self,
        op: &'static str,
        axis: isize,
        at: Place,
        record: impl FnOnce(&Over, &Arc<Node>) -> Arc<Node>,
    ) -> Array<T> {
        self.map_over(op, axis, at, |over| match self.is_empty() {
            true => self.node.clone(),
            false => record(over, &record::cast(&self.node, accumulator(T::DTYPE), at)),
        })
    }
}

fn variance<T: Element>(over: &Over, x: &Arc<Node>, ddof: usize) -> Arc<Node> {
    let wide = accumulator(T::Mean::DTYPE);
    let x = record::cast(x, wide, over.at);
    let count = over.count();
    let mean = over.binary(BinaryOp::Div, &over.fold(ReduceOp::Sum, &x), &over.float(wide, count));
    let distance = over.binary(BinaryOp::Sub, &x, &over.stretch(&mean));
    let squares = over.fold(ReduceOp::Sum, &over.binary(BinaryOp::Mul, &distance, &distance));
    // The mean is rounded, so that the distances do not quite sum to 0: what that adds to each square is taken out again.
    let rest = over.fold(ReduceOp::Sum, &distance);
    let excess = over.binary(BinaryOp::Mul, &rest, &over.binary(BinaryOp::Div, &rest, &over.float(wide, count)));
    let squares =
        over.binary(BinaryOp::Maximum, &over.binary(BinaryOp::Sub, &squares, &excess), &over.float(wide, 0.0));
    over.binary(BinaryOp::Div, &squares, &over.float(wide, (count - ddof as f64).max(0.0)))
}

fn norm<T: Element>(over: &Over, x: &Arc<Node>, kind: Norm) -> Arc<Node> {
    let wide = accumulator(T::Mean::DTYPE);
    let x = record::cast(x, wide, over.at);
    match kind {
        Norm::L1 => over.fold(ReduceOp::Sum, &over.unary(UnaryOp::Abs, &x)),
        Norm::L2 => over.unary(UnaryOp::Sqrt, &over.fold(ReduceOp::Sum, &over.binary(BinaryOp::Mul, &x, &x))),
        Norm::Max => match over.nothing_folded("norm") {
            Some(error) => record::failed(error, wide, over.at),
            None => over.fold(ReduceOp::Max, &over.unary(UnaryOp::Abs, &x)),
        },
    }
}

fn log_sum_exp<T: Element>(over: &Over, x: &Arc<Node>) -> Arc<Node> {
    let wide = accumulator(T::DTYPE);
    if let Some(error) = over.nothing_folded("logsumexp") {
        return record::failed(error, wide, over.at);
    }
    let x = record::cast(x, wide, over.at);
    let highest = over.fold(ReduceOp::Max, &x);
    // An infinity or a NaN is no help: infinity less infinity is NaN.
    let is_finite = over.unary(UnaryOp::IsFinite, &highest);
    let highest = record::select(&is_finite, &highest, &over.float(wide, 0.0), over.at);
    let z = over.binary(BinaryOp::Sub, &x, &over.stretch(&highest));
    let sum = over.fold(ReduceOp::Sum, &over.unary(UnaryOp::Exp, &z));
    over.binary(BinaryOp::Add, &over.unary(UnaryOp::Log, &sum), &highest)
}
