//! Functions of the user's in kernels of the engine.

use super::arithmetic::Arithmetic;
use super::text::Text;
use crate::simt::Function;
use crate::simt::emit::Functions;
use crate::{Expr, Fold, Kernel, ReduceOp, Stmt};

/// Words that kernels of the engine use for themselves, beside letters and words with a number.
const OWN_WORDS: &[&str] =
    &["columns", "is_last", "lane", "last", "left", "member", "point", "row", "rows", "runs", "team", "tile"];

impl Arithmetic {
    /// Writes the functions that a kernel calls, and what these call, into the prelude.
    pub fn define_functions(&mut self, kernel: &Kernel, entry: &str) {
        let mut called = Vec::new();
        called_in(&kernel.body, &mut called);
        if !called.is_empty() {
            self.functions = Functions::define_for(&called, self, entry);
        }
    }

    /// The value of a function that was defined.
    pub fn user_call(&mut self, function: Function, arguments: &[&Text]) -> Text {
        let functions = std::mem::take(&mut self.functions);
        let call = functions.call(function, arguments, self);
        self.functions = functions;
        call
    }
}

/// A name that no variable of the engine's kernels has.
pub(crate) fn apart_from_variables(name: String) -> String {
    let is_taken = name.len() < 3 || name.ends_with(|c: char| c.is_ascii_digit()) || OWN_WORDS.contains(&name.as_str());
    if is_taken { name + "_of" } else { name }
}

/// The functions that statements call, each once.
fn called_in(body: &[Stmt], called: &mut Vec<Function>) {
    for stmt in body {
        let (own, inner): (Vec<Function>, &[Stmt]) = match stmt {
            Stmt::Let { expr: Expr::Call(function, _), .. } => (vec![*function], &[]),
            Stmt::Let { .. } | Stmt::Store { .. } => continue,
            Stmt::Reduce(reduce) => (combiners(&reduce.folds), &reduce.body),
            Stmt::Combine(combine) => (combiners(&combine.folds), &[]),
            Stmt::Loop(own) => (Vec::new(), &own.body),
        };
        for function in own {
            if !called.contains(&function) {
                called.push(function);
            }
        }
        called_in(inner, called);
    }
}

fn combiners(folds: &[Fold]) -> Vec<Function> {
    let combiner = |fold: &Fold| match fold.op {
        ReduceOp::Custom(combiner) => Some(combiner.function),
        _ => None,
    };
    folds.iter().filter_map(combiner).collect()
}
