//! What `if`, `&&`, `||`, loops and `return` become: a guard where a block begins, whose methods end it.

use lazuli_codegen::simt::ir::{Expr, Stmt, Var};
use lazuli_codegen::{DType, UnaryOp};

use super::builder;
use super::scalar::KernelScalar;
use super::value::{Merge, Value};

/// An `if` whose first branch is open.
#[doc(hidden)]
#[must_use]
pub struct Then {
    condition: Expr,
}

/// An `if` whose second branch is open.
#[doc(hidden)]
#[must_use]
pub struct Otherwise<V> {
    condition: Expr,
    then: Vec<Stmt>,
    value: Vec<(DType, Expr)>,
    of: std::marker::PhantomData<V>,
}

#[doc(hidden)]
pub fn begin_if(condition: Value<bool>) -> Then {
    let condition = condition.into_expr();
    builder::open_block();
    Then { condition }
}

impl Then {
    /// Ends the first branch, with its value, and opens the second.
    pub fn otherwise<V: Merge>(self, value: V) -> Otherwise<V> {
        let value = value.exprs();
        let then = builder::close_block();
        builder::open_block();
        Otherwise { condition: self.condition, then, value, of: std::marker::PhantomData }
    }

    /// Ends an `if` that has no second branch, and so no value.
    pub fn end(self, (): ()) {
        let then = builder::close_block();
        builder::push(Stmt::If { condition: self.condition, then, otherwise: Vec::new() });
    }
}

impl<V: Merge> Otherwise<V> {
    /// Ends the second branch, with its value, and gives that of the branch that is taken.
    pub fn end(self, value: V) -> V {
        let Self { condition, mut then, value: mut first, .. } = self;
        let mut second = value.exprs();
        let mut otherwise = builder::close_block();
        if then.is_empty() && otherwise.is_empty() && first.len() == 1 {
            let (Some((_, a)), Some((_, b))) = (first.pop(), second.pop()) else { return super::value::never() };
            return V::from_exprs(&mut std::iter::once(Expr::Choose(Box::new([condition, a, b]))));
        }
        let mut given = Vec::new();
        for ((dtype, a), (_, b)) in first.into_iter().zip(second) {
            let var = builder::variable("value", dtype);
            builder::push(Stmt::Declare(var));
            give(&mut then, var, a);
            give(&mut otherwise, var, b);
            given.push(Expr::Var(var));
        }
        builder::push(Stmt::If { condition, then, otherwise });
        V::from_exprs(&mut given.into_iter())
    }
}

/// Assigns the value of a block at its end, if that is reached.
fn give(block: &mut Vec<Stmt>, var: Var, value: Expr) {
    if !matches!(block.last(), Some(Stmt::Return(_) | Stmt::Break | Stmt::Continue)) {
        block.push(Stmt::Assign(var, value));
    }
}

/// An `&&` or `||` of which the second operand is open.
#[doc(hidden)]
#[must_use]
pub struct Second {
    first: Expr,
    is_and: bool,
}

#[doc(hidden)]
pub fn begin_and(first: Value<bool>) -> Second {
    let first = first.into_expr();
    builder::open_block();
    Second { first, is_and: true }
}

#[doc(hidden)]
pub fn begin_or(first: Value<bool>) -> Second {
    let first = first.into_expr();
    builder::open_block();
    Second { first, is_and: false }
}

impl Second {
    pub fn end(self, second: Value<bool>) -> Value<bool> {
        let second = second.into_expr();
        let mut needed = builder::close_block();
        let Self { first, is_and } = self;
        if needed.is_empty() {
            let (first, second) = (Box::new(first), Box::new(second));
            return Value::of(if is_and { Expr::And(first, second) } else { Expr::Or(first, second) });
        }
        // What the second operand needs runs only where it is asked for.
        let var = builder::variable("condition", DType::Bool);
        builder::push(Stmt::Let(var, first));
        needed.push(Stmt::Assign(var, second));
        let given = Expr::Var(var);
        let condition = if is_and { given } else { Expr::Unary(UnaryOp::Not, Box::new(given)) };
        builder::push(Stmt::If { condition, then: needed, otherwise: Vec::new() });
        Value::of(Expr::Var(var))
    }
}

/// A `loop` or `while` that is open.
#[doc(hidden)]
#[must_use]
pub struct Loop(());

#[doc(hidden)]
pub fn begin_loop() -> Loop {
    builder::open_block();
    Loop(())
}

impl Loop {
    pub fn end(self) {
        let body = builder::close_block();
        builder::push(Stmt::Loop(body));
    }
}

/// What a `while` does first in every round.
#[doc(hidden)]
pub fn leave_unless(condition: Value<bool>) {
    let condition = Expr::Unary(UnaryOp::Not, Box::new(condition.into_expr()));
    builder::push(Stmt::If { condition, then: vec![Stmt::Break], otherwise: Vec::new() });
}

#[doc(hidden)]
pub fn leave() {
    builder::push(Stmt::Break);
}

#[doc(hidden)]
pub fn go_on() {
    builder::push(Stmt::Continue);
}

/// `return value`.
#[doc(hidden)]
pub fn give_back<T: KernelScalar>(value: Value<T>) {
    builder::push(Stmt::Return(Some(value.into_expr())));
}

/// `return`.
#[doc(hidden)]
pub fn give_back_nothing(_: ()) {
    builder::push(Stmt::Return(None));
}
