//! What is refused wherever it stands, and what is written in its place.

use proc_macro2::TokenStream;
use syn::{Expr, Lit, Macro};

use crate::translate::Translator;

impl Translator<'_> {
    pub fn refused_literal(&mut self, literal: &Lit) -> TokenStream {
        let message = match literal {
            Lit::Str(_) | Lit::ByteStr(_) | Lit::CStr(_) => {
                "there are no strings on a device: write numbers to a slice"
            }
            Lit::Char(_) => "there are no characters on a device: write `'a' as u32` into a `const`",
            Lit::Byte(_) => "write a byte as a number: `97u8`",
            _ => "this literal is no number or bool",
        };
        self.refuse(literal, message)
    }

    pub fn refused_macro(&mut self, mac: &Macro) -> TokenStream {
        let name = mac.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        let message = match name.as_str() {
            "println" | "print" | "eprintln" | "eprint" | "dbg" | "format" | "write" | "writeln" => {
                "nothing is printed from a device: write values to a slice and print them after the launch"
            }
            "assert" | "assert_eq" | "assert_ne" | "debug_assert" | "debug_assert_eq" | "panic" | "unreachable"
            | "todo" | "unimplemented" => {
                "nothing panics on a device: write what went wrong to a slice, and look at it after the launch"
            }
            "vec" => "there is no heap on a device: write an array, `[0.0; 4]`",
            "matches" => "write a `match` in place of `matches!`",
            _ => "macros are not expanded in a kernel: write a `#[lazuli::device]` function",
        };
        self.refuse(mac, message)
    }

    /// An expression of a kind that no device has.
    pub fn refused_expr(&mut self, expr: &Expr) -> TokenStream {
        let message = match expr {
            Expr::Closure(_) => "there are no closures on a device: write a `#[lazuli::device]` function",
            Expr::Try(_) => "there is no `Result` on a device, and so no `?`: write an `if` and `return`",
            Expr::Async(_) | Expr::Await(_) => {
                "nothing waits on a device but `barrier()`: leave `async` and `await` out"
            }
            Expr::Unsafe(_) => "kernels need no `unsafe`: leave it out, indices are looked at in checked launches",
            Expr::Reference(_) | Expr::RawAddr(_) => {
                "references stand only where a device function is called: use the value, or index the slice"
            }
            Expr::Range(_) => "a range stands only in `for`: keep its two ends in variables",
            Expr::Struct(_) => "there are no structs on a device: use a variable for each field, or a tuple",
            Expr::Let(_) => {
                "there is nothing to match by `let` in a condition on a device: compare, or write a `match`"
            }
            Expr::TryBlock(_) | Expr::Yield(_) => "this is not part of the language of kernels",
            Expr::Infer(_) => "`_` stands only where a value is thrown away",
            _ => "this is not part of the language of kernels; see the module `lazuli::kernel`",
        };
        self.refuse(expr, message)
    }
}
