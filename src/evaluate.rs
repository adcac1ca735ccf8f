//! Evaluation: the one place where all stages meet.

use std::sync::{Arc, Weak};
use std::time::Instant;

use lazuli_codegen::Scalar;
use smallvec::SmallVec;

use crate::cache::{Cache, Found};
use crate::check;
use crate::compile::{KernelKey, compile_all};
use crate::config::Config;
use crate::device::{Device, block_of};
use crate::error::{Error, Result};
use crate::explain::Explanation;
use crate::fuse::{self, Limits};
use crate::graph::canonical::{Canonical, PromisedNodes, Signature, Source, canonicalize, canonicalize_given};
use crate::graph::stages::{Stage, stages_before};
use crate::graph::{Node, Op, Snapshot, Storage, strided};
use crate::launch::{RustKernel, RustKernelKey};
use crate::lower::Scratch;
use crate::plan::{Plan, Slot, Step, make_plan};
use crate::runtime::pool::Block;
use crate::runtime::{Executable, LaunchArgs, Memory};

/// What a device has planned and compiled.
pub struct Caches {
    /// Plans, by the signature of the graph.
    pub plans: Cache<Signature, Arc<Plan>>,
    /// Compiled kernels, by the whole kernel and its schedule. Device and options are fixed for the life of the cache.
    pub kernels: Cache<KernelKey, Arc<dyn Executable>>,
    /// Compiled kernels written in Rust, by their type and whether they check indices.
    pub rust_kernels: Cache<RustKernelKey, Arc<RustKernel>>,
}

impl Caches {
    /// Empty caches of the configured sizes.
    pub fn new(config: &Config) -> Self {
        Self {
            plans: Cache::new(config.plan_cache),
            kernels: Cache::new(config.kernel_cache),
            rust_kernels: Cache::new(config.kernel_cache),
        }
    }
}

/// Gives every root its value on the device. Roots that have one, or are views of one that has, launch nothing.
pub fn evaluate(device: &Device, roots: &[Arc<Node>]) -> Result<()> {
    for Stage { values, launches } in stages_before(roots) {
        evaluate_stage(device, &values)?;
        launches.iter().try_for_each(|launch| run_launch(device, launch))?;
    }
    evaluate_stage(device, roots)
}

/// The same where no launch of the user's stands before the roots.
fn evaluate_stage(device: &Device, roots: &[Arc<Node>]) -> Result<()> {
    let (graph, pending) = loop {
        let pending = pending(roots)?;
        if pending.is_empty() {
            return Ok(());
        }
        let graph = canonicalize(&pending)?;
        // Where another thread has just evaluated one of the roots, there is less to do.
        if !graph.roots.iter().any(|root| matches!(graph.sources[*root as usize], Source::Leaf(_))) {
            break (graph, pending);
        }
        graph.recycle();
    };
    let values = plan(device, &graph).and_then(|plan| Ok((run(device, &plan, &graph)?, plan)));
    graph.recycle();
    let (values, plan) = values?;
    for (root, value) in pending.iter().zip(&plan.roots) {
        root.fulfil(value_of(&values, *value)?.clone());
    }
    Ok(())
}

/// The plan of a graph: from the cache, or fused, lowered, emitted and compiled now.
pub(crate) fn plan(device: &Device, graph: &Canonical) -> Result<Arc<Plan>> {
    let span = tracing::debug_span!("plan", nodes = graph.nodes.len(), hit = tracing::field::Empty).entered();
    let Found { value, hit } = device.caches().plans.get_or_make(&graph.words[..], || {
        make_plan(graph, device.runtime().facts(), limits(device), |kernels| compile_all(device, kernels)).map(Arc::new)
    })?;
    span.record("hit", hit);
    Ok(value)
}

/// The stored values of a plan, while they are held.
type Values = SmallVec<[Option<Arc<dyn Storage>>; 4]>;

/// Launches the kernels of a plan on the data of a graph. Gives the values that are still held at the end.
pub(crate) fn run(device: &Device, plan: &Plan, graph: &Canonical) -> Result<Values> {
    let mut values = Values::from_elem(None, plan.value_bytes.len());
    for step in &plan.steps {
        for write in &step.writes {
            values[*write as usize] = Some(device.allocate(plan.value_bytes[*write as usize])?);
        }
        let notes = check::notes_of(device, step)?;
        launch(device, step, graph, &values, notes.as_ref())?;
        check::attach(device, step, graph, notes, &mut values)?;
        for read in &step.last_reads {
            values[*read as usize] = None;
        }
    }
    // Values without elements take no kernel.
    for root in &plan.roots {
        let value = &mut values[*root as usize];
        if value.is_none() {
            *value = Some(device.allocate(plan.value_bytes[*root as usize])?);
        }
    }
    Ok(values)
}

fn launch(
    device: &Device,
    step: &Step,
    graph: &Canonical,
    values: &[Option<Arc<dyn Storage>>],
    notes: Option<&Arc<Block>>,
) -> Result<()> {
    let Step { kernel, grid, bytes, .. } = step;
    let span = tracing::debug_span!(
        "launch",
        kernel = kernel.name,
        operations = kernel.operation_count(),
        bytes,
        grid = ?grid.groups,
        block = ?grid.group,
        device_us = tracing::field::Empty
    )
    .entered();
    let scratch = step.scratch.iter().map(|scratch| scratch_memory(device, scratch));
    let scratch = scratch.collect::<Result<SmallVec<[Arc<Block>; 2]>>>()?;
    let mut buffers: SmallVec<[&dyn Memory; 8]> = SmallVec::new();
    // Data that other queues use too. Only leaves can be: all else was made here.
    let mut shared: SmallVec<[&Block; 2]> = SmallVec::new();
    for slot in &step.buffers {
        buffers.push(match slot {
            Slot::Leaf(leaf) => {
                let block = block_of(&*graph.leaves[*leaf as usize])?;
                if block.uses().is_tracked() {
                    await_others(device, block)?;
                    shared.push(block);
                }
                block.memory()?
            }
            Slot::Value(value) => block_of(&**value_of(values, *value)?)?.memory()?,
            Slot::Notes => match notes {
                Some(notes) => notes.memory()?,
                None => return Err(Error::Internal("a kernel without memory for its notes".into())),
            },
        });
    }
    for block in &scratch {
        buffers.push(block.memory()?);
    }
    let mut scalars: SmallVec<[Scalar; 8]> = SmallVec::new();
    scalars.extend(step.scalars.iter().map(|slot| graph.scalars[*slot as usize]));
    let arguments = LaunchArgs { buffers: &buffers, sizes: &step.sizes, scalars: &scalars, grid: step.grid };
    // Whoever traces this finely wants each kernel's own time, and pays for it by waiting.
    let start = match tracing::enabled!(tracing::Level::TRACE) {
        true => device.synchronize().map(|()| Some(Instant::now()))?,
        false => None,
    };
    device.runtime().launch(&*step.executable, &arguments)?;
    device.count_launch();
    shared.iter().for_each(|block| block.uses().after_main(false));
    if let Some(start) = start {
        device.synchronize()?;
        span.record("device_us", start.elapsed().as_micros() as u64);
    }
    Ok(())
}

/// Has lazy work wait for what other queues write to a block that it reads.
#[cold]
fn await_others(device: &Device, block: &Block) -> Result<()> {
    let queues = device.runtime().queues();
    block.uses().before_main(false, &mut |mark| queues.wait(queues.main_queue(), mark))
}

/// Memory for one launch. It goes back to the pool once that is submitted.
fn scratch_memory(device: &Device, scratch: &Scratch) -> Result<Arc<Block>> {
    let bytes = scratch.len * scratch.dtype.size_bytes();
    let block = device.allocate(bytes)?;
    if scratch.is_zeroed {
        device.runtime().clear(block.memory()?, bytes)?;
    }
    Ok(block)
}

/// Launches a kernel that the user wrote and recorded. What it reads has its value; whoever still has an output gets it.
fn run_launch(device: &Device, node: &Node) -> Result<()> {
    let (Op::Launch(launch), Snapshot::Pending(inputs)) = (node.op(), node.snapshot()) else {
        return Err(Error::Internal(format!("{node:?} in the place of a launch")));
    };
    let memory_of = |input: &Arc<Node>| match strided::resolve(input) {
        Some(strided) => Ok(strided.storage),
        None if input.len() == 0 => Ok(device.allocate(0)? as Arc<dyn Storage>),
        None => Err(Error::Internal(format!("{input:?} is not there for a launch"))),
    };
    let inputs = inputs.iter().map(memory_of).collect::<Result<Vec<_>>>()?;
    // An index out of range would be noticed by nobody behind the user's kernel.
    inputs.iter().try_for_each(|input| check::resolve(device, &**input))?;
    let written = launch.call.run(&inputs)?;
    let outputs = launch.outputs.get().map_or(&[][..], Vec::as_slice);
    for (output, storage) in outputs.iter().zip(written) {
        if let Some(output) = output.upgrade() {
            output.fulfil(storage);
        }
    }
    Ok(())
}

/// What evaluating the roots would launch, and why. Launches nothing; kernels not seen before are compiled.
pub fn explain(device: &Device, roots: &[Arc<Node>]) -> Result<Explanation> {
    let mut explanation = Explanation::nothing(device);
    let mut promised = PromisedNodes::default();
    let stages = stages_before(roots);
    for Stage { values, launches } in &stages {
        explain_stage(device, values, &promised, &mut explanation)?;
        values.iter().for_each(|value| promised.add(value));
        for node in launches {
            let Op::Launch(launch) = node.op() else { continue };
            explanation.add_launch(&*launch.call, node.at())?;
            let outputs = launch.outputs.get().into_iter().flatten();
            outputs.filter_map(Weak::upgrade).for_each(|output| promised.add(&output));
        }
    }
    explain_stage(device, roots, &promised, &mut explanation)?;
    Ok(explanation)
}

fn explain_stage(
    device: &Device,
    roots: &[Arc<Node>],
    promised: &PromisedNodes,
    explanation: &mut Explanation,
) -> Result<()> {
    let mut pending = pending(roots)?;
    pending.retain(|root| !promised.contains(root));
    if pending.is_empty() {
        return Ok(());
    }
    let graph = canonicalize_given(&pending, promised.clone())?;
    let plan = plan(device, &graph);
    graph.recycle();
    explanation.add(&*plan?);
    Ok(())
}

/// The graph below the roots as Graphviz DOT text, one cluster for each kernel.
pub fn to_dot(device: &Device, roots: &[Arc<Node>]) -> Result<String> {
    // What launches of the user's give is drawn as data.
    let mut promised = PromisedNodes::default();
    for Stage { launches, .. } in stages_before(roots) {
        for node in &launches {
            let Op::Launch(launch) = node.op() else { continue };
            let outputs = launch.outputs.get().into_iter().flatten();
            outputs.filter_map(Weak::upgrade).for_each(|output| promised.add(&output));
        }
    }
    let graph = canonicalize_given(&pending(roots)?, promised)?;
    let flow = fuse::build_flow(&graph, device.runtime().facts());
    Ok(fuse::to_dot(&flow, &fuse::partition(&flow, limits(device))?))
}

fn limits(device: &Device) -> Limits {
    Limits {
        fusion: device.config().fusion,
        // Lowering recurses once an operation.
        operations: device.config().max_operations.clamp(1, crate::config::MOST_OPERATIONS),
        // Room for extents and for the index arithmetic that lowering adds.
        parameter_bytes: device.runtime().facts().max_parameter_bytes as usize / 4 * 3,
        local_bytes: device.runtime().facts().local_memory_bytes as usize,
    }
}

/// The roots whose value a kernel must compute. Errors: the first one that was recorded wrong.
fn pending(roots: &[Arc<Node>]) -> Result<SmallVec<[Arc<Node>; 4]>> {
    let mut pending = SmallVec::new();
    for root in roots {
        if let Some(error) = crate::graph::record::failure(root) {
            return Err(error.clone());
        }
        if strided::resolve(root).is_none() {
            pending.push(root.clone());
        }
    }
    Ok(pending)
}

fn value_of(values: &[Option<Arc<dyn Storage>>], value: u32) -> Result<&Arc<dyn Storage>> {
    values[value as usize].as_ref().ok_or_else(|| Error::Internal("a value that no kernel stored".into()))
}
