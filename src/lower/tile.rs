//! Map kernels some of whose reads run along another axis than the stores: on a GPU they go through local memory, a square of
//! the two axes at a time.

use lazuli_codegen::{AxisId, DType, DeviceFacts, Schedule, Term, tile_bytes};

use super::draft::Draft;
use super::linear::Linear;
use super::schedule::{MAP_GROUP, accesses, fits_width, is_wide, wide_width};
use crate::fuse::flow::Flow;

/// The longest edge of a tile of elements of up to four bytes: 64 of these are whole lines of every cache.
const SIDE: u32 = 64;
/// The shortest edge. Along a shorter axis a column's neighbours are near enough for the caches.
const LEAST_SIDE: u32 = 32;

/// A tiled schedule, if some reads would gain by it and the device has room for their tiles.
pub fn choose_tile(draft: &Draft, flow: &Flow, facts: &DeviceFacts) -> Option<Schedule> {
    let (&inner, outer) = draft.parallel.split_last()?;
    let extent = |axis: AxisId| draft.extents[axis.0 as usize];
    if draft.scopes.len() > 1 || extent(inner) < i64::from(LEAST_SIDE) {
        return None;
    }
    let tiled = |across: AxisId| -> Vec<DType> {
        let reads = accesses(draft, flow).filter(|access| access.is_read && is_tiled(access.at, across, inner));
        reads.map(|access| access.dtype).collect()
    };
    let across = (0..outer.len())
        .filter(|place| extent(outer[*place]) >= i64::from(LEAST_SIDE))
        .map(|place| (place, tiled(outer[place])))
        .max_by_key(|(_, dtypes)| dtypes.iter().map(|dtype| dtype.size_bytes()).sum::<usize>());
    let (place, dtypes) = across.filter(|(_, dtypes)| !dtypes.is_empty())?;
    let across = outer[place];

    let width = wide_width(draft, flow);
    let is_aligned = accesses(draft, flow).all(|access| match access.is_read && is_tiled(access.at, across, inner) {
        true => is_wide(access.at, Term::Axis(across), width),
        false => fits_width(access.at, inner, width),
    });
    let width = if is_aligned { width } else { 1 };
    let shortest = extent(across).min(extent(inner));
    let most = if dtypes.iter().any(|dtype| dtype.size_bytes() > 4) { LEAST_SIDE } else { SIDE };
    let side = [SIDE, LEAST_SIDE].into_iter().find(|&side| {
        let bytes: usize = dtypes.iter().map(|dtype| tile_bytes(side, *dtype)).sum();
        side <= most && i64::from(side) <= shortest && bytes <= facts.local_memory_bytes as usize
    })?;
    let threads = MAP_GROUP.min(facts.max_group).min(side * side / width);
    // The greatest power of two of these.
    let group = 1 << threads.checked_ilog2()?;
    (group * width >= side).then_some(Schedule::Tile { group, side, width, across: place as u32 })
}

/// True where a read runs along `across` and jumps along `inner`. [`Schedule::is_tiled`] says the same of a finished kernel.
pub fn is_tiled(at: &Linear, across: AxisId, inner: AxisId) -> bool {
    at.factor(Term::Axis(across)) == 1
        && !matches!(at.factor(Term::Axis(inner)), 0 | 1)
        && at.terms.iter().all(|(term, _)| matches!(term, Term::Axis(_)))
}
