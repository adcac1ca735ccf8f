//! Kernel IR to steps: sorts values into wide and narrow, hoists what does not change, refuses what is malformed.

mod folds;
mod memory;
mod operands;
mod reuse;

use std::collections::HashMap;

use lazuli_codegen::{
    Access as BufferAccess, AxisId, BinaryOp, Coefficient, DType, Expr, IndexOperand, Kernel, Schedule, SizeId, Stmt,
    Term, Var, VarType,
};

use self::reuse::{Reuse, is_near};
use super::ops::apply::Fn2;
use super::ops::{binary, cast, index, register_bytes, ternary, unary};
use super::program::{Access, Mode, Program, Reg, Register, Step};
use super::registers::place_registers;
use super::user_function::vector_function;
use crate::error::{Error, Result};

/// How the points and the rows of a kernel become blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Blocks of points; the loops are plain.
    Columns,
    /// Point by point; blocks of a row's elements.
    Points,
    /// Blocks of the elements of several whole rows.
    Rows,
}

/// Makes a kernel ready to run, in the ways that may be the best for some extents; a later one serves where the extents do
/// not suit those before it, the last always.
///
/// Errors: `Internal` where the kernel is malformed.
pub fn lower_kernel(kernel: &Kernel, schedule: Schedule) -> Result<Vec<Program>> {
    let style = match schedule {
        Schedule::Group { .. } => Style::Points,
        Schedule::Map { .. } | Schedule::Rows { .. } | Schedule::Tile { .. } => Style::Columns,
    };
    let mut programs = Vec::new();
    let has_passes = kernel.body.iter().any(|stmt| reuse::pass(stmt).is_some());
    let all_passes = kernel.body.iter().all(|stmt| !matches!(stmt, Stmt::Reduce(_)) || reuse::pass(stmt).is_some());
    if has_passes && all_passes && !kernel.parallel.is_empty() && (style == Style::Points || rows_are_near(kernel)) {
        // What is malformed is reported below.
        programs.extend(lower_as(kernel, Style::Rows, style == Style::Columns, true).ok());
    }
    programs.push(lower_as(kernel, style, style == Style::Columns, true)?);
    if programs.iter().any(|program| program.registers.iter().any(|register| register.kept.is_some())) {
        programs.push(lower_as(kernel, style, style == Style::Columns, false)?);
    }
    Ok(programs)
}

fn lower_as(kernel: &Kernel, style: Style, serial: bool, keep: bool) -> Result<Program> {
    let inner = kernel.parallel.last().copied();
    let reuse = Reuse::of(kernel, keep, |at, axes| match style {
        Style::Columns => is_near(at, inner),
        Style::Points | Style::Rows => is_near(at, axes.last().copied()),
    });
    let mut lowering = Lowering {
        kernel,
        style,
        serial,
        reuse,
        row: None,
        kept: HashMap::new(),
        spread: HashMap::new(),
        scopes: vec![Scope::default(), Scope { steps: Vec::new(), space: (style != Style::Points).then_some(0) }],
        values: vec![None; kernel.vars.len()],
        axis_depth: vec![None; kernel.axes.len()],
        sizes: HashMap::new(),
        registers: Vec::new(),
        spaces: vec![kernel.parallel.clone()],
        rows: Vec::new(),
        accesses: Vec::new(),
        constant: 0,
    };
    if kernel.axes.iter().any(|axis| axis.extent.0 >= kernel.sizes) {
        return Err(malformed(kernel, "an axis whose extent is no size parameter"));
    }
    for &axis in &kernel.parallel {
        lowering.enter_axis(axis, 1)?;
    }
    for (number, stmt) in kernel.body.iter().enumerate() {
        match stmt {
            Stmt::Reduce(reduce) => lowering.lower_reduce(reduce, Some(number))?,
            Stmt::Loop(own) => lowering.lower_pass(own, number)?,
            Stmt::Let { .. } | Stmt::Store { .. } | Stmt::Combine(_) => lowering.lower_stmt(stmt)?,
        }
    }
    let mut program = Program {
        mode: match style {
            Style::Columns => Mode::Blocks { constant: lowering.constant },
            Style::Points => Mode::Points,
            Style::Rows => Mode::Rows,
        },
        registers: lowering.registers,
        spaces: lowering.spaces,
        rows: lowering.rows,
        accesses: lowering.accesses,
        body: lowering.scopes.pop().unwrap_or_default().steps,
        prologue: lowering.scopes.pop().unwrap_or_default().steps,
        narrow_bytes: 0,
        wide_bytes: 0,
        buffers: kernel.buffers.iter().map(|buffer| buffer.dtype).collect(),
        written: kernel.buffers.iter().map(|buffer| buffer.access != BufferAccess::Read).collect(),
    };
    place_registers(&mut program);
    Ok(program)
}

/// True where more accesses of the passes have neighbours along the rows than along the parallel axes.
fn rows_are_near(kernel: &Kernel) -> bool {
    fn count(body: &[Stmt], along: AxisId) -> usize {
        let near = |at: &lazuli_codegen::Affine| usize::from(at.terms.contains(&(Term::Axis(along), Coefficient::One)));
        body.iter()
            .map(|stmt| match stmt {
                Stmt::Let { expr: Expr::Load { at, .. }, .. } | Stmt::Store { at, .. } => near(at),
                Stmt::Let { .. } | Stmt::Combine(_) => 0,
                Stmt::Reduce(reduce) => count(&reduce.body, along),
                Stmt::Loop(own) => count(&own.body, along),
            })
            .sum()
    }
    let passes = || kernel.body.iter().filter_map(reuse::pass);
    let along: usize = passes().filter_map(|pass| Some(count(pass.body, *pass.axes.last()?))).sum();
    let inner = kernel.parallel.last();
    along > passes().filter_map(|pass| Some(count(pass.body, *inner?))).sum()
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
    style: Style,
    /// True where every fold must be a plain loop.
    serial: bool,
    reuse: Reuse<'k>,
    /// The row that the pass being lowered runs over, by number.
    row: Option<usize>,
    /// What earlier passes kept.
    kept: HashMap<Var, Value>,
    /// Of values with one element a row: their copy with one for each element of the rows, in the pass being lowered.
    spread: HashMap<Reg, Reg>,
    scopes: Vec<Scope>,
    /// By variable; sizes used as operands follow.
    values: Vec<Option<Value>>,
    /// The scope that an axis in scope belongs to.
    axis_depth: Vec<Option<usize>>,
    /// The value that holds a size, or zero.
    sizes: HashMap<Option<SizeId>, usize>,
    registers: Vec<Register>,
    spaces: Vec<Vec<AxisId>>,
    rows: Vec<Vec<AxisId>>,
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
        self.registers.push(Register { bytes, wide, count: 1, home: 0, kept: None });
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

    fn lower_stmt(&mut self, stmt: &Stmt) -> Result<()> {
        match stmt {
            Stmt::Let { var, expr } => {
                let kind = self.declared(*var)?;
                let value = self.lower_expr(kind, expr)?;
                if value.kind != kind {
                    return Err(self.malformed(format_args!("variable {} has another type than its value", var.0)));
                }
                self.assign(*var, value);
                Ok(())
            }
            Stmt::Store { buffer, at, value, .. } => self.lower_store(*buffer, at, *value),
            Stmt::Reduce(reduce) => self.lower_reduce(reduce, None),
            Stmt::Loop(_) => Err(self.malformed("a loop inside another")),
            Stmt::Combine(_) => Err(self.malformed("points that wait for each other")),
        }
    }

    /// Brings a variable into scope; where a later pass uses it, its register keeps the whole row.
    fn assign(&mut self, var: Var, value: Value) {
        self.values[var.0 as usize] = Some(value);
        // What is one for the whole row stays as it is. In columns each turn of the loop has another.
        let differs = value.wide || self.style == Style::Columns;
        if value.depth == 2 && self.depth() == 2 && differs && self.reuse.kept.contains(&var) {
            self.registers[value.reg.at()].kept = self.row;
        }
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
            Expr::IndexLess(a, b) => self.index_comparison(BinaryOp::Lt, bool_kind, *a, *b),
            Expr::IndexEqual(a, b) => self.index_comparison(BinaryOp::Eq, bool_kind, *a, *b),
            Expr::IndexValue(var) => {
                let value = self.index_variable(*var)?;
                self.convert(*var, value, DType::I64, dtype)
            }
            Expr::CheckedIndex { value, extent, notes, site } => {
                self.lower_checked_index(*value, *extent, *notes, *site)
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
            Expr::Call(function, arguments) => {
                let run = vector_function(*function)?;
                let operands = arguments.iter().map(|var| self.element(*var).map(|(_, dtype)| dtype));
                let operands = operands.collect::<Result<Vec<DType>>>()?;
                match function.result {
                    Some(result) if function.is_of_values(&operands, result) => {
                        self.apply_function(run, VarType::Value(result), arguments)
                    }
                    _ => Err(self.malformed(format_args!("{} of {operands:?}", function.name()))),
                }
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

    fn index_pair(&mut self, run: Fn2, kind: VarType, a: IndexOperand, b: IndexOperand) -> Result<Value> {
        let (a, b) = (self.index_operand(a)?, self.index_operand(b)?);
        self.apply2(run, kind, a, b)
    }

    fn index_comparison(&mut self, op: BinaryOp, kind: VarType, a: IndexOperand, b: IndexOperand) -> Result<Value> {
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
}
