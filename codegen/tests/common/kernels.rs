//! The kernels of the golden files.

use super::*;
use BinaryOp::*;
use DType::*;

/// Every golden kernel, with its schedule; the file's name is the kernel's, and `_cpu` for a CPU's schedule.
pub fn all() -> Vec<(String, Kernel, Schedule)> {
    let mut all = vec![
        (triad(), linear(4)),
        (triad(), INNER),
        (transcend(), INNER),
        (chain(), linear(4)),
        (broadcast(), linear(4)),
        (broadcast(), INNER),
        (transpose(), linear(4)),
        (black_scholes(), linear(2)),
        (integer_division(), linear(4)),
        (bf16_multiply(), linear(8)),
        (f16_axpy(), linear(1)),
        (casts(), linear(1)),
        (iota(), linear(4)),
        (pad(), linear(1)),
        (zero_d(), linear(1)),
        (column_sum(), linear(1)),
        (column_sum(), linear(4)),
        (column_sum(), INNER),
        (row_sum(Tree { lanes: 256, width: 4 }, Span::Whole), group(256, 4)),
        (row_sum(Tree { lanes: 1, width: 16 }, Span::Whole), group(1, 16)),
        (chunked_max(Tree { lanes: 128, width: 2 }), group(128, 2)),
        (matrix_norm(), group(64, 1)),
        (mean_and_range(), group(256, 4)),
        (wide_rank(), linear(1)),
        (gather(I64, IndexWidth::I32), linear(1)),
        (gather(I64, IndexWidth::I32), linear(2)),
        (gather(U64, IndexWidth::I64), INNER),
        (gather_rows(), group(64, 4)),
    ]
    .into_iter()
    .map(|(kernel, schedule)| {
        let suffix = match schedule {
            Schedule::Map { placement: Placement::InnerAxis, .. } => "_cpu".to_owned(),
            Schedule::Map { width: 1, .. } => String::new(),
            Schedule::Map { width, .. } => format!("_x{width}"),
            Schedule::Group { tree: Tree { lanes: 1, .. }, .. } => "_cpu".to_owned(),
            Schedule::Rows { .. } | Schedule::Tile { .. } | Schedule::Group { .. } => String::new(),
        };
        (format!("{}{suffix}", kernel.name), kernel, schedule)
    })
    .chain(super::rows::all())
    .chain(super::combine::all())
    .chain(super::stencils::all())
    .chain(super::tiles::all())
    .collect::<Vec<_>>();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// `sqrt(a * a + b * b) * exp(-c) + 0.5 * sin(a)`.
pub fn transcend() -> Kernel {
    let mut k = Builder::new("transcend_f32");
    let (a, b, c, out) = (k.input(DType::F32), k.input(DType::F32), k.input(DType::F32), k.output(DType::F32));
    let factor = k.scalar(DType::F32);
    let here = at(None, &[(k.parallel(), None)]);
    let mut body = Vec::new();
    let [a, b, c] = [a, b, c].map(|buffer| k.load(&mut body, buffer, &here, true));
    let a_square = k.binary(&mut body, BinaryOp::Mul, a, a);
    let b_square = k.binary(&mut body, BinaryOp::Mul, b, b);
    let sum = k.binary(&mut body, BinaryOp::Add, a_square, b_square);
    let length = k.unary(&mut body, UnaryOp::Sqrt, sum);
    let minus = k.unary(&mut body, UnaryOp::Neg, c);
    let decay = k.unary(&mut body, UnaryOp::Exp, minus);
    let first = k.binary(&mut body, BinaryOp::Mul, length, decay);
    let factor = k.value(&mut body, DType::F32, Expr::Scalar(factor));
    let sine = k.unary(&mut body, UnaryOp::Sin, a);
    let second = k.binary(&mut body, BinaryOp::Mul, factor, sine);
    let result = k.binary(&mut body, BinaryOp::Add, first, second);
    k.store(&mut body, out, &here, result, true);
    k.finish(body)
}

/// `b + s * c`, the STREAM triad.
pub fn triad() -> Kernel {
    let mut k = Builder::new("triad_f32");
    let (b, c, a) = (k.input(F32), k.input(F32), k.output(F32));
    let s = k.scalar(F32);
    let i = k.parallel();
    let here = at(None, &[(i, None)]);
    let body = &mut Vec::new();
    let b = k.load(body, b, &here, true);
    let c = k.load(body, c, &here, true);
    let s = k.value(body, F32, Expr::Scalar(s));
    let product = k.binary(body, Mul, s, c);
    let sum = k.binary(body, Add, b, product);
    k.store(body, a, &here, sum, true);
    let body = std::mem::take(body);
    k.finish(body)
}

/// `sqrt(x * x + 1) - x / s`, where x is used three times.
pub fn chain() -> Kernel {
    let mut k = Builder::new("mul_add_sqrt_div_sub_f32");
    let (x, out) = (k.input(F32), k.output(F32));
    let (one, s) = (k.scalar(F32), k.scalar(F32));
    let i = k.parallel();
    let here = at(None, &[(i, None)]);
    let body = &mut Vec::new();
    let x = k.load(body, x, &here, true);
    let one = k.value(body, F32, Expr::Scalar(one));
    let s = k.value(body, F32, Expr::Scalar(s));
    let square = k.binary(body, Mul, x, x);
    let more = k.binary(body, Add, square, one);
    let root = k.unary(body, UnaryOp::Sqrt, more);
    let quotient = k.binary(body, Div, x, s);
    let result = k.binary(body, Sub, root, quotient);
    k.store(body, out, &here, result, true);
    let body = std::mem::take(body);
    k.finish(body)
}

/// A column plus a row, of a matrix whose rows lie apart.
pub fn broadcast() -> Kernel {
    let mut k = Builder::new("broadcast_add_f32");
    let (matrix, column, row, out) = (k.input(F32), k.input(F32), k.input(F32), k.output(F32));
    let (i, j) = (k.parallel(), k.parallel());
    let (pitch, column_stride, out_pitch, offset) = (k.size(), k.size(), k.size(), k.size());
    let body = &mut Vec::new();
    let m = k.load(body, matrix, &at(Some(offset), &[(i, Some(pitch)), (j, None)]), true);
    let c = k.load(body, column, &at(None, &[(i, Some(column_stride))]), false);
    let r = k.load(body, row, &at(None, &[(j, None)]), true);
    let sum = k.binary(body, Add, c, r);
    let sum = k.binary(body, Mul, m, sum);
    k.store(body, out, &at(None, &[(i, Some(out_pitch)), (j, None)]), sum, true);
    let body = std::mem::take(body);
    k.finish(body)
}

/// A matrix read down its columns and written along its rows.
pub fn transpose() -> Kernel {
    let mut k = Builder::new("transpose_mul_f32");
    let (a, out) = (k.input(F32), k.output(F32));
    let s = k.scalar(F32);
    let (i, j) = (k.parallel(), k.parallel());
    let (a_stride, out_pitch) = (k.size(), k.size());
    let body = &mut Vec::new();
    let a = k.load(body, a, &at(None, &[(i, None), (j, Some(a_stride))]), false);
    let s = k.value(body, F32, Expr::Scalar(s));
    let product = k.binary(body, Mul, a, s);
    k.store(body, out, &at(None, &[(i, Some(out_pitch)), (j, None)]), product, true);
    let body = std::mem::take(body);
    k.finish(body)
}

/// Call and put prices: one kernel, two outputs.
pub fn black_scholes() -> Kernel {
    let mut k = Builder::new("black_scholes_f64");
    let (price, strike, years) = (k.input(F64), k.input(F64), k.input(F64));
    let (call, put) = (k.output(F64), k.output(F64));
    let scalars: Vec<ScalarId> = (0..4).map(|_| k.scalar(F64)).collect();
    let i = k.parallel();
    let here = at(None, &[(i, None)]);
    let body = &mut Vec::new();
    let price = k.load(body, price, &here, true);
    let strike = k.load(body, strike, &here, true);
    let years = k.load(body, years, &here, true);
    let [rate, volatility, half, root_half] =
        [0, 1, 2, 3].map(|number: usize| k.value(body, F64, Expr::Scalar(scalars[number])));
    let ratio = k.binary(body, Div, price, strike);
    let ratio = k.unary(body, UnaryOp::Log, ratio);
    let variance = k.binary(body, Mul, volatility, volatility);
    let variance = k.binary(body, Mul, variance, half);
    let drift = k.binary(body, Add, rate, variance);
    let drift = k.binary(body, Mul, drift, years);
    let root = k.unary(body, UnaryOp::Sqrt, years);
    let spread = k.binary(body, Mul, volatility, root);
    let d1 = k.binary(body, Add, ratio, drift);
    let d1 = k.binary(body, Div, d1, spread);
    let d2 = k.binary(body, Sub, d1, spread);
    let normal = |k: &mut Builder, body: &mut Vec<Stmt>, d: Var| {
        let scaled = k.binary(body, Mul, d, root_half);
        let scaled = k.unary(body, UnaryOp::Neg, scaled);
        let tail = k.unary(body, UnaryOp::Erfc, scaled);
        k.binary(body, Mul, half, tail)
    };
    let (n1, n2) = (normal(&mut k, body, d1), normal(&mut k, body, d2));
    let discount = k.binary(body, Mul, rate, years);
    let discount = k.unary(body, UnaryOp::Neg, discount);
    let discount = k.unary(body, UnaryOp::Exp, discount);
    let discounted = k.binary(body, Mul, strike, discount);
    let gain = k.binary(body, Mul, price, n1);
    let cost = k.binary(body, Mul, discounted, n2);
    let value = k.binary(body, Sub, gain, cost);
    k.store(body, call, &here, value, true);
    let other = k.binary(body, Sub, value, price);
    let other = k.binary(body, Add, other, discounted);
    k.store(body, put, &here, other, true);
    let body = std::mem::take(body);
    k.finish(body)
}

/// `a / b + a % b`, which never trap.
pub fn integer_division() -> Kernel {
    let mut k = Builder::new("div_rem_add_i32");
    let (a, b, out) = (k.input(I32), k.input(I32), k.output(I32));
    let i = k.parallel();
    let here = at(None, &[(i, None)]);
    let body = &mut Vec::new();
    let a = k.load(body, a, &here, true);
    let b = k.load(body, b, &here, true);
    let quotient = k.binary(body, Div, a, b);
    let rest = k.binary(body, Rem, a, b);
    let sum = k.binary(body, Add, quotient, rest);
    k.store(body, out, &here, sum, true);
    let body = std::mem::take(body);
    k.finish(body)
}

/// bf16 `a * b`, eight at a time.
pub fn bf16_multiply() -> Kernel {
    let mut k = Builder::new("mul_bf16");
    let (a, b, out) = (k.input(BF16), k.input(BF16), k.output(BF16));
    let i = k.parallel();
    let here = at(None, &[(i, None)]);
    let body = &mut Vec::new();
    let a = k.load(body, a, &here, true);
    let b = k.load(body, b, &here, true);
    let product = k.binary(body, Mul, a, b);
    k.store(body, out, &here, product, true);
    let body = std::mem::take(body);
    k.finish(body)
}

/// f16 `s * x + y`, rounded twice, and whether that is NaN.
pub fn f16_axpy() -> Kernel {
    let mut k = Builder::new("axpy_f16");
    let (x, y, out, flag) = (k.input(F16), k.input(F16), k.output(F16), k.output(Bool));
    let s = k.scalar(F16);
    let i = k.parallel();
    let here = at(None, &[(i, None)]);
    let body = &mut Vec::new();
    let x = k.load(body, x, &here, false);
    let y = k.load(body, y, &here, false);
    let s = k.value(body, F16, Expr::Scalar(s));
    let product = k.binary(body, Mul, s, x);
    let sum = k.binary(body, Add, product, y);
    k.store(body, out, &here, sum, false);
    let nan = k.unary(body, UnaryOp::IsNan, sum);
    k.store(body, flag, &here, nan, false);
    let body = std::mem::take(body);
    k.finish(body)
}

/// f32 to i32, u8 and i64; f64 to bf16.
pub fn casts() -> Kernel {
    let mut k = Builder::new("casts");
    let (a, b) = (k.input(F32), k.input(F64));
    let outputs = [I32, U8, I64].map(|dtype| (dtype, k.output(dtype)));
    let halves = k.output(BF16);
    let i = k.parallel();
    let here = at(None, &[(i, None)]);
    let body = &mut Vec::new();
    let a = k.load(body, a, &here, false);
    for (dtype, out) in outputs {
        let cast = k.value(body, dtype, Expr::Cast(a));
        k.store(body, out, &here, cast, false);
    }
    let b = k.load(body, b, &here, false);
    let cast = k.value(body, BF16, Expr::Cast(b));
    k.store(body, halves, &here, cast, false);
    let body = std::mem::take(body);
    k.finish(body)
}

/// `start + i * step` from the index.
pub fn iota() -> Kernel {
    let mut k = Builder::new("iota_mul_add_f32");
    let out = k.output(F32);
    let (start, step) = (k.scalar(F32), k.scalar(F32));
    let i = k.parallel();
    let here = at(None, &[(i, None)]);
    let body = &mut Vec::new();
    let index = k.index(body, Expr::Index(here.clone()));
    let number = k.value(body, F32, Expr::IndexValue(index));
    let start = k.value(body, F32, Expr::Scalar(start));
    let step = k.value(body, F32, Expr::Scalar(step));
    let product = k.binary(body, Mul, number, step);
    let sum = k.binary(body, Add, start, product);
    k.store(body, out, &here, sum, true);
    let body = std::mem::take(body);
    k.finish(body)
}

/// Zeros before and after a vector: the load's index is held within it, and a select throws away what lies outside.
pub fn pad() -> Kernel {
    let mut k = Builder::new("pad_i16");
    k.kernel.index = IndexWidth::I64;
    let (a, out) = (k.input(I16), k.output(I16));
    let i = k.parallel();
    let (before, length) = (k.size(), k.size());
    let body = &mut Vec::new();
    let index = k.index(body, Expr::Index(at(None, &[(i, None)])));
    let moved = k.index(body, Expr::IndexBinary(IndexOp::Sub, IndexOperand::Var(index), IndexOperand::Size(before)));
    let is_before = k.value(body, Bool, Expr::IndexLess(IndexOperand::Var(moved), IndexOperand::Zero));
    let is_inside = k.value(body, Bool, Expr::IndexLess(IndexOperand::Var(moved), IndexOperand::Size(length)));
    let held = k.index(body, Expr::IndexBinary(IndexOp::Max, IndexOperand::Var(moved), IndexOperand::Zero));
    let folded = k.index(body, Expr::IndexBinary(IndexOp::Rem, IndexOperand::Var(held), IndexOperand::Size(length)));
    let from = Affine { offset: None, terms: vec![(Term::Var(folded), Coefficient::One)], ahead: None };
    let a = k.load(body, a, &from, false);
    let zero = k.value(body, I16, Expr::Zero);
    let right = k.value(body, I16, Expr::Select { condition: is_inside, on_true: a, on_false: zero });
    let result = k.value(body, I16, Expr::Select { condition: is_before, on_true: zero, on_false: right });
    k.store(body, out, &at(None, &[(i, None)]), result, false);
    let body = std::mem::take(body);
    k.finish(body)
}

/// One element, no axes.
pub fn zero_d() -> Kernel {
    let mut k = Builder::new("sub_i64");
    let (a, b, out) = (k.input(I64), k.input(I64), k.output(I64));
    let offset = k.size();
    let body = &mut Vec::new();
    let a = k.load(body, a, &at(Some(offset), &[]), false);
    let b = k.load(body, b, &at(None, &[]), false);
    let difference = k.binary(body, Sub, a, b);
    k.store(body, out, &at(None, &[]), difference, false);
    let body = std::mem::take(body);
    k.finish(body)
}

/// Sums down the columns of a matrix, in one thread each.
pub fn column_sum() -> Kernel {
    let mut k = Builder::new("column_sum_f32");
    let (a, out) = (k.input(F32), k.output(F32));
    let (j, i) = (k.parallel(), k.axis());
    let pitch = k.size();
    let (body, inner) = (&mut Vec::new(), &mut Vec::new());
    let a = k.load(inner, a, &at(None, &[(i, Some(pitch)), (j, None)]), true);
    let reduction = Reduction { axes: vec![i], span: Span::Whole, tree: Tree::SERIAL, body: std::mem::take(inner) };
    let sum = k.reduce(body, reduction, ReduceOp::Sum, a);
    k.store(body, out, &at(None, &[(j, None)]), sum, true);
    let body = std::mem::take(body);
    k.finish(body)
}

/// Sums of squares along the rows of a matrix, and their roots.
pub fn row_sum(tree: Tree, span: Span) -> Kernel {
    let mut k = Builder::new("row_norm_f32");
    let (a, out) = (k.input(F32), k.output(F32));
    let (i, j) = (k.parallel(), k.axis());
    let (body, inner) = (&mut Vec::new(), &mut Vec::new());
    let pitch = k.size();
    let a = k.load(inner, a, &at(None, &[(i, Some(pitch)), (j, None)]), true);
    let square = k.binary(inner, Mul, a, a);
    let reduction = Reduction { axes: vec![j], span, tree, body: std::mem::take(inner) };
    let sum = k.reduce(body, reduction, ReduceOp::Sum, square);
    let norm = k.unary(body, UnaryOp::Sqrt, sum);
    k.store(body, out, &at(None, &[(i, None)]), norm, false);
    let body = std::mem::take(body);
    k.finish(body)
}

/// The largest of each chunk of a strided matrix, in i64 indices.
pub fn chunked_max(tree: Tree) -> Kernel {
    let mut k = Builder::new("chunked_max_f32");
    k.kernel.index = IndexWidth::I64;
    let (a, out) = (k.input(F32), k.output(F32));
    let (chunk, i, j) = (k.parallel(), k.axis(), k.axis());
    let (length, row, column) = (k.size(), k.size(), k.size());
    let (body, inner) = (&mut Vec::new(), &mut Vec::new());
    let a = k.load(inner, a, &at(None, &[(i, Some(row)), (j, Some(column))]), false);
    let span = Span::Chunk { axis: chunk, length };
    let reduction = Reduction { axes: vec![i, j], span, tree, body: std::mem::take(inner) };
    let max = k.reduce(body, reduction, ReduceOp::Max, a);
    k.store(body, out, &at(None, &[(chunk, None)]), max, false);
    let body = std::mem::take(body);
    k.finish(body)
}

/// The largest row sum of magnitudes: a serial fold inside a group's.
pub fn matrix_norm() -> Kernel {
    let mut k = Builder::new("matrix_norm_i32");
    let (a, out) = (k.input(I32), k.output(I32));
    let (batch, i, j) = (k.parallel(), k.axis(), k.axis());
    let (batch_stride, pitch) = (k.size(), k.size());
    let (body, rows, columns) = (&mut Vec::new(), &mut Vec::new(), &mut Vec::new());
    let a = k.load(columns, a, &at(None, &[(batch, Some(batch_stride)), (i, Some(pitch)), (j, None)]), false);
    let magnitude = k.unary(columns, UnaryOp::Abs, a);
    let inner = Reduction { axes: vec![j], span: Span::Whole, tree: Tree::SERIAL, body: std::mem::take(columns) };
    let sum = k.reduce(rows, inner, ReduceOp::Sum, magnitude);
    let tree = Tree { lanes: 64, width: 1 };
    let outer = Reduction { axes: vec![i], span: Span::Whole, tree, body: std::mem::take(rows) };
    let max = k.reduce(body, outer, ReduceOp::Max, sum);
    k.store(body, out, &at(None, &[(batch, None)]), max, false);
    let body = std::mem::take(body);
    k.finish(body)
}

/// The spread about the mean, for which the mean must be known: two reductions in a row, the second with two folds.
pub fn mean_and_range() -> Kernel {
    let mut k = Builder::new("spread_bf16");
    let (a, out, lowest) = (k.input(BF16), k.output(F32), k.output(BF16));
    let count = k.scalar(F32);
    let (b, i, j, r) = (k.parallel(), k.parallel(), k.axis(), k.axis());
    let (b_stride, i_stride, out_stride) = (k.size(), k.size(), k.size());
    let tree = Tree { lanes: 256, width: 4 };
    let body = &mut Vec::new();
    let inner = &mut Vec::new();
    let first = k.load(inner, a, &at(None, &[(b, Some(b_stride)), (i, Some(i_stride)), (j, None)]), true);
    let first = k.value(inner, F32, Expr::Cast(first));
    let reduction = Reduction { axes: vec![j], span: Span::Whole, tree, body: std::mem::take(inner) };
    let sum = k.reduce(body, reduction, ReduceOp::Sum, first);
    let count = k.value(body, F32, Expr::Scalar(count));
    let mean = k.binary(body, Div, sum, count);
    let again = k.load(inner, a, &at(None, &[(b, Some(b_stride)), (i, Some(i_stride)), (r, None)]), true);
    let wide = k.value(inner, F32, Expr::Cast(again));
    let apart = k.binary(inner, Sub, wide, mean);
    let square = k.binary(inner, Mul, apart, apart);
    let reduction = Reduction { axes: vec![r], span: Span::Whole, tree, body: std::mem::take(inner) };
    let spread = k.reduce(body, reduction, ReduceOp::Sum, square);
    let low = k.var(VarType::Value(BF16));
    if let Some(Stmt::Reduce(reduce)) = body.last_mut() {
        reduce.folds.push(Fold { result: low, op: ReduceOp::Min, value: again });
    }
    let here = at(None, &[(b, Some(out_stride)), (i, None)]);
    k.store(body, out, &here, spread, false);
    k.store(body, lowest, &here, low, false);
    let body = std::mem::take(body);
    k.finish(body)
}

/// Four axes, of which the second is not needed.
pub fn wide_rank() -> Kernel {
    let mut k = Builder::new("compare_u16");
    let (a, b, out) = (k.input(U16), k.input(U16), k.output(Bool));
    let axes: Vec<AxisId> = (0..4).map(|_| k.parallel()).collect();
    let strides: Vec<SizeId> = (0..5).map(|_| k.size()).collect();
    let body = &mut Vec::new();
    let a = k.load(body, a, &at(None, &[(axes[0], Some(strides[0])), (axes[3], None)]), false);
    let b = k.load(body, b, &at(None, &[(axes[2], Some(strides[1]))]), false);
    let product = k.binary(body, Mul, a, b);
    let shifted = k.binary(body, Shl, product, b);
    let less = k.binary(body, Lt, shifted, a);
    let here = at(
        None,
        &[(axes[0], Some(strides[2])), (axes[1], Some(strides[3])), (axes[2], Some(strides[4])), (axes[3], None)],
    );
    k.store(body, out, &here, less, false);
    let body = std::mem::take(body);
    k.finish(body)
}

/// `x[i] * w` for indices of an element type.
pub fn gather(of: DType, width: IndexWidth) -> Kernel {
    let mut k = Builder::new(&format!("take_{of}_mul_f32"));
    k.kernel.index = width;
    let (places, x, w, out, notes) = (k.input(of), k.input(F32), k.input(F32), k.output(F32), k.notes());
    let i = k.parallel();
    let extent = k.size();
    let here = at(None, &[(i, None)]);
    let body = &mut Vec::new();
    let place = k.load(body, places, &here, true);
    let place = k.index(body, Expr::CheckedIndex { value: place, extent, notes, site: 0 });
    let x = k.load(
        body,
        x,
        &Affine { offset: None, terms: vec![(Term::Var(place), Coefficient::One)], ahead: None },
        false,
    );
    let w = k.load(body, w, &here, true);
    let product = k.binary(body, Mul, x, w);
    k.store(body, out, &here, product, true);
    let body = std::mem::take(body);
    k.finish(body)
}

/// The sums of some rows, and of some elements of each: an index for a row, and one for an element.
pub fn gather_rows() -> Kernel {
    let mut k = Builder::new("take_take_sum_f32");
    let (rows, places, x, out, notes) = (k.input(I32), k.input(U8), k.input(F32), k.output(F32), k.notes());
    let (i, j) = (k.parallel(), k.axis());
    let (row_count, row_length, pitch) = (k.size(), k.size(), k.size());
    let body = &mut Vec::new();
    let row = k.load(body, rows, &at(None, &[(i, None)]), false);
    let row = k.index(body, Expr::CheckedIndex { value: row, extent: row_count, notes, site: 0 });
    let inner = &mut Vec::new();
    let place = k.load(inner, places, &at(None, &[(j, None)]), true);
    let place = k.index(inner, Expr::CheckedIndex { value: place, extent: row_length, notes, site: 1 });
    let terms = vec![(Term::Var(row), Coefficient::Size(pitch)), (Term::Var(place), Coefficient::One)];
    let x = k.load(inner, x, &Affine { offset: None, terms, ahead: None }, false);
    let reduction =
        Reduction { axes: vec![j], span: Span::Whole, tree: Tree { lanes: 64, width: 4 }, body: std::mem::take(inner) };
    let sum = k.reduce(body, reduction, ReduceOp::Sum, x);
    k.store(body, out, &at(None, &[(i, None)]), sum, false);
    let body = std::mem::take(body);
    k.finish(body)
}
