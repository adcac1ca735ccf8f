//! The tree of each reduction: a total rule of shape, axes, memory order, element size and device, and of nothing that is
//! fused with it. So fusing never changes a bit of a result.

use lazuli_codegen::{DeviceFacts, Tree};
use smallvec::SmallVec;

use super::flow::Value;

/// Elements one accumulator folds one after another before a reduction is split: a rounding error grows with this, and
/// with the logarithm of the rest.
const LONGEST_CHAIN: u64 = 512;

/// A row no longer than this is folded by one thread in a plain loop, where there are several rows.
const SHORT_ROW: u64 = 64;

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

/// The tree, and the length of the chunks where the reduction is split.
pub fn choose(fold: Fold, facts: &DeviceFacts) -> (Tree, Option<i64>) {
    if fold.kept > 1 && fold.folded <= SHORT_ROW {
        return (Tree::SERIAL, None);
    }
    let units = u64::from(facts.compute_units.max(1));
    // Lanes are halved until one is left.
    let most_lanes = 1u64 << facts.max_group.max(1).ilog2();
    // The tree; results at a time that keep the device busy; elements below which splitting does not pay.
    let (tree, enough, shortest) = match (facts.is_cpu, fold.along_rows) {
        // One thread a row; sixteen accumulators are one or two vector registers. Longer rows take more of them rather than
        // a second launch, where there are rows for every core.
        (true, true) => {
            let is_long = fold.folded > 16 * LONGEST_CHAIN && fold.kept >= units.max(2);
            let width = if is_long { 64 } else { 16 };
            (Tree { lanes: 1, width }, units, u64::from(width) * LONGEST_CHAIN)
        }
        (true, false) => (Tree::SERIAL, units * 256, LONGEST_CHAIN),
        (false, true) => {
            let width = (16 / fold.element_bytes.max(1)).clamp(1, 4) as u32;
            // Lanes for two wide loads each, so that both are in flight at once. A whole array takes the largest group,
            // whatever its length, so that every length runs one kernel.
            let lanes = match fold.kept {
                1 => 1024,
                _ => fold.folded.div_ceil(2 * u64::from(width)).next_power_of_two().clamp(8, 1024),
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
        return (tree, None);
    }
    let length = fold.folded.div_ceil(chunks).next_multiple_of(accumulators);
    (tree, (length < fold.folded).then_some(length as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(is_cpu: bool) -> DeviceFacts {
        DeviceFacts {
            name: "test".into(),
            is_cpu,
            compute_units: if is_cpu { 2 } else { 132 },
            max_group: 1024,
            local_memory_bytes: 48 << 10,
            max_parameter_bytes: 4096,
            max_allocation_bytes: 1 << 40,
            has_f64: true,
            compiler: String::new(),
        }
    }

    #[test]
    fn no_accumulator_folds_a_long_chain() {
        for is_cpu in [true, false] {
            for folded in [1u64, 2, 63, 64, 65, 8192, 8193, 1 << 20, (1 << 28) + 1, 3_000_000_000] {
                for kept in [1u64, 2, 4096, 1 << 20] {
                    for along_rows in [true, false] {
                        let fold = Fold { folded, kept, along_rows, element_bytes: 4 };
                        let (tree, chunk) = choose(fold, &facts(is_cpu));
                        let span = chunk.map_or(folded, |length| length as u64);
                        let chain = span.div_ceil(u64::from(tree.accumulators()));
                        assert!(chain <= LONGEST_CHAIN + 1, "{fold:?} folds {chain} in a row");
                        if let Some(length) = chunk {
                            assert_eq!(length as u64 % u64::from(tree.accumulators()), 0);
                            assert!((length as u64) < folded);
                        }
                    }
                }
            }
        }
    }
}
