//! Blocks and `let`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Block, Expr, Item, Local, Pat, Stmt, Type};

use crate::translate::{Translator, builder, hidden, text};

impl Translator<'_> {
    /// The body of the function, with what it gives back.
    pub fn body(&mut self, block: &Block) -> TokenStream {
        let gives = self.result.filter(|_| !diverges(block));
        let inner = self.block(block);
        match gives {
            Some(result) => {
                let give_back = builder(result.span(), "give_back");
                quote!(#give_back::<#result>({ #inner });)
            }
            None => quote!(let () = { #inner };),
        }
    }

    /// The statements of a block and its value, without braces.
    pub fn block(&mut self, block: &Block) -> TokenStream {
        self.scoped(|this| {
            let last = block.stmts.len().saturating_sub(1);
            let statements = block.stmts.iter().enumerate().map(|(number, stmt)| this.statement(stmt, number == last));
            statements.collect()
        })
    }

    /// A block that is a branch: its value, or what stands for one where it is never had.
    pub fn branch(&mut self, block: &Block, none_is_had: bool) -> TokenStream {
        let inner = self.block(block);
        match diverges(block) && !none_is_had {
            true => never(inner),
            false => quote!({ #inner }),
        }
    }

    fn statement(&mut self, stmt: &Stmt, is_last: bool) -> TokenStream {
        match stmt {
            Stmt::Local(local) => self.local(local),
            Stmt::Item(item @ (Item::Const(_) | Item::Use(_))) => quote!(#item),
            Stmt::Item(item) => self.refuse(
                item,
                "only `const` and `use` stand inside a kernel: move other items out of it, functions as `#[lazuli::device]`",
            ),
            Stmt::Macro(stmt) => self.refused_macro(&stmt.mac),
            // What goes elsewhere has no value, even where it stands last.
            Stmt::Expr(expr, semicolon) if semicolon.is_some() || goes_elsewhere(expr) => {
                let expr = self.expr(expr);
                quote!(#expr;)
            }
            Stmt::Expr(expr, _) if is_last => self.expr(expr),
            Stmt::Expr(expr, _) => {
                let span = expr.span();
                let expr = self.expr(expr);
                quote_spanned!(span=> let () = #expr;)
            }
        }
    }

    fn local(&mut self, local: &Local) -> TokenStream {
        let (pat, annotated) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            pat => (pat, None),
        };
        let Some(init) = &local.init else { return self.declared(pat, annotated) };
        if let Some((token, _)) = &init.diverge {
            return self.refuse(token, "there is nothing to match by `let` .. `else` on a device: write an `if`");
        }
        let value = self.expr(&init.expr);
        let of = match annotated.map(|annotated| self.value_type(annotated)) {
            Some(of) => of,
            None => quote!(_),
        };
        self.bind(pat, value, &of)
    }

    /// `let x;`, to be assigned later.
    fn declared(&mut self, pat: &Pat, annotated: Option<&Type>) -> TokenStream {
        let Pat::Ident(ident) = pat else {
            return self.refuse(pat, "a `let` without a value names one variable");
        };
        let (name, label) = (&ident.ident, text(&ident.ident));
        self.declare(name);
        let declared = builder(name.span(), "declared");
        let of = annotated.map_or_else(|| quote!(_), |annotated| quote!(#annotated));
        quote!(#[allow(unused_mut)] let mut #name = #declared::<#of>(#label);)
    }

    /// Gives the names of a pattern to a value of a type of the builder's.
    pub fn bind(&mut self, pat: &Pat, value: TokenStream, of: &TokenStream) -> TokenStream {
        match pat {
            Pat::Ident(ident) if ident.by_ref.is_none() && ident.subpat.is_none() => {
                let (name, mutability, label) = (&ident.ident, &ident.mutability, text(&ident.ident));
                self.declare(name);
                let local = builder(name.span(), "local");
                quote!(let #mutability #name = #local::<#of>(#label, #value);)
            }
            Pat::Wild(wild) => {
                let unused = hidden("_unused", wild.span());
                quote!(let #unused: #of = #value;)
            }
            Pat::Paren(inner) => self.bind(&inner.pat, value, of),
            Pat::Tuple(tuple) => {
                let parts: Vec<_> =
                    (0..tuple.elems.len()).map(|number| hidden(&format!("__part{number}"), tuple.elems[number].span())).collect();
                let bound: Vec<_> =
                    tuple.elems.iter().zip(&parts).map(|(pat, part)| self.bind(pat, quote!(#part), &quote!(_))).collect();
                quote!(let (#(#parts,)*): #of = #value; #(#bound)*)
            }
            other => self.refuse(
                other,
                "a `let` in a kernel names a variable, or the parts of a tuple; there are no references, structs or slices to \
                 take apart",
            ),
        }
    }

    /// The builder's type for what a `let` is said to hold.
    fn value_type(&mut self, of: &Type) -> TokenStream {
        let value = builder(of.span(), "Value");
        match of {
            Type::Paren(inner) => self.value_type(&inner.elem),
            Type::Group(inner) => self.value_type(&inner.elem),
            Type::Infer(_) => quote!(_),
            Type::Path(_) => quote!(#value<#of>),
            Type::Array(_) => {
                let array = builder(of.span(), "LocalArray");
                quote!(#array<#of>)
            }
            Type::Tuple(tuple) => {
                let parts: Vec<_> = tuple.elems.iter().map(|part| self.value_type(part)).collect();
                quote!((#(#parts,)*))
            }
            Type::Reference(_) => self.refuse(
                of,
                "there are no references to variables on a device: name the array or slice where it is used",
            ),
            other => {
                self.refuse(other, "a variable of a kernel holds a scalar, an array of scalars, or a tuple of these")
            }
        }
    }
}

/// A block that ends somewhere else, where a value is asked for.
pub fn never(inner: TokenStream) -> TokenStream {
    quote!({ #inner ::lazuli::kernel::build::never() })
}

/// True where the end of a block is not reached, as far as that is seen from how it is written.
pub fn diverges(block: &Block) -> bool {
    block.stmts.iter().any(|stmt| matches!(stmt, Stmt::Expr(expr, _) if goes_elsewhere(expr)))
}

/// True where an expression goes elsewhere in every case.
pub fn goes_elsewhere(expr: &Expr) -> bool {
    match expr {
        Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => true,
        Expr::Block(block) => diverges(&block.block),
        Expr::Paren(inner) => goes_elsewhere(&inner.expr),
        Expr::If(branches) => {
            let otherwise = branches.else_branch.as_ref().is_some_and(|(_, otherwise)| goes_elsewhere(otherwise));
            diverges(&branches.then_branch) && otherwise
        }
        Expr::Match(arms) => !arms.arms.is_empty() && arms.arms.iter().all(|arm| goes_elsewhere(&arm.body)),
        Expr::Loop(inner) => !crate::repeat::has_break(&inner.body),
        _ => false,
    }
}
