//! Loops.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprBreak, ExprContinue, ExprForLoop, ExprLoop, ExprWhile, Label, Pat, RangeLimits};

use crate::translate::{Translator, builder, hidden, text, unwrapped};

const LABELS: &str = "loops have no labels in a kernel: leave the inner one, and test a `bool` in the outer one";

impl Translator<'_> {
    pub fn while_loop(&mut self, repeated: &ExprWhile) -> TokenStream {
        self.refuse_label(repeated.label.as_ref());
        let span = repeated.while_token.span;
        let [begin, leave_unless] = ["begin_loop", "leave_unless"].map(|name| builder(span, name));
        let condition = self.condition(&repeated.cond);
        let body = self.round(&repeated.body);
        let guard = hidden("__loop", span);
        quote!({ let #guard = #begin(); #leave_unless(#condition); #body #guard.end() })
    }

    pub fn endless_loop(&mut self, repeated: &ExprLoop) -> TokenStream {
        self.refuse_label(repeated.label.as_ref());
        let span = repeated.loop_token.span;
        let (begin, guard) = (builder(span, "begin_loop"), hidden("__loop", span));
        let body = self.round(&repeated.body);
        quote!({ let #guard = #begin(); #body #guard.end() })
    }

    pub fn for_loop(&mut self, repeated: &ExprForLoop) -> TokenStream {
        self.refuse_label(repeated.label.as_ref());
        let span = repeated.for_token.span;
        let range = self.range(&repeated.expr);
        let (begin, guard) = (builder(span, "begin_for"), hidden("__for", span));
        let (name, body) = self.scoped(|this| {
            let (label, bound) = match &*repeated.pat {
                Pat::Ident(ident) if ident.by_ref.is_none() && ident.subpat.is_none() => {
                    let (name, label) = (&ident.ident, text(&ident.ident));
                    this.declare(name);
                    let bound = match &ident.mutability {
                        None => quote!(let #name = #guard.value();),
                        // The loop goes on by its own count, as in Rust.
                        Some(mutability) => {
                            let [local, read] = ["local", "read"].map(|function| builder(name.span(), function));
                            quote!(let #mutability #name = #local(#label, #read(&#guard.value()));)
                        }
                    };
                    (label, bound)
                }
                Pat::Wild(_) => ("i".to_string(), TokenStream::new()),
                other => ("i".to_string(), this.refuse(other, "a `for` in a kernel names one number: `for i in 0..n`")),
            };
            let body = this.round(&repeated.body);
            (label, quote!(#bound #body))
        });
        quote!({ let #guard = #begin(#name, #range); #body #guard.end() })
    }

    /// What a `for` runs over: a range, turned round or in steps.
    fn range(&mut self, over: &Expr) -> TokenStream {
        match unwrapped(over) {
            Expr::Range(range) => {
                let span = range.limits.span();
                let (Some(start), Some(end)) = (&range.start, &range.end) else {
                    return self.refuse(range, "a `for` in a kernel runs over a range with both ends: `0..n`");
                };
                let made = match range.limits {
                    RangeLimits::HalfOpen(_) => builder(span, "range"),
                    RangeLimits::Closed(_) => builder(span, "range_inclusive"),
                };
                let (start, end) = (self.expr(start), self.expr(end));
                quote_spanned!(span=> #made(#start, #end))
            }
            Expr::MethodCall(call) if call.method == "rev" && call.args.is_empty() => {
                let (range, method) = (self.range(&call.receiver), &call.method);
                quote_spanned!(method.span()=> #range.#method())
            }
            Expr::MethodCall(call) if call.method == "step_by" && call.args.len() == 1 => {
                let (range, method) = (self.range(&call.receiver), &call.method);
                let step: Vec<_> = call.args.iter().map(|step| self.expr(step)).collect();
                quote_spanned!(method.span()=> #range.#method(#(#step),*))
            }
            other => self.refuse(
                other,
                "a `for` in a kernel runs over a range, `a..b` or `a..=b`, turned round by `.rev()` or in steps by \
                 `.step_by(n)`; go through a slice by `for i in 0..x.len()`",
            ),
        }
    }

    /// The body of a loop.
    fn round(&mut self, body: &Block) -> TokenStream {
        self.loops += 1;
        let body = self.block(body);
        self.loops -= 1;
        quote!(let () = { #body };)
    }

    pub fn leave(&mut self, leave: &ExprBreak) -> TokenStream {
        if let Some(label) = &leave.label {
            return self.refuse(label, LABELS);
        }
        if let Some(value) = &leave.expr {
            return self.refuse(value, "a loop gives no value in a kernel: assign to a variable before `break`");
        }
        self.out_of_loop(leave.break_token.span, "leave", "`break`")
    }

    pub fn go_on(&mut self, next: &ExprContinue) -> TokenStream {
        if let Some(label) = &next.label {
            return self.refuse(label, LABELS);
        }
        self.out_of_loop(next.continue_token.span, "go_on", "`continue`")
    }

    fn out_of_loop(&mut self, span: proc_macro2::Span, function: &str, what: &str) -> TokenStream {
        if self.loops == 0 {
            self.errors.push(syn::Error::new(span, format!("{what} stands in a loop")));
        }
        let function = builder(span, function);
        quote_spanned!(span=> #function())
    }

    fn refuse_label(&mut self, label: Option<&Label>) {
        if let Some(label) = label {
            self.refuse(label, LABELS);
        }
    }
}

/// True where a `break` leaves this loop.
pub fn has_break(body: &Block) -> bool {
    struct Finder(bool);

    impl<'a> Visit<'a> for Finder {
        fn visit_expr_break(&mut self, _: &'a ExprBreak) {
            self.0 = true;
        }

        // Those inside leave inner loops.
        fn visit_expr_loop(&mut self, _: &'a ExprLoop) {}

        fn visit_expr_while(&mut self, _: &'a ExprWhile) {}

        fn visit_expr_for_loop(&mut self, _: &'a ExprForLoop) {}
    }

    let mut finder = Finder(false);
    visit::visit_block(&mut finder, body);
    finder.0
}
