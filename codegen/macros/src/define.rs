//! The items that a macro makes of a function.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{Attribute, Error, FnArg, GenericParam, Generics, Ident, ItemFn, Pat, PatType, Type};

use crate::signature::{Param, ParamKind, Signature};
use crate::translate::{Translator, builder, hidden, text};

/// Which macro it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Kernel,
    Device,
    Elementwise,
}

impl Kind {
    /// What a message calls the function.
    pub fn what(self) -> &'static str {
        match self {
            Kind::Kernel => "a kernel",
            Kind::Device => "a device function",
            Kind::Elementwise => "an element-wise function",
        }
    }
}

/// The items for a function; errors where it cannot be translated, and then the items with an empty body, so that what uses
/// them has no errors of its own. A signature that is refused makes none.
pub fn define(kind: Kind, function: &ItemFn) -> TokenStream {
    let mut errors = Vec::new();
    let signature = Signature::read(kind, function, &mut errors);
    let is_signature_wrong = !errors.is_empty();
    let types = signature.generics.type_params().map(|param| param.ident.to_string()).collect();
    let mut translator = Translator::new(signature.name, signature.result, types);
    // Also those whose type is refused, so that each mistake is told once.
    for input in &function.sig.inputs {
        if let FnArg::Typed(PatType { pat, .. }) = input {
            if let Pat::Ident(ident) = &**pat {
                translator.declare(&ident.ident);
            }
        }
    }
    let params: TokenStream = signature.params.iter().map(param_of_body).collect();
    let body = translator.body(&function.block);
    errors.extend(translator.errors);
    let body = if errors.is_empty() { quote!(#params #body) } else { TokenStream::new() };
    let items = Items { kind, function, signature: &signature, body };
    let made = match kind {
        _ if is_signature_wrong => TokenStream::new(),
        Kind::Kernel => items.kernel(),
        Kind::Device => items.device(),
        Kind::Elementwise => items.elementwise(),
    };
    let errors = errors.into_iter().map(Error::into_compile_error);
    quote!(#(#errors)* #made)
}

/// The variable of a parameter in the body.
fn param_of_body(param: &Param<'_>) -> TokenStream {
    let (name, label, span) = (param.name, text(param.name), param.name.span());
    match param.kind {
        ParamKind::Scalar(of) => {
            let (made, mutability) = (builder(span, "scalar_param"), param.is_mut.then(|| quote!(mut)));
            quote!(let #mutability #name = #made::<#of>(#label);)
        }
        ParamKind::Slice { element, is_mut } => {
            let made = builder(span, if is_mut { "slice_mut_param" } else { "slice_param" });
            quote!(#[allow(unused_mut)] let mut #name = #made::<#element>(#label);)
        }
        ParamKind::Array { array, is_mut } => {
            let made = builder(span, if is_mut { "array_mut_param" } else { "array_param" });
            quote!(#[allow(unused_mut)] let mut #name = #made::<#array>(#label);)
        }
    }
}

/// A function and what was made of its body.
struct Items<'a> {
    kind: Kind,
    function: &'a ItemFn,
    signature: &'a Signature<'a>,
    body: TokenStream,
}

impl Items<'_> {
    fn kernel(&self) -> TokenStream {
        let (name, attrs, vis) = (self.signature.name, &self.function.attrs, &self.function.vis);
        let handle = self.handle();
        let arguments: Vec<_> = self
            .signature
            .params
            .iter()
            .map(|Param { name, kind, .. }| match kind {
                ParamKind::Scalar(of) => quote!(#name: #of),
                ParamKind::Slice { element, is_mut: false } => {
                    quote!(#name: impl ::lazuli::SliceArg<'__launch, #element>)
                }
                ParamKind::Slice { element, .. } => quote!(#name: impl ::lazuli::SliceMutArg<'__launch, #element>),
                ParamKind::Array { .. } => TokenStream::new(),
            })
            .collect();
        let passed = self.signature.params.iter().map(|Param { name, kind, .. }| match kind {
            ParamKind::Scalar(of) => quote!(<#of as ::lazuli::ScalarArg<#of>>::into_arg(#name)),
            ParamKind::Slice { element, is_mut: false } => quote!(::lazuli::SliceArg::<'_, #element>::into_arg(#name)),
            ParamKind::Slice { element, .. } => quote!(::lazuli::SliceMutArg::<'_, #element>::into_arg(#name)),
            ParamKind::Array { .. } => TokenStream::new(),
        });
        let (declared, where_clause) = (self.declared_generics(), &self.signature.generics.where_clause);
        let (generics, label, names) = (self.bounded_generics(), text(name), self.generic_names());
        let (definition, body) = (self.definition("Kernel"), self.body_function());
        quote! {
            #(#attrs)*
            #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)]
            #vis fn #name<'__launch, #declared>(#(#arguments),*) -> ::lazuli::Launch<'__launch> #where_clause {
                ::lazuli::Launch::of_kernel::<#handle>(::lazuli::kernel::build::vec![#(#passed),*])
            }

            #definition

            #[allow(non_local_definitions)]
            impl #generics ::lazuli::KernelDefinition for #handle #where_clause {
                const NAME: &'static str = #label;

                fn build() -> ::lazuli::Result<::lazuli::kernel::build::Kernel> {
                    ::lazuli::kernel::build::kernel(#label, &[#(#names),*], Self::__body)
                }
            }

            #[allow(non_local_definitions)]
            impl #generics #handle #where_clause {
                #body

                /// The kernel's code as the device's compiler sees it; on the host a printed form.
                ///
                /// Errors: `Compile`, `Unsupported`, `Driver`, `Kernel`.
                #[allow(dead_code)]
                pub fn source(device: &::lazuli::Device) -> ::lazuli::Result<::lazuli::kernel::build::String> {
                    ::lazuli::kernel::build::source::<Self>(device)
                }

                /// What the device's compiler tells of the kernel: registers, memory of a group, the most threads.
                ///
                /// Errors: as `source`; `Unsupported` where the device tells nothing.
                #[allow(dead_code)]
                pub fn attributes(device: &::lazuli::Device) -> ::lazuli::Result<::lazuli::KernelAttributes> {
                    ::lazuli::kernel::build::attributes::<Self>(device)
                }
            }
        }
    }

    fn device(&self) -> TokenStream {
        let (name, attrs, vis) = (self.signature.name, &self.function.attrs, &self.function.vis);
        let handle = self.handle();
        let arguments = self.signature.params.iter().map(|Param { name, kind, .. }| {
            let of = match kind {
                ParamKind::Scalar(of) => quote!(::lazuli::kernel::build::Value<#of>),
                ParamKind::Slice { element, is_mut: false } => {
                    quote!(impl ::lazuli::kernel::build::PassedSlice<#element>)
                }
                ParamKind::Slice { element, .. } => quote!(impl ::lazuli::kernel::build::PassedSliceMut<#element>),
                ParamKind::Array { array, is_mut: false } => quote!(impl ::lazuli::kernel::build::PassedArray<#array>),
                ParamKind::Array { array, .. } => quote!(impl ::lazuli::kernel::build::PassedArrayMut<#array>),
            };
            quote!(#name: #of)
        });
        let passed = self.signature.params.iter().map(|Param { name, kind, .. }| match kind {
            ParamKind::Scalar(_) => quote!(::lazuli::kernel::build::value(#name)),
            ParamKind::Slice { element, is_mut: false } => {
                quote!(::lazuli::kernel::build::PassedSlice::<#element>::passed(#name))
            }
            ParamKind::Slice { element, .. } => {
                quote!(::lazuli::kernel::build::PassedSliceMut::<#element>::passed(#name))
            }
            ParamKind::Array { array, is_mut: false } => {
                quote!(::lazuli::kernel::build::PassedArray::<#array>::passed(#name))
            }
            ParamKind::Array { array, .. } => quote!(::lazuli::kernel::build::PassedArrayMut::<#array>::passed(#name)),
        });
        let given = match self.signature.result {
            Some(result) => quote!(::lazuli::kernel::build::Value<#result>),
            None => quote!(()),
        };
        let (declared, where_clause) = (self.declared_generics(), &self.signature.generics.where_clause);
        let (label, names, definition) = (text(name), self.generic_names(), self.function_definition());
        quote! {
            #(#attrs)*
            #[allow(clippy::too_many_arguments, dead_code)]
            #vis fn #name<#declared>(#(#arguments),*) -> #given #where_clause {
                ::lazuli::kernel::build::call::<#handle, #given>(
                    #label,
                    &[#(#names),*],
                    ::lazuli::kernel::build::vec![#(#passed),*],
                    <#handle>::__body,
                )
            }

            #definition
        }
    }

    fn elementwise(&self) -> TokenStream {
        let (name, attrs, vis) = (self.signature.name, &self.function.attrs, &self.function.vis);
        let Some(result) = self.signature.result else { return TokenStream::new() };
        let (handle, at) = (self.handle(), hidden("__at", name.span()));
        let scalars: Vec<_> = self.scalars();
        let names = self.signature.params.iter().map(|param| param.name);
        let operands = names
            .clone()
            .zip(&scalars)
            .map(|(name, of)| quote!(::lazuli::kernel::build::AnyOperand::new::<#of>(#name, #at)));
        let (declared, where_clause) = (self.declared_generics(), &self.signature.generics.where_clause);
        let (label, definition) = (text(name), self.function_definition());
        quote! {
            #(#attrs)*
            #[track_caller]
            #[allow(clippy::too_many_arguments)]
            #vis fn #name<#declared>(#(#names: impl ::lazuli::Operand<#scalars>),*) -> ::lazuli::Array<#result> #where_clause {
                let #at = ::lazuli::kernel::build::Location::caller();
                ::lazuli::kernel::build::over_arrays::<#handle, #result>(#label, &[#(#operands),*], #at)
            }

            #definition
        }
    }

    /// The type of a function and what it defines.
    fn function_definition(&self) -> TokenStream {
        let (handle, body, definition) = (self.handle(), self.body_function(), self.definition("Function"));
        let (generics, where_clause) = (self.bounded_generics(), &self.signature.generics.where_clause);
        let scalars = self.scalars();
        let of_scalars = self.signature.result.filter(|_| scalars.len() == self.signature.params.len()).map(|result| {
            let (label, names) = (text(self.signature.name), self.generic_names());
            quote! {
                #[allow(non_local_definitions)]
                impl #generics ::lazuli::FunctionDefinition for #handle #where_clause {
                    type Arguments = (#(#scalars,)*);
                    type Result = #result;

                    fn build() -> ::lazuli::Result<::lazuli::kernel::build::Function> {
                        ::lazuli::kernel::build::function::<Self, ::lazuli::kernel::build::Value<#result>>(
                            #label,
                            &[#(#names),*],
                            Self::__body,
                        )
                    }
                }
            }
        });
        quote! {
            #definition

            #[allow(non_local_definitions)]
            impl #generics #handle #where_clause {
                #body
            }

            #of_scalars
        }
    }

    /// The module that has the function's name, with its type.
    fn definition(&self, handle: &str) -> TokenStream {
        let (name, vis, handle) = (self.signature.name, &self.function.vis, format_ident!("{handle}"));
        let what = match self.kind {
            Kind::Kernel => "kernel",
            Kind::Device => "device function",
            Kind::Elementwise => "element-wise function",
        };
        let (of_module, of_type) = (format!("The {what} `{name}` as a type."), format!("The {what} `{name}`."));
        let generics: Vec<_> = self
            .signature
            .generics
            .params
            .iter()
            .map(|param| match param {
                GenericParam::Const(param) => {
                    let (name, of) = (&param.ident, &param.ty);
                    quote!(const #name: #of)
                }
                GenericParam::Type(param) => {
                    let name = &param.ident;
                    quote!(#name)
                }
                GenericParam::Lifetime(param) => quote!(#param),
            })
            .collect();
        let (names, types) =
            (self.generic_arguments(), self.signature.generics.type_params().map(|param| &param.ident));
        let cfgs = self.function.attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
        let defined = match generics.is_empty() {
            true => quote! {
                #[derive(Clone, Copy, Debug)]
                pub struct #handle;
            },
            false => quote! {
                #[derive(Clone, Copy, Debug)]
                pub struct #handle<#(#generics),*>(::lazuli::kernel::build::PhantomData<fn() -> (#(#types,)*)>);

                impl<#(#generics),*> #handle<#(#names),*> {
                    /// It, for these generic arguments.
                    #[allow(clippy::new_without_default, dead_code)]
                    pub const fn new() -> Self {
                        Self(::lazuli::kernel::build::PhantomData)
                    }
                }
            },
        };
        quote! {
            #(#cfgs)*
            #[doc = #of_module]
            #[allow(non_snake_case, dead_code)]
            #vis mod #name {
                #[doc = #of_type]
                #defined
            }
        }
    }

    /// The function that builds the body.
    fn body_function(&self) -> TokenStream {
        let (body, span) = (&self.body, self.signature.name.span());
        let lints = self.function.attrs.iter().filter(|attr| is_lint(attr));
        let name = quote_spanned!(span=> __body);
        quote! {
            #(#lints)*
            #[doc(hidden)]
            #[allow(clippy::all, unused_parens, unused_braces, redundant_semicolons, let_underscore_drop)]
            pub fn #name() {
                #body
            }
        }
    }

    /// The type that stands for the function, with its generic arguments.
    fn handle(&self) -> TokenStream {
        let (name, names) = (self.signature.name, self.generic_arguments());
        let handle = if self.kind == Kind::Kernel { quote!(Kernel) } else { quote!(Function) };
        if names.is_empty() { quote!(#name::#handle) } else { quote!(#name::#handle<#(#names),*>) }
    }

    fn generic_arguments(&self) -> Vec<&Ident> {
        let name = |param| match param {
            &GenericParam::Type(ref param) => Some(&param.ident),
            GenericParam::Const(param) => Some(&param.ident),
            GenericParam::Lifetime(_) => None,
        };
        self.signature.generics.params.iter().filter_map(name).collect()
    }

    /// The generic parameters as they were written.
    fn declared_generics(&self) -> TokenStream {
        let params = &self.signature.generics.params;
        let comma = (!params.is_empty() && !params.trailing_punct()).then(|| quote!(,));
        quote!(#params #comma)
    }

    fn bounded_generics(&self) -> TokenStream {
        let Generics { params, .. } = self.signature.generics;
        quote!(<#params>)
    }

    /// What each generic argument adds to the name of the kernel.
    fn generic_names(&self) -> Vec<TokenStream> {
        let name = |param: &GenericParam| match param {
            GenericParam::Type(param) => {
                let of = &param.ident;
                Some(quote!(::lazuli::kernel::build::type_name::<#of>()))
            }
            GenericParam::Const(param) => {
                let of = &param.ident;
                Some(quote!(::lazuli::kernel::build::ToString::to_string(&#of)))
            }
            GenericParam::Lifetime(_) => None,
        };
        self.signature.generics.params.iter().filter_map(name).collect()
    }

    /// The types of the parameters that are scalars.
    fn scalars(&self) -> Vec<&Type> {
        self.signature.params.iter().filter_map(type_of).collect()
    }
}

/// The type of a parameter that is a scalar.
fn type_of<'a>(param: &Param<'a>) -> Option<&'a Type> {
    match param.kind {
        ParamKind::Scalar(of) => Some(of),
        _ => None,
    }
}

fn is_lint(attr: &Attribute) -> bool {
    ["allow", "expect", "warn", "deny"].iter().any(|lint| attr.path().is_ident(lint))
}
