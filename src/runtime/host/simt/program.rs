//! What a kernel or a function is lowered to: steps over registers of as many elements as there are lanes.

use lazuli_codegen::DType;
use lazuli_codegen::simt::ir::{AtomicOp, Builtin};
use smallvec::SmallVec;

use super::advance::Advance;
use crate::runtime::host::ops::apply::{Fn1, Fn2, Fn3};

/// A register: an element for each lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reg(pub u32);

/// Which lanes something is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MaskId(pub u32);

/// A slice, an array, or what a function is given for its parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryId(pub u32);

impl Reg {
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

impl MaskId {
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

impl MemoryId {
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// A lowered kernel or function.
#[derive(Default)]
pub struct Program {
    /// Bytes of an element, by register.
    pub registers: Vec<usize>,
    /// Registers that hold one value in every lane and always, as they hold it.
    pub constants: Vec<(Reg, [u8; 8])>,
    /// Registers that say where the thread is.
    pub builtins: Vec<(Builtin, Reg)>,
    /// The registers of the kernel's scalars or of the function's parameters, in order.
    pub scalars: Vec<Reg>,
    /// How many masks there are.
    pub masks: usize,
    /// By number of memory.
    pub memories: Vec<MemorySlot>,
    /// What to run, with the lanes of `entry`.
    pub body: Vec<Step>,
    /// The lanes that run.
    pub entry: MaskId,
    /// Those of them that have not returned.
    pub alive: MaskId,
    /// Where a function leaves its result.
    pub result: Option<Reg>,
}

/// What a memory is before a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemorySlot {
    /// The kernel's next slice.
    Slice,
    /// An array of the group, of so many elements of so many bytes.
    Group { elements: usize, bytes: usize },
    /// The group's array whose length the launch sets.
    Dynamic { bytes: usize },
    /// An array of each thread.
    Thread { elements: usize, bytes: usize },
    /// Whatever a function is given.
    Given,
}

/// Which lanes a step computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lanes {
    /// The first, for values that all lanes share.
    First,
    All,
}

/// One step.
pub enum Step {
    Apply1 {
        run: Fn1,
        to: Reg,
        a: Reg,
        lanes: Lanes,
    },
    Apply2 {
        run: Fn2,
        to: Reg,
        a: Reg,
        b: Reg,
        lanes: Lanes,
    },
    Apply3 {
        run: Fn3,
        to: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
        lanes: Lanes,
    },
    /// Copies lanes as they are.
    Copy {
        to: Reg,
        from: Reg,
        lanes: Lanes,
    },
    /// The first lane into every lane; of one register, or of two.
    Splat {
        to: Reg,
        from: Reg,
    },
    /// Copies the lanes that are on.
    Assign {
        to: Reg,
        from: Reg,
    },
    /// The number of elements.
    Length {
        to: Reg,
        memory: MemoryId,
        lanes: Lanes,
    },
    /// Sets an array of the thread to zero.
    Clear {
        memory: MemoryId,
    },
    Load {
        to: Reg,
        access: Access,
    },
    Store {
        from: Reg,
        access: Access,
    },
    Atomic(Box<Atomic>),
    If(Box<If>),
    Repeat(Box<Repeat>),
    /// Runs steps for the lanes whose condition is as wanted.
    Masked {
        condition: Reg,
        wanted: bool,
        mask: MaskId,
        steps: Vec<Step>,
    },
    Break {
        running: MaskId,
    },
    Continue,
    Return {
        value: Option<(Reg, Reg)>,
        alive: MaskId,
    },
    Barrier,
    Call(Box<Call>),
}

/// One access.
pub struct Access {
    pub memory: MemoryId,
    /// A register of u64 for each axis.
    pub index: SmallVec<[Reg; 3]>,
    /// The extents, where they do not depend on what the memory is.
    pub extents: SmallVec<[u64; 3]>,
    /// The number of the access in the kernel.
    pub site: u32,
    /// Bytes of an element in memory.
    pub bytes: usize,
    /// Makes register values of memory's, or memory's of a register's, where they differ.
    pub convert: Option<Fn1>,
}

pub struct Atomic {
    pub op: AtomicOp,
    pub dtype: DType,
    pub access: Access,
    pub value: Reg,
    pub expected: Option<Reg>,
    pub before: Option<Reg>,
}

pub struct If {
    pub condition: Reg,
    pub then: Vec<Step>,
    pub otherwise: Vec<Step>,
    /// The lanes of each.
    pub masks: [MaskId; 2],
    /// True where lanes may leave by `Break`, `Continue` or `Return`.
    pub exits: bool,
}

pub struct Repeat {
    /// What counts the rounds, if anything does.
    pub counter: Option<Counter>,
    /// The lanes that are in the loop, and those of them that are not done with the round.
    pub running: MaskId,
    pub current: MaskId,
    pub body: Vec<Step>,
    /// True where lanes may leave a round before its end.
    pub exits: bool,
    /// True where lanes may return.
    pub returns: bool,
    /// The lanes of the function that have not returned.
    pub alive: MaskId,
}

pub struct Counter {
    pub var: Reg,
    pub end: Reg,
    /// Holds `var < end`.
    pub goes_on: Reg,
    pub less: Fn2,
    pub advance: Advance,
    pub step: u64,
    /// The first where all lanes count alike.
    pub lanes: Lanes,
}

pub struct Call {
    /// Arguments and the registers they go to.
    pub values: Vec<(Reg, Reg)>,
    /// Memory, and what it is called in the function.
    pub memories: Vec<(MemoryId, MemoryId)>,
    /// Where the result goes, and where the function leaves it.
    pub result: Option<(Reg, Reg)>,
    /// Which of the program's functions.
    pub function: usize,
}

/// A function as its callers run it.
pub struct Callee {
    pub body: Vec<Step>,
    pub entry: MaskId,
    pub alive: MaskId,
}
