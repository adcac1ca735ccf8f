//! What a call costs on this side of the driver, stage by stage, over a runtime that does nothing:
//! `cargo test --release --lib dispatch_cost -- --ignored --nocapture`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use lazuli_codegen::{DeviceFacts, Kernel, Schedule};

use crate::error::Result;
use crate::evaluate;
use crate::graph::Storage;
use crate::graph::canonical::canonicalize;
use crate::runtime::explicit::{Modules, Queues};
use crate::runtime::host::HostRuntime;
use crate::runtime::{Executable, LaunchArgs, Memory, Runtime};
use crate::{Array, Config, Device};

/// A GPU to the stages before it: no kernel is emitted, and no launch does anything.
struct Null {
    facts: DeviceFacts,
    /// Its queues are the host's; nothing measured here comes by them.
    host: HostRuntime,
}

struct NullMemory(usize);

impl Memory for NullMemory {
    fn bytes(&self) -> usize {
        self.0
    }
}

struct NullExecutable;

impl Executable for NullExecutable {
    fn source(&self) -> &str {
        ""
    }
}

impl Runtime for Null {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        Ok(Box::new(NullMemory(bytes)))
    }

    fn upload(&self, _: &[u8], _: &dyn Memory, _: usize) -> Result<()> {
        Ok(())
    }

    fn download(&self, _: &dyn Memory, _: usize, _: &mut [u8]) -> Result<()> {
        Ok(())
    }

    fn clear(&self, _: &dyn Memory, _: usize) -> Result<()> {
        Ok(())
    }

    fn compile(&self, _: &Arc<Kernel>, _: Schedule, _: bool) -> Result<Arc<dyn Executable>> {
        Ok(Arc::new(NullExecutable))
    }

    fn launch(&self, executable: &dyn Executable, arguments: &LaunchArgs) -> Result<()> {
        black_box((executable, arguments.buffers, arguments.sizes, arguments.scalars));
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn queues(&self) -> &dyn Queues {
        self.host.queues()
    }

    fn modules(&self) -> &dyn Modules {
        unreachable!("nothing here compiles a module")
    }
}

fn device() -> Result<Device> {
    let facts = DeviceFacts {
        name: "null".into(),
        is_cpu: false,
        compute_units: 132,
        max_group: 1024,
        local_memory_bytes: 48 << 10,
        max_parameter_bytes: 4096,
        max_allocation_bytes: 1 << 37,
        has_f64: true,
        cooperation: lazuli_codegen::Cooperation::None,
        compiler: "none".into(),
    };
    let runtime = Null { facts, host: HostRuntime::new() };
    Ok(Device::new("null".into(), Arc::new(runtime), Vec::new(), Config::default()))
}

/// Operations that `chain10` records, constants left out.
const OPERATIONS: f64 = 12.0;

fn chain10(a: &Array<f32>, b: &Array<f32>) -> Array<f32> {
    let x = a * 2.0 + b;
    let x = x * a - b * 0.5;
    let x = &x * &x + a;
    let x = (x.abs() + 1.0).sqrt();
    x * b - a
}

/// Nanoseconds a call, the least of several batches: what the machine's other users add is no cost of ours.
fn nanoseconds(mut call: impl FnMut()) -> f64 {
    const CALLS: usize = 2000;
    let batch = |call: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| call());
        start.elapsed().as_secs_f64() * 1e9 / CALLS as f64
    };
    batch(&mut call);
    (0..40).map(|_| batch(&mut call)).fold(f64::INFINITY, f64::min)
}

#[test]
#[ignore = "prints times"]
fn stages() -> Result<()> {
    let device = device()?;
    let (a, b) = (device.from_slice(&[1.0f32; 1000])?, device.from_slice(&[2.0f32; 1000])?);
    let recorded = chain10(&a, &b);
    let roots = [recorded.node().clone()];
    let graph = canonicalize(&roots)?;
    let plan = evaluate::plan(&device, &graph)?;

    let record = nanoseconds(|| drop(black_box(chain10(&a, &b))));
    let walk = nanoseconds(|| canonicalize(&roots).map_or((), |graph| black_box(graph).recycle()));
    let look_up = nanoseconds(|| drop(black_box(evaluate::plan(&device, &graph))));
    let run = nanoseconds(|| drop(black_box(evaluate::run(&device, &plan, &graph))));
    let whole = nanoseconds(|| {
        let x = chain10(&a, &b);
        drop(black_box(x.eval()));
    });
    let pool = nanoseconds(|| drop(black_box(device.allocate(4000).map(|block| block.bytes()))));
    println!("record and drop  {record:7.0} ns, {:.0} an operation", record / OPERATIONS);
    println!("canonical form   {walk:7.0} ns");
    println!("plan lookup      {look_up:7.0} ns");
    println!("run              {run:7.0} ns, of which the pool {pool:.0}");
    println!("a whole call     {whole:7.0} ns");
    Ok(())
}
