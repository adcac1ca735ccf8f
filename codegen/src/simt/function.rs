//! Device functions: what kernels call, and what whole arrays are mapped, folded and scanned by.

use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::ir::{Body, Memory, Var};
use crate::DType;

/// A function of a kernel: a handle that is as cheap to copy and compare as a number.
///
/// Functions are told apart by what they are, never by where they were made: equal definitions give one handle, for the life of
/// the process. So a handle may stand in the key of a plan or of a kernel.
#[derive(Clone, Copy)]
pub struct Function(&'static Definition);

/// What a function is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Definition {
    /// A legal C identifier, by which the emitter calls it (with a number where two share it).
    pub name: String,
    /// In order.
    pub params: Vec<FunctionParam>,
    /// Type of the result; `None` where it is called for what it does to memory.
    pub result: Option<DType>,
    /// What it does.
    pub code: Code,
}

/// A parameter of a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FunctionParam {
    /// One value, in a variable of the body.
    Scalar {
        /// The variable that holds it from the start.
        var: Var,
        /// The name in Rust.
        name: &'static str,
        /// Its type.
        dtype: DType,
    },
    /// A slice or an array of the caller. A body names it as [`Memory::Param`] with this parameter's number.
    Memory {
        /// The name in Rust.
        name: &'static str,
        /// Type of the elements.
        dtype: DType,
        /// The extents of an array; `None` for a slice, whose length is passed along.
        dims: Option<Vec<usize>>,
        /// Where the caller's memory is: OpenCL C has a pointer type for each.
        place: PointsTo,
        /// True where it is written.
        is_mut: bool,
    },
}

/// What a pointer parameter points to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PointsTo {
    /// Device memory.
    Global,
    /// An array of the group.
    Group,
    /// An array of the thread.
    Thread,
}

/// How a function is given.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Code {
    /// In the IR; runs everywhere.
    Body(Body),
    /// As source text, known only at run time: the body of a C function over scalars (all parameters are), written in the
    /// vocabulary of the prelude, which both dialects compile. The host has no compiler for it.
    Source {
        /// Parameter names, in order.
        names: Vec<String>,
        /// Statements, of which one is `return value;`.
        text: String,
    },
}

impl Function {
    /// The handle of a definition.
    pub fn new(definition: Definition) -> Self {
        static KNOWN: OnceLock<Mutex<HashSet<&'static Definition>>> = OnceLock::new();
        let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&definition) {
            return Self(known);
        }
        // Kept for good: a program has few functions, and handles to them are in keys of caches that outlive everything else.
        let definition: &'static Definition = Box::leak(Box::new(definition));
        known.insert(definition);
        Self(definition)
    }

    /// What it is.
    pub fn definition(self) -> &'static Definition {
        self.0
    }

    /// The name, for as long as the process lives.
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// True where it takes values of these types, and no memory, and gives one of that.
    pub fn is_of_values(self, params: &[DType], result: DType) -> bool {
        let takes = |(own, wanted): (&FunctionParam, &DType)| match own {
            FunctionParam::Scalar { dtype, .. } => dtype == wanted,
            FunctionParam::Memory { .. } => false,
        };
        self.0.result == Some(result)
            && self.0.params.len() == params.len()
            && self.0.params.iter().zip(params).all(takes)
    }

    /// A number that no other function of this process has.
    pub fn number(self) -> u64 {
        std::ptr::from_ref(self.0).addr() as u64
    }

    /// The memory that parameter number `param` stands for.
    pub const fn memory(param: u32) -> Memory {
        Memory::Param(param)
    }
}

impl Deref for Function {
    type Target = Definition;

    fn deref(&self) -> &Definition {
        self.0
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number().hash(state);
    }
}

impl fmt::Debug for Function {
    /// The name; a body may be long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.0.name)
    }
}
