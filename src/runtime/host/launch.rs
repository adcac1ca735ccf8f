//! One launch: a program joined with its arguments, checked, and dealt to threads.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use lazuli_codegen::{BufferId, Coefficient, Kernel, SizeId, Span};
use rayon::prelude::*;
use smallvec::SmallVec;

use super::frame::Frame;
use super::memory::HostMemory;
use super::program::{Access, Mode, Program, Reg, Step};
use super::tile::{TileWalks, Tiling};
use super::walk::Walk;
use crate::error::{Error, Result};
use crate::runtime::{LaunchArgs, Memory};

/// Scratch that a block's registers may take: most of a first-level cache.
const CACHE_BYTES: usize = 40 << 10;

/// Elements times steps below which waking other threads costs more than it gains.
const SMALL_WORK: i64 = 1 << 17;

/// Bytes that a thread may keep of its rows between passes: about a second-level cache.
const KEPT_BYTES: usize = 2 << 20;

/// Rows no longer than this are run several at a time.
const LONGEST_JOINED_ROW: i64 = 256;

/// Fewest points in a block of columns whose rows are kept: shorter runs in memory cost more than computing again.
const LEAST_COLUMNS: usize = 512;

/// Blocks never have more elements than this.
const LARGEST_BLOCK: usize = 4096;

/// An access with its numbers.
pub struct BoundAccess {
    /// The buffer; null for an index that is itself the value.
    pub data: *mut u8,
    /// Elements in the buffer.
    pub length: i64,
    /// Bytes of an element.
    pub bytes: usize,
    /// The constant.
    pub offset: i64,
    /// Axes with one index for the block, and their factors.
    pub axes: SmallVec<[(usize, i64); 4]>,
    /// Narrow index variables and their factors.
    pub narrow: SmallVec<[(Reg, i64); 2]>,
    /// Wide index variables and their factors.
    pub wide: SmallVec<[(Reg, i64); 2]>,
    /// The path through the space.
    pub walk: Walk,
    /// The paths through its tiles, where there are tiles.
    pub tile: Option<TileWalks>,
    /// Least and greatest that the path adds.
    pub reach: (i64, i64),
    /// True where the launch could not see that every index is within the buffer.
    pub checked: bool,
}

/// A launch under way.
pub struct Launch<'a> {
    /// What runs.
    pub program: &'a Program,
    /// The accesses, by number.
    pub accesses: Vec<BoundAccess>,
    /// Memory and elements of each buffer.
    pub buffers: Vec<(*mut u8, i64)>,
    /// Extents by axis.
    pub extents: Vec<i64>,
    /// Elements of each space.
    pub totals: Vec<i64>,
    /// Elements of each row that passes run over.
    pub rows: Vec<i64>,
    /// Size arguments.
    pub sizes: &'a [i64],
    /// User scalars as registers hold them.
    pub scalars: Vec<[u8; 8]>,
    /// Elements that a wide register has room for; a multiple of 64.
    pub block: usize,
    /// The tiles, where the parallel axes are cut into them.
    pub tiling: Option<Tiling>,
    /// Set where an index was outside its buffer.
    pub fault: AtomicBool,
}

// SAFETY: the raw pointers name memory that outlives the launch; threads write disjoint elements (points are independent)
// and no kernel reads a buffer that it writes.
unsafe impl Sync for Launch<'_> {}

impl<'a> Launch<'a> {
    /// Joins a program, the first that suits the extents, with its arguments.
    ///
    /// Errors: `Internal` where they do not fit it, or an index would leave its buffer.
    pub fn new(kernel: &Kernel, programs: &'a [Program], arguments: &LaunchArgs<'a>) -> Result<Self> {
        let wrong = |what: String| Error::Internal(format!("host: launch of {}: {what}", kernel.name));
        let counts = [arguments.buffers.len(), arguments.sizes.len(), arguments.scalars.len()];
        if counts != [kernel.buffers.len(), kernel.sizes as usize, kernel.scalars.len()] {
            return Err(wrong(format!("{counts:?} buffers, sizes and scalars")));
        }
        if arguments.scalars.iter().zip(&kernel.scalars).any(|(scalar, &dtype)| scalar.dtype() != dtype) {
            return Err(wrong("a scalar of another type".into()));
        }
        let sizes = arguments.sizes;
        let extents: Vec<i64> = kernel.axes.iter().map(|axis| sizes[axis.extent.0 as usize].max(0)).collect();
        let suiting = programs.iter().find(|program| suits(program, &extents)).or(programs.last());
        let Some(program) = suiting else { return Err(wrong("no program".into())) };
        let mut buffers = Vec::with_capacity(kernel.buffers.len());
        for (memory, param) in arguments.buffers.iter().zip(&kernel.buffers) {
            let memory = host_memory(*memory)?;
            buffers.push((memory.data(), (memory.bytes() / param.dtype.size_bytes()) as i64));
        }
        for (at, &written) in program.written.iter().enumerate() {
            let shared = |&(other, &(data, _)): &(usize, &(*mut u8, i64))| other != at && data == buffers[at].0;
            if written && buffers.iter().enumerate().any(|entry| shared(&entry)) {
                return Err(wrong(format!("buffer {at} is written and bound twice")));
            }
        }
        let mut totals = Vec::with_capacity(program.spaces.len());
        for space in &program.spaces {
            let total = space.iter().try_fold(1i64, |total, axis| total.checked_mul(extents[axis.0 as usize]));
            totals.push(total.ok_or_else(|| wrong("more elements than can be counted".into()))?);
        }
        let rows = row_lengths(program, &extents);
        let mut launch = Self {
            program,
            accesses: Vec::with_capacity(program.accesses.len()),
            buffers,
            extents,
            totals,
            rows,
            sizes,
            scalars: arguments.scalars.iter().map(|scalar| scalar.argument_bytes().0).collect(),
            block: 0,
            tiling: None,
            fault: AtomicBool::new(false),
        };
        for access in &program.accesses {
            let bound = launch.bind(access).ok_or_else(|| wrong("an index that leaves its buffer".into()))?;
            launch.accesses.push(bound);
        }
        launch.block = launch.block_elements();
        launch.cut_into_tiles();
        Ok(launch)
    }

    /// Notes indices that are out of range, as [`Expr::CheckedIndex`](lazuli_codegen::Expr::CheckedIndex) says: the greatest
    /// past the end, and the least below the start.
    pub fn note(&self, notes: BufferId, site: u32, (high, low): (i32, i32)) {
        let (data, length) = self.buffers[notes.0 as usize];
        let first = 2 * i64::from(site);
        if first + 1 >= length {
            return self.fault.store(true, Ordering::Relaxed);
        }
        // SAFETY: both words lie in the buffer, are aligned, and are reached by atomics alone as long as the launch runs.
        unsafe {
            let words = data.cast::<i32>().add(first as usize);
            AtomicI32::from_ptr(words).fetch_max(high, Ordering::Relaxed);
            AtomicI32::from_ptr(words.add(1)).fetch_min(low, Ordering::Relaxed);
        }
    }

    fn block_elements(&self) -> usize {
        let program = self.program;
        let largest = self.totals.iter().copied().max().unwrap_or(1).clamp(1, LARGEST_BLOCK as i64) as usize;
        let (mut wide, mut most) = (program.wide_bytes, LARGEST_BLOCK);
        match program.mode {
            Mode::Points => wide += kept_bytes(program, &vec![1; self.rows.len()], 1),
            Mode::Blocks { .. } => {
                let kept = kept_bytes(program, &self.rows, 1);
                most = most.min(1 << (KEPT_BYTES / kept.max(1)).max(LEAST_COLUMNS).ilog2());
            }
            Mode::Rows => {}
        }
        let fitting = (CACHE_BYTES / wide.max(1)).clamp(256, LARGEST_BLOCK).min(most);
        (1 << fitting.ilog2()).min(largest.next_multiple_of(64))
    }

    fn cut_into_tiles(&mut self) {
        let program = self.program;
        let axes = &program.spaces[0];
        let fits = program.mode == Mode::Blocks { constant: 0 } && self.totals[0] > self.block as i64;
        if !fits || axes.len() < 2 || self.accesses.iter().any(|access| access.checked) {
            return;
        }
        let extents: Vec<i64> = axes.iter().map(|axis| self.extents[axis.0 as usize]).collect();
        let strides: Vec<Vec<i64>> = program
            .accesses
            .iter()
            .map(|access| {
                let along = |axis| access.along.iter().find(|(along, _)| along == axis);
                axes.iter().map(|axis| along(axis).map_or(0, |&(_, by)| self.factor(by))).collect()
            })
            .collect();
        let bytes = |(strides, access): (&Vec<i64>, &BoundAccess)| -> Vec<i64> {
            let scale = if access.data.is_null() { 0 } else { access.bytes as i64 };
            strides.iter().map(|stride| stride.saturating_mul(scale)).collect()
        };
        let in_bytes: Vec<Vec<i64>> = strides.iter().zip(&self.accesses).map(bytes).collect();
        self.tiling = Tiling::choose(axes, &extents, &in_bytes, self.block);
        if let Some(tiling) = &self.tiling {
            for ((access, strides), form) in self.accesses.iter_mut().zip(&strides).zip(&program.accesses) {
                if form.space == Some(0) {
                    tiling.bend(access, axes, strides, &self.extents);
                }
            }
        }
    }

    fn factor(&self, coefficient: Coefficient) -> i64 {
        match coefficient {
            Coefficient::One => 1,
            Coefficient::Size(SizeId(size)) => self.sizes[size as usize],
        }
    }

    fn bind(&self, access: &Access) -> Option<BoundAccess> {
        let factor = |coefficient| self.factor(coefficient);
        let (data, length, bytes) = match access.buffer {
            Some(buffer) => {
                let (data, length) = self.buffers[buffer.0 as usize];
                (data, length, self.program.buffers[buffer.0 as usize].size_bytes())
            }
            None => (std::ptr::null_mut(), i64::MAX, 8),
        };
        let space = access.space.map_or(&[][..], |space| &self.program.spaces[space]);
        let walk = Walk::new(space.iter().map(|axis| {
            let stride = access.along.iter().find(|(along, _)| along == axis).map_or(0, |&(_, by)| factor(by));
            (self.extents[axis.0 as usize], stride)
        }));
        let axes: SmallVec<[(usize, i64); 4]> =
            access.axes.iter().map(|&(axis, by)| (axis.0 as usize, factor(by))).collect();
        let ahead = access.ahead.map_or(0, |(count, by)| factor(by).saturating_mul(count.into()));
        let offset = access.offset.map_or(0, |SizeId(size)| self.sizes[size as usize]).saturating_add(ahead);
        let empty = self.extents.contains(&0);
        let reach = walk.bounds();
        let checked = access.buffer.is_some() && (empty || !access.narrow.is_empty());
        if access.buffer.is_some() && !checked {
            let (low, high) = axes.iter().fold(reach, |(low, high), &(axis, by)| {
                let far = (self.extents[axis] - 1).saturating_mul(by);
                (low.saturating_add(far.min(0)), high.saturating_add(far.max(0)))
            });
            if offset.saturating_add(low) < 0 || offset.saturating_add(high) >= length {
                return None;
            }
        }
        let regs = |terms: &[(Reg, Coefficient)]| terms.iter().map(|&(reg, by)| (reg, factor(by))).collect();
        Some(BoundAccess {
            data,
            length,
            bytes,
            offset,
            axes,
            narrow: regs(&access.narrow),
            wide: regs(&access.wide),
            walk,
            tile: None,
            reach,
            checked,
        })
    }

    /// The element numbers from and to which a reduction runs, of `total` in all.
    pub fn span(&self, span: Span, total: i64, axes: &[i64]) -> (i64, i64) {
        match span {
            Span::Whole => (0, total),
            Span::Chunk { axis, length } => {
                let length = self.sizes[length.0 as usize];
                let start = axes[axis.0 as usize].saturating_mul(length).clamp(0, total);
                (start, start.saturating_add(length).clamp(start, total))
            }
        }
    }

    /// Runs to the end.
    pub fn run(mut self) -> Result<()> {
        let points = self.totals[0];
        if points == 0 {
            return Ok(());
        }
        let work = points.saturating_mul(self.work(&self.program.body));
        let threads = rayon::current_num_threads() as i64;
        let alone = work < SMALL_WORK || threads == 1;
        let (points, unit) = match self.program.mode {
            _ if self.tiling.is_some() => (self.tiles(), 1),
            Mode::Points => (points, 1),
            Mode::Rows => (points, self.rows_in_block()),
            Mode::Blocks { .. } => {
                // A long loop over few columns: narrower blocks, so that every thread has one.
                let share = ((points as u64).div_ceil(threads as u64) as usize).next_multiple_of(64);
                if !alone && share < self.block {
                    self.block = share;
                }
                (points, self.block as i64)
            }
        };
        let units = (points as u64).div_ceil(unit as u64) as i64;
        // A few tasks for each thread, so that one that is held up does not hold up all.
        let tasks = if alone { 1 } else { units.min(threads * 4) };
        let run_task = |task: i64| {
            // In 128 bits: units * tasks may not fit.
            let edge =
                |task: i64| ((i128::from(units) * i128::from(task) / i128::from(tasks)) as i64 * unit).min(points);
            self.run_range(edge(task), edge(task + 1));
        };
        if tasks == 1 {
            run_task(0);
        } else {
            (0..tasks as usize).into_par_iter().with_max_len(1).for_each(|task| run_task(task as i64));
        }
        if self.fault.load(Ordering::Relaxed) {
            return Err(Error::Internal("host: an index left its buffer; what was read there is zero".into()));
        }
        Ok(())
    }

    /// Steps that one point takes, loops counted as often as they run.
    fn work(&self, steps: &[Step]) -> i64 {
        let total = |axes: &[lazuli_codegen::AxisId]| {
            axes.iter().fold(1i64, |total, axis| total.saturating_mul(self.extents[axis.0 as usize]))
        };
        steps.iter().fold(0i64, |work, step| {
            work.saturating_add(match step {
                Step::Loop(inner) => total(&inner.axes).saturating_mul(self.work(&inner.body) + 1),
                Step::Segments(inner) => self.rows[inner.row].saturating_mul(self.work(&inner.body) + 1),
                Step::Tree(inner) => self.totals[inner.space].saturating_mul(self.work(&inner.body) + 1),
                Step::Aim { .. } | Step::Store { .. } => 0,
                _ => 1,
            })
        })
    }

    /// Rows whose elements are in a block together.
    fn rows_in_block(&self) -> i64 {
        let longest = self.rows.iter().copied().max().unwrap_or(1).max(1);
        (self.block as i64 / longest).max(1)
    }

    fn tiles(&self) -> i64 {
        let Some(tiling) = &self.tiling else { return 0 };
        let (cross, inner) = tiling.counts(&self.extents);
        let in_tile = |axis| self.extents[axis as usize];
        // The axes that are not cut: one index of each in a tile.
        self.totals[0] / (in_tile(tiling.cross.0.0) * in_tile(tiling.inner.0.0)) * cross * inner
    }

    fn run_tile(&self, frame: &mut Frame, tile: i64) {
        let Some(tiling) = &self.tiling else { return };
        let (cross, inner) = tiling.counts(&self.extents);
        let uncut: SmallVec<[_; 4]> = self.program.spaces[0]
            .iter()
            .copied()
            .filter(|&axis| axis != tiling.cross.0 && axis != tiling.inner.0)
            .collect();
        frame.set_indices(&uncut, tile / (cross * inner));
        let start = |number: i64, (axis, size): (lazuli_codegen::AxisId, i64)| {
            (axis, number * size, size.min(self.extents[axis.0 as usize] - number * size))
        };
        let sides = [start(tile / inner % cross, tiling.cross), start(tile % inner, tiling.inner)];
        frame.run_tile(sides, sides[1].2 < tiling.inner.1);
    }

    /// Runs the points `from..to` (of a tiled launch, the tiles) on this thread.
    fn run_range(&self, from: i64, to: i64) {
        let mut frame = Frame::new(self);
        frame.run_prologue();
        let parallel = &self.program.spaces[0];
        match self.program.mode {
            _ if self.tiling.is_some() => (from..to).for_each(|tile| self.run_tile(&mut frame, tile)),
            Mode::Points => {
                for point in from..to {
                    frame.set_indices(parallel, point);
                    frame.run_body(0, 1);
                }
            }
            Mode::Blocks { constant: 0 } | Mode::Rows => {
                let unit = if self.program.mode == Mode::Rows { self.rows_in_block() } else { self.block as i64 };
                let mut start = from;
                while start < to {
                    let n = (to - start).min(unit);
                    frame.run_body(start, n as usize);
                    start += n;
                }
            }
            Mode::Blocks { constant } => {
                let (outer, inner) = parallel.split_at(constant);
                let period: i64 = inner.iter().map(|axis| self.extents[axis.0 as usize]).product();
                let mut start = from;
                while start < to {
                    let n = (to - start).min(self.block as i64).min(period - start % period);
                    frame.set_indices(outer, start / period);
                    frame.run_body(start, n as usize);
                    start += n;
                }
            }
        }
    }
}

/// Elements of each row of a program.
fn row_lengths(program: &Program, extents: &[i64]) -> Vec<i64> {
    let length = |axes: &Vec<lazuli_codegen::AxisId>| {
        axes.iter().fold(1i64, |length, axis| length.saturating_mul(extents[axis.0 as usize]))
    };
    program.rows.iter().map(length).collect()
}

/// Bytes that a program keeps of its rows, with blocks of so many points.
fn kept_bytes(program: &Program, rows: &[i64], block: usize) -> usize {
    let kept = program.registers.iter().filter_map(|register| Some((register.step(block), rows[register.kept?])));
    kept.fold(0, |sum, (step, length)| sum.saturating_add(step.saturating_mul(length as usize)))
}

/// True where a program is meant for such extents.
fn suits(program: &Program, extents: &[i64]) -> bool {
    let rows = row_lengths(program, extents);
    match program.mode {
        Mode::Rows => rows.iter().all(|&length| length <= LONGEST_JOINED_ROW),
        Mode::Points => kept_bytes(program, &rows, 1) <= KEPT_BYTES,
        Mode::Blocks { .. } => {
            let points = program.spaces[0].iter().fold(1i64, |n, axis| n.saturating_mul(extents[axis.0 as usize]));
            let block = points.clamp(1, LEAST_COLUMNS as i64) as usize;
            kept_bytes(program, &rows, block.next_multiple_of(64)) <= KEPT_BYTES
        }
    }
}

/// The host's own memory behind the trait.
pub fn host_memory(memory: &dyn Memory) -> Result<&HostMemory> {
    let memory: &dyn std::any::Any = memory;
    memory.downcast_ref().ok_or_else(|| Error::Internal("host: memory of another runtime".into()))
}
