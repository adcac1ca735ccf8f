//! The Mandelbrot set: many iterations recorded lazily, evaluated every few steps, and drawn as a PNG.
//!
//!     cargo run --release --example mandelbrot -- [FILE.png [WIDTH]]
//!
//! Every count is compared with a plain Rust loop. They are equal, not merely close: Lazuli rounds each operation as Rust
//! does, however many it fuses into a kernel.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use lazuli::prelude::*;
use ndarray::ArrayD;

/// Steps after which a point counts as inside.
const STEPS: i32 = 160;

/// Steps recorded between two evaluations: one kernel each time, and the same one.
const STEPS_TOGETHER: i32 = 8;

/// The part of the plane drawn: real parts, imaginary parts.
const REAL: (f32, f32) = (-2.2, 0.8);
const IMAGINARY: (f32, f32) = (-1.0, 1.0);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().map_or_else(|| std::env::temp_dir().join("lazuli-mandelbrot.png"), PathBuf::from);
    let width: usize = arguments.next().map_or(Ok(960), |width| width.parse())?;
    let height = width * 2 / 3;

    let device = Device::auto()?;
    println!("device: {device}");

    // A row of real parts and a column of imaginary parts, stored; the plane is their broadcast and is not.
    let real = device.linspace(REAL.0, REAL.1, width);
    let imaginary = device.linspace(IMAGINARY.1, IMAGINARY.0, height).insert_axis(1);
    lazuli::eval((&real, &imaginary))?;

    let before = device.counters();
    let (mut x, mut y) = (device.zeros::<f32>([height, width]), device.zeros::<f32>([height, width]));
    let mut count = device.zeros::<i32>([height, width]);
    for step in 1..=STEPS {
        let inside = (&x * &x + &y * &y).le(4.0);
        let next_x = &x * &x - &y * &y + &real;
        let next_y = 2.0 * &x * &y + &imaginary;
        // A point that has left the disc stays where it is.
        x = inside.select(next_x, x);
        y = inside.select(next_y, y);
        count += inside.cast::<i32>();
        if step % STEPS_TOGETHER == 0 {
            lazuli::eval((&x, &y, &count))?;
        }
    }
    let counts = count.get()?;
    let after = device.counters();
    println!(
        "{width} x {height} points, {STEPS} steps: {} launches of {} compiled kernels",
        after.launches - before.launches,
        after.compiles - before.compiles
    );

    check(&counts, &real.get()?, &imaginary.get()?)?;
    println!("\n{}", preview(&counts, 72, 24));

    // Three waves, a third of a turn apart, over a smooth count: [height, width, 1] against [3]. Inside is black.
    let smooth = count.cast::<f32>() + 2.0 - (&x * &x + &y * &y).maximum(4.0).log2().log2();
    let turns = (smooth * 0.035).sqrt().insert_axis(2) + device.from_slice(&[0.35f32, 0.45, 0.55])?;
    let light = (0.5 + 0.5 * (turns * std::f32::consts::TAU).cos()) * 255.0;
    let colours = count.insert_axis(2).lt(STEPS).select(light, 0.0).cast::<u8>().get()?;
    write_png(&path, width, height, colours.as_slice().ok_or("colours in no order")?)?;
    println!("written to {}", path.display());
    Ok(())
}

/// Compares every count with a loop over one point, and two points whose answers are known.
fn check(counts: &ArrayD<i32>, real: &ArrayD<f32>, imaginary: &ArrayD<f32>) -> Result<(), String> {
    for ([row, column], got) in
        (0..imaginary.len()).flat_map(|row| (0..real.len()).map(move |column| [row, column])).zip(counts)
    {
        let (cx, cy) = (real[[column]], imaginary[[row, 0]]);
        let expected = steps_inside(cx, cy);
        if *got != expected {
            return Err(format!("{cx} + {cy}i stays for {got} steps, not {expected}"));
        }
    }
    // 0 stays for ever; 1 goes to 1, 2, 5 and is out.
    if steps_inside(0.0, 0.0) != STEPS || steps_inside(1.0, 0.0) != 3 {
        return Err("the loop on the host is wrong".into());
    }
    let inside = counts.iter().filter(|count| **count == STEPS).count() as f64 / counts.len() as f64;
    let area = inside * f64::from(REAL.1 - REAL.0) * f64::from(IMAGINARY.1 - IMAGINARY.0);
    println!("every count agrees with a loop in Rust; the area inside is {area:.3} (the set's is 1.507)");
    if (area - 1.507).abs() > 0.05 { Err(format!("the area is {area}")) } else { Ok(()) }
}

fn steps_inside(cx: f32, cy: f32) -> i32 {
    let (mut x, mut y) = (0.0f32, 0.0f32);
    for step in 0..STEPS {
        if x * x + y * y > 4.0 {
            return step;
        }
        (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
    }
    STEPS
}

fn preview(counts: &ArrayD<i32>, columns: usize, rows: usize) -> String {
    let shades: Vec<char> = " .,:;-=+*#%".chars().collect();
    let (height, width) = (counts.shape()[0], counts.shape()[1]);
    let mut text = String::new();
    for row in 0..rows {
        for column in 0..columns {
            let count = counts[[(2 * row + 1) * height / (2 * rows), (2 * column + 1) * width / (2 * columns)]];
            text.push(if count == STEPS { '@' } else { shades[(count as usize).min(shades.len() - 1)] });
        }
        text.push('\n');
    }
    text
}

fn write_png(path: &PathBuf, width: usize, height: usize, pixels: &[u8]) -> Result<(), Box<dyn Error>> {
    let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    Ok(writer.finish()?)
}
