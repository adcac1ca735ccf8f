//! A kernel made ready to run: steps over registers.
//!
//! A *register* holds one value for each element of a block (wide) or one for all of them (narrow). A *space* is a set of axes
//! whose linear element numbers are cut into blocks: the parallel axes of a `Map`, the axes of each group reduction. A value
//! is wide where it depends on an axis of the space it is computed in. A *pass* is a reduction or a loop at the top level; what
//! one pass computes for each element of a row may be *kept* for a later one. An *access* is an affine index with its terms sorted
//! by where their values come from.

use std::sync::Arc;

use lazuli_codegen::{AxisId, BufferId, Coefficient, DType, ScalarId, SizeId, Span};
use smallvec::SmallVec;

use super::ops::apply::{Fn1, Fn2, Fn3};
use super::ops::fold::Folding;
use super::ops::user::VectorFunction;

/// Number of a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reg(pub u32);

impl Reg {
    /// The number as an index.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// One register, and where its memory lies.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// Bytes of one element.
    pub bytes: usize,
    /// One element for each element of the block; else `count` elements.
    pub wide: bool,
    /// Elements of a narrow register: 1, or the accumulators of a group reduction.
    pub count: usize,
    /// Narrow: bytes from the start of the narrow registers. Wide: bytes of scratch for each element before it.
    pub home: usize,
    /// The row whose elements it keeps from one pass to a later one, by number.
    pub kept: Option<usize>,
}

impl Register {
    /// Bytes from what it held for one element of a row to what it holds for the next, where it keeps them.
    pub fn step(&self, block: usize) -> usize {
        if self.wide { self.bytes * block } else { 8 }
    }
}

/// Number of an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AccessId(pub u32);

/// An affine index whose terms are sorted by how they vary within a block.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The memory addressed; none for an index that is itself the value.
    pub buffer: Option<BufferId>,
    /// The constant.
    pub offset: Option<SizeId>,
    /// So many times a coefficient on top of it.
    pub ahead: Option<(u32, Coefficient)>,
    /// Axes whose index is one for the whole block.
    pub axes: Vec<(AxisId, Coefficient)>,
    /// Narrow index variables.
    pub narrow: Vec<(Reg, Coefficient)>,
    /// Wide index variables; only an index that is itself the value has them.
    pub wide: Vec<(Reg, Coefficient)>,
    /// Axes of the space.
    pub along: Vec<(AxisId, Coefficient)>,
    /// The space that `along` counts in.
    pub space: Option<usize>,
}

/// One step. `wide` steps run over the block, others once.
pub enum Step {
    /// A size argument as an index.
    Size { to: Reg, size: SizeId },
    /// A user scalar.
    Scalar { to: Reg, scalar: ScalarId },
    /// Zero of any type.
    Zero { to: Reg },
    /// One value for each row, copied to every element of the row.
    Spread { to: Reg, from: Reg },
    /// One value, copied to every element. `whole`: to as many as any block will have, else to the block's.
    Splat { to: Reg, from: Reg, whole: bool },
    /// Elements at an affine index. Neighbours in memory are not copied: the register then points at them.
    Load { to: Reg, access: AccessId },
    /// Elements at computed indices.
    Gather { to: Reg, buffer: BufferId, index: Reg },
    /// Elements, as i64, as indices along an axis; those out of range are noted and become 0. `unsigned`: the elements were
    /// u64, of which those past the largest i64 look negative.
    CheckedIndex { to: Reg, from: Reg, extent: SizeId, notes: BufferId, site: u32, unsigned: bool, wide: bool },
    /// An affine index as a value.
    Index { to: Reg, access: AccessId },
    /// One-operand operation.
    Apply1 { run: Fn1, to: Reg, a: Reg, wide: bool },
    /// Two-operand operation.
    Apply2 { run: Fn2, to: Reg, a: Reg, b: Reg, wide: bool },
    /// Three-operand operation.
    Apply3 { run: Fn3, to: Reg, a: Reg, b: Reg, c: Reg, wide: bool },
    /// A function of the user's.
    Call { function: Arc<dyn VectorFunction>, to: Reg, arguments: SmallVec<[Reg; 4]>, wide: bool },
    /// Lets the operation that follows write straight to where `to` will be stored, if those are neighbours.
    Aim { to: Reg, access: AccessId },
    /// Writes elements at an affine index.
    Store { from: Reg, access: AccessId },
    /// Writes elements at computed indices.
    Scatter { from: Reg, buffer: BufferId, index: Reg },
    /// A plain loop that folds into one accumulator for each element.
    Loop(Box<Loop>),
    /// A group reduction, or a pass that folds nothing.
    Tree(Box<TreeFold>),
    /// A pass over the elements of several whole rows.
    Segments(Box<Segments>),
}

/// A plain loop.
pub struct Loop {
    /// Outermost first.
    pub axes: Vec<AxisId>,
    /// Its row, where it is a pass at the top level.
    pub row: Option<usize>,
    /// Which of its elements.
    pub span: Span,
    /// Steps for each element.
    pub body: Vec<Step>,
    /// What is folded.
    pub folds: Vec<LoopFold>,
}

/// One value folded by a [`Loop`].
pub struct LoopFold {
    /// The accumulators, and the result.
    pub acc: Reg,
    /// The value.
    pub value: Reg,
    /// The loops.
    pub ops: Folding,
    /// True where the registers are wide.
    pub wide: bool,
}

/// A group reduction: blocks of its own space, folded into the accumulators of a tree.
pub struct TreeFold {
    /// Its axes are the space's.
    pub space: usize,
    /// Its row.
    pub row: Option<usize>,
    /// Which of its elements.
    pub span: Span,
    /// `Tree::lanes`.
    pub lanes: usize,
    /// `Tree::width`.
    pub width: usize,
    /// Steps for each block.
    pub body: Vec<Step>,
    /// What is folded: accumulators (a narrow register whose first element becomes the result), value, loops.
    pub folds: Vec<(Reg, Reg, Folding)>,
}

/// A pass over the elements of several whole rows, all in the block; each row is folded for itself.
pub struct Segments {
    /// Its row.
    pub row: usize,
    /// `Tree::lanes`.
    pub lanes: usize,
    /// `Tree::width`.
    pub width: usize,
    /// Steps for the block.
    pub body: Vec<Step>,
    /// What is folded: results (one a row), accumulators of one row (narrow), value, loops.
    pub folds: Vec<(Reg, Reg, Reg, Folding)>,
}

/// How the points of the parallel axes are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// In blocks of neighbours. `constant` parallel axes, counted from the outermost, must have one index in each block,
    /// because a chunk of a reduction depends on them.
    Blocks { constant: usize },
    /// One by one, the blocks being those of the reductions.
    Points,
    /// In blocks of neighbours; the passes run over all elements of their rows at once.
    Rows,
}

/// A kernel ready to run.
pub struct Program {
    /// How points are run.
    pub mode: Mode,
    /// The registers.
    pub registers: Vec<Register>,
    /// The spaces; the first is that of the parallel axes.
    pub spaces: Vec<Vec<AxisId>>,
    /// The axes of the passes at the top level, each once.
    pub rows: Vec<Vec<AxisId>>,
    /// The accesses.
    pub accesses: Vec<Access>,
    /// Steps run once by each thread.
    pub prologue: Vec<Step>,
    /// Steps run for each block or point.
    pub body: Vec<Step>,
    /// Bytes of the narrow registers.
    pub narrow_bytes: usize,
    /// Bytes of scratch for each element of a block.
    pub wide_bytes: usize,
    /// Element types of the buffers.
    pub buffers: Vec<DType>,
    /// True for each buffer that is written or noted in.
    pub written: Vec<bool>,
}
