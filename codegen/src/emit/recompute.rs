//! Values that later loops use: which of them are computed again, written into the kernel as such.
//!
//! What is left for a later loop to use of an earlier one is kept by the thread; under `Schedule::Map` and without a bound
//! on the steps nothing is.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use super::elements::Elements;
use super::group::Group;
use crate::{Expr, Kernel, Loop, Reduce, Schedule, Stmt, Var};

/// The kernel in which every loop computes for itself what is not kept for it. The new variables come after the old ones.
pub(super) fn recompute<'a>(kernel: &'a Kernel, schedule: &Schedule) -> Cow<'a, Kernel> {
    let homes = homes(kernel);
    let group = Group::of(schedule);
    let is_again = |var: Var| {
        let (number, position) = homes[&var];
        match (group, elements(kernel, number).map(|elements| &elements.body[position])) {
            (Some(group), Some(stmt)) if group.steps > 0 => is_cheap(kernel, stmt, &group),
            _ => true,
        }
    };
    let mut changed: Option<Kernel> = None;
    for (number, stmt) in kernel.body.iter().enumerate() {
        if Elements::of(stmt).is_none() {
            continue;
        }
        let is_foreign = |var: &Var| homes.get(var).is_some_and(|&(home, _)| home != number);
        let mut wanted: Vec<Var> = used_by(stmt).into_iter().filter(|var| is_foreign(var) && is_again(*var)).collect();
        if wanted.is_empty() {
            continue;
        }
        // What they are computed from, in the order of the kernel.
        let mut definitions = BTreeSet::new();
        while let Some(var) = wanted.pop() {
            let (home, position) = homes[&var];
            if definitions.insert((home, position)) {
                let Some(elements) = elements(kernel, home) else { continue };
                wanted.extend(used_by(&elements.body[position]).into_iter().filter(|var| homes.contains_key(var)));
            }
        }
        let kernel_again = changed.get_or_insert_with(|| kernel.clone());
        let mut fresh: HashMap<Var, Var> = HashMap::new();
        let mut body = Vec::new();
        for (home, position) in definitions {
            let Some(elements) = elements(kernel, home) else { continue };
            let definition = &elements.body[position];
            for var in defined(definition) {
                fresh.insert(var, Var(kernel_again.vars.len() as u32));
                kernel_again.vars.push(kernel.vars[var.0 as usize]);
            }
            body.push(definition.clone());
        }
        let mut again = stmt.clone();
        for stmt in body.iter_mut().chain([&mut again]) {
            stmt.for_each_var_mut(&mut |var| *var = fresh.get(var).copied().unwrap_or(*var));
        }
        match &mut again {
            Stmt::Reduce(Reduce { body: own, .. }) | Stmt::Loop(Loop { body: own, .. }) => drop(own.splice(0..0, body)),
            Stmt::Let { .. } | Stmt::Store { .. } | Stmt::Combine(_) => {}
        }
        kernel_again.body[number] = again;
    }
    changed.map_or(Cow::Borrowed(kernel), Cow::Owned)
}

/// By variable that a top-level loop assigns for each element: the numbers of the loop and of the statement in its body.
fn homes(kernel: &Kernel) -> HashMap<Var, (usize, usize)> {
    let mut homes = HashMap::new();
    for (number, stmt) in kernel.body.iter().enumerate() {
        let Some(elements) = Elements::of(stmt) else { continue };
        for (position, stmt) in elements.body.iter().enumerate() {
            homes.extend(stmt.assigned().map(|var| (var, (number, position))));
        }
    }
    homes
}

fn elements(kernel: &Kernel, number: usize) -> Option<Elements<'_>> {
    Elements::of(&kernel.body[number])
}

/// True where computing a value again takes no more than fetching what was kept: arithmetic on indices, and on a CPU a
/// plain load of a neighbour, for its private array lies in memory too.
fn is_cheap(kernel: &Kernel, stmt: &Stmt, group: &Group) -> bool {
    match stmt {
        Stmt::Let { expr, .. } => match expr {
            Expr::Load { buffer, wide, .. } => {
                *wide && !group.keeps_registers() && !kernel.buffers[buffer.0 as usize].dtype.is_half()
            }
            Expr::Scalar(_) | Expr::Zero | Expr::Index(_) | Expr::IndexBinary(..) => true,
            Expr::IndexLess(..) | Expr::IndexEqual(..) | Expr::IndexValue(_) => true,
            Expr::Unary(..) | Expr::Binary(..) | Expr::MulAdd(..) | Expr::Select { .. } | Expr::Cast(_) => false,
            Expr::CheckedIndex { .. } | Expr::Call(..) => false,
        },
        Stmt::Store { .. } | Stmt::Reduce(_) | Stmt::Combine(_) | Stmt::Loop(_) => false,
    }
}

/// Every variable a statement uses, in it and in the blocks inside it.
fn used_by(stmt: &Stmt) -> Vec<Var> {
    let mut vars = Vec::new();
    stmt.for_each_use(&mut |var| vars.push(var));
    vars
}

/// Every variable a statement assigns, in it and in the blocks inside it.
fn defined(stmt: &Stmt) -> Vec<Var> {
    let own = stmt.assigned();
    let inner = match stmt {
        Stmt::Reduce(Reduce { body, .. }) | Stmt::Loop(Loop { body, .. }) => body.as_slice(),
        Stmt::Let { .. } | Stmt::Store { .. } | Stmt::Combine(_) => &[],
    };
    own.chain(inner.iter().flat_map(defined)).collect()
}
