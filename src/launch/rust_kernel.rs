//! Kernels written in Rust, compiled for a device, and what they note of indices out of range.

use std::any::TypeId;
use std::sync::Arc;

use lazuli_codegen::simt::{self, ir};

use super::definition::KernelDefinition;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::function::{ScanVariant, scan_kernel};
use crate::runtime::explicit::{RawGrid, RawKernel, RustKernelOptions};

/// A kernel in the SIMT IR that is not compiled yet.
#[derive(Clone, Copy)]
pub(crate) enum RustSource {
    /// Of the user's.
    Definition { name: &'static str, id: TypeId, build: fn() -> Result<ir::Kernel> },
    /// Of a scan.
    Scan(ScanVariant),
}

/// The key of a compiled kernel: which one, and how it is compiled. The device is fixed for the life of its cache.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RustKernelKey(KernelId, RustKernelOptions);

/// What tells kernels in the SIMT IR apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum KernelId {
    Definition(TypeId),
    Scan(ScanVariant),
}

impl From<&RustKernelKey> for RustKernelKey {
    fn from(key: &RustKernelKey) -> Self {
        *key
    }
}

/// A kernel in Rust, compiled for one device.
pub struct RustKernel {
    pub ir: Arc<ir::Kernel>,
    pub raw: Arc<dyn RawKernel>,
    /// True where it takes memory for a note as its last argument.
    pub is_checked: bool,
}

impl RustSource {
    pub fn of<K: KernelDefinition>() -> Self {
        Self::Definition { name: K::NAME, id: TypeId::of::<K>(), build: K::build }
    }

    /// The function's name in Rust.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Definition { name, .. } => name,
            Self::Scan(variant) => variant.combine.name(),
        }
    }

    fn id(&self) -> KernelId {
        match *self {
            Self::Definition { id, .. } => KernelId::Definition(id),
            Self::Scan(variant) => KernelId::Scan(variant),
        }
    }

    fn build(&self) -> Result<ir::Kernel> {
        match *self {
            Self::Definition { build, .. } => build(),
            Self::Scan(variant) => Ok(scan_kernel(variant)),
        }
    }

    /// The text that a device's compiler sees; on the host a printed form.
    pub fn source(&self, device: &Device) -> Result<String> {
        Ok(self.compiled(device)?.raw.source().unwrap_or_default().to_string())
    }

    /// The kernel for a device: from its cache, from disk, or compiled now.
    /// Errors: `Compile`, `Unsupported`, `Driver`.
    pub fn compiled(&self, device: &Device) -> Result<Arc<RustKernel>> {
        self.compiled_for(device, None)
    }

    /// The same for groups of one size, which the device has room for though compilers do not count on it: OpenCL drivers
    /// take 256 threads for granted, and a kernel that uses many registers has to do with fewer.
    pub fn compiled_for(&self, device: &Device, group: Option<[u32; 3]>) -> Result<Arc<RustKernel>> {
        let is_checked = match (self, device.config().checked_kernels) {
            // Its indices are ours, but for those of the user's function.
            (Self::Scan(variant), _) if !simt::has_sites(variant.combine) => false,
            (_, Some(is_checked)) => is_checked,
            (_, None) => device.runtime().facts().is_cpu || cfg!(debug_assertions),
        };
        let span =
            tracing::debug_span!("compile", kernel = self.name(), checked = is_checked, hit = tracing::field::Empty);
        let _entered = span.enter();
        let options = RustKernelOptions { checked: is_checked, contraction: device.config().contraction, group };
        let found = device.caches().rust_kernels.get_or_make(&RustKernelKey(self.id(), options), || {
            let ir = Arc::new(self.build()?);
            let compiled = device.runtime().modules().rust_kernel(&ir, options);
            match &compiled {
                Ok(kernel) if kernel.is_from_disk() => device.count_disk_hit(),
                Err(Error::Unsupported { .. }) => {}
                _ => device.count_compile(),
            }
            Ok(Arc::new(RustKernel { ir, raw: compiled?, is_checked }))
        })?;
        span.record("hit", found.hit);
        Ok(found.value)
    }
}

/// What a checked kernel has noted, as an error; none where every index was in range.
pub(super) fn judge(kernel: &ir::Kernel, grid: &RawGrid, note: &[u8; simt::NOTE_BYTES]) -> Option<Error> {
    let (words, _) = note.as_chunks::<8>();
    let word = |number: usize| u64::from_ne_bytes(words[number]);
    if word(0) == 0 {
        return None;
    }
    let number = |word: u64| usize::try_from(word).unwrap_or(usize::MAX);
    Some(Error::KernelIndex {
        kernel: kernel.name.clone(),
        at: place_of(kernel, word(1)),
        axis: number(word(2)),
        index: word(3),
        extent: number(word(4)),
        group: coordinates(word(5), grid.groups),
        thread: coordinates(word(6), grid.threads),
    })
}

/// File, line and column of an access.
fn place_of(kernel: &ir::Kernel, site: u64) -> String {
    // The sites of the functions it calls follow its own.
    match usize::try_from(site).ok().and_then(|site| simt::sites(kernel).get(site).copied()) {
        Some(place) => format!("{}:{}:{}", place.file, place.line, place.column),
        None => format!("access number {site}"),
    }
}

/// Where number `number` of a box stands that is counted with x innermost.
fn coordinates(number: u64, extents: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = extents.map(|extent| u64::from(extent.max(1)));
    [number % x, number / x % y, number / x / y].map(|at| u32::try_from(at).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(words: [u64; 8]) -> [u8; simt::NOTE_BYTES] {
        let mut note = [0; simt::NOTE_BYTES];
        note.chunks_exact_mut(8).zip(words).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_ne_bytes()));
        note
    }

    #[test]
    fn a_note_becomes_an_error_with_kernel_thread_and_place() {
        let place = ir::Place { file: "src/a.rs", line: 7, column: 3 };
        let body = ir::Body { sites: vec![ir::Place { line: 1, ..place }, place], ..Default::default() };
        let kernel = ir::Kernel { name: "scale_f32".into(), params: Vec::new(), body };
        let grid = RawGrid { groups: [4, 3, 2], threads: [8, 2, 1], local_bytes: 0 };
        assert!(judge(&kernel, &grid, &note([0, 1, 0, 9, 8, 0, 0, 0])).is_none());
        // Group 23 is the last of 4 x 3 x 2, thread 9 is x 1, y 1.
        let error = judge(&kernel, &grid, &note([1, 1, 0, 100, 64, 23, 9, 0])).map(|error| error.to_string());
        let told = "kernel scale_f32: index 100 is out of range for axis 0 of extent 64, in thread [1, 1, 0] of group \
                    [3, 2, 1], at src/a.rs:7:3";
        assert_eq!(error.as_deref(), Some(told));
        let nowhere = judge(&kernel, &grid, &note([1, 5, 0, 100, 64, 0, 0, 0])).map(|error| error.to_string());
        assert!(nowhere.is_some_and(|told| told.ends_with("at access number 5")));
    }
}
