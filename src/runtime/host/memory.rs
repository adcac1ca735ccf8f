//! Host memory, shared by raw pointer between launches, and copied in parallel where that pays.

use std::alloc::Layout;
use std::ptr::NonNull;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::runtime::Memory;
use crate::runtime::explicit::HostBytes;
use crate::runtime::owned_bytes::OwnedBytes;

/// A cache line, and the widest vector.
const ALIGNMENT: usize = 64;

/// A huge page, where there are any. Blocks of a few and more are aligned to one and asked to lie in them: a triad of 64 MiB
/// arrays takes a tenth less time then, since fewer addresses have to be looked up.
const HUGE_PAGE: usize = 2 << 20;

/// Bytes below which one thread copies.
const PARALLEL_BYTES: usize = 4 << 20;

/// Bytes from which the system is asked what it has left.
const LARGE_BYTES: usize = 64 << 20;

/// A block of host memory, freed when dropped.
pub struct HostMemory {
    data: NonNull<u8>,
    layout: Layout,
    is_adopted: bool,
    /// Whose memory it is, where it was adopted and not yet asked back.
    owner: Option<OwnedBytes>,
}

// SAFETY: the memory belongs to this value. Who reads and who writes it at a time is ordered by the engine, as for the
// memory of any device; see `Runtime`.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// Uninitialised memory, at least one byte.
    pub fn allocate(bytes: usize) -> Result<Self> {
        let refused = |message: &str| Error::OutOfMemory {
            device: "host".into(),
            bytes: bytes as u64,
            live_bytes: 0,
            message: message.into(),
        };
        // An overcommitting system grants any size and kills the process later. Small blocks are not worth the question.
        if bytes > LARGE_BYTES && bytes as u64 > available_bytes() {
            return Err(refused("more than the memory that is available"));
        }
        let is_huge = bytes >= 2 * HUGE_PAGE;
        let alignment = if is_huge { HUGE_PAGE } else { ALIGNMENT };
        let layout =
            Layout::from_size_align(bytes.max(1), alignment).map_err(|_| refused("more than can be addressed"))?;
        // SAFETY: the layout's size is at least one.
        let data =
            NonNull::new(unsafe { std::alloc::alloc(layout) }).ok_or_else(|| refused("the allocator has none left"))?;
        #[cfg(target_os = "linux")]
        if is_huge {
            let whole_pages = bytes / HUGE_PAGE * HUGE_PAGE;
            // A wish: where the system has no such pages, nothing is lost.
            // SAFETY: the range lies in the block just allocated, and the advice changes no byte of it.
            let _ =
                unsafe { rustix::mm::madvise(data.as_ptr().cast(), whole_pages, rustix::mm::Advice::LinuxHugepage) };
        }
        Ok(Self { data, layout, is_adopted: false, owner: None })
    }

    /// The same, all zero.
    pub fn zeroed(bytes: usize) -> Result<Self> {
        let memory = Self::allocate(bytes)?;
        // SAFETY: the block was just allocated and is this long.
        unsafe { memory.data().write_bytes(0, memory.layout.size()) };
        Ok(memory)
    }

    /// Memory that is another's until it is asked back.
    pub fn adopt(owner: OwnedBytes) -> Result<Self> {
        let layout = Layout::from_size_align(owner.bytes(), 1).map_err(|error| Error::Internal(error.to_string()))?;
        let data = NonNull::new(owner.data()).ok_or_else(|| Error::Internal("elements at no address".into()))?;
        Ok(Self { data, layout, is_adopted: true, owner: Some(owner) })
    }

    /// Gives adopted memory back; none where it was allocated here.
    pub fn give_up(mut self) -> Option<OwnedBytes> {
        self.owner.take()
    }

    /// The first byte.
    pub fn data(&self) -> *mut u8 {
        self.data.as_ptr()
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if self.is_adopted {
            return;
        }
        // SAFETY: allocated with this layout, and freed once.
        unsafe { std::alloc::dealloc(self.data.as_ptr(), self.layout) }
    }
}

impl HostBytes for HostMemory {
    fn data(&self) -> *mut u8 {
        self.data.as_ptr()
    }
}

impl Memory for HostMemory {
    fn bytes(&self) -> usize {
        self.layout.size()
    }
}

/// What the system can still give: /proc/meminfo where there is one.
fn available_bytes() -> u64 {
    let kibibytes = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    kibibytes.map_or(isize::MAX as u64, |kibibytes| kibibytes.saturating_mul(1024))
}

/// An address that may go to another thread.
#[derive(Clone, Copy)]
struct Address(*mut u8);

// SAFETY: used only for the disjoint parts of one copy, while the caller waits.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

/// Copies bytes.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes` bytes, and they do not overlap.
pub unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    if bytes < PARALLEL_BYTES {
        // SAFETY: the caller's promise.
        return unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
    }
    let (from, to) = (Address(from.cast_mut()), Address(to));
    let step = PARALLEL_BYTES / 4;
    (0..bytes.div_ceil(step)).into_par_iter().for_each(|part| {
        let (from, to) = (&from, &to);
        let start = part * step;
        let length = step.min(bytes - start);
        // SAFETY: the part lies within both ranges, and parts are disjoint.
        unsafe { std::ptr::copy_nonoverlapping(from.0.add(start), to.0.add(start), length) }
    });
}
