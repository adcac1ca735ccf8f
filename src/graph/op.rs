//! The operations a graph records: a closed set, matched without a wildcard so that a new one must be handled everywhere.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use lazuli_codegen::simt::Function;
use lazuli_codegen::{BinaryOp, ReduceOp, Scalar, UnaryOp};
use smallvec::SmallVec;

use super::{Node, Storage};
use crate::error::Error;
use crate::shape::Shape;

/// What a node computes from its inputs.
#[derive(Clone, Debug)]
pub enum Op {
    /// Given data on the device. No inputs.
    Leaf,
    /// A 0-d constant. Its value is a launch argument, never part of a key. No inputs.
    Scalar(Scalar),
    /// The index along the one axis of the result. No inputs.
    Iota,
    /// One input of the result's shape. Inputs of element-wise operations may also be constants, whatever the shape.
    Unary(UnaryOp),
    /// Two inputs of the result's shape.
    Binary(BinaryOp),
    /// `a * b + c` with one rounding. Three inputs of the result's shape.
    MulAdd,
    /// A bool condition and two values, all of the result's shape.
    Select,
    /// Conversion to the node's element type.
    Cast,
    /// A function of the user's. An input of the result's shape for each of its parameters.
    Call(Function),
    /// An index map along axes: slices, steps, flips, permutations, broadcasts, axes inserted and removed.
    View(Box<View>),
    /// The same elements in row-major order under another shape.
    Reshape,
    /// Folds the marked axes of its input away; the other axes keep their order.
    Reduce(ReduceOp, Box<AxisMask>),
    /// The elements of the first input at the indices along one axis that the second one holds. Both have the result's rank;
    /// along that axis the result is as long as the second, and along others the two broadcast.
    Gather(Box<Gather>),
    /// The first input with the second written over a region of it.
    SliceAssign(Box<Region>),
    /// A launch of a kernel that the user wrote. Its inputs are stored as the kernel takes them; it has no value of its own.
    Launch(Box<Launch>),
    /// What a launch writes, by number. Its one input is the launch.
    Output(u32),
    /// What could not be recorded. No inputs.
    Failed(Box<Error>),
}

/// Which axes of an operand are meant.
pub type AxisMask = SmallVec<[bool; 8]>;

/// An index map from the axes of a result to the axes of its operand.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct View {
    /// For each axis of the operand, where its index comes from.
    pub axes: SmallVec<[AxisMap; 4]>,
}

/// Where the index along one axis of a view's operand comes from: `start + step * index of axis`, or `start`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AxisMap {
    /// Index at the result's index 0.
    pub start: i64,
    /// Change for one step along `axis`; 0 where there is none.
    pub step: i64,
    /// The axis of the result.
    pub axis: Option<u32>,
}

impl AxisMap {
    /// The whole axis, as it is.
    pub const fn whole(axis: u32) -> Self {
        Self { start: 0, step: 1, axis: Some(axis) }
    }

    /// One index.
    pub const fn at(start: i64) -> Self {
        Self { start, step: 0, axis: None }
    }
}

impl View {
    /// The map that first applies `self` to the operand and then `outer` to that.
    pub fn then(&self, outer: &View) -> View {
        let axes = self
            .axes
            .iter()
            .map(|map| match map.axis {
                None => *map,
                Some(axis) => {
                    let next = outer.axes[axis as usize];
                    AxisMap { start: map.start + map.step * next.start, step: map.step * next.step, axis: next.axis }
                }
            })
            .collect();
        View { axes }
    }

    /// True where the result is its operand, element for element and axis for axis.
    pub fn is_identity(&self, operand: &[usize], result: &[usize]) -> bool {
        operand == result
            && self
                .axes
                .iter()
                .enumerate()
                .all(|(axis, map)| *map == AxisMap::whole(axis as u32) || (operand[axis] == 1 && map.start == 0))
    }
}

/// A region of an array: along each axis `start, start + step, ..`, `extent` of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Region {
    /// One range for each axis.
    pub axes: SmallVec<[Range; 4]>,
}

/// Indices `start + step * i` for i in 0..extent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the comment of the type is the formula")]
pub struct Range {
    pub start: i64,
    /// Not zero.
    pub step: i64,
    pub extent: usize,
}

/// A gather: the axis, and how it was recorded, for the error of an index that is out of range.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Gather {
    /// The axis of the inputs.
    pub axis: u32,
    /// The operation as the user called it.
    pub op: &'static str,
    /// The operand as the user gave it.
    pub operand: Shape,
    /// Its axis that is indexed; `None` for all of its elements.
    pub operand_axis: Option<u32>,
    /// The indices as the user gave them.
    pub indices: Shape,
}

/// A recorded launch of a kernel that the user wrote.
#[derive(Clone, Debug)]
pub struct Launch {
    /// What is launched.
    pub call: Arc<dyn Call>,
    /// The values it writes, by number, as long as anybody has them.
    pub outputs: Arc<OnceLock<Vec<Weak<Node>>>>,
}

/// What a recorded launch does once its inputs are there. The runtime's side implements it; the graph only keeps it.
pub trait Call: Send + Sync + fmt::Debug {
    /// The kernel's name.
    fn name(&self) -> &str;

    /// Launches it: `inputs` hold the inputs' elements in row-major order from the first byte on. Gives the outputs' memory.
    fn run(&self, inputs: &[Arc<dyn Storage>]) -> Result<Vec<Arc<dyn Storage>>, Error>;

    /// Its source, for people to read.
    fn source(&self) -> Result<String, Error>;
}

impl Op {
    /// The name in errors and traces.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Leaf => "leaf",
            Op::Scalar(_) => "scalar",
            Op::Iota => "iota",
            Op::Unary(op) => op.name(),
            Op::Binary(op) => op.name(),
            Op::MulAdd => "mul_add",
            Op::Select => "select",
            Op::Cast => "cast",
            Op::Call(function) => function.name(),
            Op::View(_) => "view",
            Op::Reshape => "reshape",
            Op::Reduce(op, _) => op.name(),
            Op::Gather(gather) => gather.op,
            Op::SliceAssign(_) => "slice_assign",
            Op::Launch(_) => "launch",
            Op::Output(_) => "output",
            Op::Failed(_) => "failed",
        }
    }

    /// True for the operations that only say where an element comes from. They are index arithmetic in whoever reads
    /// them and never launch.
    pub fn is_movement(&self) -> bool {
        matches!(self, Op::View(_) | Op::Reshape)
    }
}
