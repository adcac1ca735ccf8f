//! Views: axes permuted, inserted, removed, flipped and stretched; other shapes. None of them launches anything, and they
//! cost nothing but index arithmetic when computed with.

use std::panic::Location;

use smallvec::SmallVec;

use super::slice::from_end;
use super::{Array, IntoShape};
use crate::dtype::Element;
use crate::error::{Error, Place, Result};
use crate::graph::op::{AxisMap, View};
use crate::graph::record;
use crate::shape::{Shape, resolve_axis};

impl<T: Element> Array<T> {
    /// One index of an axis, which is removed. Negative axes and indices count from the end.
    ///
    /// Errors, kept until a value is asked for: `InvalidAxis`, and `InvalidArgument` for an index out of range.
    #[track_caller]
    pub fn index_axis(&self, axis: isize, index: isize) -> Array<T> {
        const OP: &str = "index_axis";
        let at = Location::caller();
        self.view_by(at, |shape| {
            let axis = axis_of(OP, axis, shape, at)?;
            let Some(start) = from_end(index, shape[axis]).filter(|index| *index < shape[axis]) else {
                let what = format!("index {index} is out of range for axis {axis} of extent {}", shape[axis]);
                return Err(Error::InvalidArgument { op: OP, what, shape: shape.to_vec(), at });
            };
            Ok(without(shape, |other| other == axis, start as i64))
        })
    }

    /// The axes in reverse order: the transpose of a matrix.
    ///
    /// ```
    /// use lazuli::prelude::*;
    ///
    /// let x = Device::host()?.arange(0, 6, 1).reshape([2, 3]);
    /// assert_eq!(x.t().get()?, ndarray::arr2(&[[0, 3], [1, 4], [2, 5]]).into_dyn());
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[doc(alias = "transpose")]
    #[doc(alias = "reversed_axes")]
    #[track_caller]
    pub fn t(&self) -> Array<T> {
        let rank = self.ndim();
        self.view_by(Location::caller(), |shape| {
            let axes = (0..rank).map(|axis| AxisMap::whole((rank - 1 - axis) as u32)).collect();
            Ok((View { axes }, shape.iter().rev().copied().collect()))
        })
    }

    /// The axes in another order: axis `i` of the result is axis `axes[i]` of this array. Negative axes count from the end.
    ///
    /// Errors, kept until a value is asked for: `InvalidAxis`, and `InvalidArgument` where axes are missing.
    #[doc(alias = "moveaxis")]
    #[doc(alias = "transpose")]
    #[doc(alias = "permuted_axes")]
    #[track_caller]
    pub fn permute(&self, axes: &[isize]) -> Array<T> {
        const OP: &str = "permute";
        let at = Location::caller();
        self.view_by(at, |shape| {
            let marked = axes_of(OP, axes, shape, at)?;
            if marked.contains(&false) {
                let what = format!("axes {axes:?} do not name every axis");
                return Err(Error::InvalidArgument { op: OP, what, shape: shape.to_vec(), at });
            }
            let mut maps: SmallVec<[AxisMap; 4]> = SmallVec::from_elem(AxisMap::at(0), shape.len());
            let mut result = Shape::new();
            for (own, &axis) in axes.iter().enumerate() {
                let axis = axis_of(OP, axis, shape, at)?;
                maps[axis] = AxisMap::whole(own as u32);
                result.push(shape[axis]);
            }
            Ok((View { axes: maps }, result))
        })
    }

    /// Two axes exchanged. Negative axes count from the end.
    ///
    /// Errors, kept until a value is asked for: `InvalidAxis`.
    #[doc(alias = "swapaxes")]
    #[track_caller]
    pub fn swap_axes(&self, a: isize, b: isize) -> Array<T> {
        const OP: &str = "swap_axes";
        let at = Location::caller();
        self.view_by(at, |shape| {
            let (a, b) = (axis_of(OP, a, shape, at)?, axis_of(OP, b, shape, at)?);
            let mut maps = whole(shape.len());
            maps.swap(a, b);
            let mut result = Shape::from_slice(shape);
            result.swap(a, b);
            Ok((View { axes: maps }, result))
        })
    }

    /// The same elements, in row-major order, under another shape of as many.
    ///
    /// Errors, kept until a value is asked for: `InvalidArgument` where the counts differ.
    ///
    /// ```
    /// use lazuli::prelude::*;
    ///
    /// let x = Device::host()?.arange(0, 6, 1).reshape([2, 3]);
    /// assert_eq!(x.shape(), [2, 3]);
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[track_caller]
    pub fn reshape(&self, shape: impl IntoShape) -> Array<T> {
        self.derive(record::reshape(&self.node, shape.into_shape(), Location::caller()))
    }

    /// [`reshape`](Array::reshape) with at most one extent of -1, which is what the others leave.
    ///
    /// Errors, kept until a value is asked for: `InvalidArgument` where the counts differ, nothing fits, or more than one
    /// extent is negative.
    #[track_caller]
    pub fn reshape_infer(&self, extents: &[isize]) -> Array<T> {
        let at = Location::caller();
        match inferred(extents, self.len()) {
            Some(shape) => self.derive(record::reshape(&self.node, shape, at)),
            None => {
                let what = format!("{} elements do not fit shape {extents:?}", self.len());
                self.fail(Error::InvalidArgument { op: "reshape_infer", what, shape: self.shape().to_vec(), at }, at)
            }
        }
    }

    /// All elements along one axis, in row-major order.
    #[doc(alias = "ravel")]
    #[track_caller]
    pub fn flatten(&self) -> Array<T> {
        self.derive(record::reshape(&self.node, Shape::from_slice(&[self.len()]), Location::caller()))
    }

    /// A new axis of extent 1, which is axis `axis` of the result. Negative axes count from the result's end: -1 is last.
    ///
    /// Errors, kept until a value is asked for: `InvalidAxis`.
    #[doc(alias = "newaxis")]
    #[doc(alias = "expand_dims")]
    #[doc(alias = "unsqueeze")]
    #[track_caller]
    pub fn insert_axis(&self, axis: isize) -> Array<T> {
        let at = Location::caller();
        self.view_by(at, |shape| {
            let Some(axis) = resolve_axis(axis, shape.len() + 1) else {
                return Err(invalid_axis("insert_axis", axis, "out of range", shape, at));
            };
            let axes = (0..shape.len()).map(|own| AxisMap::whole((own + usize::from(own >= axis)) as u32)).collect();
            let mut result = Shape::from_slice(shape);
            result.insert(axis, 1);
            Ok((View { axes }, result))
        })
    }

    /// The array without an axis of extent 1.
    ///
    /// Errors, kept until a value is asked for: `InvalidAxis`, and `InvalidArgument` where the extent is not 1.
    #[track_caller]
    pub fn remove_axis(&self, axis: isize) -> Array<T> {
        const OP: &str = "remove_axis";
        let at = Location::caller();
        self.view_by(at, |shape| {
            let axis = axis_of(OP, axis, shape, at)?;
            if shape[axis] != 1 {
                let what = format!("axis {axis} has extent {}, not 1", shape[axis]);
                return Err(Error::InvalidArgument { op: OP, what, shape: shape.to_vec(), at });
            }
            Ok(without(shape, |other| other == axis, 0))
        })
    }

    /// The array without any axis of extent 1.
    #[track_caller]
    pub fn squeeze(&self) -> Array<T> {
        self.view_by(Location::caller(), |shape| Ok(without(shape, |axis| shape[axis] == 1, 0)))
    }

    /// An axis walked backwards.
    ///
    /// Errors, kept until a value is asked for: `InvalidAxis`.
    #[doc(alias = "invert_axis")]
    #[track_caller]
    pub fn flip(&self, axis: isize) -> Array<T> {
        let at = Location::caller();
        self.view_by(at, |shape| {
            let axis = axis_of("flip", axis, shape, at)?;
            let mut maps = whole(shape.len());
            if shape[axis] > 1 {
                maps[axis] = AxisMap { start: shape[axis] as i64 - 1, step: -1, axis: Some(axis as u32) };
            }
            Ok((View { axes: maps }, shape.into()))
        })
    }

    /// The array stretched to a shape: axes are aligned at the last one, and an extent of 1 stretches.
    ///
    /// Errors, kept until a value is asked for: `ShapeMismatch`.
    #[doc(alias = "broadcast")]
    #[track_caller]
    pub fn broadcast_to(&self, shape: impl IntoShape) -> Array<T> {
        self.derive(record::broadcast_to(&self.node, &shape.into_shape(), Location::caller()))
    }

    /// The view that `build` gives for the array's shape, or its error. Where the array carries an error already, that one
    /// is handed on and `build` is not asked: the shape is not known then.
    pub(super) fn view_by(&self, at: Place, build: impl FnOnce(&[usize]) -> Result<(View, Shape)>) -> Array<T> {
        if self.is_failed() {
            return self.clone();
        }
        match build(self.shape()) {
            Ok((view, result)) => self.derive(record::view(&self.node, view, result, at)),
            Err(error) => self.fail(error, at),
        }
    }
}

/// The axis, counted from the start.
pub(super) fn axis_of(op: &'static str, axis: isize, shape: &[usize], at: Place) -> Result<usize> {
    resolve_axis(axis, shape.len()).ok_or_else(|| invalid_axis(op, axis, "out of range", shape, at))
}

/// Which axes are named, each of them once.
pub(super) fn axes_of(op: &'static str, axes: &[isize], shape: &[usize], at: Place) -> Result<SmallVec<[bool; 8]>> {
    let mut marked: SmallVec<[bool; 8]> = SmallVec::from_elem(false, shape.len());
    for &axis in axes {
        let resolved = axis_of(op, axis, shape, at)?;
        if std::mem::replace(&mut marked[resolved], true) {
            return Err(invalid_axis(op, axis, "given twice", shape, at));
        }
    }
    Ok(marked)
}

fn invalid_axis(op: &'static str, axis: isize, what: &'static str, shape: &[usize], at: Place) -> Error {
    Error::InvalidAxis { op, axis, what, shape: shape.to_vec(), at }
}

fn whole(rank: usize) -> SmallVec<[AxisMap; 4]> {
    (0..rank as u32).map(AxisMap::whole).collect()
}

/// The view at `index` of the axes that are `gone`.
fn without(shape: &[usize], gone: impl Fn(usize) -> bool, index: i64) -> (View, Shape) {
    let mut result = Shape::new();
    let mut axes = SmallVec::new();
    for (axis, &extent) in shape.iter().enumerate() {
        if gone(axis) {
            axes.push(AxisMap::at(index));
        } else {
            axes.push(AxisMap::whole(result.len() as u32));
            result.push(extent);
        }
    }
    (View { axes }, result)
}

/// The extents with -1 replaced by what is left of `len` elements.
fn inferred(extents: &[isize], len: usize) -> Option<Shape> {
    if extents.iter().any(|extent| *extent < -1) {
        return None;
    }
    let Some(open) = extents.iter().position(|extent| *extent == -1) else {
        return Some(extents.iter().map(|extent| *extent as usize).collect());
    };
    let rest = extents.iter().enumerate().filter(|(axis, _)| *axis != open);
    let known = rest.map(|(_, extent)| usize::try_from(*extent).ok()).try_fold(1usize, |n, e| n.checked_mul(e?))?;
    if known == 0 || !len.is_multiple_of(known) {
        return None;
    }
    let mut shape: Shape = extents.iter().map(|extent| *extent as usize).collect();
    shape[open] = len / known;
    Some(shape)
}
