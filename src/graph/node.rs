//! A node of the expression graph: what was recorded, until it is evaluated.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// One recorded value. Immutable but for its state, which changes once: from pending to evaluated.
pub struct Node {
    op: Op,
    shape: Shape,
    dtype: DType,
    order: Order,
    at: Place,
    /// Launches of the user's that stand one after another on the longest way from data to this value.
    launch_depth: u32,
    /// Set once the state is `Evaluated`, so that most questions need no lock.
    evaluated: AtomicBool,
    state: Mutex<State>,
}

enum State {
    Pending(Inputs),
    Evaluated(Arc<dyn Storage>),
}

/// What a node holds.
pub enum Held<'a> {
    /// The value.
    Storage(&'a Arc<dyn Storage>),
    /// What it would have to be computed from.
    Inputs(&'a [Arc<Node>]),
}

/// What a node holds at the moment it is looked at.
pub enum Snapshot {
    /// The value is on the device, dense, in the node's order.
    Evaluated(Arc<dyn Storage>),
    /// The value would have to be computed from these.
    Pending(Inputs),
}

impl Node {
    #[inline]
    pub(super) fn pending(op: Op, inputs: Inputs, shape: Shape, dtype: DType, order: Order, at: Place) -> Arc<Self> {
        let below = inputs.iter().map(|input| if input.is_evaluated() { 0 } else { input.launch_depth }).max();
        let launch_depth = below.unwrap_or(0) + u32::from(matches!(op, Op::Output(_)));
        let state = Mutex::new(State::Pending(inputs));
        Arc::new(Self { op, shape, dtype, order, at, launch_depth, evaluated: AtomicBool::new(false), state })
    }

    /// A node whose value is already on the device: dense, `shape` elements of `dtype` in `order`.
    pub fn leaf(storage: Arc<dyn Storage>, shape: Shape, dtype: DType, order: Order, at: Place) -> Arc<Self> {
        let state = Mutex::new(State::Evaluated(storage));
        let (op, evaluated) = (Op::Leaf, AtomicBool::new(true));
        Arc::new(Self { op, shape, dtype, order, at, launch_depth: 0, evaluated, state })
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

    /// Launches of the user's that stood one after another on the longest way from data to this value when it was recorded.
    pub fn launch_depth(&self) -> u32 {
        self.launch_depth
    }

    /// Elements. Recording refuses shapes whose count overflows.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// True once the node has its value.
    pub fn is_evaluated(&self) -> bool {
        self.evaluated.load(Ordering::Acquire)
    }

    /// The value, where the node is evaluated.
    pub fn storage(&self) -> Option<Arc<dyn Storage>> {
        match self.is_evaluated().then(|| self.snapshot())? {
            Snapshot::Evaluated(storage) => Some(storage),
            Snapshot::Pending(_) => None,
        }
    }

    /// Inputs or storage, whichever the node holds now.
    pub fn snapshot(&self) -> Snapshot {
        self.look(|held| match held {
            Held::Storage(storage) => Snapshot::Evaluated(storage.clone()),
            Held::Inputs(inputs) => Snapshot::Pending(inputs.into()),
        })
    }

    /// The same for who needs no copy. The node is locked meanwhile.
    pub fn look<R>(&self, look: impl FnOnce(Held<'_>) -> R) -> R {
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Evaluated(storage) => look(Held::Storage(storage)),
            State::Pending(inputs) => look(Held::Inputs(inputs)),
        }
    }

    /// Gives the node its value and lets go of its inputs. Where two threads computed it, the first value stays.
    pub fn fulfil(&self, storage: Arc<dyn Storage>) {
        let before = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if let State::Evaluated(_) = &*state {
                return;
            }
            let before = std::mem::replace(&mut *state, State::Evaluated(storage));
            self.evaluated.store(true, Ordering::Release);
            before
        };
        if let State::Pending(inputs) = before {
            release(inputs);
        }
    }

    /// The inputs, taken from a node that nobody else has.
    fn take_inputs(&mut self) -> Inputs {
        match self.state.get_mut().unwrap_or_else(PoisonError::into_inner) {
            State::Pending(inputs) => std::mem::take(inputs),
            State::Evaluated(_) => Inputs::new(),
        }
    }
}

/// Nodes that are to be dropped, while the outermost drop of this thread is under way.
#[derive(Default)]
struct Dropped {
    waiting: Vec<Arc<Node>>,
    under_way: bool,
}

thread_local! {
    static DROPPED: RefCell<Dropped> = const { RefCell::new(Dropped { waiting: Vec::new(), under_way: false }) };
}

/// Drops inputs and all that only they kept alive. Chains are as long as users make them, so a node that is dropped on the
/// way hands its inputs to the outermost call, in place of dropping them inside its own drop.
fn release(inputs: Inputs) {
    /// Places kept for the next time.
    const MOST_KEPT: usize = 1 << 12;
    // Where the thread is ending, the list is gone, and the inputs are dropped here and now.
    let is_inner = DROPPED.try_with(|dropped| {
        let mut dropped = dropped.borrow_mut();
        dropped.waiting.extend(inputs);
        std::mem::replace(&mut dropped.under_way, true)
    });
    if is_inner != Ok(false) {
        return;
    }
    while let Ok(Some(node)) = DROPPED.try_with(|dropped| {
        let mut dropped = dropped.borrow_mut();
        let node = dropped.waiting.pop();
        if node.is_none() {
            dropped.under_way = false;
            dropped.waiting.shrink_to(MOST_KEPT);
        }
        node
    }) {
        drop(node);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let inputs = self.take_inputs();
        if !inputs.is_empty() {
            release(inputs);
        }
    }
}

impl fmt::Debug for Node {
    /// One line, never the inputs: a graph may be a million nodes deep.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{:?} at {}", self.op.name(), self.dtype, self.shape, self.at)
    }
}
