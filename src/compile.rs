//! Kernels become executables: from the cache, from disk, or through the device's compiler, several at a time.

use std::hash::BuildHasher;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use lazuli_codegen::{Kernel, Schedule};
use rustc_hash::FxBuildHasher;

use crate::cache::Found;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::runtime::Executable;

/// A kernel that is not compiled yet.
pub struct Uncompiled {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// How the device runs it.
    pub schedule: Schedule,
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

/// The executables of a plan's kernels, on several threads where several are missing and the device's compiler allows it.
pub fn compile_all(device: &Device, kernels: &[Uncompiled]) -> Result<Vec<Arc<dyn Executable>>> {
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
    let key = uncompiled.key();
    let span = tracing::debug_span!(
        "compile",
        kernel = kernel.name,
        key = %format_args!("{:016x}", FxBuildHasher.hash_one(&key)),
        operations,
        hit = tracing::field::Empty
    )
    .entered();
    let contraction = device.config().contraction;
    let Found { value, hit } = device.caches().kernels.get_or_make(&key, || {
        if cfg!(debug_assertions) {
            lazuli_codegen::verify_kernel(kernel, schedule).map_err(Error::Internal)?;
        }
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

#[cfg(test)]
mod tests {
    //! Kernels compiled on several threads, with the host in the place of a device whose compiler takes its time.

    use std::sync::Mutex;
    use std::thread::ThreadId;
    use std::time::Duration;

    use lazuli_codegen::DeviceFacts;

    use super::*;
    use crate::config::Config;
    use crate::runtime::host::HostRuntime;
    use crate::runtime::{LaunchArgs, Memory, Runtime};

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

        fn clear(&self, memory: &dyn Memory, bytes: usize) -> Result<()> {
            self.host.clear(memory, bytes)
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

        fn queues(&self) -> &dyn crate::runtime::explicit::Queues {
            self.host.queues()
        }

        fn modules(&self) -> &dyn crate::runtime::explicit::Modules {
            self.host.modules()
        }
    }

    /// Evaluates six different values and two of one kernel at once. Gives the outcome, the device and who compiled.
    fn evaluate_together(parallel: bool, fails: bool) -> (Result<()>, Device, Vec<ThreadId>) {
        let compiled: Arc<Mutex<Vec<ThreadId>>> = Arc::default();
        let runtime = Slow { host: HostRuntime::new(), parallel, fails, compiled: compiled.clone() };
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
