//! `Schedule::Group`: a group of lanes owns one point and folds its elements along the reduction's tree.

use super::Emitter;
use super::facts::{Neighbours, Place, fold_neighbours};
use super::text::{Binding, Text};
use crate::{AxisId, Fold, Reduce, Stmt, Tree};

impl Emitter<'_> {
    pub(super) fn emit_group(&mut self, tree: Tree) {
        self.emit_group_point(tree);
        let body = &self.kernel.body;
        let after_last = body.iter().rposition(|stmt| matches!(stmt, Stmt::Reduce(_))).map_or(0, |last| last + 1);
        let (shared, rest) = body.split_at(after_last);
        for stmt in shared {
            match stmt {
                Stmt::Reduce(reduce) if self.facts.is_live(stmt) => self.emit_tree(reduce, tree),
                Stmt::Store { .. } if tree.lanes > 1 => {
                    self.guard = Some(Text::new("lane == 0", Binding::Equality));
                    self.emit_stmt(stmt);
                    self.guard = None;
                }
                Stmt::Let { .. } | Stmt::Store { .. } => self.emit_stmt(stmt),
                Stmt::Reduce(_) => {}
            }
        }
        // No barrier follows, so that the other lanes may leave.
        if tree.lanes > 1 && rest.iter().any(|stmt| self.facts.is_live(stmt)) {
            self.out.line("if (lane > 0) return;");
        }
        self.emit_block(rest);
    }

    /// Finds the group's point from its number.
    fn emit_group_point(&mut self, tree: Tree) {
        let parallel = &self.kernel.parallel;
        let group = match self.words.group_id {
            [id, _] if parallel.len() > 1 => {
                let count = self.dialect.count_type(self.kernel.index);
                self.out.line(&format!("const {count} g = {id};"));
                Text::atom("g")
            }
            [id, _] => Text::atom(id),
        };
        self.divide_up(group, parallel, None);
        if tree.lanes > 1 {
            self.out.line(&format!("const int lane = {};", self.words.local_id));
        }
    }

    /// Folds along the tree; afterwards every lane has the results.
    fn emit_tree(&mut self, reduce: &Reduce, tree: Tree) {
        if tree == Tree::SERIAL {
            self.emit_serial(reduce);
            return;
        }
        let folds = self.live_folds(reduce);
        for fold in &folds {
            self.emit_accumulators(fold, tree);
        }
        match fold_neighbours(reduce, self.schedule) {
            None => self.emit_strided_fold(reduce, &folds, tree),
            Some(neighbours) if tree.lanes == 1 => self.emit_vector_fold(reduce, &folds, neighbours),
            Some(neighbours) => self.emit_wide_fold(reduce, &folds, tree, neighbours),
        }
        for fold in &folds {
            self.emit_halving(fold, tree.width);
        }
        if tree.lanes > 1 {
            self.emit_lanes_fold(&folds, tree);
        }
        for fold in &folds {
            let name = self.fold_name(fold.op, fold.result);
            let c_type = self.c_type(fold.result);
            let from = match (tree.lanes, tree.width) {
                (1, _) => format!("{name}_acc[0]"),
                _ => format!("{name}_lanes[0]"),
            };
            self.out.line(&format!("const {c_type} {name} = {from};"));
            self.set_value(fold.result, Text::atom(name));
        }
    }

    fn emit_accumulators(&mut self, fold: &Fold, tree: Tree) {
        let name = self.fold_name(fold.op, fold.result);
        let dtype = self.dtype(fold.result);
        let (c_type, identity) = (self.c_type(fold.result), self.identity(fold.op, dtype));
        if tree.lanes > 1 {
            self.out.line(&format!("{} {c_type} {name}_lanes[{}];", self.words.shared, tree.lanes));
        }
        match tree.width {
            1 => self.out.line(&format!("{c_type} {name}_acc = {identity};")),
            2..=4 => {
                let all = vec![identity; tree.width as usize].join(", ");
                self.out.line(&format!("{c_type} {name}_acc[{}] = {{{all}}};", tree.width));
            }
            width => {
                self.out.line(&format!("{c_type} {name}_acc[{width}];"));
                self.out.line(&format!("for (int v = 0; v < {width}; ++v) {name}_acc[v] = {identity};"));
            }
        }
    }

    /// One accumulator in each lane: neighbouring lanes take neighbouring elements.
    fn emit_strided_fold(&mut self, reduce: &Reduce, folds: &[Fold], tree: Tree) {
        let index = self.dialect.index_type(self.kernel.index);
        let (start, end) = self.emit_span(reduce);
        let from = plus(&start, "lane");
        let r = self.element_name(&reduce.axes);
        self.out.open(&format!("for ({index} {r} = {from}; {r} < {end}; {r} += {})", tree.lanes));
        self.emit_element_axes(&reduce.axes, &r, "");
        self.emit_block(&reduce.body);
        self.emit_folds(folds, "", "");
        self.out.close();
    }

    /// Several accumulators in each lane, filled by wide loads.
    fn emit_wide_fold(&mut self, reduce: &Reduce, folds: &[Fold], tree: Tree, neighbours: Neighbours) {
        let index = self.dialect.index_type(self.kernel.index);
        let (start, end) = self.emit_span(reduce);
        let from = plus(&start, &format!("lane * {}", tree.width));
        let r = self.element_name(&reduce.axes);
        self.out.open(&format!("for ({index} {r} = {from}; {r} < {end}; {r} += {})", tree.accumulators()));
        let (axes, body) = (&reduce.axes, &reduce.body);
        let has_runs =
            body.iter().any(|stmt| matches!(self.facts.place(stmt, neighbours), Place::WideLoad | Place::WideStore));
        if has_runs || axes.len() == 1 {
            self.emit_element_axes(axes, &r, "");
        }
        self.emit_placed(body, neighbours, Place::Before);
        self.out.line(&format!("const {index} left = {end} - {r};"));
        let stores = self.emit_wide_loads(body, neighbours);
        self.out.line("#pragma unroll");
        self.out.open(&format!("for (int v = 0; v < {}; ++v)", neighbours.width));
        let outer_axes = self.axes.clone();
        // Runs of neighbours lie in one row; where every access is one, the row is found once.
        let all_runs = body.iter().all(|stmt| match stmt {
            Stmt::Let { expr: crate::Expr::Load { .. } | crate::Expr::Index(_), .. } | Stmt::Store { .. } => {
                self.facts.place(stmt, neighbours) != Place::Each
            }
            Stmt::Let { .. } => true,
            Stmt::Reduce(_) => false,
        });
        match axes.as_slice() {
            [_] => drop(self.enter_loop(neighbours)),
            _ if all_runs => {}
            several => self.emit_element_axes(several, &r, " + v"),
        }
        self.guard = Some(Text::new("v < left", Binding::Relation));
        self.emit_each(body, neighbours, &stores);
        self.emit_folds(folds, "if (v < left) ", "[v]");
        self.guard = None;
        self.axes = outer_axes;
        self.out.close();
        self.emit_wide_stores(body, neighbours, &stores);
        self.out.close();
    }

    /// Several accumulators in one thread: full runs in a loop that the compiler turns into vectors, then the rest.
    fn emit_vector_fold(&mut self, reduce: &Reduce, folds: &[Fold], neighbours: Neighbours) {
        let index = self.dialect.index_type(self.kernel.index);
        let (start, end) = self.emit_span(reduce);
        let width = neighbours.width;
        // It outlives the first loop, so that two reductions over one axis need two names.
        let r = self.fresh_name("r");
        self.out.line(&format!("{index} {r} = {start};"));
        self.out.open(&format!("for (; {r} < {end} - {}; {r} += {width})", width - 1));
        self.out.line("#pragma unroll");
        self.out.open(&format!("for (int v = 0; v < {width}; ++v)"));
        self.emit_vector_body(reduce, folds, &r);
        self.out.close();
        self.out.close();
        // Unrolled too: an accumulator with a number known only at run time would keep all of them out of registers.
        self.out.line("#pragma unroll");
        self.out.open(&format!("for (int v = 0; v < {}; ++v)", width - 1));
        self.out.open(&format!("if ({r} + v < {end})"));
        self.emit_vector_body(reduce, folds, &r);
        self.out.close();
        self.out.close();
    }

    fn emit_vector_body(&mut self, reduce: &Reduce, folds: &[Fold], r: &str) {
        let outer_axes = self.axes.clone();
        match reduce.axes.as_slice() {
            [axis] => self.axes[axis.0 as usize] = Text::new(format!("{r} + v"), Binding::Sum),
            several => self.emit_element_axes(several, r, " + v"),
        }
        self.emit_block(&reduce.body);
        self.emit_folds(folds, "", "[v]");
        self.axes = outer_axes;
    }

    fn emit_folds(&mut self, folds: &[Fold], condition: &str, element: &str) {
        for fold in folds {
            let name = self.fold_name(fold.op, fold.result);
            let accumulator = Text::atom(format!("{name}_acc{element}"));
            let value = self.value(fold.value).clone();
            let line = self.fold(fold.op, self.dtype(fold.result), &accumulator, &value);
            self.out.line(&format!("{condition}{line}"));
        }
    }

    /// Combines a lane's accumulators by halving, into the first.
    fn emit_halving(&mut self, fold: &Fold, width: u32) {
        let name = self.fold_name(fold.op, fold.result);
        let mut half = width / 2;
        while half > 0 {
            let (to, from, head) = match half {
                1 => ("0".to_owned(), "1".to_owned(), String::new()),
                _ => ("v".to_owned(), format!("v + {half}"), format!("for (int v = 0; v < {half}; ++v) ")),
            };
            let accumulator = Text::atom(format!("{name}_acc[{to}]"));
            let other = Text::atom(format!("{name}_acc[{from}]"));
            let line = self.fold(fold.op, self.dtype(fold.result), &accumulator, &other);
            self.out.line(&format!("{head}{line}"));
            half /= 2;
        }
    }

    /// Combines the lanes by halving, into the first.
    fn emit_lanes_fold(&mut self, folds: &[Fold], tree: Tree) {
        let barrier = self.words.barrier;
        let element = if tree.width > 1 { "[0]" } else { "" };
        for fold in folds {
            let name = self.fold_name(fold.op, fold.result);
            self.out.line(&format!("{name}_lanes[lane] = {name}_acc{element};"));
        }
        self.out.line(barrier);
        self.out.open(&format!("for (int step = {}; step > 0; step /= 2)", tree.lanes / 2));
        let lines: Vec<String> = folds
            .iter()
            .map(|fold| {
                let name = self.fold_name(fold.op, fold.result);
                let accumulator = Text::atom(format!("{name}_lanes[lane]"));
                let other = Text::atom(format!("{name}_lanes[lane + step]"));
                self.fold(fold.op, self.dtype(fold.result), &accumulator, &other)
            })
            .collect();
        match lines.as_slice() {
            [only] => self.out.line(&format!("if (lane < step) {only}")),
            several => {
                self.out.open("if (lane < step)");
                several.iter().for_each(|line| self.out.line(line));
                self.out.close();
            }
        }
        self.out.line(barrier);
        self.out.close();
    }

    /// The name of the loop's counter: of one axis it is the index itself.
    fn element_name(&mut self, axes: &[AxisId]) -> String {
        match axes {
            [axis] => format!("i{}", axis.0),
            _ => self.fresh_name("r"),
        }
    }

    /// The indices of element number `r` with `offset` added.
    fn emit_element_axes(&mut self, axes: &[AxisId], r: &str, offset: &str) {
        match axes {
            [axis] => self.set_axis(axis.0, r),
            several => {
                let binding = if offset.is_empty() { Binding::Atom } else { Binding::Sum };
                let number = Text::new(format!("{r}{offset}"), binding);
                let linear = Text::cast(self.dialect.count_type(self.kernel.index), &number);
                self.divide_up(linear, several, None);
            }
        }
    }
}

/// `start + more`, without a start of zero.
fn plus(start: &str, more: &str) -> String {
    if start == "0" { more.to_owned() } else { format!("{start} + {more}") }
}
