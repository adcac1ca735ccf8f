//! Which variables the parts of a kernel use.

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
}

impl Stmt {
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
}
