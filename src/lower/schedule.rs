//! The schedule of a draft on a device: who takes which element, and which accesses are wide.

use lazuli_codegen::{AxisId, DType, DeviceFacts, LaneOrder, Placement, Schedule, Term, Tree};

use super::draft::{Draft, DraftExpr, DraftStmt};
use super::linear::Linear;
use super::tile::{choose_tile, is_tiled};
use super::windows::{ROWS, find_windows};
use crate::fuse::Group;
use crate::fuse::flow::Flow;

/// Bytes of one wide access.
const WIDE_BYTES: usize = 16;

/// Threads of a group of a map kernel, on GPUs and in OpenCL on a CPU.
pub const MAP_GROUP: u32 = 256;

/// Chooses how the device runs the draft.
pub fn choose_schedule(draft: &Draft, group: &Group, flow: &Flow, facts: &DeviceFacts) -> Schedule {
    if let Some(tree) = group.tree {
        return group_schedule(draft, tree, facts);
    }
    let threads = MAP_GROUP.min(facts.max_group);
    if facts.is_cpu {
        return Schedule::Map { group: threads, width: 1, placement: Placement::InnerAxis };
    }
    if let Some(tile) = choose_tile(draft, flow, facts) {
        return tile;
    }
    let width = map_width(draft, flow);
    match shares_rows(draft) {
        true => Schedule::Rows { group: threads, width, rows: ROWS, placement: gpu_placement(draft, ROWS) },
        false => Schedule::Map { group: threads, width, placement: gpu_placement(draft, 1) },
    }
}

/// True where a thread gains by computing several rows: they read the same elements, and are long enough to fill groups.
fn shares_rows(draft: &Draft) -> bool {
    const SHORTEST_ROW: i64 = 32;
    let extent = |axis: &AxisId| draft.extents[axis.0 as usize];
    let is_long = draft.parallel.last().is_some_and(|inner| extent(inner) >= SHORTEST_ROW);
    draft.scopes.len() == 1
        && is_long
        && find_windows(draft).is_some_and(|windows| extent(&windows.axis) >= i64::from(ROWS))
}

/// Rows of a good length are dealt to the second grid axis, which saves each thread a division; short rows, and more runs of
/// `rows` rows than that axis takes, are counted through.
fn gpu_placement(draft: &Draft, rows: u32) -> Placement {
    const SHORTEST_ROW: i64 = 256;
    const MOST_RUNS: i64 = 65_535;
    let extent = |axis: &AxisId| draft.extents[axis.0 as usize];
    match draft.parallel.split_last() {
        Some((inner, outer)) if !outer.is_empty() && extent(inner) >= SHORTEST_ROW => {
            let count = |axes: &[AxisId]| axes.iter().fold(1i64, |count, axis| count.saturating_mul(extent(axis)));
            let runs = match outer.split_last() {
                Some((axis, others)) => {
                    count(others).saturating_mul((extent(axis) as u64).div_ceil(rows.into()) as i64)
                }
                None => 1,
            };
            if runs <= MOST_RUNS { Placement::InnerAxis } else { Placement::Linear }
        }
        _ => Placement::Linear,
    }
}

/// Values that a thread of a GPU keeps between passes over a row, for each variable kept.
const KEPT_IN_REGISTERS: u64 = 32;

/// Values that a thread of a CPU keeps between passes over a row: half a first-level cache.
const KEPT_BY_CPU: u64 = 4096;

/// Threads of a group that reduces: enough lanes for a row, or several rows.
fn group_schedule(draft: &Draft, tree: Tree, facts: &DeviceFacts) -> Schedule {
    let repeats = draft.scopes.iter().filter(|scope| scope.depth == 1).filter_map(|scope| scope.repeat.as_ref());
    let along_rows = repeats.clone().all(|repeat| repeat.along_rows);
    let points = match (facts.is_cpu, along_rows) {
        (true, _) => 1,
        (false, true) => (MAP_GROUP / tree.lanes).max(1),
        (false, false) => (facts.max_group / tree.lanes).clamp(1, 32),
    };
    // Rows are kept on the chip where a second pass comes, and where they fit.
    let longest = repeats
        .clone()
        .map(|repeat| repeat.axes.iter().map(|axis| draft.extents[axis.0 as usize] as u64).product::<u64>())
        .max()
        .unwrap_or(0);
    let is_last_pass = |stmt: &DraftStmt| matches!(stmt, DraftStmt::Loop(_));
    let passes = repeats.map(|repeat| repeat.passes.len()).max().unwrap_or(0)
        + usize::from(draft.scopes[0].body.iter().any(is_last_pass));
    let steps = longest.div_ceil(u64::from(tree.accumulators())).next_power_of_two();
    let kept = steps * u64::from(tree.width);
    let fits = kept <= if facts.is_cpu { KEPT_BY_CPU } else { KEPT_IN_REGISTERS };
    let lane_order = if along_rows { LaneOrder::LanesFastest } else { LaneOrder::PointsFastest };
    Schedule::Group { tree, points, lane_order, steps: if passes > 1 && fits { steps as u32 } else { 0 } }
}

/// A load or a store of a draft.
pub struct Access<'d> {
    pub at: &'d Linear,
    pub dtype: DType,
    pub is_read: bool,
}

/// The loads and stores of a draft.
pub fn accesses<'d>(draft: &'d Draft, flow: &'d Flow) -> impl Iterator<Item = Access<'d>> {
    draft.scopes.iter().flat_map(|scope| &scope.body).filter_map(|stmt| {
        let (at, value, is_read) = match stmt {
            DraftStmt::Let(_, DraftExpr::Load(read, at)) => (at, draft.reads[*read], true),
            DraftStmt::Store(write, at, _) => (at, draft.writes[*write], false),
            DraftStmt::Let(..) | DraftStmt::Reduce(..) | DraftStmt::Loop(_) => return None,
        };
        Some(Access { at, dtype: flow.values[value as usize].dtype, is_read })
    })
}

/// Neighbours that a thread takes: as many as fill a wide access of the widest type, where every access that moves along
/// the innermost axis can be wide; else one, so that neighbouring threads read neighbouring elements.
fn map_width(draft: &Draft, flow: &Flow) -> u32 {
    let Some(&inner) = draft.parallel.last() else { return 1 };
    // A loop in the thread keeps its loads in order of the loop; neighbouring threads make them wide.
    if draft.scopes.len() > 1 {
        return 1;
    }
    let width = wide_width(draft, flow);
    if accesses(draft, flow).all(|access| fits_width(access.at, inner, width)) { width } else { 1 }
}

/// Neighbours that fill a wide access of the widest type that is moved.
pub fn wide_width(draft: &Draft, flow: &Flow) -> u32 {
    let Some(&inner) = draft.parallel.last() else { return 1 };
    let moving = accesses(draft, flow).filter(|access| moves(access.at, inner));
    let widest = moving.map(|access| access.dtype.size_bytes()).max().unwrap_or(4);
    (WIDE_BYTES / widest).min(8) as u32
}

/// True where an access stands still along the innermost axis or can be `width` wide.
pub fn fits_width(at: &Linear, inner: AxisId, width: u32) -> bool {
    !moves(at, inner) || is_wide(at, Term::Axis(inner), width)
}

/// True where an access moves along an axis, or may.
fn moves(at: &Linear, axis: AxisId) -> bool {
    at.factor(Term::Axis(axis)) != 0 || at.terms.iter().any(|(term, _)| matches!(term, Term::Var(_)))
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
