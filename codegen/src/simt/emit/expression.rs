//! Expressions.

use super::BodyEmitter;
use crate::emit::text::{Binding, Text};
use crate::simt::ir::Expr;
use crate::{BinaryOp, DType};

impl BodyEmitter<'_> {
    /// A value of any type.
    pub(super) fn value(&mut self, expr: &Expr) -> Text {
        match self.scope.dtype(expr) {
            Some(DType::U64) => self.index(expr).text,
            _ => self.plain_value(expr),
        }
    }

    /// A value of whose type nothing more is known.
    pub(super) fn plain_value(&mut self, expr: &Expr) -> Text {
        match expr {
            Expr::Literal(scalar) => self.arithmetic.literal(*scalar),
            Expr::Var(var) => Text::atom(self.names.var(*var)),
            Expr::Builtin(_) | Expr::Len(_) => self.index(expr).text,
            Expr::Load(element) => self.load(element),
            Expr::Unary(op, a) => {
                let dtype = self.operand_type(a);
                let a = self.value(a);
                self.arithmetic.unary(*op, dtype, &a)
            }
            Expr::Binary(op, a, b) => {
                let dtype = self.operand_type(a);
                let by_literal = literal_bits(b, dtype);
                let (a, b) = (self.value(a), self.value(b));
                match plain_operator(*op, dtype, by_literal) {
                    Some((sign, true)) => Text::shift(&a, sign, &b),
                    Some((sign, false)) => Text::infix(&a, sign, &b, Binding::Product),
                    None => self.arithmetic.binary(*op, dtype, &a, &b),
                }
            }
            Expr::MulAdd(parts) => {
                let dtype = self.operand_type(&parts[0]);
                let [a, b, c] = [0, 1, 2].map(|part| self.value(&parts[part]));
                self.arithmetic.mul_add(dtype, &a, &b, &c)
            }
            Expr::Cast(to, a) => {
                let from = self.operand_type(a);
                let a = self.value(a);
                self.arithmetic.cast(from, *to, &a)
            }
            Expr::And(a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                Text::logical(&a, "&&", &b, Binding::And)
            }
            Expr::Or(a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                Text::logical(&a, "||", &b, Binding::Or)
            }
            Expr::Choose(parts) => {
                let [condition, then, otherwise] = [0, 1, 2].map(|part| self.value(&parts[part]));
                Text::choice(&condition, &then, &otherwise)
            }
            Expr::Bits(to, a) => {
                let from = self.operand_type(a);
                let a = self.value(a);
                self.bits(from, *to, &a)
            }
            Expr::Call(function, arguments) => self.call(*function, arguments),
        }
    }

    fn operand_type(&self, expr: &Expr) -> DType {
        // Verified: every operand has a type.
        self.scope.dtype(expr).unwrap_or(DType::Bool)
    }

    /// The bits of a value as another type of the same width.
    fn bits(&mut self, from: DType, to: DType, x: &Text) -> Text {
        let bits = match from {
            _ if from == to => return x.clone(),
            DType::F32 => Text::call(self.arithmetic.prelude.word("f32_bits"), &[x]),
            DType::F64 => Text::call(self.arithmetic.prelude.word("f64_bits"), &[x]),
            DType::F16 | DType::BF16 => self.arithmetic.encoded(from, x),
            _ => x.clone(),
        };
        match to {
            DType::F32 => Text::call(self.arithmetic.prelude.word("f32_of_bits"), &[&bits]),
            DType::F64 => Text::call(self.arithmetic.prelude.word("f64_of_bits"), &[&bits]),
            DType::F16 | DType::BF16 => {
                let bits = Text::cast(self.dialect.value_type(DType::U16), &bits);
                self.arithmetic.decoded(to, bits)
            }
            _ => Text::cast(self.dialect.value_type(to), &bits),
        }
    }
}

/// The bits of an integer literal.
fn literal_bits(expr: &Expr, dtype: DType) -> Option<u64> {
    match expr {
        Expr::Literal(scalar) if dtype.is_integer() => Some(scalar.bits()),
        _ => None,
    }
}

/// C's own operator where it means what Rust's does because the right operand is a literal that makes no trouble, and whether
/// it is a shift.
fn plain_operator(op: BinaryOp, dtype: DType, by: Option<u64>) -> Option<(&'static str, bool)> {
    let width = dtype.size_bytes() as u32 * 8;
    // Sign-extended from the type's width.
    let by = by.map(|bits| (bits << (64 - width)) as i64 >> (64 - width))?;
    match op {
        BinaryOp::Div if by != 0 && (by != -1 || dtype.is_unsigned_integer()) => Some(("/", false)),
        BinaryOp::Rem if by != 0 && (by != -1 || dtype.is_unsigned_integer()) => Some(("%", false)),
        // Narrow types would be shifted as ints.
        BinaryOp::Shl if dtype == DType::U32 && (0..32).contains(&by) => Some(("<<", true)),
        BinaryOp::Shr if matches!(dtype, DType::U32 | DType::I32) && (0..32).contains(&by) => Some((">>", true)),
        BinaryOp::Shr if dtype == DType::I64 && (0..64).contains(&by) => Some((">>", true)),
        _ => None,
    }
}
