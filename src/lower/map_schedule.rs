//! The schedule of a map kernel: a kernel whose top level only loads, computes and stores.

use lazuli_codegen::{AxisId, DType, DeviceFacts, Placement, Schedule, Term};

use super::draft::{Draft, DraftExpr, DraftStmt};
use super::linear::Linear;
use super::schedule::is_wide;
use super::tile::choose_tile;
use super::windows::{ROWS, find_windows};
use crate::fuse::flow::Flow;

/// Bytes of one wide access.
const WIDE_BYTES: usize = 16;

/// Threads of a group, on GPUs and in OpenCL on a CPU.
pub const MAP_GROUP: u32 = 256;

/// The most neighbours that a thread takes.
const MOST_NEIGHBOURS: u32 = 8;

/// The most words of four bytes that a thread reads before it computes, so that they stay in registers.
pub const MOST_WORDS: u32 = 96;

/// Chooses how the device runs a draft whose reductions, if it has any, are loops in one thread.
pub fn map_schedule(draft: &Draft, flow: &Flow, facts: &DeviceFacts) -> Schedule {
    let group = MAP_GROUP.min(facts.max_group);
    if facts.is_cpu {
        return Schedule::Map { group, width: 1, placement: Placement::InnerAxis };
    }
    if let Some(tile) = choose_tile(draft, flow, facts) {
        return tile;
    }
    let map = |width| Schedule::Map { group, width, placement: gpu_placement(draft, 1) };
    let Some(&inner) = draft.parallel.last() else { return map(1) };
    // A loop in the thread keeps its loads in order of the loop; neighbouring threads make them wide.
    if draft.scopes.len() > 1 {
        return map(1);
    }
    let most = wide_width(draft, flow, MOST_NEIGHBOURS);
    let all = |holds: &dyn Fn(&Access<'_>) -> bool| accesses(draft, flow).all(|access| holds(&access));
    // The widest accesses that every row begins and ends with.
    let widths = std::iter::successors(Some(most), |width| Some(width / 2)).take_while(|width| *width > 1);
    let width = widths.into_iter().find(|&width| all(&|access| fits_width(access.at, inner, width))).unwrap_or(1);
    let row = row_axis(draft, inner);
    let own_rows = || {
        // More rows where the thread has less than a word of each.
        let rows = if WIDE_BYTES as u32 / most * width < 4 { 2 * ROWS } else { ROWS };
        let rows = row.map_or(1, |axis| rows.min(draft.extents[axis.0 as usize] as u32));
        match rows > 1 && read_words(draft, flow, rows * width) <= MOST_WORDS {
            true => Schedule::Rows { group, width, rows, placement: gpu_placement(draft, rows) },
            false => map(width),
        }
    };
    if row.is_some_and(|axis| find_windows(draft, axis).is_some()) {
        return own_rows();
    }
    // Where the stores are wide, neighbours that cannot be loaded together come from the first-level cache one by one.
    let is_near = |access: &Access<'_>| {
        access.read.is_some() && is_of_axes(access.at) && access.at.factor(Term::Axis(inner)).abs() == 1
    };
    // What is gathered comes from anywhere, whoever reads it; the indices and the rest are read wide.
    let is_gathered = |access: &Access<'_>| access.read.is_some() && !draft.sites.is_empty() && !is_of_axes(access.at);
    if all(&|access| fits_width(access.at, inner, most) || is_near(access) || is_gathered(access)) {
        return map(most);
    }
    // Less than a wide access leaves too little on its way at a time.
    if all(&|access| is_of_axes(access.at)) { own_rows() } else { map(width) }
}

/// The axis along which a thread may compute several rows, where the rows are long enough to fill groups.
fn row_axis(draft: &Draft, inner: AxisId) -> Option<AxisId> {
    const SHORTEST_ROW: i64 = 32;
    let is_long = draft.extents[inner.0 as usize] >= SHORTEST_ROW;
    draft.parallel.iter().rev().nth(1).copied().filter(|_| is_long)
}

/// Words of four bytes that a thread has read when it begins to compute so many elements. Reads that share a row of a window
/// count once.
pub fn read_words(draft: &Draft, flow: &Flow, elements: u32) -> u32 {
    let windows = draft.parallel.iter().rev().nth(1).and_then(|&axis| find_windows(draft, axis));
    let is_ahead = |read: usize, at: &Linear| {
        windows.as_ref().and_then(|windows| windows.place(read, at)).is_some_and(|(_, ahead)| *ahead > 0)
    };
    let reads = accesses(draft, flow).filter(|access| access.read.is_some_and(|read| !is_ahead(read, access.at)));
    reads.map(|access| (elements * access.dtype.size_bytes() as u32).div_ceil(4)).sum()
}

/// True for an index made of axes only.
fn is_of_axes(at: &Linear) -> bool {
    at.terms.iter().all(|(term, _)| matches!(term, Term::Axis(_)))
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

/// A load or a store of a draft.
pub struct Access<'d> {
    pub at: &'d Linear,
    pub dtype: DType,
    /// Which of the values read, where it is a load.
    pub read: Option<usize>,
}

/// The loads and stores of a draft.
pub fn accesses<'d>(draft: &'d Draft, flow: &'d Flow) -> impl Iterator<Item = Access<'d>> {
    draft.scopes.iter().flat_map(|scope| &scope.body).filter_map(|stmt| {
        let (at, value, read) = match stmt {
            DraftStmt::Let(_, DraftExpr::Load(read, at)) => (at, draft.reads[*read], Some(*read)),
            DraftStmt::Store(write, at, _) => (at, draft.writes[*write], None),
            DraftStmt::Let(..) | DraftStmt::Reduce(..) | DraftStmt::Loop(_) => return None,
        };
        Some(Access { at, dtype: flow.values[value as usize].dtype, read })
    })
}

/// Neighbours that fill a wide access of the widest type that is moved, but no more than `most`.
pub fn wide_width(draft: &Draft, flow: &Flow, most: u32) -> u32 {
    let Some(&inner) = draft.parallel.last() else { return 1 };
    let moving = accesses(draft, flow).filter(|access| moves(access.at, inner));
    let widest = moving.map(|access| access.dtype.size_bytes()).max().unwrap_or(4);
    ((WIDE_BYTES / widest) as u32).min(most)
}

/// True where an access stands still along the innermost axis or can be `width` wide.
pub fn fits_width(at: &Linear, inner: AxisId, width: u32) -> bool {
    !moves(at, inner) || is_wide(at, Term::Axis(inner), width)
}

/// True where an access moves along an axis, or may.
fn moves(at: &Linear, axis: AxisId) -> bool {
    at.factor(Term::Axis(axis)) != 0 || !is_of_axes(at)
}
