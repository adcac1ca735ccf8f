//! Fewer loops: two neighbouring axes that every index walks evenly become one.

use lazuli_codegen::{AxisId, Term};

use super::draft::Draft;
use super::windows::find_windows;

/// The shortest rows that are not merged although they lie end to end, where reads that lie whole rows apart share what
/// they read.
const SHORTEST_ROW: i64 = 256;

/// Merges axes where it can: among the parallel axes, and among the axes of each reduction. Element numbers of a reduction
/// stay what they were, since its axes are numbered in row-major order. With `keep_rows`, rows of a stencil stay rows.
pub fn collapse_axes(draft: &mut Draft, keep_rows: bool) {
    let chunk_axes: Vec<AxisId> =
        draft.scopes.iter().filter_map(|scope| scope.repeat.as_ref()?.chunk.map(|(axis, _)| axis)).collect();
    let mut parallel = std::mem::take(&mut draft.parallel);
    collapse(draft, &mut parallel, &chunk_axes, keep_rows && draft.scopes.len() == 1);
    draft.parallel = parallel;
    for scope in 0..draft.scopes.len() {
        let Some(mut axes) = draft.scopes[scope].repeat.as_mut().map(|own| std::mem::take(&mut own.axes)) else {
            continue;
        };
        collapse(draft, &mut axes, &[], false);
        if let Some(repeat) = &mut draft.scopes[scope].repeat {
            repeat.axes = axes;
        }
    }
}

fn collapse(draft: &mut Draft, axes: &mut Vec<AxisId>, fixed: &[AxisId], keep_rows: bool) {
    let mut inner = axes.len();
    while inner >= 2 {
        inner -= 1;
        let (a, b) = (axes[inner - 1], axes[inner]);
        if fixed.contains(&a) || fixed.contains(&b) {
            continue;
        }
        let extent = draft.extents[b.0 as usize];
        let (outer_term, inner_term) = (Term::Axis(a), Term::Axis(b));
        let mut even = true;
        draft.for_each_index(|index| even &= index.factor(outer_term) == index.factor(inner_term) * extent);
        if !even {
            continue;
        }
        let is_innermost = inner + 1 == axes.len();
        if keep_rows && is_innermost && extent >= SHORTEST_ROW && find_windows(draft, a).is_some() {
            continue;
        }
        draft.for_each_index_mut(|index| {
            let factor = index.factor(outer_term);
            index.add_term(outer_term, -factor);
        });
        draft.extents[b.0 as usize] = extent * draft.extents[a.0 as usize];
        axes.remove(inner - 1);
    }
}
