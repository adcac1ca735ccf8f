//! Groups that combine what they folded, run on an OpenCL CPU device in groups of every shape, and compared bit for bit with
//! a scalar reference that folds along the documented trees; and the two kernels that do the same in two launches.

mod common;

use common::{
    columns,
    combine::{combined_columns, combined_sum, waiting_softmax},
    opencl::{Argument, OpenCl},
    rows,
    run::{assert_same, bytes, floats, numbers, sum},
};
use lazuli_codegen::{
    Access, Dialect, EmitOptions, Kernel, Placement, Schedule, Stmt, Tree, emit, split_combine, verify_kernel,
};

/// Runs a kernel of one f32 input and one f32 output, then scratch for so many points of `others`.
fn launch(
    opencl: &OpenCl,
    (kernel, schedule): (&Kernel, &Schedule),
    input: &[f32],
    (output, partials): (&mut Vec<u8>, &mut Vec<u8>),
    sizes: &[i64],
) {
    let source = emit(kernel, schedule, Dialect::OpenClC, &EmitOptions::default());
    let grid = schedule.grid(kernel, sizes);
    let local = [grid.group[0] as usize, grid.group[1] as usize];
    let global = [grid.groups[0] as usize * local[0], grid.groups[1] as usize * local[1]];
    let (input, counts) = (bytes(input), vec![0u8; output.len()]);
    let sizes: Vec<[u8; 4]> = sizes.iter().map(|&size| (size as i32).to_ne_bytes()).collect();
    let mut arguments = vec![Argument::Input(&input), Argument::Output(output), Argument::Output(partials)];
    arguments.push(Argument::Input(&counts));
    arguments.extend(sizes.iter().map(|size| Argument::Plain(size)));
    opencl.run(&source.text, &source.entry, global, local, &mut arguments);
}

/// The results of one launch, and of the two that a split kernel takes.
fn outcomes(
    opencl: &OpenCl,
    kernel: &Kernel,
    schedule: &Schedule,
    input: &[f32],
    (count, points): (usize, usize),
    sizes: &[i64],
) -> [Vec<f32>; 2] {
    verify_kernel(kernel, schedule).unwrap();
    let fresh = || (vec![0xff; count * 4], vec![0xff; points * 4]);
    let (mut once, mut partials) = fresh();
    launch(opencl, (kernel, schedule), input, (&mut once, &mut partials), sizes);
    let (mut twice, mut partials) = fresh();
    for (kernel, schedule) in split_combine(kernel, *schedule).expect("no group waits") {
        verify_kernel(&kernel, &schedule).unwrap();
        assert!(kernel.combine().is_none());
        launch(opencl, (&kernel, &schedule), input, (&mut twice, &mut partials), sizes);
    }
    [floats(&once), floats(&twice)]
}

#[test]
fn the_last_group_folds_what_all_handed_in() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_combine: no OpenCL device") };
    let warp = |tree: Tree| if tree.lanes == 1 { tree } else { Tree { lanes: tree.lanes.min(32), width: 1 } };
    for schedule in [rows(256, 4, 1, 0), rows(64, 2, 1, 0), rows(32, 4, 8, 0), rows(16, 1, 4, 0), rows(1, 16, 1, 0)] {
        let tree = common::tree_of(&schedule);
        let kernel = combined_sum(tree, warp(tree));
        for (count, n, per_chunk) in [(1usize, 1usize, 1usize), (1, 5000, 1), (3, 70_000, 2), (13, 9_001, 1)] {
            let length = tree.accumulators() as usize * per_chunk;
            let chunks = n.div_ceil(length);
            let pitch = n + 16 - n % 16;
            let matrix = numbers(count * pitch);
            let of_row = |row: &[f32]| {
                let squares: Vec<f32> = row[..n].iter().map(|x| x * x).collect();
                let partials: Vec<f32> = squares.chunks(length).map(|chunk| sum(tree, chunk)).collect();
                sum(warp(tree), &partials).sqrt()
            };
            let expected: Vec<f32> = matrix.chunks(pitch).map(of_row).collect();
            let sizes = [chunks, count, n, pitch, length, chunks].map(|size| size as i64);
            for found in outcomes(&opencl, &kernel, &schedule, &matrix, (count, count * chunks), &sizes) {
                assert_same(&found, &expected, &format!("{count} rows of {n} in {chunks} under {schedule:?}"));
            }
        }
    }
}

#[test]
fn columns_combine_side_by_side() {
    let Ok(opencl) = OpenCl::open() else { return println!("SKIP emitted_combine: no OpenCL device") };
    for schedule in [columns(8, 32, 0), columns(4, 8, 0), columns(16, 2, 0)] {
        let tree = common::tree_of(&schedule);
        let kernel = combined_columns(tree);
        for (count, n, length) in [(1usize, 100usize, 64usize), (70, 1000, 96), (33, 64, 16)] {
            let length = length.next_multiple_of(tree.accumulators() as usize);
            let chunks = n.div_ceil(length);
            let matrix = numbers(count * n);
            let of_column = |column: usize| {
                let column: Vec<f32> = matrix.iter().skip(column).step_by(count).copied().collect();
                let partials: Vec<f32> = column.chunks(length).map(|chunk| sum(tree, chunk)).collect();
                sum(tree, &partials)
            };
            let expected: Vec<f32> = (0..count).map(of_column).collect();
            let sizes = [chunks, count, n, count, length, count].map(|size| size as i64);
            let [once, _] = outcomes(&opencl, &kernel, &schedule, &matrix, (count, count * chunks), &sizes);
            assert_same(&once, &expected, &format!("{count} columns of {n} in {chunks} under {schedule:?}"));
        }
    }
}

#[test]
fn groups_wait_only_for_what_depends_on_their_chunk() {
    let warp = Tree { lanes: 32, width: 1 };
    let schedule = rows(512, 4, 1, 4);
    let softmax = waiting_softmax(&schedule, warp);
    verify_kernel(&softmax, &schedule).unwrap();
    assert!(softmax.waits());
    // Chunks, rows, columns, row pitch, length of a chunk, chunks.
    assert_eq!(schedule.grid(&softmax, &[3, 70, 24_000, 24_000, 8192, 3]).groups, [3, 70, 1]);
    assert!(split_combine(&softmax, schedule).is_none(), "two launches cannot keep what groups keep");
    assert!(!combined_sum(Tree { lanes: 256, width: 4 }, warp).waits());
    let text = emit(&softmax, &schedule, Dialect::CudaC, &EmitOptions::default()).text;
    assert!(text.contains("__launch_bounds__(512, 2)"), "{text}");
    assert_eq!(text.matches("await_groups(&").count(), 2, "{text}");
}

#[test]
fn what_cannot_be_combined_is_refused() {
    let warp = Tree { lanes: 32, width: 1 };
    let group = rows(256, 4, 1, 0);
    let right = || combined_sum(Tree { lanes: 256, width: 4 }, warp);
    let fault = |change: &dyn Fn(&mut Kernel)| {
        let mut kernel = right();
        change(&mut kernel);
        verify_kernel(&kernel, &group).expect_err("a fault")
    };
    verify_kernel(&right(), &group).unwrap();
    assert!(fault(&|kernel| kernel.parallel.reverse()).contains("not the outermost"));
    assert!(fault(&|kernel| kernel.buffers[2].access = Access::Read).contains("buffer 2"));
    assert!(fault(&|kernel| kernel.buffers[3].access = Access::Scratch).contains("buffer 3"));
    let change = |kernel: &mut Kernel, tree: Tree| {
        if let Some(Stmt::Combine(combine)) = kernel.body.iter_mut().find(|stmt| matches!(stmt, Stmt::Combine(_))) {
            combine.tree = tree;
        }
    };
    assert!(fault(&|kernel| change(kernel, Tree { lanes: 64, width: 1 })).contains("points combine by"));
    assert!(fault(&|kernel| change(kernel, Tree { lanes: 8, width: 4 })).contains("points combine by"));
    let map = Schedule::Map { group: 64, width: 1, placement: Placement::Linear };
    assert!(verify_kernel(&right(), &map).is_err());
}
