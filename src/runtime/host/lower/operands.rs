//! Operands: narrow ones widened where a wide one meets them, and operations on them.

use std::sync::Arc;

use lazuli_codegen::{Var, VarType};
use smallvec::SmallVec;

use super::super::ops::apply::{Fn1, Fn2, Fn3};
use super::super::ops::register_bytes;
use super::super::ops::user::VectorFunction;
use super::super::program::{Reg, Step};
use super::{Lowering, Style, Value};
use crate::error::Result;

impl Lowering<'_> {
    /// The register of a value with one element for each element of the block.
    pub(super) fn widened(&mut self, at: usize) -> Result<Reg> {
        let value = self.value(at)?;
        if value.wide {
            return Ok(value.reg);
        }
        if let Some(splat) = value.splat {
            return Ok(splat);
        }
        let to = self.splat(value.reg, value.depth);
        if let Some(value) = &mut self.values[at] {
            value.splat = Some(to);
        }
        Ok(to)
    }

    /// The register of a value with one element for each that the blocks of a scope have.
    pub(super) fn in_scope(&mut self, at: usize, depth: usize) -> Result<Reg> {
        let value = self.value(at)?;
        if value.wide { Ok(self.spread(value, depth)) } else { self.widened(at) }
    }

    /// The register of a wide value; of one with an element a row, its copy where the scope has whole rows.
    pub(super) fn spread(&mut self, value: Value, depth: usize) -> Reg {
        if self.style != Style::Rows || depth < 2 || value.depth >= 2 {
            return value.reg;
        }
        if let Some(&to) = self.spread.get(&value.reg) {
            return to;
        }
        let to = self.register(self.registers[value.reg.at()].bytes, true);
        self.push(2, Step::Spread { to, from: value.reg });
        self.spread.insert(value.reg, to);
        to
    }

    // The copy is made where the value is computed, so that an inner loop does not repeat it.
    pub(super) fn splat(&mut self, from: Reg, depth: usize) -> Reg {
        let to = self.register(self.registers[from.at()].bytes, true);
        // A block of rows has more elements than rows.
        let whole = self.scopes[depth].space.is_none() || (self.style == Style::Rows && depth == 1);
        self.push(depth, Step::Splat { to, from, whole });
        to
    }

    /// The registers of an operation's operands, wide if any is, with the scope where the last of them is ready.
    fn operands<const N: usize>(&mut self, at: [usize; N]) -> Result<([Reg; N], bool, usize)> {
        let mut regs = [Reg(0); N];
        let (wide, depth) = self.operands_into(&at, &mut regs)?;
        Ok((regs, wide, depth))
    }

    /// The same for any number of operands.
    fn operands_into(&mut self, at: &[usize], regs: &mut [Reg]) -> Result<(bool, usize)> {
        let (mut wide, mut depth) = (false, 0);
        for &at in at {
            let value = self.value(at)?;
            wide |= value.wide;
            depth = depth.max(value.depth);
        }
        for (reg, &at) in regs.iter_mut().zip(at) {
            *reg = if wide { self.in_scope(at, depth)? } else { self.value(at)?.reg };
        }
        Ok((wide, depth))
    }

    pub(super) fn result(&mut self, kind: VarType, wide: bool, depth: usize) -> Value {
        let bytes = match kind {
            VarType::Value(dtype) => register_bytes(dtype),
            VarType::Index => 8,
        };
        Value { reg: self.register(bytes, wide), kind, wide, depth, splat: None }
    }

    pub(super) fn apply1(&mut self, run: Fn1, kind: VarType, a: usize) -> Result<Value> {
        let ([a], wide, depth) = self.operands([a])?;
        let value = self.result(kind, wide, depth);
        self.push(depth, Step::Apply1 { run, to: value.reg, a, wide });
        Ok(value)
    }

    pub(super) fn apply2(&mut self, run: Fn2, kind: VarType, a: usize, b: usize) -> Result<Value> {
        let ([a, b], wide, depth) = self.operands([a, b])?;
        let value = self.result(kind, wide, depth);
        self.push(depth, Step::Apply2 { run, to: value.reg, a, b, wide });
        Ok(value)
    }

    pub(super) fn apply3(&mut self, run: Fn3, kind: VarType, vars: [Var; 3]) -> Result<Value> {
        let ([a, b, c], wide, depth) = self.operands(vars.map(|var| var.0 as usize))?;
        let value = self.result(kind, wide, depth);
        self.push(depth, Step::Apply3 { run, to: value.reg, a, b, c, wide });
        Ok(value)
    }

    pub(super) fn apply_function(
        &mut self,
        function: Arc<dyn VectorFunction>,
        kind: VarType,
        vars: &[Var],
    ) -> Result<Value> {
        let at: SmallVec<[usize; 4]> = vars.iter().map(|var| var.0 as usize).collect();
        let mut arguments = SmallVec::from_elem(Reg(0), at.len());
        let (wide, depth) = self.operands_into(&at, &mut arguments)?;
        let value = self.result(kind, wide, depth);
        self.push(depth, Step::Call { function, to: value.reg, arguments, wide });
        Ok(value)
    }
}
