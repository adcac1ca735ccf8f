//! Kernels of rows and columns, whose loops use what earlier ones found of the same element.

use super::*;
use BinaryOp::*;
use DType::*;

/// Every golden kernel of this file, with its name and its schedule.
pub fn all() -> Vec<(String, Kernel, Schedule)> {
    let softmaxes = [
        ("block", rows(512, 4, 1, 2)),
        ("warp", rows(32, 4, 8, 1)),
        ("passes", rows(512, 4, 1, 0)),
        ("cpu", rows(1, 16, 1, 256)),
        ("thread", linear(1)),
    ];
    let softmaxes =
        softmaxes.map(|(name, schedule)| (format!("softmax_{name}"), row_softmax(UnaryOp::Exp, &schedule), schedule));
    let narrow = [("few_lanes", rows(4, 2, 4, 4)), ("lone_lane", rows(1, 1, 64, 8))];
    let narrow =
        narrow.map(|(name, schedule)| (format!("softmax_{name}"), row_softmax(UnaryOp::Exp, &schedule), schedule));
    let others = [
        ("layer_norm_bf16", layer_norm as fn(&Schedule) -> Kernel, rows(256, 4, 1, 2)),
        ("layer_norm_bf16_cpu", layer_norm, rows(1, 16, 1, 64)),
        ("centre_f32", centre, rows(64, 4, 4, 2)),
        ("column_sum_tile", column_sum, columns(8, 32, 0)),
        ("column_softmax", exp_columns, columns(8, 32, 0)),
        ("column_softmax_kept", exp_columns, columns(32, 32, 4)),
        ("ranks_i16", ranks, rows(16, 2, 4, 2)),
    ];
    let others = others.map(|(name, build, schedule)| (name.to_owned(), build(&schedule), schedule));
    softmaxes.into_iter().chain(narrow).chain(others).collect()
}

fn exp_columns(schedule: &Schedule) -> Kernel {
    column_softmax(UnaryOp::Exp, schedule)
}

/// A softmax over `axes`, the element at `from` in the input and at `to` in the output. With another operation than `exp`,
/// it is one whose values every device agrees on.
fn softmax(
    mut k: Builder,
    (from, to): (BufferId, BufferId),
    axes: Vec<AxisId>,
    (at_from, at_to): (Affine, Affine),
    (op, schedule, wide): (UnaryOp, &Schedule, bool),
) -> Kernel {
    let tree = tree_of(schedule);
    let (body, inner) = (&mut Vec::new(), &mut Vec::new());
    let x = k.load(inner, from, &at_from, wide);
    let reduction = Reduction { axes: axes.clone(), span: Span::Whole, tree, body: std::mem::take(inner) };
    let highest = k.reduce(body, reduction, ReduceOp::Max, x);
    let below = k.binary(inner, Sub, x, highest);
    let e = k.unary(inner, op, below);
    let reduction = Reduction { axes: axes.clone(), span: Span::Whole, tree, body: std::mem::take(inner) };
    let sum = k.reduce(body, reduction, ReduceOp::Sum, e);
    let share = k.binary(inner, Div, e, sum);
    k.store(inner, to, &at_to, share, wide);
    body.push(Stmt::Loop(Loop { axes, span: Span::Whole, body: std::mem::take(inner) }));
    let body = std::mem::take(body);
    k.finish(body)
}

/// Along the rows of a matrix.
pub fn row_softmax(op: UnaryOp, schedule: &Schedule) -> Kernel {
    let mut k = Builder::new("softmax_f32");
    let buffers = (k.input(F32), k.output(F32));
    let (i, j) = (k.parallel(), k.axis());
    let (pitch, out_pitch) = (k.size(), k.size());
    let places = (at(None, &[(i, Some(pitch)), (j, None)]), at(None, &[(i, Some(out_pitch)), (j, None)]));
    softmax(k, buffers, vec![j], places, (op, schedule, true))
}

/// Down the columns of a matrix.
pub fn column_softmax(op: UnaryOp, schedule: &Schedule) -> Kernel {
    let mut k = Builder::new("column_softmax_f32");
    let buffers = (k.input(F32), k.output(F32));
    let (j, i) = (k.parallel(), k.axis());
    let (pitch, out_pitch) = (k.size(), k.size());
    let places = (at(None, &[(i, Some(pitch)), (j, None)]), at(None, &[(i, Some(out_pitch)), (j, None)]));
    softmax(k, buffers, vec![i], places, (op, schedule, false))
}

/// Over the outer and the inner axis of a cube, for each of the middle one and of a batch.
pub fn cube_softmax(op: UnaryOp, schedule: &Schedule) -> Kernel {
    let mut k = Builder::new("cube_softmax_f32");
    k.kernel.index = IndexWidth::I64;
    let buffers = (k.input(F32), k.output(F32));
    let (batch, j, i, l) = (k.parallel(), k.parallel(), k.axis(), k.axis());
    let strides = [k.size(), k.size(), k.size()];
    let place = at(None, &[(batch, Some(strides[0])), (i, Some(strides[1])), (j, Some(strides[2])), (l, None)]);
    softmax(k, buffers, vec![i, l], (place.clone(), place), (op, schedule, false))
}

/// A layer norm with scale and shift: mean, variance about it, and what they make of every element.
pub fn layer_norm(schedule: &Schedule) -> Kernel {
    let mut k = Builder::new("layer_norm_bf16");
    let (from, scale, shift, to) = (k.input(BF16), k.input(F32), k.input(F32), k.output(BF16));
    let (count, tiny) = (k.scalar(F32), k.scalar(F32));
    let (i, j) = (k.parallel(), k.axis());
    let pitch = k.size();
    let (row, here) = (at(None, &[(i, Some(pitch)), (j, None)]), at(None, &[(j, None)]));
    let tree = tree_of(schedule);
    let (body, inner) = (&mut Vec::new(), &mut Vec::new());
    let stored = k.load(inner, from, &row, true);
    let x = k.value(inner, F32, Expr::Cast(stored));
    let reduction = Reduction { axes: vec![j], span: Span::Whole, tree, body: std::mem::take(inner) };
    let sum = k.reduce(body, reduction, ReduceOp::Sum, x);
    let count = k.value(body, F32, Expr::Scalar(count));
    let mean = k.binary(body, Div, sum, count);
    let apart = k.binary(inner, Sub, x, mean);
    let square = k.binary(inner, Mul, apart, apart);
    let reduction = Reduction { axes: vec![j], span: Span::Whole, tree, body: std::mem::take(inner) };
    let squares = k.reduce(body, reduction, ReduceOp::Sum, square);
    let variance = k.binary(body, Div, squares, count);
    let tiny = k.value(body, F32, Expr::Scalar(tiny));
    let variance = k.binary(body, Add, variance, tiny);
    let spread = k.unary(body, UnaryOp::Sqrt, variance);
    let scale = k.load(inner, scale, &here, true);
    let shift = k.load(inner, shift, &here, true);
    let normal = k.binary(inner, Div, apart, spread);
    let result = k.binary(inner, Mul, normal, scale);
    let result = k.binary(inner, Add, result, shift);
    let result = k.value(inner, BF16, Expr::Cast(result));
    k.store(inner, to, &row, result, true);
    body.push(Stmt::Loop(Loop { axes: vec![j], span: Span::Whole, body: std::mem::take(inner) }));
    let body = std::mem::take(body);
    k.finish(body)
}

/// Mean and variance, each stored with the shape `keepdims` gives it, and the centred rows between them.
pub fn centre(schedule: &Schedule) -> Kernel {
    let mut k = Builder::new("centre_f32");
    let (from, to, means, variances) = (k.input(F32), k.output(F32), k.output(F32), k.output(F32));
    let count = k.scalar(F32);
    let (i, j) = (k.parallel(), k.axis());
    let pitch = k.size();
    let (row, point) = (at(None, &[(i, Some(pitch)), (j, None)]), at(None, &[(i, None)]));
    let tree = tree_of(schedule);
    let (body, inner) = (&mut Vec::new(), &mut Vec::new());
    let x = k.load(inner, from, &row, true);
    let reduction = Reduction { axes: vec![j], span: Span::Whole, tree, body: std::mem::take(inner) };
    let sum = k.reduce(body, reduction, ReduceOp::Sum, x);
    let count = k.value(body, F32, Expr::Scalar(count));
    let mean = k.binary(body, Div, sum, count);
    k.store(body, means, &point, mean, false);
    let apart = k.binary(inner, Sub, x, mean);
    k.store(inner, to, &row, apart, true);
    body.push(Stmt::Loop(Loop { axes: vec![j], span: Span::Whole, body: std::mem::take(inner) }));
    let square = k.binary(inner, Mul, apart, apart);
    let reduction = Reduction { axes: vec![j], span: Span::Whole, tree, body: std::mem::take(inner) };
    let squares = k.reduce(body, reduction, ReduceOp::Sum, square);
    let variance = k.binary(body, Div, squares, count);
    k.store(body, variances, &point, variance, false);
    let body = std::mem::take(body);
    k.finish(body)
}

/// Sums down the columns of a matrix.
pub fn column_sum(schedule: &Schedule) -> Kernel {
    let mut kernel = kernels::column_sum();
    for stmt in &mut kernel.body {
        if let Stmt::Reduce(reduce) = stmt {
            reduce.tree = tree_of(schedule);
        }
    }
    kernel
}

/// Of narrow integers, how far each lies above the least and whether any is the largest; and the index of each.
pub fn ranks(schedule: &Schedule) -> Kernel {
    let mut k = Builder::new("ranks_i16");
    let (from, to, found, places) = (k.input(I16), k.output(I16), k.output(Bool), k.output(I64));
    let limit = k.scalar(I16);
    let (i, j, l) = (k.parallel(), k.axis(), k.axis());
    let (pitch, row) = (k.size(), k.size());
    let here = at(None, &[(i, Some(pitch)), (j, Some(row)), (l, None)]);
    let axes = vec![j, l];
    let tree = tree_of(schedule);
    let (body, inner) = (&mut Vec::new(), &mut Vec::new());
    let x = k.load(inner, from, &here, true);
    let limit = k.value(inner, I16, Expr::Scalar(limit));
    let is_over = k.binary(inner, Ge, x, limit);
    let index = k.index(inner, Expr::Index(at(None, &[(j, Some(row)), (l, None)])));
    let reduction = Reduction { axes: axes.clone(), span: Span::Whole, tree, body: std::mem::take(inner) };
    let least = k.reduce(body, reduction, ReduceOp::Min, x);
    let some = k.var(VarType::Value(Bool));
    if let Some(Stmt::Reduce(reduce)) = body.last_mut() {
        reduce.folds.push(Fold { result: some, op: ReduceOp::Any, value: is_over });
    }
    let above = k.binary(inner, Sub, x, least);
    let zero = k.value(inner, I16, Expr::Zero);
    let rank = k.value(inner, I16, Expr::Select { condition: is_over, on_true: zero, on_false: above });
    k.store(inner, to, &here, rank, true);
    let place = k.value(inner, I64, Expr::IndexValue(index));
    k.store(inner, places, &here, place, true);
    body.push(Stmt::Loop(Loop { axes, span: Span::Whole, body: std::mem::take(inner) }));
    k.store(body, found, &at(None, &[(i, None)]), some, false);
    let body = std::mem::take(body);
    k.finish(body)
}

/// How far the sum of each column of a matrix lies below the largest such sum, for each of a batch: what is kept is itself a
/// fold.
pub fn folds_in_rows(schedule: &Schedule) -> Kernel {
    let mut k = Builder::new("folds_f32");
    let (from, to) = (k.input(F32), k.output(F32));
    let (batch, j, i) = (k.parallel(), k.axis(), k.axis());
    let (matrix, pitch) = (k.size(), k.size());
    let tree = tree_of(schedule);
    let (body, outer, inner) = (&mut Vec::new(), &mut Vec::new(), &mut Vec::new());
    let x = k.load(inner, from, &at(None, &[(batch, Some(matrix)), (i, Some(pitch)), (j, None)]), true);
    let column = Reduction { axes: vec![i], span: Span::Whole, tree: Tree::SERIAL, body: std::mem::take(inner) };
    let sum = k.reduce(outer, column, ReduceOp::Sum, x);
    let reduction = Reduction { axes: vec![j], span: Span::Whole, tree, body: std::mem::take(outer) };
    let highest = k.reduce(body, reduction, ReduceOp::Max, sum);
    let below = k.binary(inner, Sub, highest, sum);
    k.store(inner, to, &at(None, &[(batch, Some(pitch)), (j, None)]), below, true);
    body.push(Stmt::Loop(Loop { axes: vec![j], span: Span::Whole, body: std::mem::take(inner) }));
    let body = std::mem::take(body);
    k.finish(body)
}
