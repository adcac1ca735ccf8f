//! Canonical form: what is reachable from the roots, in topological order, with common subexpressions merged, and the
//! signature under which plans are kept.
//!
//! Two graphs with one signature have the same operations, shapes, orders and sharing; they differ in data and in the
//! values of scalars alone. Scalars are slots in the order they are reached and never merge by value, else `x * i + 1`
//! would be another graph at i = 1.

use std::borrow::Borrow;
use std::cell::Cell;
use std::collections::hash_map::Entry;
use std::hash::Hasher;
use std::sync::Arc;

use lazuli_codegen::Scalar;
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
    pub inputs: Numbers,
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
    /// Those that are not visited yet, the last one first.
    waiting: Inputs,
    /// Numbers of those that are.
    numbers: Numbers,
}

/// Numbers of a value's inputs.
type Numbers = SmallVec<[u32; 3]>;

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
        let mut entering = root.clone();
        loop {
            // What is numbered at the end of this turn of the loop.
            let mut number = match self.seen.get(&Arc::as_ptr(&entering)) {
                Some(&number) => number,
                None => match entering.snapshot() {
                    Snapshot::Evaluated(storage) => self.leaf(entering, storage),
                    Snapshot::Pending(mut waiting) => {
                        waiting.reverse();
                        match waiting.pop() {
                            Some(first) => {
                                stack.push(Frame { node: entering, waiting, numbers: Numbers::new() });
                                entering = first;
                                continue;
                            }
                            None => self.operation(entering, Numbers::new())?,
                        }
                    }
                },
            };
            entering = loop {
                let Some(frame) = stack.last_mut() else {
                    self.stack = stack;
                    return Ok(number);
                };
                frame.numbers.push(number);
                match frame.waiting.pop() {
                    Some(next) => break next,
                    None => {
                        if let Some(Frame { node, numbers, .. }) = stack.pop() {
                            number = self.operation(node, numbers)?;
                        }
                    }
                }
            };
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
        self.words.push(tag::LEAF | u64::from(number));
        self.value(node, Source::Leaf(number), Numbers::new(), start)
    }

    fn operation(&mut self, node: Arc<Node>, inputs: Numbers) -> Result<u32, Error> {
        let start = self.words.len();
        let mut source = Source::Operation;
        match node.op() {
            Op::Failed(error) => return Err((**error).clone()),
            Op::Leaf => return Err(Error::Internal("a leaf without storage".into())),
            Op::Scalar(scalar) => {
                let slot = self.scalars.len() as u32;
                self.scalars.push(*scalar);
                self.words.push(tag::SCALAR | u64::from(slot));
                source = Source::Scalar(slot);
            }
            Op::Iota => self.words.push(tag::IOTA),
            Op::Unary(op) => self.words.push(tag::UNARY | *op as u64),
            Op::Binary(op) => self.words.push(tag::BINARY | *op as u64),
            Op::MulAdd => self.words.push(tag::MUL_ADD),
            Op::Select => self.words.push(tag::SELECT),
            Op::Cast => self.words.push(tag::CAST),
            Op::View(view) => {
                self.words.push(tag::VIEW | view.axes.len() as u64);
                for map in &view.axes {
                    let axis = map.axis.map_or(u64::MAX, u64::from);
                    self.words.extend([map.start as u64, map.step as u64, axis]);
                }
            }
            Op::Reshape => self.words.push(tag::RESHAPE),
            Op::Reduce(op, axes) => {
                self.words.extend([tag::REDUCE | *op as u64, axes.len() as u64]);
                self.words.extend(axes.iter().map(|reduced| u64::from(*reduced)));
            }
            Op::SliceAssign(region) => {
                self.words.push(tag::SLICE_ASSIGN | region.axes.len() as u64);
                for range in &region.axes {
                    self.words.extend([range.start as u64, range.step as u64, range.extent as u64]);
                }
            }
        }
        // How many there are follows from the operation.
        self.words.extend(inputs.chunks(2).map(|pair| {
            let second = pair.get(1).map_or(0, |second| u64::from(*second) << 32);
            u64::from(pair[0]) | second
        }));
        Ok(self.value(node, source, inputs, start))
    }

    /// Numbers a value whose words begin at `start`, or finds the equal one seen before.
    fn value(&mut self, node: Arc<Node>, source: Source, inputs: Numbers, start: usize) -> u32 {
        // The first word has room for two more facts, below 256 both.
        self.words[start] |= (node.dtype() as u64) << 48 | order_word(node.order()) << 56;
        self.words.push(node.shape().len() as u64);
        self.words.extend(node.shape().iter().map(|extent| *extent as u64));
        if let Order::Permuted(axes) = node.order() {
            self.words.extend(axes.iter().map(|axis| u64::from(*axis)));
        }
        let number = self.nodes.len() as u32;
        let pointer = Arc::as_ptr(&node);
        // A scalar is a slot of its own and equals nothing.
        if !matches!(source, Source::Scalar(_)) {
            let mut hasher = FxHasher::default();
            self.words[start..].iter().for_each(|word| hasher.write_u64(*word));
            match self.values.entry(hasher.finish()) {
                Entry::Occupied(earlier) => {
                    let &(earlier, from, to) = earlier.get();
                    if self.words[from..to] == self.words[start..] {
                        self.words.truncate(start);
                        self.seen.insert(pointer, earlier);
                        self.merged.push(node);
                        return earlier;
                    }
                }
                Entry::Vacant(place) => {
                    place.insert((number, start, self.words.len()));
                }
            }
        }
        self.seen.insert(pointer, number);
        self.nodes.push(CanonicalNode { node, source, inputs });
        number
    }
}

fn order_word(order: &Order) -> u64 {
    match order {
        Order::Any => 0,
        Order::RowMajor => 1,
        Order::Permuted(_) => 2,
    }
}

/// What begins the first word of a value, so that no two kinds of node share a prefix. The 32 bits below are the operation's
/// number or a count of what follows; the 16 bits above are the element type and the order.
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
}
