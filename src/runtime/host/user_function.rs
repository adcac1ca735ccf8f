//! Functions of the user's, ready to be run over vectors.

use std::sync::Arc;

use lazuli_codegen::simt::Function;

use super::ops::user::VectorFunction;
use crate::error::{Error, Result};

/// The function, to be run for many elements at once. Errors: `Unsupported` for source text, which the host does not compile.
pub fn vector_function(function: Function) -> Result<Arc<dyn VectorFunction>> {
    Err(Error::Unsupported { device: "host".into(), what: format!("function {}", function.name()) })
}
