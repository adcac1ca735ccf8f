//! Launches of the user's cut an evaluation into stages: what they read is computed before them, what is made of their outputs
//! after. Within a stage the graph is fused as if it were alone.
//!
//! A value belongs to the first stage that uses it. Where a later one uses it too it is stored there, as what the launches read
//! is, so that nothing is computed twice; views and constants are no work and go with whoever reads them.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Node, Op, Snapshot};

/// One stage.
#[derive(Default)]
pub struct Stage {
    /// Values to be stored.
    pub values: Vec<Arc<Node>>,
    /// Launches that follow, in any order.
    pub launches: Vec<Arc<Node>>,
}

/// The stages in which a value is used.
#[derive(Clone, Copy)]
struct Uses {
    first: u32,
    last: u32,
}

/// The stages that come before the roots can be computed; none where no launch is pending.
pub fn stages_before(roots: &[Arc<Node>]) -> Vec<Stage> {
    let depth = roots.iter().filter(|root| !root.is_evaluated()).map(|root| root.launch_depth()).max().unwrap_or(0);
    if depth == 0 {
        return Vec::new(); // Nearly always.
    }
    let order = users_first(roots);
    let mut uses: FxHashMap<*const Node, Uses> = FxHashMap::default();
    let mut use_in = |node: &Arc<Node>, stages: Uses| {
        let uses = uses.entry(Arc::as_ptr(node)).or_insert(stages);
        *uses = Uses { first: uses.first.min(stages.first), last: uses.last.max(stages.last) };
        *uses
    };
    for root in roots {
        use_in(root, Uses { first: depth, last: depth });
    }
    let mut stages: Vec<Stage> = (0..depth).map(|_| Stage::default()).collect();
    for (node, inputs) in &order {
        let own = match node.op() {
            // It runs once all of its inputs can be there.
            Op::Launch(_) => {
                let stage = node.launch_depth();
                stages[stage as usize].launches.push(node.clone());
                stages[stage as usize].values.extend(inputs.iter().filter(|input| input.len() > 0).cloned());
                Uses { first: stage, last: stage }
            }
            Op::Output(_) => continue, // Its launch has a stage of its own.
            op => {
                let is_free = op.is_movement() || matches!(op, Op::Scalar(_) | Op::Iota);
                let own = use_in(node, Uses { first: depth, last: 0 });
                if !is_free && own.first < own.last && node.len() > 0 {
                    stages[own.first as usize].values.push(node.clone());
                }
                Uses { first: own.first, last: if is_free { own.last } else { own.first } }
            }
        };
        for input in inputs {
            use_in(input, own);
        }
    }
    stages
}

/// A pending node with its inputs.
type Pending = (Arc<Node>, Vec<Arc<Node>>);

/// Every pending node below the roots, with its inputs, each before what it uses.
fn users_first(roots: &[Arc<Node>]) -> Vec<Pending> {
    enum Visit {
        Enter(Arc<Node>),
        Leave(Arc<Node>, Vec<Arc<Node>>),
    }
    let mut order = Vec::new();
    let mut seen: FxHashSet<*const Node> = FxHashSet::default();
    let mut open: Vec<Visit> = roots.iter().cloned().map(Visit::Enter).collect();
    while let Some(visit) = open.pop() {
        match visit {
            Visit::Enter(node) => {
                if node.is_evaluated() || !seen.insert(Arc::as_ptr(&node)) {
                    continue;
                }
                let Snapshot::Pending(inputs) = node.snapshot() else { continue };
                open.push(Visit::Leave(node, inputs.to_vec()));
                open.extend(inputs.into_iter().map(Visit::Enter));
            }
            Visit::Leave(node, inputs) => order.push((node, inputs)),
        }
    }
    order.reverse();
    order
}
