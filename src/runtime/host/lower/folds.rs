//! Reductions and loops: plain loops, trees, and passes over the elements of whole rows.

use std::sync::Arc;

use lazuli_codegen::{AxisId, Fold, Loop as IrLoop, Reduce, ReduceOp, Span, Stmt, Tree, Var, VarType};

use super::super::ops::fold::{Folding, fold_ops};
use super::super::ops::user::UserFold;
use super::super::program::{Loop, LoopFold, Reg, Segments, Step, TreeFold};
use super::super::user_function::vector_function;
use super::{Lowering, Scope, Style, Value};
use crate::error::Result;

/// A reduction, or a loop that folds nothing.
struct Repeat<'s> {
    axes: &'s [AxisId],
    span: Span,
    tree: Tree,
    body: &'s [Stmt],
    folds: &'s [Fold],
}

/// A value to fold, ready at the end of the body.
struct Folded {
    result: Var,
    value: Reg,
    kind: VarType,
    ops: Folding,
    wide: bool,
}

impl Lowering<'_> {
    /// Lowers a reduction; `number` is its place in the kernel's body where it stands at the top level.
    pub(super) fn lower_reduce(&mut self, reduce: &Reduce, number: Option<usize>) -> Result<()> {
        let Reduce { axes, span, tree, body, folds } = reduce;
        self.lower_repeat(&Repeat { axes, span: *span, tree: *tree, body, folds }, number)
    }

    /// Lowers a loop at the top level.
    pub(super) fn lower_pass(&mut self, own: &IrLoop, number: usize) -> Result<()> {
        let IrLoop { axes, span, body } = own;
        self.lower_repeat(&Repeat { axes, span: *span, tree: Tree::SERIAL, body, folds: &[] }, Some(number))
    }

    fn lower_repeat(&mut self, repeat: &Repeat, number: Option<usize>) -> Result<()> {
        let outer = self.depth();
        let tree = repeat.tree;
        if (number.is_none() || self.serial) && tree != Tree::SERIAL {
            return Err(self.malformed("a reduction tree where only a plain loop may stand"));
        }
        if !tree.lanes.is_power_of_two() || !tree.width.is_power_of_two() {
            return Err(self.malformed("a reduction tree whose sides are no powers of two"));
        }
        self.check_span(repeat.span)?;
        let space = match (self.style, number) {
            (Style::Columns, _) | (_, None) => self.space(),
            (Style::Points, Some(_)) => Some(self.new_space(repeat.axes.to_vec())),
            (Style::Rows, Some(_)) => {
                let axes = self.kernel.parallel.iter().chain(repeat.axes).copied().collect();
                Some(self.new_space(axes))
            }
        };
        self.scopes.push(Scope { steps: Vec::new(), space });
        for &axis in repeat.axes {
            self.enter_axis(axis, outer + 1)?;
        }
        if let Some(number) = number {
            self.enter_pass(repeat, number)?;
        }
        for stmt in repeat.body {
            self.lower_stmt(stmt)?;
        }
        let mut folded = Vec::new();
        for fold in repeat.folds {
            folded.push(self.lower_fold(fold, number.is_some())?);
        }
        for &axis in repeat.axes {
            self.axis_depth[axis.0 as usize] = None;
        }
        let body = self.scopes.pop().unwrap_or_default().steps;
        if number.is_some() {
            self.leave_pass();
        }
        // What the body computed is out of scope, save what was hoisted.
        for value in self.values.iter_mut().filter(|value| value.is_some_and(|value| value.depth > outer)) {
            *value = None;
        }
        let step = self.repeat_step(repeat, number, space, body, folded);
        self.push(outer, step);
        Ok(())
    }

    /// The step, and its results brought into scope.
    fn repeat_step(
        &mut self,
        repeat: &Repeat,
        number: Option<usize>,
        space: Option<usize>,
        body: Vec<Step>,
        folded: Vec<Folded>,
    ) -> Step {
        let outer = self.depth();
        let accumulators = repeat.tree.accumulators() as usize;
        let row = self.row;
        let (lanes, width) = (repeat.tree.lanes as usize, repeat.tree.width as usize);
        match (self.style, number, space) {
            (Style::Points, Some(_), Some(space)) => {
                let mut folds = Vec::new();
                for fold in folded {
                    let value = self.result(fold.kind, false, outer);
                    self.registers[value.reg.at()].count = accumulators;
                    self.assign(fold.result, value);
                    folds.push((value.reg, fold.value, fold.ops));
                }
                Step::Tree(Box::new(TreeFold { space, row, span: repeat.span, lanes, width, body, folds }))
            }
            (Style::Rows, Some(_), _) => {
                let mut folds = Vec::new();
                for fold in folded {
                    let tree = self.result(fold.kind, false, outer);
                    self.registers[tree.reg.at()].count = accumulators;
                    let value = self.result(fold.kind, true, outer);
                    self.assign(fold.result, value);
                    folds.push((value.reg, tree.reg, fold.value, fold.ops));
                }
                Step::Segments(Box::new(Segments { row: row.unwrap_or(0), lanes, width, body, folds }))
            }
            _ => {
                let mut folds = Vec::new();
                for Folded { result, value, kind, ops, wide } in folded {
                    let acc = self.result(kind, wide, outer);
                    self.assign(result, acc);
                    folds.push(LoopFold { acc: acc.reg, value, ops, wide });
                }
                let row = row.filter(|_| number.is_some());
                Step::Loop(Box::new(Loop { axes: repeat.axes.to_vec(), row, span: repeat.span, body, folds }))
            }
        }
    }

    fn lower_fold(&mut self, fold: &Fold, is_top: bool) -> Result<Folded> {
        let (value, dtype) = self.element(fold.value)?;
        let kind = self.declared(fold.result)?;
        let ops = match fold.op {
            ReduceOp::Custom(combiner) => {
                Some(Folding::User(Arc::new(UserFold::new(combiner, vector_function(combiner.function)?))))
            }
            op => fold_ops(op, dtype).map(Folding::BuiltIn),
        };
        let Some(ops) = ops.filter(|_| kind == value.kind && fold.op.accepts(dtype)) else {
            return Err(self.malformed(format_args!("{} of {dtype}", fold.op.name())));
        };
        let depth = self.depth();
        let reg = match is_top && self.style != Style::Columns {
            true => self.in_scope(fold.value.0 as usize, depth)?,
            false if value.wide => self.spread(value, depth),
            false => value.reg,
        };
        Ok(Folded { result: fold.result, value: reg, kind, ops, wide: value.wide })
    }

    fn new_space(&mut self, axes: Vec<AxisId>) -> usize {
        self.spaces.push(axes);
        self.spaces.len() - 1
    }

    /// Brings in what earlier passes over the same row kept, and computes again what they did not keep.
    fn enter_pass(&mut self, repeat: &Repeat, number: usize) -> Result<()> {
        let known = self.rows.iter().position(|row| row == repeat.axes);
        self.row = Some(known.unwrap_or_else(|| {
            self.rows.push(repeat.axes.to_vec());
            self.rows.len() - 1
        }));
        for var in self.reuse.brought.remove(&number).unwrap_or_default() {
            let at = var.0 as usize;
            // Where it is in scope still, it was hoisted out of its pass.
            if self.values.get(at).is_some_and(Option::is_none) {
                self.values[at] = self.kept.get(&var).copied();
            }
        }
        for stmt in self.reuse.again.remove(&number).unwrap_or_default() {
            let hoisted = match stmt {
                Stmt::Let { var, .. } => self.values.get(var.0 as usize).is_some_and(Option::is_some),
                _ => false,
            };
            if !hoisted {
                self.lower_stmt(stmt)?;
            }
        }
        Ok(())
    }

    /// Remembers what is kept of the pass that ends.
    fn leave_pass(&mut self) {
        self.spread.clear();
        for &var in &self.reuse.kept {
            if let Some(value) = self.values[var.0 as usize].filter(|value| value.depth == 2) {
                self.kept.insert(var, Value { splat: None, ..value });
            }
        }
    }

    fn check_span(&mut self, span: Span) -> Result<()> {
        let Span::Chunk { axis, length } = span else { return Ok(()) };
        match self.kernel.parallel.iter().position(|&parallel| parallel == axis) {
            Some(at) if length.0 < self.kernel.sizes => {
                self.constant = self.constant.max(at + 1);
                Ok(())
            }
            _ => Err(self.malformed("a chunk of no parallel axis or of unknown length")),
        }
    }
}
