//! Slices, as ndarray's `s![]` writes them: read, and written to.

use std::panic::Location;

use ndarray::SliceInfoElem;
use smallvec::SmallVec;

use super::{Array, Operand};
use crate::dtype::Element;
use crate::error::{Error, Place, Result};
use crate::graph::op::{AxisMap, Range, Region, View};
use crate::graph::record;
use crate::shape::{self, Shape};

impl<T: Element> Array<T> {
    /// A part of the array, written with ndarray's [`s!`](ndarray::s): ranges keep an axis, indices remove one, `NewAxis`
    /// inserts one; negative numbers count from the end. A negative step takes the range and walks it backwards: `1..9;-3`
    /// is 8, 5, 2. Anything that gives `&[SliceInfoElem]` will do.
    ///
    /// Launches nothing, and costs nothing when computed with.
    ///
    /// Errors, kept until a value is asked for: `InvalidArgument` for a range or index outside its axis, a step of 0, or
    /// more or fewer of them than axes.
    ///
    /// ```
    /// use lazuli::prelude::*;
    /// use ndarray::s;
    ///
    /// let x = Device::host()?.from_slice(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9])?;
    /// assert_eq!(x.slice(s![1..9;-3]).get()?.as_slice().unwrap(), [8, 5, 2]);
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[doc(alias = "getitem")]
    #[track_caller]
    pub fn slice(&self, info: impl AsRef<[SliceInfoElem]>) -> Array<T> {
        let at = Location::caller();
        self.view_by(at, |shape| {
            let cut = Cut::new("slice", info.as_ref(), shape, at)?;
            Ok((cut.view, cut.result))
        })
    }

    /// Binds the array to one that has `value` in the part that `info` marks, as in [`slice`](Array::slice). The value
    /// broadcasts to the part's shape. Whoever recorded the old array keeps its elements.
    ///
    /// Errors, kept until a value is asked for: those of `slice`, and `ShapeMismatch`.
    ///
    /// ```
    /// use lazuli::prelude::*;
    /// use ndarray::s;
    ///
    /// let mut x = Device::host()?.from_slice(&[1, 2, 3, 4])?;
    /// x.slice_assign(s![1..3], 0);
    /// assert_eq!(x.get()?.as_slice().unwrap(), [1, 0, 0, 4]);
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[doc(alias = "setitem")]
    #[track_caller]
    pub fn slice_assign(&mut self, info: impl AsRef<[SliceInfoElem]>, value: impl Operand<T>) {
        let at = Location::caller();
        *self = match self.assigned(info.as_ref(), value, at) {
            Ok(array) => array,
            Err(error) => self.fail(error, at),
        };
    }

    fn assigned(&self, info: &[SliceInfoElem], value: impl Operand<T>, at: Place) -> Result<Array<T>> {
        const OP: &str = "slice_assign";
        if self.is_failed() {
            return Ok(self.clone());
        }
        if let Some(error) = self.device_mismatch(OP, &value, at) {
            return Err(error);
        }
        let value = value.node(at);
        if record::failure(&value).is_some() {
            return Ok(self.derive(value.into_owned()));
        }
        let cut = Cut::new(OP, info, self.shape(), at)?;
        if shape::broadcast(value.shape(), &cut.result).as_ref() != Some(&cut.result) {
            let (lhs, rhs) = (cut.result.to_vec(), value.shape().to_vec());
            return Err(Error::ShapeMismatch { op: OP, lhs, rhs, at });
        }
        // The region has an axis of extent 1 where an index removed one, and none where `NewAxis` inserted one.
        let extents: Shape = cut.region.axes.iter().map(|range| range.extent).collect();
        let value = record::reshape(&record::broadcast_to(&value, &cut.result, at), extents, at);
        Ok(self.derive(record::slice_assign(&self.node, cut.region, &value, at)))
    }
}

/// A slice resolved against a shape.
struct Cut {
    view: View,
    region: Region,
    /// Shape of the part.
    result: Shape,
}

impl Cut {
    fn new(op: &'static str, info: &[SliceInfoElem], shape: &[usize], at: Place) -> Result<Cut> {
        let invalid = |what: String| Error::InvalidArgument { op, what, shape: shape.to_vec(), at };
        let given = info.iter().filter(|part| !part.is_new_axis()).count();
        if given != shape.len() {
            return Err(invalid(format!("{given} ranges and indices for {} axes", shape.len())));
        }
        let mut maps: SmallVec<[AxisMap; 4]> = SmallVec::new();
        let mut ranges: SmallVec<[Range; 4]> = SmallVec::new();
        let mut result = Shape::new();
        for part in info {
            let axis = maps.len();
            let outside =
                |what| invalid(format!("{what} {part} is out of range for axis {axis} of extent {}", shape[axis]));
            match *part {
                SliceInfoElem::NewAxis => result.push(1),
                SliceInfoElem::Index(index) => {
                    let start = from_end(index, shape[axis]).filter(|index| *index < shape[axis]);
                    let start = start.ok_or_else(|| outside("index"))? as i64;
                    maps.push(AxisMap::at(start));
                    ranges.push(Range { start, step: 1, extent: 1 });
                }
                SliceInfoElem::Slice { step: 0, .. } => return Err(invalid(format!("step 0 along axis {axis}"))),
                SliceInfoElem::Slice { start, end, step } => {
                    let range = resolve_range(start, end, step, shape[axis]).ok_or_else(|| outside("slice"))?;
                    maps.push(AxisMap { start: range.start, step: range.step, axis: Some(result.len() as u32) });
                    result.push(range.extent);
                    ranges.push(range);
                }
            }
        }
        Ok(Cut { view: View { axes: maps }, region: Region { axes: ranges }, result })
    }
}

/// The indices that a range with a step stands for, by ndarray's rule. `None` where it is out of range.
fn resolve_range(start: isize, end: Option<isize>, step: isize, extent: usize) -> Option<Range> {
    let start = from_end(start, extent)?;
    let end = end.map_or(Some(extent), |end| from_end(end, extent))?.max(start);
    if end > extent {
        return None;
    }
    let taken = (end - start).div_ceil(step.unsigned_abs());
    Some(match (taken, step > 0) {
        (0, _) => Range { start: 0, step: 1, extent: 0 },
        (1, true) => Range { start: start as i64, step: 1, extent: 1 },
        (1, false) => Range { start: end as i64 - 1, step: 1, extent: 1 },
        (_, true) => Range { start: start as i64, step: step as i64, extent: taken },
        (_, false) => Range { start: end as i64 - 1, step: step as i64, extent: taken },
    })
}

/// An index that counts from the end where negative; it may still be past the end.
pub(super) fn from_end(index: isize, extent: usize) -> Option<usize> {
    if index < 0 { extent.checked_sub(index.unsigned_abs()) } else { Some(index as usize) }
}

#[cfg(test)]
mod tests {
    use super::resolve_range;
    use ndarray::{Array1, Axis, Slice};

    #[test]
    fn ranges_are_those_of_ndarray() {
        for extent in 0..7usize {
            let host: Array1<i64> = (0..extent as i64).collect();
            let bound = extent as isize;
            for start in -bound..=bound {
                for end in (-bound..=bound).map(Some).chain([None]) {
                    for step in [-9, -3, -2, -1, 1, 2, 3, 9] {
                        let range = resolve_range(start, end, step, extent).expect("in range");
                        let ours: Vec<i64> = (0..range.extent as i64).map(|i| range.start + i * range.step).collect();
                        let theirs = host.slice_axis(Axis(0), Slice::new(start, end, step));
                        assert_eq!(ours, theirs.to_vec(), "{start}..{end:?};{step} of {extent}");
                    }
                }
            }
            assert!(resolve_range(bound + 1, None, 1, extent).is_none());
            assert!(resolve_range(0, Some(bound + 1), 1, extent).is_none());
            assert!(resolve_range(-bound - 1, None, 1, extent).is_none());
        }
    }
}
