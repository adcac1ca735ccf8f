//! What became of a kernel written in Rust.

use crate::device::Device;
use crate::error::Result;
use crate::launch::{KernelDefinition, RustSource};
use crate::runtime::explicit::KernelAttributes;

/// The text that the device's compiler sees, or the host's printed form.
#[doc(hidden)]
pub fn source<K: KernelDefinition>(device: &Device) -> Result<String> {
    RustSource::of::<K>().source(device)
}

/// What the compiler tells of the kernel.
#[doc(hidden)]
pub fn attributes<K: KernelDefinition>(device: &Device) -> Result<KernelAttributes> {
    RustSource::of::<K>().compiled(device)?.raw.attributes()
}
