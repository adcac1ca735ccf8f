//! The interpreter: one thread's registers, and the steps run over them block by block.

use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;

use lazuli_codegen::AxisId;
use smallvec::SmallVec;

use super::checked_index;
use super::launch::{BoundAccess, Launch};
use super::program::{AccessId, Mode, Reg, Step};
use super::transfer;
use super::walk::Walk;

/// One cache line of scratch.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// A register that keeps what it held in each block of a row, or in each turn of a loop over it.
struct Keeper {
    reg: usize,
    row: usize,
    /// Its memory.
    data: *mut u8,
    /// Bytes to the next element of the row.
    step: usize,
}

/// What one thread holds while it runs its share of a launch.
pub struct Frame<'a> {
    pub(super) launch: &'a Launch<'a>,
    /// Where each register's elements are now: at home, or in an input or output.
    at: Vec<*mut u8>,
    /// Each register's own memory.
    home: Vec<*mut u8>,
    /// The index of each axis that has one index for the whole block.
    pub(super) axes: Vec<i64>,
    /// The block: its first element number, and its elements.
    pub(super) start: i64,
    pub(super) n: usize,
    /// Elements of each row, in a pass over the elements of several.
    pub(super) row_length: usize,
    /// The registers that keep rows.
    kept: SmallVec<[Keeper; 2]>,
    /// True while the tile is cut short along the innermost axis.
    short: bool,
    /// Owns what `home` points into.
    _scratch: Vec<MaybeUninit<Line>>,
}

impl<'a> Frame<'a> {
    /// Registers with room for the launch's blocks.
    pub fn new(launch: &'a Launch<'a>) -> Self {
        let program = launch.program;
        let narrow_bytes = program.narrow_bytes.next_multiple_of(64);
        let kept_from = (narrow_bytes + program.wide_bytes * launch.block).next_multiple_of(64);
        let keepers = || {
            let in_turns = matches!(program.mode, Mode::Blocks { .. });
            let registers = program.registers.iter().enumerate().filter(|_| program.mode != Mode::Rows);
            registers.scan(kept_from, move |from, (reg, register)| {
                let Some(row) = register.kept else { return Some(None) };
                let step = register.step(if in_turns { launch.block } else { 1 });
                let offset = *from;
                *from += (step * launch.rows[row] as usize).next_multiple_of(64);
                Some(Some((reg, row, offset, step, *from)))
            })
        };
        let bytes = keepers().flatten().last().map_or(kept_from, |(.., end)| end);
        // Not cleared: every step writes its register before another reads it, and small launches should stay cheap.
        let mut scratch: Vec<MaybeUninit<Line>> = Vec::with_capacity(bytes.div_ceil(64).max(1));
        let base = scratch.as_mut_ptr().cast::<u8>();
        let home: Vec<*mut u8> = program
            .registers
            .iter()
            .map(|register| {
                let offset = if register.wide { narrow_bytes + register.home * launch.block } else { register.home };
                // SAFETY: homes lie within the bytes that were just counted.
                unsafe { base.add(offset) }
            })
            .collect();
        let kept = keepers()
            .flatten()
            .map(|(reg, row, offset, step, _)| {
                // SAFETY: as above.
                Keeper { reg, row, data: unsafe { base.add(offset) }, step }
            })
            .collect();
        Self {
            launch,
            at: home.clone(),
            home,
            axes: vec![0; launch.extents.len()],
            start: 0,
            n: 1,
            short: false,
            row_length: 1,
            kept,
            _scratch: scratch,
        }
    }

    /// Sets the indices of axes from their linear element number, outermost first.
    pub fn set_indices(&mut self, axes: &[AxisId], mut number: i64) {
        for axis in axes.iter().rev() {
            let extent = self.launch.extents[axis.0 as usize].max(1);
            self.axes[axis.0 as usize] = number % extent;
            number /= extent;
        }
    }

    /// Runs what needs to be run once.
    pub fn run_prologue(&mut self) {
        self.run(&self.launch.program.prologue);
    }

    /// Runs the kernel's body for `n` points from `start`.
    pub fn run_body(&mut self, start: i64, n: usize) {
        (self.start, self.n) = (start, n);
        self.run(&self.launch.program.body);
    }

    /// Runs the kernel's body for the points of a tile: for its two axes where it starts and its extent.
    pub fn run_tile(&mut self, sides: [(AxisId, i64, i64); 2], short: bool) {
        for (axis, start, _) in sides {
            self.axes[axis.0 as usize] = start;
        }
        self.short = short;
        self.run_body(0, (sides[0].2 * sides[1].2) as usize);
    }

    /// The path of an access through the block.
    #[inline]
    fn walk<'b>(&self, access: &'b BoundAccess) -> &'b Walk {
        match &access.tile {
            None => &access.walk,
            Some(tile) if self.short => &tile.short,
            Some(tile) => &tile.whole,
        }
    }

    /// Goes to element `number` of a row, in the registers that keep it.
    #[inline]
    pub(super) fn move_kept(&mut self, row: Option<usize>, number: i64) {
        for keeper in self.kept.iter().filter(|keeper| Some(keeper.row) == row) {
            // Wrapping: never past the row's memory, or the block would not be run.
            self.at[keeper.reg] = keeper.data.wrapping_add(number as usize * keeper.step);
        }
    }

    /// The register's own memory, for the present block.
    #[inline]
    fn own(&self, reg: Reg) -> *mut u8 {
        if self.is_kept(reg) { self.at(reg) } else { self.home[reg.at()] }
    }

    /// True where what a register held in earlier blocks is used again, so that it must not point elsewhere meanwhile.
    #[inline]
    fn is_kept(&self, reg: Reg) -> bool {
        self.launch.program.registers[reg.at()].kept.is_some()
    }

    #[inline]
    pub(super) fn at(&self, reg: Reg) -> *mut u8 {
        self.at[reg.at()]
    }

    #[inline]
    pub(super) fn count(&self, wide: bool) -> usize {
        if wide { self.n } else { 1 }
    }

    pub(super) fn run(&mut self, steps: &'a [Step]) {
        let registers = &self.launch.program.registers;
        for step in steps {
            match step {
                // SAFETY (of the calls below): lowering gives each operation registers of its own types; a register has
                // `block` elements if wide, at least n; a target is at home or in an output, where no operand is.
                Step::Apply1 { run, to, a, wide } => unsafe { run(self.at(*to), self.at(*a), self.count(*wide)) },
                // SAFETY: as above.
                Step::Apply2 { run, to, a, b, wide } => unsafe {
                    run(self.at(*to), self.at(*a), self.at(*b), self.count(*wide));
                },
                // SAFETY: as above.
                Step::Apply3 { run, to, a, b, c, wide } => unsafe {
                    run(self.at(*to), self.at(*a), self.at(*b), self.at(*c), self.count(*wide));
                },
                Step::Call { function, to, arguments, wide } => {
                    let arguments: SmallVec<[*const u8; 4]> =
                        arguments.iter().map(|reg| self.at(*reg).cast_const()).collect();
                    // SAFETY: as above.
                    unsafe { function.run(&arguments, self.at(*to), self.count(*wide)) }
                }
                Step::Load { to, access } => self.load(*to, *access),
                Step::Aim { to, access } => self.aim(*to, *access),
                Step::Store { from, access } => self.store(*from, *access),
                Step::Gather { to, buffer, index } => {
                    let (data, length) = self.launch.buffers[buffer.0 as usize];
                    let bytes = registers[to.at()].bytes;
                    let indices = self.indices(*index);
                    if transfer::all_within(indices, length) {
                        // SAFETY: every index is within the buffer, whose elements have the register's size.
                        unsafe { transfer::gather(bytes, data, indices, self.at(*to)) }
                    } else {
                        self.fail(*to);
                    }
                }
                Step::Scatter { from, buffer, index } => {
                    let (data, length) = self.launch.buffers[buffer.0 as usize];
                    let indices = self.indices(*index);
                    if transfer::all_within(indices, length) {
                        // SAFETY: as for the gather; points write disjoint elements.
                        unsafe { transfer::scatter(registers[from.at()].bytes, self.at(*from), indices, data) }
                    } else {
                        self.launch.fault.store(true, Ordering::Relaxed);
                    }
                }
                Step::CheckedIndex { to, from, extent, notes, site, unsigned, wide } => {
                    let n = self.count(*wide);
                    // SAFETY: index registers and those of i64 hold as many of them as the block has elements if wide.
                    let (elements, indices) = unsafe {
                        let elements = std::slice::from_raw_parts(self.at(*from).cast::<i64>(), n);
                        (elements, transfer::uninitialised(self.at(*to).cast::<i64>(), n))
                    };
                    let extent = self.launch.sizes[extent.0 as usize];
                    if !checked_index::check_all(elements, extent, *unsigned, indices) {
                        self.launch.note(*notes, *site, checked_index::wrong(elements, extent, *unsigned));
                    }
                }
                Step::Index { to, access } => self.index(*to, *access),
                Step::Splat { to, from, whole } => {
                    let n = if *whole { self.launch.block } else { self.n };
                    // SAFETY: the target is wide, of the same element size.
                    unsafe { transfer::splat(registers[to.at()].bytes, self.at(*from), n, self.at(*to)) }
                }
                Step::Spread { to, from } => {
                    let (rows, length) = (self.n / self.row_length, self.row_length);
                    // SAFETY: both are wide, of the same element size; the source has an element for each row.
                    unsafe { transfer::spread(registers[to.at()].bytes, self.at(*from), rows, length, self.at(*to)) }
                }
                Step::Size { to, size } => {
                    // SAFETY: a narrow register has eight bytes, aligned.
                    unsafe { self.at(*to).cast::<i64>().write(self.launch.sizes[size.0 as usize]) }
                }
                Step::Scalar { to, scalar } => {
                    // SAFETY: as above.
                    unsafe { self.at(*to).cast::<[u8; 8]>().write(self.launch.scalars[scalar.0 as usize]) }
                }
                // SAFETY: as above.
                Step::Zero { to } => unsafe { self.at(*to).cast::<u64>().write(0) },
                Step::Loop(inner) => self.run_loop(inner),
                Step::Tree(inner) => self.run_tree(inner),
                Step::Segments(inner) => self.run_segments(inner),
            }
        }
    }

    /// The part of an access that is one for the whole block.
    #[inline]
    fn base(&self, access: &BoundAccess) -> i64 {
        let axes = access.axes.iter().fold(access.offset, |sum, &(axis, by)| sum + self.axes[axis] * by);
        access.narrow.iter().fold(axes, |sum, &(reg, by)| {
            // SAFETY: index registers hold i64.
            sum.wrapping_add(unsafe { self.at(reg).cast::<i64>().read() }.wrapping_mul(by))
        })
    }

    /// True where every element that the access can reach from `base` is in its buffer.
    #[inline]
    fn is_within(access: &BoundAccess, base: i64) -> bool {
        !access.checked
            || (base.saturating_add(access.reach.0) >= 0 && base.saturating_add(access.reach.1) < access.length)
    }

    fn fail(&mut self, to: Reg) {
        let register = self.launch.program.registers[to.at()];
        self.launch.fault.store(true, Ordering::Relaxed);
        self.at[to.at()] = self.own(to);
        // SAFETY: the register's own memory, as large as that.
        unsafe { self.at(to).write_bytes(0, register.bytes * self.count(register.wide)) }
    }

    fn load(&mut self, to: Reg, access: AccessId) {
        let launch = self.launch;
        let access = &launch.accesses[access.0 as usize];
        let base = self.base(access);
        if !Self::is_within(access, base) {
            return self.fail(to);
        }
        let kept = self.is_kept(to);
        if !launch.program.registers[to.at()].wide {
            if kept {
                // SAFETY: an element within the buffer, and the register's own memory, which lies apart.
                unsafe { std::ptr::copy_nonoverlapping(element(access, base), self.own(to), access.bytes) }
            } else {
                self.at[to.at()] = element(access, base);
            }
            return;
        }
        let walk = self.walk(access);
        if walk.stride() == 1
            && !kept
            && let Some(index) = walk.one_run(self.start, self.n)
        {
            self.at[to.at()] = element(access, base + index);
            return;
        }
        let home = self.own(to);
        self.at[to.at()] = home;
        // SAFETY: the launch, or the check above, saw that every index is within the buffer.
        unsafe { transfer::load(access.bytes, element(access, base), walk, self.start, self.n, home) }
    }

    fn aim(&mut self, to: Reg, access: AccessId) {
        let launch = self.launch;
        let access = &launch.accesses[access.0 as usize];
        let base = self.base(access);
        let walk = self.walk(access);
        let run = if walk.stride() == 1 { walk.one_run(self.start, self.n) } else { None };
        self.at[to.at()] = match run.filter(|_| !self.is_kept(to)) {
            Some(index) if Self::is_within(access, base) => element(access, base + index),
            _ => self.own(to),
        };
    }

    fn store(&mut self, from: Reg, access: AccessId) {
        let launch = self.launch;
        let access = &launch.accesses[access.0 as usize];
        let base = self.base(access);
        let source = self.at(from);
        if !Self::is_within(access, base) {
            return launch.fault.store(true, Ordering::Relaxed);
        }
        let n = self.count(launch.program.registers[from.at()].wide);
        let walk = self.walk(access);
        if let Some(index) = walk.one_run(self.start, n).filter(|_| walk.stride() == 1 || n == 1) {
            let target = element(access, base + index);
            if target != source {
                // SAFETY: n elements within the buffer, which no register but an aimed one points into.
                unsafe { std::ptr::copy_nonoverlapping(source, target, n * access.bytes) }
            }
            return;
        }
        // SAFETY: every index is within the buffer, and points write disjoint elements.
        unsafe { transfer::store(access.bytes, source, walk, self.start, n, element(access, base)) }
    }

    fn index(&mut self, to: Reg, access: AccessId) {
        let launch = self.launch;
        let access = &launch.accesses[access.0 as usize];
        let base = self.base(access);
        let n = self.count(launch.program.registers[to.at()].wide);
        let data = self.at(to).cast::<i64>();
        let walk = self.walk(access);
        let stride = walk.stride();
        walk.runs(self.start, n, |done, index, length| {
            // SAFETY: index registers hold i64, as many as the block has elements if wide.
            let run = unsafe { transfer::uninitialised(data.add(done), length) };
            for (i, value) in run.iter_mut().enumerate() {
                value.write(base + index + i as i64 * stride);
            }
        });
        // SAFETY: the runs cover the n elements, which are initialised now.
        let values = unsafe { std::slice::from_raw_parts_mut(data, n) };
        for &(reg, by) in &access.wide {
            for (value, &term) in values.iter_mut().zip(self.indices(reg)) {
                *value = value.wrapping_add(term.wrapping_mul(by));
            }
        }
    }

    /// The block's elements of a wide index register.
    fn indices(&self, reg: Reg) -> &'a [i64] {
        // SAFETY: index registers hold i64, at least n of them if wide, and no step writes one while it reads it.
        unsafe { std::slice::from_raw_parts(self.at(reg).cast::<i64>(), self.n) }
    }
}

/// The address of an element.
#[inline]
fn element(access: &BoundAccess, index: i64) -> *mut u8 {
    // Wrapping: the base of a walk with negative strides may lie outside the buffer as long as no element does.
    access.data.wrapping_offset(index as isize * access.bytes as isize)
}
