//! Devices: a runtime, opened, with its memory pool and its caches.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use crate::cache::disk::DiskStore;
use crate::check;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::evaluate::Caches;
use crate::graph::Storage;
use crate::queue::{Queue, Work};
use crate::runtime::explicit::{self, Extent, Mark, Pitches};
use crate::runtime::host::HostRuntime;
use crate::runtime::pool::{Block, Pool};
use crate::runtime::{Binaries, Download, Memory, Runtime, discover};

/// A device: a CUDA GPU, an OpenCL device or the host CPU, opened for computing.
///
/// A handle; cheap to clone, `Send + Sync`. Arrays of one device combine; between devices they move with
/// [`Array::to`](crate::Array::to). Handles got by one name share a device, its pool and its caches, for the life of the
/// process; [`Device::open`] gives a device of its own.
#[derive(Clone)]
pub struct Device {
    inner: Arc<Inner>,
}

struct Inner {
    id: u64,
    name: String,
    description: String,
    passed_over: Vec<String>,
    runtime: Arc<dyn Runtime>,
    pool: Arc<Pool>,
    config: Config,
    caches: Caches,
    queues: Mutex<Queues>,
    launches: AtomicU64,
    compiles: AtomicU64,
    disk_hits: AtomicU64,
}

/// The queues of a device beside the main one.
#[derive(Default)]
struct Queues {
    live: Vec<Weak<dyn explicit::Queue>>,
    /// The ends of those that were dropped with work under way.
    retired: Vec<Arc<dyn Mark>>,
}

/// What a device has done so far, and the memory it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Kernels launched.
    pub launches: u64,
    /// Kernels handed to a compiler, whether it took them or not.
    pub compiles: u64,
    /// Kernels whose binary came from disk, so that no compiler saw them. Not among `compiles`: the kernels made are the
    /// sum of both.
    pub disk_hits: u64,
    /// Launches whose kernel was already compiled when their plan was made, or when they were asked for.
    pub kernel_hits: u64,
    /// Evaluations whose plan was already made.
    pub plan_hits: u64,
    /// Kernels and plans dropped from the caches to make room.
    pub evictions: u64,
    /// Bytes of device memory held by arrays.
    pub live_bytes: u64,
    /// The most bytes that were ever live.
    pub peak_bytes: u64,
    /// Bytes of device memory kept for reuse.
    pub pooled_bytes: u64,
}

/// A device that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceInfo {
    /// The name that [`Device::from_name`] takes, such as `cuda:0`.
    pub name: String,
    /// What the driver calls it.
    pub description: String,
}

impl Device {
    /// The device that `LAZULI_DEVICE` names; where it is not set, a CUDA device if one is there and works, else an OpenCL
    /// GPU, else the host.
    ///
    /// Errors: `DeviceNotFound` where `LAZULI_DEVICE` names a device that is not there.
    pub fn auto() -> Result<Device> {
        // A name that is no text names no device, and is told so.
        let name = std::env::var_os("LAZULI_DEVICE").map(|name| name.to_string_lossy().into_owned());
        match name.as_deref().map(str::trim) {
            Some(name) if !name.is_empty() => Self::from_name(name),
            _ => shared("auto", Self::open_auto),
        }
    }

    /// CUDA device number `index`.
    ///
    /// Errors: `DeviceNotFound`, which tells the libraries that were looked for.
    pub fn cuda(index: usize) -> Result<Device> {
        Self::from_name(&format!("cuda:{index}"))
    }

    /// OpenCL device number `index`, counted over all platforms, GPUs first.
    ///
    /// Errors: `DeviceNotFound`, which tells the platforms that were found.
    pub fn opencl(index: usize) -> Result<Device> {
        Self::from_name(&format!("opencl:{index}"))
    }

    /// The host CPU, which is always there.
    pub fn host() -> Result<Device> {
        Self::from_name("host")
    }

    /// The host, for an array that carries an error and has no other device.
    pub(crate) fn nowhere() -> Device {
        let own = || Self::new("host".into(), Arc::new(HostRuntime::new()), Vec::new(), Config::default());
        Self::host().unwrap_or_else(|_| own())
    }

    /// The device named `cuda:N`, `opencl:N`, `cuda`, `opencl`, `host` or `auto`.
    ///
    /// Errors: `DeviceNotFound`.
    pub fn from_name(name: &str) -> Result<Device> {
        if name == "auto" {
            return shared("auto", Self::open_auto);
        }
        shared(name, || Self::open(name, Config::default()))
    }

    /// A device of its own under the given settings: its arrays, caches, counters and queue are shared with no other
    /// handle but its clones.
    ///
    /// Errors: `DeviceNotFound`.
    pub fn open(name: &str, config: Config) -> Result<Device> {
        let (name, runtime) = discover::open(name, &binaries(&config))?;
        Ok(Self::new(name, runtime, Vec::new(), config))
    }

    /// The devices found on this machine. The host is always among them.
    pub fn list() -> Vec<DeviceInfo> {
        let found = discover::survey().found.into_iter();
        found.map(|found| DeviceInfo { name: found.name, description: found.description }).collect()
    }

    /// What was looked for and is absent, with the reason, a line each.
    pub fn absent() -> Vec<String> {
        discover::survey().absent
    }

    /// The name, such as `cuda:0`.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// What the driver calls the device.
    pub fn description(&self) -> &str {
        &self.inner.description
    }

    /// The devices that [`Device::auto`] tried before this one, and why each was passed over.
    pub fn passed_over(&self) -> &[String] {
        &self.inner.passed_over
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// What the device has done so far. Counting is never reset; compare two calls.
    pub fn counters(&self) -> Counters {
        let usage = self.inner.pool.usage();
        Counters {
            launches: self.inner.launches.load(Ordering::Relaxed),
            compiles: self.inner.compiles.load(Ordering::Relaxed),
            disk_hits: self.inner.disk_hits.load(Ordering::Relaxed),
            kernel_hits: self.inner.caches.kernels.hits() + self.inner.caches.rust_kernels.hits(),
            plan_hits: self.inner.caches.plans.hits(),
            evictions: self.inner.caches.kernels.evictions()
                + self.inner.caches.plans.evictions()
                + self.inner.caches.rust_kernels.evictions(),
            live_bytes: usage.live,
            peak_bytes: usage.peak,
            pooled_bytes: usage.pooled,
        }
    }

    /// Waits until everything submitted to the device is done, on all its queues.
    ///
    /// Errors: `Driver`, where a launch failed on the device.
    pub fn synchronize(&self) -> Result<()> {
        self.inner.runtime.synchronize()?;
        let (live, retired): (Vec<_>, Vec<_>) = {
            let mut queues = self.queues();
            (queues.live.iter().filter_map(Weak::upgrade).collect(), std::mem::take(&mut queues.retired))
        };
        retired.iter().try_for_each(|end| end.wait())?;
        live.iter().try_for_each(|queue| self.runtime().queues().synchronize_queue(&**queue))
    }

    /// A queue beside the one of lazy work; a device may have any number of them.
    ///
    /// Errors: `Driver`.
    #[doc(alias = "stream")]
    pub fn queue(&self) -> Result<Queue> {
        let queue = Queue::new(self)?;
        let mut queues = self.queues();
        queues.live.retain(|queue| queue.strong_count() > 0);
        queues.live.push(Arc::downgrade(queue.raw()));
        Ok(queue)
    }

    /// True once the device has met a fault that it does not recover from: every call on it, and every array on it that is not
    /// on the host yet, gives [`Error::DeviceLost`]. The process goes on with other devices.
    ///
    /// [`Device::open`], and the shared [`Device::cuda`] and its kin, then open the device anew where the driver lets them. CUDA's
    /// keeps the fault for the life of the process; opening it gives `DeviceLost` again, and [`Device::auto`] passes it over.
    pub fn is_lost(&self) -> bool {
        self.inner.runtime.is_lost()
    }

    /// Gives the pool's free memory back to the device.
    pub fn trim_pool(&self) {
        self.inner.pool.trim();
    }

    fn open_auto() -> Result<Device> {
        let config = Config::default();
        let (name, runtime, passed_over) = discover::open_auto(&binaries(&config))?;
        Ok(Self::new(name, runtime, passed_over, config))
    }

    pub(crate) fn new(name: String, runtime: Arc<dyn Runtime>, passed_over: Vec<String>, config: Config) -> Device {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let inner = Inner {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            description: runtime.facts().name.clone(),
            passed_over,
            pool: Pool::new(name.clone(), runtime.clone()),
            name,
            runtime,
            caches: Caches::new(&config),
            queues: Mutex::default(),
            config,
            launches: AtomicU64::new(0),
            compiles: AtomicU64::new(0),
            disk_hits: AtomicU64::new(0),
        };
        Device { inner: Arc::new(inner) }
    }

    pub(crate) fn runtime(&self) -> &dyn Runtime {
        &*self.inner.runtime
    }

    pub(crate) fn caches(&self) -> &Caches {
        &self.inner.caches
    }

    pub(crate) fn count_launch(&self) {
        self.inner.launches.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_compile(&self) {
        self.inner.compiles.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_disk_hit(&self) {
        self.inner.disk_hits.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes leave of a queue that is about to be dropped; `end` marks the end of what was submitted to it.
    pub(crate) fn retire_queue(&self, queue: &Arc<dyn explicit::Queue>, end: Arc<dyn Mark>) {
        let mut queues = self.queues();
        queues.live.retain(|live| !std::ptr::addr_eq(live.as_ptr(), Arc::as_ptr(queue)));
        queues.retired.retain(|end| !matches!(end.is_done(), Ok(true)));
        queues.retired.push(end);
    }

    fn queues(&self) -> std::sync::MutexGuard<'_, Queues> {
        self.inner.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Device memory from the pool, with whatever its last user left in it.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Arc<Block>> {
        self.inner.pool.allocate(bytes)
    }

    /// The same for memory that other queues than the main one will use.
    pub(crate) fn allocate_tracked(&self, bytes: usize) -> Result<Arc<Block>> {
        self.inner.pool.allocate_tracked(bytes)
    }

    /// A block over memory that is not the pool's.
    pub(crate) fn adopt(&self, memory: Box<dyn Memory>) -> Arc<Block> {
        self.inner.pool.adopt(memory)
    }

    /// A copy of host bytes on the device.
    pub(crate) fn upload(&self, bytes: &[u8]) -> Result<Arc<dyn Storage>> {
        let _span = tracing::debug_span!("transfer", direction = "to_device", bytes = bytes.len()).entered();
        let block = self.allocate(bytes.len())?;
        if !bytes.is_empty() {
            self.runtime().upload(bytes, block.memory()?, 0)?;
        }
        Ok(block)
    }

    /// Copies device bytes from `offset` on to the host, after all work submitted so far.
    /// Errors: `IndexOutOfRange` where an index that they were computed by was.
    pub(crate) fn download(&self, storage: &dyn Storage, offset: usize, target: &mut [u8]) -> Result<()> {
        if target.is_empty() {
            return Ok(());
        }
        let _span = tracing::debug_span!("transfer", direction = "to_host", bytes = target.len()).entered();
        check::resolve(self, storage)?;
        let memory = block_of(storage)?.memory()?;
        let work = Work { device: self, queue: None, after: &[], reads: &[storage], writes: &[] };
        work.submit(|_| self.runtime().download(memory, offset, target))
    }

    /// Memory that a kernel of the user's writes, and may leave out parts of. What is memory of this process is cleared: no one
    /// may read what was never written.
    pub(crate) fn allocate_for_kernel(&self, bytes: usize) -> Result<Arc<dyn Storage>> {
        let block = self.allocate(bytes)?;
        if self.runtime().facts().is_cpu && bytes > 0 {
            self.runtime().clear(block.memory()?, bytes)?;
        }
        Ok(block)
    }

    /// Copies the first bytes of device memory to other memory of the device, in order with all other work on either.
    pub(crate) fn copy_memory(&self, from: &dyn Storage, to: &dyn Storage, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let extent = Extent::row(bytes);
        let pitches = Pitches::dense(0, extent);
        let sides = ((block_of(from)?.memory()?, pitches), (block_of(to)?.memory()?, pitches));
        let work = Work { device: self, queue: None, after: &[], reads: &[from], writes: &[to] };
        work.submit(|queue| self.runtime().queues().copy(queue, sides.0, sides.1, extent))
    }

    /// Begins to copy device bytes from `offset` on to the host, after all work submitted so far. There is at least one.
    pub(crate) fn begin_download(
        &self,
        storage: &dyn Storage,
        offset: usize,
        bytes: usize,
    ) -> Result<Box<dyn Download>> {
        let _span = tracing::debug_span!("transfer", direction = "to_host", bytes).entered();
        let memory = block_of(storage)?.memory()?;
        let work = Work { device: self, queue: None, after: &[], reads: &[storage], writes: &[] };
        work.submit(|_| self.runtime().begin_download(memory, offset, bytes))
    }
}

/// The pool block behind a node's storage.
pub(crate) fn block_of(storage: &dyn Storage) -> Result<&Block> {
    let block = check::memory_of(storage).as_any().downcast_ref();
    block.ok_or_else(|| Error::Internal("storage that no pool made".into()))
}

/// The user's store of compiled kernels, if the settings want it.
fn binaries(config: &Config) -> Binaries {
    config.disk_cache.then(DiskStore::of_user).flatten().map(Arc::new)
}

/// The shared device of this name, opened at the first call.
fn shared(name: &str, open: impl FnOnce() -> Result<Device>) -> Result<Device> {
    static DEVICES: OnceLock<Mutex<HashMap<String, Device>>> = OnceLock::new();
    let mut devices = DEVICES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    // One that is lost answers nobody any more, so the next caller gets a fresh one.
    devices.retain(|_, device| !device.is_lost());
    if let Some(device) = devices.get(name) {
        return Ok(device.clone());
    }
    let opened = open()?;
    // `cuda` and `cuda:0`, or `auto` and what it chose, are one device.
    let device = devices.entry(opened.name().to_string()).or_insert(opened).clone();
    devices.insert(name.to_string(), device.clone());
    Ok(device)
}

impl PartialEq for Device {
    /// True for handles of one opened device.
    fn eq(&self, other: &Device) -> bool {
        self.inner.id == other.inner.id
    }
}

impl Eq for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({}, {})", self.inner.name, self.inner.description)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.inner.name, self.inner.description)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate as lazuli;
    use crate::kernel::grid1;
    use crate::{Buffer, MemFlags, Output};

    #[lazuli::kernel]
    fn doubled(x: &[f32], y: &mut [f32]) {
        let i = grid1();
        if i < y.len() {
            y[i] = 2.0 * x[i];
        }
    }

    #[test]
    fn a_device_is_gone_once_all_that_was_made_on_it_is() {
        for info in Device::list() {
            let device = Device::open(&info.name, Config::default().with_disk_cache(false)).unwrap();
            let inner = Arc::downgrade(&device.inner);
            let x = device.from_slice(&[1.0f32, 2.0, 3.0]).unwrap();
            let mut recorded = Output::<f32>::new(&device, [3]);
            doubled(&(&x + 1.0), &mut recorded).record_forall(3).unwrap();
            let never_asked_for = recorded.array().unwrap() * 3.0;
            let mut written = device.zeros::<f32>([3]);
            doubled(&x, &mut written).forall(3).unwrap();
            assert_eq!((&written + &never_asked_for).sum().item().unwrap(), 12.0 + 54.0);
            doubled(&x, &mut recorded).record_forall(3).unwrap();
            let mut buffer = Buffer::<f32>::zeros(&device, MemFlags::READ_WRITE, 3).unwrap();
            let queue = device.queue().unwrap();
            let event = queue.fill(&mut buffer, 1.0, &[]).unwrap();
            let (told, done) = std::sync::mpsc::channel();
            event.on_done(move |_| told.send(()).unwrap());
            done.recv().unwrap();
            let array = buffer.to_array([3]).unwrap();
            assert_eq!(buffer.map().unwrap()[1], 1.0);
            drop((x, recorded, never_asked_for, written, buffer, queue, event, array));
            drop(device);
            // The thread that calls back may hold it a moment longer.
            let waits = std::iter::repeat_n(std::time::Duration::from_millis(5), 200);
            let is_gone = waits.into_iter().any(|wait| {
                std::thread::sleep(wait);
                inner.upgrade().is_none()
            });
            assert!(is_gone, "{} is held by something", info.name);
        }
    }
}
