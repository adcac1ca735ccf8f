//! Canonical form: what is reachable from the roots, in topological order, with common subexpressions merged, and the
//! signature under which plans are kept.
//!
//! Two graphs with one signature have the same operations, shapes, orders and sharing; they differ in data and in the
//! values of scalars alone. Scalars are slots in the order they are reached and never merge by value, else `x * i + 1`
//! would be another graph at i = 1.

use std::any::Any;
use std::borrow::Borrow;
use std::cell::Cell;
use std::collections::hash_map::Entry;
use std::hash::Hasher;
use std::sync::Arc;

use lazuli_codegen::{ReduceOp, Scalar};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use smallvec::SmallVec;

use super::node::Held;
use super::{Node, Op, Storage};
use crate::error::Error;
use crate::shape::Order;

/// The graph below some roots, in topological order.
#[derive(Default)]
pub struct Canonical {
    /// Every distinct value, inputs before users: one of the nodes that record it.
    pub nodes: Vec<Arc<Node>>,
    /// Where each of these values comes from.
    pub sources: Vec<Source>,
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
    /// The inputs of every value, one after the other.
    inputs: Vec<u32>,
    /// Where those of each value end.
    input_ends: Vec<usize>,
    /// Nodes whose inputs are being visited, each the last one's input.
    entered: Vec<Arc<Node>>,
    /// How many inputs each of them has, and how many of those have no number yet.
    open: Vec<u64>,
    /// Their inputs that are still to be visited, the next one last.
    waiting: Vec<Waiting>,
    /// Numbers of their inputs that have been.
    numbers: Vec<u32>,
    /// What is taken as given.
    promised: PromisedNodes,
}

/// Nodes to be taken as if they had their values.
#[derive(Clone, Default)]
pub struct PromisedNodes(FxHashSet<*const Node>);

impl PromisedNodes {
    /// Takes the node as given from now on.
    pub fn add(&mut self, node: &Arc<Node>) {
        self.0.insert(Arc::as_ptr(node));
    }

    /// True for a node that was added and has no value yet.
    pub fn contains(&self, node: &Arc<Node>) -> bool {
        !self.0.is_empty() && !node.is_evaluated() && self.0.contains(&Arc::as_ptr(node))
    }
}

/// In the place of memory that is not there yet.
#[derive(Debug)]
struct Promised {
    bytes: usize,
}

impl Storage for Promised {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// An input on the walk.
enum Waiting {
    Node(Arc<Node>),
    /// One that has its number already: it is not held once more.
    Number(u32),
}

enum Entered {
    Storage(Arc<dyn Storage>),
    Inputs(usize),
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
    canonicalize_given(roots, PromisedNodes::default())
}

/// The same where some values are taken as given, to be looked at and not to be run. The nodes live as long as the call.
pub fn canonicalize_given(roots: &[Arc<Node>], promised: PromisedNodes) -> Result<Box<Canonical>, Error> {
    let mut graph = BUFFERS.take().unwrap_or_default();
    graph.promised = promised;
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

impl Canonical {
    /// Numbers of the inputs of a value.
    pub fn inputs_of(&self, number: usize) -> &[u32] {
        let first = number.checked_sub(1).map_or(0, |before| self.input_ends[before]);
        &self.inputs[first..self.input_ends[number]]
    }

    /// Lets go of everything but the buffers' memory, which the next graph of this thread uses.
    pub fn recycle(mut self: Box<Self>) {
        // Nodes are dropped here; a graph evaluated before a larger one leaves no more than its own buffers.
        const LARGEST_KEPT: usize = 1 << 14;
        if self.nodes.len() > LARGEST_KEPT {
            return;
        }
        self.nodes.clear();
        self.sources.clear();
        self.roots.clear();
        self.leaves.clear();
        self.scalars.clear();
        self.words.clear();
        self.seen.clear();
        self.storages.clear();
        self.values.clear();
        self.merged.clear();
        self.inputs.clear();
        self.input_ends.clear();
        self.entered.clear();
        self.open.clear();
        self.waiting.clear();
        self.numbers.clear();
        self.promised = PromisedNodes::default();
        BUFFERS.set(Some(self));
    }

    fn visit(&mut self, root: &Arc<Node>) -> Result<u32, Error> {
        // Plain stacks side by side: what was written in parts and is read at once, as when a struct is pushed, waits for the
        // store, and that would cost as much as the rest of a visit.
        let mut next = Waiting::Node(root.clone());
        loop {
            let number = match next {
                Waiting::Number(number) => Some(number),
                Waiting::Node(node) => self.enter(node)?,
            };
            if let Some(mut number) = number {
                // Whoever has all inputs now is numbered too, and is an input itself.
                loop {
                    let Some(open) = self.open.last_mut() else { return Ok(number) };
                    self.numbers.push(number);
                    *open -= 1;
                    let (inputs, left) = (*open >> 32, *open as u32);
                    if left > 0 {
                        break;
                    }
                    self.open.pop();
                    if let Some(node) = self.entered.pop() {
                        number = self.operation(node, inputs as usize)?;
                    }
                }
            }
            next = self.waiting.pop().ok_or_else(|| Error::Internal("an input that is not there".into()))?;
        }
    }

    /// The number of a node where it can have one at once. Else its inputs wait now, and it waits for them.
    fn enter(&mut self, node: Arc<Node>) -> Result<Option<u32>, Error> {
        if let Some(&number) = self.seen.get(&Arc::as_ptr(&node)) {
            return Ok(Some(number));
        }
        if self.promised.contains(&node) {
            return Ok(Some(self.promise(node)));
        }
        // A constant needs no look at its storage, should it have one.
        if let Op::Scalar(_) = node.op() {
            return self.operation(node, 0).map(Some);
        }
        let (seen, waiting) = (&self.seen, &mut self.waiting);
        let entered = node.look(|held| match held {
            Held::Storage(storage) => Entered::Storage(storage.clone()),
            Held::Inputs(inputs) => {
                waiting.extend(inputs.iter().rev().map(|input| match seen.get(&Arc::as_ptr(input)) {
                    Some(&number) => Waiting::Number(number),
                    None => Waiting::Node(input.clone()),
                }));
                Entered::Inputs(inputs.len())
            }
        });
        match entered {
            Entered::Storage(storage) => Ok(Some(self.leaf(node, storage))),
            Entered::Inputs(0) => self.operation(node, 0).map(Some),
            Entered::Inputs(inputs) => {
                self.entered.push(node);
                self.open.push((inputs as u64) << 32 | inputs as u64);
                Ok(None)
            }
        }
    }

    /// A leaf in the place of a value that will be on the device by then.
    fn promise(&mut self, node: Arc<Node>) -> u32 {
        let storage = Promised { bytes: node.len() * node.dtype().size_bytes() };
        self.leaf(node, Arc::new(storage))
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
        self.value(node, Source::Leaf(number), 0, start)
    }

    /// Numbers the value of an operation on the last `inputs` values that have their numbers.
    fn operation(&mut self, node: Arc<Node>, inputs: usize) -> Result<u32, Error> {
        let start = self.words.len();
        let mut source = Source::Operation;
        match node.op() {
            Op::Failed(error) => return Err((**error).clone()),
            Op::Leaf => return Err(Error::Internal("a leaf without storage".into())),
            Op::Launch(_) | Op::Output(_) => {
                return Err(Error::Internal("a launch among what a kernel computes".into()));
            }
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
            Op::Call(function) => self.words.extend([tag::CALL | inputs as u64, function.number()]),
            Op::View(view) => {
                self.words.push(tag::VIEW | view.axes.len() as u64);
                for map in &view.axes {
                    let axis = map.axis.map_or(u64::MAX, u64::from);
                    self.words.extend([map.start as u64, map.step as u64, axis]);
                }
            }
            Op::Reshape => self.words.push(tag::RESHAPE),
            Op::Reduce(op, axes) => {
                let (number, own) = fold_words(*op);
                self.words.extend([tag::REDUCE | number, axes.len() as u64]);
                self.words.extend(own.into_iter().flatten());
                self.words.extend(axes.iter().map(|reduced| u64::from(*reduced)));
            }
            Op::Gather(gather) => self.words.extend([tag::GATHER, u64::from(gather.axis)]),
            Op::SliceAssign(region) => {
                self.words.push(tag::SLICE_ASSIGN | region.axes.len() as u64);
                for range in &region.axes {
                    self.words.extend([range.start as u64, range.step as u64, range.extent as u64]);
                }
            }
        }
        // How many there are follows from the operation.
        let first = self.numbers.len() - inputs;
        self.words.extend(self.numbers[first..].iter().map(|number| u64::from(*number)));
        Ok(self.value(node, source, inputs, start))
    }

    /// Numbers a value of the last `inputs` numbers, whose words begin at `start`, or finds the equal one seen before. Those
    /// numbers have had their use then.
    fn value(&mut self, node: Arc<Node>, source: Source, inputs: usize, start: usize) -> u32 {
        let first_input = self.numbers.len() - inputs;
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
                        self.numbers.truncate(first_input);
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
        for at in first_input..self.numbers.len() {
            self.inputs.push(self.numbers[at]);
        }
        self.numbers.truncate(first_input);
        self.input_ends.push(self.inputs.len());
        self.nodes.push(node);
        self.sources.push(source);
        number
    }
}

/// What tells a fold from others: its number, and what a fold of the user's own is.
fn fold_words(op: ReduceOp) -> (u64, Option<[u64; 2]>) {
    match op {
        ReduceOp::Sum => (0, None),
        ReduceOp::Prod => (1, None),
        ReduceOp::Min => (2, None),
        ReduceOp::Max => (3, None),
        ReduceOp::Any => (4, None),
        ReduceOp::All => (5, None),
        ReduceOp::Custom(combiner) => (6, Some([combiner.function.number(), combiner.identity.bits()])),
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
    pub const GATHER: u64 = 13 << 32;
    pub const CALL: u64 = 14 << 32;
}
