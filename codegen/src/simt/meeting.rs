//! Whether all threads of a group come to its barriers, as far as a kernel's text tells.

use std::collections::HashSet;

use super::ir::{Builtin, Expr, Kernel, Param, Stmt, Var};
use super::walk::{Node, walk};

/// True where some threads of a group may miss a barrier that others come to: they may have returned before it, or it stands
/// under a condition that is made of the thread's number. Devices that ask all threads to come (OpenCL's) must not run such a
/// kernel. What all threads do together, as it hangs on nothing but scalars, lengths and the group, is no miss; what hangs on
/// memory is the user's word that it is alike.
pub fn may_miss_barrier(kernel: &Kernel) -> bool {
    let mut meeting = Meeting { common: HashSet::new(), own: HashSet::new(), assigned: HashSet::new() };
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
    meeting.block(&kernel.body.statements, false, Place::default()).is_err()
}

struct Meeting {
    /// Variables that have one value in all threads of a group.
    common: HashSet<Var>,
    /// Variables that are made of the thread's number.
    own: HashSet<Var>,
    assigned: HashSet<Var>,
}

/// Who comes to a statement.
#[derive(Clone, Copy, Default)]
struct Place {
    /// Not all threads may.
    is_apart: bool,
    /// Which of them do hangs on their numbers.
    is_by_number: bool,
}

/// A barrier to which not all threads come.
struct Alone;

impl Meeting {
    /// Gives whether some threads may have returned at the end, if some may have at the start (`has_left`).
    fn block(&mut self, statements: &[Stmt], mut has_left: bool, place: Place) -> Result<bool, Alone> {
        for stmt in statements {
            match stmt {
                Stmt::Return(_) => has_left |= place.is_apart,
                Stmt::Barrier if has_left || place.is_by_number => return Err(Alone),
                Stmt::Let(var, value) => {
                    if self.is_by_number(value) {
                        self.own.insert(*var);
                    }
                    if !place.is_apart && self.is_common(value) {
                        self.learn(*var);
                    }
                }
                Stmt::If { condition, then, otherwise } => {
                    let place = self.under(place, &[condition]);
                    let left = self.block(then, has_left, place)?;
                    has_left = self.block(otherwise, has_left, place)? || left;
                }
                Stmt::For { start, end, body, .. } => {
                    let mut place = self.under(place, &[start, end]);
                    place.is_apart |= is_left_early(body);
                    has_left = self.rounds(body, has_left, place)?;
                }
                Stmt::Loop(body) => has_left = self.rounds(body, has_left, Place { is_apart: true, ..place })?,
                _ => {}
            }
        }
        Ok(has_left)
    }

    /// A loop's body: who left in one round is missed in the next.
    fn rounds(&mut self, body: &[Stmt], has_left: bool, place: Place) -> Result<bool, Alone> {
        let has_left = self.block(body, has_left, place)?;
        self.block(body, has_left, place)
    }

    /// Under conditions.
    fn under(&self, place: Place, conditions: &[&Expr]) -> Place {
        Place {
            is_apart: place.is_apart || !conditions.iter().all(|condition| self.is_common(condition)),
            is_by_number: place.is_by_number || conditions.iter().any(|condition| self.is_by_number(condition)),
        }
    }

    /// True for what is computed from the thread's number by arithmetic alone.
    fn is_by_number(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Builtin(builtin) => matches!(builtin, Builtin::ThreadIndex(_)),
            Expr::Var(var) => self.own.contains(var),
            Expr::Unary(_, a) | Expr::Cast(_, a) | Expr::Bits(_, a) => self.is_by_number(a),
            Expr::Binary(_, a, b) | Expr::And(a, b) | Expr::Or(a, b) => self.is_by_number(a) || self.is_by_number(b),
            Expr::MulAdd(parts) | Expr::Choose(parts) => parts.iter().any(|part| self.is_by_number(part)),
            Expr::Literal(_) | Expr::Len(_) | Expr::Load(_) | Expr::Call(..) => false,
        }
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
