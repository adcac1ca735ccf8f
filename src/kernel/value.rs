//! Values and variables.

use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;

use lazuli_codegen::simt::ir::{Expr, Stmt, Var};
use lazuli_codegen::{DType, Scalar};

use super::builder::{self, Pending};
use super::scalar::KernelScalar;

/// A value of type `T` in a kernel: what an expression is while a kernel is built.
///
/// Kernels, device functions and element-wise functions are written in plain Rust over `T`; their macro makes each expression of
/// type `T` a `Value<T>`. So the methods below are those that expressions have in kernels. They are named after Rust's and mean
/// what these mean; those that Rust has not are said to be Lazuli's. See the [module](super) for operators and statements.
pub struct Value<T> {
    pending: Rc<Pending>,
    of: PhantomData<fn() -> T>,
}

impl<T: KernelScalar> Value<T> {
    pub(super) fn of(expr: Expr) -> Self {
        Self { pending: builder::pend(T::DTYPE, expr), of: PhantomData }
    }

    /// The expression, to be put into another or into a statement.
    pub(super) fn into_expr(self) -> Expr {
        match Rc::try_unwrap(self.pending) {
            Ok(pending) => pending.expr.into_inner(),
            Err(shared) => shared.expr.borrow().clone(),
        }
    }

    /// The value in a variable, unless it is as simple, so that it may be used several times and is computed once.
    pub(super) fn once(self) -> Self {
        match self.into_expr() {
            // Should it be assigned while copies of this are around, these are kept as any value is.
            read @ Expr::Var(_) => Self::of(read),
            expr => Self::of(builder::in_variable("value", T::DTYPE, expr)),
        }
    }

    /// The constant, if it is one.
    pub(super) fn constant(&self) -> Option<Scalar> {
        builder::constant(&self.pending.expr.borrow())
    }
}

impl<T: KernelScalar> Clone for Value<T> {
    fn clone(&self) -> Self {
        let expr = self.pending.expr.borrow().clone();
        Self::of(expr)
    }
}

impl<T> fmt::Debug for Value<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pending.expr.borrow().fmt(f)
    }
}

/// A variable of type `T` in a kernel.
#[doc(hidden)]
#[derive(Debug)]
pub struct Local<T> {
    var: Var,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Local<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Local<T> {}

impl<T: KernelScalar> Local<T> {
    pub(super) const fn of(var: Var) -> Self {
        Self { var, of: PhantomData }
    }
}

/// A constant.
#[doc(hidden)]
pub fn lit<T: KernelScalar>(value: T) -> Value<T> {
    Value::of(Expr::Literal(value.literal()))
}

/// What a name in a kernel stands for, where it is read.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no value that can be used as a whole here",
    note = "arrays are used by their elements, `a[i]`, or given to a device function as `&a` or `&mut a`"
)]
pub trait Readable {
    type Value;
    fn read(&self) -> Self::Value;
}

/// What can be assigned to.
#[doc(hidden)]
#[diagnostic::on_unimplemented(message = "`{Self}` cannot be assigned to as a whole: assign to its elements")]
pub trait Assignable {
    type Value;
    fn set(&mut self, value: Self::Value);
}

/// What `let` gives a name.
#[doc(hidden)]
#[diagnostic::on_unimplemented(message = "`{Self}` is nothing that a variable of a kernel can hold")]
pub trait Bind {
    type Local;
    fn bind(self, name: &'static str) -> Self::Local;
}

/// What an `if`, a `match` or a block gives: nothing, a value, or several in a tuple.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a branch in a kernel cannot give `{Self}`",
    note = "it gives a scalar, a tuple of scalars, or nothing"
)]
pub trait Merge: Sized {
    /// The parts, with their types.
    fn exprs(self) -> Vec<(DType, Expr)>;
    /// The same from its parts; zeros in place of parts that are missing.
    fn from_exprs(exprs: &mut dyn Iterator<Item = Expr>) -> Self;
}

#[doc(hidden)]
pub fn read<R: Readable>(name: &R) -> R::Value {
    name.read()
}

#[doc(hidden)]
pub fn set<A: Assignable>(name: &mut A, value: A::Value) {
    name.set(value);
}

#[doc(hidden)]
pub fn local<B: Bind>(name: &'static str, value: B) -> B::Local {
    value.bind(name)
}

/// A variable whose value comes later. Until then it is zero; the macro cannot see whether every way assigns it.
#[doc(hidden)]
pub fn declared<T: KernelScalar>(name: &'static str) -> Local<T> {
    let var = builder::variable(name, T::DTYPE);
    builder::push(Stmt::Let(var, Expr::Literal(Scalar::from_bits(T::DTYPE, 0))));
    Local::of(var)
}

/// What stands after a statement that goes elsewhere: a value that is never had.
#[doc(hidden)]
pub fn never<V: Merge>() -> V {
    V::from_exprs(&mut std::iter::empty())
}

impl<T: KernelScalar> Readable for Local<T> {
    type Value = Value<T>;

    fn read(&self) -> Value<T> {
        Value::of(Expr::Var(self.var))
    }
}

impl<T: KernelScalar> Assignable for Local<T> {
    type Value = Value<T>;

    fn set(&mut self, value: Value<T>) {
        builder::push(Stmt::Assign(self.var, value.into_expr()));
    }
}

impl<T: KernelScalar> Bind for Value<T> {
    type Local = Local<T>;

    fn bind(self, name: &'static str) -> Local<T> {
        let var = builder::variable(name, T::DTYPE);
        builder::push(Stmt::Let(var, self.into_expr()));
        Local::of(var)
    }
}

impl<T: KernelScalar> Merge for Value<T> {
    fn exprs(self) -> Vec<(DType, Expr)> {
        vec![(T::DTYPE, self.into_expr())]
    }

    fn from_exprs(exprs: &mut dyn Iterator<Item = Expr>) -> Self {
        let nothing = || Expr::Literal(Scalar::from_bits(T::DTYPE, 0));
        Self::of(exprs.next().unwrap_or_else(nothing))
    }
}

impl Readable for () {
    type Value = ();

    fn read(&self) {}
}

impl Assignable for () {
    type Value = ();

    fn set(&mut self, (): ()) {}
}

impl Bind for () {
    type Local = ();

    fn bind(self, _: &'static str) {}
}

impl Merge for () {
    fn exprs(self) -> Vec<(DType, Expr)> {
        Vec::new()
    }

    fn from_exprs(_: &mut dyn Iterator<Item = Expr>) {}
}

macro_rules! tuples {
    ($(($($name:ident $at:tt),*))+) => { $(
        impl<$($name: Readable),*> Readable for ($($name,)*) {
            type Value = ($($name::Value,)*);

            fn read(&self) -> Self::Value {
                ($(self.$at.read(),)*)
            }
        }

        impl<$($name: Assignable),*> Assignable for ($($name,)*) {
            type Value = ($($name::Value,)*);
            fn set(&mut self, value: Self::Value) {
                $(self.$at.set(value.$at);)*
            }
        }

        impl<$($name: Bind),*> Bind for ($($name,)*) {
            type Local = ($($name::Local,)*);
            fn bind(self, name: &'static str) -> Self::Local {
                ($(self.$at.bind(name),)*)
            }
        }

        impl<$($name: Merge),*> Merge for ($($name,)*) {
            fn exprs(self) -> Vec<(DType, Expr)> {
                let mut exprs = Vec::new();
                $(exprs.extend(self.$at.exprs());)*
                exprs
            }
            fn from_exprs(exprs: &mut dyn Iterator<Item = Expr>) -> Self {
                ($($name::from_exprs(exprs),)*)
            }
        }
    )+ };
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
}
