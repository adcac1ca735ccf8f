//! The path of one affine index through the linear element numbers of a space.

use smallvec::SmallVec;

/// Axes of a space as one index sees them: innermost first, neighbours joined where one stride serves both.
#[derive(Clone, Debug)]
pub struct Walk {
    dims: SmallVec<[Dim; 4]>,
}

#[derive(Clone, Copy, Debug)]
struct Dim {
    extent: i64,
    stride: i64,
}

/// Whole rows of a walk along two axes.
#[derive(Clone, Copy, Debug)]
pub struct Plane {
    /// Elements in a row.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
    /// The change from one row to the next.
    pub row_stride: i64,
}

impl Walk {
    /// From extents and strides, outermost first.
    pub fn new(axes: impl DoubleEndedIterator<Item = (i64, i64)>) -> Self {
        let mut dims: SmallVec<[Dim; 4]> = SmallVec::new();
        for (extent, stride) in axes.rev() {
            match dims.last_mut() {
                _ if extent == 1 => {}
                Some(inner) if inner.stride.wrapping_mul(inner.extent) == stride => inner.extent *= extent,
                _ => dims.push(Dim { extent, stride }),
            }
        }
        if dims.is_empty() {
            dims.push(Dim { extent: 1, stride: 0 });
        }
        Self { dims }
    }

    /// The change from one element to the next, as long as the innermost axis lasts.
    #[inline]
    pub fn stride(&self) -> i64 {
        self.dims[0].stride
    }

    /// The least and the greatest index.
    pub fn bounds(&self) -> (i64, i64) {
        self.dims.iter().fold((0, 0), |(low, high), dim| {
            let reach = (dim.extent - 1).max(0).saturating_mul(dim.stride);
            (low.saturating_add(reach.min(0)), high.saturating_add(reach.max(0)))
        })
    }

    /// The index of element `start` where the `n` elements from there lie in one run along the innermost axis.
    #[inline]
    pub fn one_run(&self, start: i64, n: usize) -> Option<i64> {
        if let [dim] = self.dims[..] {
            return Some(start * dim.stride);
        }
        let inner = self.dims[0];
        let first = start % inner.extent;
        if first + n as i64 > inner.extent {
            return None;
        }
        Some(first * inner.stride + self.outer(start / inner.extent).0)
    }

    /// Where `n` elements from the start fill whole rows of two axes and neighbours are nearer in memory across the rows
    /// than along them: those rows.
    #[inline]
    pub fn across(&self, start: i64, n: usize) -> Option<Plane> {
        let [inner, outer] = self.dims[..] else { return None };
        let columns = inner.extent as usize;
        let whole = start == 0 && n.is_multiple_of(columns) && (n / columns) as i64 <= outer.extent;
        (whole && outer.stride.abs() < inner.stride.abs()).then_some(Plane {
            columns,
            rows: n / columns,
            row_stride: outer.stride,
        })
    }

    /// What the axes but the innermost add, and their indices.
    #[inline]
    fn outer(&self, mut number: i64) -> (i64, SmallVec<[i64; 4]>) {
        let mut offset = 0;
        let mut indices = SmallVec::new();
        for (at, dim) in self.dims.iter().enumerate().skip(1) {
            let index = if at + 1 == self.dims.len() { number } else { number % dim.extent };
            number /= dim.extent;
            offset += index * dim.stride;
            indices.push(index);
        }
        (offset, indices)
    }

    /// Calls `run(done, index, length)` for each run along the innermost axis, in order, for `n` elements from `start`.
    #[inline(always)]
    pub fn runs(&self, start: i64, n: usize, mut run: impl FnMut(usize, i64, usize)) {
        let inner = self.dims[0];
        if self.dims.len() == 1 {
            return run(0, start * inner.stride, n);
        }
        let mut first = start % inner.extent;
        let (mut offset, mut indices) = self.outer(start / inner.extent);
        let mut done = 0;
        while done < n {
            let length = ((inner.extent - first) as usize).min(n - done);
            run(done, offset + first * inner.stride, length);
            done += length;
            first = 0;
            // On to the next run: an odometer over the outer axes.
            for (index, dim) in indices.iter_mut().zip(&self.dims[1..]) {
                *index += 1;
                offset += dim.stride;
                if *index < dim.extent {
                    break;
                }
                offset -= *index * dim.stride;
                *index = 0;
            }
        }
    }
}
