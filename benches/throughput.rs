//! How fast a device gets through the workloads, in the columns of the peers' tables.
//!
//!     cargo bench --bench throughput -- [--device NAME] [--n N | --scale S] [--only NAME,NAME] [--seconds T]
//!
//! NAME is `cuda:0`, `opencl:0`, `host` (default: what `Device::auto` takes). N is the element count of each input; a scale
//! multiplies the counts of the GPU table instead, 2^28, and 2^26 for black_scholes. Inputs lie on the device; the clock
//! runs around batches of evaluations with one wait for the device at the end, as events would measure them. Results are
//! dropped at once. GB/s counts each input read once and each output written once. A wrong answer prints WRONG and makes
//! the exit status 1. The binary stands alone: it can be copied to another machine.

mod workloads;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use lazuli::Device;
use lazuli::prelude::*;
use workloads::{ALL, Workload};

/// Batches timed; the median and the least are printed.
const BATCHES: usize = 7;

struct Arguments {
    device: Option<String>,
    n: Option<usize>,
    scale: f64,
    only: Vec<Workload>,
    seconds: f64,
    fusion: bool,
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("throughput: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool, Box<dyn Error>> {
    let arguments = arguments()?;
    let name = match arguments.device {
        Some(name) => name,
        None => Device::auto()?.name().to_string(),
    };
    let device = Device::open(&name, Config::default().with_fusion(arguments.fusion))?;
    println!("# {device}{}", if arguments.fusion { "" } else { ", fusion off" });
    println!(
        "{:18} {:8} {:>10} {:>10} {:>8} {:>9} {:>7}",
        "workload", "device", "median_ms", "min_ms", "GB/s", "first_ms", "kernels"
    );
    let mut all_right = true;
    for workload in arguments.only {
        // A CPU gets the size of the CPU table.
        let whole = if device.name() == "host" { 1 << 24 } else { workload.gpu_len() };
        let n = arguments.n.unwrap_or(((whole as f64 * arguments.scale) as usize).max(1024));
        let measured = measure(workload, &device, n, arguments.seconds)?;
        let gbs = workload.floor_bytes(n) as f64 / measured.median / 1e6;
        let Measured { median, least, first, kernels, .. } = measured;
        print!("{:18} {:8} {median:10.4} {least:10.4} {gbs:8.1} {first:9.1} {kernels:7}", workload.name(), device.name());
        match measured.check {
            Ok(()) => println!(),
            Err(error) => {
                println!("  WRONG");
                eprintln!("{error}");
                all_right = false;
            }
        }
        device.trim_pool();
    }
    Ok(all_right)
}

struct Measured {
    median: f64,
    least: f64,
    first: f64,
    kernels: u64,
    check: Result<(), Box<dyn Error>>,
}

fn measure(workload: Workload, device: &Device, n: usize, seconds: f64) -> Result<Measured, Box<dyn Error>> {
    let inputs = workload.inputs(device, n)?;
    let before = device.counters().launches;
    let start = Instant::now();
    let outputs = workload.record(&inputs);
    outputs.eval()?;
    device.synchronize()?;
    let first = milliseconds(start);
    let kernels = device.counters().launches - before;
    let check = workload.check(&outputs, n);
    drop(outputs);

    let batch = |count: usize| -> lazuli::Result<f64> {
        device.synchronize()?;
        let start = Instant::now();
        for _ in 0..count {
            workload.record(&inputs).eval()?;
        }
        device.synchronize()?;
        Ok(milliseconds(start) / count as f64)
    };
    batch(3)?;
    let one = batch(2)?.max(1e-3);
    let count = ((seconds * 1e3 / BATCHES as f64 / one) as usize).max(1);
    let mut times = (0..BATCHES).map(|_| batch(count)).collect::<lazuli::Result<Vec<f64>>>()?;
    times.sort_by(f64::total_cmp);
    Ok(Measured { median: times[BATCHES / 2], least: times[0], first, kernels, check })
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut parsed =
        Arguments { device: None, n: None, scale: 1.0, only: ALL.to_vec(), seconds: 0.4, fusion: true };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        match word.as_str() {
            // Cargo says so.
            "--bench" => {}
            "--unfused" => parsed.fusion = false,
            "--device" => parsed.device = Some(value()?),
            "--n" => parsed.n = Some(value()?.parse()?),
            "--scale" => parsed.scale = value()?.parse()?,
            "--seconds" => parsed.seconds = value()?.parse()?,
            "--only" => {
                let find = |name: &str| Workload::from_name(name).ok_or_else(|| format!("no workload {name}"));
                parsed.only = value()?.split(',').map(find).collect::<Result<_, _>>()?;
            }
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    Ok(parsed)
}
