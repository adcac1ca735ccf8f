//! Slices, arrays and their elements.

use std::marker::PhantomData;

use lazuli_codegen::simt::function::PointsTo;
use lazuli_codegen::simt::ir::{Element, Expr, Memory, Site, Stmt};

use super::builder;
use super::operators;
use super::scalar::KernelScalar;
use super::value::{Bind, Readable, Value, lit};

/// Memory of a kernel, and where it is.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Handle {
    pub(super) memory: Memory,
    pub(super) kind: MemoryKind,
}

/// What a function is built anew for: where memory is, and of an array its extents, which the function knows then.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemoryKind {
    pub place: PointsTo,
    pub extents: Option<Extents>,
}

/// One to three extents.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Extents {
    axes: usize,
    of: [usize; 3],
}

impl Extents {
    /// At most three are kept; types of arrays have no more.
    pub(super) fn new(dims: &[usize]) -> Self {
        let mut of = [1; 3];
        of.iter_mut().zip(dims).for_each(|(extent, dim)| *extent = *dim);
        Self { axes: dims.len().min(3), of }
    }

    pub(super) fn to_vec(self) -> Vec<usize> {
        self.of[..self.axes].to_vec()
    }
}

macro_rules! handles {
    ($($(#[$meta:meta])* $name:ident<$of:ident>;)+) => { $(
        $(#[$meta])*
        #[doc(hidden)]
        pub struct $name<$of> {
            pub(super) handle: Handle,
            of: PhantomData<fn() -> $of>,
        }

        impl<$of> $name<$of> {
            pub(super) const fn at(handle: Handle) -> Self {
                Self { handle, of: PhantomData }
            }
        }
    )+ };
}

handles! {
    /// A `&[T]`.
    Slice<T>;
    /// A `&mut [T]`.
    SliceMut<T>;
    /// An array: a variable of the thread, or the group's.
    LocalArray<A>;
    /// A reference to an array.
    ArrayRef<A>;
    /// A `&mut` reference to an array.
    ArrayMut<A>;
}

/// A type of arrays: one to three axes of a fixed length.
#[doc(hidden)]
#[diagnostic::on_unimplemented(message = "`{Self}` is no array of one to three axes over scalars")]
pub trait ArrayType: 'static {
    type Element: KernelScalar;
    type Index: Index;
    fn dims() -> Vec<usize>;
}

/// One index for each axis.
#[doc(hidden)]
pub trait Index {
    fn values(self) -> Vec<Value<usize>>;
}

impl<T: KernelScalar, const N: usize> ArrayType for [T; N] {
    type Element = T;
    type Index = (Value<usize>,);

    fn dims() -> Vec<usize> {
        vec![N]
    }
}

impl<T: KernelScalar, const N: usize, const M: usize> ArrayType for [[T; N]; M] {
    type Element = T;
    type Index = (Value<usize>, Value<usize>);

    fn dims() -> Vec<usize> {
        vec![M, N]
    }
}

impl<T: KernelScalar, const N: usize, const M: usize, const L: usize> ArrayType for [[[T; N]; M]; L] {
    type Element = T;
    type Index = (Value<usize>, Value<usize>, Value<usize>);

    fn dims() -> Vec<usize> {
        vec![L, M, N]
    }
}

impl Index for (Value<usize>,) {
    fn values(self) -> Vec<Value<usize>> {
        vec![self.0]
    }
}

impl Index for (Value<usize>, Value<usize>) {
    fn values(self) -> Vec<Value<usize>> {
        vec![self.0, self.1]
    }
}

impl Index for (Value<usize>, Value<usize>, Value<usize>) {
    fn values(self) -> Vec<Value<usize>> {
        vec![self.0, self.1, self.2]
    }
}

/// What has elements.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no elements in a kernel",
    note = "slices and arrays have: `x[i]`, and `a[i][j]` of an array of two axes"
)]
pub trait Indexed {
    type Element: KernelScalar;
    type Index: Index;
    fn handle(&self) -> Handle;
}

/// What has elements that can be written.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the elements of `{Self}` cannot be written",
    note = "write through a `&mut [T]` parameter, or an array of the kernel's own"
)]
pub trait IndexedMut: Indexed {}

macro_rules! indexed {
    ($($name:ident $($is_mut:ident)?),+ of slices) => { $(
        impl<T: KernelScalar> Indexed for $name<T> {
            type Element = T;
            type Index = (Value<usize>,);

            fn handle(&self) -> Handle {
                self.handle
            }
        }
        $(impl<T: KernelScalar> $is_mut for $name<T> {})?
    )+ };
    ($($name:ident $($is_mut:ident)?),+ of arrays) => { $(
        impl<A: ArrayType> Indexed for $name<A> {
            type Element = A::Element;
            type Index = A::Index;

            fn handle(&self) -> Handle {
                self.handle
            }
        }
        $(impl<A: ArrayType> $is_mut for $name<A> {})?
    )+ };
}

indexed!(Slice, SliceMut IndexedMut of slices);
indexed!(ArrayRef, ArrayMut IndexedMut, LocalArray IndexedMut of arrays);

macro_rules! whole {
    ($($name:ident),+) => { $(
        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $name<T> {}

        impl<T> Readable for $name<T> {
            type Value = Self;

            fn read(&self) -> Self {
                *self
            }
        }

        impl<T> Bind for $name<T> {
            type Local = Self;

            fn bind(self, _: &'static str) -> Self {
                self
            }
        }
    )+ };
}

whole!(Slice, SliceMut, ArrayRef, ArrayMut);

impl<A> Bind for LocalArray<A> {
    type Local = Self;

    fn bind(self, name: &'static str) -> Self {
        if let Memory::Array(number) = self.handle.memory {
            builder::name_array(number, name);
        }
        self
    }
}

/// An element that is written.
#[doc(hidden)]
pub struct ElementMut<T> {
    memory: Memory,
    index: Vec<Value<usize>>,
    site: Site,
    /// Where it is, for atomics.
    pub(super) place: PointsTo,
    of: PhantomData<fn() -> T>,
}

impl<T> ElementMut<T> {
    pub(super) fn into_element(self) -> Element {
        let index = self.index.into_iter().map(Value::into_expr).collect();
        Element { memory: self.memory, index, site: self.site }
    }
}

/// `x[i]` where it is read.
#[doc(hidden)]
#[track_caller]
pub fn load<M: Indexed>(memory: &M, index: M::Index) -> Value<M::Element> {
    let index = index.values().into_iter().map(Value::into_expr).collect();
    Value::of(Expr::Load(Box::new(Element { memory: memory.handle().memory, index, site: builder::site() })))
}

/// `x[i]` where it is written.
#[doc(hidden)]
#[track_caller]
pub fn element<M: IndexedMut>(memory: &mut M, index: M::Index) -> ElementMut<M::Element> {
    let Handle { memory, kind } = memory.handle();
    ElementMut { memory, index: index.values(), site: builder::site(), place: kind.place, of: PhantomData }
}

/// What the element holds, in `x[i] += v`. The index is computed once.
#[doc(hidden)]
pub fn before<T: KernelScalar>(element: &mut ElementMut<T>) -> Value<T> {
    for index in &mut element.index {
        *index = index.clone().once();
    }
    let index = element.index.iter().map(|index| index.clone().into_expr()).collect();
    Value::of(Expr::Load(Box::new(Element { memory: element.memory, index, site: element.site })))
}

/// `x[i] = value`.
#[doc(hidden)]
pub fn store<T: KernelScalar>(element: ElementMut<T>, value: Value<T>) {
    let element = element.into_element();
    builder::push(Stmt::Store(element, value.into_expr()));
}

/// `x.len()`: of a slice, or along the outermost axis of an array.
#[doc(hidden)]
pub fn len<M: Indexed>(memory: &M) -> Value<usize> {
    Value::of(Expr::Len(memory.handle().memory))
}

/// `x.is_empty()`.
#[doc(hidden)]
pub fn is_empty<M: Indexed>(memory: &M) -> Value<bool> {
    operators::eq(len(memory), lit(0))
}

/// `&x` of an array or slice.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "there are no references to values in a kernel",
    note = "give a device function the value, and let it return what it computes"
)]
pub trait Borrow {
    type Ref;
    fn by_ref(&self) -> Self::Ref;
}

/// `&mut x` of an array or slice.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "there is no `&mut` reference to this in a kernel",
    note = "only arrays and `&mut [T]` are lent; give a device function values, and let it return what it computes"
)]
pub trait BorrowMut {
    type Mut;
    fn by_mut(&mut self) -> Self::Mut;
}

#[doc(hidden)]
pub fn by_ref<B: Borrow>(memory: &B) -> B::Ref {
    memory.by_ref()
}

#[doc(hidden)]
pub fn by_mut<B: BorrowMut>(memory: &mut B) -> B::Mut {
    memory.by_mut()
}

macro_rules! borrows {
    ($($name:ident => $shared:ident $($exclusive:ident)?;)+) => { $(
        impl<T> Borrow for $name<T> {
            type Ref = $shared<T>;

            fn by_ref(&self) -> $shared<T> {
                $shared::at(self.handle)
            }
        }
        $(
            impl<T> BorrowMut for $name<T> {
                type Mut = $exclusive<T>;

                fn by_mut(&mut self) -> $exclusive<T> {
                    $exclusive::at(self.handle)
                }
            }
        )?
    )+ };
}

borrows! {
    Slice => Slice;
    SliceMut => Slice SliceMut;
    ArrayRef => ArrayRef;
    ArrayMut => ArrayRef ArrayMut;
    LocalArray => ArrayRef ArrayMut;
}
