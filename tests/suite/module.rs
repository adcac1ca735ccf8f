//! Modules: sources in the device's own language and in the portable one, what is in them, and what must not be.

use std::sync::Arc;

use lazuli::prelude::*;
use lazuli::{Buffer, Error, Function, Language, LocalMem, MemFlags, Module, Struct, args};

use super::common::{Folder, named, names, open, skip};

/// Runs the body on each device under test that compiles source text.
pub fn on_compilers(body: impl Fn(&Device)) {
    for name in names() {
        if name == "host" {
            continue; // Tested by itself.
        }
        let device = open(name, Config::default());
        named(name, || body(&device));
    }
}

fn is_cuda(device: &Device) -> bool {
    device.name().starts_with("cuda")
}

/// A function of a portable source.
pub fn portable(device: &Device, name: &str, source: &str) -> Function {
    let module = Module::builder(device).language(Language::Portable).name("test.c").source(source);
    module.and_then(|module| module.function(name)).unwrap_or_else(|error| panic!("{error}"))
}

/// y = a * x + y.
pub const SAXPY: &str = "KERNEL saxpy(f32 a, GLOBAL const f32 *x, GLOBAL f32 *y, u32 n) {
    if (INDEX_X < n) y[INDEX_X] = a * x[INDEX_X] + y[INDEX_X];
}";

#[test]
fn a_source_in_the_devices_own_language_runs() {
    on_compilers(|device| {
        let source = match is_cuda(device) {
            true => "__global__ void twice(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2.0f; }",
            false => "__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2.0f; }",
        };
        let module = Module::new(device, source).unwrap();
        let mut x = device.from_slice(&[1.0f32, 2.0, 3.0, 4.0]).unwrap();
        module.function("twice").unwrap().call(args![&mut x]).launch(2, 2).unwrap();
        assert_eq!(x.get().unwrap().as_slice(), Some(&[2.0, 4.0, 6.0, 8.0][..]));
        assert!(module.function("twice").unwrap().source().is_some_and(|text| text.contains(source)));
    });
}

#[test]
fn one_portable_source_runs_on_both() {
    on_compilers(|device| {
        let x = device.from_slice(&[1.0f32, 2.0, 3.0]).unwrap();
        let mut y = device.from_slice(&[10.0f32, 20.0, 30.0]).unwrap();
        portable(device, "saxpy", SAXPY).call(args![2.0f32, &x, &mut y, 3u32]).forall(3).unwrap();
        assert_eq!(y.get().unwrap().as_slice(), Some(&[12.0, 24.0, 36.0][..]));
    });
}

/// Every word of the portable language that is not in the other tests.
#[test]
fn the_words_of_the_portable_language_mean_the_same_everywhere() {
    let source = include_str!("words.c");
    #[derive(Clone, Copy, bytemuck::NoUninit)]
    #[repr(C)]
    struct Pair {
        low: u32,
        high: u32,
    }
    on_compilers(|device| {
        let module = Module::builder(device).language(Language::Portable).name("words.c").source(source).unwrap();
        let function = |name: &str| module.function(name).unwrap();

        let mut out = device.zeros::<u32>([2 * 3 * 2 * 4 * 2 * 2]);
        function("where").call(args![&mut out]).launch([2, 3, 2], [4, 2, 2]).unwrap();
        let right: Vec<u32> = (0..out.len() as u32).collect();
        assert_eq!(out.get().unwrap().as_slice(), Some(&right[..]));

        let x = device.from_slice(&(0..128).collect::<Vec<i32>>()).unwrap();
        let mut y = device.from_slice(&[0i32; 128]).unwrap();
        function("reversed").call(args![&x, &mut y]).launch(2, 64).unwrap();
        let steps = [1, 10, 100];
        let in_group = |at: i32| at / 64 * 64 + 63 - at % 64;
        let right: Vec<i32> = (0..128).map(|at| in_group(at) + steps[(63 - at as usize % 64) % 3]).collect();
        assert_eq!(y.get().unwrap().as_slice(), Some(&right[..]));
        let tile = LocalMem::<i32>::new(64);
        function("reversed_any").call(args![&x, &mut y, tile]).launch(2, 64).unwrap();
        assert_eq!(y.get().unwrap().as_slice(), Some(&(0..128).map(in_group).collect::<Vec<_>>()[..]));

        let mut counts = device.from_slice(&[0i32; 5]).unwrap();
        let mut bits = device.from_slice(&[0u32, u32::MAX, 0, 0]).unwrap();
        let mut sum = device.from_slice(&[0.0f32]).unwrap();
        function("counted").call(args![&mut counts, &mut bits, &mut sum]).launch(4, 32).unwrap();
        assert_eq!(counts.get().unwrap().as_slice(), Some(&[127 * 64, -128, -127, 127, 7][..]));
        assert_eq!(bits.get().unwrap().as_slice(), Some(&[u32::MAX, 0xffff_0000, 0, 9][..]));
        assert_eq!(sum.item().unwrap(), 64.0);

        let mut out = device.from_slice(&[0u64]).unwrap();
        let pair = Pair { low: 3, high: 5 };
        function("paired").call(args![Struct(&pair), &mut out]).launch(1, 1).unwrap();
        assert_eq!(out.item().unwrap(), 5 << 32 | 3);
    });
}

#[test]
fn options_folders_and_defines_reach_the_compiler() {
    let folder = Folder::new("module-include");
    std::fs::write(folder.0.join("offset.h"), "#define OFFSET 40\n").unwrap();
    on_compilers(|device| {
        let source = "#include \"offset.h\"
            #ifndef SWITCHED
            #error the option is missing
            #endif
            KERNEL fill(GLOBAL i32 *x) { x[INDEX_X] = TIMES(N) + OFFSET; }";
        let module = Module::builder(device)
            .language(Language::Portable)
            .option("-DSWITCHED")
            .include(&folder.0)
            .define("N", 3)
            .define("TIMES(x)", "(2 * (x))")
            .source(source)
            .unwrap();
        let mut x = device.from_slice(&[0i32]).unwrap();
        module.function("fill").unwrap().call(args![&mut x]).launch(1, 1).unwrap();
        assert_eq!(x.item().unwrap(), 46);
        let refused = Module::builder(device).language(Language::Portable).define("A\nB", 1).source("");
        assert!(matches!(refused, Err(Error::HostData { .. })), "{refused:?}");
    });
}

#[test]
fn a_misspelt_source_is_told_by_its_own_lines() {
    on_compilers(|device| {
        let source = "// The first line.\nKERNEL fill(GLOBAL i32 *x) {\n    x[INDEX_X] = mispelt;\n}\n";
        let builder = Module::builder(device).language(Language::Portable).name("fill.c").define("N", 3);
        let error = builder.option("-DUNUSED=1").source(source).unwrap_err();
        let Error::Compile { log, options, source_text, kernel, .. } = &error else { panic!("{error}") };
        assert!(log.contains("mispelt") && log.contains("x[INDEX_X] = mispelt;"), "{log}");
        assert!(log.contains("fill.c(3)") || log.contains("fill.c:3:"), "{log}");
        assert!(options.contains("-DUNUSED=1"), "{options}");
        assert_eq!((&**source_text, kernel.as_str()), (source, "fill.c"));
        // The device is as well as before.
        portable(device, "saxpy", SAXPY);
    });
}

#[test]
fn a_function_that_is_not_there_is_told_with_those_that_are() {
    on_compilers(|device| {
        let module = Module::builder(device).language(Language::Portable).name("two.c");
        let module = module.source("KERNEL one(GLOBAL i32 *x) {}\nKERNEL two(GLOBAL i32 *x) {}").unwrap();
        match module.function("three") {
            Err(Error::FunctionNotFound { name, module, mut available }) => {
                available.sort();
                assert_eq!((name.as_str(), module.as_str()), ("three", "two.c"));
                assert!(available == ["one", "two"] || (is_cuda(device) && available.is_empty()), "{available:?}");
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(module.function("one\0"), Err(Error::FunctionNotFound { .. })));
    });
}

#[test]
fn a_module_is_loaded_from_its_binary() {
    on_compilers(|device| {
        let module = Module::builder(device).language(Language::Portable).source(SAXPY).unwrap();
        let binary = module.binary().unwrap();
        assert!(!binary.is_empty());
        let again = Module::from_binary(device, &binary).unwrap();
        let x = device.from_slice(&[1.0f32]).unwrap();
        let mut y = device.from_slice(&[1.0f32]).unwrap();
        let function = again.function("saxpy").unwrap();
        assert_eq!(function.source(), None);
        function.call(args![3.0f32, &x, &mut y, 1u32]).forall(1).unwrap();
        assert_eq!(y.item().unwrap(), 4.0);
        for damaged in [&b""[..], b"not a binary", &binary[..binary.len() / 2]] {
            let refused = Module::from_binary(device, damaged);
            assert!(refused.is_err(), "{} bytes of {}", damaged.len(), binary.len());
        }
    });
}

#[test]
fn compiled_modules_are_kept_on_disk_under_all_they_depend_on() {
    let folder = Folder::new("module-store");
    for name in names().iter().filter(|name| *name != "host") {
        let output = super::common::in_a_process(
            "module::kept_on_disk",
            &[
                ("LAZULI_CACHE_DIR", folder.0.join(name).to_str().unwrap()),
                ("LAZULI_CACHE", "on"),
                ("LAZULI_TEST_DEVICES", name),
            ],
        );
        super::common::assert_passed(&output);
    }
}

#[test]
#[ignore = "run by the test above, in a process of its own"]
fn kept_on_disk() {
    let name = &names()[0];
    let folder = Folder::new("module-kept");
    let write = |value: u32| std::fs::write(folder.0.join("value.h"), format!("#define VALUE {value}\n")).unwrap();
    let run = |source: &str| {
        let device = Device::open(name, Config::default()).unwrap();
        let before = device.counters();
        let builder = Module::builder(&device).language(Language::Portable).include(&folder.0);
        let module = builder.source(source).unwrap();
        let mut x = device.from_slice(&[0u32]).unwrap();
        module.function("fill").unwrap().call(args![&mut x]).launch(1, 1).unwrap();
        let after = device.counters();
        assert_eq!(module.is_from_disk(), after.disk_hits > before.disk_hits);
        let counted = (after.compiles - before.compiles, after.disk_hits - before.disk_hits);
        (x.item().unwrap(), counted)
    };
    let (compiled, kept) = ((1, 0), (0, 1));
    let source = "#include \"value.h\"\nKERNEL fill(GLOBAL u32 *x) { x[0] = VALUE; }";
    write(1);
    assert_eq!([run(source), run(source)], [(1, compiled), (1, kept)]);
    write(2);
    assert_eq!([run(source), run(source)], [(2, compiled), (2, kept)], "another content is another module");
    let unclear = "#define FILE \"value.h\"\n#include FILE\nKERNEL fill(GLOBAL u32 *x) { x[0] = VALUE; }";
    assert_eq!([run(unclear), run(unclear)], [(2, compiled), (2, compiled)], "a file that is not known is not trusted");
}

#[test]
fn attributes_are_told() {
    on_compilers(|device| {
        let source = "KERNEL tiled(GLOBAL f32 *x) { SHARED f32 tile[256]; tile[THREAD_X] = x[INDEX_X]; BARRIER;
            x[INDEX_X] = tile[GROUP_SIZE_X - 1 - THREAD_X]; }";
        let function = portable(device, "tiled", source);
        let attributes = function.attributes().unwrap();
        assert!(attributes.max_threads >= 256 && attributes.preferred_multiple >= 1, "{attributes:?}");
        assert!(attributes.local_bytes >= 1024 || !is_cuda(device), "{attributes:?}");
        assert!(function.suggested_threads().unwrap() <= attributes.max_threads);
        assert_eq!(attributes.registers.is_some(), is_cuda(device));
        match function.occupancy(256, 0) {
            Ok(occupancy) => {
                assert!(is_cuda(device) && occupancy.groups >= 1 && occupancy.threads == occupancy.groups * 256);
                assert!(occupancy.fraction.is_some_and(|fraction| fraction > 0.0 && fraction <= 1.0), "{occupancy:?}");
            }
            Err(error) => assert!(!is_cuda(device) && matches!(error, Error::Unsupported { .. }), "{error}"),
        }
    });
}

#[test]
fn variables_of_a_module_are_typed_memory_on_cuda_and_refused_elsewhere() {
    on_compilers(|device| {
        if !is_cuda(device) {
            let module = Module::new(device, "__kernel void f(__global float *x) {}").unwrap();
            let refused = module.global::<f32>("table").map(|global| global.len());
            assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
            return;
        }
        let source = "__constant__ float table[4]; __device__ int count;
            __global__ void look_up(float *x) { x[threadIdx.x] = table[threadIdx.x]; atomicAdd(&count, 1); }";
        let module = Module::new(device, source).unwrap();
        let (table, count) = (module.global::<f32>("table").unwrap(), module.global::<i32>("count").unwrap());
        assert_eq!((table.len(), count.len()), (4, 1));
        table.write(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        let mut x = device.from_slice(&[0.0f32; 4]).unwrap();
        module.function("look_up").unwrap().call(args![&mut x]).launch(1, 4).unwrap();
        drop(module);
        assert_eq!(x.get().unwrap().as_slice(), Some(&[1.0, 2.0, 3.0, 4.0][..]));
        assert_eq!((table.read().unwrap(), count.read().unwrap()), (vec![1.0, 2.0, 3.0, 4.0], vec![4]));
        assert!(matches!(table.write(&[1.0]), Err(Error::HostData { .. })));
        let module = Module::new(device, source).unwrap();
        assert!(matches!(module.global::<f32>("nowhere").map(|_| ()), Err(Error::FunctionNotFound { .. })));
        let large = module.global::<f64>("count").map(|_| ());
        assert!(matches!(large, Err(Error::HostData { .. })), "{large:?}");
    });
}

#[test]
fn templates_are_named_by_expressions_on_cuda_and_ptx_is_loaded() {
    on_compilers(|device| {
        let source = "template <typename T> __global__ void fill(T *x, T value) { x[threadIdx.x] = value; }";
        let module = Module::builder(device).language(Language::CudaC).expression("fill<float>").source(source);
        if !is_cuda(device) {
            assert!(matches!(module, Err(Error::Unsupported { .. })), "{module:?}");
            let ptx = Module::from_ptx(device, ".version 8.0");
            assert!(matches!(ptx, Err(Error::Unsupported { .. })), "{ptx:?}");
            return;
        }
        let mut x = device.from_slice(&[0.0f32; 2]).unwrap();
        module.unwrap().function("fill<float>").unwrap().call(args![&mut x, 3.0f32]).launch(1, 2).unwrap();
        assert_eq!(x.get().unwrap().as_slice(), Some(&[3.0, 3.0][..]));
        let builder = Module::builder(device).option("--gpu-architecture=compute_75");
        let ptx = builder.source("__global__ void one(float *x) { *x = 1.0f; }").unwrap().binary().unwrap();
        let ptx = String::from_utf8(ptx).unwrap();
        let module = Module::from_ptx(device, ptx.trim_end_matches('\0')).unwrap();
        module.function("one").unwrap().call(args![&mut x]).launch(1, 1).unwrap();
        assert_eq!(x.get().unwrap().as_slice(), Some(&[1.0, 3.0][..]));
        let misspelt = Module::from_ptx(device, &ptx.trim_end_matches('\0').replace("st.", "mispelt."));
        assert!(matches!(&misspelt, Err(Error::Compile { log, .. }) if log.contains("mispelt")), "{misspelt:?}");
    });
}

#[test]
fn the_host_says_what_to_use_instead() {
    let host = Device::host().unwrap();
    for refused in [
        Module::new(&host, "").map(|_| ()),
        Module::builder(&host).language(Language::Portable).source(SAXPY).map(|_| ()),
        Module::from_ptx(&host, "").map(|_| ()),
        Module::from_binary(&host, b"").map(|_| ()),
    ] {
        let told = refused.unwrap_err().to_string();
        assert!(told.starts_with("host") && told.contains("#[lazuli::kernel]"), "{told}");
    }
}

#[test]
fn another_devices_language_is_refused() {
    on_compilers(|device| {
        let other = if is_cuda(device) { Language::OpenClC } else { Language::CudaC };
        let told = Module::builder(device).language(other).source("").unwrap_err().to_string();
        assert!(told.contains(other.name()) && told.contains("Portable"), "{told}");
    });
}

#[test]
fn a_module_is_used_from_several_threads() {
    on_compilers(|device| {
        let function = Arc::new(portable(device, "saxpy", SAXPY));
        std::thread::scope(|scope| {
            for number in 0..4u8 {
                let function = function.clone();
                scope.spawn(move || {
                    for round in 0..50u8 {
                        let (a, n) = (f32::from(number) + f32::from(round), 1000);
                        let x = device.from_slice(&vec![2.0f32; n]).unwrap();
                        let mut y = device.from_slice(&vec![1.0f32; n]).unwrap();
                        function.call(args![a, &x, &mut y, n as u32]).forall(n).unwrap();
                        assert!(y.get().unwrap().iter().all(|y| *y == 2.0 * a + 1.0));
                    }
                });
            }
        });
    });
}

#[test]
fn buffers_are_arguments_and_keep_to_their_flags() {
    on_compilers(|device| {
        let function = portable(device, "saxpy", SAXPY);
        let buffer = |flags: MemFlags, values: &[f32]| {
            Buffer::from_slice(device, flags | MemFlags::COPY_HOST_PTR, values).unwrap()
        };
        let (x, mut y) = (buffer(MemFlags::READ_ONLY, &[1.0, 2.0]), buffer(MemFlags::READ_WRITE, &[1.0, 1.0]));
        let before = y.to_array([2]).unwrap();
        function.call(args![2.0f32, &x, &mut y, 2u32]).forall(2).unwrap();
        let mut host = [0.0; 2];
        y.copy_to_host(&mut host).unwrap();
        assert_eq!(host, [3.0, 5.0]);
        assert_eq!(before.get().unwrap().as_slice(), Some(&[1.0, 1.0][..]), "the array keeps its value");
        let mut read_only = buffer(MemFlags::READ_ONLY, &[0.0; 2]);
        let told = function.call(args![2.0f32, &x, &mut read_only, 2u32]).forall(2).unwrap_err().to_string();
        assert!(told.contains("saxpy") && told.contains("argument 2") && told.contains("READ_ONLY"), "{told}");
        let write_only = buffer(MemFlags::WRITE_ONLY, &[0.0; 2]);
        let told = function.call(args![2.0f32, &write_only, &mut y, 2u32]).forall(2).unwrap_err().to_string();
        assert!(told.contains("argument 1") && told.contains("WRITE_ONLY"), "{told}");
    });
    if names().iter().all(|name| name == "host") {
        skip("module", "no device that compiles source text");
    }
}
