//! Operands whose element types are told apart at run time.

use std::borrow::Cow;
use std::sync::Arc;

use crate::array::{Array, Operand};
use crate::device::Device;
use crate::dtype::Element;
use crate::error::Place;
use crate::graph::Node;

/// An array or one element, of any type: what a function whose parameters are known at run time only is called with.
/// [`operands!`](crate::operands) makes a list of them.
pub struct AnyOperand {
    pub(super) node: Arc<Node>,
    pub(super) device: Option<Device>,
}

impl AnyOperand {
    /// The operand of a function written in Rust.
    #[doc(hidden)]
    pub fn new<T: Element>(operand: impl Operand<T>, at: Place) -> Self {
        let device = operand.device().cloned();
        let node = match operand.into_node(at) {
            Cow::Borrowed(node) => node.clone(),
            Cow::Owned(node) => node,
        };
        Self { node, device }
    }
}

impl AnyOperand {
    /// The operand as the array it is. Its type and its device have been looked at.
    pub(super) fn array<T: Element>(&self) -> Array<T> {
        match &self.device {
            Some(device) => Array::from_node(self.node.clone(), device),
            None => Array::from_node(self.node.clone(), &Device::nowhere()),
        }
    }
}

impl<T: Element> From<&Array<T>> for AnyOperand {
    #[track_caller]
    fn from(array: &Array<T>) -> Self {
        Self::new(array, std::panic::Location::caller())
    }
}

impl<T: Element> From<T> for AnyOperand {
    #[track_caller]
    fn from(element: T) -> Self {
        Self::new(element, std::panic::Location::caller())
    }
}

/// Operands for a function whose parameters are known at run time only: arrays, as `&array`, and single elements, of any types.
///
/// ```
/// use lazuli::prelude::*;
///
/// let x = Device::host()?.from_slice(&[1.0f32, 2.0])?;
/// let operands = lazuli::operands![&x, 2.5f32, true];
/// assert_eq!(operands.len(), 3);
/// # Ok::<(), lazuli::Error>(())
/// ```
#[macro_export]
macro_rules! operands {
    ($($operand:expr),* $(,)?) => {
        [$($crate::AnyOperand::from($operand)),*]
    };
}
