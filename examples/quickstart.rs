//! The main job in one page: move data to a device, write NumPy-style expressions, look at what they became, and see what
//! fusing is worth on this machine.
//!
//!     cargo run --release --example quickstart
//!     LAZULI_DEVICE=host cargo run --release --example quickstart      (or opencl:0, cuda:0)
//!
//! Every answer is compared with ndarray's; a wrong one ends the program with an error.

use std::error::Error;
use std::time::Instant;

use lazuli::prelude::*;
use ndarray::{Array1, ArrayD, Zip};

/// Elements of each input.
const N: usize = 1 << 22;

/// How often each variant is timed.
const RUNS: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::auto()?;
    println!("device: {device}");
    for reason in device.passed_over() {
        println!("  passed over: {reason}");
    }

    // Two host arrays, and copies of them on the device.
    let a = Array1::<f32>::linspace(0.0, 4.0, N);
    let b = Array1::<f32>::linspace(1.0, -1.0, N);
    let a_device = device.to_device(&a)?;
    let b_device = device.to_device(&b)?;

    println!("\n1. An expression is recorded, and runs when its value is asked for");
    let doubled = &a_device * 2.0;
    println!("  let doubled = &a_device * 2.0;   {doubled:?}");
    let before = device.counters().launches;
    let host = doubled.get()?;
    let launched = device.counters().launches - before;
    println!("  doubled.get()                    {launched} kernel launched; {} became {}", a[N - 1], host[[N - 1]]);
    check("doubled", &host, &(&a * 2.0), 0.0)?;

    println!("\n2. A chain of operations is one kernel");
    println!("  let y = (&a * &a + &b * &b).sqrt() * (-&a).exp() + 0.5 * b.sin();");
    let y = chain(&a_device, &b_device);
    let explanation = y.explain()?;
    println!("  y.explain() says, before anything runs:");
    for kernel in &explanation.kernels {
        println!("    kernel {}: it begins because {}", kernel.name, kernel.reason);
        println!("    {} operations; reads and writes {}", kernel.operations, mebibytes(kernel.bytes));
    }
    println!(
        "    the least possible is {}: each input read once, the result written once",
        mebibytes(explanation.least_bytes)
    );
    println!("  its source{}:", if device.name() == "host" { ", in Lazuli's own notation" } else { "" });
    for line in own_lines(&explanation.kernels[0]) {
        println!("    | {line}");
    }
    let reference = Zip::from(&a).and(&b).map_collect(|&a, &b| (a * a + b * b).sqrt() * (-a).exp() + 0.5 * b.sin());
    check("y", &y.get()?, &reference, 1e-5)?;

    println!("\n3. A reduction takes the chain that feeds it into its own pass over the data");
    let mean = chain(&a_device, &b_device).mean();
    let explanation = mean.explain()?;
    let (kernels, moved) = (explanation.kernels.len(), mebibytes(explanation.bytes()));
    let plural = if kernels == 1 { "" } else { "s" };
    println!("  chain(&a, &b).mean()             {kernels} kernel{plural}, moving {moved}");
    let (ours, expected) = (mean.item()?, reference.iter().map(|&y| f64::from(y)).sum::<f64>() / N as f64);
    println!("  mean {ours:.6}, in f64 {expected:.6}");
    if (f64::from(ours) - expected).abs() > 1e-5 {
        return Err(format!("the mean is {ours}, not {expected}").into());
    }

    println!("\n4. What fusing is worth here: the same chain with fusion switched off");
    let unfused = Device::open(device.name(), Config::default().with_fusion(false))?;
    let (a_unfused, b_unfused) = (unfused.to_device(&a)?, unfused.to_device(&b)?);
    if bits(&chain(&a_device, &b_device).get()?) != bits(&chain(&a_unfused, &b_unfused).get()?) {
        return Err("fused and unfused results differ".into());
    }
    // In turn, so that a busy machine slows both alike.
    let (mut fused_times, mut unfused_times) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        fused_times.push(milliseconds(&device, &a_device, &b_device)?);
        unfused_times.push(milliseconds(&unfused, &a_unfused, &b_unfused)?);
    }
    let (fused_ms, unfused_ms) = (median(fused_times), median(unfused_times));
    println!("  {:<10}{:>9}{:>14}{:>14}", "", "kernels", "moved", format!("median of {RUNS}"));
    for (name, array, ms) in
        [("fused", chain(&a_device, &b_device), fused_ms), ("unfused", chain(&a_unfused, &b_unfused), unfused_ms)]
    {
        let explanation = array.explain()?;
        let kernels = explanation.kernels.len();
        println!("  {name:<10}{kernels:>9}{:>14}{:>11.2} ms", mebibytes(explanation.bytes()), ms);
    }
    println!("  {:.1} times as fast, and the same bits in all {N} elements.", unfused_ms / fused_ms);
    println!(
        "\nUnfused, every operation reads arrays from memory and writes one back, as an eager library does. Fused, each\n\
         element is read once, computed in registers and written once. Memory traffic is what such code waits for, so\n\
         the expression can be written in the plain way and costs about what a hand-written loop costs."
    );
    Ok(())
}

/// Ten operations, written as in NumPy.
fn chain(a: &Array<f32>, b: &Array<f32>) -> Array<f32> {
    (a * a + b * b).sqrt() * (-a).exp() + 0.5 * b.sin()
}

/// The time of one evaluation with the inputs on the device, which leaves the result there.
fn milliseconds(device: &Device, a: &Array<f32>, b: &Array<f32>) -> Result<f64, lazuli::Error> {
    device.synchronize()?;
    let start = Instant::now();
    chain(a, b).eval()?;
    device.synchronize()?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The kernel in a source, without the helper functions before it.
fn own_lines(kernel: &lazuli::KernelExplanation) -> Vec<&str> {
    let lines: Vec<&str> = kernel.source.lines().collect();
    let start = lines.iter().rposition(|line| line.contains(&kernel.name)).unwrap_or(0);
    lines[start..].to_vec()
}

fn bits(values: &ArrayD<f32>) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Fails unless every element is within `tolerance` of the expected one.
fn check(name: &str, got: &ArrayD<f32>, expected: &Array1<f32>, tolerance: f32) -> Result<(), String> {
    if got.len() != expected.len() {
        return Err(format!("{name} has {} elements, not {}", got.len(), expected.len()));
    }
    if let Some(at) = got.iter().zip(expected).position(|(got, right)| (got - right).abs() > tolerance || got.is_nan())
    {
        return Err(format!("{name}[{at}] is {}, not {}", got.as_slice().unwrap_or(&[])[at], expected[at]));
    }
    println!("  {name}: {} elements agree with ndarray", got.len());
    Ok(())
}
