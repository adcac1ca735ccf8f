//! A histogram by atomics, in Rust: of all threads on one array in device memory, and of groups on arrays of their own.
//!
//!     cargo run --release --example histogram -- [DEVICE [ELEMENTS]]

use std::error::Error;

use lazuli::kernel::{atomic_add, barrier, block_dim, grid_size1, grid1, shared, thread_idx};
use lazuli::prelude::*;

const BINS: usize = 64;

/// The bin of a number between 0 and 1; what is outside goes to the first and the last.
#[lazuli::device]
fn bin(x: f32) -> usize {
    (x * (BINS as f32)).clamp(0.0, (BINS - 1) as f32) as usize
}

/// Every element is an atomic addition in device memory.
#[lazuli::kernel]
fn global(x: &[f32], counts: &mut [u32]) {
    for i in (grid1()..x.len()).step_by(grid_size1()) {
        atomic_add(&mut counts[bin(x[i])], 1);
    }
}

/// Groups count in arrays of their own, and add these to the result at the end.
#[lazuli::kernel]
fn privatized(x: &[f32], counts: &mut [u32]) {
    let mut own = shared::<[u32; BINS]>();
    let t = thread_idx().x;
    for b in (t..BINS).step_by(block_dim().x) {
        own[b] = 0;
    }
    barrier();
    for i in (grid1()..x.len()).step_by(grid_size1()) {
        atomic_add(&mut own[bin(x[i])], 1);
    }
    barrier();
    for b in (t..BINS).step_by(block_dim().x) {
        if own[b] > 0 {
            atomic_add(&mut counts[b], own[b]);
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let device = match arguments.next() {
        Some(name) => Device::open(&name, Config::default())?,
        None => Device::auto()?,
    };
    let elements: usize = arguments.next().map_or(Ok(1 << 20), |given| given.parse())?;
    println!("device: {device}; {elements} elements");

    // Numbers that are more often near the middle; the kernels read them where the lazy expression leaves them.
    let line = device.arange::<f32>(0.0, elements as f32, 1.0) * 0.618_034;
    let x = (line.sin() + (line * 1.7).sin()) * 0.25 + 0.5;
    lazuli::eval((&x,))?;

    let mut expected = vec![0u32; BINS];
    for x in x.get()? {
        expected[(x * BINS as f32).clamp(0.0, (BINS - 1) as f32) as usize] += 1;
    }

    let (groups, threads): (usize, usize) = (64, 256);
    let (mut counts, mut again) = (device.zeros::<u32>(BINS), device.zeros::<u32>(BINS));
    let time = global(&x, &mut counts).timed(groups, threads)?;
    println!("global: {time:?} with its compilation");
    let time = privatized(&x, &mut again).timed(groups, threads)?;
    println!("privatized: {time:?} with its compilation");
    for (name, counts) in [("global", counts.get()?), ("privatized", again.get()?)] {
        if counts.as_slice() != Some(&expected[..]) {
            return Err(format!("{name}: {counts} where {expected:?} is right").into());
        }
    }
    println!("both count what a loop in Rust counts");

    let most = expected.iter().copied().max().unwrap_or(1).max(1);
    for (bin, count) in expected.iter().enumerate().step_by(4) {
        println!("{:.2} {}", bin as f32 / BINS as f32, "#".repeat((count * 60 / most) as usize));
    }
    Ok(())
}
