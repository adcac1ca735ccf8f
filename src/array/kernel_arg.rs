//! Arrays as memory of hand-written kernels.

use std::sync::Arc;

use lazuli_codegen::{DType, Scalar};

use super::Array;
use super::transfer::is_row_major;
use crate::check;
use crate::dtype::Element;
use crate::error::{Error, Place, Result};
use crate::evaluate;
use crate::graph::strided::{self, Strided};
use crate::graph::{Node, Storage, record};
use crate::shape::{Order, Shape};

impl<T: Element> Array<T> {
    /// The value in device memory, dense and in row-major order, with the position of its first element: computed, and copied
    /// where it lies otherwise or where the device has kernels read from other places only. Waits where the value was computed by indices that are not known to be right.
    pub(crate) fn dense(&self) -> Result<(Arc<dyn Storage>, usize)> {
        self.eval()?;
        if self.is_empty() {
            return Ok((self.device.allocate(0)?, 0));
        }
        let flat = record::reshape(&self.node, Shape::from_slice(&[self.len()]), self.node.at());
        let step = self.device.runtime().modules().offset_alignment();
        for node in [&self.node, &flat] {
            // A reshape that moves elements is a kernel; one that does not gives the strides it found.
            evaluate::evaluate(&self.device, std::slice::from_ref(node))?;
            let strided = resolve(node)?;
            check::resolve(&self.device, &*strided.storage)?;
            let first = strided.offset as usize;
            if is_row_major(&strided, node.shape()) && (first * size_of::<T>()).is_multiple_of(step) {
                return Ok((strided.storage, first));
            }
        }
        Ok((self.copied()?, 0))
    }

    /// The value in memory that nobody else holds, dense, in row-major order and from its first byte on, for a kernel to write:
    /// this array's own memory where it alone holds that, else a copy. The array keeps its value until
    /// [`bind_to`](Self::bind_to).
    pub(crate) fn exclusive(&mut self) -> Result<Arc<dyn Storage>> {
        self.eval()?;
        if self.is_empty() {
            return Ok(self.device.allocate(0)?);
        }
        if Arc::get_mut(&mut self.node).is_some()
            && is_dense(&self.node)
            && let Some(storage) = self.node.storage()
            // One is the node's, one is ours; what carries checks shares the memory behind them.
            && Arc::strong_count(&storage) == 2
            && std::ptr::addr_eq(check::memory_of(&*storage), &*storage)
        {
            return Ok(storage);
        }
        check::resolve(&self.device, &*resolve(&self.node)?.storage)?;
        self.copied()
    }

    /// Binds the array to the value that a kernel has written to memory of this array's shape.
    pub(crate) fn bind_to(&mut self, storage: Arc<dyn Storage>, at: Place) {
        let shape = Shape::from_slice(self.shape());
        self.node = Node::leaf(storage, shape, T::DTYPE, Order::RowMajor, at);
    }

    /// A copy of the value, dense and in row-major order.
    fn copied(&self) -> Result<Arc<dyn Storage>> {
        let at = self.node.at();
        let flat = record::reshape(&self.node, Shape::from_slice(&[self.len()]), at);
        // A choice that is always the same is the one operation that gives every element its own bits, and is no view.
        let always = record::scalar(Scalar::from_bits(DType::Bool, 1), at);
        let copy = record::select(&always, &flat, &flat, at);
        evaluate::evaluate(&self.device, std::slice::from_ref(&copy))?;
        copy.storage().ok_or_else(|| Error::Internal(format!("{copy:?} is not evaluated")))
    }
}

fn resolve(node: &Arc<Node>) -> Result<Strided> {
    strided::resolve(node).ok_or_else(|| Error::Internal(format!("{node:?} is not evaluated")))
}

/// True where an evaluated node's memory is in row-major order.
fn is_dense(node: &Node) -> bool {
    match node.order() {
        Order::Any | Order::RowMajor => true,
        Order::Permuted(_) => node.order().strides(node.shape()) == Order::RowMajor.strides(node.shape()),
    }
}
