//! The elements of a top-level reduction or loop, dealt to the lanes of a group.

use super::Emitter;
use super::facts::{Neighbours, Place, fold_neighbours};
use super::group::Group;
use super::text::{Binding, Text};
use super::walk::Walk;
use crate::{Affine, AxisId, BinaryOp, BufferId, Expr, Fold, Span, Stmt, UnaryOp, Var};

/// What a [`Reduce`](crate::Reduce) and a [`Loop`](crate::Loop) have in common: a body for each element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elements<'a> {
    pub axes: &'a [AxisId],
    pub span: Span,
    pub body: &'a [Stmt],
    pub folds: &'a [Fold],
}

impl<'a> Elements<'a> {
    pub fn of(stmt: &'a Stmt) -> Option<Self> {
        match stmt {
            Stmt::Reduce(reduce) => {
                Some(Self { axes: &reduce.axes, span: reduce.span, body: &reduce.body, folds: &reduce.folds })
            }
            Stmt::Loop(own) => Some(Self { axes: &own.axes, span: own.span, body: &own.body, folds: &[] }),
            Stmt::Let { .. } | Stmt::Store { .. } | Stmt::Combine(_) => None,
        }
    }
}

/// A variable that later loops use.
pub(super) struct Kept {
    var: Var,
    /// The name of its array.
    name: String,
    /// True where the array is of runs of neighbours as they were loaded.
    is_loaded: bool,
}

/// The most values in registers for all loads of a loop to be begun before the first is used.
const LOADED: u32 = 32;

/// The most statements that a loop has twice: for whole runs of neighbours, and for what is left of one.
const WRITTEN_TWICE: usize = 48;

impl Emitter<'_> {
    /// Declares what this loop assigns and later ones use, by the step and, where neighbours differ, by the neighbour.
    pub(super) fn emit_kept(&mut self, elements: &Elements<'_>, group: Group) {
        let loads_first = self.loads_first(elements, group);
        for stmt in elements.body {
            let is_load = matches!(stmt, Stmt::Let { expr: Expr::Load { .. }, .. });
            for var in stmt.assigned() {
                // What is loaded first lies in an array already.
                if self.facts.is_kept(var)
                    && !(is_load && loads_first.iter().any(|load| load.0 == var) && !self.dtype(var).is_half())
                {
                    self.emit_kept_array(var, group);
                }
            }
        }
    }

    fn emit_kept_array(&mut self, var: Var, group: Group) {
        let name = self.fresh_name("kept");
        let c_type = self.c_type(var);
        let (steps, width) = (group.steps, group.tree.width);
        let places = if group.is_stepped() {
            let steps = if steps > 1 { format!("[{steps}]") } else { String::new() };
            let width = if self.facts.varies(var) { format!("[{width}]") } else { String::new() };
            steps + &width
        } else {
            format!("[{}]", steps * width)
        };
        self.out.line(&format!("{c_type} {name}{places};"));
        self.kept.push(Kept { var, name, is_loaded: false });
    }

    /// Says where the element at hand is kept: `same` for what is the same for all neighbours, else `each`.
    fn set_slots(&mut self, same: &str, each: &str) {
        for Kept { var, name, is_loaded } in &self.kept {
            let slot = Text::atom(match (is_loaded, self.facts.varies(*var)) {
                (true, _) => format!("{name}{same}.v[v]"),
                (false, true) => format!("{name}{each}"),
                (false, false) => format!("{name}{same}"),
            });
            self.values[var.0 as usize] = slot.clone();
            self.slots[var.0 as usize] = Some(slot);
        }
    }

    /// The loads of runs of neighbours to begin before the loop over steps: several wait for memory together.
    fn loads_first<'b>(&self, elements: &Elements<'b>, group: Group) -> Vec<(Var, BufferId, &'b Affine)> {
        let Some(neighbours) = fold_neighbours(elements.axes, self.schedule) else { return Vec::new() };
        let body = elements.body;
        let loads = self.wide_loads(body, neighbours);
        // Beside what earlier loops left in registers.
        let kept = u32::from(!self.kept.is_empty());
        let values = (loads.len() as u32 + kept) * group.steps * group.tree.width;
        let is_alone = |stmt: &Stmt| self.facts.is_live(stmt) && self.facts.place(stmt, neighbours) == Place::Before;
        let has_steps = group.keeps_registers() && group.steps > 1;
        if has_steps && elements.axes.len() == 1 && values <= LOADED && !body.iter().any(is_alone) {
            loads
        } else {
            Vec::new()
        }
    }

    /// Loads the runs of all steps in a loop of their own, where there are any; gives the variables that are not kept as
    /// they were loaded, with what was.
    fn emit_loads_first(
        &mut self,
        elements: &Elements<'_>,
        group: Group,
        r: &str,
        span: (&str, &str),
    ) -> Option<Vec<(Var, Text)>> {
        let loads = self.loads_first(elements, group);
        if loads.is_empty() {
            return None;
        }
        let mut encoded = Vec::new();
        self.emit_element_axes(elements.axes, r, "");
        let mut lines = Vec::new();
        for &(var, buffer, at) in &loads {
            let wide = self.wide_type(buffer, group.tree.width, Some("LOAD"));
            let name = self.fresh_name("x");
            self.out.line(&format!("{wide} {name}[{}];", group.steps));
            let from = format!("&{}[{}]", self.names.buffer(buffer), self.affine(at).code);
            lines.push(format!("{name}[s] = {wide}_load({from}, {} - {r});", span.1));
            let element = Text::atom(format!("{name}[s].v[v]"));
            self.set_value(var, element.clone());
            if self.dtype(var).is_half() {
                encoded.push((var, element));
            } else if self.facts.is_kept(var) {
                self.kept.push(Kept { var, name, is_loaded: true });
            }
        }
        self.open_steps(group, r, span);
        lines.iter().for_each(|line| self.out.line(line));
        self.out.close();
        Some(encoded)
    }

    /// Opens the loop over the elements, or the first elements of runs, that are the lane's.
    fn open_steps(&mut self, group: Group, r: &str, (start, end): (&str, &str)) {
        let index = self.dialect.index_type(self.kernel.index);
        let all = group.tree.accumulators();
        let lane = first_of_lane(group);
        let from = plus(start, &lane);
        match group.steps {
            0 => self.out.open(&format!("for ({index} {r} = {from}; {r} < {end}; {r} += {all})")),
            1 => {
                self.out.block();
                self.out.line(&format!("const {index} {r} = {from};"));
            }
            steps => {
                if group.is_unrolled() {
                    self.out.line("#pragma unroll");
                }
                if step_name(group, r, start) == r {
                    self.out.open(&format!("for ({index} {r} = 0; {r} < {steps}; ++{r})"));
                } else {
                    self.out.open(&format!("for (int s = 0; s < {steps}; ++s)"));
                    let step = format!("s * {all}");
                    self.out.line(&format!("const {index} {r} = {};", plus(start, &plus(&step, &lane))));
                }
            }
        }
    }

    /// Runs the body in loops over the axes, all elements in one thread.
    pub(super) fn emit_nested(&mut self, elements: &Elements<'_>) {
        let mut number = String::new();
        for axis in elements.axes {
            let extent = self.extent(*axis);
            number = match number.as_str() {
                "" => format!("i{}", axis.0),
                outer if outer.contains(' ') => format!("({outer}) * {extent} + i{}", axis.0),
                outer => format!("{outer} * {extent} + i{}", axis.0),
            };
        }
        let place = if number.is_empty() { "[0]".to_owned() } else { format!("[{number}]") };
        self.set_slots(&place, &place);
        self.emit_serial(elements);
    }

    /// Deals the elements to lanes, `width` neighbours at a time, and folds them into each lane's accumulators.
    pub(super) fn emit_dealt(&mut self, elements: &Elements<'_>, folds: &[Fold], group: Group) {
        let (start, end) = self.emit_span(elements);
        if let Some(neighbours) = fold_neighbours(elements.axes, self.schedule)
            && group.steps == 0
            && elements.body.len() <= WRITTEN_TWICE
        {
            return self.emit_full_runs(elements, folds, group, neighbours, (&start, &end));
        }
        let r = self.element_name(elements.axes);
        let (lanes, width) = (group.tree.lanes, group.tree.width);
        let walk = (elements.axes.len() > 1 && group.steps == 0 && width == 1).then(|| {
            let first = Text::new(plus(&start, &first_of_lane(group)), Binding::Sum);
            self.emit_walk(elements.axes, &first, lanes)
        });
        let loaded = self.emit_loads_first(elements, group, &r, (&start, &end));
        self.open_steps(group, &r, (&start, &end));
        let step = if group.steps > 1 { format!("[{}]", step_name(group, &r, &start)) } else { String::new() };
        match fold_neighbours(elements.axes, self.schedule) {
            Some(neighbours) => {
                self.set_slots(&step, &format!("{step}[v]"));
                let is_loaded = loaded.is_some();
                for (var, element) in loaded.into_iter().flatten() {
                    self.set_value(var, element);
                }
                self.emit_neighbours(
                    elements,
                    folds,
                    neighbours,
                    Run { first: &r, end: Some(&end), is_loaded, walk: None },
                );
            }
            None => {
                self.set_slots(&step, &step);
                if group.steps > 0 {
                    self.out.open(&format!("if ({r} < {end})"));
                }
                if walk.is_none() {
                    self.emit_element_axes(elements.axes, &r, "");
                }
                self.emit_block(elements.body);
                self.emit_folds(folds, "", "");
                match &walk {
                    Some(walk) => self.emit_walk_on(walk),
                    None if group.steps > 0 => self.out.close(),
                    None => {}
                }
            }
        }
        self.out.close();
    }

    /// Whole runs of neighbours in a loop that tests nothing, then what is left of one.
    fn emit_full_runs(
        &mut self,
        elements: &Elements<'_>,
        folds: &[Fold],
        group: Group,
        neighbours: Neighbours,
        (start, end): (&str, &str),
    ) {
        let index = self.dialect.index_type(self.kernel.index);
        let (all, width) = (group.tree.accumulators(), group.tree.width);
        let r = self.fresh_name("r");
        self.out.line(&format!("{index} {r} = {};", plus(start, &first_of_lane(group))));
        self.set_slots("", "[v]");
        let walk = (elements.axes.len() > 1).then(|| self.emit_walk(elements.axes, &Text::atom(&r), all));
        let run = Run { first: &r, end: None, is_loaded: false, walk: walk.as_ref() };
        self.out.open(&format!("for (; {r} < {end} - {}; {r} += {all})", width - 1));
        self.emit_neighbours(elements, folds, neighbours, run);
        if let Some(walk) = &walk {
            self.emit_walk_on(walk);
        }
        self.out.close();
        self.out.open(&format!("if ({r} < {end})"));
        self.emit_neighbours(elements, folds, neighbours, Run { end: Some(end), ..run });
        self.out.close();
    }

    /// Runs the body for a run of neighbours, by wide loads and stores.
    fn emit_neighbours(&mut self, elements: &Elements<'_>, folds: &[Fold], neighbours: Neighbours, run: Run<'_>) {
        let index = self.dialect.index_type(self.kernel.index);
        let (axes, body) = (elements.axes, elements.body);
        let r = run.first;
        let has_runs =
            body.iter().any(|stmt| matches!(self.facts.place(stmt, neighbours), Place::WideLoad | Place::WideStore));
        if run.walk.is_none() && (has_runs || axes.len() == 1) {
            self.emit_element_axes(axes, r, "");
        }
        self.emit_placed(body, neighbours, Place::Before);
        if let Some(end) = run.end {
            self.out.line(&format!("const {index} left = {end} - {r};"));
        }
        if !run.is_loaded {
            self.emit_wide_loads(body, neighbours, run.end.is_none());
        }
        let stores = self.declare_wide_stores(body, neighbours);
        self.out.line("#pragma unroll");
        self.out.open(&format!("for (int v = 0; v < {}; ++v)", neighbours.width));
        let outer_axes = self.axes.clone();
        // Runs of neighbours lie in one row; where every access is one, the row is found once.
        let all_runs = body.iter().all(|stmt| match stmt {
            Stmt::Let { expr: Expr::Load { .. } | Expr::Index(_), .. } | Stmt::Store { .. } => {
                self.facts.place(stmt, neighbours) != Place::Each
            }
            Stmt::Let { .. } => true,
            Stmt::Reduce(_) | Stmt::Combine(_) | Stmt::Loop(_) => false,
        });
        match (axes, run.walk) {
            ([_], _) => drop(self.enter_loop(neighbours)),
            _ if all_runs => {}
            (_, Some(walk)) => self.emit_walk_to_neighbour(walk),
            (several, None) => self.emit_element_axes(several, r, " + v"),
        }
        let condition = if run.end.is_some() { "if (v < left) " } else { "" };
        self.guard = run.end.map(|_| Text::new("v < left", Binding::Relation));
        self.emit_each(body, neighbours, &stores);
        self.emit_folds(folds, condition, "[v]");
        self.guard = None;
        self.axes = outer_axes;
        self.out.close();
        self.emit_wide_stores(body, neighbours, &stores, run.end.is_none());
    }

    /// Several accumulators in one thread: full runs in a loop that the compiler turns into vectors, then the rest.
    pub(super) fn emit_vector_fold(&mut self, elements: &Elements<'_>, folds: &[Fold], width: u32) {
        let index = self.dialect.index_type(self.kernel.index);
        let (start, end) = self.emit_span(elements);
        // It outlives the first loop, so that two reductions over one axis need two names.
        let r = self.fresh_name("r");
        self.set_slots(&format!("[{r} + v]"), &format!("[{r} + v]"));
        self.out.line(&format!("{index} {r} = {start};"));
        self.out.open(&format!("for (; {r} < {end} - {}; {r} += {width})", width - 1));
        // A compiler that unrolls long bodies first makes fewer vectors of them than of the loop.
        if !elements.body.iter().any(is_function) {
            self.out.line("#pragma unroll");
        }
        self.out.open(&format!("for (int v = 0; v < {width}; ++v)"));
        self.emit_vector_body(elements, folds, &r);
        self.out.close();
        self.out.close();
        // Unrolled too: an accumulator with a number known only at run time would keep all of them out of registers.
        self.out.line("#pragma unroll");
        self.out.open(&format!("for (int v = 0; v < {}; ++v)", width - 1));
        self.out.open(&format!("if ({r} + v < {end})"));
        self.emit_vector_body(elements, folds, &r);
        self.out.close();
        self.out.close();
    }

    fn emit_vector_body(&mut self, elements: &Elements<'_>, folds: &[Fold], r: &str) {
        let outer_axes = self.axes.clone();
        match elements.axes {
            [axis] => self.axes[axis.0 as usize] = Text::new(format!("{r} + v"), Binding::Sum),
            several => self.emit_element_axes(several, r, " + v"),
        }
        self.emit_block(elements.body);
        self.emit_folds(folds, "", "[v]");
        self.axes = outer_axes;
    }

    fn emit_folds(&mut self, folds: &[Fold], condition: &str, element: &str) {
        for fold in folds {
            let name = self.fold_name(fold);
            let accumulator = Text::atom(format!("{name}_acc{element}"));
            let value = self.value(fold.value).clone();
            let line = self.arithmetic.fold(fold.op, self.dtype(fold.result), &accumulator, &value);
            self.out.line(&format!("{condition}{line}"));
        }
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

/// True where a function is called that takes many instructions.
fn is_function(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Let { expr: Expr::Unary(op, _), .. } => !op.is_cheap() && !matches!(op, UnaryOp::Sqrt | UnaryOp::Recip),
        Stmt::Let { expr: Expr::Binary(op, ..), .. } => {
            matches!(op, BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Hypot)
        }
        _ => false,
    }
}

/// A run of neighbours.
#[derive(Clone, Copy)]
struct Run<'a> {
    /// The number of its first element.
    first: &'a str,
    /// The number past the last element there is, where the run may go beyond.
    end: Option<&'a str>,
    /// True where what it loads was loaded before.
    is_loaded: bool,
    /// The indices of the first element, where they are carried along.
    walk: Option<&'a Walk<'a>>,
}

/// The number of a lane's first element.
fn first_of_lane(group: Group) -> String {
    match (group.tree.lanes, group.tree.width) {
        (1, _) => "0".to_owned(),
        (_, 1) => "lane".to_owned(),
        (_, width) => format!("lane * {width}"),
    }
}

/// The name of the counter of steps; a lone lane's is the element's number.
fn step_name<'a>(group: Group, r: &'a str, start: &str) -> &'a str {
    if group.tree.accumulators() == 1 && start == "0" { r } else { "s" }
}

/// `first + second`, without zeros.
fn plus(first: &str, second: &str) -> String {
    match (first, second) {
        ("0", other) | (other, "0") => other.to_owned(),
        _ => format!("{first} + {second}"),
    }
}
