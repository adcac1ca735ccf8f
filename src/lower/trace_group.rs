//! From a group to a draft: follows each output back to data, through views, as index arithmetic.

mod gather;

use lazuli_codegen::{AxisId, BinaryOp, DType, Expr, Fold, IndexOp, IndexOperand, ScalarId, Term, Tree, Var, VarType};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::draft::{Combined, Division, Draft, DraftExpr, DraftStmt, Pass, Repeat, Scope, ScopeId, TOP};
use super::linear::{Coords, Linear};
use crate::error::{Error, Result};
use crate::fuse::flow::{Flow, FlowOp, Reduction, ValueId};
use crate::fuse::{Group, Partition, Rows, Split};
use crate::graph::op::Region;
use crate::shape::Order;

/// The draft of group number `group`.
pub fn trace_group(flow: &Flow, partition: &Partition, group: u32) -> Result<Draft> {
    let mut tracer = Tracer {
        flow,
        partition,
        group,
        draft: Draft::default(),
        values: FxHashMap::default(),
        member_coords: FxHashMap::default(),
        loops: FxHashMap::default(),
    };
    tracer.draft.scopes.push(Scope { parent: TOP, depth: 0, body: Vec::new(), repeat: None });
    tracer.trace(&partition.groups[group as usize])?;
    Ok(tracer.draft)
}

struct Tracer<'a> {
    flow: &'a Flow,
    partition: &'a Partition,
    group: u32,
    draft: Draft,
    /// Values already computed at some index.
    values: FxHashMap<(ValueId, Coords), Var>,
    /// Where values that are stored on the way were computed.
    member_coords: FxHashMap<ValueId, (Coords, Var)>,
    /// Loops already opened, so that reductions of the same elements share them.
    loops: FxHashMap<LoopKey, ScopeId>,
}

/// Reductions with equal keys fold the same elements. At the top level they share a loop, which is passed over once for
/// all that are equally deep; inside other loops only those of one pass share it, and the depth is part of the key.
#[derive(PartialEq, Eq, Hash)]
struct LoopKey {
    kept: Coords,
    operand: SmallVec<[usize; 4]>,
    axes: SmallVec<[u32; 4]>,
    tree: Tree,
    chunk: Option<i64>,
    depth: u32,
}

impl Tracer<'_> {
    fn trace(&mut self, group: &Group) -> Result<()> {
        // Loop order follows memory: the order in which the first output is stored.
        let order = match group.sinks.first() {
            Some(sink) => self.flow.values[*sink as usize].order.clone(),
            None => Order::RowMajor,
        };
        let rows = group.rows.as_ref().filter(|rows| rows.spans_elements);
        let mut coords: Coords = SmallVec::from_elem(Linear::default(), group.space.len());
        for axis in order.axes(group.space.len()) {
            let extent = group.space[axis as usize];
            if extent != 1 && rows.is_none_or(|rows| !rows.axes.contains(&axis)) {
                let id = self.draft.new_axis(extent as i64, TOP);
                self.draft.parallel.push(id);
                coords[axis as usize] = Linear::axis(id);
            }
        }
        let mut last_pass = None;
        if let Some(rows) = rows {
            let kept: Coords = (0..group.space.len() as u32)
                .filter(|axis| !rows.axes.contains(axis))
                .map(|axis| coords[axis as usize].clone())
                .collect();
            let Rows { elements, axes, tree, split, along_rows, .. } = rows;
            let shape = LoopShape { operand: elements, axes, tree: *tree, along_rows: *along_rows };
            let chunk = self.combined_chunk(&shape, *split);
            let scope = self.find_loop(&shape, kept, TOP, chunk, 0);
            for (axis, coord) in self.loop_coords(scope, &rows.axes, &rows.elements) {
                coords[axis as usize] = coord;
            }
            last_pass = Some(scope);
        }
        for &sink in &group.sinks {
            let value = self.compute(sink, &coords)?;
            self.store(sink, &coords, value, last_pass)?;
        }
        for &member in &group.members {
            let (coords, value) = match self.member_coords.get(&member) {
                Some((coords, value)) => (coords.clone(), *value),
                None => return Err(Error::Internal("a stored value that no output reads".into())),
            };
            self.store(member, &coords, value, last_pass)?;
        }
        if let Some(scope) = last_pass {
            self.draft.scopes[TOP].body.push(DraftStmt::Loop(scope));
        }
        Ok(())
    }

    /// Stores a value at the top level, or in the last pass over the rows. No other loop stores.
    fn store(&mut self, id: ValueId, coords: &Coords, value: Var, last_pass: Option<ScopeId>) -> Result<()> {
        let stored = &self.flow.values[id as usize];
        let at = self.fold_divisions(Linear::dot(coords, &stored.order.strides(&stored.shape)));
        self.draft.writes.push(id);
        let write = self.draft.writes.len() - 1;
        let scope = coords.iter().fold(TOP, |scope, coord| self.draft.inner(scope, self.draft.scope_of(coord)));
        if scope != TOP && Some(scope) != last_pass {
            return Err(Error::Internal("a value stored inside a reduction".into()));
        }
        self.draft.scopes[scope].body.push(DraftStmt::Store(write, at, value));
        Ok(())
    }

    /// The element of a value at some index: read from memory where it is stored, else computed.
    fn value(&mut self, id: ValueId, coords: &Coords) -> Result<Var> {
        let is_data = matches!(self.flow.values[id as usize].op, FlowOp::Leaf(_));
        let elsewhere = self.partition.stored_by[id as usize].is_some_and(|group| group != self.group);
        match is_data || elsewhere {
            true => Ok(self.load(id, coords)),
            false => self.compute(id, coords),
        }
    }

    fn load(&mut self, id: ValueId, coords: &Coords) -> Var {
        if let Some(var) = self.values.get(&(id, coords.clone())) {
            return *var;
        }
        let value = &self.flow.values[id as usize];
        let at = self.fold_divisions(Linear::dot(coords, &value.order.strides(&value.shape)));
        let read = self.draft.reads.iter().position(|read| same_data(self.flow, *read, id)).unwrap_or_else(|| {
            self.draft.reads.push(id);
            self.draft.reads.len() - 1
        });
        let scope = self.draft.scope_of(&at);
        let var = self.assign(value.dtype, scope, DraftExpr::Load(read, at));
        self.values.insert((id, coords.clone()), var);
        var
    }

    /// Depth of recursion: the operations and views of one group, which partition bounds.
    fn compute(&mut self, id: ValueId, coords: &Coords) -> Result<Var> {
        let flow = self.flow;
        let value = &flow.values[id as usize];
        // A constant is the same everywhere, whatever shape it is read in.
        let nowhere = Coords::new();
        let coords = if matches!(value.op, FlowOp::Scalar(_)) { &nowhere } else { coords };
        if let Some(var) = self.values.get(&(id, coords.clone())) {
            return Ok(*var);
        }
        let var = match &value.op {
            FlowOp::Leaf(_) => self.load(id, coords),
            FlowOp::Scalar(slot) => self.scalar(*slot, value.dtype),
            FlowOp::Iota => self.iota(&coords[0], value.dtype),
            FlowOp::View(view) => {
                let operand = &flow.values[value.inputs[0] as usize];
                let at = |(map, extent): (&crate::graph::op::AxisMap, &usize)| match (extent, map.axis) {
                    (1, _) => Linear::default(),
                    (_, Some(axis)) => coords[axis as usize].mapped(map.start, map.step),
                    (_, None) => Linear::constant(map.start),
                };
                let through: Coords = view.axes.iter().zip(&operand.shape).map(at).collect();
                self.value(value.inputs[0], &through)?
            }
            FlowOp::Reshape => {
                let operand = &flow.values[value.inputs[0] as usize];
                let flat = Linear::dot(coords, &Order::RowMajor.strides(&value.shape));
                let flat = self.fold_divisions(flat);
                let through = self.unflatten(flat, &operand.shape);
                self.value(value.inputs[0], &through)?
            }
            FlowOp::SliceAssign(region) => {
                let base = self.value(value.inputs[0], coords)?;
                self.slice_assign(region, base, value.inputs[1], value.dtype, coords)?
            }
            FlowOp::Gather { axis, .. } => self.gather(id, *axis as usize, coords)?,
            FlowOp::Reduce(reduction) => self.reduce(reduction, id, coords)?,
            FlowOp::Unary(op) => {
                let x = self.value(value.inputs[0], coords)?;
                self.operation(value.dtype, op.name(), Expr::Unary(*op, x), &[x])
            }
            FlowOp::Cast => {
                let x = self.value(value.inputs[0], coords)?;
                self.operation(value.dtype, "cast", Expr::Cast(x), &[x])
            }
            FlowOp::Binary(op) => {
                let (a, b) = (self.value(value.inputs[0], coords)?, self.value(value.inputs[1], coords)?);
                self.operation(value.dtype, op.name(), Expr::Binary(*op, a, b), &[a, b])
            }
            FlowOp::MulAdd | FlowOp::Select => {
                let a = self.value(value.inputs[0], coords)?;
                let b = self.value(value.inputs[1], coords)?;
                let c = self.value(value.inputs[2], coords)?;
                let expr = match value.op {
                    FlowOp::MulAdd => Expr::MulAdd(a, b, c),
                    _ => Expr::Select { condition: a, on_true: b, on_false: c },
                };
                self.operation(value.dtype, value.op.name(), expr, &[a, b, c])
            }
        };
        self.values.insert((id, coords.clone()), var);
        if self.partition.stored_by[id as usize] == Some(self.group) {
            self.member_coords.insert(id, (coords.clone(), var));
        }
        Ok(var)
    }

    fn scalar(&mut self, slot: u32, dtype: DType) -> Var {
        let number = self.draft.scalars.iter().position(|(own, _)| *own == slot).unwrap_or_else(|| {
            self.draft.scalars.push((slot, dtype));
            self.draft.scalars.len() - 1
        });
        self.assign(dtype, TOP, DraftExpr::Plain(Expr::Scalar(ScalarId(number as u32))))
    }

    fn iota(&mut self, coord: &Linear, dtype: DType) -> Var {
        let index = self.index_var(coord.clone());
        let scope = self.draft.vars[index.0 as usize].scope;
        self.draft.names.push("iota");
        self.assign(dtype, scope, DraftExpr::Plain(Expr::IndexValue(index)))
    }

    fn operation(&mut self, dtype: DType, name: &'static str, expr: Expr, operands: &[Var]) -> Var {
        let scope = self.scope_of_vars(operands);
        self.draft.names.push(name);
        self.assign(dtype, scope, DraftExpr::Plain(expr))
    }

    fn scope_of_vars(&self, vars: &[Var]) -> ScopeId {
        vars.iter().fold(TOP, |scope, var| self.draft.inner(scope, self.draft.vars[var.0 as usize].scope))
    }

    fn assign(&mut self, dtype: DType, scope: ScopeId, expr: DraftExpr) -> Var {
        let var = self.draft.new_var(VarType::Value(dtype), scope, (0, 0));
        self.draft.assign(scope, var, expr);
        var
    }

    /// A variable that holds an index.
    fn index_var(&mut self, index: Linear) -> Var {
        if let ([(Term::Var(var), 1)], 0) = (&index.terms[..], index.constant) {
            return *var;
        }
        let (scope, range) = (self.draft.scope_of(&index), index.range(|term| self.draft.range(term)));
        let var = self.draft.new_var(VarType::Index, scope, range);
        self.draft.assign(scope, var, DraftExpr::Index(index));
        var
    }

    fn index_binary(&mut self, op: IndexOp, x: Var, number: i64) -> Var {
        let VarRange { scope, low, high } = self.range_of(x);
        let range = match op {
            IndexOp::Add => (low.saturating_add(number), high.saturating_add(number)),
            IndexOp::Sub => (low.saturating_sub(number), high.saturating_sub(number)),
            IndexOp::Mul => (low.saturating_mul(number), high.saturating_mul(number)),
            IndexOp::Div => (low / number, high / number),
            IndexOp::Rem => (0, (number - 1).min(high)),
            IndexOp::Min => (low.min(number), high.min(number)),
            IndexOp::Max => (low.max(number), high.max(number)),
        };
        let var = self.draft.new_var(VarType::Index, scope, range);
        self.draft.assign(scope, var, DraftExpr::IndexBinary(op, x, number));
        var
    }

    fn range_of(&self, var: Var) -> VarRange {
        let info = &self.draft.vars[var.0 as usize];
        VarRange { scope: info.scope, low: info.range.0, high: info.range.1 }
    }

    /// The index along each axis of a row-major array of this shape of its element number `flat`.
    fn unflatten(&mut self, flat: Linear, shape: &[usize]) -> Coords {
        let mut coords: Coords = SmallVec::from_elem(Linear::default(), shape.len());
        let mut rest = flat;
        let real: SmallVec<[usize; 4]> = (0..shape.len()).filter(|axis| shape[*axis] != 1).collect();
        for (place, &axis) in real.iter().enumerate().rev() {
            if place == 0 {
                coords[axis] = rest;
                break;
            }
            let (quotient, remainder) = self.divide(rest, shape[axis] as i64);
            coords[axis] = remainder;
            rest = quotient;
        }
        coords
    }

    fn divide(&mut self, dividend: Linear, divisor: i64) -> (Linear, Linear) {
        let (mut even, rest) = dividend.split(divisor);
        let (least, greatest) = rest.range(|term| self.draft.range(term));
        if least >= 0 && greatest < divisor {
            return (even, rest);
        }
        // Only what is known not to be negative may be divided by itself.
        let dividend = if least >= 0 { rest } else { dividend };
        if least < 0 {
            even = Linear::default();
        }
        let whole = self.index_var(dividend.clone());
        let quotient = self.index_binary(IndexOp::Div, whole, divisor);
        let remainder = self.index_binary(IndexOp::Rem, whole, divisor);
        for (var, partner, is_quotient) in [(quotient, remainder, true), (remainder, quotient, false)] {
            let division = Division { dividend: dividend.clone(), divisor, partner, is_quotient };
            self.draft.vars[var.0 as usize].division = Some(division);
        }
        even.add_term(Term::Var(quotient), 1);
        (even, Linear::var(remainder))
    }

    /// Puts `quotient * divisor + remainder` back together to what was divided.
    fn fold_divisions(&self, mut index: Linear) -> Linear {
        loop {
            let found = index.terms.iter().find_map(|(term, factor)| match term {
                Term::Var(var) => {
                    let division = self.draft.vars[var.0 as usize].division.as_ref().filter(|d| !d.is_quotient)?;
                    let quotient = Term::Var(division.partner);
                    (index.factor(quotient) == factor * division.divisor).then(|| (*term, *factor, division.clone()))
                }
                Term::Axis(_) => None,
            });
            let Some((remainder, factor, division)) = found else { return index };
            index.add_term(remainder, -factor);
            index.add_term(Term::Var(division.partner), -factor * division.divisor);
            index.add_scaled(&division.dividend, factor);
        }
    }

    /// The value over the region, the base elsewhere. The value is read at an index clamped into the region, so that
    /// every read is inside.
    fn slice_assign(
        &mut self,
        region: &Region,
        base: Var,
        value: ValueId,
        dtype: DType,
        coords: &Coords,
    ) -> Result<Var> {
        let shape = &self.flow.values[value as usize].shape;
        let mut inside: Option<Var> = None;
        let mut at: Coords = SmallVec::new();
        for ((range, coord), &extent) in region.axes.iter().zip(coords).zip(shape) {
            let step = range.step.abs();
            let from_start = match range.step > 0 {
                true => coord.mapped(-range.start, 1),
                false => coord.mapped(range.start, -1),
            };
            let last = (extent as i64 - 1) * step;
            let (least, greatest) = from_start.range(|term| self.draft.range(term));
            if step == 1 && least >= 0 && greatest <= last {
                at.push(from_start);
                continue;
            }
            let distance = self.index_var(from_start);
            let below = self.index_binary(IndexOp::Min, distance, last);
            let clamped = self.index_binary(IndexOp::Max, below, 0);
            let (place, reached) = match step {
                1 => (clamped, clamped),
                _ => {
                    let place = self.index_binary(IndexOp::Div, clamped, step);
                    (place, self.index_binary(IndexOp::Mul, place, step))
                }
            };
            let (reached, distance) = (IndexOperand::Var(reached), IndexOperand::Var(distance));
            let scope = self.draft.vars[place.0 as usize].scope;
            let hit = self.assign(DType::Bool, scope, DraftExpr::Plain(Expr::IndexEqual(reached, distance)));
            inside = Some(match inside {
                None => hit,
                Some(others) => {
                    let scope = self.scope_of_vars(&[others, hit]);
                    let both = Expr::Binary(BinaryOp::BitAnd, others, hit);
                    self.assign(DType::Bool, scope, DraftExpr::Plain(both))
                }
            });
            at.push(if extent == 1 { Linear::default() } else { Linear::var(place) });
        }
        let value = self.value(value, &at)?;
        let Some(condition) = inside else { return Ok(value) };
        let select = Expr::Select { condition, on_true: value, on_false: base };
        Ok(self.operation(dtype, "slice_assign", select, &[condition, value, base]))
    }

    fn reduce(&mut self, reduction: &Reduction, id: ValueId, coords: &Coords) -> Result<Var> {
        let flow = self.flow;
        let value = &flow.values[id as usize];
        let operand = &flow.values[value.inputs[0] as usize];
        let kept = operand.shape.len() - reduction.axes.len();
        let kept_coords: Coords = coords[..kept].iter().cloned().collect();
        let parent = kept_coords.iter().fold(TOP, |scope, coord| self.draft.inner(scope, self.draft.scope_of(coord)));
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
    fn combined_chunk(&mut self, shape: &LoopShape, split: Split) -> Option<(AxisId, i64)> {
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
    fn find_loop(
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
    fn loop_coords(&self, scope: ScopeId, axes: &[u32], operand: &[usize]) -> SmallVec<[(u32, Linear); 4]> {
        let looped = looped_axes(axes, operand);
        let own = self.draft.scopes[scope].repeat.as_ref().map_or(&[][..], |repeat| &repeat.axes);
        let coord = |axis: &u32| match looped.iter().position(|looped| looped == axis) {
            Some(place) => (*axis, Linear::axis(own[place])),
            None => (*axis, Linear::default()),
        };
        axes.iter().map(coord).collect()
    }
}

/// True where two values lie in one buffer, with one element type.
pub fn same_data(flow: &Flow, a: ValueId, b: ValueId) -> bool {
    let (left, right) = (&flow.values[a as usize], &flow.values[b as usize]);
    match (&left.op, &right.op) {
        (FlowOp::Leaf(own), FlowOp::Leaf(other)) => own == other && left.dtype == right.dtype,
        _ => a == b,
    }
}

/// The elements of a loop.
struct LoopShape<'a> {
    operand: &'a [usize],
    /// Axes folded, slowest in memory first.
    axes: &'a [u32],
    tree: Tree,
    along_rows: bool,
}

/// The folded axes that take a loop: those of more than one element, or one where there are none.
fn looped_axes(axes: &[u32], operand: &[usize]) -> SmallVec<[u32; 4]> {
    let mut looped: SmallVec<[u32; 4]> = axes.iter().copied().filter(|axis| operand[*axis as usize] != 1).collect();
    if looped.is_empty() {
        looped.extend(axes.last().copied());
    }
    looped
}

struct VarRange {
    scope: ScopeId,
    low: i64,
    high: i64,
}
