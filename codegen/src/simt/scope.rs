//! What the numbers in a body stand for: the types of its variables, memory and expressions.

use super::function::{Code, Definition, Function, FunctionParam, PointsTo};
use super::ir::{Array, Body, Expr, Kernel, Memory, Param, Space, Var, Variable};
use crate::DType;

/// The names that a body is written in.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    body: &'a Body,
    params: Params<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Params<'a> {
    Kernel(&'a [Param]),
    Function(&'a [FunctionParam]),
}

/// What a [`Memory`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryInfo<'a> {
    /// The name in Rust.
    pub name: &'a str,
    /// Type of the elements.
    pub dtype: DType,
    /// The extents of an array; `None` for a slice, and for the array whose length the launch sets.
    pub dims: Option<&'a [usize]>,
    /// Where it lies.
    pub place: PointsTo,
    /// True where it may be written.
    pub is_mut: bool,
}

impl MemoryInfo<'_> {
    /// How many indices choose an element.
    pub fn axes(&self) -> usize {
        self.dims.map_or(1, <[usize]>::len)
    }
}

impl<'a> Scope<'a> {
    /// That of a kernel's body.
    pub fn of_kernel(kernel: &'a Kernel) -> Self {
        Self { body: &kernel.body, params: Params::Kernel(&kernel.params) }
    }

    /// That of a function's body; `None` where the function is source text.
    pub fn of_function(function: &'a Definition) -> Option<Self> {
        match &function.code {
            Code::Body(body) => Some(Self { body, params: Params::Function(&function.params) }),
            Code::Source { .. } => None,
        }
    }

    /// The body.
    pub fn body(&self) -> &'a Body {
        self.body
    }

    /// True in a kernel, where groups have arrays and barriers.
    pub fn is_kernel(&self) -> bool {
        matches!(self.params, Params::Kernel(_))
    }

    /// A variable by its number; `None` past the last.
    pub fn variable(&self, var: Var) -> Option<&'a Variable> {
        self.body.vars.get(var.0 as usize)
    }

    /// How many parameters there are.
    pub fn params(&self) -> usize {
        match self.params {
            Params::Kernel(params) => params.len(),
            Params::Function(params) => params.len(),
        }
    }

    /// The variables that parameters hold from the start, in order.
    pub fn parameter_variables(&self) -> Vec<Var> {
        match self.params {
            Params::Kernel(params) => params
                .iter()
                .filter_map(|param| match *param {
                    Param::Scalar { var } => Some(var),
                    Param::Slice { .. } => None,
                })
                .collect(),
            Params::Function(params) => params
                .iter()
                .filter_map(|param| match *param {
                    FunctionParam::Scalar { var, .. } => Some(var),
                    FunctionParam::Memory { .. } => None,
                })
                .collect(),
        }
    }

    /// What a number of memory stands for; `None` where it stands for none.
    pub fn memory(&self, memory: Memory) -> Option<MemoryInfo<'a>> {
        match (memory, self.params) {
            (Memory::Array(number), _) => self.body.arrays.get(number as usize).map(of_array),
            (Memory::Param(number), Params::Kernel(params)) => match *params.get(number as usize)? {
                Param::Slice { name, dtype, is_mut } => {
                    Some(MemoryInfo { name, dtype, dims: None, place: PointsTo::Global, is_mut })
                }
                Param::Scalar { .. } => None,
            },
            (Memory::Param(number), Params::Function(params)) => match params.get(number as usize)? {
                FunctionParam::Memory { name, dtype, dims, place, is_mut } => {
                    Some(MemoryInfo { name, dtype: *dtype, dims: dims.as_deref(), place: *place, is_mut: *is_mut })
                }
                FunctionParam::Scalar { .. } => None,
            },
        }
    }

    /// The type of an expression; `None` where it has none (`verify` says why).
    pub fn dtype(&self, expr: &Expr) -> Option<DType> {
        let mut expr = expr;
        loop {
            // What has its operand's type is that operand, as far as the type goes.
            expr = match expr {
                Expr::Literal(scalar) => return Some(scalar.dtype()),
                Expr::Var(var) => return self.variable(*var).map(|variable| variable.dtype),
                Expr::Builtin(_) | Expr::Len(_) => return Some(DType::U64),
                Expr::Load(element) => return self.memory(element.memory).map(|memory| memory.dtype),
                Expr::Cast(to, _) | Expr::Bits(to, _) => return Some(*to),
                Expr::And(..) | Expr::Or(..) => return Some(DType::Bool),
                Expr::Call(function, _) => return function.result,
                Expr::Binary(op, ..) if op.is_comparison() => return Some(DType::Bool),
                Expr::Unary(op, _) if op.result(DType::F32) == Some(DType::Bool) => return Some(DType::Bool),
                Expr::Unary(_, a) | Expr::Binary(_, a, _) => a,
                Expr::MulAdd(parts) => &parts[0],
                Expr::Choose(parts) => &parts[1],
            };
        }
    }
}

fn of_array(array: &Array) -> MemoryInfo<'_> {
    MemoryInfo {
        name: array.name,
        dtype: array.dtype,
        dims: if array.dims.is_empty() { None } else { Some(&array.dims) },
        place: match array.space {
            Space::Group => PointsTo::Group,
            Space::Thread => PointsTo::Thread,
        },
        is_mut: true,
    }
}

impl Function {
    /// The body, where the function is in the IR.
    pub fn body(self) -> Option<&'static Body> {
        match &self.definition().code {
            Code::Body(body) => Some(body),
            Code::Source { .. } => None,
        }
    }
}
