//! Kernels whose groups combine what they folded.

use super::*;
use BinaryOp::*;
use DType::*;

/// Every golden kernel of this file, with its name and its schedule.
pub fn all() -> Vec<(String, Kernel, Schedule)> {
    let warp = Tree { lanes: 32, width: 1 };
    let all = [
        ("combined_sum", combined_sum(Tree { lanes: 256, width: 4 }, warp), rows(256, 4, 1, 0)),
        (
            "combined_sum_cpu",
            combined_sum(Tree { lanes: 1, width: 16 }, Tree { lanes: 1, width: 16 }),
            rows(1, 16, 1, 0),
        ),
        ("combined_columns", combined_columns(Tree { lanes: 8, width: 1 }), columns(8, 32, 0)),
        ("waiting_softmax", waiting_softmax(&rows(512, 4, 1, 4), warp), rows(512, 4, 1, 4)),
    ];
    all.map(|(name, kernel, schedule)| (name.to_owned(), kernel, schedule)).into()
}

/// How points combine.
struct Combining {
    axis: AxisId,
    tree: Tree,
    at: Affine,
    counter: BufferId,
}

/// What points hand in: a fold of one value.
fn combine(k: &mut Builder, body: &mut Vec<Stmt>, own: &Combining, partial: BufferId, op: ReduceOp, value: Var) -> Var {
    let result = k.var(VarType::Value(k.dtype(value)));
    let Combining { axis, tree, ref at, counter } = *own;
    let folds = vec![Fold { result, op, value }];
    body.push(Stmt::Combine(Combine { axis, tree, folds, partials: vec![partial], at: at.clone(), counter }));
    result
}

/// The root of the sum of squares of each row, of which groups take chunks. Sizes: chunks, rows, columns, row pitch, length
/// of a chunk, chunks once more.
pub fn combined_sum(tree: Tree, combining: Tree) -> Kernel {
    let mut k = Builder::new("combined_norm_f32");
    let (a, out) = (k.input(F32), k.output(F32));
    let (chunk, i, j) = (k.parallel(), k.parallel(), k.axis());
    let (pitch, length, chunks) = (k.size(), k.size(), k.size());
    let (body, inner) = (&mut Vec::new(), &mut Vec::new());
    let a = k.load(inner, a, &at(None, &[(i, Some(pitch)), (j, None)]), true);
    let square = k.binary(inner, Mul, a, a);
    let span = Span::Chunk { axis: chunk, length };
    let reduction = Reduction { axes: vec![j], span, tree, body: std::mem::take(inner) };
    let partial = k.reduce(body, reduction, ReduceOp::Sum, square);
    let scratch = k.scratch(F32);
    let place = at(None, &[(i, Some(chunks)), (chunk, None)]);
    let combining = Combining { axis: chunk, tree: combining, at: place, counter: k.counter() };
    let sum = combine(&mut k, body, &combining, scratch, ReduceOp::Sum, partial);
    let norm = k.unary(body, UnaryOp::Sqrt, sum);
    k.store(body, out, &at(None, &[(i, None)]), norm, false);
    let body = std::mem::take(body);
    k.finish(body)
}

/// The sum of each column, of which groups take chunks. Sizes: chunks, columns, rows, row pitch, length of a chunk, columns.
pub fn combined_columns(tree: Tree) -> Kernel {
    let mut k = Builder::new("combined_columns_f32");
    let (a, out) = (k.input(F32), k.output(F32));
    let (chunk, i, j) = (k.parallel(), k.parallel(), k.axis());
    let (pitch, length, count) = (k.size(), k.size(), k.size());
    let (body, inner) = (&mut Vec::new(), &mut Vec::new());
    let a = k.load(inner, a, &at(None, &[(j, Some(pitch)), (i, None)]), false);
    let span = Span::Chunk { axis: chunk, length };
    let reduction = Reduction { axes: vec![j], span, tree, body: std::mem::take(inner) };
    let partial = k.reduce(body, reduction, ReduceOp::Sum, a);
    let scratch = k.scratch(F32);
    let place = at(None, &[(chunk, Some(count)), (i, None)]);
    let combining = Combining { axis: chunk, tree, at: place, counter: k.counter() };
    let sum = combine(&mut k, body, &combining, scratch, ReduceOp::Sum, partial);
    k.store(body, out, &at(None, &[(i, None)]), sum, false);
    let body = std::mem::take(body);
    k.finish(body)
}

/// A softmax of rows, of which groups that wait for each other keep chunks.
pub fn waiting_softmax(schedule: &Schedule, combining: Tree) -> Kernel {
    let tree = tree_of(schedule);
    let mut k = Builder::new("waiting_softmax_f32");
    let (from, to) = (k.input(F32), k.output(F32));
    let (chunk, i, j) = (k.parallel(), k.parallel(), k.axis());
    let (pitch, length, chunks) = (k.size(), k.size(), k.size());
    let here = at(None, &[(i, Some(pitch)), (j, None)]);
    let scratch = [k.scratch(F32), k.scratch(F32)];
    let place = at(None, &[(i, Some(chunks)), (chunk, None)]);
    let combining = Combining { axis: chunk, tree: combining, at: place, counter: k.counter() };
    let span = Span::Chunk { axis: chunk, length };
    let (body, inner) = (&mut Vec::new(), &mut Vec::new());
    let x = k.load(inner, from, &here, true);
    let reduction = Reduction { axes: vec![j], span, tree, body: std::mem::take(inner) };
    let partial = k.reduce(body, reduction, ReduceOp::Max, x);
    let highest = combine(&mut k, body, &combining, scratch[0], ReduceOp::Max, partial);
    let below = k.binary(inner, Sub, x, highest);
    let e = k.unary(inner, UnaryOp::Exp, below);
    let reduction = Reduction { axes: vec![j], span, tree, body: std::mem::take(inner) };
    let partial = k.reduce(body, reduction, ReduceOp::Sum, e);
    let sum = combine(&mut k, body, &combining, scratch[1], ReduceOp::Sum, partial);
    let share = k.binary(inner, Div, e, sum);
    k.store(inner, to, &here, share, true);
    body.push(Stmt::Loop(Loop { axes: vec![j], span, body: std::mem::take(inner) }));
    let body = std::mem::take(body);
    k.finish(body)
}
