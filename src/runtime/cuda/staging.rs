//! Copies between pageable host memory and the device through pinned memory.
//!
//! The driver copies pageable memory at 7 to 12 GB/s, pinned memory at 55. Two pinned chunks take turns: while the device
//! copies one, threads of ours fill or empty the other. An upload is over for the caller once the last chunk is filled.
//! Copies out that nobody waits for yet each land in a chunk of their own.

use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::result::{self, DriverError, event};
use cudarc::driver::sys::{self, CUdeviceptr, CUevent, CUevent_flags_enum as EventFlags};

use super::handles::Handles;
use crate::error::{self, Error};
use crate::runtime::Download;

/// Bytes of the largest chunk: long enough that a copy hides the cost of starting threads.
const LARGEST: usize = 16 << 20;
/// Bytes of the smallest chunk.
const SMALLEST: usize = 64 << 10;
/// Bytes that are worth a thread of their own.
const THREAD_BYTES: usize = 2 << 20;
/// Threads that copy at once; past these the memory is busy.
const MOST_THREADS: usize = 8;

/// Two pinned chunks for copies in one direction. They are made, and made larger, as copies need them.
pub(super) struct Staging {
    state: Mutex<State>,
}

struct State {
    chunks: [Option<Chunk>; 2],
    /// The chunk whose turn it is. Small uploads take turns too, else each would wait for the one before.
    turn: usize,
}

impl Staging {
    pub(super) fn new() -> Self {
        Self { state: Mutex::new(State { chunks: [None, None], turn: 0 }) }
    }

    /// Copies in; `source` may change once this is back. The caller has bound the context.
    ///
    /// # Safety
    /// `target` must be memory of `handles` with room for the source.
    pub(super) unsafe fn upload(
        &self,
        handles: &Arc<Handles>,
        source: &[u8],
        target: CUdeviceptr,
    ) -> Result<(), DriverError> {
        let mut state = self.lock();
        let mut at = target;
        for (number, piece) in source.chunks(LARGEST).enumerate() {
            let turn = state.take_turn();
            let chunk = match Chunk::with_room(&mut state.chunks[turn], handles, source.len()) {
                Ok(chunk) => chunk,
                // SAFETY: the caller's promise, `at` being as far into the target as the piece is into the source.
                Err(_) => return unsafe { upload_unpinned(handles, &source[number * LARGEST..], at) },
            };
            chunk.wait()?;
            copy(piece, chunk.bytes(piece.len()));
            // SAFETY: the target has room (as above), and the chunk is not touched again before its event.
            unsafe { result::memcpy_htod_async(at, chunk.bytes(piece.len()), handles.stream) }?;
            chunk.record(handles)?;
            at += piece.len() as CUdeviceptr;
        }
        Ok(())
    }

    /// Copies out, once all that was submitted before is done. The caller has bound the context.
    ///
    /// # Safety
    /// `source` must be memory of `handles` that holds as many bytes as the target.
    pub(super) unsafe fn download(
        &self,
        handles: &Arc<Handles>,
        source: CUdeviceptr,
        target: &mut [u8],
    ) -> Result<(), DriverError> {
        let chunks = &mut self.lock().chunks;
        let bytes = target.len();
        for slot in chunks.iter_mut().take(bytes.div_ceil(LARGEST)) {
            if Chunk::with_room(slot, handles, bytes).is_err() {
                // SAFETY: the caller's promise.
                return unsafe { download_unpinned(handles, source, target) };
            }
        }
        let mut waiting: Option<(usize, &mut [u8])> = None;
        let mut at = source;
        for (number, piece) in target.chunks_mut(LARGEST).enumerate() {
            let slot = number % 2;
            if let Some(chunk) = &mut chunks[slot] {
                // SAFETY: the source holds these bytes (the caller's promise), and the chunk is read only after its event.
                unsafe { result::memcpy_dtoh_async(chunk.bytes(piece.len()), at, handles.stream) }?;
                chunk.record(handles)?;
            }
            at += piece.len() as CUdeviceptr;
            if let Some((slot, piece)) = waiting.replace((slot, piece)) {
                empty(&mut chunks[slot], piece)?;
            }
        }
        match waiting {
            Some((slot, piece)) => empty(&mut chunks[slot], piece),
            None => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Chunks hold nothing between copies, so what a panicking thread left there does not matter.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pinned memory for copies out that nobody waits for yet: each has a chunk of its own, and the chunks are used again.
pub(super) struct Landing {
    spare: Arc<Mutex<Vec<Chunk>>>,
}

impl Landing {
    pub(super) fn new() -> Self {
        Self { spare: Arc::default() }
    }

    /// Begins to copy out, once all that was submitted before is done. The caller has bound the context. `None` where there
    /// is no pinned memory of this size.
    ///
    /// # Safety
    /// `source` must be memory of `handles` that holds as many bytes.
    pub(super) unsafe fn begin(
        &self,
        handles: &Arc<Handles>,
        source: CUdeviceptr,
        bytes: usize,
    ) -> Result<Option<PendingDownload>, DriverError> {
        let mut chunk = match self.take(bytes) {
            Some(chunk) => chunk,
            None => match Chunk::new(handles, landing_bytes(bytes)) {
                Ok(chunk) => chunk,
                Err(_) => return Ok(None),
            },
        };
        // SAFETY: the source holds these bytes (the caller's promise), and the chunk is read only after its event.
        unsafe { result::memcpy_dtoh_async(chunk.bytes(bytes), source, handles.stream) }?;
        chunk.record(handles)?;
        Ok(Some(PendingDownload { chunk, spare: self.spare.clone() }))
    }

    /// A spare chunk with room, not many times too large.
    fn take(&self, bytes: usize) -> Option<Chunk> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |chunk: &Chunk| chunk.bytes >= bytes && chunk.bytes / 4 <= bytes.max(SMALLEST);
        spare.iter().position(fits).map(|place| spare.swap_remove(place))
    }
}

/// Bytes of a chunk for a copy, rounded so that copies of like sizes find each other's.
fn landing_bytes(bytes: usize) -> usize {
    if bytes < LARGEST { bytes.max(SMALLEST).next_power_of_two() } else { bytes.next_multiple_of(LARGEST) }
}

/// A copy on its way to a chunk.
pub(super) struct PendingDownload {
    chunk: Chunk,
    spare: Arc<Mutex<Vec<Chunk>>>,
}

impl PendingDownload {
    fn failed(&self, call: &str, error: DriverError) -> Error {
        super::fault::driver(&self.chunk.handles.name, call, error)
    }
}

impl Download for PendingDownload {
    fn is_done(&self) -> error::Result<bool> {
        self.chunk.handles.bind()?;
        // SAFETY: the event lives, and the context is bound.
        match unsafe { event::query(self.chunk.event) } {
            Ok(()) => Ok(true),
            Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            Err(error) => Err(self.failed("cuEventQuery", error)),
        }
    }

    fn finish(mut self: Box<Self>, target: &mut [u8]) -> error::Result<()> {
        /// Pinned bytes kept for the next copies.
        const MOST_SPARE: usize = 64 << 20;
        self.chunk.handles.bind()?;
        self.chunk.wait().map_err(|error| self.failed("cuEventSynchronize", error))?;
        copy(self.chunk.bytes(target.len()), target);
        let Self { chunk, spare } = *self;
        let mut spare = spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.iter().map(|chunk| chunk.bytes).sum::<usize>() + chunk.bytes <= MOST_SPARE {
            spare.push(chunk);
        }
        Ok(())
    }
}

impl State {
    fn take_turn(&mut self) -> usize {
        self.turn = 1 - self.turn;
        self.turn
    }
}

/// Waits for a chunk and copies it out.
fn empty(slot: &mut Option<Chunk>, target: &mut [u8]) -> Result<(), DriverError> {
    if let Some(chunk) = slot {
        chunk.wait()?;
        copy(chunk.bytes(target.len()), target);
    }
    Ok(())
}

/// As `Staging::upload`, without pinned memory, of which a machine may have little.
///
/// # Safety
/// As there.
unsafe fn upload_unpinned(handles: &Handles, source: &[u8], target: CUdeviceptr) -> Result<(), DriverError> {
    // SAFETY: the caller's promise; the wait keeps the source readable until the copy is done.
    unsafe {
        result::memcpy_htod_async(target, source, handles.stream)?;
        result::stream::synchronize(handles.stream)
    }
}

/// As `Staging::download`, without pinned memory.
///
/// # Safety
/// As there.
unsafe fn download_unpinned(handles: &Handles, source: CUdeviceptr, target: &mut [u8]) -> Result<(), DriverError> {
    // SAFETY: the caller's promise; the wait keeps the target ours until the copy is done.
    unsafe {
        result::memcpy_dtoh_async(target, source, handles.stream)?;
        result::stream::synchronize(handles.stream)
    }
}

/// Pinned memory, and the event of the last copy that used it.
struct Chunk {
    memory: NonNull<u8>,
    bytes: usize,
    event: CUevent,
    handles: Arc<Handles>,
}

// SAFETY: pinned memory is plain memory, and an event may be used by any thread whose context is bound.
unsafe impl Send for Chunk {}

impl Chunk {
    /// The chunk in a slot, made or made anew where it is too small for its share of a copy of `bytes` bytes.
    fn with_room<'a>(
        slot: &'a mut Option<Chunk>,
        handles: &Arc<Handles>,
        bytes: usize,
    ) -> Result<&'a mut Chunk, DriverError> {
        let bytes = bytes.clamp(SMALLEST, LARGEST).next_power_of_two();
        if slot.as_ref().is_some_and(|chunk| chunk.bytes < bytes) {
            *slot = None;
        }
        match slot {
            Some(chunk) => Ok(chunk),
            None => Ok(slot.insert(Chunk::new(handles, bytes)?)),
        }
    }

    fn new(handles: &Arc<Handles>, bytes: usize) -> Result<Chunk, DriverError> {
        let event = event::create(EventFlags::CU_EVENT_DISABLE_TIMING)?;
        // SAFETY: the context is bound. No flag: write-combined memory would be slow to read.
        let memory = unsafe { result::malloc_host(bytes, 0) }.map(|memory| NonNull::new(memory.cast()));
        match memory {
            Ok(Some(memory)) => {
                // SAFETY: the memory is ours and this long; it is given a value so that slices of it may be taken.
                unsafe { ptr::write_bytes(memory.as_ptr(), 0, bytes) };
                Ok(Chunk { memory, bytes, event, handles: handles.clone() })
            }
            failed => {
                // SAFETY: made above and never recorded.
                let _ = unsafe { sys::cuEventDestroy_v2(event) };
                Err(failed.err().unwrap_or(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)))
            }
        }
    }

    /// The first bytes of the chunk.
    fn bytes(&mut self, count: usize) -> &mut [u8] {
        // SAFETY: the memory is initialised and this long, and `&mut self` makes us its one user on the host; the device
        // is done with it, or writes it before `wait` is back, which every reader calls first.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), count.min(self.bytes)) }
    }

    /// Marks the copy just submitted as the chunk's last use.
    fn record(&self, handles: &Handles) -> Result<(), DriverError> {
        // SAFETY: both live, and the context is bound.
        unsafe { event::record(self.event, handles.stream) }
    }

    /// Waits until the device is done with the chunk. At once where it never was used.
    fn wait(&self) -> Result<(), DriverError> {
        // SAFETY: the event lives, and the context is bound.
        unsafe { sys::cuEventSynchronize(self.event) }.result()
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: the event and the memory are this chunk's alone. Freeing pinned memory waits for copies under way.
        let freed = self.handles.try_bind().and_then(|()| unsafe {
            let waited = sys::cuEventSynchronize(self.event).result();
            let freed = result::free_host(self.memory.as_ptr().cast());
            waited.and(freed).and(sys::cuEventDestroy_v2(self.event).result())
        });
        super::fault::log_release(&self.handles.name, "cuMemFreeHost", freed);
    }
}

/// Copies bytes of equal number, with several threads where there are many.
///
/// Threads of their own, not rayon's: a rayon thread that waits takes up other work meanwhile, which might ask for the
/// lock that this copy holds.
fn copy(source: &[u8], target: &mut [u8]) {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let threads = (source.len() / THREAD_BYTES).min(MOST_THREADS).min(cores);
    if threads < 2 || source.len() != target.len() {
        let bytes = source.len().min(target.len());
        target[..bytes].copy_from_slice(&source[..bytes]);
        return;
    }
    let share = source.len().div_ceil(threads);
    let shared = std::thread::scope(|scope| {
        source.chunks(share).zip(target.chunks_mut(share)).all(|(source, target)| {
            std::thread::Builder::new().spawn_scoped(scope, move || target.copy_from_slice(source)).is_ok()
        })
    });
    if !shared {
        // The system gave no more threads.
        target.copy_from_slice(source);
    }
}
