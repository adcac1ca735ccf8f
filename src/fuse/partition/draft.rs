//! A group under construction, and what it would take of a kernel's parameters and local memory.

use lazuli_codegen::Tree;
use rustc_hash::FxHashMap;

use super::rows::Rows;
use crate::fuse::flow::{Reduction, Split, ValueId};
use crate::fuse::maps::MapId;
use crate::fuse::reason::Reason;
use crate::shape::Shape;

/// A group under construction.
pub(super) struct Draft {
    pub(super) space: Shape,
    pub(super) sinks: Vec<ValueId>,
    pub(super) members: Vec<ValueId>,
    pub(super) shared: Option<Sharing>,
    pub(super) rows: Option<Rows>,
    /// A reduction at the top level is computed inside, so that the rows are really folded.
    pub(super) folds_rows: bool,
    /// A reduction in a plain loop stands at the top level.
    pub(super) has_serial_reduction: bool,
    /// Bytes of local memory that the reductions of whole groups take.
    pub(super) local_bytes: usize,
    pub(super) reason: Reason,
    pub(super) operations: usize,
    /// Values read but not (yet) computed inside, with the parameter bytes each is counted for.
    pub(super) frontier: FxHashMap<ValueId, usize>,
    pub(super) parameter_bytes: usize,
}

impl Draft {
    /// A group that computes nothing yet.
    pub(super) fn new(space: Shape, reason: Reason) -> Self {
        Self {
            space,
            sinks: Vec::new(),
            members: Vec::new(),
            shared: None,
            rows: None,
            folds_rows: false,
            has_serial_reduction: false,
            local_bytes: 0,
            reason,
            operations: 0,
            frontier: FxHashMap::default(),
            parameter_bytes: parameter_bytes(0),
        }
    }

    /// True where the group goes over rows and its space is all their elements.
    pub(super) fn spans_elements(&self) -> bool {
        self.rows.as_ref().is_some_and(|rows| rows.spans_elements)
    }

    /// True where two groups over one space may be one: at most one goes over rows, or both over the same.
    pub(super) fn rows_agree(&self, other: &Draft) -> bool {
        match (&self.rows, &other.rows) {
            (Some(a), Some(b)) if a.spans_elements || b.spans_elements => {
                (a.spans_elements, &a.axes, a.tree, a.split) == (b.spans_elements, &b.axes, b.tree, b.split)
            }
            (Some(rows), None) if rows.spans_elements => !other.has_serial_reduction,
            (None, Some(rows)) if rows.spans_elements => !self.has_serial_reduction,
            _ => true,
        }
    }
}

/// How the reductions at the top level of a group are shared: among its threads, and with other groups. All alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sharing {
    pub(super) tree: Tree,
    pub(super) split: Split,
    /// Chunks of one result.
    pub(super) chunks: usize,
    /// Where groups combine without waiting for each other, reductions on the way to data: none needs another's result.
    pub(super) depth: Option<u32>,
    /// There too, what they fold, seen from the kernel's points: two loops, one after the other, could not hand in together.
    pub(super) inner: Option<MapId>,
}

/// Local memory that a reduction by whole groups takes at the most: an element for each thread of the group, and as much
/// again where groups combine.
pub(super) fn local_bytes(reduction: &Reduction, element_bytes: usize) -> usize {
    const LARGEST_GROUP: u32 = 1024;
    let folds = if matches!(reduction.split, Split::Combined { .. }) { 2 } else { 1 };
    match reduction.tree.lanes {
        1 => 0,
        lanes if reduction.along_rows => lanes.max(256) as usize * element_bytes * folds,
        _ => LARGEST_GROUP as usize * element_bytes * folds,
    }
}

/// Parameter bytes of the scratch in which groups combine, over a space of this rank: two pointers, and strides.
pub(super) fn scratch_parameter_bytes(reduction: &Reduction, rank: usize) -> usize {
    if matches!(reduction.split, Split::Combined { .. }) { 16 + 8 * (rank + 2) } else { 0 }
}

/// Parameter bytes that reading or writing an array of this rank may take: a pointer, and an offset and strides.
pub(super) fn parameter_bytes(rank: usize) -> usize {
    8 + 8 * (rank + 1)
}
