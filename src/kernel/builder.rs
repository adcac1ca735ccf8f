//! The kernel or function that is being built by the code which the macros wrote.
//!
//! That code runs straight through the user's function once: both branches of an `if`, the body of a loop once. What it calls
//! appends statements to the builder on top of this thread's stack. A value is an expression that no statement holds yet; it is
//! evaluated where it is used. A statement that changes what such a value reads first puts the value into a variable, so that
//! values are what they were where Rust evaluates them.

use std::any::TypeId;
use std::cell::RefCell;
use std::rc::{Rc, Weak};

use lazuli_codegen::simt::ir::{Array, Body, Expr, Place, Site, Space, Stmt, Var, Variable};
use lazuli_codegen::{DType, Scalar};

use super::define::Params;
use super::memory::MemoryKind;

thread_local! {
    /// Innermost last: a device function is built while its caller is.
    static BUILDERS: RefCell<Vec<Builder>> = const { RefCell::new(Vec::new()) };
}

/// What tells one function from another: its type, and what its memory parameters are.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct FunctionKey {
    pub id: TypeId,
    pub memory: Vec<MemoryKind>,
}

/// A kernel or function, as far as it is built.
pub struct Builder {
    /// The name in Rust, for errors.
    pub name: &'static str,
    /// For a function, what it is; none for a kernel.
    pub key: Option<FunctionKey>,
    /// Its parameters so far.
    pub params: Params,
    /// Variables, arrays and sites; the statements are in `frames`.
    body: Body,
    /// The statements of the open blocks, outermost first.
    frames: Vec<Vec<Stmt>>,
    /// Values that no statement holds, in the order they were made.
    pending: Vec<Weak<Pending>>,
    /// The first thing that no device can do.
    error: Option<String>,
}

/// A value that no statement holds yet.
pub struct Pending {
    pub expr: RefCell<Expr>,
    dtype: DType,
    /// Number of the block it was made in.
    depth: usize,
}

/// What a statement changes.
enum Change {
    Var(Var),
    Memory,
}

/// Takes the builder off the stack at the end of its scope, whatever ends it.
pub struct Scope(());

impl Scope {
    /// Puts a builder on the stack.
    pub fn enter(name: &'static str, key: Option<FunctionKey>, params: Params) -> Self {
        let builder = Builder {
            name,
            key,
            params,
            body: Body::default(),
            frames: vec![Vec::new()],
            pending: Vec::new(),
            error: None,
        };
        BUILDERS.with_borrow_mut(|builders| builders.push(builder));
        Self(())
    }

    /// What was built: the parameters and the body, or what is wrong with it.
    pub fn finish(self) -> Result<(Params, Body), String> {
        // Dropping `self` takes the empty builder off.
        let built = with(|builder| {
            if let Some(error) = builder.error.take() {
                return Err(error);
            }
            let mut body = std::mem::take(&mut builder.body);
            body.statements = std::mem::take(&mut builder.frames).into_iter().flatten().collect();
            super::walk::forget_unread(&mut body);
            Ok((std::mem::take(&mut builder.params), body))
        });
        built.unwrap_or_else(|| Err("nothing was being built".into()))
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        BUILDERS.with_borrow_mut(Vec::pop);
    }
}

/// Calls with the builder on top of the stack; `None` where none is, which is outside of kernels.
pub fn with<R>(body: impl FnOnce(&mut Builder) -> R) -> Option<R> {
    BUILDERS.with_borrow_mut(|builders| builders.last_mut().map(body))
}

/// True where a function is being built by this thread.
pub fn is_being_built(key: &FunctionKey) -> bool {
    BUILDERS.with_borrow(|builders| builders.iter().any(|builder| builder.key.as_ref() == Some(key)))
}

/// Appends a statement.
pub fn push(stmt: Stmt) {
    with(|builder| builder.push(stmt));
}

/// Keeps the first of what no device can do.
pub fn fail(what: impl FnOnce() -> String) {
    with(|builder| builder.error.get_or_insert_with(what).len());
}

/// A new variable; number 0 outside of kernels, where nobody will look.
pub fn variable(name: &'static str, dtype: DType) -> Var {
    with(|builder| builder.variable(name, dtype)).unwrap_or(Var(0))
}

/// Puts an expression into a variable of its own and gives that, unless it is as simple already.
pub fn in_variable(name: &'static str, dtype: DType, expr: Expr) -> Expr {
    match expr {
        Expr::Literal(_) | Expr::Builtin(_) | Expr::Len(_) => expr,
        // A variable may be assigned before the copy is read.
        _ => {
            let var = variable(name, dtype);
            push(Stmt::Let(var, expr));
            Expr::Var(var)
        }
    }
}

/// Opens a block.
pub fn open_block() {
    with(|builder| builder.frames.push(Vec::new()));
}

/// Closes the innermost block and gives its statements.
pub fn close_block() -> Vec<Stmt> {
    with(|builder| if builder.frames.len() > 1 { builder.frames.pop() } else { None }).flatten().unwrap_or_default()
}

/// True where the code is not in any block: what stands here runs once.
pub fn is_outermost() -> bool {
    with(|builder| builder.frames.len() <= 1).unwrap_or(true)
}

/// A new array.
pub fn array(dtype: DType, dims: Vec<usize>, space: Space) -> u32 {
    with(|builder| {
        builder.body.arrays.push(Array { name: "", dtype, dims, space });
        builder.body.arrays.len() as u32 - 1
    })
    .unwrap_or(0)
}

/// Calls an array by its name in Rust, unless it has one.
pub fn name_array(number: u32, name: &'static str) {
    with(|builder| match builder.body.arrays.get_mut(number as usize) {
        Some(array) if array.name.is_empty() => array.name = name,
        _ => {}
    });
}

/// The place of the caller, to be reported where an index is out of range.
#[track_caller]
pub fn site() -> Site {
    let at = std::panic::Location::caller();
    with(|builder| {
        let place = Place { file: at.file(), line: at.line(), column: at.column() };
        builder.body.sites.push(place);
        Site(builder.body.sites.len() as u32 - 1)
    })
    .unwrap_or(Site(0))
}

/// Notes a value that no statement holds.
pub fn pend(dtype: DType, expr: Expr) -> Rc<Pending> {
    let can_change = super::walk::can_change(&expr);
    let depth = with(|builder| builder.frames.len() - 1).unwrap_or(0);
    let pending = Rc::new(Pending { expr: RefCell::new(expr), dtype, depth });
    if can_change {
        with(|builder| {
            if builder.pending.len() >= 64 {
                builder.pending.retain(|pending| pending.strong_count() > 0);
            }
            builder.pending.push(Rc::downgrade(&pending));
        });
    }
    pending
}

/// Puts every value that reads memory into a variable, before something that may write any.
pub fn before_memory_changes() {
    with(|builder| builder.keep(&Change::Memory));
}

impl Builder {
    fn variable(&mut self, name: &'static str, dtype: DType) -> Var {
        self.body.vars.push(Variable { name, dtype });
        Var(self.body.vars.len() as u32 - 1)
    }

    fn push(&mut self, stmt: Stmt) {
        match &stmt {
            Stmt::Assign(var, _) => self.keep(&Change::Var(*var)),
            Stmt::Store(..) | Stmt::Atomic { .. } | Stmt::Call(..) | Stmt::Barrier => self.keep(&Change::Memory),
            // What is in these was pushed on its own before.
            Stmt::If { .. } | Stmt::For { .. } | Stmt::Loop(_) => {}
            Stmt::Let(..) | Stmt::Declare(_) | Stmt::Break | Stmt::Continue | Stmt::Return(_) => {}
        }
        if let Some(block) = self.frames.last_mut() {
            block.push(stmt);
        }
    }

    /// Puts the values that a change would touch into variables, each at the end of the block it was made in: that is before
    /// the statement whose blocks are open.
    fn keep(&mut self, change: &Change) {
        let pending = std::mem::take(&mut self.pending);
        for value in &pending {
            let Some(value) = value.upgrade() else { continue };
            let touched = match change {
                Change::Var(var) => super::walk::reads_variable(&value.expr.borrow(), *var),
                Change::Memory => super::walk::reads_memory(&value.expr.borrow()),
            };
            if touched {
                let var = self.variable("value", value.dtype);
                let expr = value.expr.replace(Expr::Var(var));
                let depth = value.depth.min(self.frames.len() - 1);
                self.frames[depth].push(Stmt::Let(var, expr));
            }
        }
        // A variable that was made for a value is never assigned.
        self.pending = pending.into_iter().filter(|value| value.strong_count() > 0).collect();
    }
}

/// A constant of an integer type.
pub fn whole(dtype: DType, value: i128) -> Expr {
    Expr::Literal(super::scalar::integer_of(dtype, value))
}

/// The constant, if an expression is one.
pub fn constant(expr: &Expr) -> Option<Scalar> {
    match expr {
        Expr::Literal(scalar) => Some(*scalar),
        _ => None,
    }
}
