//! Reductions: each folds in a pass over a loop, and those of the same elements share the loop.

use lazuli_codegen::{AxisId, Fold, Term, Tree, Var, VarType};
use smallvec::SmallVec;

use super::Tracer;
use crate::error::{Error, Result};
use crate::fuse::Split;
use crate::fuse::flow::{Reduction, ValueId};
use crate::lower::draft::{Combined, DraftStmt, Pass, Repeat, Scope, ScopeId, TOP};
use crate::lower::linear::{Coords, Linear};

/// The elements of a loop.
pub(super) struct LoopShape<'a> {
    pub(super) operand: &'a [usize],
    /// Axes folded, slowest in memory first.
    pub(super) axes: &'a [u32],
    pub(super) tree: Tree,
    pub(super) along_rows: bool,
}

/// Reductions with equal keys fold the same elements. At the top level they share a loop, which is passed over once for
/// all that are equally deep; inside other loops only those of one pass share it, and the depth is part of the key.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct LoopKey {
    kept: Coords,
    operand: SmallVec<[usize; 4]>,
    axes: SmallVec<[u32; 4]>,
    tree: Tree,
    chunk: Option<i64>,
    depth: u32,
}

impl Tracer<'_> {
    pub(super) fn reduce(&mut self, reduction: &Reduction, id: ValueId, coords: &Coords) -> Result<Var> {
        let flow = self.flow;
        let value = &flow.values[id as usize];
        let operand = &flow.values[value.inputs[0] as usize];
        let kept = operand.shape.len() - reduction.axes.len();
        let kept_coords: Coords = coords[..kept].iter().cloned().collect();
        let parent = self.draft.scope_of_all(&kept_coords);
        let shape = LoopShape {
            operand: &operand.shape,
            axes: &reduction.axes,
            tree: reduction.tree,
            along_rows: reduction.along_rows,
        };
        let chunk = match (reduction.split, coords.get(kept).map(|coord| &coord.terms[..])) {
            (Split::Chunks(length), Some([(Term::Axis(axis), 1)])) => Some((*axis, length)),
            (Split::Chunks(_), _) => return Err(Error::Internal("chunks that are not counted by an axis".into())),
            (Split::Combined { .. }, _) if parent != TOP => {
                return Err(Error::Internal("groups that combine inside a loop".into()));
            }
            (split, _) => self.combined_chunk(&shape, split),
        };
        let depth = value.reduce_depth;
        let scope = self.find_loop(&shape, kept_coords.clone(), parent, chunk, depth);
        let looped = self.loop_coords(scope, &reduction.axes, &operand.shape);
        let mut next_kept = kept_coords.into_iter();
        let mut at: Coords = SmallVec::new();
        for axis in 0..operand.shape.len() as u32 {
            at.push(match looped.iter().find(|(own, _)| *own == axis) {
                Some((_, coord)) => coord.clone(),
                None => next_kept.next().unwrap_or_default(),
            });
        }
        let element = self.value(value.inputs[0], &at)?;
        self.draft.names.push(reduction.op.name());
        let result = self.draft.new_var(VarType::Value(value.dtype), parent, (0, 0));
        let mut fold = Fold { result, op: reduction.op, value: element };
        let mut combined = None;
        if matches!(reduction.split, Split::Combined { .. }) {
            fold.result = self.draft.new_var(VarType::Value(value.dtype), parent, (0, 0));
            combined = Some(Fold { result, op: reduction.op, value: fold.result });
        }
        let Some(Repeat { passes, .. }) = &mut self.draft.scopes[scope].repeat else {
            return Err(Error::Internal("a reduction without a loop".into()));
        };
        let known = passes.iter().position(|pass| pass.depth == depth);
        let number = known.unwrap_or(passes.len());
        if known.is_none() {
            passes.push(Pass { depth, folds: Vec::new(), combined: Vec::new() });
        }
        passes[number].folds.push(fold);
        passes[number].combined.extend(combined);
        if known.is_none() {
            self.draft.scopes[parent].body.push(DraftStmt::Reduce(scope, number));
        }
        Ok(result)
    }

    /// The parallel axis that counts the chunks of rows that groups combine, and their length.
    pub(super) fn combined_chunk(&mut self, shape: &LoopShape, split: Split) -> Option<(AxisId, i64)> {
        let Split::Combined { length, tree, .. } = split else { return None };
        if let Some(combined) = &self.draft.combined {
            return Some((combined.axis, length));
        }
        let folded: i64 = shape.axes.iter().map(|axis| shape.operand[*axis as usize] as i64).product();
        let axis = self.draft.new_axis((folded as u64).div_ceil(length as u64) as i64, TOP);
        self.draft.parallel.insert(0, axis);
        self.draft.combined = Some(Combined { axis, tree, along_rows: shape.along_rows });
        Some((axis, length))
    }

    /// The loop over these elements: one already there, or a new one.
    pub(super) fn find_loop(
        &mut self,
        shape: &LoopShape,
        kept: Coords,
        parent: ScopeId,
        chunk: Option<(AxisId, i64)>,
        depth: u32,
    ) -> ScopeId {
        let key = LoopKey {
            kept,
            operand: shape.operand.into(),
            axes: shape.axes.into(),
            tree: shape.tree,
            chunk: chunk.map(|(_, length)| length),
            depth: if parent == TOP && (chunk.is_none() || self.draft.combined.is_some()) { 0 } else { depth },
        };
        if let Some(scope) = self.loops.get(&key) {
            return *scope;
        }
        let scope = self.draft.scopes.len();
        let depth = self.draft.scopes[parent].depth + 1;
        self.draft.scopes.push(Scope { parent, depth, body: Vec::new(), repeat: None });
        let looped = looped_axes(shape.axes, shape.operand);
        let axes = looped.iter().map(|axis| self.draft.new_axis(shape.operand[*axis as usize] as i64, scope)).collect();
        let (tree, along_rows) = (shape.tree, shape.along_rows);
        self.draft.scopes[scope].repeat = Some(Repeat { axes, chunk, tree, along_rows, passes: Vec::new() });
        self.loops.insert(key, scope);
        scope
    }

    /// The index along each looped axis.
    pub(super) fn loop_coords(&self, scope: ScopeId, axes: &[u32], operand: &[usize]) -> SmallVec<[(u32, Linear); 4]> {
        let looped = looped_axes(axes, operand);
        let own = self.draft.scopes[scope].repeat.as_ref().map_or(&[][..], |repeat| &repeat.axes);
        let coord = |axis: &u32| match looped.iter().position(|looped| looped == axis) {
            Some(place) => (*axis, Linear::axis(own[place])),
            None => (*axis, Linear::default()),
        };
        axes.iter().map(coord).collect()
    }
}

/// The folded axes that take a loop: those of more than one element, or one where there are none.
fn looped_axes(axes: &[u32], operand: &[usize]) -> SmallVec<[u32; 4]> {
    let mut looped: SmallVec<[u32; 4]> = axes.iter().copied().filter(|axis| operand[*axis as usize] != 1).collect();
    if looped.is_empty() {
        looped.extend(axes.last().copied());
    }
    looped
}
