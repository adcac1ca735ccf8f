//! Values on their way to the host, while the program goes on.

use ndarray::ArrayD;

use super::Array;
use super::transfer::{self, gather, is_row_major, owned, reach};
use crate::device::Device;
use crate::dtype::Element;
use crate::error::Result;
use crate::graph::strided::Strided;
use crate::runtime::Download;
use crate::shape::Shape;

/// A value on its way to the host, from [`Array::get_async`].
///
/// It is the value at that call, whatever is recorded or computed afterwards. Dropped, it is forgotten.
#[must_use = "nothing arrives before `wait`"]
pub struct Fetch<T: Element> {
    shape: Shape,
    /// None where there are no elements.
    parts: Option<Parts>,
    element: std::marker::PhantomData<fn() -> T>,
}

/// Elements from the lowest position to the highest that the value has in storage.
struct Parts {
    device: Device,
    download: Box<dyn Download>,
    elements: usize,
    strided: Strided,
}

impl<T: Element> Array<T> {
    /// Computes the value and begins to copy it to the host, but waits for neither: [`Fetch::wait`] does. What is recorded and
    /// launched in between runs behind it on the device.
    ///
    /// On CUDA the bytes arrive in pinned memory while the program goes on. Other drivers copy by themselves where they can;
    /// on the host, and where there is no pinned memory, the copy is made here.
    ///
    /// Errors: as [`get`](Array::get); faults of the device may come out of `wait`.
    ///
    /// ```
    /// use lazuli::prelude::*;
    ///
    /// let x = Device::host()?.from_slice(&[1, 2, 3])?;
    /// let doubled = (&x * 2).get_async()?;
    /// let most = x.max().item()?; // meanwhile
    /// assert_eq!(doubled.wait()?, ndarray::arr1(&[2, 4, 6]).into_dyn());
    /// assert_eq!(most, 3);
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    pub fn get_async(&self) -> Result<Fetch<T>> {
        self.eval()?;
        let shape = Shape::from_slice(self.shape());
        let element = std::marker::PhantomData;
        if self.is_empty() {
            return Ok(Fetch { shape, parts: None, element });
        }
        let strided = self.strided()?;
        let (lowest, highest) = reach(&strided, &shape);
        let elements = (highest - lowest + 1) as usize;
        let (offset, bytes) = (lowest as usize * size_of::<T>(), elements * size_of::<T>());
        let download = self.device().begin_download(&*strided.storage, offset, bytes)?;
        let device = self.device().clone();
        Ok(Fetch { shape, parts: Some(Parts { device, download, elements, strided }), element })
    }
}

impl<T: Element> Fetch<T> {
    /// True where [`wait`](Self::wait) would not wait.
    ///
    /// Errors: `Driver`, where a launch or the copy failed on the device.
    pub fn is_ready(&self) -> Result<bool> {
        self.parts.as_ref().map_or(Ok(true), |parts| parts.download.is_done())
    }

    /// The value, in row-major order, once it is there.
    ///
    /// Errors: `IndexOutOfRange` where it was gathered by an index that is; `Driver`, where a launch or the copy failed on the
    /// device; `HostData` where there is no host array of the shape.
    pub fn wait(self) -> Result<ArrayD<T>> {
        let Some(Parts { device, download, elements, strided }) = self.parts else {
            return owned(&self.shape, Vec::new());
        };
        crate::check::resolve(&device, &*strided.storage)?;
        let mut copied = vec![T::zero(); elements];
        transfer::fill(&mut copied, |target| download.finish(target))?;
        match is_row_major(&strided, &self.shape) {
            true => owned(&self.shape, copied),
            false => gather(&copied, &strided.strides, &self.shape),
        }
    }

    /// Extents of the value.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }
}

impl<T: Element> std::fmt::Debug for Fetch<T> {
    /// Element type and shape; never the elements.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fetch<{}>{:?}", T::DTYPE, self.shape)
    }
}
