//! Writing over a region of a value, as a choice between two values.

use lazuli_codegen::{BinaryOp, DType, Expr, IndexOp, IndexOperand, Var};
use smallvec::SmallVec;

use super::Tracer;
use crate::error::Result;
use crate::fuse::flow::ValueId;
use crate::graph::op::Region;
use crate::lower::draft::DraftExpr;
use crate::lower::linear::{Coords, Linear};

impl Tracer<'_> {
    /// The value over the region, the base elsewhere. The value is read at an index clamped into the region, so that
    /// every read is inside.
    pub(super) fn slice_assign(
        &mut self,
        region: &Region,
        base: Var,
        value: ValueId,
        dtype: DType,
        coords: &Coords,
    ) -> Result<Var> {
        let shape = &self.flow.values[value as usize].shape;
        let mut inside: Option<Var> = None;
        let mut at: Coords = SmallVec::new();
        for ((range, coord), &extent) in region.axes.iter().zip(coords).zip(shape) {
            let step = range.step.abs();
            let from_start = match range.step > 0 {
                true => coord.mapped(-range.start, 1),
                false => coord.mapped(range.start, -1),
            };
            let last = (extent as i64 - 1) * step;
            let (least, greatest) = from_start.range(|term| self.draft.range(term));
            if step == 1 && least >= 0 && greatest <= last {
                at.push(from_start);
                continue;
            }
            let distance = self.index_var(from_start);
            let below = self.index_binary(IndexOp::Min, distance, last);
            let clamped = self.index_binary(IndexOp::Max, below, 0);
            let (place, reached) = match step {
                1 => (clamped, clamped),
                _ => {
                    let place = self.index_binary(IndexOp::Div, clamped, step);
                    (place, self.index_binary(IndexOp::Mul, place, step))
                }
            };
            let (reached, distance) = (IndexOperand::Var(reached), IndexOperand::Var(distance));
            let scope = self.draft.vars[place.0 as usize].scope;
            let hit = self.assign(DType::Bool, scope, DraftExpr::Plain(Expr::IndexEqual(reached, distance)));
            inside = Some(match inside {
                None => hit,
                Some(others) => {
                    let scope = self.scope_of_vars(&[others, hit]);
                    let both = Expr::Binary(BinaryOp::BitAnd, others, hit);
                    self.assign(DType::Bool, scope, DraftExpr::Plain(both))
                }
            });
            at.push(if extent == 1 { Linear::default() } else { Linear::var(place) });
        }
        let value = self.value(value, &at)?;
        let Some(condition) = inside else { return Ok(value) };
        let select = Expr::Select { condition, on_true: value, on_false: base };
        Ok(self.operation(dtype, "slice_assign", select, &[condition, value, base]))
    }
}
