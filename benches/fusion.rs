//! Fused against unfused, on the host and on an OpenCL device.
//!
//!     cargo bench --bench fusion
//!     LAZULI_BENCH_N=16777216 LAZULI_BENCH_DEVICES=host,opencl:0,cuda:0 cargo bench --bench fusion -- triad
//!
//! The throughput is the least traffic, each input read once and each output written once, over the time: what unfused
//! kernels move besides is what makes theirs lower.

#[path = "peers/inputs.rs"]
mod inputs;

#[path = "peers/workloads.rs"]
mod workloads;

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lazuli::{Config, Device};
use workloads::Scale;

fn fusion(criterion: &mut Criterion) {
    let n = std::env::var("LAZULI_BENCH_N").ok().map_or(1 << 22, |n| n.parse().expect("LAZULI_BENCH_N is a number"));
    let scale = Scale(n as f64 / (1 << 24) as f64);
    let devices = std::env::var("LAZULI_BENCH_DEVICES").unwrap_or_else(|_| "host,opencl:0".to_string());
    for name in devices.split(',').filter(|name| !name.is_empty()) {
        for (variant, fused) in [("fused", true), ("unfused", false)] {
            let device = match Device::open(name, Config::default().with_fusion(fused)) {
                Ok(device) => device,
                Err(error) => {
                    println!("SKIP {name}: {error}");
                    break;
                }
            };
            for workload in workloads::CPU {
                let inputs = workload.inputs(&device, scale).expect("inputs");
                let outputs = workload.record(&inputs);
                lazuli::eval(&outputs[..]).expect("a first evaluation");
                workload.check(&inputs, &outputs).expect("the right answer");
                let bytes = workload.floor_bytes(&inputs, &outputs);
                drop(outputs);
                let mut group = criterion.benchmark_group(format!("{}/{name}", workload.name));
                group.throughput(Throughput::Bytes(bytes));
                group.bench_function(BenchmarkId::new(variant, n), |bencher| {
                    bencher.iter(|| {
                        let outputs = workload.record(&inputs);
                        lazuli::eval(&outputs[..]).expect("an evaluation");
                        device.synchronize().expect("the device's work");
                        outputs
                    });
                });
                group.finish();
            }
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = fusion
}
criterion_main!(benches);
