//! Kernels, device functions and element-wise functions written in Rust. Use them through the crate `lazuli`, whose module
//! `lazuli::kernel` tells what they may contain.
//!
//! The macros translate the body of a function, expression by expression, to calls of a typed builder, each with the place of
//! what it comes from. rustc checks these calls as it would check the body: types, names, `mut`. What no device can do is refused
//! here, where it stands.
#![forbid(unsafe_code)]

mod signature;

mod translate;

mod statement;

mod expression;

mod call;

mod assign;

mod branch;

mod repeat;

mod refuse;

mod define;

use proc_macro::TokenStream;
use syn::ItemFn;

use define::Kind;

/// Makes a kernel of a function over slices (`&[T]`, `&mut [T]`) and scalars: every thread of a grid runs its body.
///
/// The function `saxpy` becomes one that takes buffers or arrays for its slices and gives a `lazuli::Launch`, and a module
/// `saxpy` with the type `Kernel`: `saxpy::Kernel::source(&device)` is the generated code. See `lazuli::kernel` for what the body
/// may contain.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand(Kind::Kernel, attribute, item)
}

/// Makes a function that kernels, other device functions and element-wise functions may call.
///
/// It takes scalars, slices and references to arrays, and gives a scalar or nothing. One of two parameters of one type, such as
/// `longer(a: f32, b: f32) -> f32`, is also what `Array::reduce` and `Array::scan` fold by, as `longer::Function`.
#[proc_macro_attribute]
pub fn device(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand(Kind::Device, attribute, item)
}

/// Makes a function over whole arrays of a function of one to eight scalars.
///
/// Its operands broadcast together, and a call of it is one operation of the lazy graph, which fuses as the built-in ones do.
#[proc_macro_attribute]
pub fn elementwise(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand(Kind::Elementwise, attribute, item)
}

fn expand(kind: Kind, attribute: TokenStream, item: TokenStream) -> TokenStream {
    let attribute = proc_macro2::TokenStream::from(attribute);
    if !attribute.is_empty() {
        return syn::Error::new_spanned(attribute, "this attribute takes no arguments").into_compile_error().into();
    }
    match syn::parse::<ItemFn>(item) {
        Ok(function) => define::define(kind, &function).into(),
        Err(error) => error.into_compile_error().into(),
    }
}
