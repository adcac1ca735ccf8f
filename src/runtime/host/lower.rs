//! Kernel IR to steps: sorts values into wide and narrow, hoists what does not change, refuses what is malformed.

use std::collections::HashMap;

use lazuli_codegen::{
    Access as BufferAccess, Affine, AxisId, BufferId, DType, Expr, IndexOperand, Kernel, Reduce, Schedule, SizeId,
    Span, Stmt, Term, Tree, Var, VarType,
};

use super::ops::fold::fold_ops;
use super::ops::{binary, cast, index, register_bytes, ternary, unary};
use super::program::{Access, AccessId, Loop, LoopFold, Mode, Program, Reg, Register, Step, TreeFold};
use super::registers::place_registers;
use crate::error::{Error, Result};

/// Makes a kernel ready to run.
///
/// Errors: `Internal` where the kernel is malformed.
pub fn lower_kernel(kernel: &Kernel, schedule: Schedule) -> Result<Program> {
    let points = matches!(schedule, Schedule::Group { .. });
    let mut lowering = Lowering {
        kernel,
        points,
        scopes: vec![Scope::default(), Scope { steps: Vec::new(), space: (!points).then_some(0) }],
        values: vec![None; kernel.vars.len()],
        axis_depth: vec![None; kernel.axes.len()],
        sizes: HashMap::new(),
        registers: Vec::new(),
        spaces: vec![kernel.parallel.clone()],
        accesses: Vec::new(),
        constant: 0,
    };
    if kernel.axes.iter().any(|axis| axis.extent.0 >= kernel.sizes) {
        return Err(malformed(kernel, "an axis whose extent is no size parameter"));
    }
    for &axis in &kernel.parallel {
        lowering.enter_axis(axis, 1)?;
    }
    lowering.lower_body(&kernel.body)?;
    let mut program = Program {
        mode: if points { Mode::Points } else { Mode::Blocks { constant: lowering.constant } },
        registers: lowering.registers,
        spaces: lowering.spaces,
        accesses: lowering.accesses,
        body: lowering.scopes.pop().unwrap_or_default().steps,
        prologue: lowering.scopes.pop().unwrap_or_default().steps,
        narrow_bytes: 0,
        wide_bytes: 0,
        buffers: kernel.buffers.iter().map(|buffer| buffer.dtype).collect(),
        written: kernel.buffers.iter().map(|buffer| buffer.access == BufferAccess::Write).collect(),
    };
    place_registers(&mut program);
    Ok(program)
}

fn malformed(kernel: &Kernel, what: impl std::fmt::Display) -> Error {
    Error::Internal(format!("host: kernel {} is malformed: {what}", kernel.name))
}

/// A value in scope.
#[derive(Clone, Copy)]
struct Value {
    reg: Reg,
    kind: VarType,
    wide: bool,
    /// The scope whose steps compute it.
    depth: usize,
    /// Its copy with one element for each of the block, once there is one.
    splat: Option<Reg>,
}

/// The steps of one nesting level. Level 0 runs once, level 1 is the kernel's body.
#[derive(Default)]
struct Scope {
    steps: Vec<Step>,
    /// The space whose blocks its wide values have; none where no value is wide.
    space: Option<usize>,
}

struct Lowering<'k> {
    kernel: &'k Kernel,
    points: bool,
    scopes: Vec<Scope>,
    /// By variable; sizes used as operands follow.
    values: Vec<Option<Value>>,
    /// The scope that an axis in scope belongs to.
    axis_depth: Vec<Option<usize>>,
    /// The value that holds a size, or zero.
    sizes: HashMap<Option<SizeId>, usize>,
    registers: Vec<Register>,
    spaces: Vec<Vec<AxisId>>,
    accesses: Vec<Access>,
    constant: usize,
}

impl Lowering<'_> {
    fn malformed(&self, what: impl std::fmt::Display) -> Error {
        malformed(self.kernel, what)
    }

    fn depth(&self) -> usize {
        self.scopes.len() - 1
    }

    fn space(&self) -> Option<usize> {
        self.scopes.last().and_then(|scope| scope.space)
    }

    fn push(&mut self, depth: usize, step: Step) {
        self.scopes[depth].steps.push(step);
    }

    fn register(&mut self, bytes: usize, wide: bool) -> Reg {
        self.registers.push(Register { bytes, wide, count: 1, home: 0 });
        Reg(self.registers.len() as u32 - 1)
    }

    fn enter_axis(&mut self, axis: AxisId, depth: usize) -> Result<()> {
        match self.axis_depth.get_mut(axis.0 as usize) {
            Some(entry @ None) => *entry = Some(depth),
            _ => return Err(self.malformed(format_args!("axis {} is unknown or already in scope", axis.0))),
        }
        Ok(())
    }

    fn value(&self, at: usize) -> Result<Value> {
        self.values
            .get(at)
            .copied()
            .flatten()
            .ok_or_else(|| self.malformed(format_args!("variable {at} is not in scope")))
    }

    fn element(&self, var: Var) -> Result<(Value, DType)> {
        let value = self.value(var.0 as usize)?;
        match value.kind {
            VarType::Value(dtype) => Ok((value, dtype)),
            VarType::Index => {
                Err(self.malformed(format_args!("variable {} is an index where an element is due", var.0)))
            }
        }
    }

    fn index_variable(&self, var: Var) -> Result<Value> {
        let value = self.value(var.0 as usize)?;
        match value.kind {
            VarType::Index => Ok(value),
            VarType::Value(_) => {
                Err(self.malformed(format_args!("variable {} is an element where an index is due", var.0)))
            }
        }
    }

    fn lower_body(&mut self, body: &[Stmt]) -> Result<()> {
        for stmt in body {
            match stmt {
                Stmt::Let { var, expr } => {
                    let kind = self.declared(*var)?;
                    let value = self.lower_expr(kind, expr)?;
                    if value.kind != kind {
                        return Err(self.malformed(format_args!("variable {} has another type than its value", var.0)));
                    }
                    self.values[var.0 as usize] = Some(value);
                }
                Stmt::Store { buffer, at, value, .. } => self.lower_store(*buffer, at, *value)?,
                Stmt::Reduce(reduce) => self.lower_reduce(reduce)?,
            }
        }
        Ok(())
    }

    fn declared(&self, var: Var) -> Result<VarType> {
        match self.kernel.vars.get(var.0 as usize) {
            Some(kind) if self.values[var.0 as usize].is_none() => Ok(*kind),
            _ => Err(self.malformed(format_args!("variable {} is unknown or assigned twice", var.0))),
        }
    }

    fn lower_expr(&mut self, kind: VarType, expr: &Expr) -> Result<Value> {
        let dtype = match kind {
            VarType::Value(dtype) => Some(dtype),
            VarType::Index => None,
        };
        let bool_kind = VarType::Value(DType::Bool);
        match expr {
            Expr::Load { buffer, at, .. } => self.lower_load(*buffer, at),
            Expr::Scalar(scalar) => {
                let Some(&dtype) = self.kernel.scalars.get(scalar.0 as usize) else {
                    return Err(self.malformed(format_args!("no scalar {}", scalar.0)));
                };
                let to = self.register(register_bytes(dtype), false);
                self.push(0, Step::Scalar { to, scalar: *scalar });
                Ok(Value { reg: to, kind: VarType::Value(dtype), wide: false, depth: 0, splat: None })
            }
            Expr::Zero => {
                let to = self.register(dtype.map_or(8, register_bytes), false);
                self.push(0, Step::Zero { to });
                Ok(Value { reg: to, kind, wide: false, depth: 0, splat: None })
            }
            Expr::Index(affine) => {
                let (access, depth) = self.lower_affine(affine, None)?;
                Ok(self.push_index(access, depth))
            }
            Expr::IndexBinary(op, a, b) => self.index_pair(index::index(*op), VarType::Index, *a, *b),
            Expr::IndexLess(a, b) => self.index_comparison(lazuli_codegen::BinaryOp::Lt, bool_kind, *a, *b),
            Expr::IndexEqual(a, b) => self.index_comparison(lazuli_codegen::BinaryOp::Eq, bool_kind, *a, *b),
            Expr::IndexValue(var) => {
                let value = self.index_variable(*var)?;
                self.convert(*var, value, DType::I64, dtype)
            }
            Expr::Unary(op, a) => {
                let (_, operand) = self.element(*a)?;
                let (Some(run), Some(result)) = (unary::unary(*op, operand), op.result(operand)) else {
                    return Err(self.malformed(format_args!("{} of {operand}", op.name())));
                };
                self.apply1(run, VarType::Value(result), a.0 as usize)
            }
            Expr::Binary(op, a, b) => {
                let ((_, left), (_, right)) = (self.element(*a)?, self.element(*b)?);
                match (binary::binary(*op, left), op.result(left)) {
                    (Some(run), Some(result)) if left == right => {
                        self.apply2(run, VarType::Value(result), a.0 as usize, b.0 as usize)
                    }
                    _ => Err(self.malformed(format_args!("{} of {left} and {right}", op.name()))),
                }
            }
            Expr::MulAdd(a, b, c) => {
                let operands = [self.element(*a)?.1, self.element(*b)?.1, self.element(*c)?.1];
                match ternary::mul_add(operands[0]) {
                    Some(run) if operands.iter().all(|&dtype| dtype == operands[0]) => {
                        self.apply3(run, VarType::Value(operands[0]), [*a, *b, *c])
                    }
                    _ => Err(self.malformed(format_args!("mul_add of {operands:?}"))),
                }
            }
            Expr::Select { condition, on_true, on_false } => {
                let (test, a, b) = (self.element(*condition)?.1, self.element(*on_true)?.1, self.element(*on_false)?.1);
                if test != DType::Bool || a != b {
                    return Err(self.malformed(format_args!("select of {test}, {a} and {b}")));
                }
                self.apply3(ternary::select(a), VarType::Value(a), [*condition, *on_true, *on_false])
            }
            Expr::Cast(a) => {
                let (value, from) = self.element(*a)?;
                self.convert(*a, value, from, dtype)
            }
        }
    }

    fn convert(&mut self, var: Var, value: Value, from: DType, to: Option<DType>) -> Result<Value> {
        let Some(to) = to else {
            return Err(self.malformed("an element converted to an index"));
        };
        let kind = VarType::Value(to);
        match cast::cast(from, to) {
            Some(run) => self.apply1(run, kind, var.0 as usize),
            None => Ok(Value { kind, ..value }),
        }
    }

    fn index_pair(
        &mut self,
        run: super::ops::apply::Fn2,
        kind: VarType,
        a: IndexOperand,
        b: IndexOperand,
    ) -> Result<Value> {
        let (a, b) = (self.index_operand(a)?, self.index_operand(b)?);
        self.apply2(run, kind, a, b)
    }

    fn index_comparison(
        &mut self,
        op: lazuli_codegen::BinaryOp,
        kind: VarType,
        a: IndexOperand,
        b: IndexOperand,
    ) -> Result<Value> {
        match binary::binary(op, DType::I64) {
            Some(run) => self.index_pair(run, kind, a, b),
            None => Err(self.malformed("an index comparison that does not exist")),
        }
    }

    /// The value that holds an operand; sizes and zero are read once.
    fn index_operand(&mut self, operand: IndexOperand) -> Result<usize> {
        let size = match operand {
            IndexOperand::Var(var) => return self.index_variable(var).map(|_| var.0 as usize),
            IndexOperand::Size(size) if size.0 >= self.kernel.sizes => {
                return Err(self.malformed(format_args!("no size {}", size.0)));
            }
            IndexOperand::Size(size) => Some(size),
            IndexOperand::Zero => None,
        };
        if let Some(&at) = self.sizes.get(&size) {
            return Ok(at);
        }
        let to = self.register(8, false);
        self.push(0, size.map_or(Step::Zero { to }, |size| Step::Size { to, size }));
        self.values.push(Some(Value { reg: to, kind: VarType::Index, wide: false, depth: 0, splat: None }));
        self.sizes.insert(size, self.values.len() - 1);
        Ok(self.values.len() - 1)
    }

    /// The register of a value with one element for each element of the block.
    fn widened(&mut self, at: usize) -> Result<Reg> {
        let value = self.value(at)?;
        if value.wide {
            return Ok(value.reg);
        }
        if let Some(splat) = value.splat {
            return Ok(splat);
        }
        let to = self.splat(value.reg, value.depth);
        if let Some(value) = &mut self.values[at] {
            value.splat = Some(to);
        }
        Ok(to)
    }

    // The copy is made where the value is computed, so that an inner loop does not repeat it.
    fn splat(&mut self, from: Reg, depth: usize) -> Reg {
        let to = self.register(self.registers[from.at()].bytes, true);
        let whole = self.scopes[depth].space.is_none();
        self.push(depth, Step::Splat { to, from, whole });
        to
    }

    /// The registers of an operation's operands, wide if any is, with the scope where the last of them is ready.
    fn operands<const N: usize>(&mut self, at: [usize; N]) -> Result<([Reg; N], bool, usize)> {
        let (mut regs, mut wide, mut depth) = ([Reg(0); N], false, 0);
        for &at in &at {
            let value = self.value(at)?;
            wide |= value.wide;
            depth = depth.max(value.depth);
        }
        for (reg, &at) in regs.iter_mut().zip(&at) {
            *reg = if wide { self.widened(at)? } else { self.value(at)?.reg };
        }
        Ok((regs, wide, depth))
    }

    fn result(&mut self, kind: VarType, wide: bool, depth: usize) -> Value {
        let bytes = match kind {
            VarType::Value(dtype) => register_bytes(dtype),
            VarType::Index => 8,
        };
        Value { reg: self.register(bytes, wide), kind, wide, depth, splat: None }
    }

    fn apply1(&mut self, run: super::ops::apply::Fn1, kind: VarType, a: usize) -> Result<Value> {
        let ([a], wide, depth) = self.operands([a])?;
        let value = self.result(kind, wide, depth);
        self.push(depth, Step::Apply1 { run, to: value.reg, a, wide });
        Ok(value)
    }

    fn apply2(&mut self, run: super::ops::apply::Fn2, kind: VarType, a: usize, b: usize) -> Result<Value> {
        let ([a, b], wide, depth) = self.operands([a, b])?;
        let value = self.result(kind, wide, depth);
        self.push(depth, Step::Apply2 { run, to: value.reg, a, b, wide });
        Ok(value)
    }

    fn apply3(&mut self, run: super::ops::apply::Fn3, kind: VarType, vars: [Var; 3]) -> Result<Value> {
        let ([a, b, c], wide, depth) = self.operands(vars.map(|var| var.0 as usize))?;
        let value = self.result(kind, wide, depth);
        self.push(depth, Step::Apply3 { run, to: value.reg, a, b, c, wide });
        Ok(value)
    }

    /// Sorts the terms of an affine index; also the scope where all of them are ready.
    fn lower_affine(&mut self, affine: &Affine, buffer: Option<BufferId>) -> Result<(Access, usize)> {
        let mut access = Access { buffer, offset: affine.offset, space: self.space(), ..Access::default() };
        let mut depth = 0;
        let sizes = self.kernel.sizes;
        let known = |size: &SizeId| size.0 < sizes;
        let coefficients = affine.terms.iter().filter_map(|(_, coefficient)| match coefficient {
            lazuli_codegen::Coefficient::One => None,
            lazuli_codegen::Coefficient::Size(size) => Some(size),
        });
        if !affine.offset.iter().chain(coefficients).all(known) {
            return Err(self.malformed("an index with an unknown size"));
        }
        for &(term, coefficient) in &affine.terms {
            match term {
                Term::Axis(axis) => {
                    let Some(at) = self.axis_depth.get(axis.0 as usize).copied().flatten() else {
                        return Err(self.malformed(format_args!("axis {} is not in scope", axis.0)));
                    };
                    depth = depth.max(at);
                    let along = self.space().is_some_and(|space| self.spaces[space].contains(&axis));
                    let terms = if along { &mut access.along } else { &mut access.axes };
                    terms.push((axis, coefficient));
                }
                Term::Var(var) => {
                    let value = self.index_variable(var)?;
                    depth = depth.max(value.depth);
                    let terms = if value.wide { &mut access.wide } else { &mut access.narrow };
                    terms.push((value.reg, coefficient));
                }
            }
        }
        Ok((access, depth))
    }

    fn access(&mut self, access: Access) -> AccessId {
        self.accesses.push(access);
        AccessId(self.accesses.len() as u32 - 1)
    }

    fn push_index(&mut self, mut access: Access, depth: usize) -> Value {
        access.buffer = None;
        let wide = !access.along.is_empty() || !access.wide.is_empty();
        let value = self.result(VarType::Index, wide, depth);
        let access = self.access(access);
        self.push(depth, Step::Index { to: value.reg, access });
        value
    }

    fn buffer(&self, buffer: BufferId, access: BufferAccess) -> Result<DType> {
        match self.kernel.buffers.get(buffer.0 as usize) {
            Some(param) if param.access == access => Ok(param.dtype),
            _ => Err(self.malformed(format_args!("buffer {} is unknown or not {access:?}", buffer.0))),
        }
    }

    fn lower_load(&mut self, buffer: BufferId, at: &Affine) -> Result<Value> {
        let dtype = self.buffer(buffer, BufferAccess::Read)?;
        let (access, ready) = self.lower_affine(at, Some(buffer))?;
        // Only out of the body: a loop may run no time at all, and its loads may then be out of bounds.
        let depth = if ready == 0 && self.depth() == 1 { 0 } else { self.depth() };
        let wide = !access.along.is_empty() || !access.wide.is_empty();
        let to = self.register(dtype.size_bytes(), wide);
        if access.wide.is_empty() {
            let access = self.access(access);
            self.push(depth, Step::Load { to, access });
        } else {
            let index = self.push_index(access, ready);
            self.push(depth, Step::Gather { to, buffer, index: index.reg });
        }
        let kind = VarType::Value(dtype);
        let loaded = Value { reg: to, kind, wide, depth, splat: None };
        if !dtype.is_half() {
            return Ok(loaded);
        }
        let value = self.result(kind, wide, depth);
        self.push(depth, Step::Apply1 { run: cast::widen(dtype), to: value.reg, a: to, wide });
        Ok(value)
    }

    fn lower_store(&mut self, buffer: BufferId, at: &Affine, var: Var) -> Result<()> {
        let dtype = self.buffer(buffer, BufferAccess::Write)?;
        let (value, held) = self.element(var)?;
        let (access, ready) = self.lower_affine(at, Some(buffer))?;
        let wide = !access.along.is_empty() || !access.wide.is_empty();
        if held != dtype || (value.wide && !wide) {
            return Err(self.malformed(format_args!("a store of {held} to buffer {} of {dtype}", buffer.0)));
        }
        let depth = self.depth();
        let (mut from, mut from_depth) = (value.reg, value.depth);
        if dtype.is_half() {
            from = self.register(2, value.wide);
            self.push(from_depth, Step::Apply1 { run: cast::narrow(dtype), to: from, a: value.reg, wide: value.wide });
        }
        if wide && !value.wide {
            from = self.splat(from, from_depth);
            from_depth = usize::MAX;
        }
        if !access.wide.is_empty() {
            let index = self.push_index(access, ready);
            self.push(depth, Step::Scatter { from, buffer, index: index.reg });
            return Ok(());
        }
        // A narrow index variable may be computed after the value.
        let aim = wide && from_depth == depth && access.narrow.is_empty();
        let access = self.access(access);
        if aim {
            self.aim(from, access);
        }
        self.push(depth, Step::Store { from, access });
        Ok(())
    }

    fn aim(&mut self, to: Reg, access: AccessId) {
        let Some(scope) = self.scopes.last_mut() else { return };
        let computes = |step: &Step| match step {
            Step::Apply1 { to: reg, .. } | Step::Apply2 { to: reg, .. } | Step::Apply3 { to: reg, .. } => *reg == to,
            _ => false,
        };
        let Some(at) = scope.steps.iter().rposition(computes) else { return };
        // Stored twice: the first place takes it, the second gets a copy.
        if at == 0 || !matches!(scope.steps[at - 1], Step::Aim { to: reg, .. } if reg == to) {
            scope.steps.insert(at, Step::Aim { to, access });
        }
    }

    fn lower_reduce(&mut self, reduce: &Reduce) -> Result<()> {
        let outer = self.depth();
        let tree_fold = self.points && outer == 1;
        if !tree_fold && reduce.tree != Tree::SERIAL {
            return Err(self.malformed("a reduction tree where only a plain loop may stand"));
        }
        if !reduce.tree.lanes.is_power_of_two() || !reduce.tree.width.is_power_of_two() {
            return Err(self.malformed("a reduction tree whose sides are no powers of two"));
        }
        self.check_span(reduce.span)?;
        let space = if tree_fold {
            self.spaces.push(reduce.axes.clone());
            Some(self.spaces.len() - 1)
        } else {
            self.space()
        };
        self.scopes.push(Scope { steps: Vec::new(), space });
        for &axis in &reduce.axes {
            self.enter_axis(axis, outer + 1)?;
        }
        self.lower_body(&reduce.body)?;
        let mut folded = Vec::new();
        for fold in &reduce.folds {
            let (value, dtype) = self.element(fold.value)?;
            let kind = self.declared(fold.result)?;
            let Some(ops) = fold_ops(fold.op, dtype).filter(|_| kind == value.kind) else {
                return Err(self.malformed(format_args!("{} of {dtype}", fold.op.name())));
            };
            let reg = if tree_fold { self.widened(fold.value.0 as usize)? } else { value.reg };
            folded.push((fold.result, reg, kind, ops, value.wide && !tree_fold));
        }
        for &axis in &reduce.axes {
            self.axis_depth[axis.0 as usize] = None;
        }
        let body = self.scopes.pop().unwrap_or_default().steps;
        // What the body computed is out of scope, save what was hoisted.
        for value in self.values.iter_mut().filter(|value| value.is_some_and(|value| value.depth > outer)) {
            *value = None;
        }
        let mut accumulators = Vec::new();
        for &(result, _, kind, _, wide) in &folded {
            let value = self.result(kind, wide, outer);
            if tree_fold {
                self.registers[value.reg.at()].count = reduce.tree.accumulators() as usize;
            }
            self.values[result.0 as usize] = Some(value);
            accumulators.push(value.reg);
        }
        let folds = folded.into_iter().zip(accumulators);
        let step = match space {
            Some(space) if tree_fold => Step::Tree(Box::new(TreeFold {
                space,
                span: reduce.span,
                lanes: reduce.tree.lanes as usize,
                width: reduce.tree.width as usize,
                body,
                folds: folds.map(|((_, value, _, ops, _), acc)| (acc, value, ops)).collect(),
            })),
            _ => Step::Loop(Box::new(Loop {
                axes: reduce.axes.clone(),
                span: reduce.span,
                body,
                folds: folds.map(|((_, value, _, ops, wide), acc)| LoopFold { acc, value, ops, wide }).collect(),
            })),
        };
        self.push(outer, step);
        Ok(())
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
