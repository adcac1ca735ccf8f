//! Every statement and expression of a body, without recursion: how deep they nest is what `verify` asks first.

use super::ir::{Argument, Element, Expr, Stmt};

/// A part of a body.
#[derive(Clone, Copy, Debug)]
pub enum Node<'a> {
    /// A statement.
    Stmt(&'a Stmt),
    /// An expression.
    Expr(&'a Expr),
}

/// Visits statements and what is in them, each before its parts and in the order of the source, with how many parts it is
/// inside of.
pub fn walk<'a>(statements: &'a [Stmt], visit: &mut dyn FnMut(Node<'a>, usize)) {
    let mut open: Vec<(Node<'a>, usize)> = Vec::new();
    push_reversed(&mut open, 0, |push| statements.iter().for_each(|stmt| push(Node::Stmt(stmt))));
    while let Some((node, depth)) = open.pop() {
        visit(node, depth);
        push_reversed(&mut open, depth + 1, |push| match node {
            Node::Stmt(stmt) => parts_of_statement(stmt, push),
            Node::Expr(expr) => parts_of_expression(expr, push),
        });
    }
}

/// Pushes what `parts` names so that the first is popped first.
fn push_reversed<'a>(open: &mut Vec<(Node<'a>, usize)>, depth: usize, parts: impl FnOnce(&mut dyn FnMut(Node<'a>))) {
    let start = open.len();
    parts(&mut |node| open.push((node, depth)));
    open[start..].reverse();
}

fn parts_of_statement<'a>(stmt: &'a Stmt, push: &mut dyn FnMut(Node<'a>)) {
    match stmt {
        Stmt::Let(_, value) | Stmt::Assign(_, value) => push(Node::Expr(value)),
        Stmt::Declare(_) | Stmt::Break | Stmt::Continue | Stmt::Barrier | Stmt::Return(None) => {}
        Stmt::Return(Some(value)) => push(Node::Expr(value)),
        Stmt::Store(element, value) => {
            parts_of_element(element, push);
            push(Node::Expr(value));
        }
        Stmt::Atomic { element, value, expected, .. } => {
            parts_of_element(element, push);
            push(Node::Expr(value));
            expected.iter().for_each(|expected| push(Node::Expr(expected)));
        }
        Stmt::Call(_, arguments) => parts_of_call(arguments, push),
        Stmt::If { condition, then, otherwise } => {
            push(Node::Expr(condition));
            then.iter().chain(otherwise).for_each(|stmt| push(Node::Stmt(stmt)));
        }
        Stmt::For { start, end, body, .. } => {
            push(Node::Expr(start));
            push(Node::Expr(end));
            body.iter().for_each(|stmt| push(Node::Stmt(stmt)));
        }
        Stmt::Loop(body) => body.iter().for_each(|stmt| push(Node::Stmt(stmt))),
    }
}

fn parts_of_expression<'a>(expr: &'a Expr, push: &mut dyn FnMut(Node<'a>)) {
    match expr {
        Expr::Literal(_) | Expr::Var(_) | Expr::Builtin(_) | Expr::Len(_) => {}
        Expr::Load(element) => parts_of_element(element, push),
        Expr::Unary(_, a) | Expr::Cast(_, a) | Expr::Bits(_, a) => push(Node::Expr(a)),
        Expr::Binary(_, a, b) | Expr::And(a, b) | Expr::Or(a, b) => {
            push(Node::Expr(a));
            push(Node::Expr(b));
        }
        Expr::MulAdd(parts) | Expr::Choose(parts) => parts.iter().for_each(|part| push(Node::Expr(part))),
        Expr::Call(_, arguments) => parts_of_call(arguments, push),
    }
}

fn parts_of_element<'a>(element: &'a Element, push: &mut dyn FnMut(Node<'a>)) {
    element.index.iter().for_each(|index| push(Node::Expr(index)));
}

fn parts_of_call<'a>(arguments: &'a [Argument], push: &mut dyn FnMut(Node<'a>)) {
    for argument in arguments {
        match argument {
            Argument::Value(value) => push(Node::Expr(value)),
            Argument::Memory(_) => {}
        }
    }
}
