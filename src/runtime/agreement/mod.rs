//! Random kernels give the same bits on every runtime there is: integers, and the float operations that are correctly rounded.
//! `PROPTEST_CASES` makes more of them.

mod random;

use std::sync::Arc;

use lazuli_codegen::DType;
use lazuli_codegen::simt::ir::{Kernel, Param};
use lazuli_codegen::simt::{NOTE_BYTES, verify};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};

#[cfg(feature = "cuda")]
pub(super) use self::random::random_kernel;
use self::random::{GROUP, GROUPS};
use super::Runtime;
use super::explicit::{RawArg, RawGrid, RustKernelOptions};
use super::host::HostRuntime;
use crate::error::Result;

/// Devices beside the host.
fn others() -> Vec<(&'static str, Box<dyn Runtime>)> {
    #[cfg_attr(not(any(feature = "cuda", feature = "opencl")), allow(unused_mut, reason = "the host is alone"))]
    let mut others: Vec<(&'static str, Box<dyn Runtime>)> = Vec::new();
    #[cfg(feature = "opencl")]
    match super::opencl::OpenClRuntime::open(0, None) {
        Ok(runtime) => others.push(("opencl:0", Box::new(runtime))),
        Err(error) => println!("SKIP: {error}"),
    }
    #[cfg(feature = "cuda")]
    match super::cuda::CudaRuntime::open(0, None) {
        Ok(runtime) => others.push(("cuda:0", Box::new(runtime))),
        Err(error) => println!("SKIP: {error}"),
    }
    others
}

/// Runs a kernel over slices given as bytes and lengths, all scalars 0. Gives what the slices hold after it, and whether an
/// index was out of range.
fn run(
    runtime: &dyn Runtime,
    kernel: &Arc<Kernel>,
    checked: bool,
    slices: &[(Vec<u8>, u64)],
) -> Result<(Vec<Vec<u8>>, bool)> {
    let compiled = runtime.modules().rust_kernel(kernel, RustKernelOptions { checked, ..Default::default() })?;
    let mut memories = Vec::new();
    for (bytes, _) in slices {
        let memory = runtime.allocate(bytes.len())?;
        runtime.upload(bytes, &*memory, 0)?;
        memories.push(memory);
    }
    let note = runtime.allocate(NOTE_BYTES)?;
    runtime.clear(&*note, NOTE_BYTES)?;
    let lengths: Vec<[u8; 8]> = slices.iter().map(|(_, length)| length.to_ne_bytes()).collect();
    let mut arguments = Vec::new();
    for (memory, length) in memories.iter().zip(&lengths) {
        arguments.extend([RawArg::Memory(&**memory, 0), RawArg::Bytes(length)]);
    }
    if checked {
        arguments.push(RawArg::Memory(&*note, 0));
    }
    let grid = RawGrid { groups: [GROUPS, 1, 1], threads: [GROUP, 1, 1], local_bytes: 0 };
    let queue = runtime.queues().main_queue();
    runtime.modules().launch_grid(queue, &*compiled, &grid, &arguments)?;
    let mut noted = [0; NOTE_BYTES];
    runtime.download(&*note, 0, &mut noted)?;
    let mut found = Vec::new();
    for (memory, (bytes, _)) in memories.iter().zip(slices) {
        let mut held = vec![0; bytes.len()];
        runtime.download(&**memory, 0, &mut held)?;
        found.push(held);
    }
    Ok((found, noted.iter().any(|&byte| byte != 0)))
}

/// Bytes for the slices of a kernel, from a seed.
fn slices(kernel: &Kernel, mut state: u64) -> Vec<(Vec<u8>, u64)> {
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 24
    };
    let lengths = kernel.params.iter().filter_map(|param| match *param {
        Param::Slice { dtype, is_mut, .. } => Some((dtype, if is_mut { random::WRITTEN } else { random::READ })),
        Param::Scalar { .. } => None,
    });
    lengths
        .map(|(dtype, length)| {
            let element = |bits: u64| {
                // Numbers near 1, where most operations have something to do.
                let near = ((bits % 4096) as f32 - 2048.0) / 64.0;
                match dtype {
                    DType::Bool => vec![(bits % 2) as u8],
                    DType::F16 => half::f16::from_f32(near).to_ne_bytes().to_vec(),
                    DType::BF16 => half::bf16::from_f32(near).to_ne_bytes().to_vec(),
                    DType::F32 => near.to_ne_bytes().to_vec(),
                    DType::F64 => (f64::from(near) / 3.0).to_ne_bytes().to_vec(),
                    // Small ones and large ones.
                    _ => {
                        let number = if bits.is_multiple_of(2) { bits % 16 } else { bits << 20 ^ bits };
                        number.to_ne_bytes()[..dtype.size_bytes()].to_vec()
                    }
                }
            };
            ((0..length).flat_map(|_| element(next())).collect(), length)
        })
        .collect()
}

#[test]
fn random_kernels_agree() {
    let host = HostRuntime::new();
    let others = others();
    // Compiling takes PoCL a quarter of a second.
    let config = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => Config::default(),
        None => Config { cases: 20, ..Config::default() },
    };
    let mut runner = TestRunner::new(Config { failure_persistence: None, max_shrink_iters: 60, ..config });
    let cases = (any::<u64>(), 3usize..60, any::<bool>());
    let outcome = runner.run(&cases, |(seed, size, checked)| {
        let kernel = Arc::new(random::random_kernel(seed, size, checked));
        verify(&kernel).map_err(TestCaseError::fail)?;
        let given = slices(&kernel, seed);
        let wanted = run(&host, &kernel, checked, &given).map_err(|error| TestCaseError::fail(error.to_string()))?;
        for (name, runtime) in &others {
            let found = run(&**runtime, &kernel, checked, &given);
            let found = found.map_err(|error| TestCaseError::fail(format!("{name}: {error}")))?;
            prop_assert_eq!(wanted.1, found.1, "{}: an index was out of range on one of them", name);
            for (number, (wanted, found)) in wanted.0.iter().zip(&found.0).enumerate() {
                let differs = wanted.iter().zip(found).position(|(a, b)| a != b);
                prop_assert!(differs.is_none(), "{}: slice {} differs at byte {:?}", name, number, differs);
            }
        }
        Ok(())
    });
    if let Err(TestError::Fail(why, (seed, size, checked))) = &outcome {
        let kernel = Arc::new(random::random_kernel(*seed, *size, *checked));
        let source = host.modules_source(&kernel);
        panic!("{why}\nrandom_kernel({seed}, {size}, {checked}):\n{source}");
    }
    outcome.unwrap();
}

impl HostRuntime {
    /// A kernel in C.
    fn modules_source(&self, kernel: &Arc<Kernel>) -> String {
        let compiled = self.modules().rust_kernel(kernel, RustKernelOptions::default());
        compiled.ok().and_then(|kernel| kernel.source().map(String::from)).unwrap_or_default()
    }
}
