//! Assignments.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprAssign, ExprBinary};

use crate::expression::indexed;
use crate::translate::{Translator, builder, hidden, unwrapped};

impl Translator<'_> {
    /// `place = value`. The value is computed first, as in Rust.
    pub fn assign(&mut self, assign: &ExprAssign) -> TokenStream {
        let value = self.expr(&assign.right);
        let held = hidden("__value", assign.right.span());
        let assigned = self.assign_to(&assign.left, quote!(#held));
        quote!({ let #held = #value; #assigned })
    }

    fn assign_to(&mut self, place: &Expr, value: TokenStream) -> TokenStream {
        let span = place.span();
        match unwrapped(place) {
            Expr::Infer(_) => {
                let unused = hidden("_unused", span);
                quote!(let #unused = #value;)
            }
            Expr::Path(_) | Expr::Field(_) => {
                let set = builder(span, "set");
                match self.place(place) {
                    Some(place) => quote_spanned!(span=> #set(&mut #place, #value);),
                    None => TokenStream::new(),
                }
            }
            Expr::Index(index) => {
                let (base, indices) = indexed(index);
                let Some(name) = self.variable(base) else {
                    return self.refuse(base, "only the elements of slices and arrays that have a name are written");
                };
                let (store, element) = (builder(span, "store"), builder(name.span(), "element"));
                let indices = self.indices(&indices);
                quote_spanned!(name.span()=> #store(#element(&mut #name, #indices), #value);)
            }
            Expr::Tuple(tuple) => {
                let parts: Vec<_> = (0..tuple.elems.len())
                    .map(|number| hidden(&format!("__part{number}"), tuple.elems[number].span()))
                    .collect();
                let assigned: Vec<_> =
                    tuple.elems.iter().zip(&parts).map(|(place, part)| self.assign_to(place, quote!(#part))).collect();
                quote!(let (#(#parts,)*) = #value; #(#assigned)*)
            }
            _ => self.refuse(
                place,
                "a kernel assigns to variables, to elements of slices and arrays, and to tuples of these",
            ),
        }
    }

    /// A variable, or a part of one that is a tuple.
    fn place(&mut self, place: &Expr) -> Option<TokenStream> {
        match unwrapped(place) {
            Expr::Field(field) => {
                let (base, member) = (self.place(&field.base)?, &field.member);
                Some(quote!(#base.#member))
            }
            // rustc tells where there is no such name.
            Expr::Path(path) if path.path.get_ident().is_some() => Some(quote!(#path)),
            other => {
                self.refuse(
                    other,
                    "a kernel assigns to variables, to elements of slices and arrays, and to tuples of these",
                );
                None
            }
        }
    }

    /// `place += value` and its like. The value is computed first, as in Rust, and the place once.
    pub fn compound_assign(&mut self, binary: &ExprBinary, operator: &str) -> TokenStream {
        let value = self.expr(&binary.right);
        let (held, span) = (hidden("__value", binary.right.span()), binary.op.span());
        let operator = builder(span, operator);
        if let Expr::Index(index) = unwrapped(&binary.left) {
            let (base, indices) = indexed(index);
            let Some(name) = self.variable(base) else {
                return self.refuse(base, "only the elements of slices and arrays that have a name are written");
            };
            let place = hidden("__element", span);
            let [element, before, store] =
                ["element", "before", "store"].map(|function| builder(name.span(), function));
            let indices = self.indices(&indices);
            let reached = quote_spanned!(name.span()=> #element(&mut #name, #indices));
            let changed = quote_spanned!(span=> #operator(#before(&mut #place), #held));
            return quote!({
                let #held = #value;
                let mut #place = #reached;
                let #held = #changed;
                #store(#place, #held);
            });
        }
        let Some(place) = self.place(&binary.left) else { return TokenStream::new() };
        let read = self.expr(&binary.left);
        let set = builder(span, "set");
        let changed = quote_spanned!(span=> #operator(#read, #held));
        let assigned = quote_spanned!(binary.left.span()=> #set(&mut #place, #held));
        quote!({
            let #held = #value;
            let #held = #changed;
            #assigned;
        })
    }
}
