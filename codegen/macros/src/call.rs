//! Calls of functions and methods.

use proc_macro2::TokenStream;
use quote::quote_spanned;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, ExprCall, ExprMethodCall, ExprPath, ExprReference, Token};

use crate::expression::{constant, indexed};
use crate::translate::{Translator, builder, unwrapped};

/// The scalar types, whose associated functions are methods or constants.
const SCALARS: [&str; 15] =
    ["bool", "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize", "f16", "bf16", "f32", "f64"];

impl Translator<'_> {
    pub fn call(&mut self, call: &ExprCall) -> TokenStream {
        let Expr::Path(function) = unwrapped(&call.func) else {
            return self.refuse(&call.func, "only functions that have a name are called in a kernel");
        };
        if self.variable(&call.func).is_some() {
            return self.refuse(
                function,
                "a variable of a kernel is no function: call a `#[lazuli::device]` function by its name",
            );
        }
        if function.path.is_ident(self.own_name) {
            return self.refuse(function, "a function of a device does not call itself: write a loop");
        }
        if let Some(associated) = self.associated(function, call) {
            return associated;
        }
        let arguments = self.arguments(&call.args);
        quote_spanned!(function.span()=> #function(#(#arguments),*))
    }

    /// A function of a scalar type: `f32::max(a, b)`, `T::zero()`, `f32::from_bits(x)`.
    fn associated(&mut self, function: &ExprPath, call: &ExprCall) -> Option<TokenStream> {
        let segments: Vec<_> = function.path.segments.iter().collect();
        let [.., of, name] = segments[..] else { return None };
        let of_name = of.ident.to_string();
        let is_param = segments.len() == 2 && self.type_params.contains(&of_name);
        if function.qself.is_some() || !(is_param || SCALARS.contains(&of_name.as_str())) {
            return None;
        }
        let (of, span) = (&of.ident, name.span());
        let arguments: Vec<_> = call.args.iter().collect();
        Some(match (name.ident.to_string().as_str(), &arguments[..]) {
            ("zero" | "one" | "default", []) => constant(call, call.span()),
            ("from_f64", [value]) if is_known(value) => constant(call, call.span()),
            ("from_f64", [value]) => {
                self.refuse(value, "`from_f64` takes a constant in a kernel; convert a value by `as`")
            }
            ("from_bits", [bits]) => {
                let (from_bits, bits) = (builder(span, "from_bits"), self.expr(bits));
                quote_spanned!(span=> #from_bits::<#of>(#bits))
            }
            ("from", [value]) => {
                let (from, value) = (builder(span, "from"), self.expr(value));
                quote_spanned!(span=> #from::<#of, _>(#value))
            }
            (_, [receiver, rest @ ..]) => {
                let (typed, receiver) = (builder(span, "typed"), self.expr(receiver));
                let rest: Vec<_> = rest.iter().map(|argument| self.expr(argument)).collect();
                quote_spanned!(span=> #typed::<#of>(#receiver).#name(#(#rest),*))
            }
            (_, []) => self.refuse(function, "this is no function of a scalar type that kernels know"),
        })
    }

    pub fn method_call(&mut self, call: &ExprMethodCall) -> TokenStream {
        let (method, span) = (&call.method, call.method.span());
        let name = method.to_string();
        if let ("len" | "is_empty", true) = (name.as_str(), call.args.is_empty()) {
            if let Some(receiver) = self.variable(&call.receiver) {
                let asked = builder(span, &name);
                return quote_spanned!(span=> #asked(&#receiver));
            }
        }
        let receiver = self.expr(&call.receiver);
        if let Some(instead) = instead_of_method(&name) {
            return self.refuse(method, instead);
        }
        let arguments = self.arguments(&call.args);
        let turbofish = &call.turbofish;
        quote_spanned!(span=> #receiver.#method #turbofish(#(#arguments),*))
    }

    fn arguments(&mut self, arguments: &Punctuated<Expr, Token![,]>) -> Vec<TokenStream> {
        let mut made = Vec::new();
        for argument in arguments {
            made.push(match unwrapped(argument) {
                Expr::Reference(reference) => self.reference(reference),
                argument => self.expr(argument),
            });
        }
        made
    }

    /// `&x`, `&mut x` or `&mut x[i]`, given to a function.
    fn reference(&mut self, reference: &ExprReference) -> TokenStream {
        let (span, is_mut) = (reference.and_token.span, reference.mutability.is_some());
        match unwrapped(&reference.expr) {
            Expr::Index(index) => {
                let (base, indices) = indexed(index);
                let Some(name) = self.variable(base) else {
                    return self.refuse(base, "only the elements of slices and arrays that have a name are lent");
                };
                if !is_mut && !indices.iter().any(|index| matches!(unwrapped(index), Expr::Range(_))) {
                    return self.refuse(reference, "elements are given by value: leave the `&` out");
                }
                let element = builder(name.span(), "element");
                let indices = self.indices(&indices);
                quote_spanned!(name.span()=> #element(&mut #name, #indices))
            }
            inner => match self.variable(inner) {
                Some(name) if is_mut => {
                    let by_mut = builder(span, "by_mut");
                    quote_spanned!(name.span()=> #by_mut(&mut #name))
                }
                Some(name) => {
                    let by_ref = builder(span, "by_ref");
                    quote_spanned!(name.span()=> #by_ref(&#name))
                }
                None => self.refuse(reference, "only slices and arrays that have a name are lent to functions"),
            },
        }
    }
}

/// True for what Rust knows before the kernel runs.
fn is_known(value: &Expr) -> bool {
    match unwrapped(value) {
        Expr::Lit(_) | Expr::Path(_) | Expr::Const(_) => true,
        Expr::Unary(unary) => is_known(&unary.expr),
        Expr::Binary(binary) => is_known(&binary.left) && is_known(&binary.right),
        _ => false,
    }
}

/// What is written in place of a method that no value of a kernel has, where that is not plain.
fn instead_of_method(name: &str) -> Option<&'static str> {
    Some(match name {
        "iter" | "iter_mut" | "into_iter" | "enumerate" | "zip" | "map" | "chunks" | "windows" => {
            "there are no iterators on a device: write `for i in 0..x.len()` and index"
        }
        "unwrap" | "expect" | "unwrap_or" | "get" | "get_mut" => {
            "there is no `Option` on a device: index by `x[i]` after a comparison with `x.len()`"
        }
        "checked_add" | "checked_sub" | "checked_mul" | "checked_div" | "overflowing_add" | "overflowing_sub" => {
            "there is no `Option` on a device: integers wrap, or saturate by `saturating_add` and `saturating_sub`"
        }
        "to_string" | "to_owned" | "to_vec" | "push" => "there is no heap on a device: write to a slice or an array",
        _ => return None,
    })
}
