//! A transpose through shared memory, in Rust: rows are read and rows are written, and the turn is made within a group.
//!
//!     cargo run --release --example tiled_transpose -- [DEVICE [ROWS COLUMNS]]

use std::error::Error;
use std::time::Duration;

use lazuli::kernel::{barrier, block_idx, grid2, shared, thread_idx};
use lazuli::prelude::*;

/// Side of a tile.
const TILE: usize = 32;
/// Rows that the threads of a group take at once.
const ROWS: usize = 8;

/// Each thread moves one element: what it reads lies beside what its neighbour reads, and what it writes does not.
#[lazuli::kernel]
fn naive(x: &[f32], y: &mut [f32], rows: usize, columns: usize) {
    let (column, row) = grid2();
    if row < rows && column < columns {
        y[column * rows + row] = x[row * columns + column];
    }
}

/// A group of 32 by 8 threads moves a tile of 32 by 32 elements. Its rows have one element more than they need, so that a
/// column's elements are in different banks.
#[lazuli::kernel]
fn tiled(x: &[f32], y: &mut [f32], rows: usize, columns: usize) {
    let mut tile = shared::<[[f32; TILE + 1]; TILE]>();
    let (t, b) = (thread_idx(), block_idx());
    let column = b.x * TILE + t.x;
    for k in (0..TILE).step_by(ROWS) {
        let row = b.y * TILE + t.y + k;
        if row < rows && column < columns {
            tile[t.y + k][t.x] = x[row * columns + column];
        }
    }
    barrier();
    let row = b.y * TILE + t.x;
    for k in (0..TILE).step_by(ROWS) {
        let column = b.x * TILE + t.y + k;
        if row < rows && column < columns {
            y[column * rows + row] = tile[t.x][t.y + k];
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let device = match arguments.next() {
        Some(name) => Device::open(&name, Config::default())?,
        None => Device::auto()?,
    };
    let mut extent = |usual: usize| arguments.next().map_or(Ok(usual), |given| given.parse());
    let (rows, columns) = (extent(1000)?, extent(1500)?);
    println!("device: {device}; {rows} x {columns} elements");

    let x = device.arange::<f32>(0.0, (rows * columns) as f32, 1.0);
    lazuli::eval((&x,))?;
    let groups = (columns.div_ceil(TILE), rows.div_ceil(TILE));
    let mut y = device.zeros::<f32>([columns, rows]);
    let mut z = device.zeros::<f32>([columns, rows]);
    lazuli::eval((&y, &z))?;

    // The first launch of each compiles it.
    naive(&x, &mut y, rows, columns).launch(groups, (TILE, TILE))?;
    tiled(&x, &mut z, rows, columns).launch(groups, (TILE, ROWS))?;
    let right = x.reshape([rows, columns]).t().get()?;
    for (name, ours) in [("naive", y.get()?), ("tiled", z.get()?)] {
        if ours != right {
            return Err(format!("{name}: the result is not the transpose").into());
        }
    }
    println!("both kernels give the transpose");

    let time = naive(&x, &mut y, rows, columns).timed(groups, (TILE, TILE))?;
    report("naive", time, rows * columns);
    let time = tiled(&x, &mut z, rows, columns).timed(groups, (TILE, ROWS))?;
    report("tiled", time, rows * columns);
    Ok(())
}

fn report(name: &str, time: Duration, elements: usize) {
    let gigabytes = (2 * elements * size_of::<f32>()) as f64 / 1e9;
    println!("{name}: {time:?}, {:.1} GB/s", gigabytes / time.as_secs_f64());
}
