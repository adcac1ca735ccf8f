//! Maps that read or write across the grain: a transposed operand is met in tiles of two axes, so that each cache line is
//! used whole while it is at hand.

use lazuli_codegen::AxisId;

use super::launch::BoundAccess;
use super::walk::Walk;

/// Bytes between neighbours along the innermost axis from which an access is across the grain.
const FAR_BYTES: i64 = 64;

/// How the parallel axes are cut into tiles.
#[derive(Clone, Debug)]
pub struct Tiling {
    /// The axis along which the accesses across the grain have near neighbours, and the tile's extent along it.
    pub cross: (AxisId, i64),
    /// The innermost axis, and the tile's extent along it.
    pub inner: (AxisId, i64),
}

/// The walks of an access through a whole tile, and through one cut short along the innermost axis.
#[derive(Clone, Debug)]
pub struct TileWalks {
    /// Through a whole tile.
    pub whole: Walk,
    /// Through one cut short.
    pub short: Walk,
}

impl Tiling {
    /// Tiles of at most `block` elements, where an access asks for them: `strides` gives, for each access, its bytes per step
    /// along each of the parallel axes.
    pub fn choose(axes: &[AxisId], extents: &[i64], strides: &[Vec<i64>], block: usize) -> Option<Self> {
        let last = axes.len().checked_sub(1)?;
        let near_axis = |strides: &Vec<i64>| {
            let near = |&at: &usize| strides[at] != 0 && strides[at].abs() * 4 <= FAR_BYTES && extents[at] >= 16;
            if strides[last].abs() < FAR_BYTES {
                None
            } else {
                (0..last).filter(near).min_by_key(|&at| strides[at].abs())
            }
        };
        let cross = strides.iter().find_map(near_axis)?;
        if extents[last] < 16 || block < 1024 {
            return None;
        }
        let width = if block >= 4096 { 128 } else { 64 };
        Some(Self { cross: (axes[cross], block as i64 / width), inner: (axes[last], width) })
    }

    /// How many tiles there are along the two axes.
    pub fn counts(&self, extents: &[i64]) -> (i64, i64) {
        let count = |(axis, size): (AxisId, i64)| (extents[axis.0 as usize] + size - 1) / size;
        (count(self.cross), count(self.inner))
    }

    /// Turns an access along the whole space to one along a tile: the other axes, and where the tile begins, become indices
    /// that are one for the block. `strides` are those along the parallel axes.
    pub fn bend(&self, access: &mut BoundAccess, axes: &[AxisId], strides: &[i64], extents: &[i64]) {
        let stride =
            |axis: AxisId| axes.iter().zip(strides).find(|(a, _)| **a == axis).map_or(0, |(_, &stride)| stride);
        let through =
            |width: i64| Walk::new([(self.cross.1, stride(self.cross.0)), (width, stride(self.inner.0))].into_iter());
        let rest = extents[self.inner.0.0 as usize] % self.inner.1;
        access.tile = Some(TileWalks { whole: through(self.inner.1), short: through(rest.max(1)) });
        let moved = axes.iter().zip(strides).filter(|(_, stride)| **stride != 0);
        access.axes.extend(moved.map(|(axis, &stride)| (axis.0 as usize, stride)));
    }
}
