//! Reductions: columns, trees checked bit for bit, chunks, nests.

use lazuli_codegen::*;

use super::build::*;
use crate::runtime::host::HostRuntime;

fn runtime() -> HostRuntime {
    HostRuntime::new()
}

/// The tree as `ir::Tree` documents it.
pub fn reference(values: &[f32], tree: Tree, identity: f32, op: impl Fn(f32, f32) -> f32) -> f32 {
    let (lanes, width) = (tree.lanes as usize, tree.width as usize);
    let mut acc = vec![identity; lanes * width];
    for (r, &value) in values.iter().enumerate() {
        let a = r % (lanes * width);
        acc[a] = op(acc[a], value);
    }
    let halve = |mut acc: Vec<f32>| {
        let mut half = acc.len() / 2;
        while half >= 1 {
            for v in 0..half {
                acc[v] = op(acc[v], acc[v + half]);
            }
            half /= 2;
        }
        acc[0]
    };
    halve(acc.chunks(width).map(|lane| halve(lane.to_vec())).collect())
}

pub fn sum(values: &[f32], tree: Tree) -> f32 {
    reference(values, tree, -0.0, |a, b| a + b)
}

const TREES: [Tree; 8] = [
    Tree::SERIAL,
    Tree { lanes: 1, width: 2 },
    Tree { lanes: 1, width: 8 },
    Tree { lanes: 1, width: 16 },
    Tree { lanes: 8, width: 4 },
    Tree { lanes: 64, width: 1 },
    Tree { lanes: 256, width: 4 },
    Tree { lanes: 1024, width: 16 },
];

#[test]
fn row_sums_follow_the_tree_bit_for_bit() {
    for tree in TREES {
        for (rows, n) in [(1, 1), (5, 3), (3, 1000), (40, 5000), (2, 100_001)] {
            let a = noise(rows * n, 1);
            let mut k = Build::new();
            let (i, r) = (k.parallel(rows as i64), k.axis(n as i64));
            let (ka, out) = (k.input(DType::F32), k.output(DType::F32));
            let results = k.reduce(&[r], Span::Whole, tree, |k| {
                let at = k.at(0, &[(i, n as i64), (r, 1)]);
                let v = k.load(ka, at);
                vec![(ReduceOp::Sum, k.binary(BinaryOp::Mul, v, v))]
            });
            let at = k.at(0, &[(i, 1)]);
            k.store(out, at, results[0]);
            let got: Vec<f32> = run(k, group(tree), &[&*upload(&runtime(), &a)], rows);
            for (row, got) in a.chunks(n).zip(got) {
                let squares: Vec<f32> = row.iter().map(|x| x * x).collect();
                assert_eq!(got.to_bits(), sum(&squares, tree).to_bits(), "{tree:?} {rows}x{n}");
            }
        }
    }
}

#[test]
fn chunks_fold_their_own_elements() {
    let tree = Tree { lanes: 1, width: 16 };
    let (n, length) = (100_003usize, 4096usize);
    let chunks = n.div_ceil(length);
    let a = noise(n, 1);
    let mut k = Build::new();
    let (c, r) = (k.parallel(chunks as i64), k.axis(n as i64));
    let (ka, out) = (k.input(DType::F32), k.output(DType::F32));
    let size = k.size(length as i64);
    let results = k.reduce(&[r], Span::Chunk { axis: c, length: size }, tree, |k| {
        let at = k.at(0, &[(r, 1)]);
        vec![(ReduceOp::Sum, k.load(ka, at))]
    });
    let at = k.at(0, &[(c, 1)]);
    k.store(out, at, results[0]);
    let got: Vec<f32> = run(k, group(tree), &[&*upload(&runtime(), &a)], chunks);
    for (chunk, got) in a.chunks(length).zip(got) {
        assert_eq!(got.to_bits(), sum(chunk, tree).to_bits());
    }
}

/// Sums over axis 0 and 2 of a 3-d array, whose axes do not collapse; several folds at once.
#[test]
fn several_axes_and_several_folds() {
    let tree = Tree { lanes: 2, width: 8 };
    let (x, y, z) = (13usize, 7usize, 700usize);
    let a = noise(x * y * z, 1);
    let mut k = Build::new();
    let (j, i, l) = (k.parallel(y as i64), k.axis(x as i64), k.axis(z as i64));
    let (ka, least, out) = (k.input(DType::F32), k.output(DType::F32), k.output(DType::F32));
    let results = k.reduce(&[i, l], Span::Whole, tree, |k| {
        let at = k.at(0, &[(i, (y * z) as i64), (j, z as i64), (l, 1)]);
        let v = k.load(ka, at);
        vec![(ReduceOp::Min, v), (ReduceOp::Sum, v)]
    });
    let at = k.at(0, &[(j, 1)]);
    k.store(least, at, results[0]);
    let at = k.at(0, &[(j, 1)]);
    k.store(out, at, results[1]);
    let r = runtime();
    let minima = upload(&r, &vec![0f32; y]);
    let got: Vec<f32> = run(k, group(tree), &[&*upload(&r, &a), &*minima], y);
    let mut low = vec![0f32; y];
    crate::runtime::Runtime::download(&r, &*minima, 0, crate::runtime::bytes::of_slice_mut(&mut low)).unwrap();
    for j in 0..y {
        let values: Vec<f32> = (0..x).flat_map(|i| a[(i * y + j) * z..][..z].to_vec()).collect();
        assert_eq!(got[j].to_bits(), sum(&values, tree).to_bits());
        assert_eq!(low[j], values.iter().copied().fold(f32::INFINITY, f32::min));
    }
}

#[test]
fn column_sums_run_as_a_plain_loop() {
    for (rows, columns) in [(1, 1), (100, 3), (33, 5000), (1000, 257), (20_000, 5)] {
        let a = noise(rows * columns, 1);
        let mut k = Build::new();
        let (j, r) = (k.parallel(columns as i64), k.axis(rows as i64));
        let (ka, out) = (k.input(DType::F32), k.output(DType::F32));
        let results = k.reduce(&[r], Span::Whole, Tree::SERIAL, |k| {
            let at = k.at(0, &[(r, columns as i64), (j, 1)]);
            vec![(ReduceOp::Sum, k.load(ka, at))]
        });
        let half = k.scalar(0.5f32);
        let value = k.binary(BinaryOp::Mul, results[0], half);
        let at = k.at(0, &[(j, 1)]);
        k.store(out, at, value);
        let got: Vec<f32> = run(k, MAP, &[&*upload(&runtime(), &a)], columns);
        for (j, got) in got.iter().enumerate() {
            let want = (0..rows).fold(-0.0, |sum: f32, r| sum + a[r * columns + j]) * 0.5;
            assert_eq!(got.to_bits(), want.to_bits());
        }
    }
}

/// Chunked column sums: the chunk axis outside, inside and in the middle of the others.
#[test]
fn chunked_plain_loops_do_not_mix_chunks() {
    let (rows, columns, length) = (1003usize, 37usize, 100usize);
    let chunks = rows.div_ceil(length);
    let a = noise(rows * columns, 1);
    for outside in [true, false] {
        let mut k = Build::new();
        let (c, j) = if outside {
            let c = k.parallel(chunks as i64);
            (c, k.parallel(columns as i64))
        } else {
            let j = k.parallel(columns as i64);
            (k.parallel(chunks as i64), j)
        };
        let r = k.axis(rows as i64);
        let (ka, out) = (k.input(DType::F32), k.output(DType::F32));
        let size = k.size(length as i64);
        let results = k.reduce(&[r], Span::Chunk { axis: c, length: size }, Tree::SERIAL, |k| {
            let at = k.at(0, &[(r, columns as i64), (j, 1)]);
            vec![(ReduceOp::Max, k.load(ka, at))]
        });
        let at = k.at(0, &[(c, columns as i64), (j, 1)]);
        k.store(out, at, results[0]);
        let got: Vec<f32> = run(k, MAP, &[&*upload(&runtime(), &a)], chunks * columns);
        for c in 0..chunks {
            for j in 0..columns {
                let rows = (c * length)..((c + 1) * length).min(rows);
                let want = rows.map(|r| a[r * columns + j]).fold(f32::NEG_INFINITY, f32::max);
                assert_eq!(got[c * columns + j], want, "chunk {c} column {j}");
            }
        }
    }
}

/// A matrix product as a loop in a map, and as a loop inside a tree (row sums of the product).
#[test]
fn loops_nest_in_maps_and_in_trees() {
    let (m, n, p) = (19usize, 300usize, 23usize);
    let (a, b) = (noise(m * p, 1), noise(p * n, 2));
    let product = |i: usize, j: usize| (0..p).fold(-0.0f32, |sum, q| sum + a[i * p + q] * b[q * n + j]);
    let r = runtime();
    let inputs = [upload(&r, &a), upload(&r, &b)];
    let inner = |k: &mut Build, i: AxisId, j: AxisId, q: AxisId| {
        let (ka, kb) = (BufferId(0), BufferId(1));
        k.reduce(&[q], Span::Whole, Tree::SERIAL, |k| {
            let at = k.at(0, &[(i, p as i64), (q, 1)]);
            let left = k.load(ka, at);
            let at = k.at(0, &[(q, n as i64), (j, 1)]);
            let right = k.load(kb, at);
            vec![(ReduceOp::Sum, k.binary(BinaryOp::Mul, left, right))]
        })[0]
    };
    let mut k = Build::new();
    let (i, j, q) = (k.parallel(m as i64), k.parallel(n as i64), k.axis(p as i64));
    k.input(DType::F32);
    k.input(DType::F32);
    let out = k.output(DType::F32);
    let value = inner(&mut k, i, j, q);
    let at = k.at(0, &[(i, n as i64), (j, 1)]);
    k.store(out, at, value);
    let got: Vec<f32> = run(k, MAP, &[&*inputs[0], &*inputs[1]], m * n);
    for (at, got) in got.iter().enumerate() {
        assert_eq!(got.to_bits(), product(at / n, at % n).to_bits());
    }

    let tree = Tree { lanes: 1, width: 16 };
    let mut k = Build::new();
    let (i, j, q) = (k.parallel(m as i64), k.axis(n as i64), k.axis(p as i64));
    k.input(DType::F32);
    k.input(DType::F32);
    let out = k.output(DType::F32);
    let total = k.reduce(&[j], Span::Whole, tree, |k| {
        let value = inner(k, i, j, q);
        vec![(ReduceOp::Sum, value)]
    });
    let at = k.at(0, &[(i, 1)]);
    k.store(out, at, total[0]);
    let got: Vec<f32> = run(k, group(tree), &[&*inputs[0], &*inputs[1]], m);
    for (i, got) in got.iter().enumerate() {
        let row: Vec<f32> = (0..n).map(|j| product(i, j)).collect();
        assert_eq!(got.to_bits(), sum(&row, tree).to_bits());
    }
}

/// Softmax in one kernel: two folds, then a body that stores over the reduced axis.
#[test]
fn row_kernels_store_over_the_reduced_axis() {
    let tree = Tree { lanes: 1, width: 16 };
    let (rows, n) = (30usize, 3000usize);
    let a = noise(rows * n, 1);
    let mut k = Build::new();
    let i = k.parallel(rows as i64);
    let axes = [k.axis(n as i64), k.axis(n as i64), k.axis(n as i64)];
    let (ka, out) = (k.input(DType::F32), k.output(DType::F32));
    let most = k.reduce(&axes[..1], Span::Whole, tree, |k| {
        let at = k.at(0, &[(i, n as i64), (axes[0], 1)]);
        vec![(ReduceOp::Max, k.load(ka, at))]
    })[0];
    let total = k.reduce(&axes[1..2], Span::Whole, tree, |k| {
        let at = k.at(0, &[(i, n as i64), (axes[1], 1)]);
        let v = k.load(ka, at);
        let v = k.binary(BinaryOp::Sub, v, most);
        vec![(ReduceOp::Sum, v)]
    })[0];
    k.reduce(&axes[2..], Span::Whole, tree, |k| {
        let at = k.at(0, &[(i, n as i64), (axes[2], 1)]);
        let v = k.load(ka, at);
        let v = k.binary(BinaryOp::Sub, v, most);
        let v = k.binary(BinaryOp::Div, v, total);
        let at = k.at(0, &[(i, n as i64), (axes[2], 1)]);
        k.store(out, at, v);
        vec![]
    });
    let got: Vec<f32> = run(k, group(tree), &[&*upload(&runtime(), &a)], rows * n);
    for (row, got) in a.chunks(n).zip(got.chunks(n)) {
        let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let moved: Vec<f32> = row.iter().map(|x| x - most).collect();
        let total = sum(&moved, tree);
        assert!(moved.iter().zip(got).all(|(v, got)| v / total == *got));
    }
}

/// Every fold on every type it accepts, as a tree and as a loop, against the reference on i64 or f64.
#[test]
fn every_fold_of_every_type() {
    for dtype in DType::ALL {
        for op in ReduceOp::BUILT_IN.into_iter().filter(|op| op.accepts(dtype)) {
            let values: Vec<i64> = match dtype {
                DType::Bool => vec![1, 1, 0, 1, 1, 1, 1],
                _ => vec![3, 1, 2, 5, 1, 1, 2],
            };
            let want = match op {
                ReduceOp::Sum => values.iter().sum(),
                ReduceOp::Prod => values.iter().product::<i64>(),
                ReduceOp::Min | ReduceOp::All => values.iter().copied().min().unwrap(),
                ReduceOp::Custom(_) => unreachable!("none of the built-in ones"),
                ReduceOp::Max | ReduceOp::Any => values.iter().copied().max().unwrap(),
            };
            for tree in [Tree::SERIAL, Tree { lanes: 2, width: 2 }, Tree { lanes: 1, width: 16 }] {
                let mut k = Build::new();
                let r = k.axis(values.len() as i64);
                let (a, out) = (k.input(DType::I64), k.output(DType::I64));
                let result = k.reduce(&[r], Span::Whole, tree, |k| {
                    let at = k.at(0, &[(r, 1)]);
                    let v = k.load(a, at);
                    vec![(op, k.value(dtype, Expr::Cast(v)))]
                })[0];
                let result = k.value(DType::I64, Expr::Cast(result));
                let at = k.at(0, &[]);
                k.store(out, at, result);
                let schedule = if tree == Tree::SERIAL { MAP } else { group(tree) };
                let got: Vec<i64> = run(k, schedule, &[&*upload(&runtime(), &values)], 1);
                assert_eq!(got, [want], "{} of {dtype}", op.name());
            }
        }
    }
}

#[test]
fn nan_passes_through_minima_and_maxima() {
    let tree = Tree { lanes: 1, width: 16 };
    for at_element in [0, 20, 99] {
        for op in [ReduceOp::Min, ReduceOp::Max] {
            let mut a = noise(100, 1);
            a[at_element] = f32::NAN;
            let mut k = Build::new();
            let r = k.axis(100);
            let (ka, out) = (k.input(DType::F32), k.output(DType::F32));
            let result = k.reduce(&[r], Span::Whole, tree, |k| {
                let at = k.at(0, &[(r, 1)]);
                vec![(op, k.load(ka, at))]
            })[0];
            let at = k.at(0, &[]);
            k.store(out, at, result);
            assert!(run::<f32>(k, group(tree), &[&*upload(&runtime(), &a)], 1)[0].is_nan());
        }
    }
}

#[test]
fn empty_sums_are_their_identity() {
    let tree = Tree { lanes: 1, width: 16 };
    for schedule in [MAP, group(tree)] {
        let mut k = Build::new();
        let (i, r) = (k.parallel(3), k.axis(0));
        let (a, out) = (k.input(DType::F64), k.output(DType::F64));
        let tree = if schedule == MAP { Tree::SERIAL } else { tree };
        let result = k.reduce(&[r], Span::Whole, tree, |k| {
            let at = k.at(0, &[(i, 1), (r, 1)]);
            vec![(ReduceOp::Prod, k.load(a, at))]
        })[0];
        let at = k.at(0, &[(i, 1)]);
        k.store(out, at, result);
        assert_eq!(run::<f64>(k, schedule, &[&*upload(&runtime(), &[0f64])], 3), [1.0; 3]);
    }
}
