//! What lowering must never make is refused, with a sentence that says why.

mod common;

use common::{INNER, kernels, linear};
use lazuli_codegen::{Dialect, EmitOptions, Expr, Kernel, Schedule, Stmt, Tree, Var, VarType, emit, verify_kernel};

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
    let group = |lanes| Schedule::Group { tree: Tree { lanes, width: 1 } };
    verify_kernel(&kernel, &group(64)).expect("the kernel's own tree");
    for schedule in [group(128), group(48), linear(1)] {
        verify_kernel(&kernel, &schedule).expect_err("another tree");
    }
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
