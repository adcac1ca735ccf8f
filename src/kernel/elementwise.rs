//! Element-wise functions over whole arrays.

use crate::array::Array;
use crate::dtype::Element;
use crate::error::Place;
use crate::function::{AnyOperand, FunctionDefinition, function_of, map};

/// Records a function on operands that broadcast together: one operation of the graph.
#[doc(hidden)]
pub fn over_arrays<F: FunctionDefinition<Result = T>, T: Element>(
    name: &'static str,
    operands: &[AnyOperand],
    at: Place,
) -> Array<T> {
    map(name, function_of::<F>(), operands, at)
}
