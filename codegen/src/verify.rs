//! Refuses kernels that the emitter and the host could not run: what lowering must never make.

use crate::{
    Access, Affine, AxisId, BufferId, Coefficient, Combine, DType, Expr, Fold, IndexOperand, Kernel, Reduce, Schedule,
    SizeId, Span, Stmt, Term, Tree, Var, VarType,
};

/// Checks that every variable is assigned once, before its uses and with the right type; that every number is in range;
/// that axes are in scope where their index is used; that a loop uses another's variables only where both are at the top
/// level and count the same axes; and that the schedule can realise every reduction's tree. The error says what is wrong
/// in one sentence.
pub fn verify_kernel(kernel: &Kernel, schedule: &Schedule) -> Result<(), String> {
    verify_schedule(kernel, schedule)?;
    for axis in &kernel.axes {
        check(axis.extent.0 < kernel.sizes, || format!("an axis has size {} of {}", axis.extent.0, kernel.sizes))?;
    }
    let mut verifier = Verifier {
        kernel,
        schedule,
        is_assigned: vec![false; kernel.vars.len()],
        in_scope: vec![false; kernel.vars.len()],
        axis_in_scope: vec![false; kernel.axes.len()],
        by_element: Vec::new(),
    };
    for &axis in &kernel.parallel {
        verifier.enter_axis(axis)?;
    }
    verifier.block(&kernel.body, 0)
}

/// Threads that combine without waiting for the rest of their group.
const WARP: u32 = 32;
/// The most threads of a group on any device so far.
const MAX_THREADS: u64 = 4096;
/// The most values of one variable that a thread keeps; a private array lies on a stack.
const MAX_KEPT: u64 = 1 << 16;

fn verify_schedule(kernel: &Kernel, schedule: &Schedule) -> Result<(), String> {
    match *schedule {
        Schedule::Map { group, width, .. } => {
            check(group > 0, || "a group has no threads".to_owned())?;
            check(matches!(width, 1 | 2 | 4 | 8 | 16), || format!("a thread cannot own {width} elements"))
        }
        Schedule::Tile { group, side, width, across } => {
            check(group.is_power_of_two() && side.is_power_of_two() && width.is_power_of_two() && width <= 16, || {
                format!("a tile of side {side} for {group} threads of width {width} is not made of powers of two")
            })?;
            let owned = u64::from(group) * u64::from(width);
            let (least, most) = (u64::from(side), u64::from(side) * u64::from(side));
            check((least..=most).contains(&owned) && width <= side && side <= 128, || {
                format!("{group} threads of width {width} do not share out a tile of side {side}")
            })?;
            check((across as usize + 1) < kernel.parallel.len(), || {
                format!("a tile lies across axis {across} of {}", kernel.parallel.len())
            })?;
            check_is_straight(&kernel.body)?;
            check(width == 1 || kernel.body.iter().all(|stmt| !is_narrow_tiled(kernel, schedule, stmt)), || {
                "a tile of neighbours is moved one by one".to_owned()
            })
        }
        Schedule::Rows { group, width, rows, .. } => {
            check(group > 0, || "a group has no threads".to_owned())?;
            check(matches!(width, 1 | 2 | 4 | 8 | 16) && matches!(rows, 2..=16), || {
                format!("a thread cannot own {width} elements of each of {rows} rows")
            })?;
            check(kernel.parallel.len() > 1, || "rows lie along no axis".to_owned())?;
            check_is_straight(&kernel.body)
        }
        Schedule::Group { tree, points, steps, .. } => {
            check(tree.lanes.is_power_of_two() && tree.width.is_power_of_two(), || {
                format!("a tree of {} lanes and width {} is not made of powers of two", tree.lanes, tree.width)
            })?;
            check(points.is_power_of_two(), || format!("a group cannot hold {points} points"))?;
            let threads = u64::from(tree.lanes) * u64::from(points);
            check(threads <= MAX_THREADS, || format!("a group cannot have {threads} threads"))?;
            let kept = u64::from(steps) * u64::from(tree.width);
            check(kept <= MAX_KEPT, || format!("a thread cannot keep {kept} values"))
        }
    }
}

/// True for what goes through a tile and is not of neighbours.
fn is_narrow_tiled(kernel: &Kernel, schedule: &Schedule, stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Let { expr: Expr::Load { at, wide, .. }, .. } | Stmt::Store { at, wide, .. } => {
            !wide && schedule.is_tiled(kernel, at)
        }
        _ => false,
    }
}

/// Rows are computed several at a time only where no loop stands in them.
fn check_is_straight(body: &[Stmt]) -> Result<(), String> {
    let is_straight = body.iter().all(|stmt| matches!(stmt, Stmt::Let { .. } | Stmt::Store { .. }));
    check(is_straight, || "a loop stands in a body that is run for several rows at a time".to_owned())
}

fn check(is_right: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if is_right { Ok(()) } else { Err(what()) }
}

struct Verifier<'a> {
    kernel: &'a Kernel,
    schedule: &'a Schedule,
    /// By variable: assigned somewhere above.
    is_assigned: Vec<bool>,
    /// By variable: assigned in a block that is still open.
    in_scope: Vec<bool>,
    axis_in_scope: Vec<bool>,
    /// Variables that top-level loops assigned for every element, with the axes that count the elements, and their span.
    by_element: Vec<(Vec<AxisId>, Span, Var)>,
}

impl Verifier<'_> {
    fn block(&mut self, body: &[Stmt], depth: u32) -> Result<(), String> {
        for stmt in body {
            match stmt {
                Stmt::Let { var, expr } => {
                    self.expression(*var, expr)?;
                    self.assign(*var)?;
                }
                Stmt::Store { buffer, at, value, .. } => {
                    let dtype = self.buffer(*buffer, Access::Write)?;
                    self.affine(at)?;
                    self.use_value(*value, dtype)?;
                }
                Stmt::Reduce(reduce) => self.reduce(reduce, depth)?,
                Stmt::Loop(own) => {
                    check(depth == 0, || "a loop stands inside another".to_owned())?;
                    self.span(own.span)?;
                    self.elements(&own.axes, own.span, &own.body, &[], 0)?;
                }
                Stmt::Combine(combine) => {
                    check(depth == 0, || "points combine inside a loop".to_owned())?;
                    self.combine(combine)?;
                }
            }
        }
        Ok(())
    }

    fn reduce(&mut self, reduce: &Reduce, depth: u32) -> Result<(), String> {
        let expected = match self.schedule {
            Schedule::Group { tree, .. } if depth == 0 => *tree,
            _ => Tree::SERIAL,
        };
        check(reduce.tree == expected, || {
            format!("a reduction at depth {depth} has {:?}, where the schedule runs {expected:?}", reduce.tree)
        })?;
        self.span(reduce.span)?;
        self.elements(&reduce.axes, reduce.span, &reduce.body, &reduce.folds, depth)?;
        reduce.folds.iter().try_for_each(|fold| self.assign(fold.result))
    }

    fn span(&self, span: Span) -> Result<(), String> {
        let Span::Chunk { axis, length } = span else { return Ok(()) };
        check(self.kernel.parallel.contains(&axis), || format!("chunks are counted by axis {}", axis.0))?;
        self.size(length)
    }

    fn combine(&mut self, combine: &Combine) -> Result<(), String> {
        let Combine { axis, tree, folds, partials, at, counter } = combine;
        check(self.kernel.parallel.first() == Some(axis), || {
            format!("points combine along axis {}, which is not the outermost", axis.0)
        })?;
        let Schedule::Group { tree: of_group, points, .. } = *self.schedule else {
            return Err("points combine where groups do not share their work".to_owned());
        };
        let as_group = *tree == of_group && (tree.lanes == 1 || tree.width == 1);
        check(as_group || (tree.width == 1 && tree.lanes <= of_group.lanes.min(WARP)), || {
            format!("points combine by {tree:?} in groups of {of_group:?}")
        })?;
        // Groups that wait are counted by their first threads, which must have handed in all that there is.
        check(points == 1 || !self.kernel.waits(), || format!("groups of {points} points wait for each other"))?;
        check(folds.len() == partials.len(), || "points combine without scratch for each value".to_owned())?;
        self.affine(at)?;
        check(self.buffer(*counter, Access::Counter)? == DType::U32, || "points are not counted in u32".to_owned())?;
        for (&Fold { result, op, value }, &partial) in folds.iter().zip(partials) {
            let dtype = self.element(result)?;
            check(op.accepts(dtype), || format!("{} of {dtype} is not defined", op.name()))?;
            check(self.buffer(partial, Access::Scratch)? == dtype, || format!("scratch holds no {dtype}"))?;
            self.use_value(value, dtype)?;
        }
        folds.iter().try_for_each(|fold| self.assign(fold.result))
    }

    /// The body of a reduction or a loop, and what is folded of it.
    fn elements(
        &mut self,
        axes: &[AxisId],
        span: Span,
        body: &[Stmt],
        folds: &[Fold],
        depth: u32,
    ) -> Result<(), String> {
        for &axis in axes {
            self.enter_axis(axis)?;
        }
        let outside = self.in_scope.clone();
        let is_shared = depth == 0;
        if is_shared {
            for (.., var) in self.by_element.iter().filter(|(others, other, _)| others == axes && *other == span) {
                self.in_scope[var.0 as usize] = true;
            }
        }
        let before = self.in_scope.clone();
        self.block(body, depth + 1)?;
        for &Fold { result, op, value } in folds {
            let dtype = self.element(result)?;
            check(op.accepts(dtype), || format!("{} of {dtype} is not defined", op.name()))?;
            self.use_value(value, dtype)?;
        }
        if is_shared {
            let own = (0..before.len()).filter(|&var| self.in_scope[var] && !before[var]);
            self.by_element.extend(own.map(|var| (axes.to_vec(), span, Var(var as u32))));
        }
        self.in_scope = outside;
        axes.iter().for_each(|axis| self.axis_in_scope[axis.0 as usize] = false);
        Ok(())
    }

    fn expression(&mut self, var: Var, expr: &Expr) -> Result<(), String> {
        if let Expr::Index(at) = expr {
            self.affine(at)?;
            return self.is_type(var, VarType::Index);
        }
        if let Expr::IndexBinary(_, a, b) = expr {
            self.index_operand(a)?;
            self.index_operand(b)?;
            return self.is_type(var, VarType::Index);
        }
        if let Expr::CheckedIndex { value, extent, notes, .. } = expr {
            let dtype = self.operand(*value)?;
            check(dtype.is_integer(), || format!("an index computed from {dtype}"))?;
            self.size(*extent)?;
            let dtype = self.buffer(*notes, Access::Note)?;
            check(dtype == DType::I32, || format!("notes of {dtype}"))?;
            return self.is_type(var, VarType::Index);
        }
        let result = self.element(var)?;
        match expr {
            Expr::Load { buffer, at, .. } => {
                let dtype = self.buffer(*buffer, Access::Read)?;
                self.affine(at)?;
                self.is_type(var, VarType::Value(dtype))
            }
            Expr::Scalar(scalar) => match self.kernel.scalars.get(scalar.0 as usize) {
                Some(&dtype) => self.is_type(var, VarType::Value(dtype)),
                None => Err(format!("scalar {} is not there", scalar.0)),
            },
            Expr::Zero | Expr::Index(_) | Expr::IndexBinary(..) | Expr::CheckedIndex { .. } => Ok(()),
            Expr::IndexLess(a, b) | Expr::IndexEqual(a, b) => {
                self.index_operand(a)?;
                self.index_operand(b)?;
                self.is_type(var, VarType::Value(DType::Bool))
            }
            Expr::IndexValue(index) => self.use_var(*index, VarType::Index),
            Expr::Unary(op, a) => {
                let operand = self.operand(*a)?;
                check(op.result(operand) == Some(result), || format!("{} of {operand} is no {result}", op.name()))
            }
            Expr::Binary(op, a, b) => {
                let operand = self.operand(*a)?;
                self.use_value(*b, operand)?;
                check(op.result(operand) == Some(result), || format!("{} of {operand} is no {result}", op.name()))
            }
            Expr::MulAdd(a, b, c) => {
                check(result.is_float(), || format!("mul_add of {result} is not defined"))?;
                [a, b, c].into_iter().try_for_each(|&operand| self.use_value(operand, result))
            }
            Expr::Select { condition, on_true, on_false } => {
                self.use_value(*condition, DType::Bool)?;
                self.use_value(*on_true, result)?;
                self.use_value(*on_false, result)
            }
            Expr::Cast(a) => self.operand(*a).map(|_| ()),
            Expr::Call(function, arguments) => {
                let operands = arguments.iter().map(|var| self.operand(*var)).collect::<Result<Vec<_>, _>>()?;
                check(function.is_of_values(&operands, result), || {
                    format!("{} of {operands:?} is no {result}", function.name())
                })
            }
        }
    }

    fn affine(&self, at: &Affine) -> Result<(), String> {
        at.offset.map_or(Ok(()), |size| self.size(size))?;
        if let Some((axis, by)) = at.ahead {
            check(at.terms.iter().any(|(term, _)| *term == Term::Axis(axis)), || {
                format!("an index is {by} ahead along axis {}, which it does not have", axis.0)
            })?;
        }
        for (position, (term, coefficient)) in at.terms.iter().enumerate() {
            check(!at.terms[..position].iter().any(|(other, _)| other == term), || {
                format!("{term:?} appears twice in an index")
            })?;
            match *term {
                Term::Axis(axis) => check(self.axis_in_scope.get(axis.0 as usize) == Some(&true), || {
                    format!("axis {} is used outside of its loop", axis.0)
                })?,
                Term::Var(var) => self.use_var(var, VarType::Index)?,
            }
            if let Coefficient::Size(size) = *coefficient {
                self.size(size)?;
            }
        }
        Ok(())
    }

    fn enter_axis(&mut self, axis: AxisId) -> Result<(), String> {
        match self.axis_in_scope.get_mut(axis.0 as usize) {
            None => Err(format!("axis {} is not there", axis.0)),
            Some(true) => Err(format!("axis {} is looped over inside itself", axis.0)),
            Some(in_scope) => {
                *in_scope = true;
                Ok(())
            }
        }
    }

    fn index_operand(&self, operand: &IndexOperand) -> Result<(), String> {
        match *operand {
            IndexOperand::Var(var) => self.use_var(var, VarType::Index),
            IndexOperand::Size(size) => self.size(size),
            IndexOperand::Zero => Ok(()),
        }
    }

    fn size(&self, size: SizeId) -> Result<(), String> {
        check(size.0 < self.kernel.sizes, || format!("size {} of {} is not there", size.0, self.kernel.sizes))
    }

    fn buffer(&self, buffer: BufferId, access: Access) -> Result<DType, String> {
        match self.kernel.buffers.get(buffer.0 as usize) {
            None => Err(format!("buffer {} is not there", buffer.0)),
            Some(param) if param.access != access => Err(format!("buffer {} is not for {access:?}", buffer.0)),
            Some(param) => Ok(param.dtype),
        }
    }

    fn assign(&mut self, var: Var) -> Result<(), String> {
        let number = var.0 as usize;
        check(!self.is_assigned[number], || format!("variable {number} is assigned twice"))?;
        self.is_assigned[number] = true;
        self.in_scope[number] = true;
        Ok(())
    }

    /// The element type of a variable that is about to be assigned.
    fn element(&self, var: Var) -> Result<DType, String> {
        match self.kernel.vars.get(var.0 as usize) {
            None => Err(format!("variable {} is not there", var.0)),
            Some(VarType::Index) => Err(format!("variable {} is an index where an element is meant", var.0)),
            Some(VarType::Value(dtype)) => Ok(*dtype),
        }
    }

    /// The element type of a variable in use.
    fn operand(&self, var: Var) -> Result<DType, String> {
        let dtype = self.element(var)?;
        self.use_value(var, dtype).map(|()| dtype)
    }

    fn use_value(&self, var: Var, dtype: DType) -> Result<(), String> {
        self.use_var(var, VarType::Value(dtype))
    }

    fn use_var(&self, var: Var, expected: VarType) -> Result<(), String> {
        self.is_type(var, expected)?;
        check(self.in_scope[var.0 as usize], || match self.is_assigned[var.0 as usize] {
            false => format!("variable {} is used before it is assigned", var.0),
            true => format!("variable {} is used outside of its loop", var.0),
        })
    }

    fn is_type(&self, var: Var, expected: VarType) -> Result<(), String> {
        match self.kernel.vars.get(var.0 as usize) {
            None => Err(format!("variable {} is not there", var.0)),
            Some(&found) => check(found == expected, || format!("variable {} is {found:?}, not {expected:?}", var.0)),
        }
    }
}
