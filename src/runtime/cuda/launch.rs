//! One launch: arguments packed, limits checked, submitted.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::result;
use lazuli_codegen::{Grid, IndexWidth};
use smallvec::SmallVec;

use super::cooperative;
use super::fault;
use super::handles::Handles;
use super::memory::CudaMemory;
use super::program::CudaExecutable;
use crate::error::{Error, Result};
use crate::runtime::LaunchArgs;

/// Groups along the first grid axis, and along the others; the same on every architecture.
const MOST_GROUPS: [u64; 3] = [(1 << 31) - 1, 65_535, 65_535];

/// Submits a launch.
pub(super) fn launch(handles: &Arc<Handles>, executable: &CudaExecutable, arguments: &LaunchArgs) -> Result<()> {
    let grid = &arguments.grid;
    if grid.groups.contains(&0) {
        return Ok(()); // No thread would run, and the driver refuses an empty grid.
    }
    let call = || format!("launch of {} over {:?} groups of {:?}", executable.name(), grid.groups, grid.group);
    check_grid(grid, executable.max_group()).map_err(|message| Error::Driver {
        device: handles.name.clone(),
        call: call(),
        message,
    })?;
    let mut values = pack(handles, executable, arguments)?;
    // Each argument has eight bytes of its own; the driver reads as many of them as the parameter is long.
    let mut pointers: SmallVec<[*mut c_void; 32]> =
        values.iter_mut().map(|value| (&raw mut *value).cast::<c_void>()).collect();
    let mut groups = grid.groups.map(|groups| groups as u32); // Checked: all fit.
    let group = grid.group;
    handles.bind()?;
    if executable.parameters().waits {
        groups[1] = teams(executable, grid).map_err(|message| Error::Driver {
            device: handles.name.clone(),
            call: call(),
            message,
        })?;
        let (grid, group) = ((groups[0], groups[1], groups[2]), (group[0], group[1], group[2]));
        let launch = || {
            // SAFETY: as for a plain launch below; as many groups as run at once.
            unsafe {
                let function = executable.function();
                result::launch_cooperative_kernel(function, grid, group, 0, handles.stream, &mut pointers)
            }
        };
        return cooperative::in_turn(handles, launch).map_err(|error| fault::driver(&handles.name, call(), error));
    }
    // SAFETY: the function lives (its executable does), and so does the stream. There is a pointer for each parameter of
    // the kernel, in its order and of its type, and the driver copies what they point to. Memory is used in stream order.
    let launched = unsafe {
        result::launch_kernel(
            executable.function(),
            (groups[0], groups[1], groups[2]),
            (group[0], group[1], group[2]),
            0,
            handles.stream,
            &mut pointers,
        )
    };
    launched.map_err(|error| fault::driver(&handles.name, call(), error))
}

/// How many rows of groups, which wait for each other along grid axis 0, run at once; no more than there are.
fn teams(executable: &CudaExecutable, grid: &Grid) -> std::result::Result<u32, String> {
    let threads = grid.group.iter().product();
    let at_once = executable.groups_at_once(threads).map_err(|error| error.to_string())?;
    match at_once / grid.groups[0].max(1) {
        0 => Err(format!("{} groups wait for each other, and the device runs {at_once} at once", grid.groups[0])),
        teams => Ok(teams.min(grid.groups[1]) as u32),
    }
}

/// The arguments in the order of the parameters, each at the start of eight bytes.
fn pack(
    handles: &Arc<Handles>,
    executable: &CudaExecutable,
    arguments: &LaunchArgs,
) -> Result<SmallVec<[[u8; 8]; 32]>> {
    let parameters = executable.parameters();
    let name = executable.name();
    let given = (arguments.buffers.len(), arguments.sizes.len(), arguments.scalars.len());
    let takes = (parameters.buffers, parameters.sizes, parameters.scalars.len());
    if given != takes {
        return Err(Error::Internal(format!(
            "kernel {name} takes {takes:?} buffers, sizes and scalars and was given {given:?}"
        )));
    }
    let mut values = SmallVec::new();
    for &memory in arguments.buffers {
        values.push(CudaMemory::of(memory, handles)?.address().to_ne_bytes());
    }
    for &size in arguments.sizes {
        values.push(match parameters.index {
            IndexWidth::I64 => size.to_ne_bytes(),
            IndexWidth::I32 => {
                let size = i32::try_from(size)
                    .map_err(|_| Error::Internal(format!("size {size} given to kernel {name}, which counts in i32")))?;
                let [a, b, c, d] = size.to_ne_bytes();
                [a, b, c, d, 0, 0, 0, 0]
            }
        });
    }
    for (scalar, &dtype) in arguments.scalars.iter().zip(&parameters.scalars) {
        if scalar.dtype() != dtype {
            let (given, takes) = (scalar.dtype().name(), dtype.name());
            return Err(Error::Internal(format!("kernel {name} takes a scalar of {takes} and was given {given}")));
        }
        values.push(scalar.argument_bytes().0);
    }
    Ok(values)
}

/// Holds a grid against the limits of every architecture and of the kernel.
fn check_grid(grid: &Grid, max_group: u32) -> std::result::Result<(), String> {
    if grid.groups.iter().zip(MOST_GROUPS).any(|(&groups, most)| groups > most) {
        return Err(format!("a grid has {MOST_GROUPS:?} groups at most"));
    }
    let group = grid.group.iter().try_fold(1u32, |product, &threads| product.checked_mul(threads));
    match group {
        Some(group) if group > 0 && group <= max_group => Ok(()),
        _ => Err(format!("a group of this kernel has 1 to {max_group} threads")),
    }
}
