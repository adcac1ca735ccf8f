//! What is taken as a shape.

use ndarray::{Dim, Dimension};
use smallvec::SmallVec;

use crate::shape::Shape;

/// A shape: `[2, 3]`, `&[2, 3]`, `(2, 3)`, a slice or `Vec` of `usize`, one `usize` for one axis, `()` for none, or the
/// dimension of an ndarray array.
pub trait IntoShape: sealed::Sealed {
    /// The extents.
    #[doc(hidden)]
    fn into_shape(self) -> Shape;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! into_shape {
    ($([$($generics:tt)*] $type:ty, $value:ident => $shape:expr;)+) => {
        $(
            impl<$($generics)*> sealed::Sealed for $type {}
            impl<$($generics)*> IntoShape for $type {
                fn into_shape(self) -> Shape {
                    let $value = self;
                    $shape
                }
            }
        )+
    };
}

into_shape! {
    [const N: usize] [usize; N], extents => Shape::from_slice(&extents);
    [const N: usize] &[usize; N], extents => Shape::from_slice(extents);
    [] &[usize], extents => Shape::from_slice(extents);
    [] Vec<usize>, extents => SmallVec::from_vec(extents);
    [] &Vec<usize>, extents => Shape::from_slice(extents);
    [] usize, extent => Shape::from_slice(&[extent]);
    [] (), _none => Shape::new();
    [] (usize,), t => Shape::from_slice(&[t.0]);
    [] (usize, usize), t => Shape::from_slice(&[t.0, t.1]);
    [] (usize, usize, usize), t => Shape::from_slice(&[t.0, t.1, t.2]);
    [] (usize, usize, usize, usize), t => Shape::from_slice(&[t.0, t.1, t.2, t.3]);
    [] (usize, usize, usize, usize, usize), t => Shape::from_slice(&[t.0, t.1, t.2, t.3, t.4]);
    [] (usize, usize, usize, usize, usize, usize), t => Shape::from_slice(&[t.0, t.1, t.2, t.3, t.4, t.5]);
}

impl<I> sealed::Sealed for Dim<I> {}
impl<I> IntoShape for Dim<I>
where
    Dim<I>: Dimension,
{
    fn into_shape(self) -> Shape {
        Shape::from_slice(self.slice())
    }
}
