//! Shapes, strides and memory orders.

use std::sync::Arc;

use smallvec::SmallVec;

/// Extents of an array, outermost axis first. No limit on the rank.
pub type Shape = SmallVec<[usize; 4]>;

/// Elements in an array of this shape, or `None` past `isize::MAX`, which no index could address.
pub fn element_count(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let count = shape.iter().try_fold(1usize, |count, &extent| count.checked_mul(extent))?;
    (count <= isize::MAX as usize).then_some(count)
}

/// The shape two operands broadcast to, by NumPy's rule: aligned at the last axis, an extent of one stretches.
pub fn broadcast(lhs: &[usize], rhs: &[usize]) -> Option<Shape> {
    let rank = lhs.len().max(rhs.len());
    let extent = |shape: &[usize], axis: usize| match (axis + shape.len()).checked_sub(rank) {
        Some(own) => shape[own],
        None => 1,
    };
    (0..rank)
        .map(|axis| match (extent(lhs, axis), extent(rhs, axis)) {
            (l, r) if l == r => Some(l),
            (1, r) => Some(r),
            (l, 1) => Some(l),
            _ => None,
        })
        .collect()
}

/// Axis numbers count from the end where negative. `None` where there is no such axis.
pub fn resolve_axis(axis: isize, rank: usize) -> Option<usize> {
    let resolved = if axis < 0 { axis.checked_add(rank as isize)? } else { axis };
    (0..rank as isize).contains(&resolved).then_some(resolved as usize)
}

/// The order in which an array's axes lie in memory: what it would be stored in, known when it is recorded.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// No preference (a broadcast, a scalar, an index); stored row-major.
    Any,
    /// Last axis fastest.
    RowMajor,
    /// Axes from slowest to fastest; never the row-major order.
    Permuted(Arc<[u32]>),
}

impl Order {
    /// The order with these axes from slowest to fastest.
    pub fn from_axes(axes: &[u32]) -> Self {
        if axes.is_sorted() { Order::RowMajor } else { Order::Permuted(axes.into()) }
    }

    /// The axes of an array of this rank, from slowest to fastest.
    pub fn axes(&self, rank: usize) -> SmallVec<[u32; 4]> {
        match self {
            Order::Any | Order::RowMajor => (0..rank as u32).collect(),
            Order::Permuted(axes) => axes.iter().copied().collect(),
        }
    }

    /// The order of an operation's result: that of its operands where those that have one agree, else row-major.
    pub fn join<'a>(mut operands: impl Iterator<Item = &'a Order>) -> Order {
        let Some(first) = operands.by_ref().find(|order| **order != Order::Any) else {
            return Order::Any;
        };
        if operands.all(|order| *order == Order::Any || order == first) { first.clone() } else { Order::RowMajor }
    }

    /// Strides, in elements, of a dense array of this shape stored in this order.
    pub fn strides(&self, shape: &[usize]) -> SmallVec<[i64; 4]> {
        let mut strides: SmallVec<[i64; 4]> = SmallVec::from_elem(0, shape.len());
        let mut step = 1i64;
        for &axis in self.axes(shape.len()).iter().rev() {
            strides[axis as usize] = step;
            step = step.saturating_mul(shape[axis as usize].max(1) as i64);
        }
        strides
    }
}
