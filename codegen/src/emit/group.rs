//! `Schedule::Group`: lanes own one point together; a group holds one point or several.

use super::Emitter;
use super::elements::Elements;
use super::lanes::Ending;
use super::text::{Binding, Text};
use crate::{AxisId, Dialect, Fold, IndexWidth, LaneOrder, Schedule, Stmt, Tree};

/// The parts of a [`Schedule::Group`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub tree: Tree,
    pub points: u32,
    pub lane_order: LaneOrder,
    pub steps: u32,
    /// The name of a thread's number among its lanes.
    pub lane: &'static str,
}

/// The most values a thread keeps in registers; its loops over them are unrolled.
const UNROLLED: u32 = 32;

impl Group {
    pub fn of(schedule: &Schedule) -> Option<Self> {
        match *schedule {
            Schedule::Group { tree, points, lane_order, steps } => {
                Some(Self { tree, points, lane_order, steps, lane: "lane" })
            }
            Schedule::Map { .. } | Schedule::Rows { .. } | Schedule::Tile { .. } => None,
        }
    }

    /// True where loops over elements may be unrolled, so that what is kept lies in registers.
    pub fn is_unrolled(&self) -> bool {
        self.steps > 0 && self.steps * self.tree.width <= UNROLLED
    }

    /// True where loops over elements count steps. A lone thread that fills vectors, or a long array, counts elements.
    pub fn is_stepped(&self) -> bool {
        self.steps > 0 && (self.tree.lanes > 1 || self.tree.width == 1 && self.is_unrolled())
    }

    /// True where kept values lie in registers.
    pub fn keeps_registers(&self) -> bool {
        self.is_stepped() && self.is_unrolled()
    }
}

impl Emitter<'_> {
    pub(super) fn emit_group(&mut self, group: Group) {
        if let Some(combine) = self.kernel.combine() {
            return self.emit_combining(combine.axis.0, group, self.kernel.waits());
        }
        let body = &self.kernel.body;
        let last_fold = body.iter().rposition(|stmt| {
            let elements = Elements::of(stmt);
            elements.is_some_and(|elements| !self.live_folds(elements.folds).is_empty())
        });
        let last_loop = body.iter().rposition(|stmt| Elements::of(stmt).is_some() && self.facts.is_live(stmt));
        let has_rest =
            |after: Option<usize>| body[after.map_or(0, |at| at + 1)..].iter().any(|stmt| self.facts.is_live(stmt));
        let (rest_after_fold, rest_after_loop) = (has_rest(last_fold), has_rest(last_loop));
        // Threads past the last point must meet the others at every barrier.
        self.emit_group_point(group, group.tree.lanes > 1 && last_fold.is_some());
        if last_loop.is_none() && rest_after_loop {
            self.emit_leave(group, true);
        }
        for (number, stmt) in body.iter().enumerate() {
            let number = Some(number);
            if !self.facts.is_live(stmt) {
                continue;
            }
            let mut have_left = false;
            match (Elements::of(stmt), stmt) {
                (Some(elements), _) => {
                    let is_last = number == last_fold && number == last_loop && rest_after_loop;
                    have_left =
                        self.emit_top_level(&elements, group, if is_last { Ending::First } else { Ending::All });
                }
                (None, Stmt::Store { .. }) if number < last_loop => {
                    self.guard = (group.tree.lanes > 1).then(|| Text::new("lane == 0", Binding::Equality));
                    self.emit_stmt(stmt);
                    self.guard = None;
                }
                _ => self.emit_stmt(stmt),
            }
            // No barrier follows, so that the other threads may leave.
            if number == last_loop && rest_after_loop && !have_left {
                self.emit_leave(group, true);
            } else if number == last_fold && rest_after_fold && !have_left {
                self.emit_leave(group, false);
            }
        }
    }

    /// Lets threads past the last point leave, and with `lanes` all lanes but the first.
    pub(super) fn emit_leave(&mut self, group: Group, lanes: bool) {
        let mut who = Vec::new();
        if lanes && group.tree.lanes > 1 {
            who.push("lane > 0");
        }
        if self.in_range.take().is_some() {
            who.push("g > last");
        }
        if !who.is_empty() {
            self.out.line(&format!("if ({}) return;", who.join(" || ")));
        }
    }

    /// Finds the point from the numbers of the group and the thread. With `must_stay` a thread past the last point computes
    /// that point too, but stores nothing.
    fn emit_group_point(&mut self, group: Group, must_stay: bool) {
        let [group_id, _] = self.words.group_id;
        self.emit_point(group, &self.kernel.parallel, group_id, must_stay);
    }

    /// As `emit_group_point`, of the points along `parallel`, by the group's number among those along that grid axis.
    pub(super) fn emit_point(&mut self, group: Group, parallel: &[AxisId], group_id: &str, must_stay: bool) {
        let count = self.dialect.count_type(self.kernel.index);
        let points = group.points;
        let (point_in_group, _) = self.places(group);
        if points == 1 {
            let mut point = Text::atom(group_id);
            if parallel.len() > 1 {
                self.out.line(&format!("const {count} g = {group_id};"));
                point = Text::atom("g");
            }
            self.divide_up(point, parallel, None);
        } else {
            let is_narrow = self.dialect == Dialect::CudaC && self.kernel.index == IndexWidth::I64;
            let wide = if is_narrow { format!("({count})") } else { String::new() };
            let all = self.points(parallel).map_or("1".to_owned(), |points| points.code);
            self.out.line(&format!("const {count} g = {wide}{group_id} * {points} + {point_in_group};"));
            let mut point = Text::atom("g");
            if must_stay {
                self.out.line(&format!("const {count} last = {all} - 1;"));
                point = Text::call("min", &[&Text::atom("g"), &Text::atom("last")]);
                if parallel.len() > 1 {
                    self.out.line(&format!("const {count} point = {};", point.code));
                    point = Text::atom("point");
                }
                self.in_range = Some(Text::new("g <= last", Binding::Relation));
            } else {
                self.out.line(&format!("if (g >= {all}) return;"));
            }
            self.divide_up(point, parallel, None);
        }
        self.emit_lane(group);
    }

    pub(super) fn emit_lane(&mut self, group: Group) {
        if group.tree.lanes > 1 {
            let (_, lane) = self.places(group);
            self.out.line(&format!("const int lane = {lane};"));
        }
    }

    /// The number of a thread's point in its group, and of its lane.
    fn places(&self, group: Group) -> (String, String) {
        let (lanes, points) = (group.tree.lanes, group.points);
        let thread = self.words.local_id;
        match (group.lane_order, lanes, points) {
            (_, _, 1) => (String::new(), thread.to_owned()),
            (_, 1, _) => (thread.to_owned(), String::new()),
            (LaneOrder::LanesFastest, ..) => (format!("{thread} / {lanes}"), format!("{thread} % {lanes}")),
            (LaneOrder::PointsFastest, ..) => (format!("{thread} % {points}"), format!("{thread} / {points}")),
        }
    }

    /// Runs a loop at the top level and folds along the tree, for whoever needs the results: true where the other lanes than
    /// the first have left.
    pub(super) fn emit_top_level(&mut self, elements: &Elements<'_>, group: Group, ending: Ending<'_>) -> bool {
        let folds = self.live_folds(elements.folds);
        self.emit_kept(elements, group);
        let (lanes, width) = (group.tree.lanes, group.tree.width);
        if lanes == 1 && !group.is_stepped() && (width == 1 || folds.is_empty()) {
            self.emit_nested(elements);
            return false;
        }
        for fold in &folds {
            self.emit_accumulators(fold, group);
        }
        if lanes == 1 && !group.is_stepped() {
            self.emit_vector_fold(elements, &folds, width);
        } else {
            self.emit_dealt(elements, &folds, group);
        }
        for fold in &folds {
            let accumulators = format!("{}_acc", self.fold_name(fold));
            self.emit_halving(fold, &accumulators, width);
        }
        !folds.is_empty() && self.emit_lanes(&folds, group, ending)
    }

    pub(super) fn emit_accumulators(&mut self, fold: &Fold, group: Group) {
        let name = self.fold_name(fold);
        let dtype = self.dtype(fold.result);
        let (c_type, identity) = (self.c_type(fold.result), self.arithmetic.identity(fold.op, dtype));
        if self.shares_memory(group) {
            let threads = group.tree.lanes * group.points;
            self.out.line(&format!("{} {c_type} {name}_lanes[{threads}];", self.words.shared));
        }
        match group.tree.width {
            1 => self.out.line(&format!("{c_type} {name}_acc = {identity};")),
            width @ 2..=4 => {
                let all = vec![identity; width as usize].join(", ");
                self.out.line(&format!("{c_type} {name}_acc[{width}] = {{{all}}};"));
            }
            width => {
                self.out.line(&format!("{c_type} {name}_acc[{width}];"));
                self.out.line(&format!("for (int v = 0; v < {width}; ++v) {name}_acc[v] = {identity};"));
            }
        }
    }

    /// Combines a run of accumulators by halving, into the first.
    pub(super) fn emit_halving(&mut self, fold: &Fold, accumulators: &str, width: u32) {
        let mut half = width / 2;
        while half > 0 {
            let (to, from, head) = match half {
                1 => ("0".to_owned(), "1".to_owned(), String::new()),
                _ => ("v".to_owned(), format!("v + {half}"), format!("for (int v = 0; v < {half}; ++v) ")),
            };
            let accumulator = Text::atom(format!("{accumulators}[{to}]"));
            let other = Text::atom(format!("{accumulators}[{from}]"));
            let line = self.arithmetic.fold(fold.op, self.dtype(fold.result), &accumulator, &other);
            self.out.line(&format!("{head}{line}"));
            half /= 2;
        }
    }
}
