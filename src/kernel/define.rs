//! From the code that a macro wrote to a kernel or function in the IR.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use lazuli_codegen::DType;
use lazuli_codegen::simt::Function;
use lazuli_codegen::simt::function::{Code, Definition, FunctionParam, PointsTo};
use lazuli_codegen::simt::ir::{Argument, Expr, Kernel, Memory, Param, Stmt};

use super::builder::{self, FunctionKey, Scope};
use super::memory::{ArrayMut, ArrayRef, ArrayType, Extents, Handle, MemoryKind, Slice, SliceMut};
use super::scalar::KernelScalar;
use super::value::{Local, Value, never};
use crate::error::{Error, Result};

/// The parameters of what is being built.
pub enum Params {
    /// Of a kernel.
    Kernel(Vec<Param>),
    /// Of a function, and what the memory parameters are that are still to come.
    Function(Vec<FunctionParam>, std::vec::IntoIter<MemoryKind>),
}

impl Default for Params {
    fn default() -> Self {
        Params::Kernel(Vec::new())
    }
}

/// The name of a kernel or function with the generic arguments it was made for, such as `axpy_f32`.
fn full_name(name: &str, generics: &[String]) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let of_value = |generic: &String| generic.replace('-', "minus_").chars().map(letter).collect();
    std::iter::once(name.to_string()).chain(generics.iter().map(of_value)).collect::<Vec<String>>().join("_")
}

/// Builds a kernel.
#[doc(hidden)]
pub fn kernel(name: &'static str, generics: &[String], body: fn()) -> Result<Kernel> {
    let scope = Scope::enter(name, None, Params::Kernel(Vec::new()));
    body();
    let failed = |what| Error::Kernel { kernel: name.into(), what };
    match scope.finish().map_err(failed)? {
        (Params::Kernel(params), body) => Ok(Kernel { name: full_name(name, generics), params, body }),
        (Params::Function(..), _) => Err(Error::Internal(format!("kernel {name} has a function's parameters"))),
    }
}

/// What a device function gives.
#[doc(hidden)]
#[diagnostic::on_unimplemented(message = "a device function gives a scalar or nothing, not `{Self}`")]
pub trait Given: Sized {
    /// The type of the result.
    fn dtype() -> Option<DType>;
    /// Calls a function where this is what it gives.
    fn call(function: Function, arguments: Vec<Argument>) -> Self;
    /// What stands for it where there is no function to call.
    fn nothing() -> Self;
}

impl Given for () {
    fn dtype() -> Option<DType> {
        None
    }

    fn call(function: Function, arguments: Vec<Argument>) {
        builder::push(Stmt::Call(function, arguments));
    }

    fn nothing() {}
}

impl<T: KernelScalar> Given for Value<T> {
    fn dtype() -> Option<DType> {
        Some(T::DTYPE)
    }

    fn call(function: Function, arguments: Vec<Argument>) -> Self {
        let writes = |param: &FunctionParam| matches!(param, FunctionParam::Memory { is_mut: true, .. });
        if !function.params.iter().any(writes) {
            return Value::of(Expr::Call(function, arguments));
        }
        // What writes memory is called where it stands, not where its value is used.
        builder::before_memory_changes();
        Value::of(builder::in_variable("given", T::DTYPE, Expr::Call(function, arguments)))
    }

    fn nothing() -> Self {
        never()
    }
}

/// What a device function is called with.
#[doc(hidden)]
pub enum Passed {
    Value(Expr),
    Memory(Handle),
}

#[doc(hidden)]
pub fn value<T: KernelScalar>(value: Value<T>) -> Passed {
    Passed::Value(value.into_expr())
}

/// What is passed for a `&[T]`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(message = "`{Self}` is no `&[{T}]` for a device function")]
pub trait PassedSlice<T> {
    fn passed(self) -> Passed;
}

/// What is passed for a `&mut [T]`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(message = "`{Self}` is no `&mut [{T}]` for a device function")]
pub trait PassedSliceMut<T> {
    fn passed(self) -> Passed;
}

/// What is passed for a reference to an array.
#[doc(hidden)]
#[diagnostic::on_unimplemented(message = "`{Self}` is no `&{A}` for a device function")]
pub trait PassedArray<A> {
    fn passed(self) -> Passed;
}

/// What is passed for a `&mut` reference to an array.
#[doc(hidden)]
#[diagnostic::on_unimplemented(message = "`{Self}` is no `&mut {A}` for a device function")]
pub trait PassedArrayMut<A> {
    fn passed(self) -> Passed;
}

macro_rules! passed {
    ($($trait:ident of $($handle:ident),+ by $kind:ident;)+) => {
        $($(passed!(@$kind $trait $handle);)+)+
    };
    (@same $trait:ident $handle:ident) => {
        impl<T> $trait<T> for $handle<T> {
            fn passed(self) -> Passed {
                Passed::Memory(self.handle)
            }
        }
    };
    // An array of one axis is a slice too.
    (@slice $trait:ident $handle:ident) => {
        impl<T, const N: usize> $trait<T> for $handle<[T; N]> {
            fn passed(self) -> Passed {
                Passed::Memory(self.handle)
            }
        }
    };
}

passed! {
    PassedSlice of Slice, SliceMut by same;
    PassedSlice of ArrayRef, ArrayMut by slice;
    PassedSliceMut of SliceMut by same;
    PassedSliceMut of ArrayMut by slice;
    PassedArray of ArrayRef, ArrayMut by same;
    PassedArrayMut of ArrayMut by same;
}

/// Calls a device function, which is built before unless it was for memory of the same kinds.
#[doc(hidden)]
pub fn call<D: 'static, G: Given>(name: &'static str, generics: &[String], passed: Vec<Passed>, body: fn()) -> G {
    let kind = |passed: &Passed| match passed {
        Passed::Value(_) => None,
        Passed::Memory(handle) => Some(handle.kind),
    };
    let key = FunctionKey { id: TypeId::of::<D>(), memory: passed.iter().filter_map(kind).collect() };
    match function_by_key(name, generics, key, G::dtype(), body) {
        Ok(function) => {
            let argument = |passed| match passed {
                Passed::Value(expr) => Argument::Value(expr),
                Passed::Memory(handle) => Argument::Memory(handle.memory),
            };
            G::call(function, passed.into_iter().map(argument).collect())
        }
        Err(what) => {
            builder::fail(|| what);
            G::nothing()
        }
    }
}

/// A function of scalars.
#[doc(hidden)]
pub fn function<D: 'static, G: Given>(name: &'static str, generics: &[String], body: fn()) -> Result<Function> {
    let key = FunctionKey { id: TypeId::of::<D>(), memory: Vec::new() };
    let failed = |what| Error::Kernel { kernel: name.into(), what };
    function_by_key(name, generics, key, G::dtype(), body).map_err(failed)
}

fn function_by_key(
    name: &'static str,
    generics: &[String],
    key: FunctionKey,
    result: Option<DType>,
    body: fn(),
) -> Result<Function, String> {
    static BUILT: OnceLock<Mutex<HashMap<FunctionKey, Function>>> = OnceLock::new();
    let built = || BUILT.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(function) = built().get(&key) {
        return Ok(*function);
    }
    if builder::is_being_built(&key) {
        return Err(format!("device function {name} calls itself, directly or through others, which no device does"));
    }
    let kinds = key.memory.clone().into_iter();
    let scope = Scope::enter(name, Some(key.clone()), Params::Function(Vec::new(), kinds));
    body();
    let (params, body) = scope.finish()?;
    let Params::Function(params, _) = params else { return Err(format!("{name} has a kernel's parameters")) };
    let code = Code::Body(body);
    let function = Function::new(Definition { name: full_name(name, generics), params, result, code });
    built().insert(key, function);
    Ok(function)
}

/// The next parameter, a scalar.
#[doc(hidden)]
pub fn scalar_param<T: KernelScalar>(name: &'static str) -> Local<T> {
    let var = builder::variable(name, T::DTYPE);
    builder::with(|builder| match &mut builder.params {
        Params::Kernel(params) => params.push(Param::Scalar { var }),
        Params::Function(params, _) => params.push(FunctionParam::Scalar { var, name, dtype: T::DTYPE }),
    });
    Local::of(var)
}

/// The next parameter, a `&[T]`.
#[doc(hidden)]
pub fn slice_param<T: KernelScalar>(name: &'static str) -> Slice<T> {
    Slice::at(memory_param(name, T::DTYPE, false))
}

/// The next parameter, a `&mut [T]`.
#[doc(hidden)]
pub fn slice_mut_param<T: KernelScalar>(name: &'static str) -> SliceMut<T> {
    SliceMut::at(memory_param(name, T::DTYPE, true))
}

/// The next parameter, a reference to an array.
#[doc(hidden)]
pub fn array_param<A: ArrayType>(name: &'static str) -> ArrayRef<A> {
    ArrayRef::at(memory_param(name, A::Element::DTYPE, false))
}

/// The next parameter, a `&mut` reference to an array.
#[doc(hidden)]
pub fn array_mut_param<A: ArrayType>(name: &'static str) -> ArrayMut<A> {
    ArrayMut::at(memory_param(name, A::Element::DTYPE, true))
}

fn memory_param(name: &'static str, dtype: DType, is_mut: bool) -> Handle {
    let slice = MemoryKind { place: PointsTo::Global, extents: None };
    let at = builder::with(|builder| match &mut builder.params {
        Params::Kernel(params) => {
            params.push(Param::Slice { name, dtype, is_mut });
            (params.len() - 1, slice)
        }
        Params::Function(params, kinds) => {
            let kind = kinds.next().unwrap_or(slice);
            let dims = kind.extents.map(Extents::to_vec);
            params.push(FunctionParam::Memory { name, dtype, dims, place: kind.place, is_mut });
            (params.len() - 1, kind)
        }
    });
    let (number, kind) = at.unwrap_or((0, slice));
    Handle { memory: Memory::Param(number as u32), kind }
}

/// A generic argument that is a type, as names of kernels have it.
#[doc(hidden)]
pub fn type_name<T: KernelScalar>() -> String {
    T::NAME.to_string()
}
