//! Whether all threads of a group come to its barriers, as far as a kernel's text tells.

use std::collections::HashSet;

use super::ir::{Builtin, Expr, Kernel, Param, Stmt, Var};
use super::walk::{Node, walk};

/// True where some threads of a group may return before a barrier that others come to. Devices that ask all threads to come
/// (OpenCL's) must not run such a kernel. A return that all threads take together, as it hangs on nothing but scalars, lengths
/// and the group, is none.
pub fn may_leave_before_barrier(kernel: &Kernel) -> bool {
    let mut meeting = Meeting { common: HashSet::new(), assigned: HashSet::new() };
    walk(&kernel.body.statements, &mut |node, _| {
        if let Node::Stmt(Stmt::Assign(var, _)) = node {
            meeting.assigned.insert(*var);
        }
    });
    for param in &kernel.params {
        if let Param::Scalar { var } = param {
            meeting.learn(*var);
        }
    }
    meeting.block(&kernel.body.statements, false, false).is_err()
}

struct Meeting {
    /// Variables that have one value in all threads of a group.
    common: HashSet<Var>,
    assigned: HashSet<Var>,
}

/// A barrier to which not all threads come.
struct Alone;

impl Meeting {
    /// Gives whether some threads may have returned at the end, if some may have at the start (`has_left`). `is_apart`: not all
    /// threads may be here.
    fn block(&mut self, statements: &[Stmt], mut has_left: bool, is_apart: bool) -> Result<bool, Alone> {
        for stmt in statements {
            match stmt {
                Stmt::Return(_) => has_left |= is_apart,
                Stmt::Barrier if has_left => return Err(Alone),
                Stmt::Let(var, value) if !is_apart && self.is_common(value) => self.learn(*var),
                Stmt::If { condition, then, otherwise } => {
                    let is_apart = is_apart || !self.is_common(condition);
                    let left = self.block(then, has_left, is_apart)?;
                    has_left = self.block(otherwise, has_left, is_apart)? || left;
                }
                Stmt::For { start, end, body, .. } => {
                    let is_apart = is_apart || !self.is_common(start) || !self.is_common(end) || is_left_early(body);
                    has_left = self.rounds(body, has_left, is_apart)?;
                }
                Stmt::Loop(body) => has_left = self.rounds(body, has_left, true)?,
                _ => {}
            }
        }
        Ok(has_left)
    }

    /// A loop's body: who left in one round is missed in the next.
    fn rounds(&mut self, body: &[Stmt], has_left: bool, is_apart: bool) -> Result<bool, Alone> {
        let has_left = self.block(body, has_left, is_apart)?;
        self.block(body, has_left, is_apart)
    }

    fn learn(&mut self, var: Var) {
        if !self.assigned.contains(&var) {
            self.common.insert(var);
        }
    }

    fn is_common(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Literal(_) | Expr::Len(_) => true,
            Expr::Builtin(builtin) => !matches!(builtin, Builtin::ThreadIndex(_)),
            Expr::Var(var) => self.common.contains(var),
            Expr::Unary(_, a) | Expr::Cast(_, a) | Expr::Bits(_, a) => self.is_common(a),
            Expr::Binary(_, a, b) | Expr::And(a, b) | Expr::Or(a, b) => self.is_common(a) && self.is_common(b),
            Expr::MulAdd(parts) | Expr::Choose(parts) => parts.iter().all(|part| self.is_common(part)),
            Expr::Load(_) | Expr::Call(..) => false,
        }
    }
}

/// True where threads may leave a loop, or a round of it, one by one.
fn is_left_early(body: &[Stmt]) -> bool {
    let mut is_left = false;
    walk(body, &mut |node, _| is_left |= matches!(node, Node::Stmt(Stmt::Break | Stmt::Continue)));
    is_left
}
