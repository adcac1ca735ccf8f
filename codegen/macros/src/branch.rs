//! `if` and `match`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Arm, Expr, ExprIf, ExprMatch, Ident, Pat, RangeLimits};

use crate::expression::constant;
use crate::statement::{goes_elsewhere, never};
use crate::translate::{Translator, builder, hidden, text};

/// A name that a pattern gives to what it matches.
struct Binding<'a> {
    name: &'a Ident,
    is_mut: bool,
    /// What it is given to.
    of: TokenStream,
}

impl Translator<'_> {
    pub fn if_else(&mut self, branches: &ExprIf) -> TokenStream {
        let whole = Expr::If(branches.clone());
        let span = branches.if_token.span;
        let none_is_had = goes_elsewhere(&whole);
        let condition = self.condition(&branches.cond);
        let begin = builder(span, "begin_if");
        let Some((_, otherwise)) = &branches.else_branch else {
            let then = self.block(&branches.then_branch);
            return quote_spanned!(span=> #begin(#condition).end({ #then }));
        };
        let then = self.branch(&branches.then_branch, none_is_had);
        let otherwise = self.branch_expr(otherwise, none_is_had);
        quote_spanned!(span=> #begin(#condition).otherwise(#then).end(#otherwise))
    }

    /// The condition of an `if` or `while`.
    pub fn condition(&mut self, condition: &Expr) -> TokenStream {
        match condition {
            Expr::Let(pattern) => self.refuse(
                pattern,
                "there is nothing to match by `let` in a condition on a device: compare, or write a `match`",
            ),
            condition => self.expr(condition),
        }
    }

    /// A branch that is an expression.
    fn branch_expr(&mut self, branch: &Expr, none_is_had: bool) -> TokenStream {
        match branch {
            Expr::Block(block) if block.label.is_none() => self.branch(&block.block, none_is_had),
            other => {
                let inner = self.expr(other);
                match (goes_elsewhere(other), none_is_had) {
                    (true, false) => never(quote!(#inner;)),
                    (true, true) => quote!({ #inner; }),
                    _ => quote!({ #inner }),
                }
            }
        }
    }

    pub fn match_arms(&mut self, whole: &ExprMatch) -> TokenStream {
        if whole.arms.is_empty() {
            return self.refuse(whole, "a `match` in a kernel has at least one arm");
        }
        let span = whole.match_token.span;
        let none_is_had = goes_elsewhere(&Expr::Match(whole.clone()));
        let chosen_by = self.expr(&whole.expr);
        let matched = hidden("__matched", whole.expr.span());
        let covered = self.covered(whole, &matched);
        let chain = self.arms(&whole.arms, &quote!(#matched), none_is_had);
        let local = builder(span, "local");
        quote!({
            let #matched = #local("matched", #chosen_by);
            #covered
            #chain
        })
    }

    /// The patterns, for rustc to look at: whether they cover everything, and whether each is reached.
    fn covered(&mut self, whole: &ExprMatch, matched: &Ident) -> TokenStream {
        let arms = whole.arms.iter().map(|arm| {
            let (pat, attrs) = (&arm.pat, &arm.attrs);
            let guard = arm.guard.as_ref().map(|_| quote!(if ::lazuli::kernel::build::sometimes()));
            // Where the body stands: rustc shows there what is missing after the last one.
            let nothing = quote_spanned!(arm.body.span()=> {});
            quote!(#(#attrs)* #pat #guard => #nothing)
        });
        let span = whole.expr.span();
        let (by, cover, read) = (hidden("__by", span), builder(span, "cover"), builder(span, "read"));
        let keyword = whole.match_token;
        let read = quote_spanned!(span=> &#read(&#matched));
        let cases = quote_spanned!(keyword.span=> |#by| #keyword #by { #(#arms),* });
        let call = quote_spanned!(span=> #cover(#read, #cases));
        quote!(#[allow(unused_variables, unused_mut)] #call;)
    }

    /// The arms from the first one on.
    fn arms(&mut self, arms: &[Arm], of: &TokenStream, none_is_had: bool) -> TokenStream {
        let Some((arm, rest)) = arms.split_first() else { return TokenStream::new() };
        if let Some(attr) = arm.attrs.iter().find(|attr| attr.path().is_ident("cfg")) {
            return self.refuse(attr, "an arm of a `match` in a kernel is not left out by `cfg`");
        }
        let mut bindings = Vec::new();
        let test = self.test(&arm.pat, of, &mut bindings);
        let body = self.scoped(|this| {
            let bound = this.bind_all(&bindings);
            let body = this.branch_expr(&arm.body, none_is_had);
            quote!({ #bound #body })
        });
        let guard = arm.guard.as_ref().map(|(keyword, guard)| {
            let guarded = self.scoped(|this| {
                let bound = this.bind_all(&bindings);
                let guard = this.condition(guard);
                quote!({ #bound #guard })
            });
            (keyword.span, guarded)
        });
        let condition = match (test, guard) {
            // rustc has seen that the last arm takes what the others leave.
            (Some(_) | None, None) if rest.is_empty() => return body,
            (None, None) => return body,
            (Some(test), None) => test,
            (None, Some((_, guard))) => guard,
            (Some(test), Some((span, guard))) => {
                let begin = builder(span, "begin_and");
                quote_spanned!(span=> #begin(#test).end(#guard))
            }
        };
        let rest = self.arms(rest, of, none_is_had);
        let begin = builder(arm.pat.span(), "begin_if");
        quote!(#begin(#condition).otherwise(#body).end({ #rest }))
    }

    fn bind_all(&mut self, bindings: &[Binding<'_>]) -> TokenStream {
        let mut bound = TokenStream::new();
        for Binding { name, is_mut, of } in bindings {
            self.declare(name);
            let (local, read, label) = (builder(name.span(), "local"), builder(name.span(), "read"), text(name));
            let mutability = is_mut.then(|| quote!(mut));
            bound.extend(quote!(
                #[allow(unused_variables, unused_mut)]
                let #mutability #name = #local(#label, #read(&#of));
            ));
        }
        bound
    }

    /// The condition under which a pattern matches; none where it always does.
    fn test<'p>(&mut self, pat: &'p Pat, of: &TokenStream, bindings: &mut Vec<Binding<'p>>) -> Option<TokenStream> {
        let span = pat.span();
        let compare = |operator: &str, with: TokenStream| {
            let (operator, read) = (builder(span, operator), builder(span, "read"));
            quote_spanned!(span=> #operator(#read(&#of), #with))
        };
        match pat {
            Pat::Wild(_) => None,
            Pat::Paren(inner) => self.test(&inner.pat, of, bindings),
            Pat::Lit(literal) => Some(compare("eq", constant(literal, span))),
            Pat::Path(path) => Some(compare("eq", constant(path, span))),
            Pat::Const(block) => Some(compare("eq", constant(block, span))),
            // Rust tells a constant from a new name by what there is; names are written like this.
            Pat::Ident(ident) if ident.subpat.is_none() && is_constant_name(&ident.ident) => {
                Some(compare("eq", constant(&ident.ident, span)))
            }
            Pat::Ident(ident) if ident.by_ref.is_none() => {
                bindings.push(Binding { name: &ident.ident, is_mut: ident.mutability.is_some(), of: of.clone() });
                ident.subpat.as_ref().and_then(|(_, inner)| self.test(inner, of, bindings))
            }
            Pat::Range(range) => {
                let least = range.start.as_ref().map(|start| compare("ge", constant(start, span)));
                let below = match range.limits {
                    RangeLimits::Closed(_) => "le",
                    RangeLimits::HalfOpen(_) => "lt",
                };
                let greatest = range.end.as_ref().map(|end| compare(below, constant(end, span)));
                both(span, "begin_and", least, greatest)
            }
            Pat::Or(or) => {
                let mut any: Option<TokenStream> = None;
                for case in &or.cases {
                    let before = bindings.len();
                    let test = self.test(case, of, bindings);
                    if bindings.len() > before {
                        bindings.truncate(before);
                        self.refuse(case, "name the whole in place of its alternatives: `x @ (1 | 2)`");
                    }
                    // One that always matches makes the others idle.
                    any = both(span, "begin_or", any, Some(test?));
                }
                any
            }
            Pat::Tuple(tuple) => {
                let mut all = None;
                for (number, part) in tuple.elems.iter().enumerate() {
                    let number = syn::Index::from(number);
                    let test = self.test(part, &quote!(#of.#number), bindings);
                    all = both(span, "begin_and", all, test);
                }
                all
            }
            other => {
                self.refuse(
                    other,
                    "a `match` in a kernel has literals, constants, ranges, names, `_`, alternatives and tuples of these",
                );
                None
            }
        }
    }
}

/// Two conditions joined, where there are two.
fn both(
    span: proc_macro2::Span,
    begin: &str,
    first: Option<TokenStream>,
    second: Option<TokenStream>,
) -> Option<TokenStream> {
    match (first, second) {
        (Some(first), Some(second)) => {
            let begin = builder(span, begin);
            Some(quote_spanned!(span=> #begin(#first).end(#second)))
        }
        (first, second) => first.or(second),
    }
}

fn is_constant_name(name: &Ident) -> bool {
    let name = name.to_string();
    name.chars().any(char::is_uppercase) && !name.chars().any(char::is_lowercase)
}
