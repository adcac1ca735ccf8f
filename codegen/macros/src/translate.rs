//! The state of a translation: which names are variables, what was refused, and where calls of the builder point.

use std::collections::HashSet;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{Error, Expr, Ident, Type};

/// Translates the body of one function.
pub struct Translator<'a> {
    /// The function's own name, which it may not call.
    pub own_name: &'a Ident,
    /// What it gives back.
    pub result: Option<&'a Type>,
    /// Names of its type parameters.
    pub type_params: HashSet<String>,
    /// The variables of each open block. Every other name is a constant of Rust.
    scopes: Vec<HashSet<String>>,
    /// How many loops are open.
    pub loops: usize,
    /// What was refused.
    pub errors: Vec<Error>,
}

impl<'a> Translator<'a> {
    pub fn new(own_name: &'a Ident, result: Option<&'a Type>, type_params: HashSet<String>) -> Self {
        Self { own_name, result, type_params, scopes: vec![HashSet::new()], loops: 0, errors: Vec::new() }
    }

    /// Refuses what stands at a span. The tokens take its place; they are never compiled.
    pub fn refuse(&mut self, at: impl ToTokens, message: impl std::fmt::Display) -> TokenStream {
        self.errors.push(Error::new_spanned(at, message));
        TokenStream::new()
    }

    /// Runs with a block of names of its own.
    pub fn scoped<R>(&mut self, body: impl FnOnce(&mut Self) -> R) -> R {
        self.scopes.push(HashSet::new());
        let result = body(self);
        self.scopes.pop();
        result
    }

    /// Makes a name a variable from here to the end of the block.
    pub fn declare(&mut self, name: &Ident) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_string());
        }
    }

    /// The name, where an expression is a variable.
    pub fn variable<'e>(&self, expr: &'e Expr) -> Option<&'e Ident> {
        let Expr::Path(path) = unwrapped(expr) else { return None };
        let name = path.path.get_ident().filter(|_| path.qself.is_none())?;
        self.scopes.iter().any(|scope| scope.contains(&name.to_string())).then_some(name)
    }
}

/// The path of a builder function. Mistakes in its arguments are reported there, in what the user wrote.
pub fn builder(span: Span, name: &str) -> TokenStream {
    let name = Ident::new(name, span);
    quote_spanned!(span=> ::lazuli::kernel::build::#name)
}

/// A name of the translation's own, which no name of the user's is, standing at a span.
pub fn hidden(name: &str, span: Span) -> Ident {
    Ident::new(name, Span::mixed_site().located_at(span))
}

/// A name as generated code has it: without `r#`, and with `_` for the letters that C has not.
pub fn text(name: &Ident) -> String {
    let name = name.to_string();
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    name.strip_prefix("r#").unwrap_or(&name).chars().map(letter).collect()
}

/// An expression without parentheses around it.
pub fn unwrapped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(inner) => unwrapped(&inner.expr),
        Expr::Group(inner) => unwrapped(&inner.expr),
        other => other,
    }
}
