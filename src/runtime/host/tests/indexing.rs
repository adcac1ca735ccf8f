//! Index variables, gathers, scatters, and what is refused.

use lazuli_codegen::*;

use super::build::*;
use crate::error::Error;
use crate::runtime::Runtime;
use crate::runtime::host::HostRuntime;

fn runtime() -> HostRuntime {
    HostRuntime::new()
}

#[test]
fn iota_of_two_axes() {
    let (rows, columns) = (70, 90);
    let mut k = Build::new();
    let (i, j) = (k.parallel(rows), k.parallel(columns));
    let out = k.output(DType::I64);
    let at = k.at(5, &[(i, 1000), (j, 1)]);
    let index = k.index(Expr::Index(at));
    let value = k.value(DType::I64, Expr::IndexValue(index));
    let at = k.at(0, &[(i, columns), (j, 1)]);
    k.store(out, at, value);
    let got: Vec<i64> = run(k, MAP, &[], (rows * columns) as usize);
    let want: Vec<i64> = (0..rows).flat_map(|i| (0..columns).map(move |j| 5 + i * 1000 + j)).collect();
    assert_eq!(got, want);
}

/// out[i, j] = a[1 + i + 2, j], told as the row two ahead of another.
#[test]
fn a_row_ahead_is_another_offset() {
    let (rows, columns) = (70usize, 90usize);
    let a = noise((rows + 3) * columns, 2);
    let mut k = Build::new();
    let (i, j) = (k.parallel(rows as i64), k.parallel(columns as i64));
    let (ka, out) = (k.input(DType::F32), k.output(DType::F32));
    let at = Affine { ahead: Some((i, 2)), ..k.at(columns as i64, &[(i, columns as i64), (j, 1)]) };
    let value = k.load(ka, at);
    let at = k.at(0, &[(i, columns as i64), (j, 1)]);
    k.store(out, at, value);
    let runtime = runtime();
    let got: Vec<f32> = run(k, MAP, &[&*upload(&runtime, &a)], rows * columns);
    assert_eq!(got, a[3 * columns..]);
}

/// out[i] = i < pad ? 0 : a[clamp(i - pad)]
#[test]
fn padding_by_clamped_gather_and_select() {
    let (n, pad) = (6000usize, 70i64);
    let a = noise(n, 1);
    let mut k = Build::new();
    let i = k.parallel(n as i64 + pad);
    let (ka, out) = (k.input(DType::F32), k.output(DType::F32));
    let (back, limit) = (k.size(pad), k.size(n as i64 - 1));
    let at = k.at(0, &[(i, 1)]);
    let index = k.index(Expr::Index(at));
    let inside = k.value(DType::Bool, Expr::IndexLess(IndexOperand::Var(index), IndexOperand::Size(back)));
    let moved = k.index(Expr::IndexBinary(IndexOp::Sub, IndexOperand::Var(index), IndexOperand::Size(back)));
    let low = k.index(Expr::IndexBinary(IndexOp::Max, IndexOperand::Var(moved), IndexOperand::Zero));
    let high = k.index(Expr::IndexBinary(IndexOp::Min, IndexOperand::Var(low), IndexOperand::Size(limit)));
    let at = k.at_terms(0, &[(Term::Var(high), 1)]);
    let loaded = k.load(ka, at);
    let zero = k.value(DType::F32, Expr::Zero);
    let value = k.value(DType::F32, Expr::Select { condition: inside, on_true: zero, on_false: loaded });
    let at = k.at(0, &[(i, 1)]);
    k.store(out, at, value);
    let got: Vec<f32> = run(k, MAP, &[&*upload(&runtime(), &a)], n + pad as usize);
    assert!(got[..pad as usize].iter().all(|&x| x == 0.0));
    assert_eq!(got[pad as usize..], a);
}

/// A reshape read through div and rem, and a store through the same.
#[test]
fn index_arithmetic_addresses_loads_and_stores() {
    let (rows, columns) = (37i64, 53i64);
    let n = rows * columns;
    let a: Vec<i32> = (0..n as i32).collect();
    let mut k = Build::new();
    let i = k.parallel(n);
    let (ka, out) = (k.input(DType::I32), k.output(DType::I32));
    let width = k.size(columns);
    let at = k.at(0, &[(i, 1)]);
    let index = k.index(Expr::Index(at));
    let row = k.index(Expr::IndexBinary(IndexOp::Div, IndexOperand::Var(index), IndexOperand::Size(width)));
    let column = k.index(Expr::IndexBinary(IndexOp::Rem, IndexOperand::Var(index), IndexOperand::Size(width)));
    let at = k.at_terms(0, &[(Term::Axis(i), 1)]);
    let value = k.load(ka, at);
    let at = k.at_terms(0, &[(Term::Var(column), rows), (Term::Var(row), 1)]);
    k.store(out, at, value);
    let got: Vec<i32> = run(k, MAP, &[&*upload(&runtime(), &a)], n as usize);
    for row in 0..rows {
        for column in 0..columns {
            assert_eq!(got[(column * rows + row) as usize], a[(row * columns + column) as usize]);
        }
    }
}

#[test]
fn an_index_outside_its_buffer_is_an_error() {
    // By the launch's own check, and by the gather's.
    for gather in [false, true] {
        let mut k = Build::new();
        let i = k.parallel(100);
        let (a, out) = (k.input(DType::U8), k.output(DType::U8));
        let at = k.at(1, &[(i, 1)]);
        let at = if gather {
            let index = k.index(Expr::Index(at));
            k.at_terms(0, &[(Term::Var(index), 1)])
        } else {
            at
        };
        let v = k.load(a, at);
        let at = k.at(0, &[(i, 1)]);
        k.store(out, at, v);
        let result = try_run::<u8>(k, MAP, &[&*upload(&runtime(), &[1u8; 100])], 100);
        assert!(matches!(result, Err(Error::Internal(_))), "{result:?}");
    }
}

#[test]
fn malformed_kernels_are_refused() {
    let mut unknown = Build::new();
    unknown.value(DType::F32, Expr::Unary(UnaryOp::Neg, Var(7)));
    let mut undefined = Build::new();
    let flag = undefined.scalar(true);
    undefined.value(DType::Bool, Expr::Unary(UnaryOp::Neg, flag));
    let mut mixed = Build::new();
    let (a, b) = (mixed.scalar(1i32), mixed.scalar(1i64));
    mixed.value(DType::I32, Expr::Binary(BinaryOp::Add, a, b));
    let mut axis = Build::new();
    let out = axis.output(DType::F32);
    let stray = axis.axis(3);
    let value = axis.scalar(1f32);
    let at = axis.at(0, &[(stray, 1)]);
    axis.store(out, at, value);
    let mut write = Build::new();
    let input = write.input(DType::F32);
    let value = write.scalar(1f32);
    let at = write.at(0, &[]);
    write.store(input, at, value);
    let mut tree = Build::new();
    let r = tree.axis(3);
    tree.reduce(&[r], Span::Whole, Tree { lanes: 1, width: 16 }, |k| vec![(ReduceOp::Sum, k.scalar(1f32))]);
    for build in [unknown, undefined, mixed, axis, write, tree] {
        let (kernel, ..) = build.finish();
        let result = runtime().compile(&kernel, MAP, false);
        assert!(matches!(result, Err(Error::Internal(_))));
    }
}

#[test]
fn absurd_allocations_are_refused() {
    for bytes in [usize::MAX, isize::MAX as usize, 1 << 50] {
        assert!(matches!(runtime().allocate(bytes), Err(Error::OutOfMemory { .. })));
    }
}

#[test]
fn transfers_are_checked() {
    let r = runtime();
    let memory = r.allocate(16).unwrap();
    assert!(r.upload(&[0; 17], &*memory, 0).is_err());
    assert!(r.upload(&[0; 16], &*memory, 1).is_err());
    assert!(r.download(&*memory, usize::MAX, &mut [0; 2]).is_err());
    let large: Vec<u8> = (0..9_000_001u32).map(|i| (i % 251) as u8).collect();
    let a = r.allocate(large.len()).unwrap();
    r.upload(&large, &*a, 0).unwrap();
    let mut back = vec![0; large.len()];
    r.download(&*a, 0, &mut back).unwrap();
    assert!(back == large);
}
