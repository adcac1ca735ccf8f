//! Map kernels some of whose reads or stores run along another axis than the innermost: on a GPU they go through
//! local memory, a square of the two axes at a time.

use lazuli_codegen::{AxisId, DType, DeviceFacts, Schedule, Term, tile_bytes};

use super::draft::Draft;
use super::linear::Linear;
use super::map_schedule::{MAP_GROUP, MOST_WORDS, accesses, fits_width, read_words, wide_width};
use super::schedule::is_wide;
use crate::fuse::flow::Flow;

/// Edges of tiles, in elements. Sixteen elements of up to four bytes for each of 256 threads; more of a narrow type would be
/// more registers, since each takes one.
const SIDES: [u32; 3] = [64, 32, 16];
/// The most bytes of a row of a tile: whole lines of every cache.
const ROW_BYTES: u32 = 256;
/// The shortest edge. Along a shorter axis a thread that computes several rows finds a column's neighbours near enough.
const LEAST_SIDE: i64 = 16;
/// The most neighbours that a thread moves at once.
const MOST_NEIGHBOURS: u32 = 16;

/// A tiled schedule, if some accesses would gain by it and the device has room for their tiles.
pub fn choose_tile(draft: &Draft, flow: &Flow, facts: &DeviceFacts) -> Option<Schedule> {
    let (&inner, outer) = draft.parallel.split_last()?;
    let extent = |axis: AxisId| draft.extents[axis.0 as usize];
    if draft.scopes.len() > 1 || extent(inner) < LEAST_SIDE {
        return None;
    }
    let tiled = |across: AxisId| -> Vec<DType> {
        let tiled = accesses(draft, flow).filter(|access| is_tiled(access.at, across, inner));
        tiled.map(|access| access.dtype).collect()
    };
    let across = (0..outer.len())
        .filter(|place| extent(outer[*place]) >= LEAST_SIDE)
        .map(|place| (place, tiled(outer[place])))
        .max_by_key(|(_, dtypes)| dtypes.iter().map(|dtype| dtype.size_bytes()).sum::<usize>());
    let (place, dtypes) = across.filter(|(_, dtypes)| !dtypes.is_empty())?;
    let across = outer[place];

    let width = wide_width(draft, flow, MOST_NEIGHBOURS);
    let is_aligned = accesses(draft, flow).all(|access| match is_tiled(access.at, across, inner) {
        true => is_wide(access.at, Term::Axis(across), width),
        false => fits_width(access.at, inner, width),
    });
    let width = if is_aligned { width } else { 1 };
    let shortest = extent(across).min(extent(inner));
    let widest = dtypes.iter().map(|dtype| dtype.size_bytes() as u32).max().unwrap_or(1);
    SIDES.into_iter().find_map(|side| {
        let bytes: usize = dtypes.iter().map(|dtype| tile_bytes(side, *dtype)).sum();
        let fits =
            side * widest <= ROW_BYTES && i64::from(side) <= shortest && bytes <= facts.local_memory_bytes as usize;
        let width = width.min(side);
        let threads = MAP_GROUP.min(facts.max_group).min(side * side / width);
        // The greatest power of two of these.
        let group = 1 << threads.checked_ilog2()?;
        let is_small = read_words(draft, flow, side * side / group) <= MOST_WORDS;
        let tile = Schedule::Tile { group, side, width, across: place as u32 };
        (fits && is_small && group * width >= side).then_some(tile)
    })
}

/// True where an access runs along `across` and jumps along `inner`. [`Schedule::is_tiled`] says the same of a
/// finished kernel.
pub fn is_tiled(at: &Linear, across: AxisId, inner: AxisId) -> bool {
    at.factor(Term::Axis(across)) == 1
        && !matches!(at.factor(Term::Axis(inner)), 0 | 1)
        && at.terms.iter().all(|(term, _)| matches!(term, Term::Axis(_)))
}
