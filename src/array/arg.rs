//! Where the least and the greatest elements are.

use std::panic::Location;
use std::sync::Arc;

use lazuli_codegen::{BinaryOp, DType, ReduceOp, UnaryOp};

use super::Array;
use super::reduce::Over;
use crate::dtype::Element;
use crate::error::Place;
use crate::graph::{Node, record};
use crate::shape::{Shape, resolve_axis};

macro_rules! arg_reductions {
    ($($op:ident $name:literal => $whole:ident $axis:ident $axis_keep:ident, $which:literal;)+) => {
        impl<T: Element> Array<T> {
            $(
                #[doc = concat!("The index of the first of the ", $which, " elements among all, counted in row-major order.")]
                ///
                /// A NaN wins over every number, the first of several; false is less than true.
                ///
                /// Errors, kept until a value is asked for: `InvalidArgument` where there are no elements.
                #[track_caller]
                pub fn $whole(&self) -> Array<i64> {
                    self.arg_fold(ReduceOp::$op, $name, None, false, Location::caller())
                }

                #[doc = concat!("The index of the first of the ", $which, " elements along an axis, which is removed. Negative axes count from the end.")]
                ///
                /// A NaN wins over every number, the first of several; false is less than true.
                ///
                /// Errors, kept until a value is asked for: `InvalidAxis`, and `InvalidArgument` where the axis has no elements.
                #[track_caller]
                pub fn $axis(&self, axis: isize) -> Array<i64> {
                    self.arg_fold(ReduceOp::$op, $name, Some(axis), false, Location::caller())
                }

                #[doc = concat!("[`", stringify!($axis), "`](Array::", stringify!($axis), "), but the axis stays with extent 1, so that the result chooses by [`take_along_axis`](Array::take_along_axis).")]
                #[track_caller]
                pub fn $axis_keep(&self, axis: isize) -> Array<i64> {
                    self.arg_fold(ReduceOp::$op, $name, Some(axis), true, Location::caller())
                }
            )+
        }
    };
}

arg_reductions! {
    Min "argmin" => argmin argmin_axis argmin_axis_keep, "least";
    Max "argmax" => argmax argmax_axis argmax_axis_keep, "greatest";
}

impl<T: Element> Array<T> {
    fn arg_fold(&self, op: ReduceOp, name: &'static str, axis: Option<isize>, keep: bool, at: Place) -> Array<i64> {
        let axes = axis.as_ref().map(std::slice::from_ref);
        self.fold_by(name, axes, keep, at, |over| match over.nothing_folded(name) {
            Some(error) => record::failed(error, DType::I64, at),
            None => first_index(over, op, &self.node, axis),
        })
    }
}

/// The least index at which an element is the extreme one, or NaN where one is. A row is read once for both folds.
fn first_index(over: &Over, op: ReduceOp, x: &Arc<Node>, axis: Option<isize>) -> Arc<Node> {
    // Booleans have no least, but bytes have.
    let x = &match x.dtype() {
        DType::Bool => record::cast(x, DType::U8, over.at),
        _ => x.clone(),
    };
    let shape = over.shape();
    let along = axis.and_then(|axis| resolve_axis(axis, shape.len()));
    let count = along.map_or_else(|| x.len(), |axis| shape[axis]);
    // Indices as long as the elements: rows of both are then folded along one tree.
    let index = if x.dtype().size_bytes() <= 4 && count <= i32::MAX as usize { DType::I32 } else { DType::I64 };
    let line = record::iota(count, index, over.at);
    let indices = match along {
        Some(axis) => {
            let mut own: Shape = shape.iter().map(|_| 1).collect();
            own[axis] = count;
            record::reshape(&line, own, over.at)
        }
        None => record::reshape(&line, Shape::from_slice(shape), over.at),
    };
    let extreme = over.stretch(&over.fold(op, x));
    let mut is_it = over.binary(BinaryOp::Eq, x, &extreme);
    if x.dtype().is_float() {
        // NaN equals nothing, and where one is, it is the extreme.
        is_it = over.binary(BinaryOp::BitOr, &is_it, &over.unary(UnaryOp::IsNan, x));
    }
    let none = match index {
        DType::I32 => i32::MAX.to_scalar(),
        _ => i64::MAX.to_scalar(),
    };
    let candidates = record::select(&is_it, &indices, &record::scalar(none, over.at), over.at);
    over.fold(ReduceOp::Min, &candidates)
}
