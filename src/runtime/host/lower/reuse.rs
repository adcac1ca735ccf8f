//! What one pass over the elements of a row leaves for a later one: kept, or computed again.

use std::collections::{BTreeSet, HashMap, HashSet};

use lazuli_codegen::{Affine, AxisId, Coefficient, Expr, Kernel, Span, Stmt, Term, Var};

/// A loop at the top level.
pub struct Pass<'k> {
    /// What it runs over.
    pub axes: &'k [AxisId],
    /// Its statements.
    pub body: &'k [Stmt],
}

/// The pass that a top-level statement is; none for a reduction of chunks, which shares nothing.
pub fn pass(stmt: &Stmt) -> Option<Pass<'_>> {
    match stmt {
        Stmt::Reduce(reduce) if reduce.span == Span::Whole => Some(Pass { axes: &reduce.axes, body: &reduce.body }),
        Stmt::Loop(own) if own.span == Span::Whole => Some(Pass { axes: &own.axes, body: &own.body }),
        _ => None,
    }
}

/// How the passes of a kernel share values.
#[derive(Default)]
pub struct Reuse<'k> {
    /// Variables kept for later passes.
    pub kept: HashSet<Var>,
    /// By number of a top-level statement: kept variables that it uses.
    pub brought: HashMap<usize, Vec<Var>>,
    /// By number of a top-level statement: what it computes again first, in order.
    pub again: HashMap<usize, Vec<&'k Stmt>>,
}

impl<'k> Reuse<'k> {
    /// Sorts the values that later passes use. `is_along` is true of a load whose elements are neighbours in memory or one:
    /// loading it again takes no more than keeping it. Where nothing is to be kept, all is computed again.
    pub fn of(kernel: &'k Kernel, keep: bool, is_along: impl Fn(&Affine, &[AxisId]) -> bool) -> Self {
        let mut homes: HashMap<Var, (usize, usize)> = HashMap::new();
        let mut reuse = Self::default();
        for (number, stmt) in kernel.body.iter().enumerate() {
            let Some(own) = pass(stmt) else { continue };
            let home = |var: &Var| {
                let home = homes.get(var).copied()?;
                pass(&kernel.body[home.0]).filter(|other| other.axes == own.axes).map(|other| (home, other))
            };
            let mut wanted = used_by(stmt);
            let (mut brought, mut again) = (BTreeSet::new(), BTreeSet::new());
            while let Some(var) = wanted.pop() {
                let Some(((home, position), other)) = home(&var) else { continue };
                let definition = &other.body[position];
                let cheap = match definition {
                    Stmt::Let { expr, .. } => is_cheap(expr, |at| is_along(at, own.axes)),
                    _ => false,
                };
                if keep && !cheap {
                    brought.insert(var);
                } else if again.insert((home, position)) {
                    wanted.extend(used_by(definition));
                }
            }
            reuse.kept.extend(&brought);
            reuse.brought.insert(number, brought.into_iter().collect());
            let definition = |(home, position): (usize, usize)| {
                pass(&kernel.body[home]).map(|other: Pass<'k>| &other.body[position])
            };
            reuse.again.insert(number, again.into_iter().filter_map(definition).collect());
            for (position, stmt) in own.body.iter().enumerate() {
                homes.extend(stmt.assigned().map(|var| (var, (number, position))));
            }
        }
        reuse
    }
}

fn is_cheap(expr: &Expr, is_along: impl Fn(&Affine) -> bool) -> bool {
    match expr {
        Expr::Load { at, .. } => is_along(at),
        Expr::Scalar(_) | Expr::Zero | Expr::Index(_) | Expr::IndexBinary(..) => true,
        Expr::IndexLess(..) | Expr::IndexEqual(..) | Expr::IndexValue(_) => true,
        Expr::Unary(..) | Expr::Binary(..) | Expr::MulAdd(..) | Expr::Select { .. } | Expr::Cast(_) => false,
        Expr::Call(..) => false,
        Expr::CheckedIndex { .. } => false,
    }
}

/// True where neighbours along `axis` are neighbours in memory, or one.
pub fn is_near(at: &Affine, axis: Option<AxisId>) -> bool {
    let near = |&(term, by): &(Term, Coefficient)| match term {
        Term::Axis(other) => Some(other) != axis || by == Coefficient::One,
        Term::Var(_) => false,
    };
    at.terms.iter().all(near)
}

/// The variables that a statement uses, at any depth.
fn used_by(stmt: &Stmt) -> Vec<Var> {
    let mut used = Vec::new();
    stmt.for_each_use(&mut |var| used.push(var));
    used
}
