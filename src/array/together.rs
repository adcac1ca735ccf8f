//! Several arrays evaluated at once, so that they share kernels and passes over their inputs.

use std::sync::Arc;

use ndarray::ArrayD;
use smallvec::SmallVec;

use super::Array;
use crate::device::Device;
use crate::dtype::Element;
use crate::error::Result;
use crate::evaluate;
use crate::graph::{Node, record};

/// Arrays to evaluate together: a tuple of up to eight references, of any element types, or a slice of arrays.
pub trait Arrays: sealed::Sealed {
    /// The values on the host: a tuple of `ArrayD`, or a `Vec` of them.
    type Values;
    /// Each array's device and node.
    #[doc(hidden)]
    fn roots(&self) -> Roots<'_>;
    /// The values, once they are evaluated.
    #[doc(hidden)]
    fn fetch(&self) -> Result<Self::Values>;
}

/// Devices and nodes of arrays.
#[doc(hidden)]
pub type Roots<'a> = SmallVec<[(&'a Device, &'a Arc<Node>); 4]>;

/// Computes several arrays in one evaluation for each device, and copies them to the host.
///
/// What they have in common is computed once; results of one iteration space share a kernel.
///
/// Errors: as [`Array::get`], for the first array that has one.
///
/// ```
/// use lazuli::prelude::*;
///
/// let x = Device::host()?.from_slice(&[1.0f32, 2.0, 3.0])?;
/// let (squares, large) = lazuli::get((&x.square(), &x.gt(1.5)))?;
/// assert_eq!(squares.as_slice().unwrap(), [1.0, 4.0, 9.0]);
/// assert_eq!(large.as_slice().unwrap(), [false, true, true]);
/// # Ok::<(), lazuli::Error>(())
/// ```
pub fn get<A: Arrays>(arrays: A) -> Result<A::Values> {
    run_all(&arrays.roots())?;
    arrays.fetch()
}

/// Computes several arrays in one evaluation for each device, and leaves them there.
///
/// Errors: as [`Array::get`], for the first array that has one.
pub fn eval<A: Arrays>(arrays: A) -> Result<()> {
    run_all(&arrays.roots())
}

fn run_all(roots: &[(&Device, &Arc<Node>)]) -> Result<()> {
    // All mistakes come out before anything runs.
    for (_, node) in roots {
        check(node)?;
    }
    for (position, (device, _)) in roots.iter().enumerate() {
        if roots[..position].iter().any(|(earlier, _)| earlier == device) {
            continue;
        }
        let own: SmallVec<[Arc<Node>; 4]> =
            roots.iter().filter(|(other, _)| other == device).map(|(_, node)| (*node).clone()).collect();
        run(device, &own)?;
    }
    Ok(())
}

/// Evaluates nodes of one device.
pub(super) fn run(device: &Device, roots: &[Arc<Node>]) -> Result<()> {
    let is_empty = |node: &Arc<Node>| node.shape().contains(&0);
    if !roots.iter().any(is_empty) {
        return evaluate::evaluate(device, roots);
    }
    // What has no elements has its value already.
    let others: Vec<Arc<Node>> = roots.iter().filter(|node| !is_empty(node)).cloned().collect();
    evaluate::evaluate(device, &others)
}

fn check(node: &Node) -> Result<()> {
    record::failure(node).map_or(Ok(()), |error| Err(error.clone()))
}

macro_rules! tuples {
    ($(($($element:ident $index:tt),+);)+) => {
        $(
            impl<$($element: Element),+> sealed::Sealed for ($(&Array<$element>,)+) {}
            impl<$($element: Element),+> Arrays for ($(&Array<$element>,)+) {
                type Values = ($(ArrayD<$element>,)+);

                fn roots(&self) -> Roots<'_> {
                    [$((&self.$index.device, &self.$index.node)),+].into_iter().collect()
                }

                fn fetch(&self) -> Result<Self::Values> {
                    Ok(($(self.$index.fetch()?,)+))
                }
            }
        )+
    };
}

tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}

impl<T: Element> sealed::Sealed for &[Array<T>] {}
impl<T: Element> Arrays for &[Array<T>] {
    type Values = Vec<ArrayD<T>>;

    fn roots(&self) -> Roots<'_> {
        self.iter().map(|array| (&array.device, &array.node)).collect()
    }

    fn fetch(&self) -> Result<Self::Values> {
        self.iter().map(Array::fetch).collect()
    }
}

mod sealed {
    pub trait Sealed {}
}
