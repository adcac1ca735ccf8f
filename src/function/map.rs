//! A function over the elements of arrays.

use std::borrow::Cow;

use lazuli_codegen::simt::Function;

use super::operand::AnyOperand;
use crate::array::Array;
use crate::device::Device;
use crate::dtype::Element;
use crate::error::{Error, Place, Result};
use crate::graph::record;

/// Records a function on operands that broadcast together. An operand that does not fit, or a function that could not be
/// built, is an error that the array carries.
#[doc(hidden)]
pub fn map<T: Element>(name: &'static str, function: Result<Function>, operands: &[AnyOperand], at: Place) -> Array<T> {
    let device = operands.iter().find_map(|operand| operand.device.as_ref());
    let failed = |error: Error, device: &Device| Array::from_node(record::failed(error, T::DTYPE, at), device);
    let Some(device) = device else {
        let what = "no operand is an array, so that there is no device to compute on".to_string();
        let error = Error::InvalidArgument { op: name, what, shape: Vec::new(), at };
        // An array needs a device, though this one will never have a value.
        return failed(error, &Device::nowhere());
    };
    if let Some(error) = operands.iter().find_map(|operand| record::failure(&operand.node)) {
        return failed(error.clone(), device);
    }
    let function = match function {
        Ok(function) => function,
        Err(error) => return failed(error, device),
    };
    let first = operands.iter().find(|operand| operand.device.is_some());
    let foreign = operands.iter().find(|operand| operand.device.as_ref().is_some_and(|other| other != device));
    if let (Some(first), Some(foreign)) = (first, foreign) {
        let error = Error::DeviceMismatch {
            op: name,
            lhs: first.node.shape().to_vec(),
            rhs: foreign.node.shape().to_vec(),
            lhs_device: device.name().to_string(),
            rhs_device: foreign.device.as_ref().map_or_else(String::new, |device| device.name().to_string()),
            at,
        };
        return failed(error, device);
    }
    if function.result != Some(T::DTYPE) {
        let what = format!("gives {:?} and was asked for {}", function.result, T::DTYPE);
        return failed(Error::InvalidArgument { op: name, what, shape: Vec::new(), at }, device);
    }
    let nodes = operands.iter().map(|operand| Cow::Borrowed(&operand.node)).collect();
    Array::from_node(record::call(function, nodes, at), device)
}
