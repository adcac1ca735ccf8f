//! Groups that go over rows: reductions whose results are used in every element of what they folded.

use smallvec::SmallVec;

use lazuli_codegen::Tree;

use super::Partitioner;
use crate::fuse::flow::{FlowOp, Reduction, Split, ValueId};
use crate::fuse::maps::MapId;
use crate::shape::Shape;

/// The elements of a group that reduces: rows of an array, folded along some axes.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Shape of the array.
    pub elements: Shape,
    /// The axes folded, slowest in memory first.
    pub axes: SmallVec<[u32; 4]>,
    /// How a row is folded.
    pub tree: Tree,
    /// How groups share a row.
    pub split: Split,
    /// True where the fastest axis in memory is a folded one.
    pub along_rows: bool,
    /// True where the group's space is all the elements: reductions are used in every element of their row. False where it
    /// is one point a row.
    pub spans_elements: bool,
    /// The map that reads every element.
    pub(super) map: MapId,
}

impl Rows {
    /// True where a row is kept from its reductions to what is made of their results: by one group, which computes again
    /// what it cannot keep, or by groups that wait for each other.
    pub(super) fn are_on_one_chip(&self) -> bool {
        matches!(self.split, Split::Whole | Split::Combined { is_kept: true, .. })
    }

    pub(super) fn of(reduction: &Reduction, elements: &Shape, spans_elements: bool, map: MapId) -> Self {
        let Reduction { axes, tree, split, along_rows, .. } = reduction;
        let (elements, axes) = (elements.clone(), axes.clone());
        Self { elements, axes, tree: *tree, split: *split, along_rows: *along_rows, spans_elements, map }
    }

    /// How many there are.
    fn count(&self) -> u128 {
        let folded: u128 = self.axes.iter().map(|axis| self.elements[*axis as usize] as u128).product();
        self.elements.iter().map(|extent| *extent as u128).product::<u128>() / folded.max(1)
    }
}

impl Partitioner<'_> {
    /// The rows of the group, where the map reads this value once a row: it is the same for all elements of a row, and the
    /// rows are those whose reductions the group uses, this one's or those that the value is made of.
    pub(super) fn row_of(&self, group: u32, map: MapId, id: ValueId) -> Option<Rows> {
        let draft = &self.groups[group as usize];
        let uniform = self.maps.uniform(map)?;
        let is_row = |axes: &[u32], elements: &Shape| {
            let mut axes: SmallVec<[u32; 4]> =
                axes.iter().copied().filter(|axis| elements[*axis as usize] != 1).collect();
            axes.sort_unstable();
            axes == uniform.free
        };
        let rows = match &draft.rows {
            Some(rows) => rows.clone(),
            None => {
                let reduction = self.reduction_below(id)?;
                let FlowOp::Reduce(found) = &self.flow.values[reduction as usize].op else { return None };
                let operand = self.flow.values[reduction as usize].inputs[0];
                Rows::of(found, &self.flow.values[operand as usize].shape, true, uniform.from)
            }
        };
        let is_start = self.maps.is_start(uniform.from);
        let fits = rows.spans_elements
            && rows.map == uniform.from
            && is_start
            && draft.space == rows.elements
            && (draft.rows.is_some() || (draft.shared.is_none() && !draft.has_serial_reduction))
            && rows.are_on_one_chip()
            && is_row(&rows.axes, &rows.elements)
            && self.folds_rows(id, &rows)
            && match self.is_root.contains(&id) {
                // It is stored on the way, so all of it must be read.
                true => uniform.is_whole && rows.count() == self.flow.values[id as usize].len() as u128,
                false => rows.count() <= self.flow.values[id as usize].len() as u128,
            };
        fits.then_some(rows)
    }

    /// True for anything but a reduction, and for one that folds exactly these rows.
    fn folds_rows(&self, id: ValueId, rows: &Rows) -> bool {
        let value = &self.flow.values[id as usize];
        match &value.op {
            FlowOp::Reduce(reduction) => {
                let operand = &self.flow.values[value.inputs[0] as usize];
                reduction.axes == rows.axes
                    && reduction.tree == rows.tree
                    && reduction.split == rows.split
                    && operand.shape == rows.elements
            }
            _ => true,
        }
    }

    /// True where a value is made of reductions of rows that no launch keeps.
    pub(super) fn is_of_long_rows(&self, id: ValueId) -> bool {
        let Some(found) = self.reduction_below(id) else { return false };
        let found = &self.flow.values[found as usize];
        let split = |op: &FlowOp| match op {
            FlowOp::Reduce(reduction) => Some(reduction.split),
            _ => None,
        };
        // Folded in chunks and combined, or of chunks that an earlier launch folded.
        matches!(split(&found.op), Some(Split::Combined { is_kept: false, .. }))
            || matches!(split(&self.flow.values[found.inputs[0] as usize].op), Some(Split::Chunks(_)))
    }

    /// The first reduction that a value is made of, through operations on values of its own size.
    fn reduction_below(&self, id: ValueId) -> Option<ValueId> {
        let elements = self.flow.values[id as usize].len();
        let mut worklist = vec![id];
        let mut seen = 0;
        while let Some(id) = worklist.pop() {
            let value = &self.flow.values[id as usize];
            seen += 1;
            match &value.op {
                FlowOp::Reduce(reduction) if !matches!(reduction.split, Split::Chunks(_)) => return Some(id),
                FlowOp::Reduce(_) | FlowOp::Leaf(_) | FlowOp::Scalar(_) | FlowOp::Gather { .. } => {}
                _ if seen > self.limits.operations => return None,
                _ => worklist.extend(value.inputs.iter().filter(|input| {
                    let input = &self.flow.values[**input as usize];
                    input.len() == elements && input.reduce_depth > 0
                })),
            }
        }
        None
    }
}
