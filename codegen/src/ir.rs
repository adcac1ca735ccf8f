//! The kernel IR: what a kernel computes, and nothing of how threads share the work.
//!
//! A kernel iterates over its *parallel axes*: every point runs `body` once, and points are independent. Inside, `Let`
//! names a value, `Store` writes one element, `Reduce` folds a nested body over further axes, and `Loop` runs a body over
//! axes that were reduced before it, with the results at hand. Extents, strides and offsets are *sizes*, numbered launch
//! arguments, so that one kernel serves every extent; only a stride of one is written into the structure. User scalars are
//! launch arguments too.
//!
//! The [`Schedule`](crate::Schedule) beside it says how a device runs it.

use crate::simt::Function;
use crate::{BinaryOp, DType, ReduceOp, UnaryOp};

/// A kernel, ready to be emitted or run by the host.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kernel {
    /// A legal C identifier that says what is computed, such as `mul_add_sqrt_f32`. It is part of the key.
    pub name: String,
    /// The integer type of all index arithmetic.
    pub index: IndexWidth,
    /// Pointer parameters, first in the parameter list.
    pub buffers: Vec<BufferParam>,
    /// How many size parameters follow the pointers: i32 or i64 by `index`.
    pub sizes: u32,
    /// User scalars, last in the parameter list. f16 and bf16 are passed as f32.
    pub scalars: Vec<DType>,
    /// Every axis of the kernel, parallel or reduced.
    pub axes: Vec<Axis>,
    /// The parallel axes, outermost first. Empty for a 0-d kernel, which runs `body` once.
    pub parallel: Vec<AxisId>,
    /// The type of each variable, by number. A variable is assigned once.
    pub vars: Vec<VarType>,
    /// What one point of the parallel axes computes.
    pub body: Vec<Stmt>,
}

/// Width of index arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum IndexWidth {
    I32,
    I64,
}

/// Number of an axis in [`Kernel::axes`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AxisId(pub u32);

/// Number of a variable in [`Kernel::vars`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Var(pub u32);

/// Number of a size parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SizeId(pub u32);

/// Number of a pointer parameter in [`Kernel::buffers`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BufferId(pub u32);

/// Number of a user scalar in [`Kernel::scalars`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ScalarId(pub u32);

/// A pointer parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BufferParam {
    /// Element type in memory.
    pub dtype: DType,
    /// Read or written. No kernel reads a buffer that it writes.
    pub access: Access,
}

/// What a kernel does with a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Only read.
    Read,
    /// Only written.
    Write,
    /// Of this launch alone: what a [`Combine`] keeps there means nothing before and after.
    Scratch,
    /// Of this launch alone, u32 and all zero before it: what a [`Combine`] counts in.
    Counter,
    /// Two i32 for each [`Expr::CheckedIndex`] site, zero before the launch: the greatest index past the end, and the least
    /// one below the start. Raised by atomic maximum and minimum, so that what they hold in the end depends on no timing.
    Note,
}

/// A loop axis; its index runs from 0 to its extent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Axis {
    /// The size parameter that holds the extent.
    pub extent: SizeId,
}

/// What a variable holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VarType {
    /// An element. f16 and bf16 are held as an f32 already rounded to the type.
    Value(DType),
    /// An index, in the kernel's index width.
    Index,
}

/// One statement.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Stmt {
    /// Names a value. The type is `vars[var]`.
    Let {
        /// The variable assigned.
        var: Var,
        /// Its value.
        expr: Expr,
    },
    /// Writes one element.
    Store {
        /// The buffer written.
        buffer: BufferId,
        /// The element's index.
        at: Affine,
        /// The value, of the buffer's element type.
        value: Var,
        /// True where neighbours along the vectorised axis (as for [`Expr::Load`]) are neighbours in memory and each run of
        /// `width` of them is aligned to its size.
        wide: bool,
    },
    /// Folds a body over axes.
    Reduce(Reduce),
    /// Folds values of the points along a parallel axis.
    Combine(Combine),
    /// Runs a body for every element of axes, after the reductions over them.
    Loop(Loop),
}

/// A loop at the top level: for every index of `axes`, run `body`, which stores.
///
/// Its elements are numbered and dealt to lanes as those of a [`Reduce`] over the same axes. A variable assigned in the body
/// of an earlier top-level `Reduce` or `Loop` over the same axes and span may be used in the body of a later one: it is the
/// value at the same element. A softmax is a `Reduce` for the maximum, a `Reduce` that assigns `e = exp(x - maximum)`
/// and folds it, and a `Loop` that stores `e / sum`. Whether the value is kept on the chip or computed again is the
/// schedule's matter, and never changes a bit.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Loop {
    /// The axes, outermost first.
    pub axes: Vec<AxisId>,
    /// Which element numbers this point runs through.
    pub span: Span,
    /// Statements run for each element.
    pub body: Vec<Stmt>,
}

/// A reduction: for every index of `axes`, in row-major order, run `body` and fold the named values.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reduce {
    /// The axes folded away, outermost first; element number r counts through them in row-major order.
    pub axes: Vec<AxisId>,
    /// Which element numbers this point folds: all of them, or one chunk.
    pub span: Span,
    /// How the folded values are combined; it fixes every bit of the result.
    pub tree: Tree,
    /// Statements run for each element.
    pub body: Vec<Stmt>,
    /// The values folded; all are ready at the end of the body.
    pub folds: Vec<Fold>,
}

/// A reduction over the points along the first parallel axis: every point hands in a value, and once all have, the results
/// are theirs. It stands at the top level, after the reductions of chunks whose results it folds.
///
/// Where nothing after it depends on the axis, one point is as good as another, and no point need wait: the last group to
/// hand in its values goes on alone. Else all points wait ([`Kernel::waits`](crate::Kernel::waits)), which takes a device
/// that runs every group of the launch at once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Combine {
    /// The axis; element number r of the fold is the point whose index along it is r.
    pub axis: AxisId,
    /// How the values are folded: as the schedule's tree, or by lanes of one warp, each with one accumulator.
    pub tree: Tree,
    /// The values folded, variables of the point.
    pub folds: Vec<Fold>,
    /// For each of the folds, the scratch that holds the points' values.
    pub partials: Vec<BufferId>,
    /// Where in that scratch a point's value lies: another place for each point.
    pub at: Affine,
    /// A count for each point of the other parallel axes; one serves every `Combine` of a kernel.
    pub counter: BufferId,
}

/// The element numbers that one point of the parallel axes folds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Span {
    /// All of them.
    Whole,
    /// With c the index of `axis` (a parallel axis): from c * length up to (c + 1) * length, and no further than the end.
    Chunk {
        /// The parallel axis that counts the chunks.
        axis: AxisId,
        /// Elements in a chunk; a multiple of lanes * width.
        length: SizeId,
    },
}

/// The order in which a reduction combines its values.
///
/// There are `lanes * width` accumulators, each starting at the operation's identity. Element r, counted from the start of
/// the span, is folded into accumulator `r % (lanes * width)`, in rising r. Then each run of `width` neighbours is
/// combined by halving (`acc[v] = op(acc[v], acc[v + half])` for half = width/2, width/4, .. 1), and the `lanes` results
/// likewise. Both are powers of two. `lanes == 1 && width == 1` is a plain loop, and only such a reduction may stand inside
/// another reduction's body or under `Schedule::Map`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tree {
    /// Threads of a group that share the fold.
    pub lanes: u32,
    /// Neighbouring accumulators in each lane.
    pub width: u32,
}

impl Tree {
    /// A plain loop in one thread.
    pub const SERIAL: Tree = Tree { lanes: 1, width: 1 };

    /// Accumulators in all.
    pub const fn accumulators(self) -> u32 {
        self.lanes * self.width
    }
}

/// One value folded by a [`Reduce`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fold {
    /// The variable that holds the result after the reduction; every lane sees it.
    pub result: Var,
    /// The operation. Its identities: Sum -0.0 (so that a sum of -0.0 stays -0.0) or 0, Prod 1, Min the largest value
    /// (+inf), Max the least (-inf), Any false, All true.
    pub op: ReduceOp,
    /// The body's variable that is folded; same type as `result`.
    pub value: Var,
}

/// The value of a `Let`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expr {
    /// Reads one element.
    Load {
        /// The buffer read.
        buffer: BufferId,
        /// The element's index.
        at: Affine,
        /// True where neighbours along the vectorised axis (the innermost axis of the group's reduction or loop under
        /// `Schedule::Group`, the tile's other axis for what `Schedule::Tile` moves through it, else the innermost parallel
        /// axis) are neighbours in memory and each run of `width` of them is aligned to its size.
        wide: bool,
    },
    /// A user scalar.
    Scalar(ScalarId),
    /// Zero of the variable's type, of any type; `false` for bool.
    Zero,
    /// An index computed from axes and earlier index variables. The variable is `VarType::Index`.
    Index(Affine),
    /// Integer arithmetic on indices; the variable is `VarType::Index`.
    IndexBinary(IndexOp, IndexOperand, IndexOperand),
    /// True where the left index is below the right one; the variable is bool.
    IndexLess(IndexOperand, IndexOperand),
    /// True where two indices are equal; the variable is bool.
    IndexEqual(IndexOperand, IndexOperand),
    /// An index as an element, converted as `as` converts an i64.
    IndexValue(Var),
    /// An element as an index along an axis: 0 up to the extent, negative ones counted from the end. One that is out of range
    /// is noted and taken as 0, so that whatever is read there is safe to read. The variable is `VarType::Index`.
    CheckedIndex {
        /// An integer.
        value: Var,
        /// The extent, at least one.
        extent: SizeId,
        /// The buffer of notes.
        notes: BufferId,
        /// Which two words of it: those from `2 * site`, clamped to what an i32 holds.
        site: u32,
    },
    /// One-operand arithmetic.
    Unary(UnaryOp, Var),
    /// Two-operand arithmetic; both operands have one type.
    Binary(BinaryOp, Var, Var),
    /// `a * b + c` with one rounding (floats).
    MulAdd(Var, Var, Var),
    /// `condition ? on_true : on_false`.
    Select {
        /// A bool.
        condition: Var,
        /// The value where it is true.
        on_true: Var,
        /// The value where it is false.
        on_false: Var,
    },
    /// Conversion to the variable's type, as Rust's `as`: saturating, NaN to 0; to bool it is `!= 0`.
    Cast(Var),
    /// A function of the user's on elements. All of its parameters are values.
    Call(Function, Vec<Var>),
}

/// Integer arithmetic on indices. Division operands are never negative, and the divisor is positive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum IndexOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Min,
    Max,
}

/// An operand of index arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IndexOperand {
    /// An index variable.
    Var(Var),
    /// A size parameter.
    Size(SizeId),
    /// Zero, the one literal needed (clamping).
    Zero,
}

/// `offset + sum of coefficient * term`, counted in elements.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Affine {
    /// Absent for zero.
    pub offset: Option<SizeId>,
    /// A term appears at most once.
    pub terms: Vec<(Term, Coefficient)>,
    /// With `(axis, n)`, the index of `axis`, which is one of the terms, counts n more than it is. So two loads of a stencil
    /// are seen to read one element at different points: they are alike but for this number, which is structure and no
    /// size. The same element may also be named by another offset, and is where no schedule cares.
    pub ahead: Option<(AxisId, u32)>,
}

/// What an [`Affine`] scales.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Term {
    /// The index of an axis in scope.
    Axis(AxisId),
    /// An index variable in scope.
    Var(Var),
}

/// The factor of a term.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Coefficient {
    /// One.
    One,
    /// A size parameter; it may be negative or zero.
    Size(SizeId),
}
