//! Loads, stores and the indices behind them.

use lazuli_codegen::{Access as BufferAccess, Affine, BufferId, Coefficient, DType, SizeId, Term, Var, VarType};

use super::super::ops::cast;
use super::super::program::{Access, AccessId, Reg, Step};
use super::{Lowering, Style, Value};
use crate::error::Result;

impl Lowering<'_> {
    /// Sorts the terms of an affine index; also the scope where all of them are ready.
    pub(super) fn lower_affine(&mut self, affine: &Affine, buffer: Option<BufferId>) -> Result<(Access, usize)> {
        let mut access = Access { buffer, offset: affine.offset, space: self.space(), ..Access::default() };
        let (mut depth, mut wide) = (0, Vec::new());
        let sizes = self.kernel.sizes;
        let known = |size: &SizeId| size.0 < sizes;
        let coefficients = affine.terms.iter().filter_map(|(_, coefficient)| match coefficient {
            Coefficient::One => None,
            Coefficient::Size(size) => Some(size),
        });
        if !affine.offset.iter().chain(coefficients).all(known) {
            return Err(self.malformed("an index with an unknown size"));
        }
        for &(term, coefficient) in &affine.terms {
            match term {
                Term::Axis(axis) => {
                    let Some(at) = self.axis_depth.get(axis.0 as usize).copied().flatten() else {
                        return Err(self.malformed(format_args!("axis {} is not in scope", axis.0)));
                    };
                    depth = depth.max(at);
                    if let Some((_, by)) = affine.ahead.filter(|(ahead, _)| *ahead == axis) {
                        access.ahead = Some((by, coefficient));
                    }
                    let along = self.space().is_some_and(|space| self.spaces[space].contains(&axis));
                    let terms = if along { &mut access.along } else { &mut access.axes };
                    terms.push((axis, coefficient));
                }
                Term::Var(var) => {
                    let value = self.index_variable(var)?;
                    depth = depth.max(value.depth);
                    match value.wide {
                        true => wide.push((value, coefficient)),
                        false => access.narrow.push((value.reg, coefficient)),
                    }
                }
            }
        }
        if self.style == Style::Rows && self.depth() >= 2 && !(access.along.is_empty() && wide.is_empty()) {
            // Counted along the rows' elements, so that it cannot be ready before them.
            depth = depth.max(2);
        }
        access.wide = wide.into_iter().map(|(value, by)| (self.spread(value, depth), by)).collect();
        Ok((access, depth))
    }

    fn access(&mut self, access: Access) -> AccessId {
        self.accesses.push(access);
        AccessId(self.accesses.len() as u32 - 1)
    }

    pub(super) fn push_index(&mut self, mut access: Access, depth: usize) -> Value {
        access.buffer = None;
        let wide = !access.along.is_empty() || !access.wide.is_empty();
        let value = self.result(VarType::Index, wide, depth);
        let access = self.access(access);
        self.push(depth, Step::Index { to: value.reg, access });
        value
    }

    fn buffer(&self, buffer: BufferId, access: BufferAccess) -> Result<DType> {
        match self.kernel.buffers.get(buffer.0 as usize) {
            Some(param) if param.access == access => Ok(param.dtype),
            _ => Err(self.malformed(format_args!("buffer {} is unknown or not {access:?}", buffer.0))),
        }
    }

    pub(super) fn lower_load(&mut self, buffer: BufferId, at: &Affine) -> Result<Value> {
        let dtype = self.buffer(buffer, BufferAccess::Read)?;
        let (access, ready) = self.lower_affine(at, Some(buffer))?;
        // Only out of the body: a loop may run no time at all, and its loads may then be out of bounds.
        let depth = if ready == 0 && self.depth() == 1 { 0 } else { self.depth() };
        let wide = !access.along.is_empty() || !access.wide.is_empty();
        let to = self.register(dtype.size_bytes(), wide);
        if access.wide.is_empty() {
            let access = self.access(access);
            self.push(depth, Step::Load { to, access });
        } else {
            let index = self.push_index(access, ready);
            self.push(depth, Step::Gather { to, buffer, index: index.reg });
        }
        let kind = VarType::Value(dtype);
        let loaded = Value { reg: to, kind, wide, depth, splat: None };
        if !dtype.is_half() {
            return Ok(loaded);
        }
        let value = self.result(kind, wide, depth);
        self.push(depth, Step::Apply1 { run: cast::widen(dtype), to: value.reg, a: to, wide });
        Ok(value)
    }

    pub(super) fn lower_checked_index(
        &mut self,
        var: Var,
        extent: SizeId,
        notes: BufferId,
        site: u32,
    ) -> Result<Value> {
        let (value, from) = self.element(var)?;
        let of_notes = self.buffer(notes, BufferAccess::Note)?;
        if !from.is_integer() || of_notes != DType::I32 || extent.0 >= self.kernel.sizes {
            return Err(self.malformed(format_args!("an index of {from}, noted as {of_notes}")));
        }
        let number = match cast::cast(from, DType::I64) {
            Some(run) => self.apply1(run, VarType::Value(DType::I64), var.0 as usize)?,
            None => value,
        };
        let at = if number.wide { self.spread(number, self.depth()) } else { number.reg };
        // What was copied for every element of its row is ready where the rows are.
        let depth = if at == number.reg { number.depth } else { self.depth() };
        let checked = self.result(VarType::Index, number.wide, depth);
        let (to, unsigned, wide) = (checked.reg, from == DType::U64, number.wide);
        self.push(depth, Step::CheckedIndex { to, from: at, extent, notes, site, unsigned, wide });
        Ok(checked)
    }

    pub(super) fn lower_store(&mut self, buffer: BufferId, at: &Affine, var: Var) -> Result<()> {
        let dtype = self.buffer(buffer, BufferAccess::Write)?;
        let (value, held) = self.element(var)?;
        let (access, ready) = self.lower_affine(at, Some(buffer))?;
        let wide = !access.along.is_empty() || !access.wide.is_empty();
        if held != dtype || (value.wide && !wide) {
            return Err(self.malformed(format_args!("a store of {held} to buffer {} of {dtype}", buffer.0)));
        }
        let depth = self.depth();
        let (mut from, mut from_depth) = (value.reg, value.depth);
        if dtype.is_half() {
            from = self.register(2, value.wide);
            self.push(from_depth, Step::Apply1 { run: cast::narrow(dtype), to: from, a: value.reg, wide: value.wide });
        }
        if wide && !value.wide {
            from = self.splat(from, from_depth);
            from_depth = usize::MAX;
        } else if wide {
            let spread = self.spread(Value { reg: from, depth: from_depth, ..value }, depth);
            if spread != from {
                (from, from_depth) = (spread, usize::MAX);
            }
        }
        if !access.wide.is_empty() {
            let index = self.push_index(access, ready);
            self.push(depth, Step::Scatter { from, buffer, index: index.reg });
            return Ok(());
        }
        // A narrow index variable may be computed after the value.
        let aim = wide && from_depth == depth && access.narrow.is_empty();
        let access = self.access(access);
        if aim {
            self.aim(from, access);
        }
        self.push(depth, Step::Store { from, access });
        Ok(())
    }

    fn aim(&mut self, to: Reg, access: AccessId) {
        let Some(scope) = self.scopes.last_mut() else { return };
        let computes = |step: &Step| match step {
            Step::Apply1 { to: reg, .. }
            | Step::Apply2 { to: reg, .. }
            | Step::Apply3 { to: reg, .. }
            | Step::Call { to: reg, .. } => *reg == to,
            _ => false,
        };
        let Some(at) = scope.steps.iter().rposition(computes) else { return };
        // Stored twice: the first place takes it, the second gets a copy.
        if at == 0 || !matches!(scope.steps[at - 1], Step::Aim { to: reg, .. } if reg == to) {
            scope.steps.insert(at, Step::Aim { to, access });
        }
    }
}
