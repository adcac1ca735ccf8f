//! Points that combine: the groups of one launch hand in their values, and the last of them, or all of them, fold these.
//!
//! Groups lie on two grid axes. Where the last group goes on alone, axis 0 counts the groups of points and axis 1 the points
//! along the combined axis. Where groups wait, axis 0 counts those that wait for each other, so that they start together, and
//! axis 1 as many of their teams as run at once; each team takes one point of the other axes after another.

use super::Emitter;
use super::elements::Elements;
use super::group::Group;
use super::lanes::Ending;
use super::prelude::Section;
use super::text::{Binding, Text};
use crate::{Combine, Dialect, LaneOrder, Stmt, Tree};

impl Emitter<'_> {
    pub(super) fn emit_combining(&mut self, axis: u32, group: Group, waits: bool) {
        let body = &self.kernel.body;
        let index = self.dialect.index_type(self.kernel.index);
        let [x, y] = self.words.group_id;
        let (chunk, point) = if waits { (x, y) } else { (y, x) };
        self.set_axis(axis, &format!("i{axis}"));
        self.out.line(&format!("const {index} i{axis} = {chunk};"));
        let others = &self.kernel.parallel[1..];
        if waits {
            self.emit_lane(group);
            self.open_team_loop(others, point);
        } else {
            self.emit_point(group, others, point, group.tree.lanes > 1);
        }
        let (mut counters, mut is_handed_in) = (Vec::new(), false);
        for (number, stmt) in body.iter().enumerate() {
            if !self.facts.is_live(stmt) {
                continue;
            }
            match (Elements::of(stmt), stmt) {
                (Some(elements), _) => {
                    let handed_in = self.handed_in(&elements, body.get(number + 1));
                    let ending = handed_in.as_deref().map_or(Ending::All, Ending::Memory);
                    self.emit_top_level(&elements, group, ending);
                    is_handed_in = handed_in.is_some();
                }
                (None, Stmt::Combine(combine)) => {
                    counters.push(combine.counter);
                    if !std::mem::take(&mut is_handed_in) {
                        self.emit_partials(combine, group);
                    }
                    if waits {
                        // A count goes on from one time to the next.
                        let turn = counters.iter().filter(|&&counter| counter == combine.counter).count();
                        self.emit_waiting(combine, group, turn);
                    } else {
                        self.emit_last_group(combine, group);
                        self.emit_leave(group, true);
                    }
                }
                (None, Stmt::Store { .. }) if waits => {
                    let first = Text::new(format!("i{axis} == 0 && lane == 0"), Binding::Choice);
                    self.guard = Some(first);
                    self.emit_stmt(stmt);
                    self.guard = None;
                }
                (None, _) => self.emit_stmt(stmt),
            }
        }
        if waits {
            self.out.close();
        }
    }

    /// Goes from one point of the other axes to the next; as many teams do so as there are groups along grid axis 1.
    fn open_team_loop(&mut self, others: &[crate::AxisId], team: &str) {
        let count = self.dialect.count_type(self.kernel.index);
        let all = self.points(others).map_or("1".to_owned(), |points| points.code);
        self.out.open(&format!("for ({count} g = {team}; g < {all}; g += {})", self.words.groups[1]));
        self.divide_up(Text::atom("g"), others, None);
    }

    /// All but the last group leave.
    fn emit_last_group(&mut self, combine: &Combine, group: Group) {
        let [tile, _] = self.words.group_id;
        let count = format!("&{}[{tile}]", self.names.buffer(combine.counter));
        let all = self.words.groups[1];
        self.arithmetic.prelude.section(Section::LastGroup);
        match self.dialect {
            Dialect::CudaC => self.out.line(&format!("if (!is_last_group({count}, {all})) return;")),
            Dialect::OpenClC => {
                self.out.line("__local bool is_last;");
                self.out.line(&format!("if (!is_last_group({count}, {all}, &is_last)) return;"));
            }
        }
        self.emit_partial_folds(combine, group);
    }

    /// All groups along the combined axis wait for each other, for the `turn`th time.
    fn emit_waiting(&mut self, combine: &Combine, group: Group, turn: usize) {
        self.arithmetic.prelude.section(Section::AwaitGroups);
        let (count, groups) = (self.names.buffer(combine.counter), self.words.groups[0]);
        let all = if turn == 1 { groups.to_owned() } else { format!("{turn} * {groups}") };
        self.out.line(&format!("await_groups(&{count}[g], {all});"));
        self.emit_partial_folds(combine, group);
    }

    /// Where a loop's results go straight to scratch: what follows hands in these and nothing else.
    fn handed_in(&self, elements: &Elements<'_>, next: Option<&Stmt>) -> Option<Vec<String>> {
        let Some(Stmt::Combine(combine)) = next else { return None };
        let place = self.affine(&combine.at).code;
        // Their values are not those of memory.
        let is_plain = combine.partials.iter().all(|buffer| !self.buffer_dtype(*buffer).is_half());
        let results = elements.folds.iter().map(|fold| fold.result);
        if !is_plain || !results.eq(combine.folds.iter().map(|fold| fold.value)) {
            return None;
        }
        let used = combine.folds.iter().zip(&combine.partials).filter(|(fold, _)| self.facts.is_used(fold.result));
        Some(used.map(|(_, buffer)| format!("{}[{place}]", self.names.buffer(*buffer))).collect())
    }

    /// Hands in the point's values.
    fn emit_partials(&mut self, combine: &Combine, group: Group) {
        let mut conditions = Vec::new();
        if group.tree.lanes > 1 {
            conditions.push("lane == 0".to_owned());
        }
        conditions.extend(self.in_range.as_ref().map(|text| text.code.clone()));
        let condition =
            if conditions.is_empty() { String::new() } else { format!("if ({}) ", conditions.join(" && ")) };
        for (fold, &buffer) in combine.folds.iter().zip(&combine.partials) {
            if !self.facts.is_used(fold.result) {
                continue;
            }
            let to = format!("{}[{}]", self.names.buffer(buffer), self.affine(&combine.at).code);
            let value = self.encoded(self.buffer_dtype(buffer), fold.value);
            self.out.line(&format!("{condition}{to} = {};", value.code));
        }
    }

    /// Folds what all points along the axis handed in; afterwards every lane has the results.
    fn emit_partial_folds(&mut self, combine: &Combine, group: Group) {
        let folds = self.live_folds(&combine.folds);
        let index = self.dialect.index_type(self.kernel.index);
        let group = if combine.tree == group.tree { group } else { self.members(combine.tree, group) };
        for fold in &folds {
            self.emit_accumulators(fold, group);
        }
        let chunk = self.fresh_name("c");
        let Tree { lanes, width } = combine.tree;
        let (first, step) = match lanes {
            1 if width == 1 => ("0", format!("++{chunk}")),
            1 => ("0", format!("{chunk} += {width}")),
            _ => (group.lane, format!("{chunk} += {lanes}")),
        };
        let extent = self.extent(combine.axis).to_owned();
        self.out.open(&format!("for ({index} {chunk} = {first}; {chunk} < {extent}; {step})"));
        let (mut point, mut element, mut condition) = (Text::atom(chunk.clone()), "", String::new());
        if width > 1 {
            // As many points as accumulators at a time, each for the one whose number is its own.
            self.out.open(&format!("for (int v = 0; v < {width}; ++v)"));
            (point, element) = (Text::new(format!("{chunk} + v"), Binding::Sum), "[v]");
            condition = format!("if ({chunk} + v < {extent}) ");
        }
        let own = std::mem::replace(&mut self.axes[combine.axis.0 as usize], point);
        for (fold, &buffer) in combine.folds.iter().zip(&combine.partials) {
            if !self.facts.is_used(fold.result) {
                continue;
            }
            let place = format!("{}[{}]", self.names.buffer(buffer), self.affine(&combine.at).code);
            // Not from a cache that does not know what other groups wrote.
            let partial = match self.dialect {
                Dialect::CudaC => Text::atom(format!("__ldcg(&{place})")),
                Dialect::OpenClC => Text::atom(place),
            };
            let value = self.arithmetic.decoded(self.buffer_dtype(buffer), partial);
            let accumulator = Text::atom(format!("{}_acc{element}", self.fold_name(fold)));
            let line = self.arithmetic.fold(fold.op, self.dtype(fold.result), &accumulator, &value);
            self.out.line(&format!("{condition}{line}"));
        }
        self.axes[combine.axis.0 as usize] = own;
        if width > 1 {
            self.out.close();
        }
        self.out.close();
        for fold in &folds {
            let accumulators = format!("{}_acc", self.fold_name(fold));
            self.emit_halving(fold, &accumulators, width);
        }
        self.emit_lanes(&folds, group, Ending::All);
    }

    /// The threads of a group as lanes of a tree that several of them fold along at once, each for itself.
    fn members(&mut self, tree: Tree, group: Group) -> Group {
        let threads = group.tree.lanes * group.points;
        let points = threads / tree.lanes;
        if !self.has_member {
            self.has_member = true;
            let thread = self.words.local_id;
            let member = if points == 1 { thread.to_owned() } else { format!("{thread} % {}", tree.lanes) };
            self.out.line(&format!("const int member = {member};"));
        }
        Group { tree, points, lane_order: LaneOrder::LanesFastest, steps: 0, lane: "member" }
    }
}
