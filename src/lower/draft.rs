//! A kernel being built: the IR with numbers where the finished kernel has launch arguments.

use lazuli_codegen::{AxisId, DType, Expr, Fold, IndexOp, Term, Tree, Var, VarType};
use rustc_hash::FxHashMap;

use super::linear::Linear;
use crate::fuse::flow::ValueId;

/// The kernel under construction.
#[derive(Default)]
pub struct Draft {
    /// Extent of each axis.
    pub extents: Vec<i64>,
    /// The scope each axis belongs to.
    pub axis_scopes: Vec<ScopeId>,
    /// Parallel axes, outermost first; none has extent one.
    pub parallel: Vec<AxisId>,
    /// Every variable.
    pub vars: Vec<VarInfo>,
    /// The top level, and the body of each reduction.
    pub scopes: Vec<Scope>,
    /// Values read from memory; the first buffers.
    pub reads: Vec<ValueId>,
    /// Values written; the buffers after those.
    pub writes: Vec<ValueId>,
    /// Gathers whose indices are checked, in the order of their sites.
    pub sites: Vec<ValueId>,
    /// Scalar slots used, with the types of their values.
    pub scalars: Vec<(u32, DType)>,
    /// Names of the operations, in order, for the kernel's name.
    pub names: Vec<&'static str>,
    /// Where groups combine what they folded: how.
    pub combined: Option<Combined>,
}

/// How the chunks of rows that groups fold are combined in one launch.
#[derive(Clone, Copy)]
pub struct Combined {
    /// The parallel axis that counts the chunks, the outermost.
    pub axis: AxisId,
    /// How the chunks' results are folded.
    pub tree: Tree,
    /// True where the chunks' results lie next to each other, false where those of neighbouring points do.
    pub along_rows: bool,
}

/// Number of a scope in [`Draft::scopes`].
pub type ScopeId = usize;

/// The top level.
pub const TOP: ScopeId = 0;

/// A variable.
pub struct VarInfo {
    /// What it holds.
    pub of: VarType,
    /// The innermost scope that it depends on, where it is assigned.
    pub scope: ScopeId,
    /// Least and greatest value of an index.
    pub range: (i64, i64),
    /// Where it is a quotient or remainder: the dividend, the divisor, and the variable of the other.
    pub division: Option<Division>,
}

/// How an index variable came out of a division.
#[derive(Clone)]
pub struct Division {
    /// What was divided.
    pub dividend: Linear,
    /// By what.
    pub divisor: i64,
    /// The other result: the remainder of a quotient, the quotient of a remainder.
    pub partner: Var,
    /// True for the quotient.
    pub is_quotient: bool,
}

/// Statements of the top level or of a loop's body.
pub struct Scope {
    /// The scope around it.
    pub parent: ScopeId,
    /// Reductions around it.
    pub depth: u32,
    /// What is run, in any order that respects uses.
    pub body: Vec<DraftStmt>,
    /// The loop whose body it is; `None` for the top level.
    pub repeat: Option<Repeat>,
}

/// A loop under construction: one or more passes over the same elements, of which each but perhaps the last folds values.
pub struct Repeat {
    /// Axes looped over, outermost first.
    pub axes: Vec<AxisId>,
    /// The parallel axis that counts chunks, and their length.
    pub chunk: Option<(AxisId, i64)>,
    /// How values combine.
    pub tree: Tree,
    /// True where the fastest axis in memory is one of the loop's.
    pub along_rows: bool,
    /// What each reducing pass folds, and the depth of its reductions: later passes use the results of earlier ones.
    pub passes: Vec<Pass>,
}

/// One reduction over a loop's elements.
pub struct Pass {
    /// Reductions on the longest way to data.
    pub depth: u32,
    /// What is folded.
    pub folds: Vec<Fold>,
    /// What is folded of the results of chunks, where groups combine them.
    pub combined: Vec<Fold>,
}

impl Pass {
    /// The folds whose results are for use.
    pub fn results(&self) -> &[Fold] {
        if self.combined.is_empty() { &self.folds } else { &self.combined }
    }
}

/// A statement.
pub enum DraftStmt {
    /// Names a value.
    Let(Var, DraftExpr),
    /// Writes an element of `writes[..]`.
    Store(usize, Linear, Var),
    /// Runs a reducing pass over the loop of a scope.
    Reduce(ScopeId, usize),
    /// Runs the stores of a scope, in a last pass over its loop.
    Loop(ScopeId),
}

/// A value.
pub enum DraftExpr {
    /// Reads an element of `reads[..]`.
    Load(usize, Linear),
    /// An index.
    Index(Linear),
    /// Arithmetic of an index and a number.
    IndexBinary(IndexOp, Var, i64),
    /// An element as an index along an axis of this extent, checked for `sites[..]`.
    CheckedIndex(Var, i64, usize),
    /// What has no numbers in it.
    Plain(Expr),
}

impl Draft {
    /// Least and greatest value of a term.
    pub fn range(&self, term: Term) -> (i64, i64) {
        match term {
            Term::Axis(axis) => (0, (self.extents[axis.0 as usize] - 1).max(0)),
            Term::Var(var) => self.vars[var.0 as usize].range,
        }
    }

    /// The innermost scope that an index depends on.
    pub fn scope_of(&self, index: &Linear) -> ScopeId {
        index.terms.iter().fold(TOP, |scope, (term, _)| {
            let own = match term {
                Term::Axis(axis) => self.axis_scopes[axis.0 as usize],
                Term::Var(var) => self.vars[var.0 as usize].scope,
            };
            self.inner(scope, own)
        })
    }

    /// The innermost scope that some indices depend on.
    pub fn scope_of_all(&self, indices: &[Linear]) -> ScopeId {
        indices.iter().fold(TOP, |scope, index| self.inner(scope, self.scope_of(index)))
    }

    /// The inner one of two scopes, one of which is inside the other.
    pub fn inner(&self, a: ScopeId, b: ScopeId) -> ScopeId {
        if self.scopes[b].depth > self.scopes[a].depth { b } else { a }
    }

    /// A new variable.
    pub fn new_var(&mut self, of: VarType, scope: ScopeId, range: (i64, i64)) -> Var {
        self.vars.push(VarInfo { of, scope, range, division: None });
        Var(self.vars.len() as u32 - 1)
    }

    /// Names a value in a scope.
    pub fn assign(&mut self, scope: ScopeId, var: Var, expr: DraftExpr) {
        self.scopes[scope].body.push(DraftStmt::Let(var, expr));
    }

    /// A new axis in a scope.
    pub fn new_axis(&mut self, extent: i64, scope: ScopeId) -> AxisId {
        self.extents.push(extent);
        self.axis_scopes.push(scope);
        AxisId(self.extents.len() as u32 - 1)
    }

    /// True where a variable is computed from another, at whatever distance.
    pub fn depends(&self, var: Var, on: Var) -> bool {
        let mut uses: FxHashMap<Var, Vec<Var>> = FxHashMap::default();
        for stmt in self.scopes.iter().flat_map(|scope| &scope.body) {
            match stmt {
                DraftStmt::Let(var, expr) => drop(uses.insert(*var, vars_of_expr(expr))),
                DraftStmt::Reduce(scope, pass) => {
                    let passes = self.scopes[*scope].repeat.iter().map(|repeat| &repeat.passes[*pass]);
                    let folds = passes.flat_map(|pass| pass.folds.iter().chain(&pass.combined));
                    folds.for_each(|fold| drop(uses.insert(fold.result, vec![fold.value])));
                }
                DraftStmt::Store(..) | DraftStmt::Loop(_) => {}
            }
        }
        let mut worklist = vec![var];
        while let Some(var) = worklist.pop() {
            if var == on {
                return true;
            }
            // Taken out, so that each is followed once.
            worklist.extend(uses.remove(&var).unwrap_or_default());
        }
        false
    }

    /// Calls `visit` with every index in the kernel.
    pub fn for_each_index(&self, mut visit: impl FnMut(&Linear)) {
        for scope in &self.scopes {
            for stmt in &scope.body {
                match stmt {
                    DraftStmt::Let(_, DraftExpr::Load(_, index) | DraftExpr::Index(index)) => visit(index),
                    DraftStmt::Store(_, index, _) => visit(index),
                    DraftStmt::Let(
                        _,
                        DraftExpr::IndexBinary(..) | DraftExpr::CheckedIndex(..) | DraftExpr::Plain(_),
                    )
                    | DraftStmt::Reduce(..)
                    | DraftStmt::Loop(_) => {}
                }
            }
        }
    }

    /// Calls `change` with every index in the kernel.
    pub fn for_each_index_mut(&mut self, mut change: impl FnMut(&mut Linear)) {
        for scope in &mut self.scopes {
            for stmt in &mut scope.body {
                match stmt {
                    DraftStmt::Let(_, DraftExpr::Load(_, index) | DraftExpr::Index(index)) => change(index),
                    DraftStmt::Store(_, index, _) => change(index),
                    DraftStmt::Let(
                        _,
                        DraftExpr::IndexBinary(..) | DraftExpr::CheckedIndex(..) | DraftExpr::Plain(_),
                    )
                    | DraftStmt::Reduce(..)
                    | DraftStmt::Loop(_) => {}
                }
            }
        }
    }
}

/// The variables of an index.
pub fn vars_of_index(index: &Linear) -> impl Iterator<Item = Var> {
    index.terms.iter().filter_map(|(term, _)| match term {
        Term::Var(var) => Some(*var),
        Term::Axis(_) => None,
    })
}

/// The variables that a value is computed from.
pub fn vars_of_expr(expr: &DraftExpr) -> Vec<Var> {
    match expr {
        DraftExpr::Load(_, at) | DraftExpr::Index(at) => vars_of_index(at).collect(),
        DraftExpr::IndexBinary(_, var, _) | DraftExpr::CheckedIndex(var, ..) => vec![*var],
        DraftExpr::Plain(expr) => {
            let mut vars = Vec::new();
            expr.for_each_var(|var| vars.push(var));
            vars
        }
    }
}
