//! Functions of the user's in kernels of the engine.

use super::arithmetic::Arithmetic;
use super::text::Text;
use crate::Scalar;
use crate::simt::Function;

impl Arithmetic {
    /// The value of a function; its definition comes before the kernel.
    pub fn user_call(&mut self, function: Function, arguments: &[&Text]) -> Text {
        Text::call(function.name(), arguments)
    }

    /// A constant.
    pub fn literal(&self, value: Scalar) -> String {
        format!("{:?}", value.bits())
    }
}
