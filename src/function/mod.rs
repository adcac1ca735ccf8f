//! Functions of the user's over whole arrays: mapped over elements, folded and scanned by.
//!
//! They come from Rust (`#[lazuli::elementwise]`, `#[lazuli::device]`) or, where they are known at run time only, from source
//! text. Either way each use is one operation of the graph, and fuses as the built-in ones do.

mod definition;

mod operand;

mod map;

mod reduce;

mod scan;

mod source;

pub(crate) use definition::function_of;
pub use definition::{CombineFunction, FunctionDefinition};
pub use map::map;
pub use operand::AnyOperand;
pub(crate) use scan::{ScanVariant, scan_kernel};
pub use source::{ElementwiseKernel, ReductionKernel, ScanKernel};
