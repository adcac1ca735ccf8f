//! Fusing: where one kernel ends and the next begins.
//!
//! `build_flow` chooses each reduction's tree and splits the long ones; `partition` cuts the flow into groups. Nothing here
//! knows a runtime.

mod dot;
pub mod flow;
mod maps;
mod order;
mod partition;
mod reason;
mod tree;

pub use dot::to_dot;
pub use flow::{Split, build_flow};
pub use partition::{Group, Limits, Partition, Rows, partition};
pub use reason::Reason;
