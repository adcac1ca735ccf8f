//! Which OpenCL devices there are, in the order in which they are numbered, and what is known of each.

use std::sync::{Mutex, PoisonError};

use lazuli_codegen::{Cooperation, DeviceFacts};
use opencl3::device::{
    CL_DEVICE_ATOMIC_ORDER_ACQ_REL, CL_DEVICE_ATOMIC_SCOPE_DEVICE, CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_ALL,
    CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU, CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, Device,
};
use opencl3::error_codes::ClError;
use opencl3::platform::{Platform, get_platforms};

use super::fault;

/// The loader's name, as opencl3 asks for it.
#[cfg(target_os = "windows")]
const LOADER: &str = "OpenCL.dll";
#[cfg(target_os = "macos")]
const LOADER: &str = "/System/Library/Frameworks/OpenCL.framework/OpenCL";
#[cfg(not(any(target_os = "windows", target_os = "macos")))]
const LOADER: &str = "libOpenCL.so.1";

/// cl3's own codes for a loader that is missing or lacks a function.
const LOADER_MISSING: [i32; 2] =
    [opencl3::error_codes::DLOPEN_RUNTIME_LOAD_FAILED, opencl3::error_codes::DLOPEN_FUNCTION_NOT_AVAILABLE];
/// What the ICD loader answers where no vendor is registered.
const NO_PLATFORM: i32 = -1001;

/// A platform whose builds do not overlap: they share one LLVM under one lock, so that threads would gain nothing, and we do
/// not know its older versions to be safe.
const POCL: &str = "Portable Computing Language";

/// One device, with what tells it apart.
pub(super) struct Listed {
    pub(super) device: Device,
    pub(super) platform: Platform,
    pub(super) name: String,
    pub(super) platform_name: String,
    class: Class,
}

/// The kind of a device; devices are numbered in this order. A machine with a GPU may list an OpenCL for its CPU first,
/// and `opencl:0` should still be the GPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Class {
    Gpu,
    Accelerator,
    Cpu,
}

impl Listed {
    pub(super) fn class(&self) -> Class {
        self.class
    }

    /// One line for people: what it is, whose it is, and how large.
    pub(super) fn description(&self) -> String {
        let class = match self.class {
            Class::Gpu => "GPU",
            Class::Accelerator => "accelerator",
            Class::Cpu => "CPU",
        };
        let version = self.device.version().unwrap_or_default();
        let units = self.device.max_compute_units().unwrap_or_default();
        format!("{}, {} {}, {class}, {units} compute units", self.name, self.platform_name.trim(), version.trim())
    }
}

/// Every device of every platform, in order of number, and a line for each thing that was looked for in vain.
pub(super) fn list() -> (Vec<Listed>, Vec<String>) {
    // PoCL's first search for devices is not safe from several threads: one sees the other's half-made devices.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let platforms = match get_platforms() {
        Ok(platforms) => platforms,
        Err(error) => return (Vec::new(), vec![no_platforms(&error)]),
    };
    if platforms.is_empty() {
        return (Vec::new(), vec![no_vendor()]);
    }
    let mut listed = Vec::new();
    let mut absent = Vec::new();
    for platform in platforms {
        let platform_name = platform.name().unwrap_or_else(|_| "a platform without a name".into());
        match platform.get_devices(CL_DEVICE_TYPE_ALL) {
            Ok(ids) if ids.is_empty() => absent.push(format!("OpenCL: platform {platform_name} has no device")),
            Ok(ids) => {
                for id in ids {
                    match examine(platform, &platform_name, Device::new(id)) {
                        Ok(device) => listed.push(device),
                        Err(why) => absent.push(why),
                    }
                }
            }
            Err(error) => absent.push(format!("OpenCL: platform {platform_name}: {}", fault::text(error.0))),
        }
    }
    // The sort is stable: within a class the loader's order stays.
    listed.sort_by_key(|listed| listed.class);
    (listed, absent)
}

/// Takes a device that can be used, or says why it cannot.
fn examine(platform: Platform, platform_name: &str, device: Device) -> Result<Listed, String> {
    let name = device.name().map_or_else(|_| "a device without a name".into(), |name| name.trim().to_owned());
    let refuse = |why: String| format!("OpenCL: {name} of platform {platform_name}: {why}");
    let query = |error: ClError| refuse(fault::text(error.0));
    if !device.available().map_err(query)? {
        return Err(refuse("not available".into()));
    }
    if !device.compiler_available().map_err(query)? {
        return Err(refuse("has no compiler".into()));
    }
    if !device.endian_little().map_err(query)? {
        return Err(refuse("is not little-endian".into()));
    }
    let version = device.version().map_err(query)?;
    if !serves_1_2(&version) {
        return Err(refuse(format!("serves {}, and OpenCL 1.2 is needed", version.trim())));
    }
    let bits = device.dev_type().map_err(query)?;
    let class = if bits & CL_DEVICE_TYPE_GPU != 0 {
        Class::Gpu
    } else if bits & CL_DEVICE_TYPE_CPU != 0 && bits & CL_DEVICE_TYPE_ACCELERATOR == 0 {
        Class::Cpu
    } else {
        Class::Accelerator
    };
    Ok(Listed { device, platform, name, platform_name: platform_name.to_owned(), class })
}

/// Reads a version such as `OpenCL 3.0 PoCL ...`, whose start the standard fixes.
pub(super) fn serves_1_2(version: &str) -> bool {
    let number = version.strip_prefix("OpenCL ").and_then(|rest| rest.split_whitespace().next());
    let (major, minor) = number.and_then(|number| number.split_once('.')).unwrap_or_default();
    matches!((major.parse(), minor.parse()), (Ok(major), Ok(minor)) if (major, minor) >= (1u32, 2u32))
}

/// What lowering and allocation must know of a device.
pub(super) struct Limits {
    pub(super) facts: DeviceFacts,
    /// Bytes of the device's memory.
    pub(super) global_memory_bytes: u64,
    /// Threads a group may have along each grid axis.
    pub(super) max_items: Vec<usize>,
    /// A part of a buffer begins at a multiple of so many bytes.
    pub(super) offset_alignment: usize,
    /// Options of every build.
    pub(super) options: String,
    /// Whether the driver takes a look at binaries before it trusts them. PoCL crashes on one that is cut off.
    pub(super) checks_binaries: bool,
    /// Whether the driver builds several programs at once.
    pub(super) builds_in_parallel: bool,
}

/// Asks the driver for a device's limits.
pub(super) fn limits(listed: &Listed) -> Result<Limits, ClError> {
    let device = &listed.device;
    let options = build_options(device);
    let compiler = format!(
        "{} {}; {} {} {}; driver {}; {options}",
        listed.platform_name.trim(),
        listed.platform.version()?.trim(),
        device.vendor()?.trim(),
        listed.name,
        device.version()?.trim(),
        device.driver_version()?.trim(),
    );
    let facts = DeviceFacts {
        name: listed.name.clone(),
        is_cpu: listed.class == Class::Cpu,
        compute_units: device.max_compute_units()?,
        max_group: saturate(device.max_work_group_size()? as u64),
        local_memory_bytes: saturate(device.local_mem_size()?),
        max_parameter_bytes: saturate(device.max_parameter_size()? as u64),
        max_allocation_bytes: device.max_mem_alloc_size()?,
        has_f64: has_f64(device),
        cooperation: cooperation(device),
        compiler,
    };
    Ok(Limits {
        facts,
        global_memory_bytes: device.global_mem_size()?,
        max_items: device.max_work_item_sizes()?,
        // The driver counts in bits.
        offset_alignment: (device.mem_base_addr_align()? as usize / 8).max(1),
        options,
        checks_binaries: listed.platform_name.trim() != POCL,
        builds_in_parallel: listed.platform_name.trim() != POCL,
    })
}

/// Beside the language, nothing that changes values: only the promise of rightly rounded division and square root, where it can be had.
fn build_options(device: &Device) -> String {
    let rounding = device.single_fp_config().unwrap_or_default();
    match rounding & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT {
        0 => String::new(),
        _ => "-cl-fp32-correctly-rounded-divide-sqrt".into(),
    }
}

/// The last group of a launch may go on alone where it can see what the others wrote: atomics that acquire and release in
/// the scope of the device, which OpenCL 3.0 devices tell of.
fn cooperation(device: &Device) -> Cooperation {
    let needed = CL_DEVICE_ATOMIC_ORDER_ACQ_REL | CL_DEVICE_ATOMIC_SCOPE_DEVICE;
    let has_atomics = device.atomic_memory_capabilities().is_ok_and(|atomics| atomics & needed == needed);
    let versions = device.opencl_c_all_versions().unwrap_or_default();
    let has_c3 = versions.iter().any(|version| version.version >> VERSION_MAJOR_SHIFT >= 3);
    if has_atomics && has_c3 { Cooperation::LastGroup } else { Cooperation::None }
}

/// A version's number begins with the major one, above 10 bits of minor and 12 of patch.
const VERSION_MAJOR_SHIFT: u32 = 22;

/// OpenCL 1.2 devices answer the query; older ones list the extension.
fn has_f64(device: &Device) -> bool {
    match device.double_fp_config() {
        Ok(config) => config != 0,
        Err(_) => device.extensions().is_ok_and(|list| list.split_whitespace().any(|name| name == "cl_khr_fp64")),
    }
}

fn saturate(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn no_platforms(error: &ClError) -> String {
    match error.0 {
        NO_PLATFORM => no_vendor(),
        code if LOADER_MISSING.contains(&code) => {
            let path = std::env::var("OPENCL_DYLIB_PATH");
            let path = path.map_or_else(|_| "is not set".into(), |path| format!("names {path:?}"));
            format!("OpenCL: the loader {LOADER} cannot be loaded (OPENCL_DYLIB_PATH, which may name another, {path})")
        }
        code => format!("OpenCL: clGetPlatformIDs gave {}", fault::text(code)),
    }
}

fn no_vendor() -> String {
    let vendors = std::env::var("OCL_ICD_VENDORS");
    let vendors = vendors.map_or_else(
        |_| "/etc/OpenCL/vendors; OCL_ICD_VENDORS, which may name another folder, is not set".into(),
        |path| format!("{path:?}, named by OCL_ICD_VENDORS"),
    );
    format!("OpenCL: the loader {LOADER} is there but knows no platform (it looks for vendors in {vendors})")
}
