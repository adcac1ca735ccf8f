//! Loops: plain ones, trees, and passes over whole rows.

use super::frame::Frame;
use super::program::{Loop, Segments, TreeFold};

impl<'a> Frame<'a> {
    pub(super) fn run_loop(&mut self, inner: &'a Loop) {
        let launch = self.launch;
        let total = inner.axes.iter().map(|axis| launch.extents[axis.0 as usize]).product();
        let (from, to) = launch.span(inner.span, total, &self.axes);
        for fold in &inner.folds {
            // SAFETY: the accumulators are a register of the fold's type, wide or narrow as it says.
            unsafe { fold.ops.start(self.at(fold.acc), self.count(fold.wide)) }
        }
        self.set_indices(&inner.axes, from);
        for number in from..to {
            if inner.row.is_some() {
                self.move_kept(inner.row, number);
            }
            self.run(&inner.body);
            for fold in &inner.folds {
                // SAFETY: as above, and so is the value.
                unsafe { fold.ops.columns(self.at(fold.acc), self.at(fold.value), self.count(fold.wide)) }
            }
            for axis in inner.axes.iter().rev() {
                let index = &mut self.axes[axis.0 as usize];
                *index += 1;
                if *index < launch.extents[axis.0 as usize] {
                    break;
                }
                *index = 0;
            }
        }
    }

    pub(super) fn run_tree(&mut self, inner: &'a TreeFold) {
        let launch = self.launch;
        let (from, to) = launch.span(inner.span, launch.totals[inner.space], &self.axes);
        let accumulators = inner.lanes * inner.width;
        for (acc, _, ops) in &inner.folds {
            // SAFETY: the register has as many elements as the tree has accumulators.
            unsafe { ops.start(self.at(*acc), accumulators) }
        }
        let outer = (self.start, self.n);
        let mut start = from;
        while start < to {
            let n = (to - start).min(launch.block as i64);
            (self.start, self.n) = (start, n as usize);
            self.move_kept(inner.row, start);
            self.run(&inner.body);
            let phase = ((start - from) % accumulators as i64) as usize;
            for (acc, value, ops) in &inner.folds {
                // SAFETY: as above; the value is wide, with n elements.
                unsafe { ops.rows(self.at(*acc), self.at(*value), self.n, phase, accumulators) }
            }
            start += n;
        }
        (self.start, self.n) = outer;
        for (acc, _, ops) in &inner.folds {
            // SAFETY: as above.
            unsafe { ops.combine(self.at(*acc), inner.lanes, inner.width) }
        }
    }

    pub(super) fn run_segments(&mut self, inner: &'a Segments) {
        let length = self.launch.rows[inner.row] as usize;
        let (start, rows) = (self.start, self.n);
        if length == 0 {
            for (result, _, _, ops) in &inner.folds {
                // SAFETY: the result is a wide register of the fold's type, with at least an element for each row.
                unsafe { ops.start(self.at(*result), rows) }
            }
            return;
        }
        (self.start, self.n, self.row_length) = (start * length as i64, rows * length, length);
        self.run(&inner.body);
        for (result, acc, value, ops) in &inner.folds {
            let (result, acc, value) = (self.at(*result), self.at(*acc), self.at(*value));
            // SAFETY: as above; the accumulators are as many as the tree has, and the value has `length` elements a row.
            unsafe { ops.segments(result, acc, value, rows, length, [inner.lanes, inner.width]) }
        }
        (self.start, self.n, self.row_length) = (start, rows, 1);
    }
}
