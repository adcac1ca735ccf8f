//! Gathers: an element that is an index, checked, takes the place of an index.

use lazuli_codegen::{DType, Expr, IndexOp, IndexOperand, Var, VarType};

use super::Tracer;
use crate::error::Result;
use crate::fuse::flow::ValueId;
use crate::lower::draft::DraftExpr;
use crate::lower::linear::{Coords, Linear};

impl Tracer<'_> {
    /// The element of a gather at some index.
    pub(super) fn gather(&mut self, id: ValueId, axis: usize, coords: &Coords) -> Result<Var> {
        let flow = self.flow;
        let [operand, indices] = [0, 1].map(|which: usize| flow.values[id as usize].inputs[which]);
        // Either stretches where its extent is one.
        let of = |value: ValueId| -> Coords {
            let at = |(coord, extent): (&Linear, &usize)| if *extent == 1 { Linear::default() } else { coord.clone() };
            coords.iter().zip(&flow.values[value as usize].shape).map(at).collect()
        };
        let element = self.value(indices, &of(indices))?;
        let index = self.checked_index(id, element, flow.values[operand as usize].shape[axis] as i64);
        let mut through = of(operand);
        through[axis] = Linear::var(index);
        self.draft.names.push("take");
        let taken = self.value(operand, &through)?;
        Ok(self.with_check(taken, index))
    }

    /// An element as an index along an axis of the operand of a gather.
    fn checked_index(&mut self, gather: ValueId, element: Var, extent: i64) -> Var {
        let site = self.draft.sites.iter().position(|site| *site == gather).unwrap_or_else(|| {
            self.draft.sites.push(gather);
            self.draft.sites.len() - 1
        });
        let scope = self.draft.vars[element.0 as usize].scope;
        let var = self.draft.new_var(VarType::Index, scope, (0, extent - 1));
        self.draft.assign(scope, var, DraftExpr::CheckedIndex(element, extent, site));
        var
    }

    /// A gathered value that cannot be had without its index being checked. One that is the same at every index, as of a
    /// constant, does not use the index otherwise, and nothing that is not used is computed.
    fn with_check(&mut self, taken: Var, index: Var) -> Var {
        if self.draft.depends(taken, index) {
            return taken;
        }
        let VarType::Value(dtype) = self.draft.vars[taken.0 as usize].of else { return taken };
        let scope = self.scope_of_vars(&[taken, index]);
        // True, but no compiler can see it.
        let raised = self.index_binary(IndexOp::Max, index, 0);
        let same = Expr::IndexEqual(IndexOperand::Var(raised), IndexOperand::Var(index));
        let condition = self.assign(DType::Bool, self.draft.vars[index.0 as usize].scope, DraftExpr::Plain(same));
        let select = Expr::Select { condition, on_true: taken, on_false: taken };
        self.assign(dtype, scope, DraftExpr::Plain(select))
    }
}
