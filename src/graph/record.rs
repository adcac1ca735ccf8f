//! Recording: shape, dtype and order inference, and the errors that need no device.
//!
//! Every function returns a node. Where the operation does not fit, the node is [`Op::Failed`] and carries the error; a
//! failed input is handed on as it is, so that the first mistake is the one reported.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use lazuli_codegen::simt::Function;
use lazuli_codegen::simt::function::FunctionParam;
use lazuli_codegen::{BinaryOp, DType, ReduceOp, Scalar, UnaryOp};
use smallvec::{SmallVec, smallvec};

use super::op::{AxisMap, AxisMask, Call, Gather, Launch, Op, Range, Region, View};
use super::{Inputs, Node};
use crate::error::{Error, Place};
use crate::shape::{self, Order, Shape};

/// A node that carries an error to whoever asks for the value.
pub fn failed(error: Error, dtype: DType, at: Place) -> Arc<Node> {
    Node::pending(Op::Failed(Box::new(error)), Inputs::new(), Shape::new(), dtype, Order::Any, at)
}

/// A 0-d constant.
pub fn scalar(value: Scalar, at: Place) -> Arc<Node> {
    Node::pending(Op::Scalar(value), Inputs::new(), Shape::new(), value.dtype(), Order::Any, at)
}

/// 0, 1, .. n - 1, converted to `dtype`.
pub fn iota(n: usize, dtype: DType, at: Place) -> Arc<Node> {
    if shape::element_count(&[n]).is_none() {
        return failed(too_many_elements("arange", &[n], at), dtype, at);
    }
    Node::pending(Op::Iota, Inputs::new(), smallvec![n], dtype, Order::Any, at)
}

/// An element-wise operation on one operand.
pub fn unary(op: UnaryOp, x: &Arc<Node>, at: Place) -> Arc<Node> {
    if is_failed(x) {
        return x.clone();
    }
    match op.result(x.dtype()) {
        Some(dtype) => map(Op::Unary(op), smallvec![x.clone()], Shape::from_slice(x.shape()), dtype, at),
        None => failed(undefined(op.name(), x, at), x.dtype(), at),
    }
}

/// An element-wise operation on two operands of one element type, broadcast together.
pub fn binary(op: BinaryOp, lhs: &Arc<Node>, rhs: &Arc<Node>, at: Place) -> Arc<Node> {
    binary_of(op, [Cow::Borrowed(lhs), Cow::Borrowed(rhs)], at)
}

/// [`binary`] of operands that are lent or given away.
pub fn binary_of(op: BinaryOp, operands: [Cow<'_, Arc<Node>>; 2], at: Place) -> Arc<Node> {
    let [lhs, rhs] = &operands;
    let Some(dtype) = op.result(lhs.dtype()).filter(|_| lhs.dtype() == rhs.dtype()) else {
        let undefined = failed(undefined(op.name(), lhs, at), lhs.dtype(), at);
        return broadcast_together(op.name(), operands, at).map_or_else(|node| node, |_| undefined);
    };
    match broadcast_together(op.name(), operands, at) {
        Ok((inputs, shape)) => map(Op::Binary(op), inputs, shape, dtype, at),
        Err(node) => node,
    }
}

/// `a * b + c` with one rounding, broadcast together; floats.
pub fn mul_add(a: &Arc<Node>, b: &Arc<Node>, c: &Arc<Node>, at: Place) -> Arc<Node> {
    match broadcast_together("mul_add", [a, b, c].map(Cow::Borrowed), at) {
        Ok((inputs, shape)) => map(Op::MulAdd, inputs, shape, a.dtype(), at),
        Err(node) => node,
    }
}

/// `condition ? on_true : on_false`, broadcast together.
pub fn select(condition: &Arc<Node>, on_true: &Arc<Node>, on_false: &Arc<Node>, at: Place) -> Arc<Node> {
    match broadcast_together("select", [condition, on_true, on_false].map(Cow::Borrowed), at) {
        Ok((inputs, shape)) => map(Op::Select, inputs, shape, on_true.dtype(), at),
        Err(node) => node,
    }
}

/// A function of the user's on operands of its parameters' types, broadcast together.
pub fn call(function: Function, operands: Vec<Cow<'_, Arc<Node>>>, at: Place) -> Arc<Node> {
    let dtypes: SmallVec<[DType; 4]> = operands.iter().map(|operand| operand.dtype()).collect();
    let result = function.result.unwrap_or(DType::F32);
    if let Some(failed) = operands.iter().find(|operand| is_failed(operand)) {
        return (**failed).clone();
    }
    if !function.is_of_values(&dtypes, result) {
        let takes = function.params.iter().map(|param| match param {
            FunctionParam::Scalar { dtype, .. } => dtype.name(),
            _ => "memory",
        });
        let (takes, given) = (takes.collect::<Vec<_>>(), dtypes.iter().map(|dtype| dtype.name()).collect::<Vec<_>>());
        let what = format!("it takes ({}) and was called with ({})", takes.join(", "), given.join(", "));
        let shape = operands.first().map_or_else(Vec::new, |operand| operand.shape().to_vec());
        return failed(Error::InvalidArgument { op: function.name(), what, shape, at }, result, at);
    }
    match broadcast_together(function.name(), operands, at) {
        Ok((inputs, shape)) => map(Op::Call(function), inputs, shape, result, at),
        Err(node) => node,
    }
}

/// A launch of a kernel that the user wrote, on inputs stored in row-major order. Gives its outputs, each of a shape and type.
pub fn launch(call: Arc<dyn Call>, inputs: &[Arc<Node>], outputs: &[(Shape, DType)], at: Place) -> Vec<Arc<Node>> {
    if let Some(error) = inputs.iter().find_map(|input| failure(input)) {
        return outputs.iter().map(|(_, dtype)| failed(error.clone(), *dtype, at)).collect();
    }
    let inputs: Inputs = inputs.iter().map(|input| dense(input, at)).collect();
    let written = Arc::new(OnceLock::new());
    let launch = Op::Launch(Box::new(Launch { call, outputs: written.clone() }));
    let launch = Node::pending(launch, inputs, Shape::new(), DType::Bool, Order::Any, at);
    let output = |(number, (shape, dtype)): (usize, &(Shape, DType))| {
        let inputs = smallvec![launch.clone()];
        Node::pending(Op::Output(number as u32), inputs, shape.clone(), *dtype, Order::RowMajor, at)
    };
    let outputs: Vec<Arc<Node>> = outputs.iter().enumerate().map(output).collect();
    // Nobody else has the cell before this.
    let _ = written.set(outputs.iter().map(Arc::downgrade).collect());
    outputs
}

/// The same value, stored in row-major order from the first byte of its memory on.
pub fn dense(x: &Arc<Node>, at: Place) -> Arc<Node> {
    let is_dense = !x.op().is_movement() && !matches!(x.order(), Order::Permuted(_));
    if is_failed(x) || is_dense {
        return x.clone();
    }
    // A conversion that changes nothing but where elements lie.
    Node::pending(Op::Cast, smallvec![x.clone()], Shape::from_slice(x.shape()), x.dtype(), Order::RowMajor, at)
}

/// Conversion as Rust's `as`: saturating, NaN to 0.
pub fn cast(x: &Arc<Node>, dtype: DType, at: Place) -> Arc<Node> {
    if is_failed(x) || x.dtype() == dtype {
        return x.clone();
    }
    map(Op::Cast, smallvec![x.clone()], Shape::from_slice(x.shape()), dtype, at)
}

/// An index map that the caller has checked: every index it gives lies inside `x`.
pub fn view(x: &Arc<Node>, view: View, result: Shape, at: Place) -> Arc<Node> {
    if is_failed(x) || view.is_identity(x.shape(), &result) {
        return x.clone();
    }
    // A view of a view is one view, so that however many are stacked, reading costs one index map.
    if let (Op::View(inner), super::Snapshot::Pending(inputs)) = (x.op(), x.snapshot()) {
        let (base, composed) = (&inputs[0], inner.then(&view));
        if composed.is_identity(base.shape(), &result) {
            return base.clone();
        }
        let order = view_order(base, &composed, &result);
        return Node::pending(Op::View(Box::new(composed)), smallvec![base.clone()], result, x.dtype(), order, at);
    }
    let order = view_order(x, &view, &result);
    Node::pending(Op::View(Box::new(view)), smallvec![x.clone()], result, x.dtype(), order, at)
}

/// The same elements in row-major order under another shape.
pub fn reshape(x: &Arc<Node>, result: Shape, at: Place) -> Arc<Node> {
    if is_failed(x) {
        return x.clone();
    }
    if shape::element_count(&result) != Some(x.len()) {
        let what = format!("{} elements do not fit shape {result:?}", x.len());
        let error = Error::InvalidArgument { op: "reshape", what, shape: x.shape().to_vec(), at };
        return failed(error, x.dtype(), at);
    }
    if x.shape() == &result[..] {
        return x.clone();
    }
    if let Some(map) = unit_axes_only(x.shape(), &result) {
        return view(x, map, result, at);
    }
    if let (Op::Reshape, super::Snapshot::Pending(inputs)) = (x.op(), x.snapshot()) {
        return reshape(&inputs[0], result, at);
    }
    let order = if *x.order() == Order::Any { Order::Any } else { Order::RowMajor };
    Node::pending(Op::Reshape, smallvec![x.clone()], result, x.dtype(), order, at)
}

/// Stretches `x` to `result`: axes are aligned at the last one, an extent of one stretches.
pub fn broadcast_to(x: &Arc<Node>, result: &[usize], at: Place) -> Arc<Node> {
    if is_failed(x) {
        return x.clone();
    }
    if shape::broadcast(x.shape(), result).as_deref() != Some(result) {
        let error = Error::ShapeMismatch { op: "broadcast_to", lhs: x.shape().to_vec(), rhs: result.to_vec(), at };
        return failed(error, x.dtype(), at);
    }
    if shape::element_count(result).is_none() {
        return failed(too_many_elements("broadcast_to", result, at), x.dtype(), at);
    }
    let added = result.len() - x.shape().len();
    let axes = x
        .shape()
        .iter()
        .enumerate()
        .map(|(axis, &extent)| match extent == result[axis + added] {
            true => AxisMap::whole((axis + added) as u32),
            false => AxisMap::at(0),
        })
        .collect();
    view(x, View { axes }, result.into(), at)
}

/// Folds the marked axes away. An extent of zero gives the operation's value for no elements, or an error where it has none.
pub fn reduce(op: ReduceOp, x: &Arc<Node>, reduced: AxisMask, at: Place) -> Arc<Node> {
    if is_failed(x) {
        return x.clone();
    }
    if !op.accepts(x.dtype()) {
        return failed(undefined(op.name(), x, at), x.dtype(), at);
    }
    if !reduced.contains(&true) {
        return x.clone();
    }
    let kept = |axis: &usize| !reduced[*axis];
    let result: Shape = (0..x.shape().len()).filter(kept).map(|axis| x.shape()[axis]).collect();
    let nothing_folded = (0..x.shape().len()).any(|axis| reduced[axis] && x.shape()[axis] == 0);
    if nothing_folded && !result.contains(&0) {
        if !op.has_empty_value() {
            let what = format!("no elements to fold, and the {} of nothing has no value", op.name());
            let error = Error::InvalidArgument { op: op.name(), what, shape: x.shape().to_vec(), at };
            return failed(error, x.dtype(), at);
        }
        return broadcast_to(&scalar(empty_value(op, x.dtype()), at), &result, at);
    }
    let order = match x.order() {
        Order::Permuted(axes) => {
            let rank = |axis: u32| (0..axis as usize).filter(kept).count() as u32;
            let left: SmallVec<[u32; 4]> =
                axes.iter().filter(|axis| !reduced[**axis as usize]).map(|axis| rank(*axis)).collect();
            Order::from_axes(&left)
        }
        other => other.clone(),
    };
    Node::pending(Op::Reduce(op, Box::new(reduced)), smallvec![x.clone()], result, x.dtype(), order, at)
}

/// The elements of `x` at `indices` along an axis. Both have one rank, and broadcast along the other axes.
pub fn gather(x: &Arc<Node>, indices: &Arc<Node>, gather: Gather, at: Place) -> Arc<Node> {
    if let Some(failed) = [x, indices].into_iter().find(|node| is_failed(node)) {
        return failed.clone();
    }
    let axis = gather.axis as usize;
    let along = |own: usize| match (own == axis, x.shape()[own], indices.shape()[own]) {
        (true, _, extent) | (false, 1, extent) | (false, extent, 1) => Some(extent),
        (false, extent, other) => (extent == other).then_some(extent),
    };
    let rank = x.shape().len();
    let together = (rank == indices.shape().len()).then(|| (0..rank).map(along).collect::<Option<Shape>>()).flatten();
    let Some(result) = together else {
        let (lhs, rhs) = (gather.operand.to_vec(), gather.indices.to_vec());
        return failed(Error::ShapeMismatch { op: gather.op, lhs, rhs, at }, x.dtype(), at);
    };
    match shape::element_count(&result) {
        None => return failed(too_many_elements(gather.op, &result, at), x.dtype(), at),
        Some(count) if count > 0 && x.shape()[axis] == 0 => {
            let what = format!("{count} elements of an axis that has none");
            let error = Error::InvalidArgument { op: gather.op, what, shape: gather.operand.to_vec(), at };
            return failed(error, x.dtype(), at);
        }
        Some(_) => {}
    }
    let inputs: Inputs = smallvec![x.clone(), indices.clone()];
    // Where elements come from says nothing of an order, so that it is the plain one.
    Node::pending(Op::Gather(Box::new(gather)), inputs, result, x.dtype(), Order::RowMajor, at)
}

/// `x` with `value`, which must broadcast to the region's shape, written over the region. The caller has checked that the
/// region lies inside `x`.
pub fn slice_assign(x: &Arc<Node>, region: Region, value: &Arc<Node>, at: Place) -> Arc<Node> {
    if let Some(failed) = [x, value].into_iter().find(|node| is_failed(node)) {
        return failed.clone();
    }
    let extents: Shape = region.axes.iter().map(|range| range.extent).collect();
    if shape::broadcast(value.shape(), &extents).as_ref() != Some(&extents) {
        let (lhs, rhs) = (extents.to_vec(), value.shape().to_vec());
        return failed(Error::ShapeMismatch { op: "slice_assign", lhs, rhs, at }, x.dtype(), at);
    }
    if extents.contains(&0) {
        return x.clone();
    }
    let whole = |(range, &extent): (&Range, &usize)| *range == Range { start: 0, step: 1, extent };
    let value = broadcast_to(value, &extents, at);
    if region.axes.iter().zip(x.shape()).all(whole) {
        return value;
    }
    let inputs: Inputs = smallvec![x.clone(), value];
    let order = x.order().clone();
    Node::pending(Op::SliceAssign(Box::new(region)), inputs, Shape::from_slice(x.shape()), x.dtype(), order, at)
}

/// The error the node carries, if it is a failed one.
pub fn failure(node: &Node) -> Option<&Error> {
    match node.op() {
        Op::Failed(error) => Some(error),
        _ => None,
    }
}

fn is_failed(node: &Node) -> bool {
    failure(node).is_some()
}

#[inline]
fn map(op: Op, inputs: Inputs, shape: Shape, dtype: DType, at: Place) -> Arc<Node> {
    let order = Order::join(inputs.iter().map(|input| input.order()));
    Node::pending(op, inputs, shape, dtype, order, at)
}

/// The operands, stretched to the shape they have together. Constants stay as they are: their index does not matter, and
/// they are half of what programs record.
#[inline]
fn broadcast_together<'a, O>(op: &'static str, operands: O, at: Place) -> Result<(Inputs, Shape), Arc<Node>>
where
    O: AsRef<[Cow<'a, Arc<Node>>]> + IntoIterator<Item = Cow<'a, Arc<Node>>>,
{
    let all = operands.as_ref();
    // What has axes sets the shape; nearly always all others have the same.
    let full = all.iter().find(|operand| !operand.shape().is_empty()).unwrap_or(&all[0]);
    let fits = |operand: &Arc<Node>| match operand.op() {
        Op::Failed(_) => false,
        Op::Scalar(_) => true,
        _ => operand.shape() == full.shape(),
    };
    if all.iter().all(|operand| fits(operand)) {
        let (shape, mut inputs) = (Shape::from_slice(full.shape()), Inputs::new());
        operands.into_iter().for_each(|operand| inputs.push(operand.into_owned()));
        return Ok((inputs, shape));
    }
    stretch_together(op, all, at)
}

/// The same where the shapes differ, or where they fit none.
#[cold]
fn stretch_together(
    op: &'static str,
    operands: &[Cow<'_, Arc<Node>>],
    at: Place,
) -> Result<(Inputs, Shape), Arc<Node>> {
    if let Some(failed) = operands.iter().find(|node| is_failed(node)) {
        return Err((**failed).clone());
    }
    let first = &*operands[0];
    let mut shape = Shape::from_slice(first.shape());
    for operand in &operands[1..] {
        if operand.shape() != &shape[..] && !operand.shape().is_empty() {
            shape = shape::broadcast(&shape, operand.shape()).ok_or_else(|| {
                let (lhs, rhs) = (shape.to_vec(), operand.shape().to_vec());
                failed(Error::ShapeMismatch { op, lhs, rhs, at }, first.dtype(), at)
            })?;
        }
    }
    if shape::element_count(&shape).is_none() {
        return Err(failed(too_many_elements(op, &shape, at), first.dtype(), at));
    }
    let mut inputs = Inputs::new();
    for operand in operands {
        inputs.push(match operand.op() {
            Op::Scalar(_) => (**operand).clone(),
            _ => broadcast_to(operand, &shape, at),
        });
    }
    Ok((inputs, shape))
}

/// The order of a view: its axes ranked by where their operand's axes lie. A stretched axis leaves no preference.
fn view_order(base: &Node, view: &View, result: &[usize]) -> Order {
    if *base.order() == Order::Any {
        return Order::Any;
    }
    let mut axes: SmallVec<[u32; 4]> = SmallVec::new();
    for axis in base.order().axes(base.shape().len()) {
        if let Some(own) = view.axes[axis as usize].axis
            && !axes.contains(&own)
        {
            axes.push(own);
        }
    }
    let mut order: SmallVec<[u32; 4]> = SmallVec::new();
    for (axis, &extent) in result.iter().enumerate() {
        if !axes.contains(&(axis as u32)) {
            match extent {
                1 => order.push(axis as u32),
                _ => return Order::Any,
            }
        }
    }
    // Unit axes lie anywhere; put each before the axis that follows it, so that they never make a permutation.
    let mut merged: SmallVec<[u32; 4]> = SmallVec::new();
    for axis in axes {
        for unit in order.iter().filter(|unit| **unit < axis) {
            if !merged.contains(unit) {
                merged.push(*unit);
            }
        }
        merged.push(axis);
    }
    for unit in order {
        if !merged.contains(&unit) {
            merged.push(unit);
        }
    }
    Order::from_axes(&merged)
}

/// The view that `from` to `to` is, where they differ in axes of extent one alone.
fn unit_axes_only(from: &[usize], to: &[usize]) -> Option<View> {
    let mut axes: SmallVec<[AxisMap; 4]> = SmallVec::new();
    let mut targets = to.iter().enumerate().filter(|(_, extent)| **extent != 1);
    for &extent in from {
        match extent {
            1 => axes.push(AxisMap::at(0)),
            _ => match targets.next() {
                Some((axis, &target)) if target == extent => axes.push(AxisMap::whole(axis as u32)),
                _ => return None,
            },
        }
    }
    targets.next().is_none().then_some(View { axes })
}

/// What folding no elements gives.
fn empty_value(op: ReduceOp, dtype: DType) -> Scalar {
    let one = match dtype {
        DType::F16 => u64::from(half::f16::ONE.to_bits()),
        DType::BF16 => u64::from(half::bf16::ONE.to_bits()),
        DType::F32 => u64::from(1f32.to_bits()),
        DType::F64 => 1f64.to_bits(),
        _ => 1,
    };
    match op {
        ReduceOp::Custom(combiner) => combiner.identity,
        ReduceOp::Prod | ReduceOp::All => Scalar::from_bits(dtype, one),
        ReduceOp::Sum | ReduceOp::Any | ReduceOp::Min | ReduceOp::Max => Scalar::from_bits(dtype, 0),
    }
}

fn undefined(op: &'static str, operand: &Node, at: Place) -> Error {
    let what = format!("not defined for {}", operand.dtype());
    Error::InvalidArgument { op, what, shape: operand.shape().to_vec(), at }
}

fn too_many_elements(op: &'static str, shape: &[usize], at: Place) -> Error {
    Error::LimitExceeded { op, what: format!("shape {shape:?} has more elements than an index can address"), at }
}
