//! What the emitter must know of a kernel before it writes: which values differ between the neighbours a thread owns, which
//! are used, and which are used once in the place that computes them, so that they need no name.

use super::elements::Elements;
use crate::{Affine, AxisId, Coefficient, Expr, Kernel, Schedule, Span, Stmt, Term, Var};

/// A block whose statements a thread runs for `width` neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Neighbours {
    /// How many.
    pub width: u32,
    /// The axis along which they are neighbours.
    pub axis: AxisId,
    /// True where loads and stores marked wide are to be made wide by hand; a CPU's compiler does it by itself.
    pub by_hand: bool,
}

/// Where a statement of a block of neighbours goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// Before the loop over them: it is the same for all.
    Before,
    /// A load of all of them, before the loop.
    WideLoad,
    /// In the loop.
    Each,
    /// Collected in the loop, stored after it.
    WideStore,
}

/// The place in the text where a value is computed or used.
type Scope = u32;

pub(super) struct Facts {
    /// By variable: differs between neighbours.
    varying: Vec<bool>,
    /// By variable: how many times live statements use it.
    uses: Vec<u32>,
    /// By variable: the scope of all its uses, if they have one.
    use_scope: Vec<Option<Scope>>,
    /// By variable: used once, in the scope that computes it.
    single: Vec<bool>,
    /// By variable: the number of the top-level loop that assigns it for each of its elements, if one does.
    home: Vec<Option<usize>>,
    /// By variable: used by a top-level loop after the one that assigns it.
    kept: Vec<bool>,
    /// The number of the top-level statement whose uses are being counted.
    current: usize,
    /// By axis: its index is used.
    axis_used: Vec<bool>,
    /// By axis: its index differs between neighbours.
    axis_varies: Vec<bool>,
    next_scope: Scope,
}

impl Facts {
    pub fn new(kernel: &Kernel, schedule: &Schedule) -> Self {
        let vars = kernel.vars.len();
        let mut facts = Facts {
            varying: vec![false; vars],
            uses: vec![0; vars],
            use_scope: vec![None; vars],
            single: vec![false; vars],
            home: vec![None; vars],
            kept: vec![false; vars],
            current: 0,
            axis_used: vec![false; kernel.axes.len()],
            axis_varies: vec![false; kernel.axes.len()],
            next_scope: 0,
        };
        let root = root_neighbours(kernel, schedule);
        if let Some(root) = root {
            facts.axis_varies[root.axis.0 as usize] = true;
        }
        for (number, stmt) in kernel.body.iter().enumerate() {
            let Some(elements) = Elements::of(stmt) else { continue };
            if fold_neighbours(elements.axes, schedule).is_some() {
                elements.axes.iter().for_each(|axis| facts.axis_varies[axis.0 as usize] = true);
            }
            let assigned = elements.body.iter().flat_map(Stmt::assigned);
            assigned.for_each(|var| facts.home[var.0 as usize] = Some(number));
        }
        facts.find_varying(&kernel.body, schedule, true);
        facts.count_uses(&kernel.body, &[], schedule, root, true);
        facts
    }

    /// True where the value differs between neighbours.
    pub fn varies(&self, var: Var) -> bool {
        self.varying[var.0 as usize]
    }

    pub fn is_used(&self, var: Var) -> bool {
        self.uses[var.0 as usize] > 0
    }

    /// True where the value may be written in place of a name.
    pub fn is_single(&self, var: Var) -> bool {
        self.single[var.0 as usize]
    }

    /// True where a top-level loop uses what an earlier one assigned for the same element.
    pub fn is_kept(&self, var: Var) -> bool {
        self.kept[var.0 as usize]
    }

    pub fn is_axis_used(&self, axis: AxisId) -> bool {
        self.axis_used[axis.0 as usize]
    }

    /// True where the element's index differs between neighbours.
    pub fn address_varies(&self, at: &Affine) -> bool {
        at.terms.iter().any(|(term, _)| match term {
            Term::Axis(axis) => self.axis_varies[axis.0 as usize],
            Term::Var(var) => self.varies(*var),
        })
    }

    /// Where a statement of a block of neighbours goes.
    pub fn place(&self, stmt: &Stmt, neighbours: Neighbours) -> Place {
        let is_run = |at: &Affine| {
            neighbours.by_hand
                && at.terms.contains(&(Term::Axis(neighbours.axis), Coefficient::One))
                && at.terms.iter().all(|(term, _)| !matches!(term, Term::Var(var) if self.varies(*var)))
        };
        match stmt {
            Stmt::Let { expr: Expr::Load { at, wide: true, .. }, .. } if is_run(at) => Place::WideLoad,
            Stmt::Store { at, wide: true, .. } if is_run(at) => Place::WideStore,
            stmt if self.stmt_varies(stmt) => Place::Each,
            _ => Place::Before,
        }
    }

    fn stmt_varies(&self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Let { var, .. } => self.varies(*var),
            Stmt::Store { at, value, .. } => self.varies(*value) || self.address_varies(at),
            Stmt::Reduce(reduce) => {
                reduce.folds.iter().any(|fold| self.varies(fold.result))
                    || reduce.body.iter().any(|stmt| self.stmt_varies(stmt))
            }
            Stmt::Combine(_) => false,
            Stmt::Loop(own) => own.body.iter().any(|stmt| self.stmt_varies(stmt)),
        }
    }

    fn find_varying(&mut self, body: &[Stmt], schedule: &Schedule, is_root: bool) {
        for stmt in body {
            match stmt {
                Stmt::Let { var, expr } => {
                    let mut varies = false;
                    match expr {
                        Expr::Load { at, .. } | Expr::Index(at) => varies = self.address_varies(at),
                        other => other.for_each_var(|operand| varies |= self.varies(operand)),
                    }
                    self.varying[var.0 as usize] = varies;
                }
                // Groups have one point a lane.
                Stmt::Store { .. } | Stmt::Combine(_) => {}
                Stmt::Reduce(reduce) => {
                    self.find_varying(&reduce.body, schedule, false);
                    // Neighbours within a fold are folded together: its results are the same for all of them.
                    if is_root && fold_neighbours(&reduce.axes, schedule).is_some() {
                        continue;
                    }
                    let chunk_varies = match reduce.span {
                        Span::Whole => false,
                        Span::Chunk { axis, .. } => self.axis_varies[axis.0 as usize],
                    };
                    for fold in &reduce.folds {
                        self.varying[fold.result.0 as usize] = chunk_varies || self.varies(fold.value);
                    }
                }
                Stmt::Loop(own) => self.find_varying(&own.body, schedule, false),
            }
        }
    }

    /// Walks backwards, so that what only dead statements use is dead too. `folded` are used at the end of the body.
    fn count_uses(
        &mut self,
        body: &[Stmt],
        folded: &[Var],
        schedule: &Schedule,
        neighbours: Option<Neighbours>,
        is_root: bool,
    ) {
        let before = self.new_scope();
        let each = if neighbours.is_some() { self.new_scope() } else { before };
        folded.iter().for_each(|&var| self.use_var(var, each));
        for (number, stmt) in body.iter().enumerate().rev() {
            if is_root {
                self.current = number;
            }
            let place = neighbours.map_or(Place::Before, |neighbours| self.place(stmt, neighbours));
            // A wide load's address is computed before the loop, its elements are taken out in it.
            let (address, value) = match place {
                Place::Before => (before, before),
                Place::WideLoad | Place::WideStore => (before, each),
                Place::Each => (each, each),
            };
            match stmt {
                Stmt::Let { var, expr } => {
                    let number = var.0 as usize;
                    self.single[number] = self.uses[number] == 1 && self.use_scope[number] == Some(value);
                    if self.uses[number] == 0 {
                        continue;
                    }
                    match expr {
                        Expr::Load { at, .. } | Expr::Index(at) => self.use_address(at, address),
                        other => other.for_each_var(|var| self.use_var(var, value)),
                    }
                }
                Stmt::Store { at, value: stored, .. } => {
                    self.use_address(at, address);
                    self.use_var(*stored, value);
                }
                Stmt::Combine(combine) => {
                    self.use_address(&combine.at, address);
                    for fold in &combine.folds {
                        if self.is_used(fold.result) {
                            self.use_var(fold.value, value);
                        }
                    }
                }
                Stmt::Reduce(_) | Stmt::Loop(_) => {
                    if let Some(elements) = Elements::of(stmt).filter(|_| self.is_live(stmt)) {
                        self.count_element_uses(&elements, schedule, is_root);
                    }
                }
            }
        }
    }

    fn count_element_uses(&mut self, elements: &Elements<'_>, schedule: &Schedule, is_root: bool) {
        if let Span::Chunk { axis, .. } = elements.span {
            self.axis_used[axis.0 as usize] = true;
        }
        let neighbours = if is_root { fold_neighbours(elements.axes, schedule) } else { None };
        let live = elements.folds.iter().filter(|fold| self.is_used(fold.result));
        let folded: Vec<Var> = live.map(|fold| fold.value).collect();
        self.count_uses(elements.body, &folded, schedule, neighbours, false);
    }

    /// True where something written to memory depends on the statement; known for what stands after it.
    pub fn is_live(&self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Let { var, .. } => self.is_used(*var),
            Stmt::Store { .. } => true,
            Stmt::Reduce(reduce) => {
                reduce.folds.iter().any(|fold| self.is_used(fold.result))
                    || reduce.body.iter().any(|stmt| self.is_live(stmt))
            }
            Stmt::Combine(combine) => combine.folds.iter().any(|fold| self.is_used(fold.result)),
            Stmt::Loop(own) => own.body.iter().any(|stmt| self.is_live(stmt)),
        }
    }

    fn new_scope(&mut self) -> Scope {
        self.next_scope += 1;
        self.next_scope
    }

    fn use_var(&mut self, var: Var, scope: Scope) {
        let number = var.0 as usize;
        self.use_scope[number] = if self.uses[number] == 0 { Some(scope) } else { None };
        self.uses[number] += 1;
        self.kept[number] |= self.home[number].is_some_and(|home| home != self.current);
    }

    fn use_address(&mut self, at: &Affine, scope: Scope) {
        for (term, _) in &at.terms {
            match term {
                Term::Axis(axis) => self.axis_used[axis.0 as usize] = true,
                Term::Var(var) => self.use_var(*var, scope),
            }
        }
    }
}

/// The neighbours a thread of the kernel owns, if it owns more than one element.
pub(super) fn root_neighbours(kernel: &Kernel, schedule: &Schedule) -> Option<Neighbours> {
    match (schedule, kernel.parallel.last()) {
        (Schedule::Map { width, .. } | Schedule::Rows { width, .. } | Schedule::Tile { width, .. }, Some(&axis))
            if *width > 1 =>
        {
            Some(Neighbours { width: *width, axis, by_hand: true })
        }
        _ => None,
    }
}

/// The neighbours a lane takes at once in a loop over `axes` at the top level.
pub(super) fn fold_neighbours(axes: &[AxisId], schedule: &Schedule) -> Option<Neighbours> {
    match (schedule, axes.last()) {
        (Schedule::Group { tree, .. }, Some(&axis)) if tree.width > 1 => {
            Some(Neighbours { width: tree.width, axis, by_hand: tree.lanes > 1 })
        }
        _ => None,
    }
}
