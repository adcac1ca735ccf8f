//! Kernels from source, step by step beside PyCUDA's `SourceModule`: the program of
//! "pycuda.compiler.SourceModule and Numba". `LAZULI_DEVICE=opencl:0` runs it in OpenCL C.
//!
//! The host compiles neither language; there the program says so and ends well.

use std::process::ExitCode;

use lazuli::prelude::*;
use lazuli::{Error, Language, Module, args};

const N: usize = 100;
const BLOCK: usize = 32;

// cuda_code = """ .. """
/// The kernel of the original, with the test that it left out: 4 blocks of 32 threads are 128, and there are 100 elements.
const CUDA_CODE: &str = r"
__global__ void add_kernel(const float *a, const float *b, float *c, int n) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < n) c[idx] = a[idx] + b[idx];
}
";

/// The same in OpenCL C.
const OPENCL_CODE: &str = r"
__kernel void add_kernel(__global const float *a, __global const float *b, __global float *c, int n) {
    int idx = get_global_id(0);
    if (idx < n) c[idx] = a[idx] + b[idx];
}
";

/// The same once for both.
const PORTABLE_CODE: &str = r"
KERNEL add_kernel(GLOBAL const f32 *a, GLOBAL const f32 *b, GLOBAL f32 *c, i32 n) {
    if (INDEX_X < n) c[INDEX_X] = a[INDEX_X] + b[INDEX_X];
}
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("source_module: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    // import pycuda.autoinit
    let device = Device::auto()?;
    println!("{device}");

    // mod = SourceModule(cuda_code)
    let own = match device.name().split(':').next() {
        Some("cuda") => CUDA_CODE,
        _ => OPENCL_CODE,
    };
    let module = match Module::new(&device, own) {
        Err(Error::Unsupported { what, .. }) => {
            println!("nothing to run here: no support for {what}");
            return Ok(());
        }
        compiled => compiled?,
    };
    add(&module, "the device's own language")?;

    // No Python line: one source that CUDA and OpenCL both compile.
    let portable = Module::builder(&device).language(Language::Portable).name("add.c").source(PORTABLE_CODE)?;
    add(&portable, "the portable language")?;

    // A misspelt source is an error with the compiler's words and the line, and nothing else happens.
    let misspelt = PORTABLE_CODE.replace("b[INDEX_X]", "bb[INDEX_X]");
    match Module::builder(&device).language(Language::Portable).name("misspelt.c").source(&misspelt) {
        Err(Error::Compile { log, .. }) if log.contains("bb[INDEX_X]") => println!("a misspelt source:\n{log}\n"),
        Err(error) => return Err(format!("the log does not show the line: {error}").into()),
        Ok(_) => return Err("a misspelt source was compiled".into()),
    }
    println!("source_module: right on {}", device.name());
    Ok(())
}

/// Adds two arrays by the kernel of a module, and checks every element.
fn add(module: &Module, language: &str) -> Result<(), Box<dyn std::error::Error>> {
    let device = module.device();

    // add_kernel = mod.get_function("add_kernel")
    let add_kernel = module.function("add_kernel")?;

    // a = np.random.randn(100).astype(np.float32)
    let a: Vec<f32> = (0..N).map(|i| (i as f32 * 0.37).sin()).collect();
    // b = np.random.randn(100).astype(np.float32)
    let b: Vec<f32> = (0..N).map(|i| (i as f32 * 0.11).cos()).collect();

    // a_gpu = drv.mem_alloc(a.nbytes); drv.memcpy_htod(a_gpu, a)
    let a_gpu = device.from_slice(&a)?;
    // b_gpu = drv.mem_alloc(b.nbytes); drv.memcpy_htod(b_gpu, b)
    let b_gpu = device.from_slice(&b)?;
    // c = np.zeros_like(a); c_gpu = drv.mem_alloc(c.nbytes)
    let mut c_gpu = device.zeros::<f32>([N]);

    // blocksize = (32, 1, 1); gridsize = (int(np.ceil(len(a) / blocksize[0])), 1)
    let (gridsize, blocksize) = (N.div_ceil(BLOCK), BLOCK);
    // add_kernel(a_gpu, b_gpu, c_gpu, block=blocksize, grid=gridsize)
    add_kernel.call(args![&a_gpu, &b_gpu, &mut c_gpu, N as i32]).launch(gridsize, blocksize)?;

    // drv.memcpy_dtoh(c, c_gpu)
    let c = c_gpu.get()?;
    // print(c)
    println!("{language}: c[..4] = {:?}", c.iter().take(4).collect::<Vec<_>>());
    if let Some(wrong) = (0..N).find(|&i| c[[i]] != a[i] + b[i]) {
        return Err(format!("c[{wrong}] is {}, not {}", c[[wrong]], a[wrong] + b[wrong]).into());
    }

    // add_kernel.num_regs, add_kernel.shared_size_bytes
    println!("    {:?}", add_kernel.attributes()?);
    // What was written is an array like any other: it joins lazy work.
    let sum = (&c_gpu - &a_gpu - &b_gpu).abs().max().item()?;
    if sum > 1e-6 {
        return Err(format!("c - a - b is as large as {sum}").into());
    }
    Ok(())
}
