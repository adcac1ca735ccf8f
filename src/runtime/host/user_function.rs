//! Functions of the user's, ready to be run over vectors.

use std::sync::Arc;

use lazuli_codegen::simt::Function;
use lazuli_codegen::simt::function::Code;

use super::ops::user::VectorFunction;
use super::simt::HostFunction;
use crate::error::{Error, Result};

/// The function, to be run for many elements at once. Errors: `Unsupported` for source text, which the host does not compile.
pub fn vector_function(function: Function) -> Result<Arc<dyn VectorFunction>> {
    if let Code::Source { .. } = function.code {
        let what =
            format!("function {} from source text; write it in Rust, under #[lazuli::elementwise]", function.name());
        return Err(Error::Unsupported { device: "host".into(), what });
    }
    match HostFunction::new(function) {
        Ok(lowered) => Ok(Arc::new(lowered)),
        Err(what) => Err(Error::Unsupported { device: "host".into(), what }),
    }
}
