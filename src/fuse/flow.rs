//! The data flow that is partitioned: the canonical graph with each reduction's tree chosen, and long reductions split into
//! a reduction of chunks and one of their results where groups of one launch cannot do both.

use lazuli_codegen::simt::Function;
use lazuli_codegen::{BinaryOp, DType, DeviceFacts, ReduceOp, Tree, UnaryOp};
use smallvec::{SmallVec, smallvec};

use super::tree::{self, Fold};
use crate::error::Place;
use crate::graph::canonical::{Canonical, Source};
use crate::graph::op::{Op, Region, View};
use crate::shape::{Order, Shape};

/// Number of a value in [`Flow::values`].
pub type ValueId = u32;

/// Every value to compute, inputs before users. It holds no graph node, so plans that keep it keep no data alive.
pub struct Flow {
    /// The values.
    pub values: Vec<Value>,
    /// The values asked for.
    pub roots: Vec<ValueId>,
}

/// One value.
pub struct Value {
    /// What computes it.
    pub op: FlowOp,
    /// Its inputs.
    pub inputs: SmallVec<[ValueId; 3]>,
    /// Extents.
    pub shape: Shape,
    /// Element type.
    pub dtype: DType,
    /// Order it is stored in, where it is stored.
    pub order: Order,
    /// The line that recorded it.
    pub at: Place,
    /// What computing one element again from data and scalars would cost.
    pub cost: Cost,
    /// Reductions on the longest way to data.
    pub reduce_depth: u32,
}

/// What computing one element again would cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Operations, each about as dear as an addition, counted as often as they are used; [`Cost::DEAR`] where one is dearer.
    operations: u32,
    /// True where data is read.
    reads_memory: bool,
}

impl Cost {
    const DEAR: u32 = u32::MAX;

    /// The most operations on indices and scalars that take no more than storing their result and reading it again:
    /// an `arange` or a `linspace` and a little more.
    const MOST_WITHOUT_MEMORY: u32 = 6;

    /// True where computing an element again, wherever it is read, is no more work than reading it.
    pub fn is_repeatable(self) -> bool {
        self.operations <= if self.reads_memory { 1 } else { Self::MOST_WITHOUT_MEMORY }
    }

    /// The cost of an operation on values of these costs.
    fn of(op: &FlowOp, inputs: impl Iterator<Item = Cost>) -> Self {
        let start = Cost { operations: 0, reads_memory: matches!(op, FlowOp::Leaf(_)) };
        let mut cost = inputs.fold(start, |sum, input| Cost {
            operations: sum.operations.saturating_add(input.operations),
            reads_memory: sum.reads_memory || input.reads_memory,
        });
        let is_free = op.is_given() || op.is_movement() || *op == FlowOp::Iota;
        cost.operations = match (is_free, op.is_cheap()) {
            (true, _) => cost.operations,
            (false, true) => cost.operations.saturating_add(1),
            (false, false) => Self::DEAR,
        };
        cost
    }
}

/// An operation of the flow. As [`Op`], with reductions scheduled.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "named as in `Op`")]
pub enum FlowOp {
    Leaf(u32),
    Scalar(u32),
    Iota,
    Unary(UnaryOp),
    Binary(BinaryOp),
    MulAdd,
    Select,
    Cast,
    Call(Function),
    View(View),
    Reshape,
    SliceAssign(Region),
    /// The axis, and the number of the node in the canonical graph, which knows what was recorded.
    Gather {
        axis: u32,
        node: u32,
    },
    Reduce(Reduction),
}

/// A reduction with its tree.
#[derive(Clone, PartialEq, Debug)]
pub struct Reduction {
    /// The operation.
    pub op: ReduceOp,
    /// Axes of the operand that are folded, slowest in memory first; elements are numbered through them in this order.
    pub axes: SmallVec<[u32; 4]>,
    /// How the elements combine.
    pub tree: Tree,
    /// True where the fastest axis in memory is a folded one.
    pub along_rows: bool,
    /// How groups share the elements.
    pub split: Split,
}

/// How groups share the elements of one result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Split {
    /// One group folds them all.
    Whole,
    /// Each group folds a chunk of so many; the last axis of the result counts chunks.
    Chunks(i64),
    /// Each group folds a chunk, and groups of the same launch fold what the chunks gave.
    Combined {
        /// Elements in a chunk.
        length: i64,
        /// How the chunks' results are folded.
        tree: Tree,
        /// True where the device runs all the chunks of a result at once, waiting for each other, and keeps each on the chip.
        is_kept: bool,
    },
}

impl Split {
    /// Elements in a chunk.
    #[cfg(test)]
    pub fn length(self) -> Option<i64> {
        match self {
            Split::Whole => None,
            Split::Chunks(length) | Split::Combined { length, .. } => Some(length),
        }
    }
}

impl FlowOp {
    /// The name in kernels and reports.
    pub fn name(&self) -> &'static str {
        match self {
            FlowOp::Leaf(_) => "leaf",
            FlowOp::Scalar(_) => "scalar",
            FlowOp::Iota => "iota",
            FlowOp::Unary(op) => op.name(),
            FlowOp::Binary(op) => op.name(),
            FlowOp::MulAdd => "mul_add",
            FlowOp::Select => "select",
            FlowOp::Cast => "cast",
            FlowOp::Call(function) => function.name(),
            FlowOp::View(_) => "view",
            FlowOp::Reshape => "reshape",
            FlowOp::SliceAssign(_) => "slice_assign",
            FlowOp::Gather { .. } => "take",
            FlowOp::Reduce(reduction) => reduction.op.name(),
        }
    }

    /// True for operations that only say where an element comes from.
    pub fn is_movement(&self) -> bool {
        matches!(self, FlowOp::View(_) | FlowOp::Reshape)
    }

    /// True for what needs no kernel.
    pub fn is_given(&self) -> bool {
        matches!(self, FlowOp::Leaf(_) | FlowOp::Scalar(_))
    }

    fn is_cheap(&self) -> bool {
        match self {
            FlowOp::Unary(op) => op.is_cheap(),
            FlowOp::Binary(op) => op.is_cheap(),
            FlowOp::MulAdd | FlowOp::Select | FlowOp::Cast => true,
            FlowOp::Reduce(_) | FlowOp::SliceAssign(_) | FlowOp::Gather { .. } | FlowOp::Call(_) => false,
            FlowOp::Leaf(_) | FlowOp::Scalar(_) | FlowOp::Iota | FlowOp::View(_) | FlowOp::Reshape => true,
        }
    }
}

impl Value {
    /// Elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }
}

/// The flow of a canonical graph on a device.
pub fn build_flow(graph: &Canonical, facts: &DeviceFacts) -> Flow {
    let mut flow = Flow { values: Vec::with_capacity(graph.nodes.len()), roots: Vec::new() };
    // Splitting a reduction adds values, so numbers shift.
    let mut number: Vec<ValueId> = Vec::with_capacity(graph.nodes.len());
    for (place, recorded) in graph.nodes.iter().enumerate() {
        let inputs: SmallVec<[ValueId; 3]> =
            graph.inputs_of(place).iter().map(|input| number[*input as usize]).collect();
        let op = match (graph.sources[place], recorded.op()) {
            (Source::Leaf(leaf), _) => FlowOp::Leaf(leaf),
            (Source::Scalar(slot), _) => FlowOp::Scalar(slot),
            (Source::Operation, op) => match op {
                // Canonical form has given these a source or refused them.
                Op::Leaf | Op::Scalar(_) | Op::Launch(_) | Op::Output(_) | Op::Failed(_) => continue,
                Op::Iota => FlowOp::Iota,
                Op::Unary(op) => FlowOp::Unary(*op),
                Op::Binary(op) => FlowOp::Binary(*op),
                Op::MulAdd => FlowOp::MulAdd,
                Op::Select => FlowOp::Select,
                Op::Cast => FlowOp::Cast,
                Op::Call(function) => FlowOp::Call(*function),
                Op::View(view) => FlowOp::View((**view).clone()),
                Op::Reshape => FlowOp::Reshape,
                Op::SliceAssign(region) => FlowOp::SliceAssign((**region).clone()),
                Op::Gather(gather) => FlowOp::Gather { axis: gather.axis, node: place as u32 },
                Op::Reduce(op, reduced) => {
                    let operand = inputs[0];
                    let axes = tree::folded_axes(&flow.values[operand as usize], reduced);
                    let last = flow.add_reduction(*op, operand, axes, recorded.at(), facts);
                    number.push(last);
                    continue;
                }
            },
        };
        let shape = recorded.shape().into();
        number.push(flow.add(op, inputs, shape, recorded.dtype(), recorded.order().clone(), recorded.at()));
    }
    flow.roots = graph.roots.iter().map(|root| number[*root as usize]).collect();
    flow
}

impl Flow {
    fn add(
        &mut self,
        op: FlowOp,
        inputs: SmallVec<[ValueId; 3]>,
        shape: Shape,
        dtype: DType,
        order: Order,
        at: Place,
    ) -> ValueId {
        let of_inputs = inputs.iter().map(|input| &self.values[*input as usize]);
        let reduce_depth = of_inputs.clone().map(|value| value.reduce_depth).max().unwrap_or(0)
            + u32::from(matches!(op, FlowOp::Reduce(_)));
        let cost = Cost::of(&op, of_inputs.map(|value| value.cost));
        self.values.push(Value { op, inputs, shape, dtype, order, at, cost, reduce_depth });
        self.values.len() as ValueId - 1
    }

    /// A reduction over `axes` (slowest first) of `operand`; split into chunks, and their results reduced again, until each
    /// accumulator sees few enough elements.
    fn add_reduction(
        &mut self,
        op: ReduceOp,
        mut operand: ValueId,
        mut axes: SmallVec<[u32; 4]>,
        at: Place,
        facts: &DeviceFacts,
    ) -> ValueId {
        loop {
            let value = &self.values[operand as usize];
            let dtype = value.dtype;
            let kept: SmallVec<[u32; 4]> = (0..value.shape.len() as u32).filter(|axis| !axes.contains(axis)).collect();
            let shape: Shape = kept.iter().map(|axis| value.shape[*axis as usize]).collect();
            let kept_order: SmallVec<[u32; 4]> = value
                .order
                .axes(value.shape.len())
                .iter()
                .filter_map(|axis| kept.iter().position(|kept| kept == axis).map(|axis| axis as u32))
                .collect();
            let fold = Fold::of(value, &axes);
            match tree::choose(fold, facts) {
                (tree, split @ (Split::Whole | Split::Combined { .. })) => {
                    let order = Order::from_axes(&kept_order);
                    let reduction = Reduction { op, axes, tree, along_rows: fold.along_rows, split };
                    return self.add(FlowOp::Reduce(reduction), smallvec![operand], shape, dtype, order, at);
                }
                (tree, split @ Split::Chunks(length)) => {
                    let chunks = fold.folded.div_ceil(length as u64) as usize;
                    let chunk_axis = shape.len() as u32;
                    // The chunks lie so that folding them is of the same kind: along rows, or down columns.
                    let order = match fold.along_rows {
                        true => kept_order.iter().copied().chain([chunk_axis]).collect::<SmallVec<[u32; 4]>>(),
                        false => [chunk_axis].into_iter().chain(kept_order.iter().copied()).collect(),
                    };
                    let mut shape = shape;
                    shape.push(chunks);
                    let reduction = Reduction { op, axes, tree, along_rows: fold.along_rows, split };
                    let order = Order::from_axes(&order);
                    operand = self.add(FlowOp::Reduce(reduction), smallvec![operand], shape, dtype, order, at);
                    axes = smallvec![chunk_axis];
                }
            }
        }
    }
}
