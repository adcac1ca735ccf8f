//! Lazuli's kernel IR, and the emitter that prints it as OpenCL C or CUDA C.
//!
//! Text comes out of values that go in: nothing here opens a device, reads the environment or looks at a clock.
#![forbid(unsafe_code)]

mod dtype;
mod op;
mod scalar;

mod combine;
pub mod ir;
mod schedule;
mod vars;
mod verify;

pub mod simt;

mod dialect;
mod emit;
mod names;

pub use combine::split_combine;
pub use dialect::Dialect;
pub use dtype::DType;
pub use emit::{EmitOptions, Source, emit, local_memory_bytes};
pub use ir::{
    Access, Affine, Axis, AxisId, BufferId, BufferParam, Coefficient, Combine, Expr, Fold, IndexOp, IndexOperand,
    IndexWidth, Kernel, Loop, Reduce, ScalarId, SizeId, Span, Stmt, Term, Tree, Var, VarType,
};
pub use op::{BinaryOp, Combiner, ReduceOp, UnaryOp};
pub use scalar::Scalar;
pub use schedule::{Cooperation, DeviceFacts, Grid, LaneOrder, Placement, Schedule, tile_bytes};
pub use verify::verify_kernel;
