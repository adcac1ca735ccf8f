//! What `#[lazuli::kernel]` defines.

use lazuli_codegen::simt;

/// A kernel written in Rust, as `#[lazuli::kernel]` defines it: one type for each set of generic arguments.
pub trait KernelDefinition: 'static {
    /// The function's name in Rust.
    const NAME: &'static str;

    /// The kernel in the IR. Called once a device; what it builds depends on nothing but the type.
    fn build() -> simt::ir::Kernel;
}
