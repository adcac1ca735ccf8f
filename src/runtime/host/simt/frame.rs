//! The registers, masks and arrays of one group, and the steps that need nothing else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use lazuli_codegen::simt::ir::Builtin;

use super::lower::Lowered;
use super::mask::Mask;
use super::program::{Lanes, MaskId, MemorySlot, Reg, Step};

/// What a memory is at the time.
#[derive(Clone, Copy)]
pub struct Bound {
    pub data: *mut u8,
    /// Elements; of an array of the thread, of each.
    pub length: u64,
    pub kind: Kind,
}

/// Who else may reach a memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Only the lanes of this frame, or others that read as well.
    Plain,
    /// Other threads of the process, by atomics.
    Shared,
    /// Each lane its own: elements of one number lie side by side.
    PerLane,
}

impl Bound {
    const NONE: Bound = Bound { data: std::ptr::null_mut(), length: 0, kind: Kind::Plain };
}

/// The first fault of a launch.
#[derive(Default)]
pub struct Faults {
    has_any: AtomicBool,
    first: Mutex<Option<Fault>>,
}

/// What went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// An index out of range: site, axis, index, extent, group and thread.
    Index([u64; 6]),
    /// A barrier that some lanes of a group only came to: how many, of how many that had not returned; and the group.
    Barrier { came: usize, alive: usize, group: u64 },
}

impl Faults {
    pub fn note(&self, fault: Fault) {
        if self.has_any.swap(true, Ordering::Relaxed) && !matches!(fault, Fault::Barrier { .. }) {
            return;
        }
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        // A barrier ends the launch, so it is told before an index.
        if first.is_none() || matches!((*first, fault), (Some(Fault::Index(_)), Fault::Barrier { .. })) {
            *first = Some(fault);
        }
    }

    pub fn first(&self) -> Option<Fault> {
        *self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where groups and threads are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    pub groups: [u32; 3],
    pub threads: [u32; 3],
}

impl Shape {
    /// One row of so many lanes.
    pub fn line(lanes: usize) -> Self {
        Self { groups: [1; 3], threads: [lanes as u32, 1, 1] }
    }

    fn lanes(&self) -> usize {
        self.threads.iter().map(|&extent| extent as usize).product()
    }
}

/// Where number `number` of a box stands that is counted with x innermost.
pub fn coordinates(number: u64, extents: [u32; 3]) -> [u64; 3] {
    let [x, y, _] = extents.map(|extent| u64::from(extent.max(1)));
    [number % x, number / x % y, number / x / y]
}

/// What runs one group at a time.
pub struct Frame<'a> {
    pub(super) lowered: &'a Lowered,
    pub(super) faults: &'a Faults,
    shape: Shape,
    /// How many lanes registers have room for.
    pub(super) capacity: usize,
    /// How many there are.
    pub(super) n: usize,
    /// The first element of each register.
    registers: Vec<*mut u8>,
    pub(super) masks: Vec<Mask>,
    pub(super) memories: Vec<Bound>,
    /// The numbers of elements that an access reaches.
    pub(super) numbers: Vec<u64>,
    /// Lanes whose indices are in range, where not all are.
    pub(super) within: Mask,
    /// Elements as memory holds them.
    pub(super) staging: Vec<u64>,
    /// The number of the group in the grid.
    pub(super) group: u64,
    /// True once the group cannot go on.
    pub(super) is_stopped: bool,
    /// Owns what registers and arrays point into.
    _scratch: Vec<u64>,
}

// SAFETY: the pointers lead into the frame's own scratch, which goes with it, and into memory of a launch, which any thread may
// reach while the launch runs.
unsafe impl Send for Frame<'_> {}

impl<'a> Frame<'a> {
    /// Registers for the lanes of a group of `shape`. `slices` are the kernel's; `dynamic_bytes` is the length of the group's
    /// array that the launch sets.
    pub fn new(lowered: &'a Lowered, faults: &'a Faults, shape: Shape, slices: &[Bound], dynamic_bytes: usize) -> Self {
        let program = &lowered.program;
        let capacity = shape.lanes();
        let words = |bytes: usize| bytes.div_ceil(8).next_multiple_of(8);
        let array_words = |slot: &MemorySlot| match *slot {
            MemorySlot::Group { elements, bytes } => words(elements * bytes),
            MemorySlot::Dynamic { .. } => words(dynamic_bytes),
            MemorySlot::Thread { elements, bytes } => words(elements * bytes * capacity),
            MemorySlot::Slice | MemorySlot::Given => 0,
        };
        let register_words: usize = program.registers.iter().map(|bytes| words(bytes * capacity)).sum();
        let all_words = register_words + program.memories.iter().map(array_words).sum::<usize>();
        // Cleared: steps compute every lane, also those that nothing was ever assigned in.
        let mut scratch = vec![0u64; all_words];
        let mut next = scratch.as_mut_ptr();
        let mut take = |words: usize| {
            let taken = next.cast::<u8>();
            // Wrapping only in name: what is taken was counted.
            next = next.wrapping_add(words);
            taken
        };
        let registers = program.registers.iter().map(|bytes| take(words(bytes * capacity))).collect();
        let mut slices = slices.iter();
        let memories = program
            .memories
            .iter()
            .map(|slot| match *slot {
                MemorySlot::Slice => slices.next().copied().unwrap_or(Bound::NONE),
                MemorySlot::Given => Bound::NONE,
                MemorySlot::Group { elements, .. } => {
                    Bound { data: take(array_words(slot)), length: elements as u64, kind: Kind::Plain }
                }
                MemorySlot::Dynamic { bytes } => {
                    let length = (dynamic_bytes / bytes) as u64;
                    Bound { data: take(array_words(slot)), length, kind: Kind::Plain }
                }
                MemorySlot::Thread { elements, .. } => {
                    Bound { data: take(array_words(slot)), length: elements as u64, kind: Kind::PerLane }
                }
            })
            .collect();
        let mut frame = Self {
            lowered,
            faults,
            shape,
            capacity,
            n: capacity,
            registers,
            masks: vec![Mask::none(capacity); program.masks],
            memories,
            numbers: vec![0; capacity],
            within: Mask::none(capacity),
            staging: vec![0; capacity],
            group: 0,
            is_stopped: false,
            _scratch: scratch,
        };
        frame.fill_constants();
        frame
    }

    fn fill_constants(&mut self) {
        let program = &self.lowered.program;
        for &(reg, value) in &program.constants {
            self.splat(reg, value);
        }
        for &(builtin, reg) in &program.builtins {
            match builtin {
                Builtin::ThreadIndex(axis) => {
                    let threads = self.shape.threads;
                    for (lane, index) in self.lanes_mut::<u64>(reg).iter_mut().enumerate() {
                        *index = coordinates(lane as u64, threads)[usize::from(axis)];
                    }
                }
                Builtin::GroupSize(axis) => {
                    self.splat(reg, u64::from(self.shape.threads[usize::from(axis)]).to_ne_bytes());
                }
                Builtin::GridSize(axis) => {
                    self.splat(reg, u64::from(self.shape.groups[usize::from(axis)]).to_ne_bytes());
                }
                Builtin::GroupIndex(_) => {}
            }
        }
    }

    /// Runs the group of a number. `scalars` are the arguments that are values.
    pub fn run_group(&mut self, group: u64, scalars: &[[u8; 8]]) {
        let lowered = self.lowered;
        let program = &lowered.program;
        self.group = group;
        let at = coordinates(group, self.shape.groups);
        for &(builtin, reg) in &program.builtins {
            if let Builtin::GroupIndex(axis) = builtin {
                self.splat(reg, at[usize::from(axis)].to_ne_bytes());
            }
        }
        for (&reg, &value) in program.scalars.iter().zip(scalars) {
            self.splat(reg, value);
        }
        self.run_body(self.capacity);
    }

    /// Runs the body for the first `n` lanes, whose arguments are in their registers.
    pub fn run_body(&mut self, n: usize) {
        let lowered = self.lowered;
        let program = &lowered.program;
        self.n = n.min(self.capacity);
        self.is_stopped = false;
        self.masks[program.entry.at()].set_first(self.n);
        self.masks[program.alive.at()].set_first(self.n);
        self.run(&program.body, program.entry);
    }

    /// The first element of a register.
    pub fn register(&self, reg: Reg) -> *mut u8 {
        self.registers[reg.at()]
    }

    /// A register's elements.
    pub(super) fn lanes<T>(&self, reg: Reg) -> &'a [T] {
        // SAFETY: a register of the type's size has `n` elements, all of which were cleared or written, and is aligned to 64
        // bytes or at least 8. No step writes it while it is read here.
        unsafe { std::slice::from_raw_parts(self.registers[reg.at()].cast(), self.n) }
    }

    fn lanes_mut<T>(&mut self, reg: Reg) -> &mut [T] {
        // SAFETY: as above, and the frame is borrowed meanwhile.
        unsafe { std::slice::from_raw_parts_mut(self.registers[reg.at()].cast(), self.n) }
    }

    /// One value in every lane, as registers hold it.
    fn splat(&mut self, reg: Reg, value: [u8; 8]) {
        let [a, b, c, d, ..] = value;
        match self.lowered.program.registers[reg.at()] {
            1 => self.lanes_mut::<u8>(reg).fill(a),
            2 => self.lanes_mut::<u16>(reg).fill(u16::from_ne_bytes([a, b])),
            4 => self.lanes_mut::<u32>(reg).fill(u32::from_ne_bytes([a, b, c, d])),
            _ => self.lanes_mut::<u64>(reg).fill(u64::from_ne_bytes(value)),
        }
    }

    /// Runs a step that does the same whatever lanes are on.
    pub(super) fn run_plain(&mut self, step: &Step) {
        let count = |lanes| if lanes == Lanes::First { 1 } else { self.n };
        match *step {
            // SAFETY (of the calls below): lowering gives each operation registers of its own types, which have `n` elements,
            // and a target that is none of the operands.
            Step::Apply1 { run, to, a, lanes } => unsafe { run(self.register(to), self.register(a), count(lanes)) },
            // SAFETY: as above.
            Step::Apply2 { run, to, a, b, lanes } => unsafe {
                run(self.register(to), self.register(a), self.register(b), count(lanes));
            },
            // SAFETY: as above.
            Step::Apply3 { run, to, a, b, c, lanes } => unsafe {
                run(self.register(to), self.register(a), self.register(b), self.register(c), count(lanes));
            },
            Step::Copy { to, from, lanes } => self.copy_lanes(to, from, count(lanes)),
            Step::Splat { to, from } => {
                let mut value = [0; 8];
                let bytes = self.lowered.program.registers[from.at()];
                // SAFETY: a register's first element, of so many bytes.
                unsafe { std::ptr::copy_nonoverlapping(self.register(from), value.as_mut_ptr(), bytes) }
                self.splat(to, value);
            }
            Step::Length { to, memory, lanes } => {
                let (length, count) = (self.memories[memory.at()].length, count(lanes));
                self.lanes_mut::<u64>(to)[..count].fill(length);
            }
            Step::Clear { memory } => {
                let Bound { data, length, .. } = self.memories[memory.at()];
                if let MemorySlot::Thread { bytes, .. } = self.lowered.program.memories[memory.at()] {
                    // SAFETY: an array of the frame's own, of so many elements for each lane.
                    unsafe { data.write_bytes(0, length as usize * bytes * self.capacity) }
                }
            }
            _ => {}
        }
    }

    /// Copies every lane.
    pub(super) fn copy(&self, to: Reg, from: Reg) {
        self.copy_lanes(to, from, self.n);
    }

    fn copy_lanes(&self, to: Reg, from: Reg, n: usize) {
        let bytes = self.lowered.program.registers[to.at()] * n;
        // SAFETY: both have so many bytes; registers are one or lie apart.
        unsafe { std::ptr::copy(self.register(from), self.register(to), bytes) }
    }

    /// Copies the lanes that are on.
    pub(super) fn assign(&mut self, to: Reg, from: Reg, mask: MaskId) {
        if self.masks[mask.at()].count() == self.n {
            return self.copy(to, from);
        }
        fn blend<T: Copy>(to: &mut [T], from: &[T], mask: &[u8]) {
            for ((to, &from), &on) in to.iter_mut().zip(from).zip(mask) {
                *to = if on != 0 { from } else { *to };
            }
        }
        if to == from {
            return;
        }
        macro_rules! blend_as {
            ($word:ty) => {{
                let from = self.lanes::<$word>(from);
                // SAFETY: another register than `from`, which the frame owns.
                let to = unsafe { std::slice::from_raw_parts_mut(self.register(to).cast::<$word>(), self.n) };
                blend(to, from, self.masks[mask.at()].lanes());
            }};
        }
        match self.lowered.program.registers[to.at()] {
            1 => blend_as!(u8),
            2 => blend_as!(u16),
            4 => blend_as!(u32),
            _ => blend_as!(u64),
        }
    }
}
