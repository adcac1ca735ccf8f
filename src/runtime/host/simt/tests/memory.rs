//! Reads and writes: every type and pattern, indices out of range, and arguments that do not fit.

use lazuli_codegen::simt::ir::*;
use lazuli_codegen::{DType, Scalar};

use super::build::*;
use crate::dtype::Element;
use crate::error::Error;
use crate::runtime::explicit::RawGrid;

/// out[to(i)] = x[from(i)] for i below both lengths.
fn copy_by(dtype: DType, from: fn(Expr) -> Expr, to: fn(Expr) -> Expr) -> std::sync::Arc<Kernel> {
    let mut k = Build::default();
    let (x, out) = (k.slice(dtype, false), k.slice(dtype, true));
    let loaded = k.load(x, [from(global())]);
    let store = k.store(out, [to(global())], loaded);
    k.finish(vec![store])
}

fn check<T: Element + PartialEq + std::fmt::Debug>(value: fn(usize) -> T) {
    let mut x: Vec<T> = (0..64).map(value).collect();
    let mut found = vec![value(0); 64];
    let mut copy = |from, to, wanted: &dyn Fn(usize) -> T| {
        run(&copy_by(T::DTYPE, from, to), &line(2, 32), &mut [Given::Slice(&mut x), Given::Slice(&mut found)]);
        let wanted: Vec<T> = (0..64).map(wanted).collect();
        assert_eq!(found, wanted, "{}", T::DTYPE);
    };
    copy(|i| i, |i| i, &|i| value(i));
    copy(|i| mul(i, n(0)), |i| i, &|_| value(0));
    copy(|i| rem(mul(i, n(5)), n(64)), |i| i, &|i| value(i * 5 % 64));
    copy(|i| i, |i| rem(mul(i, n(3)), n(64)), &|i| value(i * 43 % 64));
}

#[test]
fn every_type_is_read_and_written_in_every_order() {
    check(|i| i % 3 == 0);
    check(|i| i as i8);
    check(|i| i as u8);
    check(|i| i as i16 - 9);
    check(|i| i as u16);
    check(|i| i as i32 - 9);
    check(|i| i as u32);
    check(|i| i as i64 - 9);
    check(|i| i as u64);
    check(|i| half::f16::from_f32(i as f32 / 3.0));
    check(|i| half::bf16::from_f32(i as f32 / 3.0));
    check(|i| i as f32 / 3.0);
    check(|i| i as f64 / 3.0);
}

#[test]
fn arrays_of_the_thread_are_each_thread_s_own_and_begin_as_zero() {
    let mut k = Build::default();
    let out = k.slice(DType::U32, true);
    let own = k.array(DType::U32, &[3, 5], Space::Thread);
    let (i, sum) = (k.var(DType::U64), k.var(DType::U32));
    let [a, b] = [0; 2].map(|_| k.var(DType::U64));
    let place = || [rem(Expr::Var(i), n(3)), rem(Expr::Var(i), n(5))];
    let store = k.store(own, place(), cast(DType::U32, Expr::Var(i)));
    let load = k.load(own, [Expr::Var(a), Expr::Var(b)]);
    let body = vec![Stmt::Assign(sum, add(mul(Expr::Var(sum), literal(3u32)), load))];
    let inner = Stmt::For { var: b, start: n(0), end: n(5), step: 1, body };
    let outer = Stmt::For { var: a, start: n(0), end: n(3), step: 1, body: vec![inner] };
    let last = k.store(out, [Expr::Var(i)], Expr::Var(sum));
    let kernel = k.finish(vec![Stmt::Let(i, global()), Stmt::Let(sum, literal(0u32)), store, outer, last]);
    let mut found = vec![0u32; 120];
    run(&kernel, &line(4, 30), &mut [Given::Slice(&mut found)]);
    for (i, &found) in found.iter().enumerate() {
        let mut own = [[0u32; 5]; 3];
        own[i % 3][i % 5] = i as u32;
        let wanted = own.iter().flatten().fold(0u32, |sum, x| sum.wrapping_mul(3).wrapping_add(*x));
        assert_eq!(found, wanted, "{i}");
    }
}

#[test]
fn an_index_out_of_range_reads_zero_writes_nothing_and_is_noted() {
    // Thread 3 of group 2 is number 11, one past the end.
    let kernel = copy_by(DType::I32, |i| i, |i| i);
    let (mut x, mut found) = ((1..=11).collect::<Vec<i32>>(), vec![-1; 12]);
    let mut given = [Given::Slice(&mut x), Given::Slice(&mut found)];
    let note = run_with(&kernel, &line(3, 4), true, &mut given).unwrap();
    assert_eq!(note, [1, 0, 0, 11, 11, 2, 3, 0]);
    assert_eq!(found, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0]);
    let mut short = vec![-1; 10];
    let mut given = [Given::Slice(&mut x), Given::Slice(&mut short)];
    let note = run_with(&kernel, &line(1, 11), true, &mut given).unwrap();
    assert_eq!(note, [1, 1, 0, 10, 10, 0, 10, 0]);
    let mut given = [Given::Slice(&mut x), Given::Slice(&mut short)];
    let error = run_with(&kernel, &line(1, 11), false, &mut given).unwrap_err();
    let Error::KernelIndex { index: 10, extent: 10, axis: 0, thread: [10, 0, 0], at, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(at, "kernel.rs:1:1");
    // The second axis of an array.
    let mut k = Build::default();
    let shared = k.array(DType::I32, &[4, 5], Space::Group);
    let store = k.store(shared, [n(3), global()], literal(1));
    let note = run_with(&k.finish(vec![store]), &line(1, 8), true, &mut []).unwrap();
    assert_eq!(note, [1, 0, 1, 5, 5, 0, 5, 0]);
}

#[test]
fn arguments_and_grids_that_do_not_fit_are_refused() {
    let kernel = copy_by(DType::F32, |i| i, |i| i);
    let refused = |grid: &RawGrid, given: &mut [Given]| {
        let Err(Error::InvalidLaunch { kernel: name, what }) = run_with(&kernel, grid, false, given) else { panic!() };
        assert_eq!(name, "test");
        what
    };
    let (mut x, mut y) = (vec![0.0f32; 4], vec![0.0f32; 4]);
    let what = refused(&line(1, 2000), &mut [Given::Slice(&mut x), Given::Slice(&mut y)]);
    assert!(what.contains("2000") && what.contains("1024"), "{what}");
    let what = refused(&line(1, 0), &mut [Given::Slice(&mut x), Given::Slice(&mut y)]);
    assert!(what.contains("1 to 1024"), "{what}");
    let what = refused(&line(1, 4), &mut [Given::Slice(&mut x)]);
    assert!(what.contains("2 arguments are too few"), "{what}");
    let scalar = Scalar::from_bits(DType::F32, 0);
    let what = refused(&line(1, 4), &mut [Given::Slice(&mut x), Given::Scalar(scalar)]);
    assert!(what.contains("argument 2 is not memory"), "{what}");
    let mut z = vec![0.0f32; 4];
    let what = refused(&line(1, 4), &mut [Given::Slice(&mut x), Given::Slice(&mut y), Given::Slice(&mut z)]);
    assert!(what.contains("6 arguments, of which it takes 4"), "{what}");
    run(&kernel, &line(0, 4), &mut [Given::Slice(&mut x), Given::Slice(&mut y)]);
}
