//! `for` over ranges.

use lazuli_codegen::simt::ir::{Expr, Stmt, Var};
use lazuli_codegen::{BinaryOp, DType};

use super::builder::{self, in_variable, whole};
use super::number_methods::zero;
use super::operators::{cast, choose, div, le, lt};
use super::scalar::{KernelInteger, integer, integer_of};
use super::value::{Local, Value, lit};

/// What a `for` runs over.
#[doc(hidden)]
pub struct Range<T> {
    start: Value<T>,
    end: Value<T>,
    includes_end: bool,
    steps: Vec<Step>,
}

/// What is done to a range before it is walked.
enum Step {
    Rev,
    By(Value<usize>),
}

/// A `for` that is open.
#[doc(hidden)]
#[must_use]
pub struct For<T> {
    counter: Var,
    start: Expr,
    end: Expr,
    step: u64,
    value: Local<T>,
}

#[doc(hidden)]
pub fn range<T: KernelInteger>(start: Value<T>, end: Value<T>) -> Range<T> {
    Range { start, end, includes_end: false, steps: Vec::new() }
}

#[doc(hidden)]
pub fn range_inclusive<T: KernelInteger>(start: Value<T>, end: Value<T>) -> Range<T> {
    Range { start, end, includes_end: true, steps: Vec::new() }
}

impl<T> Range<T> {
    /// From the last to the first.
    #[must_use]
    pub fn rev(mut self) -> Self {
        self.steps.push(Step::Rev);
        self
    }

    /// The first of every so many.
    #[must_use]
    pub fn step_by(mut self, step: Value<usize>) -> Self {
        self.steps.push(Step::By(step));
        self
    }
}

/// Opens the body.
#[doc(hidden)]
pub fn begin_for<T: KernelInteger>(name: &'static str, range: Range<T>) -> For<T> {
    let range = match simple(range) {
        Ok((start, end, step)) => {
            let counter = builder::variable(name, T::DTYPE);
            builder::open_block();
            return For { counter, start, end, step, value: Local::of(counter) };
        }
        Err(range) => range,
    };
    // The rounds are counted, and the value made of the number of the round: nothing on the way can overflow.
    let (first, stride, count) = walk(range);
    let counter = builder::variable("round", DType::U64);
    builder::open_block();
    let moved = match stride {
        Stride::Known(1) => arithmetic(BinaryOp::Add, first, Expr::Var(counter)),
        Stride::Known(-1) => arithmetic(BinaryOp::Sub, first, Expr::Var(counter)),
        stride => {
            let far = arithmetic(BinaryOp::Mul, Expr::Var(counter), stride.expr());
            arithmetic(BinaryOp::Add, first, far)
        }
    };
    let var = builder::variable(name, T::DTYPE);
    builder::push(Stmt::Let(var, cast::<T, u64>(Value::of(moved)).into_expr()));
    For { counter, start: whole(DType::U64, 0), end: count, step: 1, value: Local::of(var) }
}

impl<T: KernelInteger> For<T> {
    /// The variable of the loop.
    pub fn value(&self) -> Local<T> {
        self.value
    }

    pub fn end(self) {
        let body = builder::close_block();
        let Self { counter, start, end, step, .. } = self;
        builder::push(Stmt::For { var: counter, start, end, step, body });
    }
}

/// Start, end and step where the IR's own loop does it: upward, by a constant.
fn simple<T: KernelInteger>(mut range: Range<T>) -> Result<(Expr, Expr, u64), Range<T>> {
    if range.includes_end {
        // An end that is known has a successor, most often.
        let next = range.end.constant().and_then(|end| {
            let next = integer(end)? + 1;
            let after = integer_of(T::DTYPE, next);
            (integer(after) == Some(next)).then_some(after)
        });
        let Some(next) = next else { return Err(range) };
        range.end = Value::of(Expr::Literal(next));
        range.includes_end = false;
    }
    let step = match &range.steps[..] {
        [] => 1,
        [Step::By(step)] => match step.constant().and_then(integer) {
            Some(step) if step > 0 => step as u64,
            _ => return Err(range),
        },
        _ => return Err(range),
    };
    Ok((range.start.into_expr(), range.end.into_expr(), step))
}

/// How far one round is from the next, as an u64 that wraps.
enum Stride {
    Known(i64),
    Value(Expr),
}

impl Stride {
    fn expr(self) -> Expr {
        match self {
            Stride::Known(known) => whole(DType::U64, i128::from(known)),
            Stride::Value(expr) => expr,
        }
    }

    fn negated(self) -> Stride {
        match self {
            Stride::Known(known) => Stride::Known(known.wrapping_neg()),
            Stride::Value(expr) => Stride::Value(arithmetic(BinaryOp::Sub, whole(DType::U64, 0), expr)),
        }
    }
}

/// The first value, the stride and the count of rounds, as u64.
fn walk<T: KernelInteger>(range: Range<T>) -> (Expr, Stride, Expr) {
    let (start, end) = (range.start.once(), range.end.once());
    let first = cast::<u64, T>(start.clone());
    let (is_any, length) = {
        let length = arithmetic(BinaryOp::Sub, cast::<u64, T>(end.clone()).into_expr(), first.clone().into_expr());
        match range.includes_end {
            true => (le(start, end), arithmetic(BinaryOp::Add, length, whole(DType::U64, 1))),
            false => (lt(start, end), length),
        }
    };
    let mut count = choose(is_any, Value::<u64>::of(length), zero());
    let mut first = first.into_expr();
    let mut stride = Stride::Known(1);
    for step in range.steps {
        let counted = in_variable("rounds", DType::U64, count.into_expr());
        count = Value::of(counted.clone());
        match step {
            Step::Rev => {
                let last = arithmetic(BinaryOp::Sub, counted, whole(DType::U64, 1));
                let far = match stride {
                    Stride::Known(1) => last,
                    Stride::Known(known) => arithmetic(BinaryOp::Mul, last, Stride::Known(known).expr()),
                    Stride::Value(ref expr) => arithmetic(BinaryOp::Mul, last, expr.clone()),
                };
                first = arithmetic(BinaryOp::Add, first, far);
                stride = stride.negated();
            }
            Step::By(step) => {
                let step = Value::<u64>::of(in_variable("step", DType::U64, step.into_expr()));
                let before_last = Value::of(arithmetic(BinaryOp::Sub, counted.clone(), whole(DType::U64, 1)));
                let rounds =
                    arithmetic(BinaryOp::Add, div(before_last, step.clone()).into_expr(), whole(DType::U64, 1));
                count = choose(lt(lit(0u64), Value::of(counted)), Value::of(rounds), zero());
                stride = Stride::Value(match stride {
                    Stride::Known(1) => step.into_expr(),
                    stride => arithmetic(BinaryOp::Mul, stride.expr(), step.into_expr()),
                });
            }
        }
    }
    let first = in_variable("first", DType::U64, first);
    let stride = match stride {
        Stride::Value(expr) => Stride::Value(in_variable("stride", DType::U64, expr)),
        known => known,
    };
    (first, stride, count.into_expr())
}

fn arithmetic(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}
