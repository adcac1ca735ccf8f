//! What lowering must never make is refused, with a sentence that says why.

mod common;

use common::{INNER, combine, group, kernels, linear, rows, stencils::run_of_rows, tiles::tile};
use lazuli_codegen::{
    Access, AxisId, DType, Dialect, EmitOptions, Expr, IndexWidth, Kernel, Loop, Placement, SizeId, Span, Stmt, Tree,
    UnaryOp, Var, VarType, emit, verify_kernel,
};

fn refused(change: impl FnOnce(&mut Kernel)) -> String {
    let mut kernel = kernels::triad();
    verify_kernel(&kernel, &INNER).expect("valid before the change");
    change(&mut kernel);
    verify_kernel(&kernel, &INNER).expect_err("refused after the change")
}

#[test]
fn faults_are_named() {
    let twice = refused(|kernel| kernel.body.insert(1, kernel.body[0].clone()));
    assert_eq!(twice, "variable 0 is assigned twice");
    let early = refused(|kernel| kernel.body.swap(0, 4));
    assert_eq!(early, "variable 0 is used before it is assigned");
    let out_of_range = refused(|kernel| kernel.scalars.clear());
    assert_eq!(out_of_range, "scalar 0 is not there");
    let mistyped = refused(|kernel| kernel.vars[1] = VarType::Index);
    assert_eq!(mistyped, "variable 1 is an index where an element is meant");
    let unlooped = refused(|kernel| kernel.parallel.clear());
    assert_eq!(unlooped, "axis 0 is used outside of its loop");
    let read = refused(|kernel| {
        if let Some(Stmt::Store { buffer, .. }) = kernel.body.last_mut() {
            buffer.0 = 0;
        }
    });
    assert_eq!(read, "buffer 0 is not for Write");
    let unknown = refused(|kernel| kernel.body.push(Stmt::Let { var: Var(99), expr: Expr::Zero }));
    assert_eq!(unknown, "variable 99 is not there");
}

#[test]
fn trees_must_be_what_the_schedule_runs() {
    let kernel = kernels::matrix_norm();
    verify_kernel(&kernel, &group(64, 1)).expect("the kernel's own tree");
    for schedule in [group(128, 1), group(48, 1), linear(1)] {
        verify_kernel(&kernel, &schedule).expect_err("another tree");
    }
}

#[test]
fn groups_are_whole() {
    let kernel = common::rows::row_softmax(UnaryOp::Exp, &rows(32, 1, 1, 0));
    verify_kernel(&kernel, &rows(32, 1, 8, 4)).expect("eight points");
    let refused = |points, steps| verify_kernel(&kernel, &rows(32, 1, points, steps)).expect_err("refused");
    assert_eq!(refused(3, 0), "a group cannot hold 3 points");
    assert_eq!(refused(0, 0), "a group cannot hold 0 points");
    assert_eq!(refused(256, 0), "a group cannot have 8192 threads");
    assert_eq!(refused(1, 1 << 20), "a thread cannot keep 1048576 values");
}

#[test]
fn groups_that_wait_have_one_point() {
    let combining = Tree { lanes: 32, width: 1 };
    let waiting = combine::waiting_softmax(&rows(128, 4, 1, 4), combining);
    verify_kernel(&waiting, &rows(128, 4, 1, 4)).expect("one point");
    let several = verify_kernel(&waiting, &rows(128, 4, 2, 4));
    assert_eq!(several.expect_err("refused"), "groups of 2 points wait for each other");
    let leaving = combine::combined_sum(Tree { lanes: 64, width: 4 }, combining);
    verify_kernel(&leaving, &rows(64, 4, 2, 0)).expect("the last group goes on alone");
}

#[test]
fn tiles_are_shared_out_evenly() {
    let kernel = common::tiles::add_transposed(true);
    verify_kernel(&kernel, &tile(256, 64, 4, 0)).expect("sixteen rows at once");
    let refused = |schedule| verify_kernel(&kernel, &schedule).expect_err("refused");
    let uneven = "a tile of side 48 for 256 threads of width 4 is not made of powers of two";
    assert_eq!(refused(tile(256, 48, 4, 0)), uneven);
    let few = "8 threads of width 4 do not share out a tile of side 64";
    assert_eq!(refused(tile(8, 64, 4, 0)), few);
    assert_eq!(refused(tile(256, 64, 4, 1)), "a tile lies across axis 1 of 2");
    let narrow = common::tiles::add_transposed(false);
    verify_kernel(&narrow, &tile(256, 64, 1, 0)).expect("one by one");
    let narrow = verify_kernel(&narrow, &tile(256, 64, 4, 0)).expect_err("refused");
    assert_eq!(narrow, "a tile of neighbours is moved one by one");
    let looped = verify_kernel(&kernels::matrix_norm(), &tile(256, 64, 4, 0)).expect_err("refused");
    assert!(looped.starts_with("a tile lies across axis 0"), "{looped}");
}

#[test]
fn rows_lie_along_an_axis_outside_the_innermost() {
    let kernel = common::stencils::five_points(DType::F32, 0, IndexWidth::I32);
    verify_kernel(&kernel, &run_of_rows(1, 4, Placement::Linear)).expect("four rows");
    let refused =
        |kernel: &Kernel, rows| verify_kernel(kernel, &run_of_rows(1, rows, Placement::Linear)).expect_err("refused");
    assert_eq!(refused(&kernel, 1), "a thread cannot own 1 elements of each of 1 rows");
    assert_eq!(refused(&kernels::triad(), 4), "rows lie along no axis");
    let mut ahead = kernel;
    for stmt in &mut ahead.body {
        if let Stmt::Let { expr: Expr::Load { at, .. }, .. } = stmt {
            at.ahead = Some((AxisId(7), 1));
        }
    }
    assert_eq!(refused(&ahead, 4), "an index is 1 ahead along axis 7, which it does not have");
}

#[test]
fn values_are_shared_by_loops_over_the_same_elements() {
    let schedule = rows(32, 1, 1, 0);
    let refused = |change: fn(&mut Kernel)| {
        let mut kernel = common::rows::row_softmax(UnaryOp::Exp, &schedule);
        verify_kernel(&kernel, &schedule).expect("valid before the change");
        change(&mut kernel);
        verify_kernel(&kernel, &schedule).expect_err("refused after the change")
    };
    // Over other axes, even of one extent.
    let elsewhere = refused(|kernel| {
        kernel.axes.push(kernel.axes[1]);
        if let Some(Stmt::Loop(own)) = kernel.body.last_mut() {
            own.axes = vec![AxisId(2)];
            own.body.truncate(1);
        }
    });
    assert_eq!(elsewhere, "variable 3 is used outside of its loop");
    // At the top level, where there is no element.
    let outside = refused(|kernel| {
        kernel.vars.push(VarType::Value(DType::F32));
        let var = Var(kernel.vars.len() as u32 - 1);
        kernel.body.insert(1, Stmt::Let { var, expr: Expr::Unary(UnaryOp::Exp, Var(0)) });
    });
    assert_eq!(outside, "variable 0 is used outside of its loop");
    // A chunk's elements are not the whole's.
    let chunked = refused(|kernel| {
        if let Some(Stmt::Reduce(reduce)) = kernel.body.first_mut() {
            reduce.span = Span::Chunk { axis: AxisId(0), length: SizeId(0) };
        }
    });
    assert_eq!(chunked, "variable 0 is used outside of its loop");
    // Before it is there.
    let early = refused(|kernel| kernel.body.swap(0, 2));
    assert_eq!(early, "variable 3 is used before it is assigned");
    // A loop in a loop.
    let nested = refused(|kernel| {
        let inner = kernel.body.pop().expect("a loop");
        kernel.body.push(Stmt::Loop(Loop { axes: Vec::new(), span: Span::Whole, body: vec![inner] }));
    });
    assert_eq!(nested, "a loop stands inside another");
}

#[test]
fn a_kernel_may_be_called_by_any_word() {
    for (name, entry) in [
        ("exp", "kernel_exp"),
        ("float", "kernel_float"),
        ("i32_add", "kernel_i32_add"),
        ("2d", "kernel_2d"),
        ("exp_f32", "exp_f32"),
    ] {
        let mut kernel = kernels::triad();
        name.clone_into(&mut kernel.name);
        let source = emit(&kernel, &INNER, Dialect::OpenClC, &EmitOptions::default());
        assert_eq!(source.entry, entry);
        assert!(source.text.contains(&format!("void {entry}(")));
    }
}

#[test]
fn checked_indices_are_of_integers_and_noted_where_notes_are() {
    let refused = |change: fn(&mut Kernel)| {
        let mut kernel = kernels::gather(DType::I64, IndexWidth::I32);
        verify_kernel(&kernel, &INNER).expect("right as it is");
        change(&mut kernel);
        verify_kernel(&kernel, &INNER).expect_err("refused")
    };
    let of_floats = refused(|kernel| {
        kernel.buffers[0].dtype = DType::F64;
        kernel.vars[0] = VarType::Value(DType::F64);
    });
    assert_eq!(of_floats, "an index computed from f64");
    assert_eq!(refused(|kernel| kernel.buffers[4].dtype = DType::I64), "notes of i64");
    assert_eq!(refused(|kernel| kernel.buffers[4].access = Access::Write), "buffer 4 is not for Note");
    assert!(refused(|kernel| kernel.sizes = 1).contains("size 1 of 1"));
}
