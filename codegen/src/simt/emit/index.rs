//! u64 arithmetic: what indices are made of. C's own operators are Rust's on unsigned numbers, as long as the type is wide
//! enough for what `range` knows of the result.

use super::BodyEmitter;
use super::range::{Index, Range, infix};
use crate::emit::text::{Binding, Text};
use crate::simt::ir::{Builtin, Expr, Memory};
use crate::{BinaryOp, DType, Dialect, UnaryOp};

impl BodyEmitter<'_> {
    /// A u64 expression.
    pub(super) fn index(&mut self, expr: &Expr) -> Index {
        let index = self.index_unfolded(expr);
        match index.range.value() {
            Some(value) => self.literal_index(value),
            None => index,
        }
    }

    fn literal_index(&self, value: u64) -> Index {
        Index::literal(value, self.dialect.spelling().long_suffix)
    }

    fn index_unfolded(&mut self, expr: &Expr) -> Index {
        match expr {
            Expr::Literal(scalar) => self.literal_index(scalar.bits()),
            Expr::Var(var) => {
                let known = self.known[var.0 as usize];
                Index { text: Text::atom(self.names.var(*var)), range: known.range, is_wide: known.is_wide }
            }
            Expr::Builtin(builtin) => Index {
                text: Text::atom(self.builtin(*builtin)),
                range: Range::of_builtin(*builtin),
                is_wide: self.dialect == Dialect::OpenClC,
            },
            Expr::Len(memory) => self.length(*memory),
            Expr::Binary(op, a, b) => match self.global_id(*op, a, b) {
                Some(index) => index,
                None => {
                    let (a, b) = (self.index(a), self.index(b));
                    self.index_binary(*op, a, b)
                }
            },
            Expr::Cast(_, a) => self.index_from(a),
            Expr::Choose(parts) => {
                let [condition, then, otherwise] = &**parts;
                let condition = self.value(condition);
                let [then, otherwise] = [then, otherwise].map(|part| self.index(part));
                let unsigned = |index: &Index| match index.range.value() {
                    // Else two literals would make an int.
                    Some(value) if !index.is_wide => Text::atom(format!("{value}u")),
                    _ => index.text.clone(),
                };
                Index {
                    text: Text::choice(&condition, &unsigned(&then), &unsigned(&otherwise)),
                    range: then.range.or(otherwise.range),
                    is_wide: then.is_wide || otherwise.is_wide,
                }
            }
            Expr::Unary(op, a) => {
                let a = self.index(a);
                match op {
                    UnaryOp::Abs => a,
                    UnaryOp::Sign => Index::wide(self.arithmetic.unary(*op, DType::U64, &a.text), Range::up_to(1)),
                    _ => {
                        let a = self.widened(a);
                        Index::wide(self.arithmetic.unary(*op, DType::U64, &a.text), Range::ANY)
                    }
                }
            }
            _ => Index::wide(self.plain_value(expr), Range::ANY),
        }
    }

    pub(super) fn widened(&self, index: Index) -> Index {
        index.widened(self.dialect.value_type(DType::U64))
    }

    /// The number of elements of memory, or of an array's outermost axis.
    pub(super) fn length(&self, memory: Memory) -> Index {
        match self.scope.memory(memory).and_then(|memory| memory.dims) {
            Some(dims) => self.literal_index(dims.first().map_or(0, |&extent| extent as u64)),
            None => Index::wide(Text::atom(format!("{}_len", self.names.memory(memory))), Range::LENGTH),
        }
    }

    /// OpenCL C has a name for the number of a thread in the grid.
    fn global_id(&self, op: BinaryOp, a: &Expr, b: &Expr) -> Option<Index> {
        let (BinaryOp::Add, Dialect::OpenClC, Expr::Binary(BinaryOp::Mul, group, size)) = (op, self.dialect, a) else {
            return None;
        };
        let (Expr::Builtin(group), Expr::Builtin(size), Expr::Builtin(thread)) = (&**group, &**size, b) else {
            return None;
        };
        match (group, size, thread) {
            (Builtin::GroupIndex(axis), Builtin::GroupSize(by), Builtin::ThreadIndex(of))
            | (Builtin::GroupSize(by), Builtin::GroupIndex(axis), Builtin::ThreadIndex(of))
                if axis == by && axis == of =>
            {
                let range = Range::of_builtin(*group).multiply(Range::of_builtin(*size));
                Some(Index::wide(Text::atom(format!("get_global_id({axis})")), range.add(Range::of_builtin(*thread))))
            }
            _ => None,
        }
    }

    fn index_binary(&mut self, op: BinaryOp, a: Index, b: Index) -> Index {
        match op {
            BinaryOp::Add => self.in_range(a.range.add(b.range), a, "+", b, Binding::Sum),
            BinaryOp::Sub => self.in_range(a.range.subtract(b.range), a, "-", b, Binding::Sum),
            BinaryOp::Mul => self.in_range(a.range.multiply(b.range), a, "*", b, Binding::Product),
            BinaryOp::Div | BinaryOp::FloorDivide if b.range.low > 0 => {
                let range = Range { low: a.range.low / b.range.high, high: a.range.high / b.range.low };
                infix(&a, "/", &b, Binding::Product, range)
            }
            BinaryOp::Rem | BinaryOp::Remainder if b.range.low > 0 => {
                let range = Range::up_to(a.range.high.min(b.range.high - 1));
                infix(&a, "%", &b, Binding::Product, range)
            }
            BinaryOp::BitAnd => infix(&a, "&", &b, Binding::BitAnd, Range::up_to(a.range.high.min(b.range.high))),
            BinaryOp::BitOr | BinaryOp::BitXor => {
                let (sign, binding) =
                    if op == BinaryOp::BitOr { ("|", Binding::BitOr) } else { ("^", Binding::BitXor) };
                let bits = 64 - (a.range.high | b.range.high).leading_zeros();
                infix(&a, sign, &b, binding, Range::up_to(u64::MAX.checked_shr(64 - bits).unwrap_or(0)))
            }
            BinaryOp::Shl | BinaryOp::Shr => match b.range.value() {
                Some(count @ 0..64) => self.index_shift(op, a, b, count as u32),
                _ => Index::wide(self.arithmetic.binary(op, DType::U64, &a.text, &b.text), Range::ANY),
            },
            BinaryOp::Minimum | BinaryOp::Maximum => {
                let text = self.arithmetic.binary(op, DType::U64, &a.text, &b.text);
                let high = match op {
                    BinaryOp::Minimum => a.range.high.min(b.range.high),
                    _ => a.range.high.max(b.range.high),
                };
                Index::wide(text, Range::up_to(high))
            }
            _ => Index::wide(self.arithmetic.binary(op, DType::U64, &a.text, &b.text), Range::ANY),
        }
    }

    /// `a sign b` in 32 bits where the operands have them and the result fits, else in 64.
    fn in_range(&self, range: Range, a: Index, sign: &str, b: Index, binding: Binding) -> Index {
        // A number that 32 bits hold may still come of operands that wrap there: only what cannot wrap is narrow.
        let wraps = range == Range::ANY || !range.is_narrow();
        let a = if wraps && !b.is_wide { self.widened(a) } else { a };
        infix(&a, sign, &b, binding, range)
    }

    fn index_shift(&self, op: BinaryOp, a: Index, b: Index, count: u32) -> Index {
        let range = match op {
            BinaryOp::Shr => Range { low: a.range.low >> count, high: a.range.high >> count },
            _ if a.range.high.leading_zeros() >= count => {
                Range { low: a.range.low << count, high: a.range.high << count }
            }
            _ => Range::ANY,
        };
        let a = if !range.is_narrow() || count >= 32 { self.widened(a) } else { a };
        let sign = if op == BinaryOp::Shl { "<<" } else { ">>" };
        Index { text: Text::shift(&a.text, sign, &b.text), range, is_wide: a.is_wide }
    }

    /// A value of any type as a u64.
    fn index_from(&mut self, from: &Expr) -> Index {
        let dtype = self.scope.dtype(from).unwrap_or(DType::U64);
        match dtype {
            DType::U64 => self.index(from),
            DType::U32 => {
                let value = self.value(from);
                Index::narrow(value, Range::up_to(u64::from(u32::MAX)))
            }
            DType::Bool | DType::U8 | DType::U16 => {
                let value = self.value(from);
                let high = if dtype == DType::Bool { 1 } else { (1 << (8 * dtype.size_bytes())) - 1 };
                let unsigned = self.dialect.value_type(DType::U32);
                Index::narrow(Text::cast(unsigned, &value), Range::up_to(high))
            }
            _ => {
                let value = self.value(from);
                Index::wide(self.arithmetic.cast(dtype, DType::U64, &value), Range::ANY)
            }
        }
    }
}
