//! Expressions.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{BinOp, Expr, ExprArray, ExprBinary, ExprIndex, ExprRepeat, ExprUnary, Lit, UnOp};

use crate::translate::{Translator, builder, unwrapped};

impl Translator<'_> {
    /// The builder's calls for an expression.
    pub fn expr(&mut self, expr: &Expr) -> TokenStream {
        match expr {
            Expr::Paren(inner) => self.expr(&inner.expr),
            Expr::Group(inner) => self.expr(&inner.expr),
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(_) | Lit::Float(_) | Lit::Bool(_) => constant(literal, literal.span()),
                other => self.refused_literal(other),
            },
            Expr::Path(path) => match self.variable(expr) {
                Some(name) => {
                    let read = builder(name.span(), "read");
                    quote_spanned!(name.span()=> #read(&#name))
                }
                None => constant(path, path.span()),
            },
            Expr::Const(block) => constant(block, block.span()),
            Expr::Unary(unary) => self.unary(unary),
            Expr::Binary(binary) => self.binary(binary),
            Expr::Cast(cast) => {
                let (inner, to) = (self.expr(&cast.expr), &cast.ty);
                let (span, cast) = (cast.as_token.span, builder(cast.as_token.span, "cast"));
                quote_spanned!(span=> #cast::<#to, _>(#inner))
            }
            Expr::Tuple(tuple) => {
                let parts: Vec<_> = tuple.elems.iter().map(|part| self.expr(part)).collect();
                quote_spanned!(tuple.span()=> (#(#parts,)*))
            }
            Expr::Field(field) => {
                let (base, member) = (self.expr(&field.base), &field.member);
                quote!(#base.#member)
            }
            Expr::Index(index) => self.index(index),
            Expr::Array(array) => self.array(array),
            Expr::Repeat(repeat) => self.repeat(repeat),
            Expr::Call(call) => self.call(call),
            Expr::MethodCall(call) => self.method_call(call),
            Expr::Assign(assign) => self.assign(assign),
            Expr::If(branches) => self.if_else(branches),
            Expr::Match(arms) => self.match_arms(arms),
            Expr::Block(block) => {
                if let Some(label) = &block.label {
                    return self.refuse(label, "blocks have no labels in a kernel");
                }
                let inner = self.block(&block.block);
                quote!({ #inner })
            }
            Expr::While(repeated) => self.while_loop(repeated),
            Expr::Loop(repeated) => self.endless_loop(repeated),
            Expr::ForLoop(repeated) => self.for_loop(repeated),
            Expr::Return(returned) => {
                let value = returned.expr.as_ref().map_or_else(|| quote!(()), |value| self.expr(value));
                match self.result {
                    Some(result) => {
                        let give_back = builder(returned.return_token.span, "give_back");
                        quote!(#give_back::<#result>(#value))
                    }
                    None => {
                        let give_back = builder(returned.return_token.span, "give_back_nothing");
                        quote!(#give_back(#value))
                    }
                }
            }
            Expr::Break(leave) => self.leave(leave),
            Expr::Continue(next) => self.go_on(next),
            Expr::Macro(call) => self.refused_macro(&call.mac),
            other => self.refused_expr(other),
        }
    }

    fn unary(&mut self, unary: &ExprUnary) -> TokenStream {
        match unary.op {
            // The least integer of a type is a negative literal only as a whole.
            UnOp::Neg(_) if matches!(unwrapped(&unary.expr), Expr::Lit(literal) if is_number(&literal.lit)) => {
                constant(unary, unary.span())
            }
            UnOp::Neg(token) => {
                let (neg, inner) = (builder(token.span, "neg"), self.expr(&unary.expr));
                quote_spanned!(token.span=> #neg(#inner))
            }
            UnOp::Not(token) => {
                let (not, inner) = (builder(token.span, "not"), self.expr(&unary.expr));
                quote_spanned!(token.span=> #not(#inner))
            }
            _ => self.refuse(unary, "values of a kernel are no references: leave the `*` out"),
        }
    }

    fn binary(&mut self, binary: &ExprBinary) -> TokenStream {
        if let Some(name) = compound(&binary.op) {
            return self.compound_assign(binary, name);
        }
        let span = binary.op.span();
        let (left, right) = (self.expr(&binary.left), self.expr(&binary.right));
        let lazy = match binary.op {
            BinOp::And(_) => Some("begin_and"),
            BinOp::Or(_) => Some("begin_or"),
            _ => None,
        };
        if let Some(lazy) = lazy {
            let begin = builder(span, lazy);
            return quote_spanned!(span=> #begin(#left).end(#right));
        }
        let operator = builder(span, operator(&binary.op));
        quote_spanned!(span=> #operator(#left, #right))
    }

    /// `x[i]` or `a[i][j]`, read.
    fn index(&mut self, index: &ExprIndex) -> TokenStream {
        let (base, indices) = indexed(index);
        if let Some(name) = self.variable(base) {
            let load = builder(name.span(), "load");
            let indices = self.indices(&indices);
            return quote_spanned!(name.span()=> #load(&#name, #indices));
        }
        let is_known = |index: &&Expr| matches!(unwrapped(index), Expr::Lit(_));
        match unwrapped(base) {
            // An element of a constant array is a constant.
            Expr::Path(_) if indices.iter().all(is_known) => constant(index, index.span()),
            Expr::Path(_) => self.refuse(
                index,
                "a constant array is indexed by literals only: pass it as a slice, or write `let table = [..];` in the kernel",
            ),
            _ => self.refuse(base, "only slices and arrays that have a name are indexed: name it by `let` first"),
        }
    }

    /// One index for each axis, as a tuple.
    pub fn indices(&mut self, indices: &[&Expr]) -> TokenStream {
        let mut made = Vec::new();
        for index in indices {
            made.push(match unwrapped(index) {
                Expr::Range(range) => self.refuse(
                    range,
                    "a part of a slice is no value in a kernel: index its elements, or pass the slice and where the part begins",
                ),
                index => self.expr(index),
            });
        }
        let span = indices.first().map_or_else(Span::call_site, |index| index.span());
        quote_spanned!(span=> (#(#made,)*))
    }

    fn repeat(&mut self, repeat: &ExprRepeat) -> TokenStream {
        let (mut lengths, mut inner) = (vec![&*repeat.len], unwrapped(&repeat.expr));
        while let Expr::Repeat(next) = inner {
            lengths.push(&next.len);
            inner = unwrapped(&next.expr);
        }
        if lengths.len() > 3 {
            return self.refuse(repeat, "an array of a kernel has one to three axes: make one axis of several");
        }
        let array = builder(repeat.bracket_token.span.join(), &format!("array{}", lengths.len()));
        let lengths = lengths.into_iter().rev();
        let value = self.expr(inner);
        quote!(#array::<_, #({ #lengths }),*>(#value))
    }

    fn array(&mut self, array: &ExprArray) -> TokenStream {
        let span = array.bracket_token.span.join();
        let row = |this: &mut Self, row: &ExprArray| {
            let values: Vec<_> = row.elems.iter().map(|value| this.expr(value)).collect();
            quote!([#(#values),*])
        };
        if array.elems.is_empty() {
            return self.refuse(array, "an array of a kernel has at least one element");
        }
        if !array.elems.iter().any(|value| matches!(unwrapped(value), Expr::Array(_))) {
            let (array_of, values) = (builder(span, "array_of"), row(self, array));
            return quote!(#array_of(#values));
        }
        let mut rows = Vec::new();
        for value in &array.elems {
            rows.push(match unwrapped(value) {
                Expr::Array(inner) => row(self, inner),
                other => self.refuse(other, "every row of an array is written as `[..]`"),
            });
        }
        let array_of_rows = builder(span, "array_of_rows");
        quote!(#array_of_rows([#(#rows),*]))
    }
}

/// What is indexed, and the indices from the left.
pub fn indexed(index: &ExprIndex) -> (&Expr, Vec<&Expr>) {
    match unwrapped(&index.expr) {
        Expr::Index(outer) => {
            let (base, mut indices) = indexed(outer);
            indices.push(&index.index);
            (base, indices)
        }
        base => (base, vec![&index.index]),
    }
}

/// A constant of Rust.
pub fn constant(value: impl quote::ToTokens, span: Span) -> TokenStream {
    let lit = builder(span, "lit");
    quote_spanned!(span=> #lit(#value))
}

fn is_number(literal: &Lit) -> bool {
    matches!(literal, Lit::Int(_) | Lit::Float(_))
}

fn operator(op: &BinOp) -> &'static str {
    match op {
        BinOp::Add(_) => "add",
        BinOp::Sub(_) => "sub",
        BinOp::Mul(_) => "mul",
        BinOp::Div(_) => "div",
        BinOp::Rem(_) => "rem",
        BinOp::BitAnd(_) => "bit_and",
        BinOp::BitOr(_) => "bit_or",
        BinOp::BitXor(_) => "bit_xor",
        BinOp::Shl(_) => "shl",
        BinOp::Shr(_) => "shr",
        BinOp::Eq(_) => "eq",
        BinOp::Ne(_) => "ne",
        BinOp::Lt(_) => "lt",
        BinOp::Le(_) => "le",
        BinOp::Gt(_) => "gt",
        _ => "ge",
    }
}

/// The operator within a compound assignment.
fn compound(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::AddAssign(_) => "add",
        BinOp::SubAssign(_) => "sub",
        BinOp::MulAssign(_) => "mul",
        BinOp::DivAssign(_) => "div",
        BinOp::RemAssign(_) => "rem",
        BinOp::BitAndAssign(_) => "bit_and",
        BinOp::BitOrAssign(_) => "bit_or",
        BinOp::BitXorAssign(_) => "bit_xor",
        BinOp::ShlAssign(_) => "shl",
        BinOp::ShrAssign(_) => "shr",
        _ => return None,
    })
}
