//! A launch, step by step: device, kernel, arguments, grid, submission, and what comes after.

use std::sync::Arc;

use lazuli_codegen::{Dialect, simt};
use smallvec::SmallVec;

use super::arg::{ArgKind, Rebind, SliceOf};
use super::rust_kernel::{RustKernel, judge};
use super::value::{self, Value, refused};
use super::{Dim3, KernelSource, Launch};
use crate::device::{Device, block_of};
use crate::error::{self, Result};
use crate::graph::Storage;
use crate::queue::{Event, Queue, Work};
use crate::runtime::Memory;
use crate::runtime::explicit::{RawArg, RawGrid, RawKernel};
use crate::runtime::pool::Block;

/// Where a launch goes, and what must be done before it.
pub(super) struct Place<'a> {
    pub queue: Option<&'a Queue>,
    pub after: &'a [Event],
}

impl Place<'_> {
    /// The queue of lazy work, which comes after all that is on it.
    pub fn main() -> Self {
        Self { queue: None, after: &[] }
    }
}

/// How large a launch is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Size {
    /// Groups, and threads of each.
    Grid(Dim3, Dim3),
    /// Threads along x at least.
    AtLeast(usize),
}

/// A kernel compiled for the device of a launch.
pub(crate) struct Ready {
    pub name: String,
    pub raw: Arc<dyn RawKernel>,
    /// Where it was written in Rust.
    pub rust: Option<Arc<RustKernel>>,
}

impl Launch<'_> {
    /// Launches. Gives the event at its end, if it is to be marked.
    pub(super) fn run(self, place: &Place, size: Size, is_marked: bool, at: error::Place) -> Result<Option<Event>> {
        let name = self.name();
        let device = self.device()?;
        if let Some(queue) = place.queue
            && *queue.device() != device
        {
            let what = format!("the queue is one of {}, and the arguments are on {}", queue.device(), device);
            return Err(refused(&name, what));
        }
        let ready = self.kernel.ready_for(&device, size)?;
        let local_bytes = self.local_bytes;
        let mut arrays: SmallVec<[(usize, &mut dyn Rebind); 4]> = SmallVec::new();
        let mut values: SmallVec<[Value; 8]> = SmallVec::new();
        for (number, argument) in self.arguments.into_iter().enumerate() {
            values.push(match argument.0 {
                ArgKind::Slice(slice) => Value::Slice(slice),
                ArgKind::Read(array) => Value::Slice(array.slice()?),
                ArgKind::Scalar(scalar) => Value::Scalar(scalar),
                ArgKind::Bytes(bytes) => Value::Bytes(bytes),
                ArgKind::Local(bytes) => Value::Local(bytes),
                ArgKind::Failed(error) => return Err(error),
                ArgKind::Array(array) => {
                    let slice = array.prepare()?;
                    arrays.push((number, array));
                    Value::Slice(slice)
                }
            });
        }
        ready.check(&device, &values)?;
        let grid = ready.grid(&device, size, local_bytes, &values)?;
        let submitted = submit(&device, place, &ready, &grid, &values, is_marked);
        // What a launch that failed halfway has written is not known, but the memory is the array's own all the same.
        for (number, array) in arrays {
            if let (Ok(_), Some(Value::Slice(slice))) = (&submitted, values.get(number)) {
                array.rebind(slice, at);
            }
        }
        let Submitted { mark, note } = submitted?;
        if let (Some(note), Some(rust)) = (note, &ready.rust) {
            let mut bytes = [0; simt::NOTE_BYTES];
            device.download(&*note, 0, &mut bytes)?;
            if let Some(error) = judge(&rust.ir, &grid, &bytes) {
                return Err(error);
            }
        }
        Ok(mark)
    }

    pub(super) fn name(&self) -> String {
        self.kernel.name()
    }

    /// The device: of the module, of the memory given, or that of [`on`](Self::on).
    pub(super) fn device(&self) -> Result<Device> {
        if let KernelSource::Function(function) = &self.kernel {
            return Ok(function.device.clone());
        }
        let of_memory = self.arguments.iter().find_map(|argument| match &argument.0 {
            ArgKind::Slice(slice) => Some(slice.device.clone()),
            ArgKind::Read(array) => Some(array.device().clone()),
            ArgKind::Array(array) => Some(array.device().clone()),
            _ => None,
        });
        let failed = self.arguments.iter().find_map(|argument| match &argument.0 {
            ArgKind::Failed(error) => Some(error.clone()),
            _ => None,
        });
        match (failed, of_memory.or_else(|| self.device.clone())) {
            (Some(error), _) => Err(error),
            (None, Some(device)) => Ok(device),
            (None, None) => {
                Err(refused(&self.name(), "no argument is memory of a device; name one by `on(&device)`".into()))
            }
        }
    }
}

impl KernelSource {
    /// The kernel's name.
    pub(super) fn name(&self) -> String {
        match self {
            KernelSource::Rust(source) => source.name().into(),
            KernelSource::Function(function) => function.name.clone(),
        }
    }

    /// The kernel as it is compiled for groups of a size.
    fn ready_for(&self, device: &Device, size: Size) -> Result<Ready> {
        let ready = self.ready(device)?;
        let (KernelSource::Rust(source), Size::Grid(_, threads)) = (self, size) else { return Ok(ready) };
        let own_limit = match device.runtime().modules().dialect() {
            Some(_) => device.runtime().facts().max_group as usize,
            None => return Ok(ready),
        };
        let [x, y, z] = [threads.x, threads.y, threads.z];
        let group = x.saturating_mul(y).saturating_mul(z);
        // Larger than the kernel's limit, but not than the device's.
        match group > ready.raw.attributes()?.max_threads as usize && group <= own_limit {
            true => Ok(Ready::of(source.compiled_for(device, Some([x as u32, y as u32, z as u32]))?)),
            false => Ok(ready),
        }
    }

    pub(super) fn ready(&self, device: &Device) -> Result<Ready> {
        match self {
            KernelSource::Rust(source) => Ok(Ready::of(source.compiled(device)?)),
            KernelSource::Function(function) => {
                Ok(Ready { name: function.name.clone(), raw: function.kernel.clone(), rust: None })
            }
        }
    }
}

impl Ready {
    fn of(kernel: Arc<RustKernel>) -> Self {
        Ready { name: kernel.ir.name.clone(), raw: kernel.raw.clone(), rust: Some(kernel) }
    }

    /// Holds arguments against the kernel and the device. Errors: `InvalidLaunch`.
    pub fn check(&self, device: &Device, values: &[Value]) -> Result<()> {
        match (&self.rust, self.raw.parameters()) {
            (Some(rust), _) => value::check_rust(&rust.ir, values)?,
            (None, Some(params)) => value::check_function(&self.name, params, values, takes_local(device))?,
            (None, None) => {}
        }
        value::check_memory(&self.name, device, values)
    }

    /// The grid, within the limits that every device has. Errors: `InvalidLaunch`.
    pub fn grid(&self, device: &Device, size: Size, local_bytes: usize, values: &[Value]) -> Result<RawGrid> {
        let refused = |what: String| refused(&self.name, what);
        let (groups, threads) = match size {
            Size::Grid(groups, threads) => (groups, threads),
            Size::AtLeast(0) => (Dim3::from(0), Dim3::from(1)),
            Size::AtLeast(n) => {
                let threads = device.runtime().modules().suggested_threads(&*self.raw)?.max(1) as usize;
                // No more than there is to do, in whole groups that the device likes.
                let threads =
                    threads.min(n.next_multiple_of(self.raw.attributes()?.preferred_multiple.max(1) as usize));
                (Dim3::from(n.div_ceil(threads)), Dim3::from(threads))
            }
        };
        let count = |what: &str, extents: Dim3| {
            let mut counts = [0u32; 3];
            for (count, (axis, extent)) in counts.iter_mut().zip([("x", extents.x), ("y", extents.y), ("z", extents.z)])
            {
                let most = u32::MAX;
                *count = u32::try_from(extent)
                    .map_err(|_| refused(format!("{extent} {what} along {axis}, and {most} are the most")))?;
            }
            Ok(counts)
        };
        let (groups, threads) = (count("groups", groups)?, count("threads", threads)?);
        if threads.contains(&0) {
            return Err(refused(format!("a group of {threads:?} threads has none")));
        }
        let group = threads.iter().try_fold(1u32, |product, &extent| product.checked_mul(extent));
        let most = match self.raw.attributes()?.max_threads {
            0 => device.runtime().facts().max_group,
            most => most,
        };
        if group.is_none_or(|group| group > most) {
            let total: u64 = threads.iter().map(|&extent| u64::from(extent)).fold(1, u64::saturating_mul);
            let device = device.name();
            return Err(refused(format!(
                "a group of {threads:?} threads has {total}, and {most} are the most on {device} for this kernel"
            )));
        }
        let is_passed = self.rust.is_none() && takes_local(device);
        let arguments =
            values.iter().map(|value| if let (false, Value::Local(bytes)) = (is_passed, value) { *bytes } else { 0 });
        let local_bytes = arguments.fold(local_bytes, usize::saturating_add);
        if is_passed && local_bytes > 0 {
            return Err(refused(format!(
                "{local_bytes} bytes of local memory, which in OpenCL C is an argument: give a LocalMem for a __local \
                 pointer"
            )));
        }
        let local_bytes = u32::try_from(local_bytes)
            .map_err(|_| refused(format!("{local_bytes} bytes of local memory are more than any device has")))?;
        Ok(RawGrid { groups, threads, local_bytes })
    }
}

/// True where memory of a group is an argument of kernels.
fn takes_local(device: &Device) -> bool {
    device.runtime().modules().dialect() == Some(Dialect::OpenClC)
}

/// What comes of a submission.
pub(crate) struct Submitted {
    /// The event at its end, if one was asked for.
    pub mark: Option<Event>,
    /// The memory of a checked kernel's note; none where nothing was launched.
    pub note: Option<Arc<Block>>,
}

/// Submits a launch whose arguments and grid were checked.
pub(super) fn submit(
    device: &Device,
    place: &Place,
    ready: &Ready,
    grid: &RawGrid,
    values: &[Value],
    is_marked: bool,
) -> Result<Submitted> {
    let is_empty = grid.groups.contains(&0);
    let _span = tracing::debug_span!(
        "launch",
        kernel = ready.name,
        grid = ?grid.groups,
        block = ?grid.threads,
        local_bytes = grid.local_bytes
    )
    .entered();
    let note = match &ready.rust {
        Some(rust) if rust.is_checked && !is_empty => Some(cleared_note(device)?),
        _ => None,
    };
    // Another handle for what borrows it below, so that this one can be given back.
    let held = note.clone();
    let slices = |is_mut: bool| {
        let of = move |value: &Value| if let Value::Slice(slice) = value { slice.is_mut == is_mut } else { false };
        values.iter().filter(move |value| of(value)).filter_map(|value| match value {
            Value::Slice(slice) => Some(&*slice.storage),
            _ => None,
        })
    };
    let reads: SmallVec<[&dyn Storage; 8]> = slices(false).collect();
    let writes: SmallVec<[&dyn Storage; 8]> =
        slices(true).chain(held.as_deref().map(|note| -> &dyn Storage { note })).collect();

    let bytes = argument_bytes(values, ready.rust.is_some());
    let is_passed = ready.rust.is_none() && takes_local(device);
    let length = ready.rust.as_ref().and_then(|rust| dynamic_length(&rust.ir, grid));
    let mut arguments: SmallVec<[RawArg; 16]> = SmallVec::new();
    for (value, bytes) in values.iter().zip(&bytes) {
        match value {
            Value::Slice(slice) => {
                // An empty part may begin where there is no memory any more.
                let start = if slice.len == 0 { 0 } else { slice.start };
                arguments.push(RawArg::Memory(memory_of(slice)?, start * slice.dtype.size_bytes()));
                if ready.rust.is_some() {
                    arguments.push(RawArg::Bytes(bytes));
                }
            }
            Value::Scalar(_) => arguments.push(RawArg::Bytes(bytes)),
            Value::Bytes(bytes) => arguments.push(RawArg::Bytes(bytes)),
            Value::Local(bytes) if is_passed => arguments.push(RawArg::Local(*bytes)),
            Value::Local(_) => {}
        }
    }
    if let Some(length) = &length {
        arguments.push(RawArg::Bytes(length));
    }
    if let Some(note) = &held {
        arguments.push(RawArg::Memory(note.memory()?, 0));
    }
    if length.is_some() && takes_local(device) {
        arguments.push(RawArg::Local(grid.local_bytes as usize));
    }
    let work = Work { device, queue: place.queue, after: place.after, reads: &reads, writes: &writes };
    let launch = |queue: &dyn crate::runtime::explicit::Queue| match is_empty {
        true => Ok(()),
        false => device.runtime().modules().launch_grid(queue, &*ready.raw, grid, &arguments),
    };
    let mark = match is_marked {
        true => Some(work.submit_marked(launch)?),
        false => work.submit(launch).map(|()| None)?,
    };
    if !is_empty {
        device.count_launch();
    }
    Ok(Submitted { mark, note })
}

/// Memory for a note, zero.
fn cleared_note(device: &Device) -> Result<Arc<Block>> {
    let note = device.allocate(simt::NOTE_BYTES)?;
    let writes: [&dyn Storage; 1] = [&*note];
    let work = Work { device, queue: None, after: &[], reads: &[], writes: &writes };
    work.submit(|_| device.runtime().clear(note.memory()?, simt::NOTE_BYTES))?;
    Ok(note)
}

/// How many elements the group's array has whose length the launch sets, as an argument; none where there is no such array.
fn dynamic_length(kernel: &simt::ir::Kernel, grid: &RawGrid) -> Option<[u8; 8]> {
    let is_dynamic = |array: &&simt::ir::Array| array.space == simt::ir::Space::Group && array.dims.is_empty();
    let array = kernel.body.arrays.iter().find(is_dynamic)?;
    Some((u64::from(grid.local_bytes) / array.dtype.size_bytes() as u64).to_ne_bytes())
}

fn memory_of(slice: &SliceOf) -> Result<&dyn Memory> {
    block_of(&*slice.storage)?.memory()
}

/// The bytes of the arguments that have some: of scalars, and of the lengths that kernels in Rust take beside pointers.
fn argument_bytes(values: &[Value], is_rust: bool) -> SmallVec<[SmallVec<[u8; 8]>; 8]> {
    let bytes_of = |value: &Value| match value {
        Value::Slice(slice) => SmallVec::from_slice(&(slice.len as u64).to_ne_bytes()),
        // Kernels in Rust compute halves as f32 and take them so; other functions take what they declare.
        Value::Scalar(scalar) if is_rust => {
            let (bytes, count) = scalar.argument_bytes();
            SmallVec::from_slice(&bytes[..count])
        }
        Value::Scalar(scalar) => SmallVec::from_slice(&scalar.bits().to_le_bytes()[..scalar.dtype().size_bytes()]),
        Value::Bytes(_) | Value::Local(_) => SmallVec::new(),
    };
    values.iter().map(bytes_of).collect()
}
