//! Questions asked of expressions and statements while they are built.

use std::collections::HashSet;

use lazuli_codegen::simt::ir::{Argument, Body, Expr, Stmt, Var};
use lazuli_codegen::simt::{Node, walk};

/// True where any part of an expression, itself included, is as asked.
fn any(expr: &Expr, asked: &mut impl FnMut(&Expr) -> bool) -> bool {
    if asked(expr) {
        return true;
    }
    match expr {
        Expr::Literal(_) | Expr::Var(_) | Expr::Builtin(_) | Expr::Len(_) => false,
        Expr::Load(element) => element.index.iter().any(|index| any(index, asked)),
        Expr::Unary(_, a) | Expr::Cast(_, a) | Expr::Bits(_, a) => any(a, asked),
        Expr::Binary(_, a, b) | Expr::And(a, b) | Expr::Or(a, b) => any(a, asked) || any(b, asked),
        Expr::MulAdd(parts) | Expr::Choose(parts) => parts.iter().any(|part| any(part, asked)),
        Expr::Call(_, arguments) => arguments.iter().any(|argument| match argument {
            Argument::Value(value) => any(value, asked),
            Argument::Memory(_) => false,
        }),
    }
}

/// True where an expression may have another value later.
pub fn can_change(expr: &Expr) -> bool {
    any(expr, &mut |part| matches!(part, Expr::Var(_) | Expr::Load(_) | Expr::Call(..)))
}

/// True where an expression reads a variable.
pub fn reads_variable(expr: &Expr, var: Var) -> bool {
    any(expr, &mut |part| matches!(part, Expr::Var(read) if *read == var))
}

/// True where an expression reads memory, itself or through a function.
pub fn reads_memory(expr: &Expr) -> bool {
    any(expr, &mut |part| match part {
        Expr::Load(_) => true,
        Expr::Call(_, arguments) => arguments.iter().any(|argument| matches!(argument, Argument::Memory(_))),
        _ => false,
    })
}

/// Drops the earlier values of atomics that nobody reads: devices have faster instructions for those.
pub fn forget_unread(body: &mut Body) {
    let mut read = HashSet::new();
    walk(&body.statements, &mut |node, _| {
        if let Node::Expr(Expr::Var(var)) = node {
            read.insert(*var);
        }
    });
    forget(&mut body.statements, &read);
}

fn forget(block: &mut [Stmt], read: &HashSet<Var>) {
    for stmt in block {
        match stmt {
            Stmt::Atomic { before, .. } => *before = before.filter(|var| read.contains(var)),
            Stmt::If { then, otherwise, .. } => {
                forget(then, read);
                forget(otherwise, read);
            }
            Stmt::For { body, .. } | Stmt::Loop(body) => forget(body, read),
            Stmt::Let(..) | Stmt::Declare(_) | Stmt::Assign(..) | Stmt::Store(..) | Stmt::Call(..) => {}
            Stmt::Break | Stmt::Continue | Stmt::Return(_) | Stmt::Barrier => {}
        }
    }
}
