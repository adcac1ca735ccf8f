//! On whatever OpenCL device is number 0; skipped, aloud, where there is none.

use lazuli_codegen::{DType, Grid, IndexWidth, Scalar};

use super::*;

const SCALE: &str = r"
kernel void scale(global const float *x, global float *y, const int n, const float factor, const uchar negate) {
    const int i = (int)get_global_id(0);
    if (i < n) y[i] = negate ? -(x[i] * factor) : x[i] * factor;
}";

fn device() -> Option<OpenClRuntime> {
    match OpenClRuntime::open(0, None) {
        Ok(runtime) => Some(runtime),
        Err(error @ Error::DeviceNotFound { .. }) => {
            println!("SKIP: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn scale(runtime: &OpenClRuntime) -> OpenClExecutable {
    let source =
        SourceText { text: SCALE, entry: "scale", name: "scale_f32", index: IndexWidth::I32, standard: Standard::V1_2 };
    runtime.compile_source(&source).unwrap()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_ne_bytes(four.try_into().unwrap())).collect()
}

fn bytes(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|float| float.to_ne_bytes()).collect()
}

fn line(groups: u64, group: u32) -> Grid {
    Grid { groups: [groups, 1, 1], group: [group, 1, 1] }
}

#[test]
fn bytes_survive_upload_and_download() {
    let Some(runtime) = device() else { return };
    let data: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    let first = runtime.allocate(10_000).unwrap();
    runtime.upload(&data[..5_000], &*first, 0).unwrap();
    runtime.upload(&data[5_000..], &*first, 5_000).unwrap();
    let mut back = vec![0; 9_999];
    runtime.download(&*first, 1, &mut back).unwrap();
    assert_eq!(back, data[1..]);
    runtime.upload(&[], &*first, 10_000).unwrap();
    runtime.synchronize().unwrap();
    assert!(matches!(runtime.upload(&data, &*first, 1), Err(Error::Internal(_))));
}

#[test]
fn a_launch_takes_buffers_then_sizes_then_scalars() {
    let Some(runtime) = device() else { return };
    let kernel = scale(&runtime);
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let (input, output) = (runtime.allocate(4000).unwrap(), runtime.allocate(4000).unwrap());
    runtime.upload(&bytes(&x), &*input, 0).unwrap();
    let scalars = [Scalar::from_bits(DType::F32, u64::from(2.5f32.to_bits())), Scalar::from_bits(DType::Bool, 1)];
    let arguments = LaunchArgs { buffers: &[&*input, &*output], sizes: &[1000], scalars: &scalars, grid: line(16, 64) };
    runtime.launch(&kernel, &arguments).unwrap();
    let mut back = vec![0; 4000];
    runtime.download(&*output, 0, &mut back).unwrap();
    assert!(floats(&back).iter().zip(&x).all(|(y, x)| *y == -(x * 2.5)));
    assert!(kernel.source().contains("global const float *x"));
}

#[test]
fn mistakes_in_a_launch_are_errors() {
    let Some(runtime) = device() else { return };
    let kernel = scale(&runtime);
    let memory = runtime.allocate(4000).unwrap();
    let buffers: [&dyn Memory; 2] = [&*memory, &*memory];
    let factor = Scalar::from_bits(DType::F32, 0);
    let launch = |sizes: &[i64], scalars: &[Scalar], grid| {
        runtime.launch(&kernel, &LaunchArgs { buffers: &buffers, sizes, scalars, grid })
    };
    assert!(matches!(launch(&[1], &[factor], line(1, 1)), Err(Error::Internal(_))));
    assert!(matches!(launch(&[1 << 40], &[factor, factor], line(1, 1)), Err(Error::Internal(_))));
    let error = launch(&[1], &[factor, factor], line(1, 1)).unwrap_err();
    assert!(error.to_string().contains("CL_INVALID_ARG_SIZE"), "{error}");
    let negate = Scalar::from_bits(DType::Bool, 0);
    let error = launch(&[1], &[factor, negate], line(1, 1 << 30)).unwrap_err();
    assert!(matches!(error, Error::Driver { .. }), "{error}");
    launch(&[1], &[factor, negate], line(0, 64)).unwrap();
}

#[test]
fn two_grid_axes_are_launched() {
    let Some(runtime) = device() else { return };
    let text = "kernel void place(global long *y, const long columns) {
        y[get_global_id(1) * columns + get_global_id(0)] = get_global_id(1) * 100 + get_global_id(0);
    }";
    let source =
        SourceText { text, entry: "place", name: "place_i64", index: IndexWidth::I64, standard: Standard::V1_2 };
    let kernel = runtime.compile_source(&source).unwrap();
    let memory = runtime.allocate(8 * 8 * 6).unwrap();
    let grid = Grid { groups: [2, 3, 1], group: [4, 2, 1] };
    runtime.launch(&kernel, &LaunchArgs { buffers: &[&*memory], sizes: &[8], scalars: &[], grid }).unwrap();
    let mut back = vec![0; 8 * 8 * 6];
    runtime.download(&*memory, 0, &mut back).unwrap();
    let found: Vec<i64> = back.chunks_exact(8).map(|eight| i64::from_ne_bytes(eight.try_into().unwrap())).collect();
    let wanted: Vec<i64> = (0..6).flat_map(|y| (0..8).map(move |x| y * 100 + x)).collect();
    assert_eq!(found, wanted);
}

#[test]
fn threads_that_launch_one_kernel_do_not_mix_their_arguments() {
    let Some(runtime) = device() else { return };
    let kernel = scale(&runtime);
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let (runtime, kernel) = (&runtime, &kernel);
            scope.spawn(move || {
                let (input, output) = (runtime.allocate(4096).unwrap(), runtime.allocate(4096).unwrap());
                runtime.upload(&bytes(&[f32::from(thread); 1024]), &*input, 0).unwrap();
                for round in 0..50u8 {
                    let factor = f32::from(round);
                    let scalars =
                        [Scalar::from_bits(DType::F32, u64::from(factor.to_bits())), Scalar::from_bits(DType::Bool, 0)];
                    let buffers: [&dyn Memory; 2] = [&*input, &*output];
                    let arguments =
                        LaunchArgs { buffers: &buffers, sizes: &[1024], scalars: &scalars, grid: line(16, 64) };
                    runtime.launch(kernel, &arguments).unwrap();
                    let mut back = vec![0; 4096];
                    runtime.download(&*output, 0, &mut back).unwrap();
                    assert_eq!(floats(&back), vec![f32::from(thread) * factor; 1024]);
                }
            });
        }
    });
}

#[test]
fn a_source_that_does_not_compile_gives_log_options_and_source() {
    let Some(runtime) = device() else { return };
    let source = SourceText {
        text: "kernel void broken(global float *x) { x[0] = unheard_of; }",
        entry: "broken",
        name: "broken",
        index: IndexWidth::I32,
        standard: Standard::V1_2,
    };
    let Err(Error::Compile { log, options, source_text, .. }) = runtime.compile_source(&source) else {
        panic!("it should not compile")
    };
    assert!(log.contains("unheard_of"), "{log}");
    assert!(options.contains("-cl-std=CL1.2"), "{options}");
    assert_eq!(&*source_text, source.text);
    let misnamed =
        SourceText { text: SCALE, entry: "scales", name: "scales", index: IndexWidth::I32, standard: Standard::V1_2 };
    let error = runtime.compile_source(&misnamed).map(drop).unwrap_err();
    assert!(error.to_string().contains("CL_INVALID_KERNEL_NAME"), "{error}");
}

#[test]
fn an_absurd_allocation_is_out_of_memory() {
    let Some(runtime) = device() else { return };
    for bytes in [1usize << 40, usize::MAX] {
        let error = runtime.allocate(bytes).map(drop).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    }
    // Buffers not yet touched cost nothing on some drivers; more of them than the memory holds are refused all the same.
    let most = usize::try_from(runtime.facts().max_allocation_bytes).unwrap();
    let count = runtime.limits.global_memory_bytes / runtime.facts().max_allocation_bytes;
    let kept: Vec<_> = (0..count).map_while(|_| runtime.allocate(most).ok()).collect();
    assert!(kept.iter().map(|memory| memory.bytes() as u64).sum::<u64>() <= runtime.limits.global_memory_bytes);
    if kept.len() as u64 == count {
        let error = runtime.allocate(most).map(drop).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { live_bytes, .. } if live_bytes > 0), "{error}");
    }
}

#[test]
fn memory_of_another_runtime_is_refused() {
    let (Some(first), Some(second)) = (device(), device()) else { return };
    let memory = first.allocate(64).unwrap();
    assert!(matches!(second.upload(&[1], &*memory, 0), Err(Error::Internal(_))));
    drop(first);
    drop(memory); // It outlives its runtime.
}

#[test]
fn versions_are_read() {
    use super::platform::serves_1_2;
    assert!(serves_1_2("OpenCL 1.2 CUDA") && serves_1_2("OpenCL 3.0 PoCL 3.1") && serves_1_2("OpenCL 2.0"));
    assert!(!serves_1_2("OpenCL 1.1 old") && !serves_1_2("OpenCL") && !serves_1_2(""));
}

#[test]
fn facts_are_plausible() {
    let Some(runtime) = device() else { return };
    let facts = runtime.facts();
    println!("{facts:?} {}", runtime.limits.options);
    assert!(facts.compute_units > 0 && facts.max_group > 0 && facts.local_memory_bytes > 0);
    assert!(facts.max_parameter_bytes >= 1024 && facts.max_allocation_bytes > 1 << 20);
    assert!(facts.compiler.contains(&facts.name));
}
