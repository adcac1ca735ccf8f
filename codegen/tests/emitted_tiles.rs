//! Kernels in tiles, run on an OpenCL CPU device with ragged edges, of every type, and compared bit for bit with
//! plain loops.

mod common;

use common::{
    opencl::OpenCl,
    run::{assert_same, bytes, floats, numbers, run, run_bytes},
    tiles::{across_of, add_transposed, both, tile, turned_results},
};
use lazuli_codegen::{DType, IndexWidth, verify_kernel};

#[test]
fn a_turned_operand_is_added() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_tiles: no OpenCL device") };
    for (schedule, wide) in [
        (tile(256, 64, 4, 0), true),
        (tile(256, 64, 1, 0), false),
        (tile(64, 32, 4, 0), true),
        (tile(16, 16, 4, 0), true),
        (tile(16, 16, 1, 0), false),
    ] {
        let kernel = add_transposed(wide);
        verify_kernel(&kernel, &schedule).expect("a valid kernel");
        for (rows, columns) in [(1, 1), (3, 70), (64, 64), (65, 127), (130, 33)] {
            let pitch = |length: usize| if wide { length.next_multiple_of(4) } else { length };
            let (a_pitch, b_pitch, out_pitch) = (pitch(columns + 3), pitch(rows), pitch(columns));
            let (a, b) = (numbers(rows * a_pitch), numbers(columns * b_pitch + 5)[5..].to_vec());
            let (row, column) = (numbers(columns), numbers(rows * a_pitch));
            let mut expected = vec![f32::from_bits(u32::MAX); rows * out_pitch];
            for i in 0..rows {
                for j in 0..columns {
                    let sum = a[i * a_pitch + j] + 1.3 * b[j * b_pitch + i];
                    expected[i * out_pitch + j] = sum + row[j] + column[i * a_pitch];
                }
            }
            let sizes = [rows, columns, a_pitch, b_pitch, out_pitch].map(|size| size as i64);
            let inputs = [&a[..], &b, &row, &column];
            let found = run(&opencl, &kernel, &schedule, &inputs, expected.len(), &sizes, &[1.3]);
            assert_same(&found, &expected, &format!("{rows} by {columns} under {schedule:?}"));
        }
    }
}

#[test]
fn a_turned_result_is_stored() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_tiles: no OpenCL device") };
    for (schedule, wide) in [(tile(256, 64, 4, 0), true), (tile(256, 32, 1, 0), false), (tile(16, 16, 4, 0), true)] {
        let kernel = turned_results(wide);
        verify_kernel(&kernel, &schedule).expect("a valid kernel");
        for (rows, columns) in [(1, 1), (3, 70), (64, 64), (65, 127), (130, 33)] {
            let pitch = |length: usize| if wide { length.next_multiple_of(4) } else { length };
            let (here, there) = (pitch(columns), pitch(rows));
            let (a, b) = (numbers(rows * here), numbers(columns * there + 5)[5..].to_vec());
            let nothing = f32::from_bits(u32::MAX);
            let (mut sum, mut difference) = (vec![nothing; a.len()], vec![nothing; b.len()]);
            for i in 0..rows {
                for j in 0..columns {
                    let (here, there) = (i * here + j, j * there + i);
                    (sum[here], difference[there]) = (a[here] + b[there], a[here] - b[there]);
                }
            }
            let sizes = [rows, columns, here, there].map(|size| size as i64);
            let lengths = [a.len() * 4, b.len() * 4];
            let found = run_bytes(&opencl, &kernel, &schedule, &[bytes(&a), bytes(&b)], &lengths, &sizes, &[]);
            for (found, expected) in found.iter().zip([sum, difference]) {
                assert_same(&floats(found), &expected, &format!("{rows} by {columns} under {schedule:?}"));
            }
        }
    }
}

/// Bytes that are no NaN in any type.
fn elements(dtype: DType, count: usize) -> Vec<u8> {
    let byte = |i: usize| ((i * 7919 + i / 251) % 113) as u8;
    let bytes = (0..count * dtype.size_bytes()).map(byte);
    if dtype == DType::Bool { bytes.map(|byte| byte % 2).collect() } else { bytes.collect() }
}

#[test]
fn every_type_goes_through_tiles() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_tiles: no OpenCL device") };
    for dtype in DType::ALL {
        let size = dtype.size_bytes();
        let width = (16 / size).min(8);
        for (batch, index, wide) in [
            (0, IndexWidth::I32, true),
            (1, IndexWidth::I32, false),
            (2, IndexWidth::I64, true),
            (3, IndexWidth::I32, true),
        ] {
            let width = if wide { width } else { 1 };
            let side = if size > 4 { 32 } else { 64 };
            let across = across_of(batch);
            let schedule = tile(256.min(side * side / width as u32), side, width as u32, across as u32);
            let kernel = both(dtype, batch, index, wide);
            verify_kernel(&kernel, &schedule).expect("a valid kernel");
            let mut extents = vec![2; batch + 2];
            (extents[across], extents[batch + 1]) = (side as usize + 7, side as usize + 13);
            // Row-major, with rows a little longer than they need be.
            let mut steps = vec![extents[batch + 1].next_multiple_of(width); batch + 1];
            for place in (0..batch).rev() {
                steps[place] = steps[place + 1] * extents[place + 1];
            }
            let count = steps[0] * extents[0];
            // The turned one: the same steps, but `across` runs along memory and the innermost axis comes last.
            let stride = count.next_multiple_of(width);
            let at = |point: &[usize]| -> (usize, usize) {
                let outer = point[..batch + 1].iter().zip(&steps);
                let here: usize = outer.clone().map(|(i, step)| i * step).sum();
                let there: usize =
                    outer.enumerate().map(|(place, (i, step))| if place == across { *i } else { i * step }).sum();
                (here + point[batch + 1], there + point[batch + 1] * stride)
            };
            let inputs = [elements(dtype, count), elements(dtype, stride * extents[batch + 1])];
            let mut expected = [vec![0xff; count * size], vec![0xff; count * size]];
            let points: usize = extents.iter().product();
            for number in 0..points {
                let mut point = vec![0; batch + 2];
                let mut rest = number;
                for (place, extent) in extents.iter().enumerate().rev() {
                    (point[place], rest) = (rest % extent, rest / extent);
                }
                let (here, there) = at(&point);
                for (expected, (input, from)) in expected.iter_mut().zip([(&inputs[0], here), (&inputs[1], there)]) {
                    expected[here * size..][..size].copy_from_slice(&input[from * size..][..size]);
                }
            }
            let sizes: Vec<i64> = extents.iter().chain([&stride]).chain(&steps).map(|&size| size as i64).collect();
            let found = run_bytes(&opencl, &kernel, &schedule, &inputs, &[count * size; 2], &sizes, &[]);
            assert!(found[..] == expected[..], "{dtype} of {} axes under {schedule:?}", batch + 2);
        }
    }
}
