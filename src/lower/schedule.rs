//! The schedule of a draft on a device: who takes which element, and which accesses are wide.

use lazuli_codegen::{DeviceFacts, LaneOrder, Schedule, Term, Tree};

use super::draft::{Draft, DraftStmt};
use super::linear::Linear;
use super::map_schedule::{MAP_GROUP, map_schedule};
use super::tile::is_tiled;
use crate::fuse::Group;
use crate::fuse::flow::Flow;

/// Chooses how the device runs the draft.
pub fn choose_schedule(draft: &Draft, group: &Group, flow: &Flow, facts: &DeviceFacts) -> Schedule {
    if let Some(tree) = group.tree {
        return group_schedule(draft, tree, facts);
    }
    map_schedule(draft, flow, facts)
}

/// Values that a thread of a GPU keeps between passes over a row, for each variable kept.
const KEPT_IN_REGISTERS: u64 = 32;

/// Values that a thread of a GPU reads at once where it keeps none.
const READ_AT_ONCE: u64 = 16;

/// Values that a thread of a CPU keeps between passes over a row: half a first-level cache.
const KEPT_BY_CPU: u64 = 4096;

/// Threads of a group that reduces: enough lanes for a row, or several rows.
fn group_schedule(draft: &Draft, tree: Tree, facts: &DeviceFacts) -> Schedule {
    let repeats = draft.scopes.iter().filter(|scope| scope.depth == 1).filter_map(|scope| scope.repeat.as_ref());
    let along_rows = repeats.clone().all(|repeat| repeat.along_rows);
    let points = match (facts.is_cpu, along_rows) {
        (true, _) => 1,
        (false, true) => (MAP_GROUP.min(facts.max_group) / tree.lanes).max(1),
        (false, false) => (facts.max_group / tree.lanes).clamp(1, 32),
    };
    // Rows are kept on the chip where a second pass comes, and where they fit.
    let longest = repeats
        .clone()
        .map(|repeat| {
            let all = repeat.axes.iter().map(|axis| draft.extents[axis.0 as usize] as u64).product::<u64>();
            repeat.chunk.map_or(all, |(_, length)| all.min(length as u64))
        })
        .max()
        .unwrap_or(0);
    let is_last_pass = |stmt: &DraftStmt| matches!(stmt, DraftStmt::Loop(_));
    let passes = repeats.map(|repeat| repeat.passes.len()).max().unwrap_or(0)
        + usize::from(draft.scopes[0].body.iter().any(is_last_pass));
    let steps = longest.div_ceil(u64::from(tree.accumulators())).next_power_of_two();
    let kept = steps * u64::from(tree.width);
    let fits = kept <= if facts.is_cpu { KEPT_BY_CPU } else { KEPT_IN_REGISTERS };
    let lane_order = if along_rows { LaneOrder::LanesFastest } else { LaneOrder::PointsFastest };
    // A GPU begins all loads of a short row at once, be it kept for a second pass or not. Along several axes a loop carries
    // the indices, which an unrolled one would divide for.
    let is_line = draft.scopes.iter().filter_map(|scope| scope.repeat.as_ref()).all(|repeat| repeat.axes.len() == 1);
    let is_short = !facts.is_cpu && along_rows && is_line && !draft.parallel.is_empty() && kept <= READ_AT_ONCE;
    let is_kept = passes > 1 || is_short && draft.combined.is_none();
    Schedule::Group { tree, points, lane_order, steps: if is_kept && fits { steps as u32 } else { 0 } }
}

/// True where `width` elements from an index that is a multiple of `width` along `along` are neighbours in memory, aligned
/// to their size together.
pub fn is_wide(index: &Linear, along: Term, width: u32) -> bool {
    let aligned = |number: i64| number % i64::from(width) == 0;
    width > 1
        && index.factor(along) == 1
        && aligned(index.constant)
        && index
            .terms
            .iter()
            .all(|(term, factor)| *term == along || (matches!(term, Term::Axis(_)) && aligned(*factor)))
}

/// The axis along which an access of a scope may be wide, and how wide, under a schedule.
pub fn wide_axis(draft: &Draft, schedule: Schedule, scope: usize, at: &Linear) -> Option<(Term, u32)> {
    match schedule {
        Schedule::Tile { width, across, .. } => {
            let (inner, across) = (*draft.parallel.last()?, *draft.parallel.get(across as usize)?);
            Some((Term::Axis(if is_tiled(at, across, inner) { across } else { inner }), width))
        }
        Schedule::Map { width, .. } | Schedule::Rows { width, .. } => {
            draft.parallel.last().map(|axis| (Term::Axis(*axis), width))
        }
        Schedule::Group { tree, .. } => {
            let mut top = scope;
            while draft.scopes[top].depth > 1 {
                top = draft.scopes[top].parent;
            }
            let repeat = draft.scopes[top].repeat.as_ref().filter(|_| tree != Tree::SERIAL)?;
            let inner = *repeat.axes.last()?;
            // With further axes, a run of elements must not leave its row.
            let extent = draft.extents[inner.0 as usize];
            let stays = repeat.axes.len() == 1 || extent % i64::from(tree.width) == 0;
            stays.then_some((Term::Axis(inner), tree.width))
        }
    }
}
