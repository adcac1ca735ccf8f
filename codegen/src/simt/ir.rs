//! The SIMT IR: statements over expression trees, run by every thread of a grid.
//!
//! Arithmetic means what it means in [`BinaryOp`]: integers wrap, `/` and `%` truncate and never trap, a shift by the width or
//! more leaves nothing, f16 and bf16 are computed in f32 and rounded after every operation. `usize` and `isize` are u64 and i64.
//!
//! What a `Let`, an `Assign` or a `Declare` names is a variable of the thread. Expressions are evaluated where they stand, left
//! operand first, and only what is written as a statement changes anything; `And`, `Or` and `Choose` evaluate no more than they
//! need, so that `i < x.len() && x[i] > 0` reads nothing out of range.

use super::Function;
use crate::{BinaryOp, DType, Scalar, UnaryOp};

/// A kernel over a grid of threads.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kernel {
    /// A legal C identifier: the Rust function's name, with the element types it was made for, such as `axpy_f32`.
    pub name: String,
    /// In the order of the Rust function's.
    pub params: Vec<Param>,
    /// Variables, arrays and statements.
    pub body: Body,
}

/// What a kernel or a function consists of beside its parameters.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Body {
    /// The variables, by number. Scalar parameters are among them; see [`Param::Scalar`].
    pub vars: Vec<Variable>,
    /// Arrays of the group and of the thread.
    pub arrays: Vec<Array>,
    /// What every thread runs.
    pub statements: Vec<Stmt>,
    /// Where the source that an access came from stands, by [`Site`].
    pub sites: Vec<Place>,
}

/// A parameter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Param {
    /// Elements in device memory: a pointer and a length (u64) in the emitted signature.
    Slice {
        /// The parameter's name in Rust.
        name: &'static str,
        /// Type of the elements.
        dtype: DType,
        /// True for `&mut [T]`.
        is_mut: bool,
    },
    /// One value; f16 and bf16 are passed as f32.
    Scalar {
        /// The variable that holds it from the start.
        var: Var,
    },
}

/// Number of a variable in [`Body::vars`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Var(pub u32);

/// Number of an access in [`Body::sites`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Site(pub u32);

/// A line of the user's source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Place {
    /// As `file!()` gives it.
    pub file: &'static str,
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
}

/// A variable of the thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Variable {
    /// The name in Rust, to which the emitter adds a number where two share it.
    pub name: &'static str,
    /// Its type.
    pub dtype: DType,
}

/// An array of fixed extents.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Array {
    /// The name in Rust.
    pub name: &'static str,
    /// Type of the elements.
    pub dtype: DType,
    /// One to three extents, outermost first, all at least 1. Empty for the group's array whose length the launch sets
    /// (dynamic local memory; one a kernel at most): it has one axis then.
    pub dims: Vec<usize>,
    /// Whose it is.
    pub space: Space,
}

/// Whose an array is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    /// The group's: `__shared__`, `__local`. Not initialised.
    Group,
    /// The thread's own. Zero at the start of each run of its kernel or function.
    Thread,
}

/// Something with elements that an index chooses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Memory {
    /// A slice parameter, by its number among all parameters.
    Param(u32),
    /// An array, by number.
    Array(u32),
}

/// One element of memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Element {
    /// What holds it.
    pub memory: Memory,
    /// One u64 index for each axis; a slice has one.
    pub index: Vec<Expr>,
    /// Where the access stands, for the report of an index out of range.
    pub site: Site,
}

/// One statement.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Stmt {
    /// A variable with its first value. In scope to the end of the block.
    Let(Var, Expr),
    /// A variable whose first value comes later; every use is after an assignment.
    Declare(Var),
    /// Another value for a variable.
    Assign(Var, Expr),
    /// Writes an element.
    Store(Element, Expr),
    /// Changes an element in one step that no other thread can come between, and gives what it held before, if wanted.
    Atomic {
        /// A new variable that holds the earlier value.
        before: Option<Var>,
        /// What is done.
        op: AtomicOp,
        /// To which element: of a slice or of the group's array.
        element: Element,
        /// The operand.
        value: Expr,
        /// For [`AtomicOp::CompareExchange`], what the element must hold.
        expected: Option<Expr>,
    },
    /// Calls a function for what it does to memory; see [`Expr::Call`].
    Call(Function, Vec<Argument>),
    /// A choice.
    If {
        /// A bool.
        condition: Expr,
        /// Run where it is true.
        then: Vec<Stmt>,
        /// Run where it is false.
        otherwise: Vec<Stmt>,
    },
    /// `for var in start..end`, stepping by `step`. All three are evaluated once, before.
    For {
        /// A new variable, of the type of the bounds. The body does not assign it.
        var: Var,
        /// The first value.
        start: Expr,
        /// The value not reached any more.
        end: Expr,
        /// A positive constant; `var` never passes `end`, not even where the type would wrap.
        step: u64,
        /// Run for each value.
        body: Vec<Stmt>,
    },
    /// Runs the body until a `Break` or `Return`.
    Loop(Vec<Stmt>),
    /// Leaves the innermost `For` or `Loop`.
    Break,
    /// Goes on with the next round of the innermost `For` or `Loop`.
    Continue,
    /// Ends the thread's run of the kernel, or the function with its value.
    Return(Option<Expr>),
    /// Waits until every thread of the group is here; what they wrote to the group's arrays and to memory is seen after it by
    /// all threads of the group. All threads of a group that have not returned must reach it; it stands in kernels only.
    Barrier,
}

/// A value of the thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expr {
    /// A constant.
    Literal(Scalar),
    /// A variable.
    Var(Var),
    /// Where the thread is; u64.
    Builtin(Builtin),
    /// Elements of a slice, or of an array's outermost axis; u64.
    Len(Memory),
    /// Reads an element.
    Load(Box<Element>),
    /// One-operand arithmetic.
    Unary(UnaryOp, Box<Expr>),
    /// Two-operand arithmetic on one type.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a * b + c` with one rounding (floats).
    MulAdd(Box<[Expr; 3]>),
    /// Conversion, as Rust's `as`; to bool it is `!= 0`.
    Cast(DType, Box<Expr>),
    /// `a && b`; b is not evaluated where a is false.
    And(Box<Expr>, Box<Expr>),
    /// `a || b`; b is not evaluated where a is true.
    Or(Box<Expr>, Box<Expr>),
    /// `if condition { a } else { b }`; only one of them is evaluated.
    Choose(Box<[Expr; 3]>),
    /// The bits of a value as another type of the same width (f32 and u32, f64 and u64).
    Bits(DType, Box<Expr>),
    /// The result of a function that changes no memory, or of any where it is all that a [`Stmt::Let`] holds.
    Call(Function, Vec<Argument>),
}

/// What a function is called with.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Argument {
    /// A value.
    Value(Expr),
    /// Memory, whole.
    Memory(Memory),
}

/// Where a thread is in the grid. Axis 0 is x: threads that follow each other along it are neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Builtin {
    /// The thread's number in its group, along an axis.
    ThreadIndex(u8),
    /// The group's number in the grid.
    GroupIndex(u8),
    /// Threads in a group.
    GroupSize(u8),
    /// Groups in the grid.
    GridSize(u8),
}

/// What is done to one element at once.
///
/// Every integer type of 32 and 64 bits has all of them; f32 and f64 have `Add`, `Min`, `Max` and `Exchange`, which runtimes
/// without an instruction for it make of a compare-exchange on the bits. `Min` and `Max` of floats give NaN if either is NaN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum AtomicOp {
    Add,
    Sub,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exchange,
    /// Writes the value where the element holds what was expected.
    CompareExchange,
}

/// What a checked kernel notes of the first index out of range, as eight u64: 1 once there is one, the [`Site`], the axis of
/// the index, the index, the extent, the number of the group in the grid, the number of the thread in its group, and 0 (both
/// counted in row-major order, z outermost).
pub const NOTE_BYTES: usize = 64;
