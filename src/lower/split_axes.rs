//! More loops, fewer divisions: an axis whose index is divided by a number that divides its extent becomes two axes, the
//! quotient and the remainder.
//!
//! A reshape of a transposed matrix is read at `i / n` and `i % n`; split, it is read like any transposed matrix. Runs
//! before axes are merged: what the split does not serve, that undoes.

use lazuli_codegen::{AxisId, Term, Var};

use super::draft::{Draft, DraftExpr, DraftStmt, TOP};
use super::draft::{vars_of_expr, vars_of_index};
use super::linear::Linear;

/// The shortest inner axis that is made: a shorter one would leave rows too short to fill groups and vectors.
const SHORTEST_ROW: i64 = 32;

/// Splits parallel axes until no division of one comes out even.
pub fn split_axes(draft: &mut Draft) {
    let mut is_split = false;
    while let Some((axis, divisor)) = find(draft) {
        split(draft, axis, divisor);
        is_split = true;
    }
    // An index that nothing uses any more would still keep axes from being merged.
    while is_split {
        is_split = drop_unused(draft);
    }
}

/// Drops index variables that nothing uses; true where there were some.
fn drop_unused(draft: &mut Draft) -> bool {
    let mut is_used = vec![false; draft.vars.len()];
    for scope in &draft.scopes {
        let folds = scope.repeat.iter().flat_map(|repeat| &repeat.passes).flat_map(|pass| &pass.folds);
        folds.for_each(|fold| is_used[fold.value.0 as usize] = true);
        for stmt in &scope.body {
            let uses = match stmt {
                DraftStmt::Let(_, expr) => vars_of_expr(expr),
                DraftStmt::Store(_, at, value) => vars_of_index(at).chain([*value]).collect(),
                DraftStmt::Reduce(..) | DraftStmt::Loop(_) => Vec::new(),
            };
            uses.into_iter().for_each(|var| is_used[var.0 as usize] = true);
        }
    }
    let is_unused = |stmt: &DraftStmt| match stmt {
        DraftStmt::Let(var, DraftExpr::Index(_) | DraftExpr::IndexBinary(..)) => !is_used[var.0 as usize],
        _ => false,
    };
    let mut dropped = false;
    for scope in &mut draft.scopes {
        let before = scope.body.len();
        scope.body.retain(|stmt| !is_unused(stmt));
        dropped |= scope.body.len() < before;
    }
    dropped
}

/// A parallel axis that is divided, and by what.
fn find(draft: &Draft) -> Option<(AxisId, i64)> {
    let chunks = |axis: AxisId| {
        let mut repeats = draft.scopes.iter().filter_map(|scope| scope.repeat.as_ref());
        repeats.any(|repeat| repeat.chunk.is_some_and(|(own, _)| own == axis))
    };
    draft.vars.iter().filter_map(|var| var.division.as_ref()).find_map(|division| {
        let axis = single_axis(&division.dividend).filter(|axis| draft.parallel.contains(axis) && !chunks(*axis))?;
        let (extent, divisor) = (draft.extents[axis.0 as usize], division.divisor);
        (divisor >= SHORTEST_ROW && extent > divisor && extent % divisor == 0).then_some((axis, divisor))
    })
}

/// The axis that an index is.
fn single_axis(index: &Linear) -> Option<AxisId> {
    match (&index.terms[..], index.constant) {
        ([(Term::Axis(axis), 1)], 0) => Some(*axis),
        _ => None,
    }
}

fn split(draft: &mut Draft, axis: AxisId, divisor: i64) {
    let extent = draft.extents[axis.0 as usize];
    let (outer, inner) = (draft.new_axis(extent / divisor, TOP), draft.new_axis(divisor, TOP));
    draft.parallel =
        draft.parallel.iter().flat_map(|&own| if own == axis { vec![outer, inner] } else { vec![own] }).collect();
    // The results of the division, now axes.
    let mut results: Vec<(Var, AxisId)> = Vec::new();
    for number in 0..draft.vars.len() {
        let Some(division) = &draft.vars[number].division else { continue };
        if single_axis(&division.dividend) == Some(axis) && division.divisor == divisor {
            results.push((Var(number as u32), if division.is_quotient { outer } else { inner }));
        }
    }
    for (var, _) in &results {
        draft.vars[var.0 as usize].division = None;
    }
    for stmt in draft.scopes.iter_mut().flat_map(|scope| &mut scope.body) {
        if let DraftStmt::Let(var, expr) = stmt
            && let Some((_, axis)) = results.iter().find(|(result, _)| result == var)
        {
            *expr = DraftExpr::Index(Linear::axis(*axis));
        }
    }
    let replace = |index: &mut Linear| {
        let factor = index.factor(Term::Axis(axis));
        index.add_term(Term::Axis(axis), -factor);
        index.add_term(Term::Axis(outer), factor * divisor);
        index.add_term(Term::Axis(inner), factor);
        for (var, axis) in &results {
            let factor = index.factor(Term::Var(*var));
            index.add_term(Term::Var(*var), -factor);
            index.add_term(Term::Axis(*axis), factor);
        }
    };
    draft.for_each_index_mut(replace);
    draft.vars.iter_mut().filter_map(|var| var.division.as_mut()).for_each(|division| replace(&mut division.dividend));
}
