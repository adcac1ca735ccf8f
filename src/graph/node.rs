//! A node of the expression graph: what was recorded, until it is evaluated.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use lazuli_codegen::DType;
use smallvec::SmallVec;

use super::Op;
use crate::error::Place;
use crate::shape::{Order, Shape};

/// Device memory that holds the value of a node. Runtimes implement it; the graph only keeps it alive.
pub trait Storage: Any + Send + Sync + fmt::Debug {
    /// Size in bytes; at least what the node's elements take.
    fn bytes(&self) -> usize;
    /// For the runtime that made it.
    fn as_any(&self) -> &dyn Any;
}

/// A node's inputs.
pub type Inputs = SmallVec<[Arc<Node>; 2]>;

/// One recorded value. Immutable but for its state: pending (inputs, no storage) or evaluated (storage, no inputs).
pub struct Node {
    op: Op,
    shape: Shape,
    dtype: DType,
    order: Order,
    at: Place,
    state: Mutex<State>,
}

struct State {
    inputs: Inputs,
    storage: Option<Arc<dyn Storage>>,
}

/// What a node holds at the moment it is looked at.
pub enum Snapshot {
    /// The value is on the device, dense, in the node's order.
    Evaluated(Arc<dyn Storage>),
    /// The value would have to be computed from these.
    Pending(Inputs),
}

impl Node {
    pub(super) fn pending(op: Op, inputs: Inputs, shape: Shape, dtype: DType, order: Order, at: Place) -> Arc<Self> {
        Arc::new(Self { op, shape, dtype, order, at, state: Mutex::new(State { inputs, storage: None }) })
    }

    /// A node whose value is already on the device: dense, `shape` elements of `dtype` in `order`.
    pub fn leaf(storage: Arc<dyn Storage>, shape: Shape, dtype: DType, order: Order, at: Place) -> Arc<Self> {
        let state = Mutex::new(State { inputs: Inputs::new(), storage: Some(storage) });
        Arc::new(Self { op: Op::Leaf, shape, dtype, order, at, state })
    }

    /// What the node computes.
    pub fn op(&self) -> &Op {
        &self.op
    }

    /// Extents, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The order the value is, or would be, stored in.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// The line that recorded it.
    pub fn at(&self) -> Place {
        self.at
    }

    /// Elements. Recording refuses shapes whose count overflows.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The value, where the node is evaluated.
    pub fn storage(&self) -> Option<Arc<dyn Storage>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).storage.clone()
    }

    /// Inputs or storage, whichever the node holds now.
    pub fn snapshot(&self) -> Snapshot {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &state.storage {
            Some(storage) => Snapshot::Evaluated(storage.clone()),
            None => Snapshot::Pending(state.inputs.clone()),
        }
    }

    /// Gives the node its value and lets go of its inputs. Where two threads computed it, the first value stays.
    pub fn fulfil(&self, storage: Arc<dyn Storage>) {
        let released = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.storage.get_or_insert(storage);
            std::mem::take(&mut state.inputs)
        };
        release(released);
    }
}

/// Drops nodes and all that only they kept alive, with a worklist in place of recursion: chains are as long as users make them.
fn release(inputs: Inputs) {
    let mut worklist: Vec<Arc<Node>> = inputs.into_vec();
    while let Some(node) = worklist.pop() {
        if let Some(mut node) = Arc::into_inner(node) {
            let state = node.state.get_mut().unwrap_or_else(PoisonError::into_inner);
            worklist.extend(state.inputs.drain(..));
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !state.inputs.is_empty() {
            release(std::mem::take(&mut state.inputs));
        }
    }
}

impl fmt::Debug for Node {
    /// One line, never the inputs: a graph may be a million nodes deep.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{:?} at {}", self.op.name(), self.dtype, self.shape, self.at)
    }
}
