//! The context and the stream of one opened device, released when the last user is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::result::{self, DriverError, ctx, primary_ctx, stream};
use cudarc::driver::sys::{self, CUcontext, CUdevice, CUdeviceptr, CUmemoryPool, CUresult, CUstream};

use super::contexts;
use super::device::Properties;
use super::fault;
use crate::error::{Error, Result};
use crate::runtime::health::Health;

/// What all memory and kernels of one runtime share.
pub(super) struct Handles {
    /// The device, as messages name it.
    pub(super) name: String,
    pub(super) device: CUdevice,
    context: CUcontext,
    pub(super) stream: CUstream,
    pub(super) multiprocessors: u32,
    /// The device's default pool of memory; none where the device has no pools.
    pool: Option<CUmemoryPool>,
    memory_bytes: u64,
    /// Bytes of memory not yet freed.
    live_bytes: AtomicU64,
    /// Of the context.
    pub(super) health: Arc<Health>,
}

// SAFETY: contexts, streams and pools are references to objects of the driver's, which any thread may use once the context
// is bound to it; every user binds it first.
unsafe impl Send for Handles {}
// SAFETY: as above; the driver's calls are thread-safe.
unsafe impl Sync for Handles {}

impl Handles {
    /// Takes the device's primary context, which other CUDA libraries of this process share, and a stream of our own.
    pub(super) fn new(name: String, properties: &Properties) -> Result<Self> {
        let device = properties.device;
        let failed = |call: &'static str| {
            let name = name.clone();
            move |error| fault::driver(&name, call, error)
        };
        let (context, health) = contexts::retain(&name, device)?;
        // The default kind would wait for, and hold up, whoever uses the legacy stream.
        let stream = match stream::create(stream::StreamKind::NonBlocking) {
            Ok(stream) => stream,
            Err(error) => {
                // SAFETY: retained above, and nobody else has it from us.
                let released = unsafe { primary_ctx::release(device) };
                fault::log_release(&name, "cuDevicePrimaryCtxRelease", released);
                return Err(failed("cuStreamCreate")(error));
            }
        };
        let mut handles = Self {
            name,
            device,
            context,
            stream,
            multiprocessors: properties.multiprocessors,
            pool: None,
            memory_bytes: properties.memory_bytes,
            live_bytes: AtomicU64::new(0),
            health,
        };
        if properties.has_pools {
            handles.pool = Some(keeping_pool(device).map_err(|error| {
                fault::driver(&handles.name, "setting the release threshold of the memory pool", error)
            })?);
        }
        Ok(handles)
    }

    /// Makes the context current on this thread. To be called before any call that needs one.
    /// Errors: `DeviceLost` once the context is: nothing of it may reach the driver any more.
    pub(super) fn bind(&self) -> Result<()> {
        self.health.check()?;
        self.try_bind().map_err(|error| fault::driver(&self.name, "cuCtxSetCurrent", error))
    }

    pub(super) fn try_bind(&self) -> Result<(), DriverError> {
        if self.health.is_lost() {
            return Err(DriverError(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED));
        }
        // Asking is cheaper than setting, and the answer is nearly always the same. Others may set this thread's context
        // too, so what we set last is no answer.
        if ctx::get_current()? == Some(self.context) {
            return Ok(());
        }
        // SAFETY: the context is retained for as long as `self` lives.
        unsafe { ctx::set_current(self.context) }
    }

    /// Waits for the stream, and reports the faults of what ran on it.
    pub(super) fn synchronize(&self) -> Result<()> {
        self.bind()?;
        // SAFETY: the stream lives as long as `self`.
        unsafe { stream::synchronize(self.stream) }
            .map_err(|error| fault::driver(&self.name, "cuStreamSynchronize", error))?;
        self.health.waited(self.stream.addr());
        Ok(())
    }

    /// Memory in stream order: it may be used by whatever is submitted to the stream from now on.
    pub(super) fn allocate(&self, bytes: usize) -> Result<CUdeviceptr> {
        let live = self.live_bytes.load(Ordering::Relaxed);
        if bytes as u64 > self.memory_bytes {
            return Err(Error::OutOfMemory {
                device: self.name.clone(),
                bytes: bytes as u64,
                live_bytes: live,
                message: format!("the device has {} bytes", self.memory_bytes),
            });
        }
        self.bind()?;
        let failed = |error| fault::allocation(&self.name, "cuMemAllocAsync", error, bytes as u64, live);
        let address = match self.try_allocate(bytes).map_err(failed) {
            // What was freed may still be kept for later, in pieces too small; let it go and ask once more.
            Err(Error::OutOfMemory { .. }) => {
                self.synchronize()?;
                self.trim();
                self.try_allocate(bytes).map_err(failed)?
            }
            other => other?,
        };
        self.live_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(address)
    }

    /// Frees memory once all that was submitted before is done. Used by destructors, so faults are only logged.
    pub(super) fn free(&self, address: CUdeviceptr, bytes: usize) {
        self.live_bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
        let freed = self.try_bind().and_then(|()| match self.pool {
            // SAFETY: the memory came from `try_allocate` on this stream, and its one owner is being dropped.
            Some(_) => unsafe { result::free_async(address, self.stream) },
            // SAFETY: as above; this call waits for the device by itself.
            None => unsafe { result::free_sync(address) },
        });
        fault::log_release(&self.name, "cuMemFreeAsync", freed);
    }

    fn try_allocate(&self, bytes: usize) -> Result<CUdeviceptr, DriverError> {
        match self.pool {
            // SAFETY: the stream lives as long as `self`; the memory is used on this stream only.
            Some(_) => unsafe { result::malloc_async(self.stream, bytes) },
            // SAFETY: the context is bound by the caller.
            None => unsafe { result::malloc_sync(bytes) },
        }
    }

    /// Gives memory that the pool keeps but nobody uses back to the device.
    fn trim(&self) {
        if let Some(pool) = self.pool {
            // SAFETY: a device's default pool lives as long as the device.
            let trimmed = unsafe { sys::cuMemPoolTrimTo(pool, 0) }.result();
            fault::log_release(&self.name, "cuMemPoolTrimTo", trimmed);
        }
    }
}

/// The device's default pool, told to keep what is freed: it would give it back at each synchronisation, which costs more
/// than most kernels.
fn keeping_pool(device: CUdevice) -> Result<CUmemoryPool, DriverError> {
    // SAFETY: the device came from cuDeviceGet.
    let pool = unsafe { result::device::get_default_mem_pool(device) }?;
    let mut threshold = u64::MAX;
    let attribute = sys::CUmemPool_attribute_enum::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: the pool is the device's, and the attribute is read as a 64-bit number.
    unsafe { sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut threshold).cast()) }.result()?;
    Ok(pool)
}

impl Drop for Handles {
    fn drop(&mut self) {
        let ended = self.try_bind().and_then(|()| {
            // SAFETY: `new` made the stream, and nobody else has it any more; it is finished before it goes.
            unsafe { stream::synchronize(self.stream).and(stream::destroy(self.stream)) }
        });
        fault::log_release(&self.name, "cuStreamDestroy", ended);
        if self.health.is_lost() {
            return; // What was in the context went with it, and what is there now is another's.
        }
        self.trim();
        // SAFETY: retained once by `new`.
        let released = unsafe { primary_ctx::release(self.device) };
        fault::log_release(&self.name, "cuDevicePrimaryCtxRelease", released);
    }
}
