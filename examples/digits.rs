//! Handwritten digits, classified on the device by the nearest class centroid.
//!
//!     cargo run --release --example digits
//!
//! 1797 images of 8 x 8 pixels are read from `examples/data/digits.csv` (source, authors and licence beside it). Every
//! fourth is held out, the others train. The distance of every image to every centroid is written by broadcasting,
//! `[n, 1, 64] - [1, 10, 64]`, and reduced twice: a sum over the pixels inside a minimum over the classes. That is one
//! kernel, which stores neither the differences nor the distances; the counters of the device prove it.

use std::error::Error;
use std::fs;

use lazuli::prelude::*;
use ndarray::{Array1, Array2, ArrayView2, Axis, s};

const PIXELS: usize = 64;
const CLASSES: usize = 10;
const CLASS_NUMBERS: [i64; CLASSES] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

/// One image in so many is held out.
const HELD_OUT: usize = 4;

/// Distances are compared as integers of this unit, 2^-20.
const UNIT: f32 = (1 << 20) as f32;

/// Room for a class in the last digits of a key.
const KEY_STEP: i64 = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let (images, labels) = read(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/digits.csv"))?;
    let (rest, chosen): (Vec<usize>, Vec<usize>) = (0..labels.len()).partition(|row| row % HELD_OUT != 0);
    let (train, held_out) = (images.select(Axis(0), &rest), images.select(Axis(0), &chosen));
    let (train_labels, held_out_labels) = (labels.select(Axis(0), &rest), labels.select(Axis(0), &chosen));

    let device = Device::auto()?;
    println!("device: {device}");
    println!("{} images to train, {} held out", train.nrows(), held_out.nrows());

    // Pixels travel as bytes and become f32 inside whichever kernel reads them.
    let train_pixels = device.to_device(&train)?.cast::<f32>();
    let held_out_pixels = device.to_device(&held_out)?.cast::<f32>();
    let train_classes = device.to_device(&train_labels)?;

    // Statistics of the training images. A pixel that hardly varies says little: no deviation is taken for less than one
    // grey level, which also spares the pixels that never vary a division by 0.
    let mean = train_pixels.mean_axis(0);
    let deviation = (&train_pixels - &mean).square().mean_axis(0).sqrt();
    let scale = deviation.maximum(1.0).recip();
    let standardise = |pixels: &Array<f32>| (pixels - &mean) * &scale;

    // The mean of each class: one-hot rows [n, 10, 1] times images [n, 1, 64], summed over n.
    let numbers = device.from_slice(&CLASS_NUMBERS)?;
    let one_hot = train_classes.insert_axis(1).eq(numbers.cast::<u8>()).cast::<f32>();
    let sums = (one_hot.insert_axis(2) * standardise(&train_pixels).insert_axis(1)).sum_axis(0);
    let centroids = sums / one_hot.sum_axis(0).insert_axis(1);
    let held_out_images = standardise(&held_out_pixels);
    lazuli::eval((&centroids, &held_out_images))?;

    // A device of its own, whose counters show what classifying takes.
    let scratch = Device::open(device.name(), Config::default())?;
    let (centroids, held_out_images) = (centroids.to(&scratch)?, held_out_images.to(&scratch)?);
    let numbers = numbers.to(&scratch)?;
    let before = scratch.counters();
    let classes = classify(&held_out_images, &centroids, &numbers);
    let explanation = classes.explain()?;
    let predicted = classes.get()?;
    let after = scratch.counters();

    println!("\nclassifying:");
    for kernel in &explanation.kernels {
        println!("  kernel {}: begins because {}", kernel.name, kernel.reason);
    }
    let n = held_out.nrows();
    let taken = after.peak_bytes - before.live_bytes;
    println!("  {} launch, {taken} bytes of device memory for {n} results", after.launches - before.launches);
    println!("  the [{n}, 10] distances would be {} bytes", n * CLASSES * 4);
    println!("  the [{n}, 10, 64] differences would be {} bytes", n * CLASSES * PIXELS * 4);
    if after.launches - before.launches != 1 || taken >= (n * CLASSES * 4) as u64 {
        return Err("the distances were stored".into());
    }

    // The same on the host, in f64.
    let expected = classify_by_ndarray(train.view(), &train_labels, held_out.view());
    if let Some(at) = (0..n).find(|at| predicted[[*at]] != i64::from(expected[*at])) {
        return Err(format!("image {at} is {} by Lazuli and {} by ndarray", predicted[[at]], expected[at]).into());
    }
    println!("  every class agrees with a plain ndarray computation");

    let right = predicted.iter().zip(&held_out_labels).filter(|(got, label)| **got == i64::from(**label)).count();
    let accuracy = right as f64 / n as f64;
    println!("\n{}", picture(held_out.view(), predicted.as_slice().unwrap_or(&[]), 8));
    println!("accuracy on the held-out images: {right} of {n}, {:.1} %", 100.0 * accuracy);
    if accuracy <= 0.85 {
        return Err("the accuracy is not above 0.85".into());
    }
    Ok(())
}

/// The class of the nearest centroid for each image.
fn classify(images: &Array<f32>, centroids: &Array<f32>, numbers: &Array<i64>) -> Array<i64> {
    let distances = (images.insert_axis(1) - centroids.insert_axis(0)).square().sum_axis(-1);
    // Distance and class in one integer: the least key holds the nearest class in its last digit.
    let keys = (distances * UNIT).cast::<i64>() * KEY_STEP + numbers;
    keys.min_axis(-1) % KEY_STEP
}

fn classify_by_ndarray(train: ArrayView2<u8>, labels: &Array1<u8>, held_out: ArrayView2<u8>) -> Array1<u8> {
    let (train, held_out) = (train.mapv(f64::from), held_out.mapv(f64::from));
    let mean = train.mean_axis(Axis(0)).unwrap_or_default();
    let scale = train.std_axis(Axis(0), 0.0).mapv(|deviation| 1.0 / deviation.max(1.0));
    let (train, held_out) = ((train - &mean) * &scale, (held_out - &mean) * &scale);
    let mut centroids = Array2::<f64>::zeros((CLASSES, PIXELS));
    let mut counts = [0.0; CLASSES];
    for (image, &label) in train.rows().into_iter().zip(labels) {
        counts[label as usize] += 1.0;
        let mut centroid = centroids.row_mut(label as usize);
        centroid += &image;
    }
    for (mut centroid, count) in centroids.rows_mut().into_iter().zip(counts) {
        centroid /= count;
    }
    let distance =
        |image: &ndarray::ArrayView1<f64>, class: usize| (image - &centroids.row(class)).mapv(|x| x * x).sum();
    let nearest = |image: ndarray::ArrayView1<f64>| {
        (0..CLASSES).min_by(|a, b| distance(&image, *a).total_cmp(&distance(&image, *b))).unwrap_or(0) as u8
    };
    held_out.rows().into_iter().map(nearest).collect()
}

/// The images, a row each, and their labels.
fn read(path: &str) -> Result<(Array2<u8>, Array1<u8>), Box<dyn Error>> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let numbers =
        text.split([',', '\n']).filter(|word| !word.is_empty()).map(str::parse).collect::<Result<Vec<u8>, _>>()?;
    let table = Array2::from_shape_vec((numbers.len() / (PIXELS + 1), PIXELS + 1), numbers)?;
    Ok((table.slice(s![.., ..PIXELS]).to_owned(), table.column(PIXELS).to_owned()))
}

/// The first images, side by side, with what they were taken for.
fn picture(images: ArrayView2<u8>, classes: &[i64], count: usize) -> String {
    let shades: Vec<char> = " .:-=+*#%@".chars().collect();
    let mut text = String::new();
    for line in 0..8 {
        for image in images.rows().into_iter().take(count) {
            let row = image.slice(s![8 * line..8 * line + 8]).to_vec();
            text.extend(row.iter().map(|&pixel| shades[usize::from(pixel) * (shades.len() - 1) / 16]));
            text.push_str("  ");
        }
        text.push('\n');
    }
    let guesses = classes.iter().take(count).map(|class| format!("{:^10}", format!("a {class}")));
    text + &guesses.collect::<String>() + "\n"
}
