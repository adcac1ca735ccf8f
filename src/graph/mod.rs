//! The expression graph: nodes, the closed set of operations, and how they are recorded.
//!
//! Nothing here launches, allocates on a device or knows one; a node's value is an opaque [`Storage`].

pub mod canonical;
mod node;
pub mod op;
pub mod record;
pub mod stages;
pub mod strided;

pub use node::{Inputs, Node, Snapshot, Storage};
pub use op::Op;
