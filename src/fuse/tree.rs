//! The tree of each reduction: a total rule of shape, axes, memory order, element size and device, and of nothing that is
//! fused with it. So fusing never changes a bit of a result.

use lazuli_codegen::{Cooperation, DeviceFacts, Tree};
use smallvec::SmallVec;

use super::flow::{Split, Value};

/// Elements one accumulator folds one after another before a reduction is split: a rounding error grows with this, and
/// with the logarithm of the rest.
const LONGEST_CHAIN: u64 = 512;

/// Chunks of one result that one launch combines: what a grid axis holds.
const MOST_CHUNKS: u64 = 65_535;

/// Threads that run together.
const WARP: u32 = 32;

/// A row no longer than this is folded by one thread in a plain loop, where there are several rows.
const SHORT_ROW: u64 = 64;

/// The same where neighbouring threads, which read together, would read a row apart.
const SHORT_ROW_ACROSS: u64 = 8;

/// What the choice of a tree looks at.
#[derive(Clone, Copy, Debug)]
pub struct Fold {
    /// Elements folded into one result.
    pub folded: u64,
    /// Results.
    pub kept: u64,
    /// True where the fastest axis in memory is a folded one.
    pub along_rows: bool,
    /// Bytes of one element.
    pub element_bytes: usize,
}

/// The marked axes of a value, slowest in memory first.
pub fn folded_axes(operand: &Value, reduced: &[bool]) -> SmallVec<[u32; 4]> {
    let order = operand.order.axes(operand.shape.len());
    order.into_iter().filter(|axis| reduced[*axis as usize]).collect()
}

impl Fold {
    /// The reduction of these axes of a value.
    pub fn of(operand: &Value, axes: &[u32]) -> Self {
        let extent = |axis: &u32| operand.shape[*axis as usize] as u64;
        let order = operand.order.axes(operand.shape.len());
        let fastest = order.iter().rev().find(|axis| extent(axis) > 1);
        Self {
            folded: axes.iter().map(extent).product(),
            kept: order.iter().filter(|axis| !axes.contains(axis)).map(extent).product(),
            along_rows: fastest.is_none_or(|axis| axes.contains(axis)),
            element_bytes: operand.dtype.size_bytes(),
        }
    }
}

/// The tree, and how groups share the elements.
pub fn choose(fold: Fold, facts: &DeviceFacts) -> (Tree, Split) {
    let short = if facts.is_cpu || !fold.along_rows { SHORT_ROW } else { SHORT_ROW_ACROSS };
    if fold.kept > 1 && fold.folded <= short {
        return (Tree::SERIAL, Split::Whole);
    }
    if let Some(kept) = kept_by_groups(fold, facts) {
        return kept;
    }
    let units = u64::from(facts.compute_units.max(1));
    let most_lanes = most_lanes(facts);
    // The tree; results at a time that keep the device busy; elements below which splitting does not pay.
    let (tree, enough, shortest) = match (facts.is_cpu, fold.along_rows) {
        // One thread a row; sixteen accumulators are one or two vector registers. Longer rows take more of them rather than
        // a second launch, where there are rows for every core, or very many chunks.
        (true, true) => {
            let is_long = fold.folded > 16 * LONGEST_CHAIN && (fold.kept >= units.max(2) || fold.folded > 1 << 24);
            let width = if is_long { 64 } else { 16 };
            (Tree { lanes: 1, width }, units, u64::from(width) * LONGEST_CHAIN)
        }
        (true, false) => (Tree::SERIAL, units * 256, LONGEST_CHAIN),
        (false, true) => {
            let width = wide_width(fold);
            // A whole array takes the largest group, whatever its length, so that every length runs one kernel. Rows take
            // lanes for a few wide loads each, which are in flight at once, in groups of which several run at once: one
            // waits at its barriers while another loads.
            let loads = if fold.folded <= 2048 { 2 } else { 4 };
            let lanes = match (fold.kept, fold.folded) {
                (1, _) => 1024,
                (_, ..=16_384) => fold.folded.div_ceil(loads * u64::from(width)).next_power_of_two().clamp(4, 512),
                _ => 1024,
            };
            let lanes = lanes.min(most_lanes) as u32;
            (Tree { lanes, width }, units * 2048 / u64::from(lanes), u64::from(lanes * width) * 8)
        }
        (false, false) => {
            // Threads of a group are columns side by side, some lanes deep.
            let lanes = (fold.folded / 16).next_power_of_two().clamp(4, 32).min(most_lanes / 32) as u32;
            let lanes = lanes.max(1);
            (Tree { lanes, width: 1 }, units * 2048 / u64::from(lanes), u64::from(lanes) * LONGEST_CHAIN)
        }
    };
    let accumulators = u64::from(tree.accumulators());
    let by_accuracy = fold.folded.div_ceil(accumulators * LONGEST_CHAIN);
    let by_parallelism = (enough / fold.kept.max(1)).min(fold.folded / shortest);
    let chunks = by_accuracy.max(by_parallelism);
    if chunks <= 1 {
        return (tree, Split::Whole);
    }
    let length = fold.folded.div_ceil(chunks).next_multiple_of(accumulators);
    if length >= fold.folded {
        return (tree, Split::Whole);
    }
    let combining = combining_tree(tree, fold.along_rows, facts);
    let chunks = fold.folded.div_ceil(length);
    let few = chunks <= (u64::from(combining.accumulators()) * LONGEST_CHAIN).min(MOST_CHUNKS);
    match facts.cooperation {
        // A plain loop stands in a thread, whose group is not its own.
        Cooperation::LastGroup | Cooperation::Waiting { .. } if few && tree != Tree::SERIAL => {
            (tree, Split::Combined { length: length as i64, tree: combining, is_kept: false })
        }
        _ => (tree, Split::Chunks(length as i64)),
    }
}

/// Rows that are too long for one group's registers, but not for those of as many groups as run at once: chunks of as much
/// as a group keeps, so that what is made of the row's results finds the row on the chip.
fn kept_by_groups(fold: Fold, facts: &DeviceFacts) -> Option<(Tree, Split)> {
    let Cooperation::Waiting { groups, threads, values } = facts.cooperation else { return None };
    // Registers are four bytes.
    let values = (u64::from(values) * 4 / fold.element_bytes.max(4) as u64).max(1);
    let in_one = most_lanes(facts).min(1024) * values;
    let length = u64::from(threads) * values;
    let chunks = fold.folded.div_ceil(length.max(1));
    if !fold.along_rows || fold.folded <= in_one || chunks > u64::from(groups) {
        return None;
    }
    let tree = Tree { lanes: threads, width: wide_width(fold) };
    let combining = combining_tree(tree, true, facts);
    Some((tree, Split::Combined { length: length as i64, tree: combining, is_kept: true }))
}

/// How the results of chunks are folded: as the chunks are, but by each warp of a GPU for itself.
fn combining_tree(tree: Tree, along_rows: bool, facts: &DeviceFacts) -> Tree {
    match !facts.is_cpu && along_rows {
        true => Tree { lanes: tree.lanes.min(WARP), width: 1 },
        false => tree,
    }
}

/// Neighbours of one wide load.
fn wide_width(fold: Fold) -> u32 {
    (16 / fold.element_bytes.max(1)).clamp(1, 4) as u32
}

/// The most lanes of a group; they are halved until one is left.
fn most_lanes(facts: &DeviceFacts) -> u64 {
    1 << facts.max_group.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(is_cpu: bool, waits: bool) -> DeviceFacts {
        DeviceFacts {
            name: "test".into(),
            is_cpu,
            compute_units: if is_cpu { 2 } else { 132 },
            max_group: 1024,
            local_memory_bytes: 48 << 10,
            max_parameter_bytes: 4096,
            max_allocation_bytes: 1 << 40,
            has_f64: true,
            cooperation: match (is_cpu, waits) {
                (true, _) => Cooperation::LastGroup,
                (false, true) => Cooperation::Waiting { groups: 264, threads: 512, values: 32 },
                (false, false) => Cooperation::None,
            },
            compiler: String::new(),
        }
    }

    #[test]
    fn no_accumulator_folds_a_long_chain() {
        for (is_cpu, waits) in [(true, false), (false, false), (false, true)] {
            for folded in [1u64, 2, 63, 64, 65, 8192, 8193, 32_769, 1 << 20, (1 << 28) + 1, 3_000_000_000] {
                for kept in [1u64, 2, 4096, 1 << 20] {
                    for along_rows in [true, false] {
                        let fold = Fold { folded, kept, along_rows, element_bytes: 4 };
                        let (tree, split) = choose(fold, &facts(is_cpu, waits));
                        let span = split.length().map_or(folded, |length| length as u64);
                        let chain = span.div_ceil(u64::from(tree.accumulators()));
                        assert!(chain <= LONGEST_CHAIN + 1, "{fold:?} folds {chain} in a row");
                        let Some(length) = split.length() else { continue };
                        assert_eq!(length as u64 % u64::from(tree.accumulators()), 0);
                        assert!((length as u64) < folded);
                        if let Split::Combined { tree, .. } = split {
                            let chunks = folded.div_ceil(length as u64);
                            assert!(chunks <= MOST_CHUNKS, "{fold:?} has {chunks} chunks");
                            let chain = chunks.div_ceil(u64::from(tree.accumulators()));
                            assert!(chain <= LONGEST_CHAIN, "{fold:?} folds {chain} chunks in a row");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn rows_past_one_group_are_kept_by_several_where_these_can_wait() {
        let fold = |folded| Fold { folded, kept: 64, along_rows: true, element_bytes: 4 };
        let is_kept =
            |folded| matches!(choose(fold(folded), &facts(false, true)).1, Split::Combined { is_kept: true, .. });
        assert!(!is_kept(32_768), "one group keeps it");
        assert!(is_kept(32_769));
        assert!(is_kept(264 * 512 * 32));
        assert!(!is_kept(264 * 512 * 32 + 1), "more chunks than run at once");
        assert!(!matches!(choose(fold(1 << 20), &facts(false, false)).1, Split::Combined { .. }));
    }
}
