//! Printing. It never launches a kernel: an array without a value says so.

use std::fmt;

use ndarray::SliceInfoElem;

use super::Array;
use crate::dtype::Element;
use crate::graph::{record, strided};

/// Arrays of more elements are not copied to the host to be printed; their first few are.
const PRINTED_WHOLE: usize = 1 << 14;

/// How many of them.
const PRINTED_FIRST: usize = 8;

impl<T: Element> fmt::Debug for Array<T> {
    /// Element type, shape, device and whether there is a value; never the elements.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Array<{}>{:?} on {}, ", T::DTYPE, self.shape(), self.device.name())?;
        match (record::failure(&self.node), strided::resolve(&self.node)) {
            (Some(error), _) => write!(f, "failed: {error}"),
            (None, Some(_)) => write!(f, "evaluated"),
            (None, None) => write!(f, "not evaluated: {}", self.node.op().name()),
        }
    }
}

impl<T: Element> fmt::Display for Array<T> {
    /// The elements, as ndarray prints them, where they are on the device already; of a large array the first few. Else
    /// element type, shape and the last operation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = format_args!("Array<{}>{:?}", T::DTYPE, self.shape());
        if let Some(error) = record::failure(&self.node) {
            return write!(f, "{head} (failed: {error})");
        }
        if !self.is_empty() && strided::resolve(&self.node).is_none() {
            return write!(f, "{head} (not evaluated: {})", self.node.op().name());
        }
        let whole = self.len() <= PRINTED_WHOLE;
        let values = if whole { self.fetch() } else { self.first_few().fetch() };
        match values {
            Ok(values) if whole => fmt::Display::fmt(&values, f),
            Ok(values) => {
                write!(f, "{head} starting ")?;
                fmt::Display::fmt(&values, f)
            }
            Err(error) => write!(f, "{head} (not readable: {error})"),
        }
    }
}

impl<T: Element> Array<T> {
    /// The start of the first row.
    fn first_few(&self) -> Array<T> {
        let last = self.ndim().saturating_sub(1);
        let part = |(axis, &extent): (usize, &usize)| {
            let taken = if axis == last { extent.min(PRINTED_FIRST) } else { 1 };
            SliceInfoElem::Slice { start: 0, end: Some(taken as isize), step: 1 }
        };
        let info: Vec<SliceInfoElem> = self.shape().iter().enumerate().map(part).collect();
        self.slice(info).flatten()
    }
}
