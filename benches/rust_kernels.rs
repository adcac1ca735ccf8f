//! Kernels written in Rust against the same kernels in CUDA C (OpenCL C on an OpenCL device), launched through `Module`: saxpy,
//! and a matrix product through tiles in shared memory.
//!
//!     cargo bench --bench rust_kernels -- [DEVICE [SAXPY_ELEMENTS [MATRIX_SIDE]]]      (default auto, 2^27, 4096)
//!
//! Both run in turn in one process, their results are compared, and the ratio is of the medians: above 1 the kernel in Rust is
//! the faster one. The exit status is 1 where a result is wrong or a ratio is below 0.95.

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use lazuli::kernel::{barrier, block_idx, grid1, shared, thread_idx};
use lazuli::prelude::*;
use lazuli::{Buffer, Language, Launch, MemFlags, Module, args};

/// Rounds, of which each runs both.
const ROUNDS: usize = 15;

/// What a kernel in Rust must reach of the other.
const LEAST: f64 = 0.95;

#[lazuli::kernel]
fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    let i = grid1();
    if i < y.len() {
        y[i] = a.mul_add(x[i], y[i]);
    }
}

/// The product of square matrices, a tile of `SIDE` by `SIDE` elements a group.
#[lazuli::kernel]
fn matmul<const SIDE: usize>(a: &[f32], b: &[f32], c: &mut [f32], n: usize) {
    let mut a_tile = shared::<[[f32; SIDE]; SIDE]>();
    let mut b_tile = shared::<[[f32; SIDE]; SIDE]>();
    let t = thread_idx();
    let row = block_idx().y * SIDE + t.y;
    let column = block_idx().x * SIDE + t.x;
    let mut sum = 0.0;
    for tile in 0..n / SIDE {
        a_tile[t.y][t.x] = a[row * n + (tile * SIDE + t.x)];
        b_tile[t.y][t.x] = b[(tile * SIDE + t.y) * n + column];
        barrier();
        for k in 0..SIDE {
            sum = a_tile[t.y][k].mul_add(b_tile[k][t.x], sum);
        }
        barrier();
    }
    c[row * n + column] = sum;
}

/// The same in the device's own language, as a person writes them there; the compiler makes fused multiply-adds of both.
const CUDA_C: &str = r#"
template <int SIDE>
__device__ void product(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n) {
    __shared__ float a_tile[SIDE][SIDE];
    __shared__ float b_tile[SIDE][SIDE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * SIDE + ty, column = blockIdx.x * SIDE + tx;
    float sum = 0.0f;
    for (int tile = 0; tile < n / SIDE; ++tile) {
        a_tile[ty][tx] = a[row * n + tile * SIDE + tx];
        b_tile[ty][tx] = b[(tile * SIDE + ty) * n + column];
        __syncthreads();
        for (int k = 0; k < SIDE; ++k) sum += a_tile[ty][k] * b_tile[k][tx];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void matmul_16(
    const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n) {
    product<16>(a, b, c, n);
}

extern "C" __global__ void matmul_32(
    const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n) {
    product<32>(a, b, c, n);
}

extern "C" __global__ void saxpy_c(float a, const float *__restrict__ x, float *__restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"#;

const OPENCL_C: &str = r#"
#define MATMUL(SIDE) \
__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void matmul_##SIDE( \
                            __global const float *restrict a, __global const float *restrict b, \
                            __global float *restrict c, int n) { \
    __local float a_tile[SIDE][SIDE]; \
    __local float b_tile[SIDE][SIDE]; \
    int tx = get_local_id(0), ty = get_local_id(1); \
    int row = get_group_id(1) * SIDE + ty, column = get_group_id(0) * SIDE + tx; \
    float sum = 0.0f; \
    for (int tile = 0; tile < n / SIDE; ++tile) { \
        a_tile[ty][tx] = a[row * n + tile * SIDE + tx]; \
        b_tile[ty][tx] = b[(tile * SIDE + ty) * n + column]; \
        barrier(CLK_LOCAL_MEM_FENCE); \
        for (int k = 0; k < SIDE; ++k) sum = fma(a_tile[ty][k], b_tile[k][tx], sum); \
        barrier(CLK_LOCAL_MEM_FENCE); \
    } \
    c[row * n + column] = sum; \
}
MATMUL(16)
MATMUL(32)
__kernel void saxpy_c(float a, __global const float *restrict x, __global float *restrict y, int n) {
    int i = get_global_id(0);
    if (i < n) y[i] = fma(a, x[i], y[i]);
}
"#;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("rust_kernels: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool, Box<dyn Error>> {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    // Without checks, as a release build on a GPU has it; the other kernels have none either.
    let config = Config::default().with_checked_kernels(false);
    let device = Device::open(&words.next().unwrap_or_else(|| "auto".into()), config)?;
    let n: usize = words.next().map_or(Ok(1 << 27), |word| word.parse())?;
    let side: usize = words.next().map_or(Ok(4096), |word| word.parse())?;
    if !side.is_multiple_of(32) || n > i32::MAX as usize {
        return Err("the matrix's side is a multiple of 32, and saxpy has at most 2^31 - 1 elements".into());
    }
    println!("device: {device}");
    let module = match device.name() {
        name if name.starts_with("cuda") => {
            Module::builder(&device).language(Language::CudaC).extern_c(false).source(CUDA_C)?
        }
        name if name.starts_with("opencl") => Module::builder(&device).language(Language::OpenClC).source(OPENCL_C)?,
        name => return Err(format!("{name} compiles no source to compare with").into()),
    };
    println!("{:<12} {:>12} {:>12} {:>8}", "", "Rust ms", "C ms", "ratio");
    let is_saxpy_good = saxpy_row(&device, &module, n)?;
    let is_small_good = matmul_row::<16>(&device, &module, side)?;
    let is_large_good = matmul_row::<32>(&device, &module, side)?;
    Ok(is_saxpy_good && is_small_good && is_large_good)
}

fn saxpy_row(device: &Device, module: &Module, n: usize) -> Result<bool, Box<dyn Error>> {
    let host: Vec<f32> = (0..n).map(|i| (i % 1013) as f32 / 16.0).collect();
    let x = Buffer::from_slice(device, MemFlags::COPY_HOST_PTR, &host)?;
    let mut ours = Buffer::from_slice(device, MemFlags::COPY_HOST_PTR, &host)?;
    let mut theirs = Buffer::from_slice(device, MemFlags::COPY_HOST_PTR, &host)?;
    let function = module.function("saxpy_c")?;
    let groups = n.div_ceil(256);
    let medians = in_turn(
        device,
        || saxpy(1.0, &x, &mut ours).launch(groups, 256),
        || function.call(args![1.0f32, &x, &mut theirs, n as i32]).launch(groups, 256),
    )?;
    Ok(report("saxpy", medians, ours.to_vec()? == theirs.to_vec()?))
}

fn matmul_row<const SIDE: usize>(device: &Device, module: &Module, n: usize) -> Result<bool, Box<dyn Error>> {
    let host = |seed: usize| (0..n * n).map(|i| ((i * seed) % 61) as f32 / 32.0 - 1.0).collect::<Vec<f32>>();
    let a = Buffer::from_slice(device, MemFlags::COPY_HOST_PTR, &host(7919))?;
    let b = Buffer::from_slice(device, MemFlags::COPY_HOST_PTR, &host(104_729))?;
    let mut ours = Buffer::zeros(device, MemFlags::READ_WRITE, n * n)?;
    let mut theirs = Buffer::zeros(device, MemFlags::READ_WRITE, n * n)?;
    let function = module.function(&format!("matmul_{SIDE}"))?;
    let groups = [n / SIDE, n / SIDE];
    let ours_of = |c: &mut Buffer<f32>| -> lazuli::Result<()> {
        let launch: Launch = matmul::<SIDE>(&a, &b, c, n);
        launch.launch(groups, [SIDE, SIDE])
    };
    let medians = in_turn(
        device,
        || ours_of(&mut ours),
        || function.call(args![&a, &b, &mut theirs, n as i32]).launch(groups, [SIDE, SIDE]),
    )?;
    Ok(report(&format!("matmul {SIDE}"), medians, ours.to_vec()? == theirs.to_vec()?))
}

/// Milliseconds of one launch of each, medians over rounds of both in turn.
fn in_turn(
    device: &Device,
    mut ours: impl FnMut() -> lazuli::Result<()>,
    mut theirs: impl FnMut() -> lazuli::Result<()>,
) -> Result<[f64; 2], Box<dyn Error>> {
    // Compiled, and as often as fills a few milliseconds, so that what a launch costs to submit is not what is timed.
    ours()?;
    theirs()?;
    device.synchronize()?;
    let once = time(device, 1, &mut ours)?;
    // As often as ours, since each launch adds to what is compared in the end.
    time(device, 1, &mut theirs)?;
    let launches = (Duration::from_millis(20).as_secs_f64() / once.as_secs_f64().max(1e-6)).clamp(1.0, 200.0) as usize;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        times[0].push(time(device, launches, &mut ours)?);
        times[1].push(time(device, launches, &mut theirs)?);
    }
    Ok(times.map(|mut times| {
        times.sort();
        times[ROUNDS / 2].as_secs_f64() * 1e3 / launches as f64
    }))
}

fn time(
    device: &Device,
    launches: usize,
    launch: &mut impl FnMut() -> lazuli::Result<()>,
) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    for _ in 0..launches {
        launch()?;
    }
    device.synchronize()?;
    Ok(start.elapsed())
}

fn report(name: &str, [ours, theirs]: [f64; 2], is_right: bool) -> bool {
    let ratio = theirs / ours;
    println!("{name:<12} {ours:>12.4} {theirs:>12.4} {ratio:>8.3}{}", if is_right { "" } else { "   WRONG" });
    is_right && ratio >= LEAST
}
