//! From a group to a draft: follows each output back to data, through views, as index arithmetic.

mod gather;
mod index;
mod reduce;
mod slice_assign;

use lazuli_codegen::{DType, Expr, ScalarId, Var, VarType};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use reduce::{LoopKey, LoopShape};

use super::draft::{Draft, DraftExpr, DraftStmt, Scope, ScopeId, TOP};
use super::linear::{Coords, Linear};
use crate::error::{Error, Result};
use crate::fuse::flow::{Flow, FlowOp, ValueId};
use crate::fuse::{Group, Partition, Rows};
use crate::graph::op::AxisMap;
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
        let scope = self.draft.scope_of_all(coords);
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
                let at = |(map, extent): (&AxisMap, &usize)| match (extent, map.axis) {
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
            FlowOp::Call(function) => {
                let operands = value.inputs.iter().map(|input| self.value(*input, coords));
                let operands = operands.collect::<Result<Vec<Var>>>()?;
                self.operation(value.dtype, function.name(), Expr::Call(*function, operands.clone()), &operands)
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
}

/// True where two values lie in one buffer, with one element type.
pub fn same_data(flow: &Flow, a: ValueId, b: ValueId) -> bool {
    let (left, right) = (&flow.values[a as usize], &flow.values[b as usize]);
    match (&left.op, &right.op) {
        (FlowOp::Leaf(own), FlowOp::Leaf(other)) => own == other && left.dtype == right.dtype,
        _ => a == b,
    }
}
