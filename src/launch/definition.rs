//! What `#[lazuli::kernel]` defines.

use lazuli_codegen::simt;

use crate::error::Result;

/// A kernel written in Rust, as `#[lazuli::kernel]` defines it: one type for each set of generic arguments.
pub trait KernelDefinition: 'static {
    /// The function's name in Rust.
    const NAME: &'static str;

    /// The kernel in the IR. Called once a device; what it builds depends on nothing but the type.
    ///
    /// Errors: `Kernel` for what the macro cannot see, such as functions that call each other in a circle.
    #[doc(hidden)]
    fn build() -> Result<simt::ir::Kernel>;
}
