//! What a function's signature says: names, types, and where each parameter is.

use syn::spanned::Spanned;
use syn::{Error, FnArg, GenericParam, Generics, Ident, ItemFn, Pat, ReturnType, Type};

use crate::define::Kind;

/// A signature that a kernel or function may have.
pub struct Signature<'a> {
    pub name: &'a Ident,
    pub generics: &'a Generics,
    pub params: Vec<Param<'a>>,
    /// None where nothing is given back.
    pub result: Option<&'a Type>,
}

/// A parameter.
pub struct Param<'a> {
    pub name: &'a Ident,
    /// True for `mut name`.
    pub is_mut: bool,
    pub kind: ParamKind<'a>,
}

/// What a parameter takes.
#[derive(Clone, Copy)]
pub enum ParamKind<'a> {
    /// One value.
    Scalar(&'a Type),
    /// `&[T]` or `&mut [T]`.
    Slice { element: &'a Type, is_mut: bool },
    /// `&[T; N]` or `&mut [T; N]`.
    Array { array: &'a Type, is_mut: bool },
}

impl<'a> Signature<'a> {
    /// Reads a signature. What it may not have goes to `errors`.
    pub fn read(kind: Kind, function: &'a ItemFn, errors: &mut Vec<Error>) -> Self {
        let signature = &function.sig;
        let mut refuse = |span: proc_macro2::Span, message: String| errors.push(Error::new(span, message));
        let what = kind.what();
        let qualifiers = [
            signature.constness.map(|token| (token.span, "const")),
            signature.asyncness.map(|token| (token.span, "async")),
            signature.unsafety.map(|token| (token.span, "unsafe")),
            signature.abi.as_ref().map(|abi| (abi.extern_token.span, "extern")),
        ];
        for (span, qualifier) in qualifiers.into_iter().flatten() {
            refuse(span, format!("{what} is no `{qualifier} fn`: leave `{qualifier}` out"));
        }
        if let Some(variadic) = &signature.variadic {
            refuse(variadic.span(), format!("{what} takes a fixed number of parameters"));
        }
        for generic in &signature.generics.params {
            match generic {
                GenericParam::Lifetime(lifetime) => {
                    refuse(lifetime.span(), format!("{what} needs no lifetimes: leave them out, as in `x: &[f32]`"));
                }
                GenericParam::Type(param) if param.bounds.is_empty() && signature.generics.where_clause.is_none() => {
                    let name = &param.ident;
                    refuse(
                        param.span(),
                        format!("say what `{name}` is: `{name}: Element`, `Number`, `Float` or `Integer`"),
                    );
                }
                GenericParam::Type(_) | GenericParam::Const(_) => {}
            }
        }
        let mut params = Vec::new();
        for input in &signature.inputs {
            match param(kind, input) {
                Ok(param) => params.push(param),
                Err(error) => errors.push(error),
            }
        }
        let result = match &signature.output {
            ReturnType::Default => None,
            ReturnType::Type(_, result) => match &**result {
                Type::Tuple(tuple) if tuple.elems.is_empty() => None,
                result => Some(result),
            },
        };
        errors.extend(wrong_result(kind, signature, result));
        if let (Kind::Elementwise, 0 | 9..) = (kind, signature.inputs.len()) {
            let count = signature.inputs.len();
            let message = format!("an element-wise function takes one to eight parameters, and this one takes {count}");
            errors.push(Error::new(signature.paren_token.span.join(), message));
        }
        Self { name: &signature.ident, generics: &signature.generics, params, result }
    }
}

fn wrong_result(kind: Kind, signature: &syn::Signature, result: Option<&Type>) -> Option<Error> {
    let message = match (kind, result) {
        (Kind::Kernel, Some(_)) => "a kernel gives nothing back: write its results through a `&mut [T]` parameter",
        (Kind::Device | Kind::Elementwise, Some(Type::Tuple(_))) => {
            "a function gives back one scalar: write further ones through a `&mut` parameter, or split the function"
        }
        (Kind::Device | Kind::Elementwise, Some(Type::Reference(_) | Type::Slice(_) | Type::Array(_))) => {
            "a function gives back a scalar: take a `&mut [T]` or `&mut [T; N]` parameter and write through it"
        }
        (Kind::Device | Kind::Elementwise, Some(Type::ImplTrait(_) | Type::Never(_) | Type::BareFn(_))) => {
            "a function gives back a scalar"
        }
        (Kind::Elementwise, None) => "an element-wise function gives one element of the result: say its type, `-> f32`",
        _ => return None,
    };
    let span = result.map_or_else(|| signature.ident.span(), |result| result.span());
    Some(Error::new(span, message))
}

fn param(kind: Kind, input: &FnArg) -> Result<Param<'_>, Error> {
    let FnArg::Typed(typed) = input else {
        return Err(Error::new(
            input.span(),
            format!("{} is no method: take the values it needs as parameters", kind.what()),
        ));
    };
    let (name, is_mut) = match &*typed.pat {
        Pat::Ident(ident) if ident.by_ref.is_none() && ident.subpat.is_none() => {
            (&ident.ident, ident.mutability.is_some())
        }
        other => return Err(Error::new(other.span(), "a parameter has a name; take tuples apart inside")),
    };
    let kind = param_kind(kind, &typed.ty)?;
    Ok(Param { name, is_mut, kind })
}

fn param_kind(kind: Kind, of: &Type) -> Result<ParamKind<'_>, Error> {
    let refuse = |message: &str| Err(Error::new(of.span(), message));
    match ungrouped(of) {
        Type::Path(_) => Ok(ParamKind::Scalar(of)),
        Type::Reference(reference) => {
            let is_mut = reference.mutability.is_some();
            match (kind, ungrouped(&reference.elem)) {
                (Kind::Elementwise, _) => refuse(
                    "an element-wise function takes one element of each array, such as `x: f32`; \
                            for whole slices write a `#[lazuli::kernel]`",
                ),
                (_, Type::Slice(slice)) => match ungrouped(&slice.elem) {
                    Type::Path(_) => Ok(ParamKind::Slice { element: &slice.elem, is_mut }),
                    _ => {
                        refuse("a slice has scalars for elements: pass one slice of all rows, and the length of a row")
                    }
                },
                (Kind::Kernel, Type::Array(_)) => {
                    refuse("a kernel takes `&[T]` or `&mut [T]`: the length is known at the launch, as `x.len()`")
                }
                (_, array @ Type::Array(_)) => Ok(ParamKind::Array { array, is_mut }),
                (Kind::Kernel, _) => refuse("a kernel takes scalars by value, and memory as `&[T]` or `&mut [T]`"),
                _ => refuse("there are no references to values on a device: take the value, or a `&mut [T; 1]`"),
            }
        }
        Type::ImplTrait(_) => refuse("name the type, or make it a generic parameter: `<T: Float>`"),
        Type::Array(_) => refuse("arrays are not passed by value: take `&[T; N]` or `&mut [T; N]`"),
        Type::Tuple(_) => refuse("tuples are not passed: take each part as a parameter"),
        Type::Slice(_) => refuse("slices are passed as `&[T]` or `&mut [T]`"),
        Type::BareFn(_) | Type::TraitObject(_) => {
            refuse("functions are not values on a device: call a `#[lazuli::device]` function by its name")
        }
        _ => refuse("a parameter is a scalar, such as `f32`, or memory, `&[f32]` or `&mut [f32]`"),
    }
}

/// A type without parentheses around it, and without the marks of a `macro_rules!` that it came through.
fn ungrouped(of: &Type) -> &Type {
    match of {
        Type::Paren(inner) => ungrouped(&inner.elem),
        Type::Group(inner) => ungrouped(&inner.elem),
        other => other,
    }
}
