//! The numbers by which a checked kernel tells where an index was out of range.

use std::collections::HashMap;

use super::function::Function;
use super::ir::{Expr, Kernel, Place, Stmt};
use super::walk::{Node, walk};

/// The functions that statements call, and those that these call: each once, after all that it calls itself.
pub fn reached_functions(statements: &[Stmt]) -> Vec<Function> {
    fn reach(statements: &[Stmt], reached: &mut Vec<Function>) {
        walk(statements, &mut |node, _| {
            let (Node::Stmt(Stmt::Call(function, _)) | Node::Expr(Expr::Call(function, _))) = node else { return };
            if !reached.contains(function) {
                if let Some(body) = function.body() {
                    reach(&body.statements, reached);
                }
                // A definition holds the functions it calls, so none calls itself.
                reached.push(*function);
            }
        });
    }
    let mut reached = Vec::new();
    reach(statements, &mut reached);
    reached
}

/// True where a function, or one that it reaches, accesses elements by an index.
pub fn has_sites(function: Function) -> bool {
    function
        .body()
        .is_some_and(|body| !body.sites.is_empty() || reached_functions(&body.statements).into_iter().any(has_sites))
}

/// The number that each function's first site has in a kernel with so many sites of its own.
pub fn first_sites(kernel_sites: usize, functions: &[Function]) -> HashMap<Function, u32> {
    let mut next = kernel_sites;
    let mut first = HashMap::new();
    for &function in functions {
        first.insert(function, next as u32);
        next += function.body().map_or(0, |body| body.sites.len());
    }
    first
}

/// Where the accesses of a kernel and of the functions it reaches stand in the user's source, by the number that the report
/// of an index out of range gives.
pub fn sites(kernel: &Kernel) -> Vec<Place> {
    let functions = reached_functions(&kernel.body.statements);
    let bodies = functions.iter().filter_map(|function| function.body());
    std::iter::once(&kernel.body).chain(bodies).flat_map(|body| body.sites.iter().copied()).collect()
}
