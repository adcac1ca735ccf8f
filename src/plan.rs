//! A plan: the kernels that evaluate a graph, in order, and what each is given. It holds no data and no graph node, so it
//! serves every graph with the same signature.

use std::sync::Arc;

use lazuli_codegen::{DType, DeviceFacts, Grid, Kernel, Schedule};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::check::Origins;
use crate::compile::Uncompiled;
use crate::error::{Error, Place, Result};
use crate::fuse::flow::{Flow, FlowOp, ValueId};
use crate::fuse::{Limits, Partition, Reason};
use crate::graph::canonical::Canonical;
use crate::lower::{Lowered, Scratch};
use crate::runtime::Executable;
use crate::{fuse, lower};

/// The kernels of one evaluation.
pub struct Plan {
    /// Launches, in order.
    pub steps: Vec<Step>,
    /// Bytes of each stored value, results and intermediates.
    pub value_bytes: Vec<usize>,
    /// The stored value of each root.
    pub roots: Vec<u32>,
    /// Bytes that must move at the least: each input read once, each result written once.
    pub least_bytes: u64,
}

/// One launch.
pub struct Step {
    /// What is computed, for reports.
    pub kernel: Arc<Kernel>,
    /// How the device runs it.
    pub schedule: Schedule,
    /// The compiled kernel.
    pub executable: Arc<dyn Executable>,
    /// Launch shape.
    pub grid: Grid,
    /// Size arguments.
    pub sizes: Vec<i64>,
    /// Scalar slots, in argument order.
    pub scalars: Vec<u32>,
    /// Buffers, in argument order: values read, values written, and the notes of bad indices where there are sites.
    pub buffers: Vec<Slot>,
    /// Values written, to be allocated before the launch.
    pub writes: Vec<u32>,
    /// For each of those, what it is made of.
    pub origins: Vec<Origins>,
    /// Gathers whose indices it checks, by node of the graph, in the order of their sites.
    pub sites: Vec<u32>,
    /// Memory for the launch alone: the buffers after those of `buffers`.
    pub scratch: Vec<Scratch>,
    /// Values read for the last time, to be let go after it.
    pub last_reads: Vec<u32>,
    /// Why the kernel begins here.
    pub reason: Reason,
    /// The line that recorded its first result.
    pub at: Place,
    /// Bytes it reads and writes, each buffer once.
    pub bytes: u64,
}

/// Where a buffer argument comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// Data of the graph, by number.
    Leaf(u32),
    /// A value of this plan, by number.
    Value(u32),
    /// The launch's own notes of bad indices.
    Notes,
}

/// What a kernel is launched with, and why it is there.
struct Arguments {
    sizes: Vec<i64>,
    scalars: Vec<u32>,
    writes: Vec<ValueId>,
    origins: Vec<Origins>,
    sites: Vec<u32>,
    buffers: Vec<Slot>,
    scratch: Vec<Scratch>,
    reason: Reason,
    bytes: u64,
}

/// Makes the plan of a graph. `compile` gives the executables of all its kernels, in their order.
pub fn make_plan(
    graph: &Canonical,
    facts: &DeviceFacts,
    limits: Limits,
    compile: impl FnOnce(&[Uncompiled]) -> Result<Vec<Arc<dyn Executable>>>,
) -> Result<Plan> {
    let (flow, partition) = {
        let _span = tracing::debug_span!("fuse", values = graph.nodes.len()).entered();
        let flow = fuse::build_flow(graph, facts);
        let partition = fuse::partition(&flow, limits)?;
        tracing::debug!(kernels = partition.groups.len(), "partitioned");
        (flow, partition)
    };
    let mut numbers: FxHashMap<ValueId, u32> = FxHashMap::default();
    let mut plan = Plan { steps: Vec::new(), value_bytes: Vec::new(), roots: Vec::new(), least_bytes: 0 };
    // All kernels first: those that are missing may then be compiled at once.
    let (mut kernels, mut arguments) = (Vec::new(), Vec::new());
    for group in 0..partition.groups.len() as u32 {
        for output in outputs(&partition, group) {
            numbers.insert(output, plan.value_bytes.len() as u32);
            plan.value_bytes.push(bytes_of(&flow, output)?);
        }
        if partition.groups[group as usize].space.contains(&0) {
            continue;
        }
        let reason = partition.groups[group as usize].reason;
        let lowered = {
            let _span = tracing::debug_span!("lower", kernel = group, %reason).entered();
            lower::lower_group(&flow, &partition, group, facts)?
        };
        check_types(&lowered.kernel, facts)?;
        let Lowered { kernel, schedule, sizes, scalars, reads, writes, sites, scratch } = lowered;
        let written = |value: &ValueId| {
            let number = numbers.get(value).map(|number| Slot::Value(*number));
            number.ok_or_else(|| Error::Internal("a kernel reads a value that no earlier kernel stored".into()))
        };
        let read = |value: &ValueId| match flow.values[*value as usize].op {
            FlowOp::Leaf(leaf) => Ok(Slot::Leaf(leaf)),
            _ => written(value),
        };
        let mut buffers = reads.iter().map(read).chain(writes.iter().map(written)).collect::<Result<Vec<Slot>>>()?;
        let origins = writes.iter().map(|write| origins_of(&flow, &partition, group, *write, &reads, &sites)).collect();
        if !sites.is_empty() {
            buffers.push(Slot::Notes);
        }
        let moved = reads.iter().chain(&writes);
        let bytes = moved.map(|value| bytes_of(&flow, *value).unwrap_or(0) as u64).sum();
        kernels.push(Uncompiled { kernel: Arc::new(kernel), schedule });
        let node = |site: &ValueId| match flow.values[*site as usize].op {
            FlowOp::Gather { node, .. } => Ok(node),
            _ => Err(Error::Internal("a check of what is no gather".into())),
        };
        let sites = sites.iter().map(node).collect::<Result<Vec<u32>>>()?;
        arguments.push(Arguments { sizes, scalars, writes, origins, sites, buffers, scratch, reason, bytes });
    }
    let executables = compile(&kernels)?;
    for ((Uncompiled { kernel, schedule }, executable), arguments) in
        kernels.into_iter().zip(executables).zip(arguments)
    {
        let Arguments { sizes, scalars, writes, origins, sites, buffers, scratch, reason, bytes } = arguments;
        plan.steps.push(Step {
            grid: schedule.grid(&kernel, &sizes),
            schedule,
            executable,
            sizes,
            scalars,
            writes: writes.iter().filter_map(|value| numbers.get(value).copied()).collect(),
            origins,
            sites,
            last_reads: Vec::new(),
            scratch,
            buffers,
            reason,
            at: flow.values[writes[0] as usize].at,
            bytes,
            kernel,
        });
    }
    let root = |root: &ValueId| numbers.get(root).copied();
    let roots: Option<Vec<u32>> = flow.roots.iter().map(root).collect();
    plan.roots = roots.ok_or_else(|| Error::Internal("a root that no kernel stores".into()))?;
    note_last_reads(&mut plan);
    plan.least_bytes = least_bytes(&flow);
    Ok(plan)
}

fn outputs(partition: &Partition, group: u32) -> impl Iterator<Item = ValueId> {
    let group = &partition.groups[group as usize];
    group.sinks.iter().chain(&group.members).copied()
}

/// The buffers and the gathers of a group's kernel that a value it stores is made of.
fn origins_of(
    flow: &Flow,
    partition: &Partition,
    group: u32,
    write: ValueId,
    reads: &[ValueId],
    sites: &[ValueId],
) -> Origins {
    let mut origins = Origins::default();
    let mut seen: FxHashSet<ValueId> = FxHashSet::default();
    let mut worklist = vec![write];
    while let Some(id) = worklist.pop() {
        if !seen.insert(id) {
            continue;
        }
        let value = &flow.values[id as usize];
        let is_read = partition.stored_by[id as usize].is_some_and(|other| other != group);
        if matches!(value.op, FlowOp::Leaf(_)) || is_read {
            origins.buffers.extend(reads.iter().position(|read| lower::same_data(flow, *read, id)).map(|at| at as u32));
            continue;
        }
        origins.sites.extend(sites.iter().position(|site| *site == id).map(|at| at as u32));
        worklist.extend(&value.inputs);
    }
    origins.buffers.sort_unstable();
    origins.sites.sort_unstable();
    origins
}

fn bytes_of(flow: &Flow, value: ValueId) -> Result<usize> {
    let value = &flow.values[value as usize];
    let bytes = value.len().checked_mul(value.dtype.size_bytes()).filter(|bytes| *bytes <= isize::MAX as usize);
    bytes.ok_or_else(|| Error::LimitExceeded {
        op: value.op.name(),
        what: format!("{:?} elements of {} are more bytes than can be addressed", value.shape, value.dtype),
        at: value.at,
    })
}

/// Refuses kernels that need arithmetic the device lacks.
fn check_types(kernel: &Kernel, facts: &DeviceFacts) -> Result<()> {
    let is_f64 = |of: &lazuli_codegen::VarType| *of == lazuli_codegen::VarType::Value(DType::F64);
    if !facts.has_f64 && kernel.vars.iter().any(is_f64) {
        return Err(Error::Unsupported { device: facts.name.clone(), what: "f64 arithmetic".into() });
    }
    if kernel.parameter_bytes() > facts.max_parameter_bytes as usize {
        let what =
            format!("{} bytes of kernel parameters, {} at most", kernel.parameter_bytes(), facts.max_parameter_bytes);
        return Err(Error::Unsupported { device: facts.name.clone(), what });
    }
    Ok(())
}

/// Intermediate values are let go after the last launch that reads them.
fn note_last_reads(plan: &mut Plan) {
    let mut last: FxHashMap<u32, usize> = FxHashMap::default();
    for (number, step) in plan.steps.iter().enumerate() {
        for slot in &step.buffers {
            if let Slot::Value(value) = slot {
                last.insert(*value, number);
            }
        }
    }
    for (value, step) in last {
        if !plan.roots.contains(&value) {
            plan.steps[step].last_reads.push(value);
        }
    }
}

fn least_bytes(flow: &Flow) -> u64 {
    let mut leaves: FxHashMap<u32, u64> = FxHashMap::default();
    for value in &flow.values {
        if let FlowOp::Leaf(leaf) = value.op {
            leaves.insert(leaf, (value.len() * value.dtype.size_bytes()) as u64);
        }
    }
    let mut roots = flow.roots.clone();
    roots.sort_unstable();
    roots.dedup();
    leaves.values().sum::<u64>() + roots.iter().map(|root| bytes_of(flow, *root).unwrap_or(0) as u64).sum::<u64>()
}
