//! Kernels whose points hand in values to be folded together: what they ask of a device, and how two launches do the same.

use crate::{
    Access, Affine, AxisId, Combine, Expr, Kernel, LaneOrder, Placement, Reduce, Schedule, Span, Stmt, Term, Tree, Var,
};

impl Kernel {
    /// The first place where points hand in values, if there is one.
    pub fn combine(&self) -> Option<&Combine> {
        self.body.iter().find_map(combine)
    }

    /// True where groups must wait for each other: something after the first [`Combine`] depends on the axis it combines.
    pub fn waits(&self) -> bool {
        let Some(first) = self.body.iter().position(|stmt| combine(stmt).is_some()) else { return false };
        let axis = self.combine().map(|own| own.axis);
        let mut varying = vec![false; self.vars.len()];
        let mut later = false;
        for (number, stmt) in self.body.iter().enumerate() {
            let depends = mark_varying(stmt, axis, &mut varying);
            later |= number > first && depends;
        }
        later
    }
}

fn combine(stmt: &Stmt) -> Option<&Combine> {
    match stmt {
        Stmt::Combine(own) => Some(own),
        Stmt::Let { .. } | Stmt::Store { .. } | Stmt::Reduce(_) | Stmt::Loop(_) => None,
    }
}

/// Marks the variables that differ along an axis; true where the statement depends on it at all.
fn mark_varying(stmt: &Stmt, axis: Option<AxisId>, varying: &mut [bool]) -> bool {
    let differs = |at: &Affine, varying: &[bool]| {
        at.terms.iter().any(|(term, _)| match term {
            Term::Axis(own) => Some(*own) == axis,
            Term::Var(var) => varying[var.0 as usize],
        })
    };
    let spans = |span: &Span| matches!(span, Span::Chunk { axis: own, .. } if Some(*own) == axis);
    match stmt {
        Stmt::Let { var, expr } => {
            let mut depends = false;
            match expr {
                Expr::Load { at, .. } | Expr::Index(at) => depends = differs(at, varying),
                other => other.for_each_var(|used| depends |= varying[used.0 as usize]),
            }
            varying[var.0 as usize] = depends;
            depends
        }
        Stmt::Store { at, value, .. } => differs(at, varying) || varying[value.0 as usize],
        // Its results are the same for all, and what it folds differs by its nature.
        Stmt::Combine(_) => false,
        Stmt::Reduce(Reduce { span, body, folds, .. }) => {
            let mut depends = spans(span);
            for stmt in body {
                depends |= mark_varying(stmt, axis, varying);
            }
            folds.iter().for_each(|fold| varying[fold.result.0 as usize] = depends);
            depends
        }
        Stmt::Loop(own) => {
            let mut depends = spans(&own.span);
            for stmt in &own.body {
                depends |= mark_varying(stmt, axis, varying);
            }
            depends
        }
    }
}

/// Two kernels of the same parameters that, launched one after the other, do what one does whose points combine and need
/// not wait, to the last bit: the first hands in the values, the second folds them and goes on.
pub fn split_combine(kernel: &Kernel, schedule: Schedule) -> Option<[(Kernel, Schedule); 2]> {
    let place = kernel.body.iter().position(|stmt| combine(stmt).is_some())?;
    let own = combine(&kernel.body[place])?.clone();
    if kernel.waits() {
        return None;
    }
    let access = |kernel: &mut Kernel, access: Access| {
        for buffer in &own.partials {
            kernel.buffers[buffer.0 as usize].access = access;
        }
    };
    let mut first = kernel.clone();
    access(&mut first, Access::Write);
    first.body.truncate(place);
    for (fold, buffer) in own.folds.iter().zip(&own.partials) {
        first.body.push(Stmt::Store { buffer: *buffer, at: own.at.clone(), value: fold.value, wide: false });
    }
    let mut second = kernel.clone();
    access(&mut second, Access::Read);
    second.parallel.retain(|axis| *axis != own.axis);
    let mut folds = own.folds.clone();
    let mut body = Vec::new();
    for (fold, buffer) in folds.iter_mut().zip(&own.partials) {
        fold.value = Var(second.vars.len() as u32);
        second.vars.push(second.vars[fold.result.0 as usize]);
        body.push(Stmt::Let { var: fold.value, expr: Expr::Load { buffer: *buffer, at: own.at.clone(), wide: false } });
    }
    let fold = Stmt::Reduce(Reduce { axes: vec![own.axis], span: Span::Whole, tree: own.tree, body, folds });
    let after = second.body.split_off(place + 1);
    // What the point computed for itself before is computed again, where it is used.
    second.body.retain(|stmt| matches!(stmt, Stmt::Let { .. }));
    second.body.push(fold);
    second.body.extend(after);
    drop_unused(&mut second.body);
    Some([(first, schedule), (second, fold_schedule(own.tree))])
}

/// How a device runs a fold of rows by itself.
fn fold_schedule(tree: Tree) -> Schedule {
    match tree {
        Tree::SERIAL => Schedule::Map { group: 1, width: 1, placement: Placement::Linear },
        tree => Schedule::Group { tree, points: 1, lane_order: LaneOrder::LanesFastest, steps: 0 },
    }
}

/// Drops the top level's names that nothing uses.
fn drop_unused(body: &mut Vec<Stmt>) {
    let mut used: Vec<Var> = Vec::new();
    let mut kept = Vec::new();
    for stmt in body.drain(..).rev() {
        if let Stmt::Let { var, .. } = &stmt
            && !used.contains(var)
        {
            continue;
        }
        stmt.for_each_use(&mut |var| used.push(var));
        kept.push(stmt);
    }
    body.extend(kept.into_iter().rev());
}
