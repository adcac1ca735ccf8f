//! Index arithmetic: addresses, and finding a point's indices from a linear number.

use super::Emitter;
use super::prelude::Section;
use super::text::{Binding, Text};
use crate::{Affine, AxisId, BufferId, Coefficient, DType, IndexOp, IndexOperand, IndexWidth, SizeId, Term, Var};

impl Emitter<'_> {
    /// `offset + index * stride + ...`
    pub(super) fn affine(&self, at: &Affine) -> Text {
        let offset = at.offset.map(|size| Text::atom(self.names.size(size)));
        let terms = at.terms.iter().map(|(term, coefficient)| {
            let index = match term {
                Term::Axis(axis) => {
                    let index = &self.axes[axis.0 as usize];
                    match at.ahead {
                        Some((ahead, by)) if ahead == *axis && by > 0 => {
                            &Text::infix(index, "+", &Text::atom(by.to_string()), Binding::Sum)
                        }
                        _ => index,
                    }
                }
                Term::Var(var) => self.value(*var),
            };
            match coefficient {
                Coefficient::One => index.clone(),
                Coefficient::Size(size) => {
                    Text::infix(index, "*", &Text::atom(self.names.size(*size)), Binding::Product)
                }
            }
        });
        // Index arithmetic wraps nowhere, so that sums may lose their parentheses.
        let code: Vec<String> = offset.into_iter().chain(terms).map(|term| term.within(Binding::Sum)).collect();
        match code.as_slice() {
            [] => Text::atom("0"),
            [only] => {
                let binding = if only.contains(' ') { Binding::Sum } else { Binding::Atom };
                Text::new(only.clone(), binding)
            }
            _ => Text::new(code.join(" + "), Binding::Sum),
        }
    }

    pub(super) fn index_operand(&self, operand: &IndexOperand) -> Text {
        match operand {
            IndexOperand::Var(var) => self.value(*var).clone(),
            IndexOperand::Size(size) => Text::atom(self.names.size(*size)),
            // OpenCL C's `max` wants both operands of one type.
            IndexOperand::Zero => Text::atom(match self.kernel.index {
                IndexWidth::I32 => "0".to_owned(),
                IndexWidth::I64 => format!("0{}", self.words.long_suffix),
            }),
        }
    }

    pub(super) fn index_binary(&self, op: IndexOp, a: &Text, b: &Text) -> Text {
        let unsigned = |text: &Text| Text::cast(self.dialect.count_type(self.kernel.index), text);
        match op {
            IndexOp::Add => Text::infix(a, "+", b, Binding::Sum),
            IndexOp::Sub => Text::infix(a, "-", b, Binding::Sum),
            IndexOp::Mul => Text::infix(a, "*", b, Binding::Product),
            // Never negative, and unsigned division is the shorter one. The result is named, which makes it signed again.
            IndexOp::Div => Text::infix(&unsigned(a), "/", &unsigned(b), Binding::Product),
            IndexOp::Rem => Text::infix(&unsigned(a), "%", &unsigned(b), Binding::Product),
            IndexOp::Min => Text::call("min", &[a, b]),
            IndexOp::Max => Text::call("max", &[a, b]),
        }
    }

    /// The call that checks an element as an index. An element past the end of a row, of which there is none, is not checked.
    pub(super) fn checked_index(&mut self, value: Var, extent: SizeId, notes: BufferId, site: u32) -> Text {
        self.arithmetic.prelude.section(Section::Indices);
        let mut element = self.value(value).clone();
        if self.dtype(value) == DType::U64 {
            // As an i64 it would be negative; nothing is as long as this.
            let longest = format!("{}u{}", i64::MAX, self.words.long_suffix);
            element =
                Text::cast(self.dialect.value_type(DType::I64), &Text::call("min", &[&element, &Text::atom(longest)]));
        }
        let notes = match site {
            0 => Text::atom(self.names.buffer(notes)),
            site => Text::new(format!("{} + {}", self.names.buffer(notes), 2 * site), Binding::Sum),
        };
        let call = Text::call("i64_checked_index", &[&element, &Text::atom(self.names.size(extent)), &notes]);
        match &self.guard {
            Some(guard) if self.facts.varies(value) => Text::choice(guard, &call, &Text::atom("0")),
            _ => call,
        }
    }

    /// Names the indices of `axes` (outermost first) at point number `linear`, an unsigned expression. The innermost axis
    /// counts in steps: there are `steps.0` of them, of `steps.1` elements. Only indices that are used are found.
    pub(super) fn divide_up(&mut self, linear: Text, axes: &[AxisId], steps: Option<(&str, u32)>) {
        let index = self.dialect.index_type(self.kernel.index);
        let count = self.dialect.count_type(self.kernel.index);
        let mut rest = linear;
        for (position, &axis) in axes.iter().enumerate().rev() {
            let name = format!("i{}", axis.0);
            let (extent, step) = match steps {
                Some((extent, step)) if position + 1 == axes.len() => (Text::atom(extent), step),
                _ => (Text::atom(self.extent(axis)), 1),
            };
            if self.facts.is_axis_used(axis) {
                let mut at = rest.clone();
                if position > 0 {
                    at = Text::infix(&at, "%", &extent, Binding::Product);
                }
                if step > 1 {
                    at = Text::infix(&at, "*", &Text::atom(step.to_string()), Binding::Product);
                }
                self.out.line(&format!("const {index} {name} = {};", at.code));
            }
            self.axes[axis.0 as usize] = Text::atom(name);
            let outer = &axes[..position];
            if !outer.iter().any(|&axis| self.facts.is_axis_used(axis)) {
                break;
            }
            rest = Text::infix(&rest, "/", &extent, Binding::Product);
            if position > 1 {
                let name = format!("q{}", axes[position - 1].0);
                self.out.line(&format!("const {count} {name} = {};", rest.code));
                rest = Text::atom(name);
            }
        }
    }

    /// The parameter that holds an axis's extent.
    pub(super) fn extent(&self, axis: AxisId) -> &str {
        self.names.size(self.kernel.axes[axis.0 as usize].extent)
    }

    /// The product of extents, or `None` for no axes.
    pub(super) fn points(&self, axes: &[AxisId]) -> Option<Text> {
        let extents: Vec<&str> = axes.iter().map(|&axis| self.extent(axis)).collect();
        match extents.as_slice() {
            [] => None,
            [only] => Some(Text::atom(*only)),
            several => Some(Text::new(several.join(" * "), Binding::Product)),
        }
    }
}
