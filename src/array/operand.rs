//! What stands to the right of an operator: an array, a reference to one, or one element.

use std::borrow::Cow;
use std::sync::Arc;

use super::Array;
use crate::device::Device;
use crate::dtype::Element;
use crate::error::Place;
use crate::graph::{Node, record};

/// An operand of element type `T`: `Array<T>`, `&Array<T>` or a single `T`, which broadcasts to every shape.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operand for an array of `{T}`",
    note = "scalars must have the array's element type: write `2.0`, not `2`, for an array of floats",
    note = "an array of another element type is converted with `.cast::<{T}>()`"
)]
pub trait Operand<T: Element>: sealed::Sealed {
    /// The node it stands for.
    #[doc(hidden)]
    fn node(&self, at: Place) -> NodeRef<'_>;

    /// The same for who records it at once: what is given away moves into the graph.
    #[doc(hidden)]
    fn into_node<'a>(self, at: Place) -> NodeRef<'a>
    where
        Self: 'a;

    /// The device it is bound to; a single element is bound to none.
    #[doc(hidden)]
    fn device(&self) -> Option<&Device>;
}

/// A node that is lent, or one that may be kept.
pub type NodeRef<'a> = Cow<'a, Arc<Node>>;

impl<T: Element> Operand<T> for Array<T> {
    fn node(&self, _: Place) -> NodeRef<'_> {
        Cow::Borrowed(&self.node)
    }

    fn into_node<'a>(self, _: Place) -> NodeRef<'a>
    where
        Self: 'a,
    {
        Cow::Owned(self.node)
    }

    fn device(&self) -> Option<&Device> {
        Some(&self.device)
    }
}

impl<T: Element> Operand<T> for &Array<T> {
    fn node(&self, _: Place) -> NodeRef<'_> {
        Cow::Borrowed(&self.node)
    }

    fn into_node<'a>(self, _: Place) -> NodeRef<'a>
    where
        Self: 'a,
    {
        Cow::Borrowed(&self.node)
    }

    fn device(&self) -> Option<&Device> {
        Some(&self.device)
    }
}

impl<T: Element> Operand<T> for T {
    fn node(&self, at: Place) -> NodeRef<'_> {
        Cow::Owned(record::scalar(self.to_scalar(), at))
    }

    fn into_node<'a>(self, at: Place) -> NodeRef<'a>
    where
        Self: 'a,
    {
        Cow::Owned(record::scalar(self.to_scalar(), at))
    }

    fn device(&self) -> Option<&Device> {
        None
    }
}

mod sealed {
    use super::{Array, Element};

    pub trait Sealed {}

    impl<T: Element> Sealed for Array<T> {}
    impl<T: Element> Sealed for &Array<T> {}
    impl<T: Element> Sealed for T {}
}
