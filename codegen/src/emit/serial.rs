//! Reductions by a plain loop in one thread.

use super::Emitter;
use super::text::{Binding, Text};
use crate::{Fold, Reduce, ReduceOp, Span, Var};

impl Emitter<'_> {
    pub(super) fn emit_serial(&mut self, reduce: &Reduce) {
        let folds = self.live_folds(reduce);
        for fold in &folds {
            let name = self.value_name(fold.result, fold_word(fold.op));
            let (c_type, identity) = (self.c_type(fold.result), self.identity(fold.op, self.dtype(fold.result)));
            self.out.line(&format!("{c_type} {name} = {identity};"));
        }
        let loops = self.open_loops(reduce);
        self.emit_block(&reduce.body);
        for fold in &folds {
            let name = Text::atom(self.value_name(fold.result, fold_word(fold.op)));
            let value = self.value(fold.value).clone();
            let line = self.fold(fold.op, self.dtype(fold.result), &name, &value);
            self.out.line(&line);
            self.set_value(fold.result, name);
        }
        (0..loops).for_each(|_| self.out.close());
    }

    /// Opens the loops over the reduction's elements; returns how many.
    fn open_loops(&mut self, reduce: &Reduce) -> usize {
        let index = self.dialect.index_type(self.kernel.index);
        match (reduce.span, reduce.axes.as_slice()) {
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
                let (start, end) = self.emit_span(reduce);
                self.out.open(&format!("for ({index} {i} = {start}; {i} < {end}; ++{i})"));
                self.set_axis(axis.0, &i);
                1
            }
            (Span::Chunk { .. }, axes) => {
                let (start, end) = self.emit_span(reduce);
                let r = self.fresh_name("r");
                self.out.open(&format!("for ({index} {r} = {start}; {r} < {end}; ++{r})"));
                let linear = Text::cast(self.dialect.count_type(self.kernel.index), &Text::atom(r));
                self.divide_up(linear, axes, None);
                1
            }
        }
    }

    /// The first element number of a reduction's span, and the one past its last.
    pub(super) fn emit_span(&mut self, reduce: &Reduce) -> (String, String) {
        // A fold over no axes has one element.
        let all = self.points(&reduce.axes).map_or("1".to_owned(), |points| points.code);
        let Span::Chunk { axis, length } = reduce.span else {
            return ("0".to_owned(), all);
        };
        let index = self.dialect.index_type(self.kernel.index);
        let length = Text::atom(self.names.size(length));
        let start = self.fresh_name("start");
        let from = Text::infix(&self.axes[axis.0 as usize], "*", &length, Binding::Product);
        self.out.line(&format!("const {index} {start} = {};", from.code));
        let end = self.fresh_name("end");
        self.out.line(&format!("const {index} {end} = min({start} + {}, {all});", length.code));
        (start, end)
    }

    pub(super) fn set_axis(&mut self, axis: u32, index: &str) {
        self.axes[axis as usize] = Text::atom(index);
    }

    /// The folds whose results are used.
    pub(super) fn live_folds(&self, reduce: &Reduce) -> Vec<Fold> {
        reduce.folds.iter().copied().filter(|fold| self.facts.is_used(fold.result)).collect()
    }

    /// The accumulator's name of a fold, by the variable that will hold its result.
    pub(super) fn fold_name(&mut self, op: ReduceOp, result: Var) -> String {
        self.value_name(result, fold_word(op))
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
    }
}
