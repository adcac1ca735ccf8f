//! Index arithmetic while tracing: variables that hold indices, and the divisions that reshapes make.

use lazuli_codegen::{IndexOp, Term, Var, VarType};
use smallvec::SmallVec;

use super::Tracer;
use crate::lower::draft::{Division, DraftExpr, ScopeId};
use crate::lower::linear::{Coords, Linear};

impl Tracer<'_> {
    /// A variable that holds an index.
    pub(super) fn index_var(&mut self, index: Linear) -> Var {
        if let ([(Term::Var(var), 1)], 0) = (&index.terms[..], index.constant) {
            return *var;
        }
        let (scope, range) = (self.draft.scope_of(&index), index.range(|term| self.draft.range(term)));
        let var = self.draft.new_var(VarType::Index, scope, range);
        self.draft.assign(scope, var, DraftExpr::Index(index));
        var
    }

    pub(super) fn index_binary(&mut self, op: IndexOp, x: Var, number: i64) -> Var {
        let VarRange { scope, low, high } = self.range_of(x);
        let range = match op {
            IndexOp::Add => (low.saturating_add(number), high.saturating_add(number)),
            IndexOp::Sub => (low.saturating_sub(number), high.saturating_sub(number)),
            IndexOp::Mul => (low.saturating_mul(number), high.saturating_mul(number)),
            IndexOp::Div => (low / number, high / number),
            IndexOp::Rem => (0, (number - 1).min(high)),
            IndexOp::Min => (low.min(number), high.min(number)),
            IndexOp::Max => (low.max(number), high.max(number)),
        };
        let var = self.draft.new_var(VarType::Index, scope, range);
        self.draft.assign(scope, var, DraftExpr::IndexBinary(op, x, number));
        var
    }

    fn range_of(&self, var: Var) -> VarRange {
        let info = &self.draft.vars[var.0 as usize];
        VarRange { scope: info.scope, low: info.range.0, high: info.range.1 }
    }

    /// The index along each axis of a row-major array of this shape of its element number `flat`.
    pub(super) fn unflatten(&mut self, flat: Linear, shape: &[usize]) -> Coords {
        let mut coords: Coords = SmallVec::from_elem(Linear::default(), shape.len());
        let mut rest = flat;
        let real: SmallVec<[usize; 4]> = (0..shape.len()).filter(|axis| shape[*axis] != 1).collect();
        for (place, &axis) in real.iter().enumerate().rev() {
            if place == 0 {
                coords[axis] = rest;
                break;
            }
            let (quotient, remainder) = self.divide(rest, shape[axis] as i64);
            coords[axis] = remainder;
            rest = quotient;
        }
        coords
    }

    pub(super) fn divide(&mut self, dividend: Linear, divisor: i64) -> (Linear, Linear) {
        let (mut even, rest) = dividend.split(divisor);
        let (least, greatest) = rest.range(|term| self.draft.range(term));
        if least >= 0 && greatest < divisor {
            return (even, rest);
        }
        // Only what is known not to be negative may be divided by itself.
        let dividend = if least >= 0 { rest } else { dividend };
        if least < 0 {
            even = Linear::default();
        }
        let whole = self.index_var(dividend.clone());
        let quotient = self.index_binary(IndexOp::Div, whole, divisor);
        let remainder = self.index_binary(IndexOp::Rem, whole, divisor);
        for (var, partner, is_quotient) in [(quotient, remainder, true), (remainder, quotient, false)] {
            let division = Division { dividend: dividend.clone(), divisor, partner, is_quotient };
            self.draft.vars[var.0 as usize].division = Some(division);
        }
        even.add_term(Term::Var(quotient), 1);
        (even, Linear::var(remainder))
    }

    /// Puts `quotient * divisor + remainder` back together to what was divided.
    pub(super) fn fold_divisions(&self, mut index: Linear) -> Linear {
        loop {
            let found = index.terms.iter().find_map(|(term, factor)| match term {
                Term::Var(var) => {
                    let division = self.draft.vars[var.0 as usize].division.as_ref().filter(|d| !d.is_quotient)?;
                    let quotient = Term::Var(division.partner);
                    (index.factor(quotient) == factor * division.divisor).then(|| (*term, *factor, division.clone()))
                }
                Term::Axis(_) => None,
            });
            let Some((remainder, factor, division)) = found else { return index };
            index.add_term(remainder, -factor);
            index.add_term(Term::Var(division.partner), -factor * division.divisor);
            index.add_scaled(&division.dividend, factor);
        }
    }
}

struct VarRange {
    scope: ScopeId,
    low: i64,
    high: i64,
}
