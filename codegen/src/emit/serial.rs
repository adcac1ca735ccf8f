//! Reductions and loops by plain loops in one thread.

use super::Emitter;
use super::elements::Elements;
use super::group::Group;
use super::text::{Binding, Text};
use crate::{Fold, ReduceOp, Span};

impl Emitter<'_> {
    pub(super) fn emit_serial(&mut self, elements: &Elements<'_>) {
        let folds = self.live_folds(elements.folds);
        for fold in &folds {
            let name = self.fold_name(fold);
            let (c_type, identity) =
                (self.c_type(fold.result), self.arithmetic.identity(fold.op, self.dtype(fold.result)));
            self.out.line(&format!("{c_type} {name} = {identity};"));
        }
        let loops = self.open_loops(elements);
        self.emit_block(elements.body);
        for fold in &folds {
            let name = Text::atom(self.fold_name(fold));
            let value = self.value(fold.value).clone();
            let line = self.arithmetic.fold(fold.op, self.dtype(fold.result), &name, &value);
            self.out.line(&line);
            self.set_value(fold.result, name);
        }
        (0..loops).for_each(|_| self.out.close());
        for fold in &folds {
            if self.slots[fold.result.0 as usize].is_some() {
                let name = Text::atom(self.fold_name(fold));
                self.bind(fold.result, name, "v", false);
            }
        }
    }

    /// Opens the loops over the elements; returns how many.
    fn open_loops(&mut self, elements: &Elements<'_>) -> usize {
        let index = self.dialect.index_type(self.kernel.index);
        match (elements.span, elements.axes) {
            (Span::Whole, axes) => {
                for &axis in axes {
                    let (i, extent) = (format!("i{}", axis.0), self.extent(axis).to_owned());
                    self.out.open(&format!("for ({index} {i} = 0; {i} < {extent}; ++{i})"));
                    self.set_axis(axis.0, &i);
                }
                axes.len()
            }
            (Span::Chunk { .. }, &[axis]) => {
                let i = format!("i{}", axis.0);
                let (start, end) = self.emit_span(elements);
                self.out.open(&format!("for ({index} {i} = {start}; {i} < {end}; ++{i})"));
                self.set_axis(axis.0, &i);
                1
            }
            (Span::Chunk { .. }, axes) => {
                let (start, end) = self.emit_span(elements);
                let r = self.fresh_name("r");
                self.out.open(&format!("for ({index} {r} = {start}; {r} < {end}; ++{r})"));
                let linear = Text::cast(self.dialect.count_type(self.kernel.index), &Text::atom(r));
                self.divide_up(linear, axes, None);
                1
            }
        }
    }

    /// The first element number of a span, and the one past its last.
    pub(super) fn emit_span(&mut self, elements: &Elements<'_>) -> (String, String) {
        // A fold over no axes has one element.
        let all = self.points(elements.axes).map_or("1".to_owned(), |points| points.code);
        let Span::Chunk { axis, length } = elements.span else {
            return ("0".to_owned(), all);
        };
        if let Some(known) = self.spans.iter().find(|known| known.0 == elements.span && known.1 == elements.axes) {
            return (known.2.clone(), known.3.clone());
        }
        let index = self.dialect.index_type(self.kernel.index);
        let length = Text::atom(self.names.size(length));
        let start = self.fresh_name("start");
        let from = Text::infix(&self.axes[axis.0 as usize], "*", &length, Binding::Product);
        self.out.line(&format!("const {index} {start} = {};", from.code));
        let end = self.fresh_name("end");
        self.out.line(&format!("const {index} {end} = min({start} + {}, {all});", length.code));
        if Group::of(self.schedule).is_some() {
            self.spans.push((elements.span, elements.axes.to_vec(), start.clone(), end.clone()));
        }
        (start, end)
    }

    pub(super) fn set_axis(&mut self, axis: u32, index: &str) {
        self.axes[axis as usize] = Text::atom(index);
    }

    /// The folds whose results are used.
    pub(super) fn live_folds(&self, folds: &[Fold]) -> Vec<Fold> {
        folds.iter().copied().filter(|fold| self.facts.is_used(fold.result)).collect()
    }

    /// The name of a fold's result; those of its accumulators begin with it.
    pub(super) fn fold_name(&mut self, fold: &Fold) -> String {
        self.value_name(fold.result, fold_word(fold.op))
    }
}

/// The word a fold's result is named by.
fn fold_word(op: ReduceOp) -> &'static str {
    match op {
        ReduceOp::Sum => "sum",
        ReduceOp::Prod => "product",
        ReduceOp::Min => "lowest",
        ReduceOp::Max => "highest",
        ReduceOp::Any => "some",
        ReduceOp::All => "every",
        ReduceOp::Custom(_) => "folded",
    }
}
