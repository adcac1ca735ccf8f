//! `Schedule::Map`: each thread owns one element, or a few neighbours along the innermost axis.

use super::Emitter;
use super::facts::root_neighbours;
use super::text::Text;
use crate::{IndexWidth, Placement};

impl Emitter<'_> {
    pub(super) fn emit_map(&mut self, width: u32, placement: Placement) {
        match placement {
            Placement::Linear => self.emit_linear_point(width),
            Placement::InnerAxis => self.emit_inner_axis_point(width),
        }
        let body = &self.kernel.body;
        match root_neighbours(self.kernel, self.schedule) {
            Some(neighbours) => self.emit_for_neighbours(body, neighbours),
            None => self.emit_block(body),
        }
    }

    /// Finds the thread's point from one linear number; a thread beyond the last point returns.
    fn emit_linear_point(&mut self, width: u32) {
        let count = self.dialect.count_type(self.kernel.index);
        let id = self.dialect.global_id(self.kernel.index, 0);
        let parallel = &self.kernel.parallel;
        let Some((&inner, outer)) = parallel.split_last() else {
            self.out.line(&format!("if ({id} > 0) return;"));
            return;
        };
        if outer.is_empty() {
            self.emit_direct_axis(inner.0, id, width);
            return;
        }
        let linear = Text::atom("t");
        self.out.line(&format!("const {count} t = {id};"));
        let extent = self.extent(inner).to_owned();
        let points = self.points(outer).map_or(String::new(), |points| points.code);
        if width > 1 {
            let unsigned = self.unsigned_suffix();
            self.out.line(&format!("const {count} columns = ({extent} + {}{unsigned}) / {width};", width - 1));
            self.out.line(&format!("if (t >= {points} * columns) return;"));
            self.divide_up(linear, parallel, Some(("columns", width)));
        } else {
            self.out.line(&format!("if (t >= {points} * {extent}) return;"));
            self.divide_up(linear, parallel, None);
        }
    }

    /// Finds the thread's point from grid axis 0, the innermost parallel axis, and grid axis 1, all others.
    fn emit_inner_axis_point(&mut self, width: u32) {
        let parallel = &self.kernel.parallel;
        let id = self.dialect.global_id(self.kernel.index, 0);
        let Some((&inner, outer)) = parallel.split_last() else {
            self.out.line(&format!("if ({id} > 0) return;"));
            return;
        };
        self.emit_direct_axis(inner.0, id, width);
        let row = self.dialect.global_id(self.kernel.index, 1);
        match outer {
            [] => {}
            [only] => self.emit_direct_axis(only.0, row, 1),
            several => {
                let count = self.dialect.count_type(self.kernel.index);
                let points = self.points(several).map_or(String::new(), |points| points.code);
                self.out.line(&format!("const {count} row = {row};"));
                self.out.line(&format!("if (row >= {points}) return;"));
                self.divide_up(Text::atom("row"), several, None);
            }
        }
    }

    /// Takes a grid axis as a parallel axis.
    pub(super) fn emit_direct_axis(&mut self, axis: u32, id: String, width: u32) {
        let index = self.dialect.index_type(self.kernel.index);
        let extent = self.extent(crate::AxisId(axis)).to_owned();
        let id = match width {
            1 => id,
            _ if id.contains('+') => format!("({id}) * {width}"),
            _ => format!("{id} * {width}"),
        };
        self.out.line(&format!("const {index} i{axis} = {id};"));
        self.out.line(&format!("if (i{axis} >= {extent}) return;"));
    }

    pub(super) fn unsigned_suffix(&self) -> &'static str {
        // A 64-bit sum is wide already; its quotient becomes unsigned by assignment.
        match self.kernel.index {
            IndexWidth::I32 => "u",
            IndexWidth::I64 => "",
        }
    }
}
