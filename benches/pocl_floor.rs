//! Our fused transcend against an OpenCL kernel written by hand for the same expression, on one device in one run.
//!
//!     cargo bench --bench pocl_floor -- [N]          (default 16777216)
//!
//! The device is the OpenCL CPU (PoCL), or the first OpenCL device where there is none. Both run in turn; the ratio is of
//! the medians. The hand-written kernel is timed twice: as a person writes it, free to contract a * b + c into one
//! rounding, and with contraction off, as Lazuli's kernels have it. The exit status is 1 where the ratio to the faster of
//! the two is above 1.3.

#[path = "peers/inputs.rs"]
mod inputs;

#[path = "peers/workloads.rs"]
mod workloads;

use std::error::Error;
use std::process::ExitCode;
use std::ptr;
use std::time::Instant;

use lazuli::prelude::*;
use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device as ClDevice};
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{Buffer, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};
use opencl3::platform::get_platforms;
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_float};
use workloads::{Scale, Workload};

/// The most that our time may be over the hand-written kernel's.
const MOST: f64 = 1.3;

const RUNS: usize = 15;

const SOURCE: &str = "
__kernel void transcend(__global const float *a, __global const float *b, __global const float *c, __global float *out) {
    size_t i = get_global_id(0);
    out[i] = sqrt(a[i] * a[i] + b[i] * b[i]) * exp(-c[i]) + 0.5f * sin(a[i]);
}";

fn main() -> ExitCode {
    match run() {
        Ok(ratio) if ratio <= MOST => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("pocl_floor: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<f64, Box<dyn Error>> {
    let n =
        std::env::args().skip(1).find(|word| word != "--bench").map_or(Ok(1 << 24), |word| word.parse::<usize>())?;
    let listed = Device::list().into_iter().filter(|found| found.name.starts_with("opencl"));
    let found: Vec<_> = listed.collect();
    let is_cpu = |found: &&lazuli::DeviceInfo| found.description.contains("CPU,");
    let Some(chosen) = found.iter().find(is_cpu).or(found.first()) else {
        println!("SKIP pocl_floor: {}", Device::absent().join("; "));
        return Ok(0.0);
    };
    let device = Device::open(&chosen.name, Config::default())?;
    println!("# {}: {}; {n} elements, medians of {RUNS} in turn", chosen.name, chosen.description);

    let transcend = Workload::of_cpu("transcend").ok_or("no transcend")?;
    let inputs = transcend.inputs(&device, Scale(n as f64 / (1 << 24) as f64))?;
    let host = [0, 1, 2].map(|input| inputs[input].get()).into_iter().collect::<lazuli::Result<Vec<_>>>()?;
    let by_hand = ByHand::new(device.description(), &host)?;

    let (mut ours, mut contracted, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    let outputs = transcend.record(&inputs);
    lazuli::eval(&outputs[..])?;
    transcend.check(&inputs, &outputs)?;
    drop(outputs);
    for run in 0..RUNS + 2 {
        let start = Instant::now();
        let outputs = transcend.record(&inputs);
        lazuli::eval(&outputs[..])?;
        device.synchronize()?;
        let own = start.elapsed().as_secs_f64() * 1e3;
        drop(outputs);
        let [with, without] = [by_hand.time(&by_hand.contracted)?, by_hand.time(&by_hand.plain)?];
        // The first two warm up.
        if run >= 2 {
            ours.push(own);
            contracted.push(with);
            plain.push(without);
        }
    }
    by_hand.check(&host)?;
    let [ours, contracted, plain] = [ours, contracted, plain].map(median);
    println!("lazuli, fused                     {ours:9.3} ms");
    println!("by hand, as one would write it    {contracted:9.3} ms   ratio {:.3}", ours / contracted);
    println!("by hand, contraction off          {plain:9.3} ms   ratio {:.3}", ours / plain);
    let ratio = ours / contracted.min(plain);
    println!("transcend ratio {ratio:.3} (at most {MOST})");
    Ok(ratio)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The hand-written kernel, its queue and its memory.
struct ByHand {
    queue: CommandQueue,
    inputs: Vec<Buffer<cl_float>>,
    output: Buffer<cl_float>,
    contracted: Kernel,
    plain: Kernel,
    n: usize,
    // Dropped last.
    _context: Context,
}

impl ByHand {
    fn new(name: &str, host: &[ndarray::ArrayD<f32>]) -> Result<Self, Box<dyn Error>> {
        let mut ids = Vec::new();
        for platform in get_platforms()? {
            ids.extend(platform.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default());
        }
        let named = |id: &_| ClDevice::new(*id).name().is_ok_and(|own| name.contains(own.trim()));
        let id = ids.into_iter().find(named).ok_or_else(|| format!("no OpenCL device is called {name}"))?;
        let context = Context::from_device(&ClDevice::new(id))?;
        let queue = CommandQueue::create_default_with_properties(&context, 0, 0)?;
        let build = |source: &str| -> Result<Kernel, Box<dyn Error>> {
            Ok(Kernel::create(&Program::create_and_build_from_source(&context, source, "")?, "transcend")?)
        };
        let n = host[0].len();
        let mut inputs = Vec::new();
        for array in host {
            let elements = array.as_slice().ok_or("an array in no order")?;
            // SAFETY: no host pointer is given, and the write below blocks until `elements` is read.
            let mut buffer = unsafe { Buffer::create(&context, CL_MEM_READ_ONLY, n, ptr::null_mut()) }?;
            // SAFETY: as above; the buffer is as long as the slice.
            unsafe { queue.enqueue_write_buffer(&mut buffer, CL_BLOCKING, 0, elements, &[]) }?;
            inputs.push(buffer);
        }
        Ok(Self {
            contracted: build(SOURCE)?,
            plain: build(&format!("#pragma OPENCL FP_CONTRACT OFF\n{SOURCE}"))?,
            // SAFETY: no host pointer is given.
            output: unsafe { Buffer::create(&context, CL_MEM_WRITE_ONLY, n, ptr::null_mut()) }?,
            queue,
            inputs,
            n,
            _context: context,
        })
    }

    /// One run, in milliseconds, from the enqueue until the queue is empty.
    fn time(&self, kernel: &Kernel) -> Result<f64, Box<dyn Error>> {
        let start = Instant::now();
        let mut run = ExecuteKernel::new(kernel);
        // SAFETY: four buffers of n floats, as the kernel's parameters are, and n work-items.
        unsafe {
            self.inputs.iter().for_each(|input| {
                run.set_arg(input);
            });
            run.set_arg(&self.output).set_global_work_size(self.n).enqueue_nd_range(&self.queue)?;
        }
        self.queue.finish()?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    fn check(&self, host: &[ndarray::ArrayD<f32>]) -> Result<(), Box<dyn Error>> {
        let mut got = vec![0f32; self.n.min(4096)];
        // SAFETY: the read blocks until `got` is filled, and the buffer is at least as long.
        unsafe { self.queue.enqueue_read_buffer(&self.output, CL_BLOCKING, 0, &mut got, &[]) }?;
        for (i, got) in got.iter().enumerate() {
            let [a, b, c] = [0, 1, 2].map(|input| f64::from(host[input][[i]]));
            let expected = (a * a + b * b).sqrt() * (-c).exp() + 0.5 * a.sin();
            if (f64::from(*got) - expected).abs() > 1e-5 {
                return Err(format!("the hand-written kernel gives {got}, not {expected}").into());
            }
        }
        Ok(())
    }
}
