//! Modules: kernels in the device's own language, compiled at run time.

use std::sync::Arc;

use crate::device::Device;
use crate::runtime::explicit::RawKernel;

/// A function of a module, as launches hold it.
#[derive(Clone)]
pub(crate) struct FunctionOf {
    pub name: String,
    pub device: Device,
    pub kernel: Arc<dyn RawKernel>,
}
