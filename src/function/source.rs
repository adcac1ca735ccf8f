//! Functions given as source text, for code that is known only at run time.
//!
//! The text is C in the vocabulary of Lazuli's prelude (`f32`, `i64`, ..), which CUDA C and OpenCL C share, and the usual
//! functions of both languages (`exp`, `fmin`, ..). The host has no compiler: there its use is an `Unsupported` error.

use std::marker::PhantomData;
use std::panic::Location;

use lazuli_codegen::DType;
use lazuli_codegen::simt::Function;
use lazuli_codegen::simt::function::{Code, Definition, FunctionParam};
use lazuli_codegen::simt::ir::Var;

use super::definition::CombineFunction;
use super::map::map;
use super::operand::AnyOperand;
use crate::array::Array;
use crate::dtype::Element;
use crate::error::{Error, Result};

/// An element-wise function from source text (PyOpenCL's and CuPy's `ElementwiseKernel`), with results of type `T`.
///
/// ```
/// use lazuli::prelude::*;
///
/// let linear = lazuli::ElementwiseKernel::<f32>::new("linear", "f32 a, f32 x, f32 y", "a * x + y")?;
/// let device = Device::auto()?;
/// let (x, y) = (device.from_slice(&[1.0f32, 2.0])?, device.from_slice(&[10.0f32, 20.0])?);
/// let z = linear.call(&lazuli::operands![3.0f32, &x, &y]); // recorded, and fused with what it is used with
/// match z.get() {
///     Ok(z) => assert_eq!(z.as_slice().unwrap(), [13.0, 26.0]),
///     Err(error) => assert!(device.name() == "host", "{error}"), // the host compiles no source
/// }
/// # Ok::<(), lazuli::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ElementwiseKernel<T: Element> {
    function: Function,
    result: PhantomData<fn() -> T>,
}

impl<T: Element> ElementwiseKernel<T> {
    /// A function with a name, parameters such as `"f32 x, i32 n"` (any element type; `float`, `double` and `int` are taken
    /// too), and a body: an expression, or statements of which each way through ends in a `return`.
    ///
    /// Errors: `HostData` for a name or a parameter that cannot be read. What the compiler finds comes out of `get`.
    pub fn new(name: &str, params: &str, body: &str) -> Result<Self> {
        let function = parse("ElementwiseKernel::new", name, params, T::DTYPE, body)?;
        Ok(Self { function, result: PhantomData })
    }

    /// Records the function on operands that broadcast together, one for each parameter and of its type.
    ///
    /// Errors, kept until a value is asked for: `InvalidArgument` where number or types differ, `ShapeMismatch`,
    /// `DeviceMismatch`; `Compile` with the compiler's log; `Unsupported` on the host.
    #[track_caller]
    pub fn call(&self, operands: &[AnyOperand]) -> Array<T> {
        map(self.function.name(), Ok(self.function), operands, Location::caller())
    }
}

/// A fold from source text (PyOpenCL's and PyCUDA's `ReductionKernel`): elements are mapped by one expression and combined by
/// another.
#[derive(Clone, Copy, Debug)]
pub struct ReductionKernel<T: Element> {
    map: Option<Function>,
    combine: SourceCombine,
    identity: T,
}

impl<T: Element> ReductionKernel<T> {
    /// A fold by an expression of `a` and `b`, both of type `T`, such as `"a + b"`, from `identity`.
    ///
    /// Errors: `HostData` for a name that is no identifier.
    pub fn new(name: &str, identity: T, combine: &str) -> Result<Self> {
        let combine = SourceCombine::new::<T>("ReductionKernel::new", name, combine)?;
        Ok(Self { map: None, combine, identity })
    }

    /// The same over elements computed first, as by an [`ElementwiseKernel`] with results of type `T`.
    ///
    /// Errors: as [`ElementwiseKernel::new`].
    pub fn mapping(self, params: &str, map: &str) -> Result<Self> {
        let name = format!("{}_map", self.combine.0.name());
        let map = parse("ReductionKernel::mapping", &name, params, T::DTYPE, map)?;
        Ok(Self { map: Some(map), ..self })
    }

    /// Folds all elements. Without [`mapping`](Self::mapping) there is one operand, the elements themselves.
    ///
    /// Errors, kept until a value is asked for: as [`ElementwiseKernel::call`].
    #[track_caller]
    pub fn call(&self, operands: &[AnyOperand]) -> Array<T> {
        self.mapped(operands).reduce(self.combine, self.identity)
    }

    /// Folds along one axis, which is removed.
    ///
    /// Errors, kept until a value is asked for: as [`ElementwiseKernel::call`]; `InvalidAxis`.
    #[track_caller]
    pub fn call_axis(&self, operands: &[AnyOperand], axis: isize) -> Array<T> {
        self.mapped(operands).reduce_axis(self.combine, self.identity, axis)
    }

    #[track_caller]
    fn mapped(&self, operands: &[AnyOperand]) -> Array<T> {
        let at = Location::caller();
        match (self.map, operands) {
            (Some(function), _) => map(function.name(), Ok(function), operands, at),
            (None, [only]) if only.node.dtype() == T::DTYPE && only.device.is_some() => only.array(),
            (None, _) => {
                let types: Vec<DType> = operands.iter().map(|operand| operand.node.dtype()).collect();
                let what = format!("{types:?} are given where one array of {} is folded", T::DTYPE);
                let error = Error::InvalidArgument { op: self.combine.0.name(), what, shape: Vec::new(), at };
                map(self.combine.0.name(), Err(error), operands, at)
            }
        }
    }
}

/// A scan from source text (PyOpenCL's `InclusiveScanKernel` and `ExclusiveScanKernel`).
#[derive(Clone, Copy, Debug)]
pub struct ScanKernel<T: Element> {
    combine: SourceCombine,
    identity: T,
}

impl<T: Element> ScanKernel<T> {
    /// A scan by an expression of `a`, what came before, and `b`, the next element, both of type `T`; from `identity`.
    ///
    /// Errors: `HostData` for a name that is no identifier.
    pub fn new(name: &str, identity: T, combine: &str) -> Result<Self> {
        Ok(Self { combine: SourceCombine::new::<T>("ScanKernel::new", name, combine)?, identity })
    }

    /// As [`Array::scan`].
    #[track_caller]
    pub fn inclusive(&self, x: &Array<T>, axis: isize) -> Array<T> {
        x.scan(self.combine, self.identity, axis)
    }

    /// As [`Array::scan_exclusive`].
    #[track_caller]
    pub fn exclusive(&self, x: &Array<T>, axis: isize) -> Array<T> {
        x.scan_exclusive(self.combine, self.identity, axis)
    }
}

/// A function of two elements from source text.
#[derive(Clone, Copy, Debug)]
struct SourceCombine(Function);

impl SourceCombine {
    fn new<T: Element>(op: &'static str, name: &str, body: &str) -> Result<Self> {
        let name_of_type = T::DTYPE.name();
        parse(op, name, &format!("{name_of_type} a, {name_of_type} b"), T::DTYPE, body).map(Self)
    }
}

impl<T: Element> CombineFunction<T> for SourceCombine {
    fn function(&self) -> Result<Function> {
        Ok(self.0)
    }
}

/// The function of a text.
fn parse(op: &'static str, name: &str, params: &str, result: DType, body: &str) -> Result<Function> {
    let refused = |what: String| Err(Error::HostData { op, what });
    if !is_identifier(name) {
        return refused(format!("{name:?} is no name for a function in C"));
    }
    let (mut parsed, mut names) = (Vec::new(), Vec::new());
    for (number, param) in params.split(',').map(str::trim).enumerate() {
        let words: Vec<&str> = param.split_whitespace().collect();
        let (dtype, param_name) = match words[..] {
            [type_name, param_name] if is_identifier(param_name) => (dtype_of(type_name), param_name),
            _ => (None, ""),
        };
        let Some(dtype) = dtype else {
            let takes = "takes an element type and a name, such as \"f32 x\"";
            return refused(format!("parameter {number} of {name}, {param:?}: {takes}"));
        };
        if names.iter().any(|other| other == param_name) {
            return refused(format!("parameter {number} of {name}: there are two of the name {param_name:?}"));
        }
        parsed.push(FunctionParam::Scalar { var: Var(number as u32), name: "", dtype });
        names.push(param_name.to_string());
    }
    // One expression is the value; a statement says so itself.
    let is_expression = !body.contains(';');
    let text = if is_expression { format!("return {};", body.trim()) } else { body.trim().to_string() };
    if body.trim().is_empty() {
        return refused(format!("the body of {name} is empty"));
    }
    Ok(Function::new(Definition {
        name: name.to_string(),
        params: parsed,
        result: Some(result),
        code: Code::Source { names, text },
    }))
}

fn dtype_of(name: &str) -> Option<DType> {
    match name {
        "float" => Some(DType::F32),
        "double" => Some(DType::F64),
        "int" => Some(DType::I32),
        _ => DType::ALL.into_iter().find(|dtype| dtype.name() == name),
    }
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|next| next.is_ascii_alphanumeric() || next == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_told_with_its_number() {
        let error = |name: &str, params: &str, body: &str| {
            ElementwiseKernel::<f32>::new(name, params, body).unwrap_err().to_string()
        };
        assert!(error("9lives", "f32 x", "x").contains("\"9lives\" is no name"));
        assert!(error("f", "f32 x, f33 y", "x").contains("parameter 1 of f, \"f33 y\""));
        assert!(error("f", "f32 x, y", "x").contains("parameter 1 of f, \"y\""));
        assert!(error("f", "f32 x, f32 x", "x").contains("two of the name \"x\""));
        assert!(error("f", "f32 x", "  ").contains("empty"));
    }

    #[test]
    fn equal_texts_are_one_function() {
        let one = ElementwiseKernel::<f32>::new("f", "f32 x", "x + 1.0f").unwrap();
        let same = ElementwiseKernel::<f32>::new("f", "float x", "x + 1.0f ").unwrap();
        let other = ElementwiseKernel::<f32>::new("f", "f32 x", "x + 2.0f").unwrap();
        assert_eq!(one.function, same.function);
        assert_ne!(one.function, other.function);
    }
}
