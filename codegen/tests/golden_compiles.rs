//! Every golden kernel is accepted by the compiler it is meant for: NVRTC needs no GPU, and PoCL is an OpenCL on a CPU.

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
};

use common::{Builder, INNER, Reduction, at, group, nvrtc::Nvrtc, opencl::OpenCl, rows, simt, tree_of};
use lazuli_codegen::simt::{emit::EmitOptions as SimtOptions, verify};
use lazuli_codegen::{
    BinaryOp, DType, Dialect, EmitOptions, Expr, Kernel, ReduceOp, Schedule, Span, UnaryOp, Var, emit, verify_kernel,
};

fn golden(extension: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("golden folder").map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == extension));
    files.sort();
    files.into_iter().map(|file| (file.clone(), fs::read_to_string(file).expect("golden file"))).collect()
}

#[test]
fn opencl_accepts_every_golden_kernel() {
    let opencl = match OpenCl::open() {
        Ok(opencl) => opencl,
        Err(reason) => return println!("SKIP golden_compiles: {reason}"),
    };
    for (file, text) in golden("cl") {
        assert_eq!(opencl.build_log(&text), Ok(String::new()), "{}", file.display());
    }
}

#[test]
fn nvrtc_accepts_every_golden_kernel() {
    let nvrtc = match Nvrtc::open() {
        Ok(nvrtc) => nvrtc,
        Err(looked_for) => return println!("SKIP golden_compiles: no NVRTC (looked for {looked_for})"),
    };
    for (file, text) in golden("cu") {
        let ptx = nvrtc.ptx(&text).unwrap_or_else(|log| panic!("{}:\n{log}", file.display()));
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        // A CPU's schedule keeps whole rows; it is not for this compiler.
        if !name.ends_with("_cpu") {
            assert!(!ptx.contains(".local "), "{name} keeps an array out of registers");
        }
        if name == "triad_f32_x4" {
            assert!(ptx.contains("ld.global.nc.v4.f32") && ptx.contains("st.global.v4.f32"), "{ptx}");
        }
        if name == "softmax_block" {
            assert!(ptx.contains("ld.global.nc.v4.f32") && ptx.contains("st.global.v4.f32"), "{ptx}");
            assert_eq!(ptx.matches("bar.sync").count(), 4, "{ptx}");
        }
        if name == "row_norm_f32" {
            assert!(ptx.contains("ld.global.nc.v4.f32"), "{ptx}");
        }
    }
}

/// Every operation, cast and reduction that is defined on elements of a type.
fn every_operation(dtype: DType, schedule: &Schedule) -> Kernel {
    let mut k = Builder::new("every_operation");
    let (a, b) = (k.input(dtype), k.input(dtype));
    let (i, j) = (k.parallel(), k.axis());
    let pitch = k.size();
    let mut body = Vec::new();
    let here = at(None, &[(i, None)]);
    let (a_value, b_value) = (k.load(&mut body, a, &here, false), k.load(&mut body, b, &here, false));
    let mut results: Vec<Var> = Vec::new();
    for op in UnaryOp::ALL.into_iter().filter(|op| op.result(dtype).is_some()) {
        results.push(k.unary(&mut body, op, a_value));
    }
    for op in BinaryOp::ALL.into_iter().filter(|op| op.result(dtype).is_some()) {
        results.push(k.binary(&mut body, op, a_value, b_value));
    }
    for to in DType::ALL {
        results.push(k.value(&mut body, to, Expr::Cast(a_value)));
    }
    if dtype.is_float() {
        results.push(k.value(&mut body, dtype, Expr::MulAdd(a_value, b_value, a_value)));
    }
    let zero = k.value(&mut body, dtype, Expr::Zero);
    let is_less = k.binary(&mut body, BinaryOp::Lt, a_value, zero);
    results.push(k.value(&mut body, dtype, Expr::Select { condition: is_less, on_true: zero, on_false: b_value }));
    let tree = tree_of(schedule);
    for op in ReduceOp::BUILT_IN.into_iter().filter(|op| op.accepts(dtype)) {
        let mut inner = Vec::new();
        let value = k.load(&mut inner, a, &at(None, &[(i, Some(pitch)), (j, None)]), true);
        let reduction = Reduction { axes: vec![j], span: Span::Whole, tree, body: inner };
        results.push(k.reduce(&mut body, reduction, op, value));
    }
    for value in results {
        let out = k.output(k.dtype(value));
        k.store(&mut body, out, &here, value, false);
    }
    k.finish(body)
}

#[test]
fn both_accept_every_operation_on_every_type() {
    let (opencl, nvrtc) = (OpenCl::open(), Nvrtc::open());
    if let Err(reason) = &opencl {
        println!("SKIP golden_compiles in OpenCL C: {reason}");
    }
    if let Err(looked_for) = &nvrtc {
        println!("SKIP golden_compiles in CUDA C: no NVRTC (looked for {looked_for})");
    }
    for dtype in DType::ALL {
        // The CPU's schedules for PoCL, where a compilation takes long, and a GPU's for NVRTC.
        for schedule in [INNER, group(128, 2), group(1, 4), rows(64, 1, 2, 0)] {
            let kernel = every_operation(dtype, &schedule);
            verify_kernel(&kernel, &schedule).unwrap_or_else(|error| panic!("{dtype}: {error}"));
            let text = |dialect, cpu_math| {
                emit(&kernel, &schedule, dialect, &EmitOptions { cpu_math, ..Default::default() }).text
            };
            let is_gpu = matches!(schedule, Schedule::Group { tree, .. } if tree.lanes > 1);
            if let (Ok(opencl), false) = (&opencl, is_gpu) {
                let has_own_math = matches!(dtype, DType::F32 | DType::F16);
                for cpu_math in if has_own_math { [false, true].as_slice() } else { &[false] } {
                    let text = text(Dialect::OpenClC, *cpu_math);
                    let log = opencl.build_log(&text);
                    assert_eq!(log, Ok(String::new()), "{dtype} under {schedule:?}:\n{text}");
                }
            }
            if let (Ok(nvrtc), true) = (&nvrtc, is_gpu) {
                let text = text(Dialect::CudaC, false);
                nvrtc.ptx(&text).unwrap_or_else(|log| panic!("{dtype} under {schedule:?}:\n{log}\n{text}"));
            }
        }
    }
}

#[test]
fn both_accept_everything_that_kernels_in_rust_are_made_of() {
    let (opencl, nvrtc) = (OpenCl::open(), Nvrtc::open());
    if let Err(reason) = &opencl {
        println!("SKIP golden_compiles in OpenCL C: {reason}");
    }
    if let Err(looked_for) = &nvrtc {
        println!("SKIP golden_compiles in CUDA C: no NVRTC (looked for {looked_for})");
    }
    for dtype in DType::ALL {
        let atomic = matches!(dtype.size_bytes(), 4 | 8).then(|| simt::every_atomic(dtype));
        for kernel in [simt::every_operation(dtype), simt::memories(dtype)].into_iter().chain(atomic) {
            verify(&kernel).unwrap_or_else(|error| panic!("{error}"));
            // Compiling all operations takes PoCL a second.
            for &checked in if kernel.name == "every_operation" { [false].as_slice() } else { &[false, true] } {
                let text = |dialect| {
                    let options = SimtOptions { checked, ..Default::default() };
                    lazuli_codegen::simt::emit(&kernel, dialect, &options).text
                };
                if let Ok(opencl) = &opencl {
                    let text = text(Dialect::OpenClC);
                    assert_eq!(opencl.build_log(&text), Ok(String::new()), "{} of {dtype}:\n{text}", kernel.name);
                }
                if let Ok(nvrtc) = &nvrtc {
                    let text = text(Dialect::CudaC);
                    nvrtc.ptx(&text).unwrap_or_else(|log| panic!("{} of {dtype}:\n{log}\n{text}", kernel.name));
                }
            }
        }
    }
}
