//! A launch: arguments joined with a kernel, and its groups dealt to the cores.

use std::any::Any;
use std::sync::Arc;

use lazuli_codegen::simt::ir::{Kernel, Param};
use lazuli_codegen::simt::{self, NOTE_BYTES};
use lazuli_codegen::{DType, Dialect};
use rayon::prelude::*;

use super::frame::{Bound, Fault, Faults, Frame, Kind, Shape, coordinates};
use super::lower::{Lowered, lower_kernel};
use super::program::MemorySlot;
use crate::error::{Error, Result};
use crate::runtime::explicit::{KernelAttributes, RawArg, RawGrid, RawKernel, RawParam};
use crate::runtime::host::place;

/// The most threads of a group: as many as GPUs have.
pub const MOST_THREADS: u32 = 1024;

/// Threads of which groups are best a multiple: a few vectors.
const PREFERRED_MULTIPLE: u32 = 32;

/// The most bytes of registers and arrays that one group may take.
const MOST_SCRATCH: usize = 1 << 28;

/// Parts that the groups of a launch are dealt in, for each core.
const PARTS: usize = 8;

/// A kernel written in Rust, ready to run.
pub struct HostKernel {
    kernel: Arc<Kernel>,
    lowered: Lowered,
    checked: bool,
    source: String,
}

impl HostKernel {
    /// Lowers a kernel. Errors: `Unsupported` where it calls source text; `Internal` for what is no kernel.
    pub fn new(kernel: &Arc<Kernel>, checked: bool) -> Result<Self> {
        simt::verify(kernel).map_err(Error::Internal)?;
        let lowered = lower_kernel(kernel).map_err(|what| Error::Unsupported { device: "host".into(), what })?;
        // Something to read: what the kernel would be in C.
        let source = simt::emit(kernel, Dialect::OpenClC, &simt::emit::EmitOptions::default()).text;
        Ok(Self { kernel: kernel.clone(), lowered, checked, source })
    }

    /// The kernel as the host's own. Errors: `Internal` where another runtime made it.
    pub fn of(kernel: &dyn RawKernel) -> Result<&Self> {
        let kernel: &dyn Any = kernel;
        kernel.downcast_ref().ok_or_else(|| Error::Internal("host: a kernel of another runtime".into()))
    }

    fn refused(&self, what: String) -> Error {
        Error::InvalidLaunch { kernel: self.kernel.name.clone(), what }
    }

    /// The bytes that declared arrays take, for a group and for each thread.
    fn array_bytes(&self) -> (u64, u64) {
        self.lowered.program.memories.iter().fold((0, 0), |(group, thread), slot| match *slot {
            MemorySlot::Group { elements, bytes } => (group + (elements * bytes) as u64, thread),
            MemorySlot::Thread { elements, bytes } => (group, thread + (elements * bytes) as u64),
            _ => (group, thread),
        })
    }

    /// The size of an element of the array whose length the launch sets, if there is one.
    fn dynamic(&self) -> Option<usize> {
        self.lowered.program.memories.iter().find_map(|slot| match *slot {
            MemorySlot::Dynamic { bytes } => Some(bytes),
            _ => None,
        })
    }
}

impl RawKernel for HostKernel {
    fn source(&self) -> Option<&str> {
        Some(&self.source)
    }

    fn attributes(&self) -> Result<KernelAttributes> {
        let (local_bytes, private_bytes) = self.array_bytes();
        Ok(KernelAttributes {
            registers: None,
            private_bytes,
            local_bytes,
            max_threads: MOST_THREADS,
            preferred_multiple: PREFERRED_MULTIPLE,
        })
    }

    fn parameters(&self) -> Option<&[RawParam]> {
        None
    }
}

/// Runs a launch. Errors: `InvalidLaunch` for a grid or arguments that do not fit; `Driver` for a barrier that a part of a
/// group came to; `KernelIndex` for an index out of range where the kernel does not note it.
pub fn launch(kernel: &HostKernel, grid: &RawGrid, arguments: &[RawArg]) -> Result<()> {
    let shape = shape(kernel, grid)?;
    let Arguments { slices, scalars, note } = bind(kernel, arguments)?;
    let groups: u64 = grid.groups.iter().map(|&extent| u64::from(extent)).product();
    if groups == 0 {
        return Ok(());
    }
    let faults = Faults::default();
    let dynamic_bytes = if kernel.dynamic().is_some() { grid.local_bytes as usize } else { 0 };
    let slices = Slices(slices);
    let frame = || {
        let slices = &slices;
        Frame::new(&kernel.lowered, &faults, shape, &slices.0, dynamic_bytes)
    };
    let part = groups.div_ceil((rayon::current_num_threads() * PARTS) as u64).max(1);
    let run = |frame: &mut Frame, part_number: u64| {
        let start = part_number * part;
        for group in start..start.saturating_add(part).min(groups) {
            if !frame.is_stopped {
                frame.run_group(group, &scalars);
            }
        }
    };
    match groups.div_ceil(part) {
        1 => run(&mut frame(), 0),
        parts => (0..parts).into_par_iter().for_each_init(frame, run),
    }
    judge(kernel, grid, &faults, note)
}

/// The slices of a launch.
struct Slices(Vec<Bound>);

// SAFETY: memory of the launch, which lives as long as it runs, and which lanes write by atomics.
unsafe impl Sync for Slices {}

/// Holds the grid against the host's limits.
fn shape(kernel: &HostKernel, grid: &RawGrid) -> Result<Shape> {
    let threads = grid.threads.iter().try_fold(1u32, |product, &extent| product.checked_mul(extent));
    match threads {
        Some(1..=MOST_THREADS) => {}
        _ => {
            let group = grid.threads;
            return Err(
                kernel.refused(format!("a group of {group:?} threads, and 1 to {MOST_THREADS} in all are allowed"))
            );
        }
    }
    if grid.groups.iter().try_fold(1u64, |product, &extent| product.checked_mul(u64::from(extent))).is_none() {
        return Err(kernel.refused(format!("{:?} groups are more than can be counted", grid.groups)));
    }
    let lanes = threads.unwrap_or(1) as usize;
    let (group, thread) = kernel.array_bytes();
    let registers: usize = kernel.lowered.program.registers.iter().sum();
    let bytes = (thread.saturating_add(registers as u64)).saturating_mul(lanes as u64);
    let bytes = bytes.saturating_add(group).saturating_add(u64::from(grid.local_bytes));
    if bytes > MOST_SCRATCH as u64 {
        return Err(kernel.refused(format!("a group takes {bytes} bytes of arrays, and {MOST_SCRATCH} are the most")));
    }
    Ok(Shape { groups: grid.groups, threads: grid.threads })
}

/// What the arguments are.
struct Arguments {
    slices: Vec<Bound>,
    scalars: Vec<[u8; 8]>,
    note: Option<*mut u8>,
}

/// Holds the arguments against the kernel: those of its parameters, the length of the group's array where the launch sets it,
/// and the note of a checked kernel.
fn bind(kernel: &HostKernel, arguments: &[RawArg]) -> Result<Arguments> {
    let refused = |number: usize, what: &str| kernel.refused(format!("argument {number} is not {what}"));
    let mut bound = Arguments { slices: Vec::new(), scalars: Vec::new(), note: None };
    let mut given = arguments.iter().enumerate();
    let mut next = || given.next().ok_or_else(|| kernel.refused(format!("{} arguments are too few", arguments.len())));
    for param in &kernel.kernel.params {
        match *param {
            Param::Slice { dtype, is_mut, .. } => {
                let (number, memory) = next()?;
                let RawArg::Memory(memory, offset) = *memory else { return Err(refused(number, "memory")) };
                let (number, length) = next()?;
                let RawArg::Bytes(length) = *length else { return Err(refused(number, "a length")) };
                let length = u64::from_ne_bytes(length.try_into().map_err(|_| refused(number, "a length"))?);
                let size = dtype.size_bytes();
                let bytes = usize::try_from(length).ok().and_then(|length| length.checked_mul(size));
                let bytes = bytes.ok_or_else(|| refused(number, "a length that memory can have"))?;
                if offset % size != 0 {
                    return Err(kernel.refused(format!("a slice of {dtype} begins {offset} bytes into its memory")));
                }
                let data = place(memory, offset, bytes)?;
                let kind = if is_mut { Kind::Shared } else { Kind::Plain };
                bound.slices.push(Bound { data, length, kind });
            }
            Param::Scalar { var } => {
                let dtype = kernel.kernel.body.vars.get(var.0 as usize).map_or(DType::Bool, |var| var.dtype);
                let size = if dtype.is_half() { DType::F32.size_bytes() } else { dtype.size_bytes() };
                let (number, value) = next()?;
                let RawArg::Bytes(value) = *value else { return Err(refused(number, "a value")) };
                if value.len() != size {
                    return Err(refused(number, &format!("a {dtype} of {size} bytes")));
                }
                let mut bytes = [0; 8];
                bytes[..size].copy_from_slice(value);
                bound.scalars.push(bytes);
            }
        }
    }
    if kernel.dynamic().is_some() {
        let (number, length) = next()?;
        if !matches!(length, RawArg::Bytes(length) if length.len() == size_of::<u64>()) {
            return Err(refused(number, "a length"));
        }
    }
    if kernel.checked {
        let (number, note) = next()?;
        let RawArg::Memory(memory, offset) = *note else { return Err(refused(number, "memory for a note")) };
        bound.note = Some(place(memory, offset, NOTE_BYTES)?);
    }
    match given.next() {
        Some((number, _)) => Err(kernel.refused(format!("{} arguments, of which it takes {number}", arguments.len()))),
        None => Ok(bound),
    }
}

/// What the first fault comes to.
fn judge(kernel: &HostKernel, grid: &RawGrid, faults: &Faults, note: Option<*mut u8>) -> Result<()> {
    match faults.first() {
        None => Ok(()),
        Some(Fault::Barrier { came, alive, group }) => Err(Error::Driver {
            device: "host".into(),
            call: format!("launch of {}", kernel.kernel.name),
            message: format!(
                "a barrier was reached by some threads only: {came} of the {alive} of group {:?} that had not returned",
                coordinates(group, grid.groups)
            ),
        }),
        Some(Fault::Index([site, axis, index, extent, group, thread])) => match note {
            Some(note) => {
                let words = [1, site, axis, index, extent, group, thread, 0];
                // SAFETY: memory of so many bytes, as was checked; the launch is over, so that nobody else writes it.
                unsafe { note.cast::<[u64; NOTE_BYTES / 8]>().write_unaligned(words) };
                Ok(())
            }
            None => {
                let place = simt::sites(&kernel.kernel).get(site as usize).copied();
                let at = place.map_or(String::new(), |place| format!("{}:{}:{}", place.file, place.line, place.column));
                let position = |number, extents| coordinates(number, extents).map(|at| at as u32);
                Err(Error::KernelIndex {
                    kernel: kernel.kernel.name.clone(),
                    index,
                    axis: axis as usize,
                    extent: usize::try_from(extent).unwrap_or(usize::MAX),
                    group: position(group, grid.groups),
                    thread: position(thread, grid.threads),
                    at,
                })
            }
        },
    }
}
