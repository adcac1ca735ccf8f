//! Evaluation: the one place where all stages meet.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use lazuli_codegen::{Kernel, Schedule};

use crate::cache::{Cache, Found};
use crate::config::Config;
use crate::device::{Device, block_of};
use crate::error::{Error, Result};
use crate::explain::Explanation;
use crate::fuse::{self, Limits};
use crate::graph::canonical::{Canonical, Signature, Source, canonicalize};
use crate::graph::{Node, Storage, strided};
use crate::plan::{Plan, Slot, Step, Uncompiled, make_plan};
use crate::runtime::{Executable, LaunchArgs, Memory};

/// What a device has planned and compiled.
pub struct Caches {
    /// Plans, by the signature of the graph.
    pub plans: Cache<Signature, Arc<Plan>>,
    /// Compiled kernels, by the whole kernel and its schedule. Device and options are fixed for the life of the cache.
    pub kernels: Cache<KernelKey, Arc<dyn Executable>>,
}

/// The key under which a compiled kernel is kept.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct KernelKey(Arc<Kernel>, Schedule);

impl Uncompiled {
    fn key(&self) -> KernelKey {
        KernelKey(self.kernel.clone(), self.schedule)
    }
}

impl From<&KernelKey> for KernelKey {
    fn from(key: &KernelKey) -> Self {
        key.clone()
    }
}

impl Caches {
    /// Empty caches of the configured sizes.
    pub fn new(config: &Config) -> Self {
        Self { plans: Cache::new(config.plan_cache), kernels: Cache::new(config.kernel_cache) }
    }
}

/// Gives every root its value on the device. Roots that have one, or are views of one that has, launch nothing.
pub fn evaluate(device: &Device, roots: &[Arc<Node>]) -> Result<()> {
    let (graph, pending) = loop {
        let pending = pending(roots)?;
        if pending.is_empty() {
            return Ok(());
        }
        let graph = canonicalize(&pending)?;
        // Where another thread has just evaluated one of the roots, there is less to do.
        if !graph.roots.iter().any(|root| matches!(graph.nodes[*root as usize].source, Source::Leaf(_))) {
            break (graph, pending);
        }
        graph.recycle();
    };
    let values = plan(device, &graph).and_then(|plan| Ok((run(device, &plan, &graph)?, plan)));
    graph.recycle();
    let (values, plan) = values?;
    for (root, value) in pending.iter().zip(&plan.roots) {
        root.fulfil(value_of(&values, *value)?);
    }
    Ok(())
}

/// The plan of a graph: from the cache, or fused, lowered, emitted and compiled now.
fn plan(device: &Device, graph: &Canonical) -> Result<Arc<Plan>> {
    let span = tracing::debug_span!("plan", nodes = graph.nodes.len(), hit = tracing::field::Empty).entered();
    let Found { value, hit } = device.caches().plans.get_or_make(&graph.words[..], || {
        make_plan(graph, device.runtime().facts(), limits(device), |kernels| compile_all(device, kernels)).map(Arc::new)
    })?;
    span.record("hit", hit);
    Ok(value)
}

/// The executables of a plan's kernels, on several threads where several are missing and the device's compiler allows it.
fn compile_all(device: &Device, kernels: &[Uncompiled]) -> Result<Vec<Arc<dyn Executable>>> {
    let is_missing = |kernel: &&Uncompiled| !device.caches().kernels.contains(&kernel.key());
    let threads = match device.runtime().compiles_in_parallel() && kernels.len() > 1 {
        true => kernels
            .iter()
            .filter(is_missing)
            .count()
            .min(std::thread::available_parallelism().map_or(1, NonZeroUsize::get)),
        false => 1,
    };
    if threads < 2 {
        return kernels.iter().map(|kernel| compile(device, kernel)).collect();
    }
    let made: Vec<OnceLock<Result<Arc<dyn Executable>>>> = kernels.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((kernel, made)) = take(&next, kernels, &made) {
            made.get_or_init(|| compile(device, kernel));
        }
    };
    // What this thread traces to, and under which span, a new thread would not know.
    let (span, trace) = (tracing::Span::current(), tracing::dispatcher::get_default(Clone::clone));
    std::thread::scope(|scope| {
        for number in 1..threads {
            let worker = || tracing::dispatcher::with_default(&trace, || span.in_scope(work));
            let spawned =
                std::thread::Builder::new().name(format!("lazuli-compile-{number}")).spawn_scoped(scope, worker);
            if let Err(error) = spawned {
                tracing::debug!(%error, "kernels are compiled on {number} threads");
                break;
            }
        }
        work();
    });
    let missing = || Err(Error::Internal("a kernel that no thread compiled".into()));
    made.into_iter().map(|made| made.into_inner().unwrap_or_else(missing)).collect()
}

/// The next kernel that no thread has taken, with the place of its executable.
fn take<'a, K, M>(next: &AtomicUsize, kernels: &'a [K], made: &'a [M]) -> Option<(&'a K, &'a M)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    Some((kernels.get(number)?, made.get(number)?))
}

/// The executable of a kernel: from the cache, from disk, or compiled now.
fn compile(device: &Device, uncompiled: &Uncompiled) -> Result<Arc<dyn Executable>> {
    let Uncompiled { kernel, schedule } = uncompiled;
    let operations = kernel.operation_count();
    let span = tracing::debug_span!("compile", kernel = kernel.name, operations, hit = tracing::field::Empty).entered();
    let contraction = device.config().contraction;
    let Found { value, hit } = device.caches().kernels.get_or_make(&uncompiled.key(), || {
        let compiled = device.runtime().compile(kernel, *schedule, contraction);
        match &compiled {
            Ok(executable) if executable.is_from_disk() => device.count_disk_hit(),
            _ => device.count_compile(),
        }
        compiled
    })?;
    span.record("hit", hit);
    Ok(value)
}

/// Launches the kernels of a plan on the data of a graph. Gives the values that are still held at the end.
fn run(device: &Device, plan: &Plan, graph: &Canonical) -> Result<Vec<Option<Arc<dyn Storage>>>> {
    let mut values: Vec<Option<Arc<dyn Storage>>> = vec![None; plan.value_bytes.len()];
    for step in &plan.steps {
        for write in &step.writes {
            values[*write as usize] = Some(device.allocate(plan.value_bytes[*write as usize])?);
        }
        launch(device, step, graph, &values)?;
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

fn launch(device: &Device, step: &Step, graph: &Canonical, values: &[Option<Arc<dyn Storage>>]) -> Result<()> {
    let Step { kernel, grid, bytes, .. } = step;
    let _span = tracing::debug_span!(
        "launch",
        kernel = kernel.name,
        operations = kernel.operation_count(),
        bytes,
        grid = ?grid.groups,
        block = ?grid.group
    )
    .entered();
    let held: Vec<Arc<dyn Storage>> = step
        .buffers
        .iter()
        .map(|slot| match slot {
            Slot::Leaf(leaf) => Ok(graph.leaves[*leaf as usize].clone()),
            Slot::Value(value) => value_of(values, *value),
        })
        .collect::<Result<_>>()?;
    let buffers: Vec<&dyn Memory> = held.iter().map(|storage| block_of(&**storage)?.memory()).collect::<Result<_>>()?;
    let scalars: Vec<_> = step.scalars.iter().map(|slot| graph.scalars[*slot as usize]).collect();
    let arguments = LaunchArgs { buffers: &buffers, sizes: &step.sizes, scalars: &scalars, grid: step.grid };
    device.runtime().launch(&*step.executable, &arguments)?;
    device.count_launch();
    Ok(())
}

/// What evaluating the roots would launch, and why. Launches nothing; kernels not seen before are compiled.
pub fn explain(device: &Device, roots: &[Arc<Node>]) -> Result<Explanation> {
    let pending = pending(roots)?;
    if pending.is_empty() {
        return Ok(Explanation::nothing(device));
    }
    let graph = canonicalize(&pending)?;
    Ok(Explanation::of(device, &*plan(device, &graph)?))
}

/// The graph below the roots as Graphviz DOT text, one cluster for each kernel.
pub fn to_dot(device: &Device, roots: &[Arc<Node>]) -> Result<String> {
    let graph = canonicalize(&pending(roots)?)?;
    let flow = fuse::build_flow(&graph, device.runtime().facts());
    Ok(fuse::to_dot(&flow, &fuse::partition(&flow, limits(device))?))
}

fn limits(device: &Device) -> Limits {
    Limits {
        fusion: device.config().fusion,
        operations: device.config().max_operations,
        // Room for extents and for the index arithmetic that lowering adds.
        parameter_bytes: device.runtime().facts().max_parameter_bytes as usize / 4 * 3,
    }
}

/// The roots whose value a kernel must compute. Errors: the first one that was recorded wrong.
fn pending(roots: &[Arc<Node>]) -> Result<Vec<Arc<Node>>> {
    let mut pending = Vec::new();
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

fn value_of(values: &[Option<Arc<dyn Storage>>], value: u32) -> Result<Arc<dyn Storage>> {
    values[value as usize].clone().ok_or_else(|| Error::Internal("a value that no kernel stored".into()))
}

#[cfg(test)]
mod tests {
    //! Kernels compiled on several threads, with the host in the place of a device whose compiler takes its time.

    use std::sync::Mutex;
    use std::thread::ThreadId;
    use std::time::Duration;

    use lazuli_codegen::DeviceFacts;

    use super::*;
    use crate::runtime::Runtime;
    use crate::runtime::host::HostRuntime;

    /// A host that compiles slowly, in parallel if so set, and notes who compiled what.
    struct Slow {
        host: HostRuntime,
        parallel: bool,
        fails: bool,
        compiled: Arc<Mutex<Vec<ThreadId>>>,
    }

    impl Runtime for Slow {
        fn facts(&self) -> &DeviceFacts {
            self.host.facts()
        }

        fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
            self.host.allocate(bytes)
        }

        fn upload(&self, source: &[u8], target: &dyn Memory, target_offset: usize) -> Result<()> {
            self.host.upload(source, target, target_offset)
        }

        fn download(&self, source: &dyn Memory, source_offset: usize, target: &mut [u8]) -> Result<()> {
            self.host.download(source, source_offset, target)
        }

        fn compile(&self, kernel: &Arc<Kernel>, schedule: Schedule, contraction: bool) -> Result<Arc<dyn Executable>> {
            std::thread::sleep(Duration::from_millis(30));
            self.compiled.lock().unwrap().push(std::thread::current().id());
            if self.fails {
                return Err(Error::Unsupported { device: "slow".into(), what: kernel.name.clone() });
            }
            self.host.compile(kernel, schedule, contraction)
        }

        fn compiles_in_parallel(&self) -> bool {
            self.parallel
        }

        fn launch(&self, executable: &dyn Executable, arguments: &LaunchArgs) -> Result<()> {
            self.host.launch(executable, arguments)
        }

        fn synchronize(&self) -> Result<()> {
            self.host.synchronize()
        }
    }

    /// Evaluates six different values and two of one kernel at once. Gives the outcome, the device and who compiled.
    fn evaluate_together(parallel: bool, fails: bool) -> (Result<()>, Device, Vec<ThreadId>) {
        let compiled: Arc<Mutex<Vec<ThreadId>>> = Arc::default();
        let runtime = Slow { host: HostRuntime::new().unwrap(), parallel, fails, compiled: compiled.clone() };
        let config = Config::default().with_fusion(false);
        let device = Device::new("slow".into(), Arc::new(runtime), Vec::new(), config);
        let x = device.to_device(&ndarray::arr1(&[1.0f32, 4.0, 9.0])).unwrap();
        let values = [&x + 1.0, &x * 2.0, x.sqrt(), -&x, &x - 1.0, x.exp(), &x * 3.0];
        let outcome = crate::eval(&values[..]);
        if outcome.is_ok() {
            let gives = |number: usize, right: [f32; 3]| {
                assert_eq!(values[number].get().unwrap(), ndarray::arr1(&right).into_dyn())
            };
            gives(0, [2.0, 5.0, 10.0]);
            gives(1, [2.0, 8.0, 18.0]);
            gives(2, [1.0, 2.0, 3.0]);
            gives(3, [-1.0, -4.0, -9.0]);
            gives(4, [0.0, 3.0, 8.0]);
            gives(6, [3.0, 12.0, 27.0]);
        }
        let compiled = compiled.lock().unwrap().clone();
        (outcome, device, compiled)
    }

    #[test]
    fn independent_kernels_compile_at_once_and_each_once() {
        let here = std::thread::current().id();
        let (outcome, device, one_by_one) = evaluate_together(false, false);
        outcome.unwrap();
        assert!(one_by_one.iter().all(|thread| *thread == here));
        assert_eq!(device.counters().compiles, one_by_one.len() as u64);
        let (outcome, device, at_once) = evaluate_together(true, false);
        outcome.unwrap();
        assert_eq!(at_once.len(), one_by_one.len(), "a kernel that is used twice compiles once");
        assert_eq!(device.counters().compiles, at_once.len() as u64);
        if std::thread::available_parallelism().is_ok_and(|threads| threads.get() > 1) {
            assert!(at_once.iter().any(|thread| *thread != here), "{at_once:?}");
        }
    }

    #[test]
    fn a_failure_on_one_of_several_threads_is_the_plans() {
        for parallel in [false, true] {
            let (outcome, device, _) = evaluate_together(parallel, true);
            assert!(matches!(outcome, Err(Error::Unsupported { .. })), "{outcome:?}");
            assert_eq!(device.counters().launches, 0);
        }
    }
}
