//! How a device runs a kernel: which thread takes which part. Chosen by the engine's lowering, obeyed by the emitter.

use std::fmt;

use crate::{Affine, Coefficient, DType, Kernel, Stmt, Term, Tree};

/// What lowering must know of a device. Runtimes fill it in; nothing here depends on one card.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceFacts {
    /// The name the driver gives.
    pub name: String,
    /// True where one thread runs a whole work-group (host, OpenCL on a CPU): wide vectors come from the compiler.
    pub is_cpu: bool,
    /// Multiprocessors or cores.
    pub compute_units: u32,
    /// Threads a group may have.
    pub max_group: u32,
    /// Bytes of local (shared) memory a group may use.
    pub local_memory_bytes: u32,
    /// Bytes of kernel parameters.
    pub max_parameter_bytes: u32,
    /// Largest single allocation.
    pub max_allocation_bytes: u64,
    /// True where f64 arithmetic is there.
    pub has_f64: bool,
    /// How far the groups of one launch may work together.
    pub cooperation: Cooperation,
    /// Compiler and architecture, part of the key of compiled kernels.
    pub compiler: String,
}

/// How far the groups of one launch may work together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cooperation {
    /// Not at all: what one group wrote, another may read in a later launch only.
    None,
    /// The last group to finish sees what the others wrote.
    LastGroup,
    /// Groups may wait for each other, so many as the device runs at once: that many of `threads` threads, each of which
    /// keeps `values` values in registers.
    Waiting {
        /// Groups at once.
        groups: u32,
        /// Threads of each.
        threads: u32,
        /// Values that each thread keeps.
        values: u32,
    },
}

/// How the points of the parallel axes are dealt to threads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Schedule {
    /// Each thread owns `width` neighbours along the innermost parallel axis (1, 2, 4, 8 or 16), at one point of the others.
    Map {
        /// Threads in a group.
        group: u32,
        /// Elements a thread owns.
        width: u32,
        /// How a thread finds its point.
        placement: Placement,
    },
    /// For bodies without reductions of which some reads or stores run along another axis than the innermost. A group owns
    /// a square of two parallel axes, the innermost and `across`, at one point of the others. What runs along `across`
    /// ([`Schedule::is_tiled`]) moves the square the other way round, by way of local memory, so that it too is of
    /// neighbours. A thread owns `width` neighbours along the innermost axis in every `group * width / side`-th row.
    Tile {
        /// Threads in a group; a power of two.
        group: u32,
        /// Elements along either edge of the square; a power of two.
        side: u32,
        /// Neighbours that a thread moves at once (1, 2, 4, 8 or 16).
        width: u32,
        /// The place of the other axis in [`Kernel::parallel`]; not the last.
        across: u32,
    },
    /// For bodies without reductions that read one element for several neighbouring points of the axis outside the
    /// innermost. Each thread owns `width` neighbours along the innermost axis at each of `rows` neighbouring points
    /// of that axis, and reads once what its points share: loads that are alike but for [`Affine::ahead`].
    Rows {
        /// Threads in a group.
        group: u32,
        /// Elements that a thread owns in each row (1, 2, 4, 8 or 16).
        width: u32,
        /// Rows that a thread owns.
        rows: u32,
        /// How a thread finds its point; runs of rows take the place of rows.
        placement: Placement,
    },
    /// Each run of `lanes` threads owns one point of the parallel axes; a group holds `points` of them. The top-level
    /// reductions all have this tree, and top-level loops are dealt to lanes likewise. Other stores are run by lane 0.
    Group {
        /// The tree of every reduction at the top level.
        tree: Tree,
        /// Points of the parallel axes (in linear order) in one group; a power of two. `points * lanes` threads.
        points: u32,
        /// How a thread finds its point and its lane.
        lane_order: LaneOrder,
        /// Where not 0, no reduction or loop at the top level has more than `steps * lanes * width` elements, and values
        /// that a later loop over the same axes uses are kept by their thread: in registers where `steps * width` is 32 at
        /// the most, else, and in a lone lane that fills vectors (CPUs), in a private array. Where 0, they are computed
        /// again.
        steps: u32,
    },
}

impl fmt::Display for Schedule {
    /// For people: who takes what.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let some = |count: u32, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        match *self {
            Schedule::Map { group, width, .. } => {
                write!(f, "groups of {}, {} a thread", some(group, "thread"), some(width, "element"))
            }
            Schedule::Tile { group, side, width, .. } => {
                write!(f, "tiles of {side} x {side} through local memory, ")?;
                write!(f, "groups of {}, {} at once", some(group, "thread"), some(width, "element"))
            }
            Schedule::Rows { group, width, rows, .. } => {
                write!(f, "groups of {}, ", some(group, "thread"))?;
                write!(f, "{} of {} a thread", some(rows, "row"), some(width, "element"))
            }
            Schedule::Group { tree, points, steps, .. } => {
                write!(f, "rows folded by {}, {} each, ", some(tree.lanes, "lane"), some(tree.width, "accumulator"))?;
                write!(f, "{} a group", some(points, "row"))?;
                if steps > 0 { write!(f, "; rows are kept on the chip") } else { Ok(()) }
            }
        }
    }
}

/// How the threads of a group are dealt to points and lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LaneOrder {
    /// Neighbouring threads are lanes of one point: the folded axis is the fastest in memory.
    LanesFastest,
    /// Neighbouring threads are neighbouring points: a kept axis is the fastest in memory.
    PointsFastest,
}

/// How a thread finds its point.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Placement {
    /// One linear number, divided up by the extents, innermost fastest (GPUs).
    Linear,
    /// Grid axis 0 is the innermost parallel axis, grid axis 1 counts the others in linear order (CPUs, whose compilers
    /// vectorise along grid axis 0).
    InnerAxis,
}

/// A launch shape: groups, and threads in a group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the comment of the type names both")]
pub struct Grid {
    pub groups: [u64; 3],
    pub group: [u32; 3],
}

impl Schedule {
    /// The launch shape for the given size arguments. Every extent is at least one.
    ///
    /// Placement `InnerAxis` uses two grid axes, `Linear` and `Group` one, and a group of a kernel that combines a second
    /// one: that axis, or where groups wait for each other along it, the others.
    pub fn grid(&self, kernel: &Kernel, sizes: &[i64]) -> Grid {
        let extents: Vec<u64> = kernel.parallel.iter().map(|&axis| kernel.extent(axis, sizes).max(0) as u64).collect();
        let combined = usize::from(kernel.combine().is_some());
        let (chunks, extents) = extents.split_at(combined);
        let (inner, outer) = match extents.split_last() {
            Some((&inner, outer)) => (inner, outer.iter().product::<u64>()),
            None => (1, 1),
        };
        match *self {
            Schedule::Map { group, width, placement } => {
                placement.grid(group.into(), inner.div_ceil(u64::from(width)), outer)
            }
            Schedule::Rows { group, width, rows, placement } => {
                let runs = extents
                    .iter()
                    .rev()
                    .skip(1)
                    .enumerate()
                    .map(|(place, &extent)| if place == 0 { extent.div_ceil(u64::from(rows)) } else { extent });
                placement.grid(group.into(), inner.div_ceil(u64::from(width)), runs.product())
            }
            Schedule::Tile { group, side, across, .. } => {
                let side = u64::from(side);
                let tiles = extents.iter().enumerate().map(|(place, &extent)| {
                    if place + 1 == extents.len() || place == across as usize { extent.div_ceil(side) } else { extent }
                });
                Grid { groups: [tiles.product(), 1, 1], group: [group, 1, 1] }
            }
            Schedule::Group { tree, points, .. } => {
                let tiles = (outer * inner).div_ceil(u64::from(points));
                let chunks = chunks.iter().product();
                // Groups that wait for each other start together.
                let groups = if kernel.waits() { [chunks, tiles, 1] } else { [tiles, chunks, 1] };
                Grid { groups, group: [tree.lanes * points, 1, 1] }
            }
        }
    }
}

impl Placement {
    /// The launch shape for so many points along the innermost axis and along all others together.
    fn grid(self, group: u64, inner: u64, outer: u64) -> Grid {
        match self {
            Placement::Linear => Grid { groups: [(outer * inner).div_ceil(group), 1, 1], group: [group as u32, 1, 1] },
            Placement::InnerAxis => {
                let x = group.min(inner.next_power_of_two());
                let y = (group / x).clamp(1, outer.next_power_of_two());
                Grid { groups: [inner.div_ceil(x), outer.div_ceil(y), 1], group: [x as u32, y as u32, 1] }
            }
        }
    }
}

impl Schedule {
    /// True where a read or a store at this index goes through a tile: it runs along the tile's other axis, and
    /// neither stands still nor runs along the innermost one. Its index is made of axes only, for tiles are filled
    /// before anything is computed and emptied after everything is.
    pub fn is_tiled(&self, kernel: &Kernel, at: &Affine) -> bool {
        let Schedule::Tile { across, .. } = *self else { return false };
        let (Some(&across), Some(&inner)) = (kernel.parallel.get(across as usize), kernel.parallel.last()) else {
            return false;
        };
        at.terms.contains(&(Term::Axis(across), Coefficient::One))
            && at.terms.iter().any(|term| matches!(term, (Term::Axis(axis), Coefficient::Size(_)) if *axis == inner))
            && at.terms.iter().all(|(term, _)| matches!(term, Term::Axis(_)))
    }
}

/// Elements from one row of a tile in local memory to the next: more than it holds, so that a column lies in
/// different banks.
pub(crate) const fn tile_pitch(side: u32, dtype: DType) -> u32 {
    side + if dtype.size_bytes() < 4 { 2 } else { 1 }
}

/// Bytes of local memory that one tile takes.
pub const fn tile_bytes(side: u32, dtype: DType) -> usize {
    (side * tile_pitch(side, dtype)) as usize * dtype.size_bytes()
}

impl Kernel {
    /// The extent of an axis under the given size arguments.
    pub fn extent(&self, axis: crate::AxisId, sizes: &[i64]) -> i64 {
        sizes[self.axes[axis.0 as usize].extent.0 as usize]
    }

    /// How many operations on elements the kernel holds, each counted once.
    pub fn operation_count(&self) -> usize {
        fn count(body: &[Stmt]) -> usize {
            use crate::Expr::*;
            body.iter()
                .map(|stmt| match stmt {
                    Stmt::Let { expr, .. } => usize::from(matches!(
                        expr,
                        Unary(..) | Binary(..) | MulAdd(..) | Select { .. } | Cast(..) | Call(..)
                    )),
                    Stmt::Store { .. } => 0,
                    Stmt::Reduce(reduce) => count(&reduce.body) + reduce.folds.len(),
                    Stmt::Combine(_) => 0,
                    Stmt::Loop(own) => count(&own.body),
                })
                .sum()
        }
        count(&self.body)
    }

    /// Bytes of the parameter list, each parameter aligned to its size.
    pub fn parameter_bytes(&self) -> usize {
        let index = match self.index {
            crate::IndexWidth::I32 => 4,
            crate::IndexWidth::I64 => 8,
        };
        let scalars: usize = self.scalars.iter().map(|dtype| dtype.size_bytes().max(4).next_multiple_of(4)).sum();
        self.buffers.len() * 8 + self.sizes as usize * index + scalars + 8
    }
}
