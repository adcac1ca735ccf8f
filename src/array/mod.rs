//! `Array<T>`: the public face. Every operation records a node and returns at once; nothing runs here but `get`, `eval` and
//! their kin, which hand the graph to `evaluate`.

mod operand;

mod shape_arg;

mod ops;

mod compare;

mod math;

mod slice;

mod take;

mod views;

mod reduce;

mod arg;

mod statistics;

mod create;

pub(crate) mod transfer;

mod fetch;

mod together;

mod kernel_arg;

mod display;

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use lazuli_codegen::{BinaryOp, DType, UnaryOp};

pub use fetch::Fetch;
pub use operand::Operand;
pub use shape_arg::IntoShape;
pub use statistics::Norm;
pub use together::{Arrays, eval, get};

use crate::device::Device;
use crate::dtype::Element;
use crate::error::{Error, Place, Result};
use crate::evaluate;
use crate::explain::Explanation;
use crate::graph::{Node, record};

/// An array of rank known at run time, whose elements are values of `T` on one device, or will be.
///
/// A value, cheap to clone and `Send + Sync`: operators and methods record what is to be computed and return a new array.
/// Kernels run when a value is asked for, by [`get`](Array::get), [`item`](Array::item) or [`eval`](Array::eval). In-place
/// forms (`a += &b`, [`slice_assign`](Array::slice_assign)) bind `a` to a new value; whoever recorded the old one keeps it.
///
/// Recording never panics and never returns a `Result`. A mistake, such as shapes that do not broadcast together, is kept in
/// the array that has it and in all that is made from it, and comes out as the error of `get`, with the line that recorded
/// it; [`check`](Array::check) asks early.
///
/// ```
/// use lazuli::prelude::*;
///
/// let device = Device::host()?;
/// let a = device.from_slice(&[1.0f32, 2.0, 3.0])?;
/// let b = (&a * 2.0 + 1.0).sum(); // recorded, not run
/// assert_eq!(b.item()?, 15.0);
/// # Ok::<(), lazuli::Error>(())
/// ```
#[must_use = "an array only records what is to be computed"]
pub struct Array<T: Element> {
    node: Arc<Node>,
    device: Device,
    element: PhantomData<fn() -> T>,
}

impl<T: Element> Clone for Array<T> {
    /// Another handle of the same value.
    fn clone(&self) -> Self {
        Self { node: self.node.clone(), device: self.device.clone(), element: PhantomData }
    }
}

impl<T: Element> Array<T> {
    /// Extents, outermost axis first. An array that carries an error has the shape `[]`.
    pub fn shape(&self) -> &[usize] {
        self.node.shape()
    }

    /// Number of axes.
    pub fn ndim(&self) -> usize {
        self.node.shape().len()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.node.len()
    }

    /// True where there are no elements.
    pub fn is_empty(&self) -> bool {
        self.node.shape().contains(&0)
    }

    /// The element type as a value.
    pub fn dtype(&self) -> DType {
        T::DTYPE
    }

    /// The device that the value is on, or will be computed on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The error that the expression carries, if a mistake was recorded in it. Launches nothing.
    pub fn check(&self) -> Result<()> {
        record::failure(&self.node).map_or(Ok(()), |error| Err(error.clone()))
    }

    /// What an evaluation of this array would do: the kernels, why each begins, and their source. Launches nothing; kernels
    /// that were not needed before are compiled, and counted as such.
    ///
    /// Errors: the error that the expression carries; `Compile`, `Unsupported` and `LimitExceeded` as from an evaluation.
    pub fn explain(&self) -> Result<Explanation> {
        evaluate::explain(&self.device, std::slice::from_ref(&self.node))
    }

    /// The expression in Graphviz's language, with one cluster for each kernel. Launches and
    /// compiles nothing.
    ///
    /// Errors: the error that the expression carries.
    pub fn to_dot(&self) -> Result<String> {
        evaluate::to_dot(&self.device, std::slice::from_ref(&self.node))
    }

    /// The array over a node.
    pub(crate) fn from_node(node: Arc<Node>, device: &Device) -> Self {
        Self::from_parts(node, device.clone())
    }

    /// The array over a node. All recording ends here.
    fn from_parts(node: Arc<Node>, device: Device) -> Self {
        tracing::trace!(
            target: "lazuli::record",
            op = node.op().name(),
            dtype = %node.dtype(),
            shape = ?node.shape(),
            at = %node.at(),
        );
        debug_assert!(node.dtype() == T::DTYPE || record::failure(&node).is_some(), "{node:?} is not {}", T::DTYPE);
        Self { node, device, element: PhantomData }
    }

    pub(crate) fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// An array on the device of this one.
    fn derive<U: Element>(&self, node: Arc<Node>) -> Array<U> {
        Array::from_node(node, &self.device)
    }

    /// An array that carries an error; or the one this array carries already, which was first.
    pub(crate) fn fail<U: Element>(&self, error: Error, at: Place) -> Array<U> {
        self.derive(if self.is_failed() { self.node.clone() } else { record::failed(error, U::DTYPE, at) })
    }

    fn is_failed(&self) -> bool {
        record::failure(&self.node).is_some()
    }

    fn unary<U: Element>(&self, op: UnaryOp, at: Place) -> Array<U> {
        self.derive(record::unary(op, &self.node, at))
    }

    fn binary<U: Element>(&self, op: BinaryOp, rhs: impl Operand<T>, at: Place) -> Array<U> {
        if let Some(error) = self.device_mismatch(op.name(), &rhs, at) {
            return self.fail(error, at);
        }
        self.derive(record::binary_of(op, [Cow::Borrowed(&self.node), rhs.into_node(at)], at))
    }

    /// [`binary`](Self::binary) with a left operand that is given away, and so costs no counting of references.
    fn into_binary<U: Element>(self, op: BinaryOp, rhs: impl Operand<T>, at: Place) -> Array<U> {
        if let Some(error) = self.device_mismatch(op.name(), &rhs, at) {
            return self.fail(error, at);
        }
        let node = record::binary_of(op, [Cow::Owned(self.node), rhs.into_node(at)], at);
        Array::from_parts(node, self.device)
    }

    /// The error of an operation on this array and one of another device. `None` also where either is failed already.
    fn device_mismatch<U: Element>(&self, op: &'static str, rhs: &impl Operand<U>, at: Place) -> Option<Error> {
        let device = rhs.device()?;
        if *device == self.device {
            return None;
        }
        let other = rhs.node(at);
        if self.is_failed() || record::failure(&other).is_some() {
            return None;
        }
        Some(Error::DeviceMismatch {
            op,
            lhs: self.shape().to_vec(),
            rhs: other.shape().to_vec(),
            lhs_device: self.device.name().to_string(),
            rhs_device: device.name().to_string(),
            at,
        })
    }
}
