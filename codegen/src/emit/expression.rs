//! Values: what a `Let` names, and how elements go from memory to variables and back.

use super::Emitter;
use super::text::{Binding, Text};
use crate::{Affine, BufferId, DType, Expr, Var};

/// The longest expression written in place of a name.
const INLINE: usize = 64;

impl Emitter<'_> {
    pub(super) fn emit_let(&mut self, var: Var, expr: &Expr) {
        match expr {
            // Shorter than any name for them.
            Expr::Scalar(scalar) => {
                let text = Text::atom(self.names.scalars[scalar.0 as usize].clone());
                self.set_value(var, text);
            }
            Expr::Zero => {
                let text = self.arithmetic.zero(self.dtype(var));
                self.set_value(var, text);
            }
            Expr::Index(_) | Expr::IndexBinary(..) => {
                let text = self.expression(var, expr);
                // A quotient is unsigned until it is named.
                let is_named = matches!(expr, Expr::IndexBinary(crate::IndexOp::Div | crate::IndexOp::Rem, ..));
                self.bind(var, text, "k", is_named);
            }
            // Checked once, however often it is used.
            Expr::CheckedIndex { .. } => {
                let text = self.expression(var, expr);
                self.bind(var, text, "k", true);
            }
            _ => {
                let text = self.expression(var, expr);
                self.bind(var, text, "v", false);
            }
        }
    }

    /// Gives a variable its value: in its slot if later loops use it, in place if it is used once and short, else under a
    /// name that begins with `word`.
    pub(super) fn bind(&mut self, var: Var, text: Text, word: &'static str, is_named: bool) {
        if let Some(slot) = self.slots[var.0 as usize].clone() {
            self.out.line(&format!("{} = {};", slot.code, text.code));
            self.set_value(var, slot);
            return;
        }
        if !is_named && self.facts.is_single(var) && text.code.len() <= INLINE {
            self.set_value(var, text);
            return;
        }
        let name = self.value_name(var, word);
        let c_type = self.c_type(var);
        self.out.line(&format!("const {c_type} {name} = {};", text.code));
        self.set_value(var, Text::atom(name));
    }

    fn expression(&mut self, var: Var, expr: &Expr) -> Text {
        let dtype = self.dtype(var);
        match expr {
            Expr::Load { buffer, at, .. } => match self.read[var.0 as usize].clone() {
                Some(element) => self.arithmetic.decoded(self.buffer_dtype(*buffer), element),
                None => self.load(*buffer, at),
            },
            Expr::Scalar(_) | Expr::Zero => self.arithmetic.zero(dtype),
            Expr::Index(at) => self.affine(at),
            Expr::IndexBinary(op, a, b) => self.index_binary(*op, &self.index_operand(a), &self.index_operand(b)),
            Expr::IndexLess(a, b) => {
                Text::infix(&self.index_operand(a), "<", &self.index_operand(b), Binding::Relation)
            }
            Expr::IndexEqual(a, b) => {
                Text::infix(&self.index_operand(a), "==", &self.index_operand(b), Binding::Equality)
            }
            Expr::IndexValue(index) => {
                let from = self.dtype(*index);
                self.arithmetic.cast(from, dtype, &self.value(*index).clone())
            }
            Expr::CheckedIndex { value, extent, notes, site } => self.checked_index(*value, *extent, *notes, *site),
            Expr::Unary(op, a) => self.arithmetic.unary(*op, self.dtype(*a), &self.value(*a).clone()),
            Expr::Binary(op, a, b) => {
                let operand = self.dtype(*a);
                self.arithmetic.binary(*op, operand, &self.value(*a).clone(), &self.value(*b).clone())
            }
            Expr::MulAdd(a, b, c) => {
                let [a, b, c] = [a, b, c].map(|&var| self.value(var).clone());
                self.arithmetic.mul_add(dtype, &a, &b, &c)
            }
            Expr::Select { condition, on_true, on_false } => {
                Text::choice(self.value(*condition), self.value(*on_true), self.value(*on_false))
            }
            Expr::Cast(a) => self.arithmetic.cast(self.dtype(*a), dtype, &self.value(*a).clone()),
            Expr::Call(function, arguments) => {
                let values: Vec<Text> = arguments.iter().map(|var| self.value(*var).clone()).collect();
                self.arithmetic.user_call(*function, &values.iter().collect::<Vec<_>>())
            }
        }
    }

    fn load(&mut self, buffer: BufferId, at: &Affine) -> Text {
        let element = Text::atom(format!("{}[{}]", self.names.buffer(buffer), self.affine(at).code));
        let element = match &self.guard {
            Some(guard) if self.facts.address_varies(at) => Text::choice(guard, &element, &Text::atom("0")),
            _ => element,
        };
        self.arithmetic.decoded(self.kernel.buffers[buffer.0 as usize].dtype, element)
    }

    /// A variable as an element in memory.
    pub(super) fn encoded(&mut self, dtype: DType, value: Var) -> Text {
        let value = self.value(value).clone();
        self.arithmetic.encoded(dtype, &value)
    }
}

impl DType {
    /// The type whose bits lie in memory.
    pub(crate) const fn storage(self) -> DType {
        match self {
            DType::Bool => DType::U8,
            DType::F16 | DType::BF16 => DType::U16,
            other => other,
        }
    }
}
