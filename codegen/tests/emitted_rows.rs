//! Rows and columns whose loops share values, run on an OpenCL CPU device in groups of every shape, and compared bit for bit
//! with a scalar reference that folds along the documented tree.

mod common;

use common::{
    INNER, columns, linear,
    opencl::OpenCl,
    rows,
    rows::{centre, column_softmax, column_sum, cube_softmax, folds_in_rows, layer_norm, ranks, row_softmax},
    run::{assert_same, bytes, floats, fold, highest, numbers, run, run_bytes, sum},
    tree_of,
};
use lazuli_codegen::{Schedule, Tree, UnaryOp};

/// Extents that a schedule's steps can hold, with ragged ends.
fn extents(schedule: &Schedule) -> Vec<usize> {
    let share = tree_of(schedule).accumulators() as usize;
    let steps = match schedule {
        Schedule::Group { steps, .. } if *steps > 0 => *steps as usize,
        _ => 3,
    };
    let most = (share * steps).min(2100);
    let mut extents: Vec<usize> = [1, 3, 17, most / 2 + 1, most - 1, most].into_iter().filter(|&n| n > 0).collect();
    extents.retain(|&n| n <= most);
    extents.sort_unstable();
    extents.dedup();
    extents
}

/// A softmax without its exponential: |x - max| / sum.
fn shares(tree: Tree, row: &[f32]) -> Vec<f32> {
    let most = highest(tree, row);
    let apart: Vec<f32> = row.iter().map(|x| (x - most).abs()).collect();
    let all = sum(tree, &apart);
    apart.iter().map(|x| x / all).collect()
}

fn of_rows() -> Vec<Schedule> {
    vec![
        rows(512, 4, 1, 2),
        rows(512, 4, 1, 0),
        rows(64, 1, 1, 5),
        rows(32, 4, 8, 1),
        rows(32, 4, 8, 0),
        rows(64, 2, 4, 4),
        rows(4, 2, 4, 4),
        rows(8, 1, 2, 40),
        rows(8, 16, 4, 3),
        rows(1, 1, 64, 8),
        rows(1, 1, 4, 300),
        rows(1, 1, 1, 0),
        rows(1, 16, 1, 128),
        rows(1, 16, 4, 2),
        rows(1, 8, 4, 0),
        columns(16, 4, 4),
        linear(1),
        linear(4),
        INNER,
    ]
}

#[test]
fn rows_are_shared_out() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_rows: no OpenCL device") };
    for schedule in of_rows() {
        let kernel = row_softmax(UnaryOp::Abs, &schedule);
        for n in extents(&schedule) {
            for count in [1, 13] {
                let (pitch, out_pitch) = (n + 16 - n % 16, n + 32 - n % 16);
                let matrix = numbers(count * pitch);
                let mut expected = vec![f32::from_bits(u32::MAX); count * out_pitch];
                for (i, row) in matrix.chunks(pitch).enumerate() {
                    expected[i * out_pitch..][..n].copy_from_slice(&shares(tree_of(&schedule), &row[..n]));
                }
                let sizes = [count, n, pitch, out_pitch].map(|size| size as i64);
                let found = run(&opencl, &kernel, &schedule, &[&matrix], expected.len(), &sizes, &[]);
                assert_same(&found, &expected, &format!("{count} rows of {n} under {schedule:?}"));
            }
        }
    }
}

#[test]
fn what_is_kept_is_what_is_computed_again() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_rows: no OpenCL device") };
    for (lanes, width, points, steps) in [(64, 4, 1, 2), (32, 2, 4, 2), (1, 8, 1, 32)] {
        let (n, count, pitch) = (lanes as usize * width as usize * steps as usize - 3, 5, 512);
        let matrix = numbers(count * pitch);
        let sizes = [count, n, pitch, pitch].map(|size| size as i64);
        let found = [steps, 0].map(|steps| {
            let schedule = rows(lanes, width, points, steps);
            let kernel = row_softmax(UnaryOp::Exp, &schedule);
            run(&opencl, &kernel, &schedule, &[&matrix], count * pitch, &sizes, &[])
        });
        assert_same(&found[0], &found[1], &format!("softmax of {n} by {lanes} lanes of {width}"));
    }
}

#[test]
fn columns_are_shared_out() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_rows: no OpenCL device") };
    let schedules = [
        columns(8, 32, 0),
        columns(8, 32, 4),
        columns(64, 4, 3),
        columns(128, 2, 0),
        columns(1, 32, 4),
        columns(2, 8, 40),
        rows(16, 1, 4, 2),
        linear(1),
        linear(4),
        INNER,
    ];
    for schedule in schedules {
        let tree = tree_of(&schedule);
        for n in extents(&schedule) {
            for count in [1, 31, 33, 70] {
                let pitch = count + 16 - count % 16;
                let matrix = numbers(n * pitch);
                let column = |j: usize| (0..n).map(|i| matrix[i * pitch + j]).collect::<Vec<f32>>();
                let mut expected = vec![f32::from_bits(u32::MAX); n * pitch];
                for j in 0..count {
                    shares(tree, &column(j)).iter().enumerate().for_each(|(i, x)| expected[i * pitch + j] = *x);
                }
                let sizes = [count, n, pitch, pitch].map(|size| size as i64);
                let kernel = column_softmax(UnaryOp::Abs, &schedule);
                let found = run(&opencl, &kernel, &schedule, &[&matrix], expected.len(), &sizes, &[]);
                assert_same(&found, &expected, &format!("{count} columns of {n} under {schedule:?}"));

                let expected: Vec<f32> = (0..count).map(|j| sum(tree, &column(j))).collect();
                let found = run(&opencl, &column_sum(&schedule), &schedule, &[&matrix], count, &sizes[..3], &[]);
                assert_same(&found, &expected, &format!("sums of {count} columns of {n} under {schedule:?}"));
            }
        }
    }
}

#[test]
fn several_axes_are_counted_through() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_rows: no OpenCL device") };
    let schedules = [
        rows(32, 1, 2, 4),
        rows(8, 4, 4, 0),
        rows(8, 4, 4, 4),
        rows(64, 2, 1, 1),
        rows(1, 8, 1, 32),
        rows(1, 8, 2, 0),
        rows(1, 1, 8, 0),
        rows(1, 1, 8, 20),
        rows(1, 1, 8, 200),
        columns(16, 8, 8),
        linear(1),
        INNER,
    ];
    for schedule in schedules {
        let kernel = cube_softmax(UnaryOp::Abs, &schedule);
        for [batches, outer, middle, inner] in [[2, 3, 5, 5], [3, 2, 1, 9], [1, 1, 7, 1]] {
            let cube = numbers(batches * outer * middle * inner);
            let place = |b, i, j, l| ((b * outer + i) * middle + j) * inner + l;
            let mut expected = cube.clone();
            for (b, j) in (0..batches).flat_map(|b| (0..middle).map(move |j| (b, j))) {
                let places: Vec<usize> = (0..outer * inner).map(|r| place(b, r / inner, j, r % inner)).collect();
                let row: Vec<f32> = places.iter().map(|&at| cube[at]).collect();
                for (at, x) in places.iter().zip(shares(tree_of(&schedule), &row)) {
                    expected[*at] = x;
                }
            }
            let sizes = [batches, middle, outer, inner, outer * middle * inner, middle * inner, inner];
            let sizes = sizes.map(|size| size as i64);
            let found = run(&opencl, &kernel, &schedule, &[&cube], cube.len(), &sizes, &[]);
            assert_same(&found, &expected, &format!("{batches}x{outer}x{middle}x{inner} under {schedule:?}"));
        }
    }
}

/// An f32 as bf16, to nearest and ties to even.
fn bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

#[test]
fn layers_are_normed() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_rows: no OpenCL device") };
    for schedule in [rows(256, 4, 1, 2), rows(32, 8, 4, 1), rows(64, 2, 2, 0), rows(1, 16, 1, 32), linear(1)] {
        let (kernel, tree) = (layer_norm(&schedule), tree_of(&schedule));
        for n in extents(&schedule) {
            let (count, pitch) = (3, n + 16 - n % 16);
            let stored: Vec<u16> = numbers(count * pitch).into_iter().map(bf16).collect();
            let (scale, shift) = (numbers(n), numbers(2 * n).split_off(n));
            let mut expected = vec![u16::MAX; count * pitch];
            for i in 0..count {
                let row = stored[i * pitch..][..n].iter().map(|&bits| f32::from_bits(u32::from(bits) << 16));
                let row: Vec<f32> = row.collect();
                let mean = sum(tree, &row) / n as f32;
                let apart: Vec<f32> = row.iter().map(|x| x - mean).collect();
                let squares: Vec<f32> = apart.iter().map(|x| x * x).collect();
                let spread = (sum(tree, &squares) / n as f32 + 1e-3).sqrt();
                for j in 0..n {
                    expected[i * pitch + j] = bf16(apart[j] / spread * scale[j] + shift[j]);
                }
            }
            let bits = |values: &[u16]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
            let inputs = [bits(&stored), bytes(&scale), bytes(&shift)];
            let scalars = [n as f32, 1e-3].map(|scalar| scalar.to_ne_bytes().to_vec());
            let sizes = [count, n, pitch].map(|size| size as i64);
            let found = run_bytes(&opencl, &kernel, &schedule, &inputs, &[count * pitch * 2], &sizes, &scalars);
            assert!(found[0] == bits(&expected), "rows of {n} under {schedule:?}");
        }
    }
}

#[test]
fn stores_between_folds_are_those_of_points_that_exist() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_rows: no OpenCL device") };
    for schedule in [rows(64, 4, 4, 2), rows(8, 1, 16, 0), rows(8, 2, 2, 3), rows(1, 8, 4, 8), columns(4, 8, 3)] {
        let (kernel, tree) = (centre(&schedule), tree_of(&schedule));
        for n in extents(&schedule) {
            let (count, pitch) = (9, n + 16 - n % 16);
            let matrix = numbers(count * pitch);
            let mut expected = [vec![f32::from_bits(u32::MAX); count * pitch], Vec::new(), Vec::new()];
            for i in 0..count {
                let row = &matrix[i * pitch..][..n];
                let mean = sum(tree, row) / n as f32;
                let apart: Vec<f32> = row.iter().map(|x| x - mean).collect();
                let squares: Vec<f32> = apart.iter().map(|x| x * x).collect();
                expected[0][i * pitch..][..n].copy_from_slice(&apart);
                expected[1].push(mean);
                expected[2].push(sum(tree, &squares) / n as f32);
            }
            let sizes = [count, n, pitch].map(|size| size as i64);
            // Room behind the last point, where nothing may be written.
            let room = [count * pitch, count, count].map(|elements| elements * 4 + 64);
            let scalars = [(n as f32).to_ne_bytes().to_vec()];
            let found = run_bytes(&opencl, &kernel, &schedule, &[bytes(&matrix)], &room, &sizes, &scalars);
            for (found, mut expected) in found.iter().zip(expected) {
                expected.resize(expected.len() + 16, f32::from_bits(u32::MAX));
                assert_same(&floats(found), &expected, &format!("{count} rows of {n} under {schedule:?}"));
            }
        }
    }
}

#[test]
fn narrow_integers_and_flags_are_kept() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_rows: no OpenCL device") };
    for schedule in [rows(16, 2, 4, 2), rows(64, 2, 1, 1), rows(64, 1, 2, 2), rows(1, 4, 2, 16), linear(1)] {
        let (kernel, tree) = (ranks(&schedule), tree_of(&schedule));
        let (count, outer, inner) = (5, 7, 8);
        let n = outer * inner;
        let values: Vec<i16> = (0..count * n).map(|i| (i * 7919 % 65521) as u16 as i16).collect();
        let limit = 32000_i16;
        let mut expected: [Vec<u8>; 3] = Default::default();
        for row in values.chunks(n) {
            let least = fold(tree, row, i16::MAX, |a, b| a.min(b));
            for (r, &x) in row.iter().enumerate() {
                let rank = if x >= limit { 0 } else { x.wrapping_sub(least) };
                expected[0].extend(rank.to_ne_bytes());
                expected[2].extend((r as i64).to_ne_bytes());
            }
            expected[1].push(u8::from(row.iter().any(|&x| x >= limit)));
        }
        let input = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        let sizes = [count, outer, inner, n, inner].map(|size| size as i64);
        let room = [expected[0].len(), expected[1].len(), expected[2].len()];
        let scalars = [limit.to_ne_bytes().to_vec()];
        let found = run_bytes(&opencl, &kernel, &schedule, &[input], &room, &sizes, &scalars);
        assert!(found == expected, "ranks under {schedule:?}");
    }
}

#[test]
fn a_kept_value_may_be_a_fold() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_rows: no OpenCL device") };
    let schedules =
        [rows(16, 2, 4, 2), rows(16, 1, 2, 3), rows(16, 4, 1, 0), rows(1, 8, 1, 8), rows(1, 1, 4, 50), linear(1)];
    for schedule in schedules {
        let (kernel, tree) = (folds_in_rows(&schedule), tree_of(&schedule));
        let (batches, height, width, pitch) = (3, 5, 43, 48);
        let matrices = numbers(batches * height * pitch);
        let mut expected = vec![f32::from_bits(u32::MAX); batches * pitch];
        for (b, matrix) in matrices.chunks(height * pitch).enumerate() {
            let column = |j: usize| (0..height).fold(-0.0_f32, |sum, i| sum + matrix[i * pitch + j]);
            let sums: Vec<f32> = (0..width).map(column).collect();
            let most = highest(tree, &sums);
            sums.iter().enumerate().for_each(|(j, sum)| expected[b * pitch + j] = most - sum);
        }
        let sizes = [batches, width, height, height * pitch, pitch].map(|size| size as i64);
        let found = run(&opencl, &kernel, &schedule, &[&matrices], expected.len(), &sizes, &[]);
        assert_same(&found, &expected, &format!("folds under {schedule:?}"));
    }
}
