//! Between host and device: arrays in, values out.

use std::panic::Location;
use std::sync::Arc;

use ndarray::{ArrayD, ArrayRef, ArrayView, Dimension, IxDyn, ShapeBuilder};
use smallvec::SmallVec;

use super::{Array, IntoShape, together};
use crate::device::Device;
use crate::dtype::{DType, Element};
use crate::error::{Error, Place, Result};
use crate::graph::strided::{self, Strided};
use crate::graph::{Node, Storage, record};
use crate::runtime::bytes;
use crate::shape::{Order, Shape, element_count};

impl Device {
    /// A copy of an ndarray array or view on the device: any layout, any dimension. The elements are those at the call.
    ///
    /// A dense array keeps its memory order: one in Fortran order is copied as it lies, and so computed with.
    ///
    /// Errors: `OutOfMemory`, `Driver`.
    ///
    /// ```
    /// use lazuli::prelude::*;
    ///
    /// let device = Device::host()?;
    /// let x = device.to_device(&ndarray::arr2(&[[1.0f32, 2.0], [3.0, 4.0]]))?;
    /// assert_eq!((x * 2.0).get()?, ndarray::arr2(&[[2.0, 4.0], [6.0, 8.0]]).into_dyn());
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[doc(alias = "asarray")]
    #[track_caller]
    pub fn to_device<T: Element, D: Dimension>(&self, array: &ArrayRef<T, D>) -> Result<Array<T>> {
        let at = Location::caller();
        let shape = Shape::from_slice(array.shape());
        match (array.as_slice_memory_order(), memory_order(array)) {
            (Some(elements), Some(order)) => self.leaf(elements, shape, order, at),
            _ => self.leaf(&array.iter().copied().collect::<Vec<T>>(), shape, Order::RowMajor, at),
        }
    }

    /// A copy of a slice on the device, along one axis.
    ///
    /// Errors: `OutOfMemory`, `Driver`.
    #[doc(alias = "array")]
    #[track_caller]
    pub fn from_slice<T: Element>(&self, elements: &[T]) -> Result<Array<T>> {
        self.leaf(elements, Shape::from_slice(&[elements.len()]), Order::RowMajor, Location::caller())
    }

    /// A copy of a slice on the device, in row-major order under a shape.
    ///
    /// Errors: `HostData` where the shape has not as many elements, `OutOfMemory`, `Driver`.
    #[track_caller]
    pub fn from_shape<T: Element>(&self, shape: impl IntoShape, elements: &[T]) -> Result<Array<T>> {
        let (shape, at) = (shape.into_shape(), Location::caller());
        check_count("from_shape", &shape, elements.len())?;
        self.leaf(elements, shape, Order::RowMajor, at)
    }

    fn leaf<T: Element>(&self, elements: &[T], shape: Shape, order: Order, at: Place) -> Result<Array<T>> {
        let storage = self.upload(T::as_bytes(elements))?;
        Ok(Array::from_node(Node::leaf(storage, shape, T::DTYPE, order, at), self))
    }
}

impl<T: Element> Array<T> {
    /// Computes the value and copies it to the host, in row-major order. A view of data on the device launches nothing. The
    /// value stays on the device too, as after [`eval`](Array::eval): a second `get` computes nothing.
    ///
    /// Errors: the mistake that the expression carries, with its line; `IndexOutOfRange` where the device met a bad index;
    /// whatever compiling and launching may give.
    ///
    /// ```
    /// use lazuli::prelude::*;
    ///
    /// let x = Device::host()?.from_slice(&[1, 2, 3])?;
    /// assert_eq!((x + 1).get()?, ndarray::arr1(&[2, 3, 4]).into_dyn());
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[doc(alias = "to_host")]
    pub fn get(&self) -> Result<ArrayD<T>> {
        self.eval()?;
        self.fetch()
    }

    /// Computes the value and copies it into an array of the host, of any layout.
    ///
    /// Errors: as [`get`](Array::get); `HostData` where the shapes differ.
    pub fn get_into<D: Dimension>(&self, target: &mut ArrayRef<T, D>) -> Result<()> {
        self.check()?;
        if target.shape() != self.shape() {
            let what = format!("an array of shape {:?} into one of shape {:?}", self.shape(), target.shape());
            return Err(Error::HostData { op: "get_into", what });
        }
        if self.is_empty() {
            return Ok(());
        }
        self.eval()?;
        let strided = self.strided()?;
        match target.as_slice_mut() {
            Some(elements) if is_row_major(&strided, self.shape()) => self.download(&strided, strided.offset, elements),
            _ => {
                target.into_iter().zip(self.fetch()?).for_each(|(target, value)| *target = value);
                Ok(())
            }
        }
    }

    /// Computes the value of an array of one element, of any rank.
    ///
    /// Errors: as [`get`](Array::get); `InvalidArgument` where there are more elements, or none.
    #[track_caller]
    pub fn item(&self) -> Result<T> {
        self.check()?;
        if self.len() != 1 {
            let (shape, what) = (self.shape().to_vec(), format!("{} elements, not one", self.len()));
            return Err(Error::InvalidArgument { op: "item", what, shape, at: Location::caller() });
        }
        self.eval()?;
        let strided = self.strided()?;
        let mut value = [T::zero()];
        self.download(&strided, strided.offset, &mut value)?;
        Ok(value[0])
    }

    /// Computes the value and leaves it on the device, so that all that is recorded from this array starts there. A view of
    /// data on the device stays a view.
    ///
    /// Errors: as [`get`](Array::get), but for `IndexOutOfRange`: the device is not waited for.
    #[doc(alias = "compute")]
    pub fn eval(&self) -> Result<()> {
        together::run(&self.device, std::slice::from_ref(&self.node))
    }

    /// The value on another device: computed where it is, copied through the host. On its own device, the array itself.
    ///
    /// Errors: as [`get`](Array::get), and those of [`Device::to_device`].
    #[track_caller]
    pub fn to(&self, device: &Device) -> Result<Array<T>> {
        self.check()?;
        if *device == self.device {
            return Ok(self.clone());
        }
        let at = Location::caller();
        let host = self.get()?;
        device.leaf(host.as_slice().unwrap_or_default(), self.shape().into(), Order::RowMajor, at)
    }

    /// Copies an evaluated value to the host.
    pub(super) fn fetch(&self) -> Result<ArrayD<T>> {
        self.check()?;
        let shape = self.shape();
        if self.is_empty() {
            return owned(shape, Vec::new());
        }
        let strided = self.strided()?;
        if is_row_major(&strided, shape) {
            let mut elements = vec![T::zero(); self.len()];
            self.download(&strided, strided.offset, &mut elements)?;
            return owned(shape, elements);
        }
        let (lowest, highest) = reach(&strided, shape);
        let mut elements = vec![T::zero(); (highest - lowest + 1) as usize];
        self.download(&strided, lowest, &mut elements)?;
        gather(&elements, &strided.strides, shape)
    }

    pub(super) fn strided(&self) -> Result<Strided> {
        strided::resolve(&self.node).ok_or_else(|| Error::Internal(format!("{:?} is not evaluated", self.node)))
    }

    /// Computes the value, and gives memory in which its elements lie in row-major order from the start on: its own where they do,
    /// else a copy.
    #[track_caller]
    pub(crate) fn dense_storage(&self) -> Result<Arc<dyn Storage>> {
        self.eval()?;
        let strided = self.strided()?;
        if strided.offset == 0 && is_row_major(&strided, self.shape()) {
            return Ok(strided.storage);
        }
        let copy: Array<T> = self.derive(record::dense(&self.node, Location::caller()));
        copy.eval()?;
        Ok(copy.strided()?.storage)
    }

    /// Copies elements from position `first` of the storage on.
    fn download(&self, strided: &Strided, first: i64, target: &mut [T]) -> Result<()> {
        download(&self.device, &*strided.storage, first as usize, target)
    }
}

/// Copies elements of device memory to the host, from element number `first` on.
pub(crate) fn download<T: Element>(
    device: &Device,
    storage: &dyn crate::graph::Storage,
    first: usize,
    target: &mut [T],
) -> Result<()> {
    let offset = first * size_of::<T>();
    fill(target, |bytes| device.download(storage, offset, bytes))
}

/// Elements from bytes of a device.
pub(crate) fn fill<T: Element>(target: &mut [T], copy: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
    if T::DTYPE != DType::Bool {
        return copy(bytes::of_slice_mut(target));
    }
    // Only 0 and 1 are values of bool in Rust, whatever lies on the device.
    let mut raw = vec![0u8; target.len()];
    copy(&mut raw)?;
    raw.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    bytes::of_slice_mut(target).copy_from_slice(&raw);
    Ok(())
}

/// Refuses a shape that has not `len` elements.
pub(crate) fn check_count(op: &'static str, shape: &[usize], len: usize) -> Result<()> {
    if element_count(shape) == Some(len) {
        return Ok(());
    }
    Err(Error::HostData { op, what: format!("{len} elements do not fit shape {shape:?}") })
}

/// The order of the axes in memory, where no axis runs backwards. Axes of extent 1 lie anywhere; each is put before the axis
/// that follows it, so that they alone never make a permutation.
fn memory_order<T, D: Dimension>(array: &ArrayRef<T, D>) -> Option<Order> {
    let long = |axis: &usize| array.shape()[*axis] > 1;
    let mut axes: SmallVec<[u32; 4]> = (0..array.ndim()).filter(long).map(|axis| axis as u32).collect();
    if array.is_empty() || axes.iter().any(|axis| array.strides()[*axis as usize] < 0) {
        return None;
    }
    axes.sort_by_key(|axis| std::cmp::Reverse(array.strides()[*axis as usize]));
    for unit in (0..array.ndim()).filter(|axis| !long(axis)).map(|axis| axis as u32) {
        let place = axes.iter().position(|axis| *axis > unit).unwrap_or(axes.len());
        axes.insert(place, unit);
    }
    Some(Order::from_axes(&axes))
}

pub(super) fn is_row_major(strided: &Strided, shape: &[usize]) -> bool {
    let strides = Order::RowMajor.strides(shape);
    shape.iter().zip(strides.iter().zip(&strided.strides)).all(|(extent, (dense, own))| *extent == 1 || dense == own)
}

/// The first and the last position in storage that a value without empty axes has.
pub(super) fn reach(strided: &Strided, shape: &[usize]) -> (i64, i64) {
    let spans = shape.iter().zip(&strided.strides).map(|(&extent, stride)| (extent as i64 - 1) * stride);
    spans.fold((strided.offset, strided.offset), |(low, high), span| (low + span.min(0), high + span.max(0)))
}

/// The elements at the given strides, of which the lowest position is the first of `elements`, in row-major order.
pub(super) fn gather<T: Element>(elements: &[T], strides: &[i64], shape: &[usize]) -> Result<ArrayD<T>> {
    // ndarray takes strides that are not negative, and stretched axes apart.
    let extents: Vec<usize> = shape.iter().zip(strides).map(|(&n, &stride)| if stride == 0 { 1 } else { n }).collect();
    let steps: Vec<usize> = strides.iter().map(|stride| stride.unsigned_abs() as usize).collect();
    let unlikely = |what: String| Error::Internal(format!("gathering {shape:?} at strides {strides:?}: {what}"));
    let layout = IxDyn(&extents).strides(IxDyn(&steps));
    let mut view = ArrayView::from_shape(layout, elements).map_err(|error| unlikely(error.to_string()))?;
    for (axis, _) in strides.iter().enumerate().filter(|(_, stride)| **stride < 0) {
        view.invert_axis(ndarray::Axis(axis));
    }
    let view = view.broadcast(shape).ok_or_else(|| unlikely("does not broadcast".to_string()))?;
    Ok(view.as_standard_layout().into_owned())
}

pub(super) fn owned<T>(shape: &[usize], elements: Vec<T>) -> Result<ArrayD<T>> {
    ArrayD::from_shape_vec(IxDyn(shape), elements)
        .map_err(|error| Error::HostData { op: "get", what: format!("no host array of shape {shape:?}: {error}") })
}
