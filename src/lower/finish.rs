//! From a draft to a kernel: statements in an order that respects uses, numbers as launch arguments.

use lazuli_codegen::{
    Access, Affine, Axis, AxisId, BufferId, BufferParam, Coefficient, Combine, DType, Expr, IndexOperand, IndexWidth,
    Kernel, Loop, Reduce, Schedule, SizeId, Span, Stmt, Term, Var, VarType,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::draft::{Combined, Draft, DraftExpr, DraftStmt, Pass, Repeat, ScopeId, TOP, vars_of_expr, vars_of_index};
use super::linear::Linear;
use super::schedule::{is_wide, wide_axis};
use super::windows::{Windows, find_windows};
use crate::error::{Error, Result};
use crate::fuse::flow::Flow;

/// Elements that a rounded-up launch may count past the end.
const ROUNDING: i64 = 1 << 16;

/// A kernel and the sizes it is launched with.
pub struct Finished {
    /// The kernel.
    pub kernel: Kernel,
    /// Size arguments.
    pub sizes: Vec<i64>,
    /// Scratch, the last buffers.
    pub scratch: Vec<Scratch>,
}

/// Memory for one launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scratch {
    /// Element type.
    pub dtype: DType,
    /// Elements.
    pub len: usize,
    /// True where it must be all zero before the launch.
    pub is_zeroed: bool,
}

/// Finishes a draft under a schedule.
pub fn finish(draft: &Draft, schedule: Schedule, flow: &Flow) -> Result<Finished> {
    let mut finisher = Finisher {
        draft,
        schedule,
        sizes: Vec::new(),
        numbers: FxHashMap::default(),
        axes: FxHashMap::default(),
        axis_list: Vec::new(),
        definitions: definitions(draft),
        emitted: vec![false; draft.vars.len()],
        scratch: Vec::new(),
        counter: None,
        windows: match (schedule, draft.parallel.iter().rev().nth(1)) {
            (Schedule::Rows { .. }, Some(&axis)) => find_windows(draft, axis),
            _ => None,
        },
    };
    for axis in &draft.parallel {
        finisher.axis(*axis);
    }
    let body = finisher.top()?;
    let index = if fits_i32(draft) { IndexWidth::I32 } else { IndexWidth::I64 };
    let buffer = |access| move |value: &u32| BufferParam { dtype: flow.values[*value as usize].dtype, access };
    let reads = draft.reads.iter().map(buffer(Access::Read));
    let mut buffers: Vec<BufferParam> = reads.chain(draft.writes.iter().map(buffer(Access::Write))).collect();
    if !draft.sites.is_empty() {
        buffers.push(BufferParam { dtype: DType::I32, access: Access::Note });
    }
    buffers.extend(finisher.scratch.iter().map(|scratch| BufferParam {
        dtype: scratch.dtype,
        access: if scratch.is_zeroed { Access::Counter } else { Access::Scratch },
    }));
    let kernel = Kernel {
        name: kernel_name(draft, flow),
        index,
        buffers,
        sizes: finisher.sizes.len() as u32,
        scalars: draft.scalars.iter().map(|(_, dtype)| *dtype).collect(),
        parallel: draft.parallel.iter().map(|axis| finisher.axes[axis]).collect(),
        axes: finisher.axis_list,
        vars: draft.vars.iter().map(|var| var.of).collect(),
        body,
    };
    Ok(Finished { kernel: compact_vars(kernel), sizes: finisher.sizes, scratch: finisher.scratch })
}

struct Finisher<'a> {
    draft: &'a Draft,
    schedule: Schedule,
    sizes: Vec<i64>,
    /// Size arguments already there: one number with one role is one argument.
    numbers: FxHashMap<(Role, i64), SizeId>,
    axes: FxHashMap<AxisId, AxisId>,
    axis_list: Vec<Axis>,
    /// Where each variable is assigned: scope, and place in its body.
    definitions: Vec<Option<(ScopeId, usize)>>,
    emitted: Vec<bool>,
    scratch: Vec<Scratch>,
    /// What groups count in.
    counter: Option<BufferId>,
    /// Reads that rows share, where a thread computes several.
    windows: Option<Windows>,
}

/// What a number is for. Two numbers that are equal at some extents by chance should not share an argument, or each chance
/// would be another kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Role {
    Extent(AxisId),
    Factor(Term),
    Offset,
    ChunkLength,
    Operand(Var),
}

impl Finisher<'_> {
    fn size(&mut self, role: Role, number: i64) -> SizeId {
        let next = SizeId(self.sizes.len() as u32);
        let id = *self.numbers.entry((role, number)).or_insert(next);
        if id == next {
            self.sizes.push(number);
        }
        id
    }

    fn axis(&mut self, axis: AxisId) -> AxisId {
        if let Some(own) = self.axes.get(&axis) {
            return *own;
        }
        let extent = self.size(Role::Extent(axis), self.draft.extents[axis.0 as usize]);
        let own = AxisId(self.axis_list.len() as u32);
        self.axis_list.push(Axis { extent });
        self.axes.insert(axis, own);
        own
    }

    fn affine(&mut self, index: &Linear) -> Affine {
        let offset = (index.constant != 0).then(|| self.size(Role::Offset, index.constant));
        let terms = index
            .terms
            .iter()
            .map(|(term, factor)| {
                let coefficient = match factor {
                    1 => Coefficient::One,
                    _ => Coefficient::Size(self.size(Role::Factor(*term), *factor)),
                };
                let term = match term {
                    Term::Axis(axis) => Term::Axis(self.axis(*axis)),
                    Term::Var(var) => Term::Var(*var),
                };
                (term, coefficient)
            })
            .collect();
        Affine { offset, terms, ahead: None }
    }

    /// The index of a read, which may be told as that of another some rows ahead.
    fn read_affine(&mut self, read: usize, index: &Linear) -> Affine {
        let place = self.windows.as_ref().and_then(|windows| Some((windows.axis, windows.place(read, index)?.clone())));
        match place {
            Some((axis, (first, ahead))) if ahead > 0 => {
                Affine { ahead: Some((self.axis(axis), ahead)), ..self.affine(&first) }
            }
            _ => self.affine(index),
        }
    }

    /// The top level: its stores and last passes, each after what it uses.
    fn top(&mut self) -> Result<Vec<Stmt>> {
        let mut body = Vec::new();
        let draft = self.draft;
        for stmt in &draft.scopes[TOP].body {
            match stmt {
                DraftStmt::Store(..) => self.store(stmt, TOP, &mut body)?,
                DraftStmt::Loop(scope) => {
                    let mut needs = Vec::new();
                    self.needs(stmt, TOP, &mut needs);
                    for var in needs {
                        self.require(var, TOP, &mut body)?;
                    }
                    let Some(repeat) = &draft.scopes[*scope].repeat else {
                        return Err(Error::Internal("a loop without axes".into()));
                    };
                    let axes = repeat.axes.iter().map(|axis| self.axis(*axis)).collect();
                    let span = self.span(repeat);
                    let mut inner = Vec::new();
                    for store in &draft.scopes[*scope].body {
                        self.store(store, *scope, &mut inner)?;
                    }
                    body.push(Stmt::Loop(Loop { axes, span, body: inner }));
                }
                DraftStmt::Let(..) | DraftStmt::Reduce(..) => {}
            }
        }
        Ok(body)
    }

    fn store(&mut self, stmt: &DraftStmt, scope: ScopeId, body: &mut Vec<Stmt>) -> Result<()> {
        if let DraftStmt::Store(write, at, value) = stmt {
            for var in vars_of_index(at).chain([*value]) {
                self.require(var, scope, body)?;
            }
            let wide = self.is_wide(at, scope);
            let buffer = BufferId((self.draft.reads.len() + write) as u32);
            body.push(Stmt::Store { buffer, at: self.affine(at), value: *value, wide });
        }
        Ok(())
    }

    /// Appends what assigns `var`, after all that it uses, where it belongs to this scope and is not there yet. With a
    /// worklist: chains are as long as a kernel's operations.
    fn require(&mut self, var: Var, scope: ScopeId, body: &mut Vec<Stmt>) -> Result<()> {
        let mut stack = vec![(var, false)];
        while let Some((var, is_ready)) = stack.pop() {
            let Some((home, place)) = self.definitions[var.0 as usize] else {
                return Err(Error::Internal("a variable that nothing assigns".into()));
            };
            if home != scope || self.emitted[var.0 as usize] {
                continue;
            }
            let draft = self.draft;
            let stmt = &draft.scopes[home].body[place];
            if !is_ready {
                stack.push((var, true));
                let mut needs = Vec::new();
                self.needs(stmt, home, &mut needs);
                stack.extend(needs.into_iter().rev().map(|need| (need, false)));
                continue;
            }
            match stmt {
                DraftStmt::Let(_, expr) => {
                    let expr = self.expr(expr, scope)?;
                    self.emitted[var.0 as usize] = true;
                    body.push(Stmt::Let { var, expr });
                }
                DraftStmt::Reduce(inner, pass) => self.reduce(*inner, *pass, body)?,
                DraftStmt::Store(..) | DraftStmt::Loop(_) => {
                    return Err(Error::Internal("a store that assigns a variable".into()));
                }
            }
        }
        Ok(())
    }

    fn reduce(&mut self, scope: ScopeId, pass: usize, stmts: &mut Vec<Stmt>) -> Result<()> {
        let draft = self.draft;
        let Some(repeat) = &draft.scopes[scope].repeat else {
            return Err(Error::Internal("a reduction without a loop".into()));
        };
        let axes = repeat.axes.iter().map(|axis| self.axis(*axis)).collect();
        let span = self.span(repeat);
        let pass = &repeat.passes[pass];
        let folds = pass.folds.clone();
        let mut body = Vec::new();
        for fold in &folds {
            self.emitted[fold.result.0 as usize] = true;
            // Assigned already where an earlier pass over these elements needed it.
            self.require(fold.value, scope, &mut body)?;
        }
        stmts.push(Stmt::Reduce(Reduce { axes, span, tree: repeat.tree, body, folds }));
        if !pass.combined.is_empty() {
            stmts.push(self.combine(pass)?);
        }
        Ok(())
    }

    fn span(&mut self, repeat: &Repeat) -> Span {
        match repeat.chunk {
            None => Span::Whole,
            Some((axis, length)) => Span::Chunk { axis: self.axis(axis), length: self.size(Role::ChunkLength, length) },
        }
    }

    /// The results of chunks, folded; with scratch for them.
    fn combine(&mut self, pass: &Pass) -> Result<Stmt> {
        let draft = self.draft;
        let Some(Combined { axis, tree, along_rows }) = draft.combined else {
            return Err(Error::Internal("groups that combine nothing".into()));
        };
        // The points in order of memory: their results are read along the combined axis.
        let mut order: SmallVec<[AxisId; 4]> = draft.parallel.iter().copied().filter(|own| *own != axis).collect();
        order.insert(if along_rows { order.len() } else { 0 }, axis);
        let (mut at, mut points) = (Linear::default(), 1);
        for axis in order.iter().rev() {
            at.add_term(Term::Axis(*axis), points);
            points *= draft.extents[axis.0 as usize];
        }
        let first = draft.reads.len() + draft.writes.len() + usize::from(!draft.sites.is_empty());
        let mut scratch = |dtype, len: i64, is_zeroed| {
            self.scratch.push(Scratch { dtype, len: len as usize, is_zeroed });
            BufferId((first + self.scratch.len() - 1) as u32)
        };
        let mut partials = Vec::new();
        for fold in &pass.combined {
            self.emitted[fold.result.0 as usize] = true;
            let VarType::Value(dtype) = draft.vars[fold.result.0 as usize].of else {
                return Err(Error::Internal("an index that is folded".into()));
            };
            partials.push(scratch(dtype, points, false));
        }
        let counter = match self.counter {
            Some(counter) => counter,
            None => scratch(DType::U32, points / draft.extents[axis.0 as usize].max(1), true),
        };
        self.counter = Some(counter);
        let (axis, at) = (self.axis(axis), self.affine(&at));
        Ok(Stmt::Combine(Combine { axis, tree, folds: pass.combined.clone(), partials, at, counter }))
    }

    /// Variables of `scope` that a statement uses, those inside a loop's body included.
    fn needs(&self, stmt: &DraftStmt, scope: ScopeId, needs: &mut Vec<Var>) {
        let mut within: Vec<Var> = Vec::new();
        match stmt {
            DraftStmt::Let(_, expr) => return needs.extend(vars_of_expr(expr)),
            DraftStmt::Store(_, at, value) => return needs.extend(vars_of_index(at).chain([*value])),
            DraftStmt::Reduce(inner, pass) => {
                within.extend(self.folds(*inner, *pass).map(|fold| fold.value));
            }
            DraftStmt::Loop(inner) => {
                for store in &self.draft.scopes[*inner].body {
                    if let DraftStmt::Store(_, at, value) = store {
                        within.extend(vars_of_index(at).chain([*value]));
                    }
                }
            }
        }
        let mut seen: rustc_hash::FxHashSet<Var> = within.iter().copied().collect();
        while let Some(var) = within.pop() {
            let Some((home, place)) = self.definitions[var.0 as usize] else { continue };
            if self.draft.scopes[home].depth <= self.draft.scopes[scope].depth {
                needs.push(var);
                continue;
            }
            let uses: Vec<Var> = match &self.draft.scopes[home].body[place] {
                DraftStmt::Reduce(nested, pass) => self.folds(*nested, *pass).map(|fold| fold.value).collect(),
                DraftStmt::Let(_, expr) => vars_of_expr(expr),
                DraftStmt::Store(..) | DraftStmt::Loop(_) => Vec::new(),
            };
            within.extend(uses.into_iter().filter(|var| seen.insert(*var)));
        }
    }

    fn folds(&self, scope: ScopeId, pass: usize) -> impl Iterator<Item = &lazuli_codegen::Fold> {
        self.draft.scopes[scope].repeat.iter().flat_map(move |repeat| &repeat.passes[pass].folds)
    }

    fn expr(&mut self, expr: &DraftExpr, scope: ScopeId) -> Result<Expr> {
        Ok(match expr {
            DraftExpr::Load(read, at) => {
                let wide = self.is_wide(at, scope);
                Expr::Load { buffer: BufferId(*read as u32), at: self.read_affine(*read, at), wide }
            }
            DraftExpr::Index(at) => Expr::Index(self.affine(at)),
            DraftExpr::IndexBinary(op, var, number) => {
                let operand = match number {
                    0 => IndexOperand::Zero,
                    _ => IndexOperand::Size(self.size(Role::Operand(*var), *number)),
                };
                Expr::IndexBinary(*op, IndexOperand::Var(*var), operand)
            }
            DraftExpr::CheckedIndex(value, extent, site) => Expr::CheckedIndex {
                value: *value,
                extent: self.size(Role::Operand(*value), *extent),
                // After those that are read and written.
                notes: BufferId((self.draft.reads.len() + self.draft.writes.len()) as u32),
                site: *site as u32,
            },
            DraftExpr::Plain(expr) => expr.clone(),
        })
    }

    fn is_wide(&self, at: &Linear, scope: ScopeId) -> bool {
        wide_axis(self.draft, self.schedule, scope, at).is_some_and(|(axis, width)| is_wide(at, axis, width))
    }
}

/// Where each variable is assigned.
fn definitions(draft: &Draft) -> Vec<Option<(ScopeId, usize)>> {
    let mut definitions = vec![None; draft.vars.len()];
    for (number, scope) in draft.scopes.iter().enumerate() {
        for (place, stmt) in scope.body.iter().enumerate() {
            match stmt {
                DraftStmt::Let(var, _) => definitions[var.0 as usize] = Some((number, place)),
                DraftStmt::Reduce(inner, pass) => {
                    let passes = draft.scopes[*inner].repeat.iter().map(|repeat| &repeat.passes[*pass]);
                    for fold in passes.flat_map(Pass::results) {
                        definitions[fold.result.0 as usize] = Some((number, place));
                    }
                }
                DraftStmt::Store(..) | DraftStmt::Loop(_) => {}
            }
        }
    }
    definitions
}

/// Drops variables that nothing assigns any more, so that the number of dead ones is not part of the key.
fn compact_vars(mut kernel: Kernel) -> Kernel {
    let mut number: FxHashMap<Var, Var> = FxHashMap::default();
    let mut vars: Vec<VarType> = Vec::new();
    for stmt in &mut kernel.body {
        stmt.for_each_var_mut(&mut |var| {
            *var = *number.entry(*var).or_insert_with(|| {
                vars.push(kernel.vars[var.0 as usize]);
                Var(vars.len() as u32 - 1)
            });
        });
    }
    kernel.vars = vars;
    kernel
}

/// True where 32 bits provably hold every index, its partial sums, and the element counters with their rounding.
fn fits_i32(draft: &Draft) -> bool {
    let limit = i64::from(i32::MAX) - ROUNDING;
    let count = |axes: &[AxisId]| axes.iter().fold(1i64, |n, axis| n.saturating_mul(draft.extents[axis.0 as usize]));
    let mut fits = count(&draft.parallel) < limit;
    for scope in &draft.scopes {
        if let Some(repeat) = &scope.repeat {
            // A chunk may end past the last element, by less than its length.
            let chunk = repeat.chunk.map_or(0, |(_, length)| length);
            fits &= count(&repeat.axes).saturating_add(chunk) < limit;
        }
    }
    draft.for_each_index(|index| fits &= index.magnitude(|term| draft.range(term)) < limit);
    for scope in &draft.scopes {
        for stmt in &scope.body {
            if let DraftStmt::Let(var, DraftExpr::IndexBinary(_, _, number) | DraftExpr::CheckedIndex(_, number, _)) =
                stmt
            {
                let (low, high) = draft.vars[var.0 as usize].range;
                fits &= number.saturating_abs() < limit && low > -limit && high < limit;
            }
        }
    }
    fits
}

/// A name made of the first operations and the output's type: `sub_mul_sum_f32`.
fn kernel_name(draft: &Draft, flow: &Flow) -> String {
    const SPELLED: usize = 5;
    let names = &draft.names;
    let mut name = match names.len() {
        0 => "copy".to_string(),
        n if n <= SPELLED + 1 => names.join("_"),
        n => format!("{}_and_{}_more", names[..SPELLED].join("_"), n - SPELLED),
    };
    if let Some(write) = draft.writes.first() {
        name.push('_');
        name.push_str(flow.values[*write as usize].dtype.name());
    }
    name
}
