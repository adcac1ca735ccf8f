//! Lowering: a group becomes a kernel, with the schedule and the sizes it is launched with.

mod collapse_axes;
mod draft;
mod finish;
mod linear;
mod map_schedule;
mod schedule;
mod split_axes;
mod tile;
mod trace_group;
mod windows;

pub use trace_group::same_data;

use lazuli_codegen::{DeviceFacts, Kernel, Schedule};

pub use finish::Scratch;

use crate::error::Result;
use crate::fuse::Partition;
use crate::fuse::flow::{Flow, ValueId};

/// One kernel of a plan, and what it is launched with.
pub struct Lowered {
    /// The kernel.
    pub kernel: Kernel,
    /// How the device runs it.
    pub schedule: Schedule,
    /// Size arguments.
    pub sizes: Vec<i64>,
    /// Scalar slots, in argument order.
    pub scalars: Vec<u32>,
    /// Values read, the first buffers.
    pub reads: Vec<ValueId>,
    /// Values written, the buffers after those.
    pub writes: Vec<ValueId>,
    /// Memory for each launch, the last buffers: after the notes of bad indices, where there are sites.
    pub scratch: Vec<Scratch>,
    /// Gathers whose indices are checked, in the order of their sites. Where there are any, the buffer after those written
    /// has the notes of bad indices.
    pub sites: Vec<ValueId>,
}

/// Lowers group number `group`, whose space has at least one point.
pub fn lower_group(flow: &Flow, partition: &Partition, group: u32, facts: &DeviceFacts) -> Result<Lowered> {
    let mut draft = trace_group::trace_group(flow, partition, group)?;
    split_axes::split_axes(&mut draft);
    // Before the schedule: the innermost axis it looks at is the collapsed one.
    collapse_axes::collapse_axes(&mut draft, !facts.is_cpu);
    let schedule = schedule::choose_schedule(&draft, &partition.groups[group as usize], flow, facts);
    let finished = finish::finish(&draft, schedule, flow)?;
    Ok(Lowered {
        kernel: finished.kernel,
        schedule,
        sizes: finished.sizes,
        scalars: draft.scalars.iter().map(|(slot, _)| *slot).collect(),
        reads: draft.reads,
        writes: draft.writes,
        scratch: finished.scratch,
        sites: draft.sites,
    })
}
