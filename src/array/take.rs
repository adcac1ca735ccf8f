//! Elements chosen by indices that are an array: NumPy's `take`, `a[i]` and `take_along_axis`.
//!
//! Indices are checked where they are used, on the device. Evaluating waits for nothing; an index out of range comes out as
//! the error of whoever copies a value made of it to the host.

use std::panic::Location;

use super::Array;
use super::views::axis_of;
use crate::dtype::{Element, Integer};
use crate::error::Place;
use crate::graph::op::{AxisMap, Gather, View};
use crate::graph::record;
use crate::shape::Shape;

impl<T: Element> Array<T> {
    /// The elements at `indices` along an axis, which gives way to the axes of the indices. Negative indices count from the
    /// end, as does a negative axis.
    ///
    /// Shape: this array's, with the axis replaced by the shape of the indices.
    ///
    /// Errors, kept until a value is asked for: `InvalidAxis`; `InvalidArgument` for elements of an axis that has none;
    /// `IndexOutOfRange`, which the device finds: from [`get`](Array::get) and its kin, not from [`eval`](Array::eval). All
    /// indices are checked, also where only some of the elements are used.
    ///
    /// ```
    /// use lazuli::prelude::*;
    ///
    /// let device = Device::host()?;
    /// let x = device.arange(0, 6, 1).reshape([3, 2]);
    /// let rows = device.from_slice(&[2i64, 0, -1])?;
    /// assert_eq!(x.take(&rows, 0).get()?, ndarray::arr2(&[[4, 5], [0, 1], [4, 5]]).into_dyn());
    /// let error = x.take(&rows, 1).get().unwrap_err().to_string();
    /// assert!(error.contains("take: index 2 is out of range for axis 1 of extent 2"));
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[doc(alias = "gather")]
    #[doc(alias = "index_select")]
    #[doc(alias = "select")]
    #[track_caller]
    pub fn take<I: Integer>(&self, indices: &Array<I>, axis: isize) -> Array<T> {
        const OP: &str = "take";
        let at = Location::caller();
        if self.is_failed() || indices.is_failed() {
            return self.first_failure(indices);
        }
        match axis_of(OP, axis, self.shape(), at) {
            Ok(axis) => self.gathered(OP, indices, self, axis, Some(axis as u32), at),
            Err(error) => self.fail(error, at),
        }
    }

    /// The elements at `indices` among all elements in row-major order: `a.flatten()[indices]`. Negative indices count from
    /// the end.
    ///
    /// Shape: that of the indices.
    ///
    /// Errors: as [`take`](Array::take).
    #[track_caller]
    pub fn take_flat<I: Integer>(&self, indices: &Array<I>) -> Array<T> {
        let at = Location::caller();
        if self.is_failed() || indices.is_failed() {
            return self.first_failure(indices);
        }
        let flat = self.derive(record::reshape(&self.node, Shape::from_slice(&[self.len()]), at));
        flat.gathered("take_flat", indices, self, 0, None, at)
    }

    /// For each element of `indices`, the element of this array at that index along the axis and at the same place along the
    /// others, which broadcast together: what [`argmax_axis_keep`](Array::argmax_axis_keep) gives chooses by this. Negative indices count
    /// from the end.
    ///
    /// Shape: along the axis that of the indices, along the others what both broadcast to.
    ///
    /// Errors, kept until a value is asked for: `InvalidAxis`, `ShapeMismatch`, also where the ranks differ; else as
    /// [`take`](Array::take).
    ///
    /// ```
    /// use lazuli::prelude::*;
    ///
    /// let device = Device::host()?;
    /// let x = device.from_shape([2, 3], &[10, 30, 20, 60, 40, 50])?;
    /// let order = device.from_shape([2, 2], &[0i64, 2, 1, -1])?;
    /// assert_eq!(x.take_along_axis(&order, 1).get()?, ndarray::arr2(&[[10, 20], [40, 50]]).into_dyn());
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[track_caller]
    pub fn take_along_axis<I: Integer>(&self, indices: &Array<I>, axis: isize) -> Array<T> {
        const OP: &str = "take_along_axis";
        let at = Location::caller();
        if self.is_failed() || indices.is_failed() {
            return self.first_failure(indices);
        }
        if let Some(error) = self.device_mismatch(OP, indices, at) {
            return self.fail(error, at);
        }
        let axis = match axis_of(OP, axis, self.shape(), at) {
            Ok(axis) => axis as u32,
            Err(error) => return self.fail(error, at),
        };
        let gather = Gather {
            axis,
            op: OP,
            operand: self.shape().into(),
            operand_axis: Some(axis),
            indices: indices.shape().into(),
        };
        self.derive(record::gather(&self.node, &indices.node, gather, at))
    }

    /// The gather along `axis` of this array, recorded as one of `given`. The axes of the indices go where the axis was: in
    /// the operand they have extent one, as has the axis itself in the indices and, at last, in the result.
    fn gathered<I: Integer>(
        &self,
        op: &'static str,
        indices: &Array<I>,
        given: &Array<T>,
        axis: usize,
        operand_axis: Option<u32>,
        at: Place,
    ) -> Array<T> {
        if let Some(error) = given.device_mismatch(op, indices, at) {
            return self.fail(error, at);
        }
        let (shape, chosen) = (self.shape(), indices.shape());
        let (rank, added) = (shape.len(), chosen.len());
        let later = |own: usize| if own < axis { own } else { own + added };

        let axes = (0..rank).map(|own| AxisMap::whole(later(own) as u32)).collect();
        let mut spread = Shape::from_slice(shape);
        spread.insert_many(axis, std::iter::repeat_n(1, added));
        let operand = record::view(&self.node, View { axes }, spread, at);

        let axes = (0..added).map(|own| AxisMap::whole((axis + own) as u32)).collect();
        let mut spread: Shape = std::iter::repeat_n(1, rank).collect();
        spread.insert_many(axis, chosen.iter().copied());
        let places = record::view(&indices.node, View { axes }, spread, at);

        let gather = Gather {
            axis: (axis + added) as u32,
            op,
            operand: given.shape().into(),
            operand_axis,
            indices: chosen.into(),
        };
        let node = record::gather(&operand, &places, gather, at);
        if record::failure(&node).is_some() {
            return self.derive(node);
        }
        let gone = axis + added;
        let axes = (0..rank + added).map(|own| match own.cmp(&gone) {
            std::cmp::Ordering::Less => AxisMap::whole(own as u32),
            std::cmp::Ordering::Equal => AxisMap::at(0),
            std::cmp::Ordering::Greater => AxisMap::whole(own as u32 - 1),
        });
        let mut result = Shape::from_slice(node.shape());
        result.remove(gone);
        let view = View { axes: axes.collect() };
        self.derive(record::view(&node, view, result, at))
    }

    fn first_failure<I: Element>(&self, indices: &Array<I>) -> Array<T> {
        self.derive(if self.is_failed() { self.node.clone() } else { indices.node.clone() })
    }
}
