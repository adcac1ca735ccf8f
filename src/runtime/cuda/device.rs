//! Which CUDA devices there are, and what is known of each.

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice, CUdevice_attribute_enum as Attribute, CUresult};
use lazuli_codegen::{Cooperation, DeviceFacts};

use super::{fault, libraries};

/// The first driver whose functions are all there that are called here: stream-ordered memory came with it.
const OLDEST_DRIVER: i32 = 11_020;
/// Bytes of parameters that every architecture takes (4096), less some to spare.
const PARAMETER_BYTES: u32 = 4000;
/// Bytes of statically declared shared memory that every architecture allows.
const LOCAL_MEMORY_BYTES: u32 = 48 << 10;

/// How many devices there are; where none, why.
pub(super) fn count() -> Result<usize, String> {
    libraries::require_driver()?;
    let failed = |call: &str, error: DriverError| format!("CUDA: {call} gave {}", fault::text(error));
    match result::init() {
        Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => return Err("CUDA: the driver sees no device".into()),
        outcome => outcome.map_err(|error| failed("cuInit", error))?,
    }
    let version = driver_version().map_err(|error| failed("cuDriverGetVersion", error))?;
    if version < OLDEST_DRIVER {
        let (have, need) = (dotted(version), dotted(OLDEST_DRIVER));
        return Err(format!("CUDA: the driver is for CUDA {have}; {need} or newer is needed"));
    }
    match result::device::get_count().map_err(|error| failed("cuDeviceGetCount", error))? {
        0 => Err("CUDA: the driver sees no device (CUDA_VISIBLE_DEVICES may hide them)".into()),
        count => Ok(usize::try_from(count).unwrap_or(0)),
    }
}

/// One line for people, such as `NVIDIA H200, CUDA 13.0, 132 multiprocessors`.
pub(super) fn description(ordinal: usize) -> Result<String, DriverError> {
    let device = get(ordinal)?;
    let name = result::device::get_name(device)?;
    let units = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    Ok(format!("{name}, CUDA {}, {units} multiprocessors", dotted(driver_version()?)))
}

/// What the runtime must know of a device beyond the facts for lowering.
pub(super) struct Properties {
    pub(super) device: CUdevice,
    pub(super) name: String,
    /// Compute capability, as in `sm_90`.
    pub(super) architecture: u32,
    pub(super) multiprocessors: u32,
    pub(super) max_group: u32,
    pub(super) memory_bytes: u64,
    /// True where memory can be had in stream order.
    pub(super) has_pools: bool,
    /// True where groups of one launch may wait for each other.
    pub(super) is_cooperative: bool,
    /// The newest CUDA that the driver serves.
    pub(super) driver: i32,
}

impl Properties {
    /// Asks the driver. `count` said that the device is there.
    pub(super) fn query(ordinal: usize) -> Result<Self, DriverError> {
        let device = get(ordinal)?;
        let number = |which| attribute(device, which).map(|value| u32::try_from(value).unwrap_or(0));
        let major = number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        Ok(Self {
            device,
            name: result::device::get_name(device)?,
            architecture: major * 10 + minor,
            multiprocessors: number(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            max_group: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            // SAFETY: the device came from cuDeviceGet.
            memory_bytes: unsafe { result::device::total_mem(device) }? as u64,
            has_pools: number(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED).is_ok_and(|flag| flag != 0),
            is_cooperative: number(Attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH).is_ok_and(|flag| flag != 0),
            driver: driver_version()?,
        })
    }

    /// What lowering must know. `compiler` names NVRTC, its target and the driver.
    pub(super) fn facts(&self, compiler: &str) -> DeviceFacts {
        DeviceFacts {
            name: self.name.clone(),
            is_cpu: false,
            compute_units: self.multiprocessors,
            max_group: self.max_group,
            local_memory_bytes: LOCAL_MEMORY_BYTES,
            max_parameter_bytes: PARAMETER_BYTES,
            max_allocation_bytes: self.memory_bytes,
            has_f64: true,
            cooperation: match self.is_cooperative {
                // A multiprocessor has 65,536 registers, of which each thread may then have 64.
                true => Cooperation::Waiting { groups: self.multiprocessors * 2, threads: 512, values: 32 },
                false => Cooperation::LastGroup,
            },
            compiler: compiler.into(),
        }
    }
}

fn get(ordinal: usize) -> Result<CUdevice, DriverError> {
    let ordinal = i32::try_from(ordinal).map_err(|_| DriverError(CUresult::CUDA_ERROR_INVALID_DEVICE))?;
    result::device::get(ordinal)
}

fn attribute(device: CUdevice, which: Attribute) -> Result<i32, DriverError> {
    // SAFETY: the device came from cuDeviceGet.
    unsafe { result::device::get_attribute(device, which) }
}

/// The newest CUDA that the driver serves: 13000 for 13.0.
fn driver_version() -> Result<i32, DriverError> {
    let mut version = 0;
    // SAFETY: the number is ours to write, and the library is loaded.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result()?;
    Ok(version)
}

/// A version as people write it.
pub(super) fn dotted(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}
