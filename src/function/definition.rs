//! A function written in Rust, as its macro defines it.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use lazuli_codegen::simt::Function;

use crate::dtype::Element;
use crate::error::Result;

/// A function of scalars written in Rust, as `#[lazuli::elementwise]` and `#[lazuli::device]` define it: one type for each set
/// of generic arguments, named as the function with `::Function` after it.
pub trait FunctionDefinition: 'static {
    /// The types of its parameters, as a tuple.
    type Arguments;
    /// The type of its result.
    type Result;

    /// The function in the IR. What it builds depends on nothing but the type.
    ///
    /// Errors: `Kernel` for what the macro cannot see, such as functions that call each other in a circle.
    #[doc(hidden)]
    fn build() -> Result<Function>;
}

/// What folds and scans by: a function of two elements of `T` that gives a third, from Rust or from source.
///
/// It must be associative, and folds take it to be commutative too: a tree decides what meets what, and it is the same tree at
/// every run.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no function that combines two `{T}`",
    note = "give `name::Function` of a function under `#[lazuli::device]`, `fn name(a: {T}, b: {T}) -> {T}`"
)]
pub trait CombineFunction<T: Element> {
    /// The function in the IR.
    #[doc(hidden)]
    fn function(&self) -> Result<Function>;
}

impl<T: Element, F: FunctionDefinition<Arguments = (T, T), Result = T>> CombineFunction<T> for F {
    fn function(&self) -> Result<Function> {
        function_of::<F>()
    }
}

/// The function of a definition, built at its first use.
pub(crate) fn function_of<F: FunctionDefinition>() -> Result<Function> {
    static BUILT: OnceLock<Mutex<HashMap<TypeId, Function>>> = OnceLock::new();
    let built = BUILT.get_or_init(Mutex::default);
    let key = TypeId::of::<F>();
    if let Some(function) = built.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Ok(*function);
    }
    // Not under the lock: building it may ask for others.
    let function = F::build()?;
    built.lock().unwrap_or_else(PoisonError::into_inner).insert(key, function);
    Ok(function)
}
