//! One launch: arguments set, limits checked, submitted.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use lazuli_codegen::{Grid, IndexWidth};
use opencl3::command_queue::enqueue_nd_range_kernel;
use opencl3::kernel::set_kernel_arg;
use opencl3::types::cl_mem;
use smallvec::SmallVec;

use super::fault;
use super::handles::Handles;
use super::memory::OpenClMemory;
use super::program::{Kernel, OpenClExecutable};
use crate::error::{Error, Result};
use crate::runtime::{LaunchArgs, Memory};

/// Submits a launch. `max_items` limits the threads of a group along each grid axis.
pub(super) fn launch(
    handles: &Arc<Handles>,
    executable: &OpenClExecutable,
    arguments: &LaunchArgs,
    max_items: &[usize],
) -> Result<()> {
    if arguments.grid.groups.contains(&0) {
        return Ok(()); // No thread would run, and OpenCL 1.2 refuses an empty grid.
    }
    let shape = Shape::new(handles, executable, &arguments.grid, max_items)?;
    let given = arguments.buffers.len() + arguments.sizes.len() + arguments.scalars.len();
    if given != executable.parameters() {
        let (name, takes) = (executable.name(), executable.parameters());
        return Err(Error::Internal(format!("kernel {name} takes {takes} arguments and was given {given}")));
    }
    let buffers: SmallVec<[&OpenClMemory; 16]> =
        arguments.buffers.iter().map(|&memory| OpenClMemory::of(memory, handles)).collect::<Result<_>>()?;
    let bytes = buffers.iter().map(|buffer| buffer.bytes()).sum();

    let kernel = executable.lock();
    let mut setter = Setter { handles, name: executable.name(), kernel: &kernel, next: 0 };
    for buffer in &buffers {
        let handle: cl_mem = buffer.buffer();
        // SAFETY: the parameter is a buffer, and a buffer's argument is its handle. It lives until the enqueue below,
        // from when on the command holds it.
        unsafe { setter.set(ptr::from_ref(&handle).cast(), size_of::<cl_mem>()) }?;
    }
    for &size in arguments.sizes {
        match executable.index() {
            IndexWidth::I32 => {
                let size = i32::try_from(size).map_err(|_| {
                    Error::Internal(format!("size {size} given to kernel {}, which counts in i32", executable.name()))
                })?;
                setter.set_bytes(&size.to_ne_bytes())?;
            }
            IndexWidth::I64 => setter.set_bytes(&size.to_ne_bytes())?,
        }
    }
    for scalar in arguments.scalars {
        let (bytes, length) = scalar.argument_bytes();
        setter.set_bytes(&bytes[..length])?;
    }
    // SAFETY: every argument is set, under the lock that is still held; the grid was checked against the limits; the
    // arrays hold `dimensions` numbers each.
    let event = unsafe {
        let (global, local) = (shape.global.as_ptr(), shape.local.as_ptr());
        enqueue_nd_range_kernel(handles.queue, kernel.0, shape.dimensions, ptr::null(), global, local, 0, ptr::null())
    };
    drop(kernel);
    handles.finish_enqueue(|| describe(executable, &arguments.grid), event, bytes)?;
    handles.flush()
}

/// The launch, as messages name it.
fn describe(executable: &OpenClExecutable, grid: &Grid) -> String {
    format!("launch of {} over {:?} groups of {:?}", executable.name(), grid.groups, grid.group)
}

/// Sets arguments one after the other.
struct Setter<'a> {
    handles: &'a Handles,
    name: &'a str,
    kernel: &'a Kernel,
    next: u32,
}

impl Setter<'_> {
    /// A scalar's bytes. The driver refuses a length other than the parameter's.
    fn set_bytes(&mut self, value: &[u8]) -> Result<()> {
        // SAFETY: the value is readable for its length, and the driver copies it.
        unsafe { self.set(value.as_ptr().cast(), value.len()) }
    }

    /// # Safety
    /// `value` must be readable for `length` bytes. For a buffer it must point to the handle of a live one.
    unsafe fn set(&mut self, value: *const c_void, length: usize) -> Result<()> {
        // SAFETY: the caller's promise; the kernel lives, and its lock is held by whoever has the reference to it.
        let set = unsafe { set_kernel_arg(self.kernel.0, self.next, length, value) };
        set.map_err(|code| {
            let call = format!("clSetKernelArg {} ({length} bytes) of {}", self.next, self.name);
            fault::driver(&self.handles.name, call, code)
        })?;
        self.next += 1;
        Ok(())
    }
}

/// A grid as OpenCL counts it: threads in all, and threads in a group.
struct Shape {
    dimensions: u32,
    global: [usize; 3],
    local: [usize; 3],
}

impl Shape {
    fn new(handles: &Handles, executable: &OpenClExecutable, grid: &Grid, max_items: &[usize]) -> Result<Self> {
        let refuse = |why: String| Error::Driver {
            device: handles.name.clone(),
            call: describe(executable, grid),
            message: why,
        };
        let mut shape = Shape { dimensions: 1, global: [1; 3], local: [1; 3] };
        for axis in 0..3 {
            let local = grid.group[axis] as usize;
            if max_items.get(axis).is_some_and(|&most| local > most) {
                return Err(refuse(format!("a group may be {max_items:?} threads long")));
            }
            let global = usize::try_from(grid.groups[axis]).ok().and_then(|groups| groups.checked_mul(local));
            shape.global[axis] = global.ok_or_else(|| refuse("more threads than can be counted".into()))?;
            shape.local[axis] = local;
            if shape.global[axis] > 1 {
                shape.dimensions = axis as u32 + 1;
            }
        }
        let group: usize = shape.local.iter().product();
        if group == 0 || group > executable.max_group() {
            return Err(refuse(format!("a group of this kernel has 1 to {} threads", executable.max_group())));
        }
        Ok(shape)
    }
}
