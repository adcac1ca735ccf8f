//! Whole kernels, run on an OpenCL CPU device under GPU and CPU schedules at sizes with ragged ends, and compared bit for
//! bit with plain loops.

mod common;

use common::{
    INNER, group, kernels, linear,
    opencl::OpenCl,
    run::{assert_same, bytes, floats, fold, numbers, run, run_bytes},
};
use lazuli_codegen::{DType, IndexWidth, Span, Tree};

#[test]
fn maps_reach_every_element() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_values: no OpenCL device") };
    for n in [1, 3, 4, 1023, 1025] {
        let (b, c) = (numbers(n), numbers(n + 1));
        let expected: Vec<f32> = b.iter().zip(&c).map(|(b, c)| b + 3.7 * c).collect();
        for schedule in [linear(1), linear(4), linear(16), INNER] {
            let found = run(&opencl, &kernels::triad(), &schedule, &[&b, &c], n, &[n as i64], &[3.7]);
            assert_same(&found, &expected, &format!("triad of {n} under {schedule:?}"));
        }
    }
    for (rows, columns) in [(1, 1), (3, 5), (7, 64), (33, 30)] {
        let pitch = columns + 16;
        let pitch = pitch - pitch % 16;
        let matrix = numbers(rows * pitch + 16);
        let (column, row) = (numbers(2 * rows), numbers(columns));
        let mut expected = vec![f32::from_bits(u32::MAX); rows * pitch];
        for i in 0..rows {
            for j in 0..columns {
                expected[i * pitch + j] = matrix[16 + i * pitch + j] * (column[2 * i] + row[j]);
            }
        }
        let sizes = [rows, columns, pitch, 2, pitch, 16].map(|size| size as i64);
        for schedule in [linear(1), linear(2), linear(8), INNER] {
            let found =
                run(&opencl, &kernels::broadcast(), &schedule, &[&matrix, &column, &row], rows * pitch, &sizes, &[]);
            assert_same(&found, &expected, &format!("broadcast of {rows} by {columns} under {schedule:?}"));
        }
        for i in 0..rows {
            for j in 0..columns {
                expected[i * pitch + j] = matrix[i + j * rows] * 0.3;
            }
        }
        let sizes = [rows, columns, rows, pitch].map(|size| size as i64);
        for schedule in [linear(1), linear(4), INNER] {
            let found = run(&opencl, &kernels::transpose(), &schedule, &[&matrix], rows * pitch, &sizes, &[0.3]);
            assert_same(&found, &expected, &format!("transpose of {rows} by {columns} under {schedule:?}"));
        }
    }
}

#[test]
fn serial_folds_keep_their_order() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_values: no OpenCL device") };
    for (rows, columns) in [(1, 1), (100, 7), (33, 258)] {
        let pitch = columns + 16 - columns % 16;
        let matrix = numbers(rows * pitch);
        let sum = |j: usize| (0..rows).fold(-0.0_f32, |sum, i| sum + matrix[i * pitch + j]);
        let expected: Vec<f32> = (0..columns).map(sum).collect();
        let sizes = [columns, rows, pitch].map(|size| size as i64);
        for schedule in [linear(1), linear(4), INNER] {
            let found = run(&opencl, &kernels::column_sum(), &schedule, &[&matrix], columns, &sizes, &[]);
            assert_same(&found, &expected, &format!("columns of {rows} by {columns} under {schedule:?}"));
        }
    }
}

#[test]
fn groups_fold_along_their_tree() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_values: no OpenCL device") };
    for (lanes, width) in [(256, 4), (64, 1), (32, 16), (1, 16), (1, 8), (1, 1)] {
        let tree = Tree { lanes, width };
        let schedule = group(lanes, width);
        for columns in [1, 15, 17, 1000, 1025, 5003] {
            let (rows, pitch) = (3, columns + 16 - columns % 16);
            let matrix = numbers(rows * pitch);
            let norm = |i: usize| {
                let squares: Vec<f32> = matrix[i * pitch..][..columns].iter().map(|a| a * a).collect();
                fold(tree, &squares, -0.0, |a, b| a + b).sqrt()
            };
            let expected: Vec<f32> = (0..rows).map(norm).collect();
            let sizes = [rows, columns, pitch].map(|size| size as i64);
            let found = run(&opencl, &kernels::row_sum(tree, Span::Whole), &schedule, &[&matrix], rows, &sizes, &[]);
            assert_same(&found, &expected, &format!("rows of {columns} along {tree:?}"));
        }
        // Two axes in chunks, the last one short; the matrix is read down its columns.
        let (rows, columns, chunk) = (37, 61, 512_usize.max(tree.accumulators() as usize));
        let matrix = numbers(rows * columns);
        let all: Vec<f32> = (0..rows * columns).map(|r| matrix[r / columns + r % columns * rows]).collect();
        let largest = |values: &[f32]| fold(tree, values, f32::NEG_INFINITY, |a, b| if a > b { a } else { b });
        let expected: Vec<f32> = all.chunks(chunk).map(largest).collect();
        let sizes = [expected.len(), rows, columns, chunk, 1, rows].map(|size| size as i64);
        let found = run(&opencl, &kernels::chunked_max(tree), &schedule, &[&matrix], expected.len(), &sizes, &[]);
        assert_same(&found, &expected, &format!("chunks along {tree:?}"));
    }
}

#[test]
fn gathers_take_what_is_there_and_note_what_is_not() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_values: no OpenCL device") };
    // Unwritten output is all ones, so that notes begin at -1.
    let notes = |bytes: &[u8]| -> Vec<i32> {
        bytes.chunks(4).map(|word| i32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect()
    };
    for n in [1usize, 2, 3, 255, 1024, 1025] {
        let (x, w) = (numbers(37), numbers(n));
        let right: Vec<i64> = (0..n as i64).map(|i| (i * 7919) % 74 - 37).collect();
        let (mut wrong, mut huge) = (right.clone(), right.clone());
        wrong[n / 2] = 40;
        wrong[n - 1] = -38;
        huge[0] = i64::MIN;
        huge[n - 1] = i64::MAX;
        for places in [&right, &wrong, &huge] {
            let is_right = |place: &i64| (-37..37).contains(place);
            let at = |place: &i64| if is_right(place) { x[place.rem_euclid(37) as usize] } else { x[0] };
            let expected: Vec<f32> = places.iter().zip(&w).map(|(place, w)| at(place) * w).collect();
            let clamped = |place: &i64| (*place).clamp(-i64::from(i32::MAX), i64::from(i32::MAX)) as i32;
            let past = places.iter().filter(|place| !is_right(place) && **place >= 0).map(clamped).max().unwrap_or(-1);
            let below = places.iter().filter(|place| !is_right(place) && **place < 0).map(clamped).min().unwrap_or(-1);
            let inputs = [places.iter().flat_map(|place| place.to_ne_bytes()).collect(), bytes(&x), bytes(&w)];
            for schedule in [linear(1), linear(2), linear(4), INNER] {
                for width in [IndexWidth::I32, IndexWidth::I64] {
                    let kernel = kernels::gather(DType::I64, width);
                    let found = run_bytes(&opencl, &kernel, &schedule, &inputs, &[n * 4, 8], &[n as i64, 37], &[]);
                    assert_same(&floats(&found[0]), &expected, &format!("{n} under {schedule:?}"));
                    assert_eq!(notes(&found[1]), [past, below], "{n} under {schedule:?}");
                }
            }
            let kernel = kernels::gather(DType::U64, IndexWidth::I64);
            let found = run_bytes(&opencl, &kernel, &linear(1), &inputs, &[n * 4, 8], &[n as i64, 37], &[]);
            let unsigned = places.iter().map(|place| *place as u64);
            let past = unsigned.filter(|place| *place >= 37).map(|place| place.min(i32::MAX as u64) as i32).max();
            assert_eq!(notes(&found[1]), [past.unwrap_or(-1), -1]);
        }
    }
}
