//! What most programs need: `use lazuli::prelude::*;`.

pub use crate::{Array, IntoShape, Norm, Operand};
pub use crate::{Bits, DType, Element, Float, Integer, Number, Signed, bf16, f16};
pub use crate::{Config, Device, Error};
