//! Numba's `@cuda.jit`, step by step: the kernel of a well-known article in Rust beside its lines in Python.
//!
//!     cargo run --release --example numba_kernel -- [DEVICE]
//!
//! The same kernel runs on CUDA, OpenCL and the host.

use std::error::Error;

use lazuli::kernel::{block_dim, block_idx, grid1, thread_idx};
use lazuli::prelude::*;

// @cuda.jit
// def add_kernel(a, b, c):
//     idx = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
//     c[idx] = a[idx] + b[idx]
#[lazuli::kernel]
fn add_kernel(a: &[f32], b: &[f32], c: &mut [f32]) {
    let idx = block_idx().x * block_dim().x + thread_idx().x;
    // The grid has 128 threads for 100 elements. The Python original writes past the end of `c`.
    if idx < c.len() {
        c[idx] = a[idx] + b[idx];
    }
}

// @vectorize(['float32(float32, float32)'], target='cuda')
// def hypotenuse(a, b): return math.sqrt(a * a + b * b)
#[lazuli::elementwise]
fn hypotenuse(a: f32, b: f32) -> f32 {
    (a * a + b * b).sqrt()
}

// @cuda.reduce
// def longer(a, b): return a if abs(a) > abs(b) else b
#[lazuli::device]
fn longer(a: f32, b: f32) -> f32 {
    if a.abs() > b.abs() { a } else { b }
}

/// One kernel for every type of float, which adds by a function of its own.
#[lazuli::kernel]
fn add_any<T: Float>(a: &[T], b: &[T], c: &mut [T]) {
    let idx = grid1();
    if idx < c.len() {
        c[idx] = a[idx] + b[idx];
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = match std::env::args().nth(1) {
        Some(name) => Device::open(&name, Config::default())?,
        None => Device::auto()?,
    };
    println!("device: {device}");

    // a = np.random.randn(100).astype(np.float32)
    // b = np.random.randn(100).astype(np.float32)
    // c = np.zeros_like(a)
    let a: Vec<f32> = (0..100).map(|i| (i as f32 * 0.7).sin()).collect();
    let b: Vec<f32> = (0..100).map(|i| (i as f32 * 1.3).cos()).collect();

    // a_gpu = cuda.to_device(a)
    // b_gpu = cuda.to_device(b)
    // c_gpu = cuda.to_device(c)
    let a_gpu = device.from_slice(&a)?;
    let b_gpu = device.from_slice(&b)?;
    let mut c_gpu = device.zeros::<f32>(100);

    // blocksize = 32
    // gridsize = int(np.ceil(len(a) / blocksize))
    let blocksize = 32;
    let gridsize = a.len().div_ceil(blocksize);

    // add_kernel[gridsize, blocksize](a_gpu, b_gpu, c_gpu)
    add_kernel(&a_gpu, &b_gpu, &mut c_gpu).launch(gridsize, blocksize)?;

    // c = c_gpu.copy_to_host()
    // print(c)
    let c = c_gpu.get()?;
    println!("c = {:.3} ..", c.slice(ndarray::s![..6]));
    let right: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    check("add_kernel", c.as_slice().unwrap_or_default(), &right)?;

    // add_kernel.forall(len(a))(a_gpu, b_gpu, c_gpu)
    let mut again = device.zeros::<f32>(100);
    add_any(&a_gpu, &b_gpu, &mut again).forall(a.len())?;
    check("add_any", again.get()?.as_slice().unwrap_or_default(), &right)?;

    // A function of elements works on arrays, and is one operation of the lazy graph: with the built-in ones around it, it
    // is one kernel.
    let before = device.counters().launches;
    let lengths = (hypotenuse(&a_gpu, &b_gpu) * 2.0).get()?;
    println!("hypotenuse(a, b) * 2 took {} launch", device.counters().launches - before);
    let right: Vec<f32> = a.iter().zip(&b).map(|(a, b)| (a * a + b * b).sqrt() * 2.0).collect();
    check("hypotenuse", lengths.as_slice().unwrap_or_default(), &right)?;

    // longer(a_gpu)
    let extreme = a_gpu.reduce(longer::Function, 0.0).item()?;
    let right = a.iter().copied().fold(0.0f32, |a, b| if a.abs() > b.abs() { a } else { b });
    check("longer", &[extreme], &[right])?;

    // print(add_kernel.inspect_asm())
    let source = add_kernel::Kernel::source(&device)?;
    // Before it stands the vocabulary that every kernel is written in.
    let from = source.rfind("add_kernel").and_then(|at| source[..at].rfind('\n')).unwrap_or(0);
    println!("\nthe kernel as {} sees it:\n{}", device.name(), source[from..].trim());
    Ok(())
}

/// All of this is rounded as Rust rounds it, so that nothing may differ.
fn check(what: &str, ours: &[f32], right: &[f32]) -> Result<(), String> {
    match ours == right {
        true => Ok(println!("{what}: all {} right", right.len())),
        false => Err(format!("{what}: {ours:?} where {right:?} is right")),
    }
}
