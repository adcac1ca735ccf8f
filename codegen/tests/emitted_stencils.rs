//! Kernels that share reads between rows, run on an OpenCL CPU device at sizes with ragged ends, and compared bit for bit
//! with plain loops.

mod common;

use common::{
    INNER, linear,
    opencl::OpenCl,
    run::{assert_same, numbers, run},
    stencils::{five_points, run_of_rows, three_rows},
};
use lazuli_codegen::{DType, IndexWidth, Placement, verify_kernel};

#[test]
fn a_stencil_reads_its_rows_once() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_stencils: no OpenCL device") };
    let schedules = [
        run_of_rows(1, 4, Placement::InnerAxis),
        run_of_rows(1, 4, Placement::Linear),
        run_of_rows(4, 3, Placement::Linear),
        run_of_rows(2, 8, Placement::InnerAxis),
        linear(1),
        linear(4),
        INNER,
    ];
    for (batch, index) in [(0, IndexWidth::I32), (1, IndexWidth::I64), (2, IndexWidth::I32)] {
        let kernel = five_points(DType::F32, batch, index);
        for schedule in schedules {
            verify_kernel(&kernel, &schedule).expect("a valid kernel");
            for (rows, columns) in [(1, 1), (4, 300), (5, 3), (7, 33), (16, 64)] {
                let count = [1, 3, 6][batch];
                let (from_area, to_area) = ((rows + 2) * (columns + 2), rows * columns);
                let (from, at) = (numbers(count * from_area), columns + 2);
                let mut expected = vec![0.0; count * to_area];
                for (number, expected) in expected.iter_mut().enumerate() {
                    let (matrix, i, j) = (number / to_area, number % to_area / columns, number % columns);
                    let read = |i: usize, j: usize| from[matrix * from_area + i * at + j];
                    let around = read(i, j + 1) + read(i + 2, j + 1) + read(i + 1, j) + read(i + 1, j + 2);
                    *expected = 0.25 * around - read(i + 1, j + 1);
                }
                let more = [&[][..], &[3], &[2, 3]][batch];
                let steps = |area: usize, pitch: usize| {
                    let all = [&[3 * area, area, pitch][..], &[area, pitch], &[pitch]];
                    all[2 - batch].to_vec()
                };
                let mut sizes = [more, &[rows, columns]].concat();
                sizes.extend(steps(from_area, columns + 2));
                sizes.extend(steps(to_area, columns));
                sizes.extend([1, columns + 2, columns + 4]);
                let sizes: Vec<i64> = sizes.iter().map(|&size| size as i64).collect();
                let found = run(&opencl, &kernel, &schedule, &[&from], expected.len(), &sizes, &[0.25]);
                assert_same(&found, &expected, &format!("{count} of {rows} by {columns} under {schedule:?}"));
            }
        }
    }
}

#[test]
fn rows_of_neighbours_are_shared() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_stencils: no OpenCL device") };
    let kernel = three_rows(DType::F32);
    for schedule in [
        run_of_rows(4, 4, Placement::Linear),
        run_of_rows(4, 2, Placement::InnerAxis),
        run_of_rows(1, 5, Placement::InnerAxis),
        linear(4),
        INNER,
    ] {
        for (rows, columns) in [(1, 1), (3, 66), (9, 130)] {
            let pitch = columns + 16 - columns % 16;
            let (a, row) = (numbers((rows + 3) * pitch), numbers(columns));
            let mut expected = vec![f32::from_bits(u32::MAX); rows * pitch];
            for i in 0..rows {
                for j in 0..columns {
                    expected[i * pitch + j] = a[i * pitch + j].max(a[(i + 3) * pitch + j]) - row[j];
                }
            }
            let sizes = [rows, columns, pitch, pitch].map(|size| size as i64);
            let found = run(&opencl, &kernel, &schedule, &[&a, &row], expected.len(), &sizes, &[]);
            assert_same(&found, &expected, &format!("{rows} by {columns} under {schedule:?}"));
        }
    }
}
