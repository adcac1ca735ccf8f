//! Settings of one opened device.

/// Operations past which a kernel is cut whatever the settings say.
pub(crate) const MOST_OPERATIONS: usize = 256;

/// How a device fuses, compiles and caches. The default is what nearly everyone wants.
///
/// ```
/// let config = lazuli::Config::default().with_fusion(false);
/// let device = lazuli::Device::open("host", config)?;
/// # Ok::<(), lazuli::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Off: every operation launches a kernel of its own and stores its result. The bits are the same either way.
    pub fusion: bool,
    /// On: the compiler may contract `a * b + c` into a fused multiply-add, which rounds once; fused and unfused runs may
    /// then differ. On the host, which never contracts, it changes nothing.
    pub contraction: bool,
    /// Compiled kernels kept.
    pub kernel_cache: usize,
    /// Plans kept.
    pub plan_cache: usize,
    /// Operations one kernel may hold before it is cut; 256 at the most.
    pub max_operations: usize,
    /// On: compiled kernels are kept on disk too, in the user's cache folder, for the next process. The environment
    /// variable `LAZULI_CACHE=off` turns it off for all devices, `LAZULI_CACHE_DIR` names another folder, and
    /// `LAZULI_CACHE_BYTES` bounds it (256 MiB). A folder that cannot be used is no error.
    pub disk_cache: bool,
    /// Whether kernels written in Rust check their indices. One out of range then reads zero or writes nothing, and the launch
    /// gives [`Error::KernelIndex`](crate::Error::KernelIndex), for which it waits. `None`: always on CPUs, where such an
    /// access could end the process; on GPUs in builds with debug assertions only.
    pub checked_kernels: Option<bool>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            fusion: true,
            contraction: false,
            kernel_cache: 512,
            plan_cache: 1024,
            max_operations: 128,
            disk_cache: true,
            checked_kernels: None,
        }
    }
}

impl Config {
    /// The same settings with fusion on or off.
    pub fn with_fusion(self, fusion: bool) -> Self {
        Self { fusion, ..self }
    }

    /// The same settings with contraction on or off.
    pub fn with_contraction(self, contraction: bool) -> Self {
        Self { contraction, ..self }
    }

    /// The same settings with room for so many compiled kernels (at least one).
    pub fn with_kernel_cache(self, kernel_cache: usize) -> Self {
        Self { kernel_cache: kernel_cache.max(1), ..self }
    }

    /// The same settings with room for so many plans (at least one).
    pub fn with_plan_cache(self, plan_cache: usize) -> Self {
        Self { plan_cache: plan_cache.max(1), ..self }
    }

    /// The same settings with so many operations a kernel at most (1 to 256).
    pub fn with_max_operations(self, max_operations: usize) -> Self {
        Self { max_operations: max_operations.max(1), ..self }
    }

    /// The same settings with compiled kernels kept on disk or not.
    pub fn with_disk_cache(self, disk_cache: bool) -> Self {
        Self { disk_cache, ..self }
    }

    /// The same settings with the indices of kernels written in Rust checked or not, on every device.
    pub fn with_checked_kernels(self, checked: bool) -> Self {
        Self { checked_kernels: Some(checked), ..self }
    }
}
