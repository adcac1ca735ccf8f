//! On CUDA device number 0, and with NVRTC alone; skipped, aloud, where one is missing.

use lazuli_codegen::{DType, Grid, IndexWidth, Scalar};

use super::*;

const SCALE: &str = r#"
extern "C" __global__ void scale(const float *x, float *y, const int n, const float factor, const unsigned char negate) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = negate ? -(x[i] * factor) : x[i] * factor;
}"#;

fn device() -> Option<CudaRuntime> {
    if let Err(why) = libraries::require_nvrtc() {
        println!("SKIP: {why}");
        return None;
    }
    match CudaRuntime::open(0, None) {
        Ok(runtime) => Some(runtime),
        Err(error @ Error::DeviceNotFound { .. }) => {
            println!("SKIP: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn scale(runtime: &CudaRuntime) -> CudaExecutable {
    let scalars = vec![DType::F32, DType::Bool];
    let parameters = Parameters { buffers: 2, sizes: 1, index: IndexWidth::I32, scalars, waits: false };
    let source = SourceText { text: SCALE, entry: "scale", name: "scale_f32", parameters };
    runtime.compile_source(source, false).unwrap()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_ne_bytes(four.try_into().unwrap())).collect()
}

fn bytes(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|float| float.to_ne_bytes()).collect()
}

fn scalars(factor: f32, negate: bool) -> [Scalar; 2] {
    [Scalar::from_bits(DType::F32, u64::from(factor.to_bits())), Scalar::from_bits(DType::Bool, u64::from(negate))]
}

fn line(groups: u64, group: u32) -> Grid {
    Grid { groups: [groups, 1, 1], group: [group, 1, 1] }
}

#[test]
fn a_missing_driver_is_an_error_that_names_it() {
    match CudaRuntime::open(999, None).map(drop).unwrap_err() {
        Error::DeviceNotFound { name, looked_for } => {
            assert_eq!(name, "cuda:999");
            let all = looked_for.join("\n");
            assert!(all.contains("libcuda.so.1") || all.contains("cuda:0 is") || all.contains("no device"), "{all}");
        }
        error => panic!("{error}"),
    }
}

#[test]
fn bytes_survive_upload_and_download() {
    let Some(runtime) = device() else { return };
    // Small, odd, just one chunk, and many chunks with a rest.
    for count in [1, 10_001, 16 << 20, (40 << 20) + 77] {
        let data: Vec<u8> = (0..count).map(|i| (i * 7 + i / 251) as u8).collect();
        let first = runtime.allocate(count).unwrap();
        runtime.upload(&data[..count / 3], &*first, 0).unwrap();
        runtime.upload(&data[count / 3..], &*first, count / 3).unwrap();
        let mut back = vec![0; count - 1];
        runtime.download(&*first, 1, &mut back).unwrap();
        assert!(back == data[1..], "{count} bytes");
        assert!(matches!(runtime.upload(&data, &*first, 1), Err(Error::Internal(_))));
    }
    runtime.synchronize().unwrap();
}

#[test]
fn a_source_is_free_once_its_upload_is_back() {
    let Some(runtime) = device() else { return };
    let memory: Vec<_> = (0..50).map(|_| runtime.allocate(100_000).unwrap()).collect();
    let mut source = vec![0u8; 100_000];
    for (i, memory) in memory.iter().enumerate() {
        source.fill(i as u8);
        runtime.upload(&source, &**memory, 0).unwrap();
    }
    for (i, memory) in memory.iter().enumerate() {
        runtime.download(&**memory, 0, &mut source).unwrap();
        assert!(source.iter().all(|&byte| byte == i as u8));
    }
}

#[test]
fn a_launch_takes_buffers_then_sizes_then_scalars() {
    let Some(runtime) = device() else { return };
    let kernel = scale(&runtime);
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let (input, output) = (runtime.allocate(4000).unwrap(), runtime.allocate(4000).unwrap());
    runtime.upload(&bytes(&x), &*input, 0).unwrap();
    let scalars = scalars(2.5, true);
    let arguments = LaunchArgs { buffers: &[&*input, &*output], sizes: &[1000], scalars: &scalars, grid: line(16, 64) };
    runtime.launch(&kernel, &arguments).unwrap();
    let mut back = vec![0; 4000];
    runtime.download(&*output, 0, &mut back).unwrap();
    assert!(floats(&back).iter().zip(&x).all(|(y, x)| *y == -(x * 2.5)));
    assert_eq!(kernel.source(), SCALE);
}

#[test]
fn mistakes_in_a_launch_are_errors() {
    let Some(runtime) = device() else { return };
    let kernel = scale(&runtime);
    let memory = runtime.allocate(4000).unwrap();
    let buffers: [&dyn Memory; 2] = [&*memory, &*memory];
    let launch = |sizes: &[i64], scalars: &[Scalar], grid| {
        runtime.launch(&kernel, &LaunchArgs { buffers: &buffers, sizes, scalars, grid })
    };
    let good = scalars(1.0, false);
    assert!(matches!(launch(&[1], &good[..1], line(1, 1)), Err(Error::Internal(_))));
    assert!(matches!(launch(&[1 << 40], &good, line(1, 1)), Err(Error::Internal(_))));
    assert!(matches!(launch(&[1], &[good[0], good[0]], line(1, 1)), Err(Error::Internal(_))));
    assert!(matches!(launch(&[1], &good, line(1, 1 << 20)), Err(Error::Driver { .. })));
    assert!(matches!(launch(&[1], &good, line(1 << 40, 32)), Err(Error::Driver { .. })));
    launch(&[1], &good, line(0, 64)).unwrap();
    launch(&[1], &good, line(1, 64)).unwrap();
    runtime.synchronize().unwrap();
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
                    let scalars = scalars(factor, false);
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
    let parameters = Parameters { buffers: 1, sizes: 0, index: IndexWidth::I32, scalars: vec![], waits: false };
    let text = "extern \"C\" __global__ void broken(float *x) { x[0] = unheard_of; }";
    let source = SourceText { text, entry: "broken", name: "broken", parameters };
    let Err(Error::Compile { log, options, source_text, .. }) = runtime.compile_source(source, false) else {
        panic!("it should not compile")
    };
    assert!(log.contains("unheard_of"), "{log}");
    assert!(options.contains("--fmad=false"), "{options}");
    assert_eq!(&*source_text, text);
}

#[test]
fn an_absurd_allocation_is_out_of_memory_and_the_runtime_lives_on() {
    let Some(runtime) = device() else { return };
    for bytes in [1usize << 50, usize::MAX] {
        let error = runtime.allocate(bytes).map(drop).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    }
    let most = usize::try_from(runtime.facts().max_allocation_bytes).unwrap();
    let half = runtime.allocate(most / 2).unwrap();
    let error = runtime.allocate(most / 2 + most / 8).map(drop).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { live_bytes, .. } if live_bytes > 0), "{error}");
    drop(half);
    // What was freed serves again, though it lies in a piece that is too small.
    runtime.allocate(most / 2 + most / 8).map(drop).unwrap();
    bytes_survive_upload_and_download();
}

#[test]
fn memory_of_another_runtime_is_refused_and_outlives_its_own() {
    let (Some(first), Some(second)) = (device(), device()) else { return };
    let memory = first.allocate(64).unwrap();
    assert!(matches!(second.upload(&[1], &*memory, 0), Err(Error::Internal(_))));
    drop(first);
    drop(memory);
    second.synchronize().unwrap();
}

/// NVRTC needs no device, so its half is tested on machines without one too.
mod compiler {
    use lazuli_codegen::Dialect;

    use super::super::nvrtc::{Compiled, Release, Target, compile, compile_with};
    use super::*;
    use crate::module::{Language, Text, with_source_lines};

    fn found() -> bool {
        match libraries::require_nvrtc() {
            Ok(()) => true,
            Err(why) => {
                println!("SKIP: {why}");
                false
            }
        }
    }

    fn image(source: &str, architecture: u32, contraction: bool) -> Result<Vec<u8>, String> {
        compile(source, "scale", &Target::new(&Release::loaded(), architecture), contraction)
            .map_err(|failure| format!("{}\n{}", failure.options, failure.log))
    }

    #[test]
    fn a_known_architecture_gives_machine_code() {
        if !found() {
            return;
        }
        let cubin = image(SCALE, 90, false).unwrap();
        assert_eq!(&cubin[..4], b"\x7fELF");
        let release = Release::loaded();
        assert!(release.version.0 >= 12, "{release}");
        let target = Target::new(&release, 90);
        assert_eq!(target.option(), "--gpu-architecture=sm_90");
        assert!(target.fits(&cubin) && !target.fits(b"PTX\0"));
        let path = libraries::nvrtc_path();
        assert!(path.as_ref().is_some_and(|path| path.is_file()) || !cfg!(target_os = "linux"), "{path:?}");
    }

    #[test]
    fn an_architecture_yet_to_come_gives_ptx() {
        if !found() {
            return;
        }
        let ptx = image(SCALE, 999, true).unwrap();
        let text = String::from_utf8(ptx).unwrap();
        assert!(text.contains(".visible .entry scale") && text.ends_with('\0'), "{text}");
    }

    #[test]
    fn contraction_is_off_unless_asked_for() {
        if !found() {
            return;
        }
        let source = "extern \"C\" __global__ void scale(float *x) { x[0] = x[0] * x[1] + x[2]; }";
        let text = |contraction| String::from_utf8(image(source, 999, contraction).unwrap()).unwrap();
        assert!(text(true).contains("fma.rn.f32"));
        assert!(!text(false).contains("fma.rn.f32"));
    }

    #[test]
    fn a_log_names_the_line() {
        if !found() {
            return;
        }
        let log = image("\n\n__global__ void scale() { unheard_of(); }", 90, false).unwrap_err();
        assert!(log.contains("scale.cu(3)") && log.contains("unheard_of") && log.contains("--fmad=false"), "{log}");
    }

    /// A module's source as NVRTC is given it, for a GPU that is not here.
    fn module(source: &str, language: Language, is_extern_c: bool, expressions: &[&str]) -> Result<Compiled, String> {
        let text = Text {
            name: "module.cu",
            source,
            language,
            dialect: Dialect::CudaC,
            defines: &[("LIMIT".into(), "10".into())],
            is_extern_c,
            has_f64: true,
        };
        let options = ["--gpu-architecture=compute_90".to_string()];
        let expressions: Vec<String> = expressions.iter().map(|expression| expression.to_string()).collect();
        compile_with(&text.assemble(), "module.cu", &options, false, &expressions)
            .map_err(|failure| with_source_lines(&failure.log, "module.cu", source))
    }

    fn ptx(compiled: Compiled) -> String {
        String::from_utf8(compiled.image).unwrap()
    }

    #[test]
    fn the_portable_words_are_cuda_c() {
        if !found() {
            return;
        }
        let words = include_str!("../../../tests/suite/words.c");
        let compiled = ptx(module(words, Language::Portable, true, &[]).unwrap_or_else(|log| panic!("{log}")));
        for kernel in ["where", "reversed", "reversed_any", "counted", "paired"] {
            assert!(compiled.contains(&format!(".entry {kernel}(")), "{kernel}");
        }
        assert!(compiled.contains(".extern .shared"), "the array whose length the launch sets");
    }

    #[test]
    fn kernels_keep_their_names_and_templates_are_named_by_expressions() {
        if !found() {
            return;
        }
        let plain = "__global__ void fill(float *x) { x[0] = LIMIT; }";
        assert!(ptx(module(plain, Language::CudaC, true, &[]).unwrap()).contains(".entry fill("));
        assert!(!ptx(module(plain, Language::CudaC, false, &[]).unwrap()).contains(".entry fill("));
        let template = "template <typename T> __global__ void fill(T *x) { x[0] = LIMIT; }";
        let compiled = module(template, Language::CudaC, false, &["fill<float>", "fill<int>"]).unwrap();
        let lowered = compiled.lowered.clone();
        let text = ptx(compiled);
        assert_eq!(lowered.len(), 2);
        assert!(lowered.iter().all(|name| text.contains(&format!(".entry {name}("))), "{lowered:?}");
    }

    #[test]
    fn a_misspelt_module_is_told_by_its_own_lines() {
        if !found() {
            return;
        }
        let source = "// The first line.\n__global__ void fill(float *x) {\n    x[0] = mispelt;\n}";
        for (language, source) in [
            (Language::CudaC, source.to_string()),
            (Language::Portable, source.replace("__global__ void", "KERNEL").replace("float", "f32")),
        ] {
            let Err(log) = module(&source, language, true, &[]) else { panic!("it compiled") };
            assert!(log.contains("module.cu(3): error") && log.contains("x[0] = mispelt;"), "{log}");
            assert_eq!(log.matches("x[0] = mispelt;").count(), 1, "{log}");
        }
    }
}

/// What agrees on other devices (`agreement`) is CUDA C as well.
#[test]
fn random_kernels_are_accepted() {
    if let Err(why) = libraries::require_nvrtc() {
        return println!("SKIP: {why}");
    }
    let target = nvrtc::Target::new(&nvrtc::Release::loaded(), 90);
    for seed in 1..=40 {
        let checked = seed % 2 == 0;
        let kernel = crate::runtime::agreement::random_kernel(seed << 32, 50, checked);
        let options = lazuli_codegen::simt::emit::EmitOptions { checked, ..Default::default() };
        let source = lazuli_codegen::simt::emit(&kernel, Dialect::CudaC, &options);
        if let Err(failure) = nvrtc::compile(&source.text, &source.entry, &target, false) {
            panic!("random_kernel({} << 32, 50, {checked}):\n{}\n{}", seed, failure.log, source.text);
        }
    }
}
