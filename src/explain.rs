//! What an evaluation will launch, for people to read.

use std::fmt;

use crate::device::Device;
use crate::error::{Place, Result};
use crate::graph::op::Call;
use crate::plan::Plan;

/// The kernels of an evaluation, why each begins, what it moves, and its source. Printed with `Display`.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The device.
    pub device: String,
    /// The kernels, in the order of their launch.
    pub kernels: Vec<KernelExplanation>,
    /// Bytes that must move at the least: each input read once, each result written once.
    pub least_bytes: u64,
}

/// One kernel of an [`Explanation`].
#[derive(Clone, Debug)]
pub struct KernelExplanation {
    /// Its name.
    pub name: String,
    /// Why it begins where it does.
    pub reason: String,
    /// The line that recorded its result, as `file:line:column`.
    pub at: String,
    /// Operations in it, each counted once.
    pub operations: usize,
    /// Bytes it reads and writes, each buffer once.
    pub bytes: u64,
    /// How its threads share the work.
    pub schedule: String,
    /// The source it is compiled from; on the host, its kernel IR.
    pub source: String,
}

impl Explanation {
    /// Nothing is launched.
    pub(crate) fn nothing(device: &Device) -> Self {
        Self { device: device.to_string(), kernels: Vec::new(), least_bytes: 0 }
    }

    /// Adds the kernels of a plan.
    pub(crate) fn add(&mut self, plan: &Plan) {
        let kernels = plan.steps.iter().map(|step| KernelExplanation {
            name: step.kernel.name.clone(),
            reason: step.reason.to_string(),
            at: step.at.to_string(),
            operations: step.kernel.operation_count(),
            bytes: step.bytes,
            schedule: step.schedule.to_string(),
            source: step.executable.source().to_string(),
        });
        self.kernels.extend(kernels);
        self.least_bytes += plan.least_bytes;
    }

    /// Adds a launch of a kernel that the user wrote. What it does in it is not known.
    pub(crate) fn add_launch(&mut self, call: &dyn Call, at: Place) -> Result<()> {
        self.kernels.push(KernelExplanation {
            name: call.name().to_string(),
            reason: "it is a kernel that you wrote".to_string(),
            at: at.to_string(),
            operations: 0,
            bytes: 0,
            schedule: "over the grid that it was recorded with".to_string(),
            source: call.source()?,
        });
        Ok(())
    }

    /// Bytes that all the kernels read and write.
    pub fn bytes(&self) -> u64 {
        self.kernels.iter().map(|kernel| kernel.bytes).sum()
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let count = self.kernels.len();
        writeln!(f, "{count} kernel{} on {}", plural(count), self.device)?;
        if count == 0 {
            return writeln!(f, "  the value is on the device already");
        }
        let (bytes, least) = (self.bytes(), self.least_bytes.max(1));
        let times = bytes as f64 / least as f64;
        writeln!(f, "moves {} of {} that must move ({times:.2} times)", Bytes(bytes), Bytes(self.least_bytes))?;
        for (number, kernel) in self.kernels.iter().enumerate() {
            let number = number + 1;
            writeln!(f, "\nkernel {number}: {}", kernel.name)?;
            writeln!(f, "  starts here because {}", kernel.reason)?;
            writeln!(f, "  recorded at {}", kernel.at)?;
            writeln!(f, "  {} operation{}, {}", kernel.operations, plural(kernel.operations), Bytes(kernel.bytes))?;
            writeln!(f, "  {}", kernel.schedule)?;
            for line in kernel.source.lines() {
                writeln!(f, "  | {line}")?;
            }
        }
        Ok(())
    }
}

/// A byte count for people.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes < 1 << 10 => write!(f, "{bytes} B"),
            bytes if bytes < 1 << 20 => write!(f, "{:.1} KiB", bytes as f64 / 1024.0),
            bytes if bytes < 1 << 30 => write!(f, "{:.1} MiB", bytes as f64 / (1 << 20) as f64),
            bytes => write!(f, "{:.2} GiB", bytes as f64 / (1u64 << 30) as f64),
        }
    }
}
