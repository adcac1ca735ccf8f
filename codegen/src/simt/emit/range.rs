//! What is known of u64 values before a kernel runs. Rust counts in `usize`, GPUs count best in 32 bits: where a value provably
//! fits, it is computed in 32.

use crate::emit::text::{Binding, Text};
use crate::simt::ir::{Body, Builtin, Expr, Stmt, Var};
use crate::simt::walk::{Node, walk};

/// The largest group that any device runs.
const MOST_THREADS: u64 = 1 << 16;

/// The most elements that memory holds, with room to add some of them.
const MOST_ELEMENTS: u64 = 1 << 60;

/// The least and the largest value that something can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range {
    pub low: u64,
    pub high: u64,
}

impl Range {
    pub const ANY: Range = Range { low: 0, high: u64::MAX };
    pub const LENGTH: Range = Range { low: 0, high: MOST_ELEMENTS };

    pub fn exactly(value: u64) -> Self {
        Self { low: value, high: value }
    }

    pub fn up_to(high: u64) -> Self {
        Self { low: 0, high }
    }

    /// The one value, if there is one.
    pub fn value(self) -> Option<u64> {
        (self.low == self.high).then_some(self.low)
    }

    /// True where 32 bits hold it.
    pub fn is_narrow(self) -> bool {
        self.high <= u64::from(u32::MAX)
    }

    pub fn of_builtin(builtin: Builtin) -> Self {
        match builtin {
            Builtin::ThreadIndex(_) => Self::up_to(MOST_THREADS - 1),
            Builtin::GroupSize(_) => Self { low: 1, high: MOST_THREADS },
            Builtin::GroupIndex(_) => Self::up_to(u64::from(u32::MAX) - 1),
            Builtin::GridSize(_) => Self { low: 1, high: u64::from(u32::MAX) },
        }
    }

    pub fn add(self, other: Self) -> Self {
        self.by(other, u64::checked_add, u64::wrapping_add)
    }

    pub fn multiply(self, other: Self) -> Self {
        self.by(other, u64::checked_mul, u64::wrapping_mul)
    }

    /// Of an operation that grows with both operands as long as it does not wrap.
    fn by(self, other: Self, checked: fn(u64, u64) -> Option<u64>, wrapping: fn(u64, u64) -> u64) -> Self {
        match (self.value(), other.value(), checked(self.high, other.high)) {
            (Some(a), Some(b), _) => Self::exactly(wrapping(a, b)),
            (_, _, Some(high)) => Self { low: wrapping(self.low, other.low), high },
            _ => Self::ANY,
        }
    }

    pub fn subtract(self, other: Self) -> Self {
        match (self.value(), other.value()) {
            (Some(a), Some(b)) => Self::exactly(a.wrapping_sub(b)),
            _ if self.low >= other.high => Self { low: self.low - other.high, high: self.high - other.low },
            _ => Self::ANY,
        }
    }

    /// Of the union of two.
    pub fn or(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

/// A u64 expression.
#[derive(Clone, Debug)]
pub(super) struct Index {
    pub text: Text,
    pub range: Range,
    /// True where its C type has 64 bits; else it is `unsigned`, or a literal that an int holds.
    pub is_wide: bool,
}

impl Index {
    /// A literal.
    pub fn literal(value: u64, long_suffix: &str) -> Self {
        let text = match value {
            0..=0x7fff_ffff => value.to_string(),
            0x8000_0000..=0xffff_ffff => format!("{value}u"),
            _ => format!("{value}u{long_suffix}"),
        };
        Self { text: Text::atom(text), range: Range::exactly(value), is_wide: value > u64::from(u32::MAX) }
    }

    pub fn wide(text: Text, range: Range) -> Self {
        Self { text, range, is_wide: true }
    }

    pub fn narrow(text: Text, range: Range) -> Self {
        Self { text, range, is_wide: false }
    }

    /// The same in 64 bits.
    pub fn widened(self, wide_type: &str) -> Self {
        match self.is_wide {
            true => self,
            false => Self { text: Text::cast(wide_type, &self.text), is_wide: true, ..self },
        }
    }
}

/// What is known of a variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// True where it has one value from its `Let` to its end.
    pub is_constant: bool,
    /// Of a u64: its values.
    pub range: Range,
    /// Of a u64: true where it is declared with 64 bits.
    pub is_wide: bool,
}

/// What is known before a body is printed: which variables are ever assigned.
pub(super) fn unknown(body: &Body) -> Vec<Known> {
    let mut known = vec![Known { is_constant: true, range: Range::ANY, is_wide: true }; body.vars.len()];
    walk(&body.statements, &mut |node, _| {
        if let Node::Stmt(Stmt::Declare(Var(var)) | Stmt::Assign(Var(var), _)) = node {
            known[*var as usize].is_constant = false;
        }
    });
    known
}

/// True where an expression has one value while its variables are in scope, and costs nothing to evaluate again: a compiler
/// takes it out of a loop.
pub(super) fn is_constant(expr: &Expr, known: &[Known]) -> bool {
    match expr {
        Expr::Literal(_) | Expr::Builtin(_) | Expr::Len(_) => true,
        Expr::Var(var) => known[var.0 as usize].is_constant,
        Expr::Cast(_, a) | Expr::Unary(_, a) => is_constant(a, known),
        Expr::Binary(_, a, b) => is_constant(a, known) && is_constant(b, known),
        Expr::Choose(parts) => parts.iter().all(|part| is_constant(part, known)),
        Expr::Load(_) | Expr::MulAdd(_) | Expr::And(..) | Expr::Or(..) | Expr::Bits(..) | Expr::Call(..) => false,
    }
}

/// `a operator b`, in C's type of the two.
pub(super) fn infix(a: &Index, operator: &str, b: &Index, binding: Binding, range: Range) -> Index {
    let text = Text::infix(&a.text, operator, &b.text, binding);
    Index { text, range, is_wide: a.is_wide || b.is_wide }
}
