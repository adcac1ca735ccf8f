//! What a launch writes from nothing.

use std::sync::Arc;

use super::arg::{Arg, ArgKind, IntoArg, Rebind, SliceMutArg, SliceOf, Target};
use crate::array::{Array, IntoShape};
use crate::buffer::MemFlags;
use crate::device::Device;
use crate::dtype::Element;
use crate::error::{Error, Place, Result};
use crate::graph::{Node, Storage};
use crate::shape::{Order, Shape, element_count};

/// An array that a launch writes and that holds nothing before: `&mut Output` is what a kernel takes for `&mut [T]`. Elements
/// that the kernel leaves out are whatever the memory held.
///
/// ```
/// use lazuli::prelude::*;
/// use lazuli::{Output, kernel::*};
///
/// #[lazuli::kernel]
/// fn squares(x: &[f32], y: &mut [f32]) {
///     let i = grid1();
///     if i < y.len() {
///         y[i] = x[i] * x[i];
///     }
/// }
///
/// let device = Device::host()?;
/// let x = device.from_slice(&[1.0f32, 2.0, 3.0])?;
/// let mut y = Output::new(&device, [3]);
/// squares(&(&x + 1.0), &mut y).record_forall(3)?; // recorded, not run
/// let sum = (y.array()? * 2.0).sum();
/// assert_eq!(sum.item()?, 58.0);
/// # Ok::<(), lazuli::Error>(())
/// ```
pub struct Output<T: Element> {
    device: Device,
    shape: Shape,
    array: Option<Array<T>>,
}

impl<T: Element> Output<T> {
    /// An array of this shape on a device, to be written.
    pub fn new(device: &Device, shape: impl IntoShape) -> Self {
        Self { device: device.clone(), shape: shape.into_shape(), array: None }
    }

    /// What the last launch has written, or will have.
    ///
    /// Errors: `InvalidUse` where no launch was given it.
    pub fn array(&self) -> Result<Array<T>> {
        self.array.clone().ok_or_else(|| Error::InvalidUse {
            op: "Output::array",
            what: format!("no launch was given this output of shape {:?}", self.shape),
        })
    }

    /// Memory for it.
    fn allocate(&self) -> Result<Arc<dyn Storage>> {
        let len = element_count(&self.shape).and_then(|len| len.checked_mul(size_of::<T>()));
        let bytes = len.ok_or_else(|| Error::OutOfMemory {
            device: self.device.name().to_string(),
            bytes: u64::MAX,
            live_bytes: self.device.counters().live_bytes,
            message: format!("shape {:?} has more elements than can be addressed", self.shape),
        })?;
        self.device.allocate_for_kernel(bytes)
    }
}

impl<'a, T: Element> SliceMutArg<'a, T> for &'a mut Output<T> {
    fn into_arg(self) -> Arg<'a> {
        Arg(ArgKind::Array(self))
    }
}

impl<'a, T: Element> IntoArg<'a> for &'a mut Output<T> {
    fn into_arg(self) -> Arg<'a> {
        SliceMutArg::into_arg(self)
    }
}

impl<T: Element> Rebind for Output<T> {
    fn device(&self) -> &Device {
        &self.device
    }

    fn prepare(&mut self) -> Result<SliceOf> {
        Ok(SliceOf {
            storage: self.allocate()?,
            device: self.device.clone(),
            dtype: T::DTYPE,
            start: 0,
            len: self.shape.iter().product(),
            is_mut: true,
            flags: MemFlags::READ_WRITE,
        })
    }

    fn rebind(&mut self, written: &SliceOf, at: Place) {
        let node = Node::leaf(written.storage.clone(), self.shape.clone(), T::DTYPE, Order::RowMajor, at);
        self.bind_to_node(node);
    }

    fn target(&self) -> Target {
        Target { start: None, shape: self.shape.clone(), dtype: T::DTYPE }
    }

    fn bind_to_node(&mut self, node: Arc<Node>) {
        self.array = Some(Array::from_node(node, &self.device));
    }
}
