//! Copies of regions, and fills.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::result::DriverError;
use cudarc::driver::sys::{self, CUDA_MEMCPY3D, CUdeviceptr, CUmemorytype};

use super::fault;
use super::queue::CudaQueue;
use crate::error::Result;
use crate::runtime::explicit::{Extent, Pitches};

/// The start of the memory that a side of a copy lies in.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Device(CUdeviceptr),
    Host(*mut u8),
}

impl Side {
    fn kind(self) -> CUmemorytype {
        match self {
            Side::Device(_) => CUmemorytype::CU_MEMORYTYPE_DEVICE,
            Side::Host(_) => CUmemorytype::CU_MEMORYTYPE_HOST,
        }
    }

    fn device(self, offset: usize) -> CUdeviceptr {
        match self {
            Side::Device(address) => address + offset as CUdeviceptr,
            Side::Host(_) => 0,
        }
    }

    fn host(self, offset: usize) -> *mut c_void {
        match self {
            Side::Device(_) => ptr::null_mut(),
            Side::Host(data) => data.wrapping_add(offset).cast(),
        }
    }
}

/// Submits a copy.
///
/// # Safety
/// Both regions lie in memory that lives, and that nobody uses otherwise, until the stream is past the copy.
pub(super) unsafe fn copy(queue: &CudaQueue, from: (Side, Pitches), to: (Side, Pitches), extent: Extent) -> Result<()> {
    queue.handles.bind()?;
    let ((source, from), (target, to)) = (from, to);
    let (call, outcome) = match extent.flat_bytes(from, to) {
        // SAFETY: the caller's promise.
        Some(bytes) => unsafe { copy_flat(queue, (source, from.offset), (target, to.offset), bytes) },
        None => {
            let rows = |side: Pitches| (side.slice / side.row).max(extent.rows);
            let region = CUDA_MEMCPY3D {
                srcXInBytes: 0,
                srcY: 0,
                srcZ: 0,
                srcLOD: 0,
                srcMemoryType: source.kind(),
                srcHost: source.host(from.offset).cast_const(),
                srcDevice: source.device(from.offset),
                srcArray: ptr::null_mut(),
                reserved0: ptr::null_mut(),
                srcPitch: from.row,
                srcHeight: rows(from),
                dstXInBytes: 0,
                dstY: 0,
                dstZ: 0,
                dstLOD: 0,
                dstMemoryType: target.kind(),
                dstHost: target.host(to.offset),
                dstDevice: target.device(to.offset),
                dstArray: ptr::null_mut(),
                reserved1: ptr::null_mut(),
                dstPitch: to.row,
                dstHeight: rows(to),
                WidthInBytes: extent.row_bytes,
                Height: extent.rows,
                Depth: extent.slices,
            };
            // SAFETY: the caller's promise; the description is read before the call is back.
            ("cuMemcpy3DAsync", unsafe { sys::cuMemcpy3DAsync_v2(&raw const region, queue.stream) })
        }
    };
    outcome.result().map_err(|error| {
        let Extent { row_bytes, rows, slices } = extent;
        let call = format!("{call} of {row_bytes} bytes, {rows} rows, {slices} slices");
        fault::driver(&queue.handles.name, call, error)
    })
}

/// # Safety
/// As for `copy`.
unsafe fn copy_flat(
    queue: &CudaQueue,
    (source, from): (Side, usize),
    (target, to): (Side, usize),
    bytes: usize,
) -> (&'static str, sys::CUresult) {
    let stream = queue.stream;
    // SAFETY: the caller's promise.
    unsafe {
        match (source, target) {
            (Side::Host(_), _) => {
                let data = source.host(from).cast_const();
                ("cuMemcpyHtoDAsync", sys::cuMemcpyHtoDAsync_v2(target.device(to), data, bytes, stream))
            }
            (_, Side::Host(_)) => {
                ("cuMemcpyDtoHAsync", sys::cuMemcpyDtoHAsync_v2(target.host(to), source.device(from), bytes, stream))
            }
            _ => {
                ("cuMemcpyDtoDAsync", sys::cuMemcpyDtoDAsync_v2(target.device(to), source.device(from), bytes, stream))
            }
        }
    }
}

/// Submits a fill of `count` copies of a pattern of 1, 2, 4 or 8 bytes.
///
/// # Safety
/// `target` is device memory with room for them, aligned to the pattern.
pub(super) unsafe fn fill(queue: &CudaQueue, target: CUdeviceptr, pattern: &[u8], count: usize) -> Result<()> {
    queue.handles.bind()?;
    let stream = queue.stream;
    // SAFETY: the caller's promise.
    let outcome = unsafe {
        match *pattern {
            [a] => sys::cuMemsetD8Async(target, a, count, stream).result(),
            [a, b] => sys::cuMemsetD16Async(target, u16::from_ne_bytes([a, b]), count, stream).result(),
            [a, b, c, d] => sys::cuMemsetD32Async(target, u32::from_ne_bytes([a, b, c, d]), count, stream).result(),
            [a, b, c, d, e, f, g, h] => {
                let halves = [u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])];
                fill_wide(queue, target, halves, count)
            }
            _ => Err(DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE)),
        }
    };
    let call = || format!("filling with {count} patterns of {} bytes", pattern.len());
    outcome.map_err(|error| fault::driver(&queue.handles.name, call(), error))
}

/// Fills with a pattern of two words, for which the driver has no call: one is written, and then what is there is doubled.
///
/// # Safety
/// As for `fill`.
unsafe fn fill_wide(queue: &CudaQueue, target: CUdeviceptr, halves: [u32; 2], count: usize) -> Result<(), DriverError> {
    const BYTES: usize = 8;
    let stream = queue.stream;
    // SAFETY: all of it lies in the `count * BYTES` bytes at `target`.
    unsafe {
        if halves[0] == halves[1] {
            return sys::cuMemsetD32Async(target, halves[0], 2 * count, stream).result();
        }
        if count == 0 {
            return Ok(());
        }
        sys::cuMemsetD32Async(target, halves[0], 1, stream).result()?;
        sys::cuMemsetD32Async(target + 4, halves[1], 1, stream).result()?;
        let mut done = 1;
        while done < count {
            let next = done.min(count - done);
            let end = target + (done * BYTES) as CUdeviceptr;
            sys::cuMemcpyDtoDAsync_v2(end, target, next * BYTES, stream).result()?;
            done += next;
        }
    }
    Ok(())
}
