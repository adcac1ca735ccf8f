//! Kernels that pass over a row more than once, each against the documented tree.

use lazuli_codegen::*;

use super::build::*;
use super::reductions::{reference, sum};
use crate::runtime::bytes::of_slice_mut;
use crate::runtime::host::HostRuntime;
use crate::runtime::{Memory, Runtime};

fn runtime() -> HostRuntime {
    HostRuntime::new()
}

/// The indices of one element: parallel axes and row axes with their strides.
type Place<'a> = &'a [(AxisId, i64)];

/// Softmax over `row`: the exponentials are used by two passes.
pub fn softmax(k: &mut Build, row: &[AxisId], tree: Tree, place: Place, input: BufferId, output: BufferId) {
    let at = k.at(0, place);
    let mut x = None;
    let most = k.reduce(row, Span::Whole, tree, |k| {
        x = Some(k.load(input, at));
        vec![(ReduceOp::Max, x.unwrap())]
    })[0];
    let mut e = None;
    let total = k.reduce(row, Span::Whole, tree, |k| {
        let d = k.binary(BinaryOp::Sub, x.unwrap(), most);
        e = Some(k.unary(UnaryOp::Exp, d));
        vec![(ReduceOp::Sum, e.unwrap())]
    })[0];
    k.each(row, |k| {
        let v = k.binary(BinaryOp::Div, e.unwrap(), total);
        let at = k.at(0, place);
        k.store(output, at, v);
    });
}

/// (x - mean) / sqrt(variance + epsilon) * gain, with the gain at `gain_place`.
pub fn layer_norm(
    k: &mut Build,
    row: &[AxisId],
    n: usize,
    tree: Tree,
    (place, gain_place): (Place, Place),
    [input, gain, output]: [BufferId; 3],
) {
    let count = k.scalar(n as f32);
    let epsilon = k.scalar(1e-5f32);
    let at = k.at(0, place);
    let mut x = None;
    let total = k.reduce(row, Span::Whole, tree, |k| {
        x = Some(k.load(input, at));
        vec![(ReduceOp::Sum, x.unwrap())]
    })[0];
    let mean = k.binary(BinaryOp::Div, total, count);
    let mut d = None;
    let squares = k.reduce(row, Span::Whole, tree, |k| {
        d = Some(k.binary(BinaryOp::Sub, x.unwrap(), mean));
        vec![(ReduceOp::Sum, k.binary(BinaryOp::Mul, d.unwrap(), d.unwrap()))]
    })[0];
    let variance = k.binary(BinaryOp::Div, squares, count);
    let moved = k.binary(BinaryOp::Add, variance, epsilon);
    let root = k.unary(UnaryOp::Sqrt, moved);
    k.each(row, |k| {
        let v = k.binary(BinaryOp::Div, d.unwrap(), root);
        let at = k.at(0, gain_place);
        let g = k.load(gain, at);
        let v = k.binary(BinaryOp::Mul, v, g);
        let at = k.at(0, place);
        k.store(output, at, v);
    });
}

/// The exponentials as the host computes them.
fn exps(values: &[f32]) -> Vec<f32> {
    let mut k = Build::new();
    let i = k.parallel(values.len() as i64);
    let (a, out) = (k.input(DType::F32), k.output(DType::F32));
    let at = k.at(0, &[(i, 1)]);
    let v = k.load(a, at);
    let v = k.unary(UnaryOp::Exp, v);
    let at = k.at(0, &[(i, 1)]);
    k.store(out, at, v);
    run(k, MAP, &[&*upload(&runtime(), values)], values.len())
}

fn softmax_reference(row: &[f32], tree: Tree) -> Vec<f32> {
    let most = reference(row, tree, f32::NEG_INFINITY, f32::max);
    let e = exps(&row.iter().map(|x| x - most).collect::<Vec<_>>());
    let total = sum(&e, tree);
    e.iter().map(|e| e / total).collect()
}

fn layer_norm_reference(row: &[f32], gain: &[f32], tree: Tree) -> Vec<f32> {
    let n = row.len() as f32;
    let mean = sum(row, tree) / n;
    let d: Vec<f32> = row.iter().map(|x| x - mean).collect();
    let squares: Vec<f32> = d.iter().map(|d| d * d).collect();
    let root = (sum(&squares, tree) / n + 1e-5).sqrt();
    d.iter().zip(gain).map(|(d, g)| d / root * g).collect()
}

fn same(got: &[f32], want: &[f32], what: &str) {
    assert_eq!(got.len(), want.len());
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        assert_eq!(got.to_bits(), want.to_bits(), "{what}: element {at}: {got} for {want}");
    }
}

const TREES: [Tree; 5] = [
    Tree::SERIAL,
    Tree { lanes: 1, width: 16 },
    Tree { lanes: 8, width: 4 },
    Tree { lanes: 64, width: 1 },
    Tree { lanes: 1024, width: 4 },
];

/// Rows that fit in a block together, rows of several blocks, and rows too long to be kept.
#[test]
fn softmax_follows_the_tree_bit_for_bit() {
    for tree in TREES {
        for (rows, n) in [(1, 1), (7, 3), (1000, 64), (33, 256), (9, 257), (5, 4096), (3, 10_007), (2, 300_001)] {
            if n > 200_000 && tree.accumulators() != 16 {
                continue;
            }
            let a = noise(rows * n, 1);
            let mut k = Build::new();
            let (i, r) = (k.parallel(rows as i64), k.axis(n as i64));
            let (input, output) = (k.input(DType::F32), k.output(DType::F32));
            softmax(&mut k, &[r], tree, &[(i, n as i64), (r, 1)], input, output);
            let got: Vec<f32> = run(k, group(tree), &[&*upload(&runtime(), &a)], rows * n);
            for (row, got) in a.chunks(n).zip(got.chunks(n)) {
                same(got, &softmax_reference(row, tree), &format!("{tree:?} {rows}x{n}"));
            }
        }
    }
}

#[test]
fn layer_norm_follows_the_tree_bit_for_bit() {
    for tree in TREES {
        for (rows, n) in [(1, 1), (700, 100), (5, 4096), (3, 10_007)] {
            let (a, gain) = (noise(rows * n, 1), noise(n, 2));
            let mut k = Build::new();
            let (i, r) = (k.parallel(rows as i64), k.axis(n as i64));
            let buffers = [k.input(DType::F32), k.input(DType::F32), k.output(DType::F32)];
            layer_norm(&mut k, &[r], n, tree, (&[(i, n as i64), (r, 1)], &[(r, 1)]), buffers);
            let r = runtime();
            let got: Vec<f32> = run(k, group(tree), &[&*upload(&r, &a), &*upload(&r, &gain)], rows * n);
            for (row, got) in a.chunks(n).zip(got.chunks(n)) {
                same(got, &layer_norm_reference(row, &gain, tree), &format!("{tree:?} {rows}x{n}"));
            }
        }
    }
}

/// Two results a row and nothing for each element: no loop, values shared by two reductions.
#[test]
fn mean_and_variance_are_stored_by_one_kernel() {
    let r = runtime();
    for tree in TREES {
        for (rows, n) in [(300, 40), (7, 5000), (2, 300_001)] {
            let a = noise(rows * n, 1);
            let mut k = Build::new();
            let (i, axis) = (k.parallel(rows as i64), k.axis(n as i64));
            let (input, means, out) = (k.input(DType::F32), k.output(DType::F32), k.output(DType::F32));
            let count = k.scalar(n as f32);
            let mut x = None;
            let total = k.reduce(&[axis], Span::Whole, tree, |k| {
                let at = k.at(0, &[(i, n as i64), (axis, 1)]);
                let loaded = k.load(input, at);
                x = Some(k.unary(UnaryOp::Neg, loaded));
                vec![(ReduceOp::Sum, x.unwrap())]
            })[0];
            let mean = k.binary(BinaryOp::Div, total, count);
            let squares = k.reduce(&[axis], Span::Whole, tree, |k| {
                let d = k.binary(BinaryOp::Sub, x.unwrap(), mean);
                vec![(ReduceOp::Sum, k.binary(BinaryOp::Mul, d, d))]
            })[0];
            let variance = k.binary(BinaryOp::Div, squares, count);
            for (buffer, value) in [(means, mean), (out, variance)] {
                let at = k.at(0, &[(i, 1)]);
                k.store(buffer, at, value);
            }
            let held = upload(&r, &vec![0f32; rows]);
            let variances: Vec<f32> = run(k, group(tree), &[&*upload(&r, &a), &*held], rows);
            let mut got = vec![0f32; rows];
            r.download(&*held, 0, of_slice_mut(&mut got)).unwrap();
            for (i, row) in a.chunks(n).enumerate() {
                let row: Vec<f32> = row.iter().map(|x| -x).collect();
                let mean = sum(&row, tree) / n as f32;
                let squares: Vec<f32> = row.iter().map(|x| (x - mean) * (x - mean)).collect();
                assert_eq!(got[i].to_bits(), mean.to_bits(), "{tree:?} {rows}x{n}");
                assert_eq!(variances[i].to_bits(), (sum(&squares, tree) / n as f32).to_bits(), "{tree:?} {rows}x{n}");
            }
        }
    }
}

/// Softmax of x + b over axes 0 and 2 of a 3-d array, whose axes do not collapse; b has axis 2 alone, or axis 0.
#[test]
fn softmax_over_two_axes_with_a_broadcast_operand() {
    let r = runtime();
    for tree in TREES {
        for (x, y, z) in [(3usize, 50usize, 20usize), (13, 7, 700), (5, 3, 70_000)] {
            for by_last in [true, false] {
                if z > 10_000 && tree.accumulators() != 16 {
                    continue;
                }
                let (a, b) = (noise(x * y * z, 1), noise(x.max(z), 2));
                let mut k = Build::new();
                let (j, i, l) = (k.parallel(y as i64), k.axis(x as i64), k.axis(z as i64));
                let (ka, kb, out) = (k.input(DType::F32), k.input(DType::F32), k.output(DType::F32));
                let row = [i, l];
                let place = [(i, (y * z) as i64), (j, z as i64), (l, 1)];
                let mut v = None;
                let most = k.reduce(&row, Span::Whole, tree, |k| {
                    let at = k.at(0, &place);
                    let left = k.load(ka, at);
                    let at = k.at(0, &[if by_last { (l, 1) } else { (i, 1) }]);
                    let right = k.load(kb, at);
                    v = Some(k.binary(BinaryOp::Add, left, right));
                    vec![(ReduceOp::Max, v.unwrap())]
                })[0];
                let mut e = None;
                let total = k.reduce(&row, Span::Whole, tree, |k| {
                    let d = k.binary(BinaryOp::Sub, v.unwrap(), most);
                    e = Some(k.unary(UnaryOp::Exp, d));
                    vec![(ReduceOp::Sum, e.unwrap())]
                })[0];
                k.each(&row, |k| {
                    let v = k.binary(BinaryOp::Div, e.unwrap(), total);
                    let at = k.at(0, &place);
                    k.store(out, at, v);
                });
                let got: Vec<f32> = run(k, group(tree), &[&*upload(&r, &a), &*upload(&r, &b)], x * y * z);
                for j in 0..y {
                    let each = || (0..x).flat_map(|i| (0..z).map(move |l| (i, l)));
                    let at = |(i, l): (usize, usize)| (i * y + j) * z + l;
                    let row: Vec<f32> = each().map(|e| a[at(e)] + b[if by_last { e.1 } else { e.0 }]).collect();
                    let got: Vec<f32> = each().map(|e| got[at(e)]).collect();
                    same(&got, &softmax_reference(&row, tree), &format!("{tree:?} {x}x{y}x{z}"));
                }
            }
        }
    }
}

/// Rows that lie across the memory: as columns of a map, kept or not, and point by point.
#[test]
fn softmax_of_columns() {
    for (n, columns) in [(1, 1), (64, 5000), (10, 3), (700, 130), (5000, 70), (9000, 9)] {
        let a = noise(n * columns, 1);
        for tree in TREES {
            let mut k = Build::new();
            let (j, r) = (k.parallel(columns as i64), k.axis(n as i64));
            let (input, output) = (k.input(DType::F32), k.output(DType::F32));
            softmax(&mut k, &[r], tree, &[(r, columns as i64), (j, 1)], input, output);
            let schedule = if tree == Tree::SERIAL { MAP } else { group(tree) };
            let got: Vec<f32> = run(k, schedule, &[&*upload(&runtime(), &a)], n * columns);
            for j in 0..columns {
                let column = |values: &[f32]| values.iter().skip(j).step_by(columns).copied().collect::<Vec<_>>();
                let want = softmax_reference(&column(&a), tree);
                same(&column(&got), &want, &format!("{tree:?} {n}x{columns}"));
            }
        }
    }
}

/// A thread for each row: rows that lie along the memory.
#[test]
fn softmax_and_layer_norm_of_rows_in_a_map() {
    let r = runtime();
    for (rows, n) in [(1, 1), (20_000, 2), (3000, 3), (1001, 64), (9, 200), (40, 300), (3, 9000)] {
        let (a, gain) = (noise(rows * n, 1), noise(n, 2));
        let mut k = Build::new();
        let (i, axis) = (k.parallel(rows as i64), k.axis(n as i64));
        let (input, output) = (k.input(DType::F32), k.output(DType::F32));
        softmax(&mut k, &[axis], Tree::SERIAL, &[(i, n as i64), (axis, 1)], input, output);
        let got: Vec<f32> = run(k, MAP, &[&*upload(&r, &a)], rows * n);
        for (row, got) in a.chunks(n).zip(got.chunks(n)) {
            same(got, &softmax_reference(row, Tree::SERIAL), &format!("softmax {rows}x{n}"));
        }
        let mut k = Build::new();
        let (i, axis) = (k.parallel(rows as i64), k.axis(n as i64));
        let buffers = [k.input(DType::F32), k.input(DType::F32), k.output(DType::F32)];
        layer_norm(&mut k, &[axis], n, Tree::SERIAL, (&[(i, n as i64), (axis, 1)], &[(axis, 1)]), buffers);
        let got: Vec<f32> = run(k, MAP, &[&*upload(&r, &a), &*upload(&r, &gain)], rows * n);
        for (row, got) in a.chunks(n).zip(got.chunks(n)) {
            same(got, &layer_norm_reference(row, &gain, Tree::SERIAL), &format!("layer norm {rows}x{n}"));
        }
    }
}

/// All that a pass may hold: halves, gathers, an inner reduction, index values, values of the row alone, and a store of a
/// kept value; with few rows and many, as a map and as groups.
#[test]
fn passes_hold_every_kind_of_value() {
    let r = runtime();
    let inner = 5usize;
    for (rows, n) in [(3usize, 37usize), (400, 64), (2, 3000), (2, 140_000)] {
        for tree in [Tree::SERIAL, Tree { lanes: 2, width: 8 }] {
            for halves in [false, true] {
                let dtype = if halves { DType::F16 } else { DType::F32 };
                let quarters =
                    |values: Vec<f32>| -> Vec<f32> { values.iter().map(|x| (x * 4.0).round() / 4.0).collect() };
                let (a, table) = (quarters(noise(rows * n, 1)), quarters(noise(n * inner, 2)));
                let weights = quarters(noise(rows, 3));
                let as_bits = |values: &[f32]| values.iter().map(|&x| half::f16::from_f32(x)).collect::<Vec<_>>();
                let mut k = Build::new();
                let (i, axis, q) = (k.parallel(rows as i64), k.axis(n as i64), k.axis(inner as i64));
                let (ka, kt, kw) = (k.input(dtype), k.input(DType::F32), k.input(DType::F32));
                let (kept_out, index_out, out) = (k.output(DType::F32), k.output(DType::I64), k.output(DType::F32));
                let last = k.size(n as i64 - 1);
                let (mut x, mut at_end, mut number, mut dot, mut weight) = (None, None, None, None, None);
                let total = k.reduce(&[axis], Span::Whole, tree, |k| {
                    let at = k.at(0, &[(i, n as i64), (axis, 1)]);
                    let loaded = k.load(ka, at);
                    x = Some(k.value(DType::F32, Expr::Cast(loaded)));
                    let at = k.at(0, &[(axis, 1)]);
                    let index = k.index(Expr::Index(at));
                    let turned =
                        k.index(Expr::IndexBinary(IndexOp::Sub, IndexOperand::Size(last), IndexOperand::Var(index)));
                    let at = k.at_terms(0, &[(Term::Axis(i), n as i64), (Term::Var(turned), 1)]);
                    let loaded = k.load(ka, at);
                    at_end = Some(k.value(DType::F32, Expr::Cast(loaded)));
                    number = Some(k.value(DType::I64, Expr::IndexValue(turned)));
                    let at = k.at(0, &[(i, 1)]);
                    weight = Some(k.load(kw, at));
                    dot = Some(
                        k.reduce(&[q], Span::Whole, Tree::SERIAL, |k| {
                            let at = k.at(0, &[(q, n as i64), (axis, 1)]);
                            let t = k.load(kt, at);
                            vec![(ReduceOp::Sum, k.binary(BinaryOp::Mul, t, x.unwrap()))]
                        })[0],
                    );
                    let v = k.binary(BinaryOp::Add, dot.unwrap(), at_end.unwrap());
                    vec![(ReduceOp::Sum, v)]
                })[0];
                let twice = k.binary(BinaryOp::Add, total, total);
                k.each(&[axis], |k| {
                    // Of the row alone, so that it may be computed outside.
                    let s = k.binary(BinaryOp::Mul, twice, twice);
                    let place = k.at(0, &[(i, n as i64), (axis, 1)]);
                    k.store(kept_out, place, dot.unwrap());
                    let place = k.at(0, &[(i, n as i64), (axis, 1)]);
                    k.store(index_out, place, number.unwrap());
                    let v = k.binary(BinaryOp::Mul, at_end.unwrap(), weight.unwrap());
                    let v = k.binary(BinaryOp::Add, v, s);
                    let v = k.binary(BinaryOp::Sub, v, x.unwrap());
                    let place = k.at(0, &[(i, n as i64), (axis, 1)]);
                    k.store(out, place, v);
                });
                let (dots, numbers) = (upload(&r, &vec![0f32; rows * n]), upload(&r, &vec![0i64; rows * n]));
                let input: Box<dyn Memory> = if halves { upload(&r, &as_bits(&a)) } else { upload(&r, &a) };
                let schedule = if tree == Tree::SERIAL { MAP } else { group(tree) };
                let others = (upload(&r, &table), upload(&r, &weights));
                let got: Vec<f32> = run(k, schedule, &[&*input, &*others.0, &*others.1, &*dots, &*numbers], rows * n);
                let (mut got_dots, mut got_numbers) = (vec![0f32; rows * n], vec![0i64; rows * n]);
                r.download(&*dots, 0, of_slice_mut(&mut got_dots)).unwrap();
                r.download(&*numbers, 0, of_slice_mut(&mut got_numbers)).unwrap();
                let what = format!("{tree:?} {rows}x{n} halves {halves}");
                for i in 0..rows {
                    let row = &a[i * n..][..n];
                    let dot: Vec<f32> =
                        (0..n).map(|j| (0..inner).fold(-0.0f32, |sum, q| sum + table[q * n + j] * row[j])).collect();
                    let terms: Vec<f32> = (0..n).map(|j| dot[j] + row[n - 1 - j]).collect();
                    let total = sum(&terms, tree);
                    let s = (total + total) * (total + total);
                    let want: Vec<f32> = (0..n).map(|j| row[n - 1 - j] * weights[i] + s - row[j]).collect();
                    same(&got_dots[i * n..][..n], &dot, &what);
                    same(&got[i * n..][..n], &want, &what);
                    assert!((0..n).all(|j| got_numbers[i * n + j] == (n - 1 - j) as i64));
                }
            }
        }
    }
}

/// A value of the loop alone, one for all columns, kept turn by turn.
#[test]
fn columns_keep_values_of_the_loop_alone() {
    let r = runtime();
    for (n, columns) in [(3usize, 5usize), (40, 900), (3000, 70)] {
        let (a, w) = (noise(n * columns, 1), noise(n, 2));
        let mut k = Build::new();
        let (j, axis) = (k.parallel(columns as i64), k.axis(n as i64));
        let (ka, kw, out) = (k.input(DType::F32), k.input(DType::F32), k.output(DType::F32));
        let mut scale = None;
        let total = k.reduce(&[axis], Span::Whole, Tree::SERIAL, |k| {
            let at = k.at(0, &[(axis, columns as i64), (j, 1)]);
            let x = k.load(ka, at);
            let at = k.at(0, &[(axis, 1)]);
            let loaded = k.load(kw, at);
            scale = Some(k.unary(UnaryOp::Sqrt, loaded));
            let scale = k.unary(UnaryOp::Abs, loaded);
            vec![(ReduceOp::Sum, k.binary(BinaryOp::Mul, x, scale))]
        })[0];
        k.each(&[axis], |k| {
            let v = k.binary(BinaryOp::Mul, total, scale.unwrap());
            let at = k.at(0, &[(axis, columns as i64), (j, 1)]);
            k.store(out, at, v);
        });
        let w: Vec<f32> = w.iter().map(|w| w.abs()).collect();
        let got: Vec<f32> = run(k, MAP, &[&*upload(&r, &a), &*upload(&r, &w)], n * columns);
        for j in 0..columns {
            let total = (0..n).fold(-0.0f32, |sum, r| sum + a[r * columns + j] * w[r]);
            assert!((0..n).all(|r| got[r * columns + j].to_bits() == (total * w[r].sqrt()).to_bits()));
        }
    }
}

#[test]
fn empty_rows_and_no_rows() {
    let r = runtime();
    for (rows, n) in [(3usize, 0usize), (0, 3), (0, 0)] {
        for tree in [Tree::SERIAL, Tree { lanes: 1, width: 16 }] {
            for along in [true, false] {
                let mut k = Build::new();
                let (i, axis) = (k.parallel(rows as i64), k.axis(n as i64));
                let (input, results, output) = (k.input(DType::F32), k.output(DType::F32), k.output(DType::F32));
                let place = if along { [(i, n as i64), (axis, 1)] } else { [(axis, rows as i64), (i, 1)] };
                let mut x = None;
                let total = k.reduce(&[axis], Span::Whole, tree, |k| {
                    let at = k.at(0, &place);
                    let loaded = k.load(input, at);
                    x = Some(k.unary(UnaryOp::Exp, loaded));
                    vec![(ReduceOp::Prod, x.unwrap())]
                })[0];
                k.each(&[axis], |k| {
                    let v = k.binary(BinaryOp::Mul, x.unwrap(), total);
                    let at = k.at(0, &place);
                    k.store(output, at, v);
                });
                let at = k.at(0, &[(i, 1)]);
                k.store(results, at, total);
                let held = upload(&r, &vec![7f32; rows]);
                let schedule = if tree == Tree::SERIAL { MAP } else { group(tree) };
                let got: Vec<f32> = run(k, schedule, &[&*upload(&r, &[0f32]), &*held], 1);
                assert_eq!(got, [7.0]);
                let mut got = vec![0f32; rows];
                r.download(&*held, 0, of_slice_mut(&mut got)).unwrap();
                assert!(got.iter().all(|&v| v == 1.0));
            }
        }
    }
}

#[test]
fn what_passes_may_not_do_is_refused() {
    let tree = Tree { lanes: 1, width: 16 };
    // A value of another row.
    let mut k = Build::new();
    let (i, r, s) = (k.parallel(3), k.axis(4), k.axis(4));
    let (input, output) = (k.input(DType::F32), k.output(DType::F32));
    let mut x = None;
    k.reduce(&[r], Span::Whole, tree, |k| {
        let at = k.at(0, &[(i, 4), (r, 1)]);
        let loaded = k.load(input, at);
        x = Some(k.unary(UnaryOp::Exp, loaded));
        vec![(ReduceOp::Sum, x.unwrap())]
    });
    k.each(&[s], |k| {
        let at = k.at(0, &[(i, 4), (s, 1)]);
        k.store(output, at, x.unwrap());
    });
    let data = upload(&runtime(), &[0f32; 12]);
    assert!(try_run::<f32>(k, group(tree), &[&*data], 12).is_err());
    // A value of a chunk.
    let mut k = Build::new();
    let (c, r) = (k.parallel(3), k.axis(12));
    let (input, output) = (k.input(DType::F32), k.output(DType::F32));
    let length = k.size(4);
    let mut x = None;
    k.reduce(&[r], Span::Chunk { axis: c, length }, Tree::SERIAL, |k| {
        let at = k.at(0, &[(r, 1)]);
        let loaded = k.load(input, at);
        x = Some(k.unary(UnaryOp::Exp, loaded));
        vec![(ReduceOp::Sum, x.unwrap())]
    });
    k.each(&[r], |k| {
        let at = k.at(0, &[(r, 1)]);
        k.store(output, at, x.unwrap());
    });
    assert!(try_run::<f32>(k, MAP, &[&*data], 12).is_err());
}

#[test]
fn loops_are_printed() {
    let mut k = Build::new();
    let (i, r) = (k.parallel(3), k.axis(4));
    let (input, output) = (k.input(DType::F32), k.output(DType::F32));
    let tree = Tree { lanes: 1, width: 16 };
    softmax(&mut k, &[r], tree, &[(i, 4), (r, 1)], input, output);
    let (kernel, ..) = k.finish();
    let executable = runtime().compile(&kernel, group(tree), false).unwrap();
    let text = executable.source();
    assert!(text.contains("for [i1 < n1] {") && text.contains("fold [i1 < n1] {"), "{text}");
}
