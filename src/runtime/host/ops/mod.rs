//! One table from an operation and a type to the vectorised loop that runs it.
//!
//! Registers hold bool as a byte 0 or 1, f16 and bf16 as the f32 of the same value, and the other types as they are.

pub mod apply;
pub mod binary;
pub mod cast;
pub mod fold;
pub mod index;
pub mod rounding;
pub mod ternary;
pub mod unary;
pub mod user;

use lazuli_codegen::DType;

/// Bytes that one element takes in a register.
pub const fn register_bytes(dtype: DType) -> usize {
    match dtype {
        DType::F16 | DType::BF16 => 4,
        other => other.size_bytes(),
    }
}
