//! Which variables the parts of a kernel use and assign, and renaming them.

use crate::{Affine, Expr, IndexOperand, Stmt, Term, Var};

impl Expr {
    /// Calls `visit` with every variable the expression uses.
    pub fn for_each_var(&self, mut visit: impl FnMut(Var)) {
        let mut index = |operand: &IndexOperand| {
            if let IndexOperand::Var(var) = operand {
                visit(*var);
            }
        };
        match self {
            Expr::Load { at, .. } | Expr::Index(at) => at.for_each_var(visit),
            Expr::Scalar(_) | Expr::Zero => {}
            Expr::IndexBinary(_, a, b) | Expr::IndexLess(a, b) | Expr::IndexEqual(a, b) => {
                index(a);
                index(b);
            }
            Expr::IndexValue(a) | Expr::Unary(_, a) | Expr::Cast(a) | Expr::CheckedIndex { value: a, .. } => visit(*a),
            Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|var| visit(*var)),
            Expr::MulAdd(a, b, c) | Expr::Select { condition: a, on_true: b, on_false: c } => {
                [a, b, c].into_iter().for_each(|var| visit(*var));
            }
            Expr::Call(_, arguments) => arguments.iter().for_each(|var| visit(*var)),
        }
    }

    /// Calls `change` with every variable the expression uses.
    fn for_each_var_mut(&mut self, change: &mut dyn FnMut(&mut Var)) {
        let mut index = |operand: &mut IndexOperand| {
            if let IndexOperand::Var(var) = operand {
                change(var);
            }
        };
        match self {
            Expr::Load { at, .. } | Expr::Index(at) => at.for_each_var_mut(change),
            Expr::Scalar(_) | Expr::Zero => {}
            Expr::IndexBinary(_, a, b) | Expr::IndexLess(a, b) | Expr::IndexEqual(a, b) => {
                index(a);
                index(b);
            }
            Expr::IndexValue(a) | Expr::Unary(_, a) | Expr::Cast(a) | Expr::CheckedIndex { value: a, .. } => change(a),
            Expr::Binary(_, a, b) => [a, b].into_iter().for_each(change),
            Expr::MulAdd(a, b, c) | Expr::Select { condition: a, on_true: b, on_false: c } => {
                [a, b, c].into_iter().for_each(change);
            }
            Expr::Call(_, arguments) => arguments.iter_mut().for_each(change),
        }
    }
}

impl Affine {
    /// Calls `visit` with every index variable in it.
    pub fn for_each_var(&self, mut visit: impl FnMut(Var)) {
        for (term, _) in &self.terms {
            if let Term::Var(var) = term {
                visit(*var);
            }
        }
    }

    /// Calls `change` with every index variable in it.
    fn for_each_var_mut(&mut self, change: &mut dyn FnMut(&mut Var)) {
        for (term, _) in &mut self.terms {
            if let Term::Var(var) = term {
                change(var);
            }
        }
    }
}

impl Stmt {
    /// The variables the statement assigns where it stands: those in the blocks inside it are left out.
    pub fn assigned(&self) -> impl Iterator<Item = Var> {
        let (var, folds) = match self {
            Stmt::Let { var, .. } => (Some(*var), [].as_slice()),
            Stmt::Reduce(reduce) => (None, reduce.folds.as_slice()),
            Stmt::Combine(combine) => (None, combine.folds.as_slice()),
            Stmt::Store { .. } | Stmt::Loop(_) => (None, [].as_slice()),
        };
        var.into_iter().chain(folds.iter().map(|fold| fold.result))
    }

    /// Calls `visit` with every variable the statement uses, those in the blocks inside it included.
    pub fn for_each_use(&self, visit: &mut dyn FnMut(Var)) {
        match self {
            Stmt::Let { expr, .. } => expr.for_each_var(visit),
            Stmt::Store { at, value, .. } => {
                at.for_each_var(&mut *visit);
                visit(*value);
            }
            Stmt::Combine(own) => {
                own.at.for_each_var(&mut *visit);
                own.folds.iter().for_each(|fold| visit(fold.value));
            }
            Stmt::Reduce(reduce) => {
                reduce.body.iter().for_each(|stmt| stmt.for_each_use(visit));
                reduce.folds.iter().for_each(|fold| visit(fold.value));
            }
            Stmt::Loop(own) => own.body.iter().for_each(|stmt| stmt.for_each_use(visit)),
        }
    }
    /// Calls `change` with every variable the statement uses or assigns, those in the blocks inside it included, and what
    /// is used before what is assigned.
    pub fn for_each_var_mut(&mut self, change: &mut dyn FnMut(&mut Var)) {
        let folds = match self {
            Stmt::Let { var, expr } => {
                expr.for_each_var_mut(change);
                return change(var);
            }
            Stmt::Store { at, value, .. } => {
                at.for_each_var_mut(change);
                return change(value);
            }
            Stmt::Combine(own) => {
                own.at.for_each_var_mut(change);
                &mut own.folds
            }
            Stmt::Reduce(reduce) => {
                reduce.body.iter_mut().for_each(|stmt| stmt.for_each_var_mut(change));
                &mut reduce.folds
            }
            Stmt::Loop(own) => return own.body.iter_mut().for_each(|stmt| stmt.for_each_var_mut(change)),
        };
        for fold in folds {
            change(&mut fold.value);
            change(&mut fold.result);
        }
    }
}
