//! Canonical form: what is reachable from the roots, in topological order, with common subexpressions merged, and the
//! signature under which plans are kept.
//!
//! Two graphs with one signature have the same operations, shapes, orders and sharing; they differ in data and in the
//! values of scalars alone. Scalars are slots in the order they are reached and never merge by value, else `x * i + 1`
//! would be another graph at i = 1.

use std::borrow::Borrow;
use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use lazuli_codegen::{DType, Scalar};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use super::{Inputs, Node, Op, Snapshot, Storage};
use crate::error::Error;
use crate::shape::Order;

/// The graph below some roots, in topological order.
#[derive(Default)]
pub struct Canonical {
    /// Every distinct value, inputs before users.
    pub nodes: Vec<CanonicalNode>,
    /// The value of each root, in the order given.
    pub roots: SmallVec<[u32; 4]>,
    /// Device data read, each storage once.
    pub leaves: Vec<Arc<dyn Storage>>,
    /// Values of the scalar slots.
    pub scalars: Vec<Scalar>,
    /// The whole structure as numbers, compared word by word: the key of a plan.
    pub words: Vec<u64>,
    /// Number of each recorded node already seen.
    seen: FxHashMap<*const Node, u32>,
    /// Number of each storage already seen.
    storages: FxHashMap<*const (), u32>,
    /// Hash of a value's words to its number and their place, so that equal values merge.
    values: FxHashMap<u64, (u32, usize, usize)>,
    /// Nodes that merged into an earlier one. Nodes are looked up by address, so all must live as long as the walk: another
    /// thread may evaluate one of them meanwhile and let go of its inputs.
    merged: Vec<Arc<Node>>,
    /// Nodes whose inputs are being visited.
    stack: Vec<Frame>,
}

/// One distinct value.
pub struct CanonicalNode {
    /// One of the nodes that record it.
    pub node: Arc<Node>,
    /// Where its value comes from.
    pub source: Source,
    /// Numbers of its inputs.
    pub inputs: SmallVec<[u32; 3]>,
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Device data, by number.
    Leaf(u32),
    /// A scalar slot, by number.
    Scalar(u32),
    /// The node's operation.
    Operation,
}

/// The key under which a plan is kept: the words of a canonical graph.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Signature(Arc<[u64]>);

impl From<&[u64]> for Signature {
    fn from(words: &[u64]) -> Self {
        Self(words.into())
    }
}

impl Borrow<[u64]> for Signature {
    fn borrow(&self) -> &[u64] {
        &self.0
    }
}

thread_local! {
    /// The buffers of the last graph of this thread. Graphs are walked at every evaluation; growing the buffers anew each
    /// time costs as much as the walk.
    static BUFFERS: Cell<Option<Box<Canonical>>> = const { Cell::new(None) };
}

/// The canonical form of what the roots need. Errors: the first failed node on the way.
pub fn canonicalize(roots: &[Arc<Node>]) -> Result<Box<Canonical>, Error> {
    let mut graph = BUFFERS.take().unwrap_or_default();
    for root in roots {
        match graph.visit(root) {
            Ok(number) => graph.roots.push(number),
            Err(error) => {
                graph.recycle();
                return Err(error);
            }
        }
    }
    let Canonical { words, roots, .. } = &mut *graph;
    words.extend(roots.iter().map(|root| u64::from(*root)));
    Ok(graph)
}

/// A node on the walk: its inputs come first.
struct Frame {
    node: Arc<Node>,
    inputs: Inputs,
    next: usize,
}

impl Canonical {
    /// Lets go of everything but the buffers' memory, which the next graph of this thread uses.
    pub fn recycle(mut self: Box<Self>) {
        // Nodes are dropped here; a graph evaluated before a larger one leaves no more than its own buffers.
        const LARGEST_KEPT: usize = 1 << 14;
        if self.nodes.len() > LARGEST_KEPT {
            return;
        }
        self.nodes.clear();
        self.roots.clear();
        self.leaves.clear();
        self.scalars.clear();
        self.words.clear();
        self.seen.clear();
        self.storages.clear();
        self.values.clear();
        self.merged.clear();
        self.stack.clear();
        BUFFERS.set(Some(self));
    }

    fn visit(&mut self, root: &Arc<Node>) -> Result<u32, Error> {
        let mut stack = std::mem::take(&mut self.stack);
        let mut entering = Some(root.clone());
        let mut last = 0;
        loop {
            if let Some(node) = entering.take() {
                if let Some(&number) = self.seen.get(&Arc::as_ptr(&node)) {
                    last = number;
                } else {
                    match node.snapshot() {
                        Snapshot::Evaluated(storage) => last = self.leaf(node, storage),
                        Snapshot::Pending(inputs) => {
                            stack.push(Frame { node, inputs, next: 0 });
                        }
                    }
                }
            }
            let Some(frame) = stack.last_mut() else {
                self.stack = stack;
                return Ok(last);
            };
            if let Some(input) = frame.inputs.get(frame.next) {
                entering = Some(input.clone());
                frame.next += 1;
            } else if let Some(Frame { node, inputs, .. }) = stack.pop() {
                last = self.operation(node, &inputs)?;
            }
        }
    }

    fn leaf(&mut self, node: Arc<Node>, storage: Arc<dyn Storage>) -> u32 {
        let address = Arc::as_ptr(&storage).cast::<()>();
        let next = self.leaves.len() as u32;
        let number = *self.storages.entry(address).or_insert(next);
        if number == next {
            self.leaves.push(storage);
        }
        let start = self.words.len();
        self.words.extend([tag::LEAF, u64::from(number)]);
        self.value(node, Source::Leaf(number), SmallVec::new(), start)
    }

    fn operation(&mut self, node: Arc<Node>, inputs: &Inputs) -> Result<u32, Error> {
        let start = self.words.len();
        // Every input was visited just before its user.
        let mut numbers: SmallVec<[u32; 3]> = SmallVec::new();
        for input in inputs {
            numbers.push(self.seen[&Arc::as_ptr(input)]);
        }
        let mut source = Source::Operation;
        match node.op() {
            Op::Failed(error) => return Err((**error).clone()),
            Op::Leaf => return Err(Error::Internal("a leaf without storage".into())),
            Op::Scalar(scalar) => {
                let slot = self.scalars.len() as u32;
                self.scalars.push(*scalar);
                self.words.extend([tag::SCALAR, u64::from(slot)]);
                source = Source::Scalar(slot);
            }
            Op::Iota => self.words.push(tag::IOTA),
            Op::Unary(op) => self.words.extend([tag::UNARY, *op as u64]),
            Op::Binary(op) => self.words.extend([tag::BINARY, *op as u64]),
            Op::MulAdd => self.words.push(tag::MUL_ADD),
            Op::Select => self.words.push(tag::SELECT),
            Op::Cast => self.words.push(tag::CAST),
            Op::View(view) => {
                self.words.push(tag::VIEW);
                for map in &view.axes {
                    let axis = map.axis.map_or(u64::MAX, u64::from);
                    self.words.extend([map.start as u64, map.step as u64, axis]);
                }
            }
            Op::Reshape => self.words.push(tag::RESHAPE),
            Op::Reduce(op, axes) => {
                self.words.extend([tag::REDUCE, *op as u64]);
                self.words.extend(axes.iter().map(|reduced| u64::from(*reduced)));
            }
            Op::Gather(gather) => self.words.extend([tag::GATHER, u64::from(gather.axis)]),
            Op::SliceAssign(region) => {
                self.words.push(tag::SLICE_ASSIGN);
                for range in &region.axes {
                    self.words.extend([range.start as u64, range.step as u64, range.extent as u64]);
                }
            }
        }
        self.words.extend(numbers.iter().map(|number| u64::from(*number)));
        Ok(self.value(node, source, numbers, start))
    }

    /// Numbers a value whose words begin at `start`, or finds the equal one seen before.
    fn value(&mut self, node: Arc<Node>, source: Source, inputs: SmallVec<[u32; 3]>, start: usize) -> u32 {
        self.words.extend([dtype_word(node.dtype()), node.shape().len() as u64]);
        self.words.extend(node.shape().iter().map(|extent| *extent as u64));
        match node.order() {
            Order::Any => self.words.push(0),
            Order::RowMajor => self.words.push(1),
            Order::Permuted(axes) => {
                self.words.push(2);
                self.words.extend(axes.iter().map(|axis| u64::from(*axis)));
            }
        }
        let mut hasher = FxHasher::default();
        self.words[start..].iter().for_each(|word| hasher.write_u64(*word));
        let hash = hasher.finish();
        let number = self.nodes.len() as u32;
        let pointer = Arc::as_ptr(&node);
        if let Some(&(earlier, from, to)) = self.values.get(&hash)
            && self.words[from..to] == self.words[start..]
        {
            self.words.truncate(start);
            self.seen.insert(pointer, earlier);
            self.merged.push(node);
            return earlier;
        }
        self.values.insert(hash, (number, start, self.words.len()));
        self.seen.insert(pointer, number);
        self.nodes.push(CanonicalNode { node, source, inputs });
        number
    }
}

fn dtype_word(dtype: DType) -> u64 {
    dtype as u64
}

/// First words of a value, so that no two kinds of node share a prefix.
mod tag {
    pub const LEAF: u64 = 1 << 32;
    pub const SCALAR: u64 = 2 << 32;
    pub const IOTA: u64 = 3 << 32;
    pub const UNARY: u64 = 4 << 32;
    pub const BINARY: u64 = 5 << 32;
    pub const MUL_ADD: u64 = 6 << 32;
    pub const SELECT: u64 = 7 << 32;
    pub const CAST: u64 = 8 << 32;
    pub const VIEW: u64 = 9 << 32;
    pub const RESHAPE: u64 = 10 << 32;
    pub const REDUCE: u64 = 11 << 32;
    pub const SLICE_ASSIGN: u64 = 12 << 32;
    pub const GATHER: u64 = 13 << 32;
}
