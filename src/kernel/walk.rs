//! Questions asked of expressions and statements while they are built.

use std::collections::HashSet;

use lazuli_codegen::simt::ir::{Argument, Body, Element, Expr, Stmt, Var};

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
    statements(&mut body.statements, &mut |stmt| {
        of_stmt(stmt, &mut |expr| {
            any(expr, &mut |part| {
                if let Expr::Var(var) = part {
                    read.insert(*var);
                }
                false
            });
        });
    });
    statements(&mut body.statements, &mut |stmt| {
        if let Stmt::Atomic { before, .. } = stmt {
            *before = before.filter(|var| read.contains(var));
        }
    });
}

/// Calls with every statement, outer ones before inner ones.
fn statements(block: &mut [Stmt], visit: &mut impl FnMut(&mut Stmt)) {
    for stmt in block {
        visit(stmt);
        match stmt {
            Stmt::If { then, otherwise, .. } => {
                statements(then, visit);
                statements(otherwise, visit);
            }
            Stmt::For { body, .. } | Stmt::Loop(body) => statements(body, visit),
            Stmt::Let(..) | Stmt::Declare(_) | Stmt::Assign(..) | Stmt::Store(..) | Stmt::Atomic { .. } => {}
            Stmt::Call(..) | Stmt::Break | Stmt::Continue | Stmt::Return(_) | Stmt::Barrier => {}
        }
    }
}

/// Calls with the expressions that stand in a statement itself.
fn of_stmt(stmt: &Stmt, visit: &mut dyn FnMut(&Expr)) {
    match stmt {
        Stmt::Let(_, value) | Stmt::Assign(_, value) | Stmt::Return(Some(value)) => visit(value),
        Stmt::Store(Element { index, .. }, value) => index.iter().chain([value]).for_each(visit),
        Stmt::Atomic { element, value, expected, .. } => {
            element.index.iter().chain([value]).chain(expected).for_each(visit);
        }
        Stmt::Call(_, arguments) => {
            for argument in arguments {
                if let Argument::Value(value) = argument {
                    visit(value);
                }
            }
        }
        Stmt::If { condition, .. } => visit(condition),
        Stmt::For { start, end, .. } => [start, end].into_iter().for_each(visit),
        Stmt::Declare(_) | Stmt::Loop(_) | Stmt::Break | Stmt::Continue | Stmt::Return(None) | Stmt::Barrier => {}
    }
}
