//! New arrays: `[value; N]`, `[a, b, c]`, and those of the group.

use lazuli_codegen::Scalar;
use lazuli_codegen::simt::function::PointsTo;
use lazuli_codegen::simt::ir::{Memory, Space};

use super::builder;
use super::memory::{ArrayType, Extents, Handle, LocalArray, MemoryKind, element, store};
use super::range::{begin_for, range};
use super::scalar::KernelScalar;
use super::value::{Readable, Value, lit};

/// A new array of the group or of the thread.
pub(super) fn new_array<A: ArrayType>(space: Space) -> LocalArray<A> {
    let dims = A::dims();
    if dims.contains(&0) {
        builder::fail(|| format!("an array of extents {dims:?} has no elements"));
    }
    let kind = MemoryKind {
        place: if space == Space::Group { PointsTo::Group } else { PointsTo::Thread },
        extents: Some(Extents::new(&dims)),
    };
    let memory = Memory::Array(builder::array(A::Element::DTYPE, dims, space));
    LocalArray::at(Handle { memory, kind })
}

/// True where an array of the thread holds this at the start.
fn is_there_already<T: KernelScalar>(value: &Value<T>) -> bool {
    let zero = Scalar::from_bits(T::DTYPE, 0);
    builder::is_outermost() && value.constant() == Some(zero)
}

/// `[value; N]`.
#[doc(hidden)]
#[track_caller]
pub fn array1<T: KernelScalar, const N: usize>(value: Value<T>) -> LocalArray<[T; N]> {
    let mut array = new_array::<[T; N]>(Space::Thread);
    if !is_there_already(&value) {
        let value = value.once();
        let over = begin_for("i", range(lit(0usize), lit(N)));
        store(element(&mut array, (over.value().read(),)), value);
        over.end();
    }
    array
}

/// `[[value; N]; M]`.
#[doc(hidden)]
#[track_caller]
pub fn array2<T: KernelScalar, const N: usize, const M: usize>(value: Value<T>) -> LocalArray<[[T; N]; M]> {
    let mut array = new_array::<[[T; N]; M]>(Space::Thread);
    if !is_there_already(&value) {
        let value = value.once();
        let (rows, columns) = (begin_for("i", range(lit(0usize), lit(M))), begin_for("j", range(lit(0usize), lit(N))));
        store(element(&mut array, (rows.value().read(), columns.value().read())), value);
        columns.end();
        rows.end();
    }
    array
}

/// `[[[value; N]; M]; L]`.
#[doc(hidden)]
#[track_caller]
pub fn array3<T: KernelScalar, const N: usize, const M: usize, const L: usize>(
    value: Value<T>,
) -> LocalArray<[[[T; N]; M]; L]> {
    let mut array = new_array::<[[[T; N]; M]; L]>(Space::Thread);
    if !is_there_already(&value) {
        let value = value.once();
        let planes = begin_for("i", range(lit(0usize), lit(L)));
        let (rows, columns) = (begin_for("j", range(lit(0usize), lit(M))), begin_for("k", range(lit(0usize), lit(N))));
        let index = (planes.value().read(), rows.value().read(), columns.value().read());
        store(element(&mut array, index), value);
        columns.end();
        rows.end();
        planes.end();
    }
    array
}

/// `[a, b, c]`.
#[doc(hidden)]
#[track_caller]
pub fn array_of<T: KernelScalar, const N: usize>(values: [Value<T>; N]) -> LocalArray<[T; N]> {
    let mut array = new_array::<[T; N]>(Space::Thread);
    for (number, value) in values.into_iter().enumerate() {
        store(element(&mut array, (lit(number),)), value);
    }
    array
}

/// `[[a, b], [c, d]]`.
#[doc(hidden)]
#[track_caller]
pub fn array_of_rows<T: KernelScalar, const N: usize, const M: usize>(
    rows: [[Value<T>; N]; M],
) -> LocalArray<[[T; N]; M]> {
    let mut array = new_array::<[[T; N]; M]>(Space::Thread);
    for (row, values) in rows.into_iter().enumerate() {
        for (column, value) in values.into_iter().enumerate() {
            store(element(&mut array, (lit(row), lit(column))), value);
        }
    }
    array
}
