//! Refuses what neither the emitter nor the host could run. What the macros write is checked by rustc before; this is for
//! mistakes of ours, and for IR built by hand.

use std::collections::HashSet;

use super::MemoryInfo;
use super::function::{Code, Definition, Function, FunctionParam, PointsTo};
use super::ir::{Argument, AtomicOp, Builtin, Element, Expr, Kernel, Memory, Param, Site, Space, Stmt, Var};
use super::scope::Scope;
use super::walk::walk;
use crate::DType;

/// How deep expressions and statements may nest. Later stages go down by recursion, on stacks of 2 MiB.
pub const MAX_DEPTH: usize = 400;

/// Most bytes of one array.
const MAX_ARRAY_BYTES: usize = 1 << 31;

/// Says what is wrong with a kernel, if anything is.
///
/// # Errors
/// The first fault, with the names in it.
pub fn verify(kernel: &Kernel) -> Result<(), String> {
    let scope = Scope::of_kernel(kernel);
    let named = |fault: String| format!("kernel {}: {fault}", kernel.name);
    if !is_identifier(&kernel.name) {
        return Err(named("its name is no identifier of C".to_owned()));
    }
    for param in &kernel.params {
        if let Param::Scalar { var } = param
            && scope.variable(*var).is_none()
        {
            return Err(named(format!("there is no variable {}", var.0)));
        }
    }
    Verifier::new(scope, None, &mut HashSet::new()).and_then(|mut verifier| verifier.run()).map_err(named)
}

/// Says what is wrong with a function and those it calls, if anything is.
///
/// # Errors
/// The first fault, with the names in it.
pub fn verify_function(function: Function) -> Result<(), String> {
    check_function(function, &mut HashSet::new())
}

fn check_function(function: Function, seen: &mut HashSet<Function>) -> Result<(), String> {
    if !seen.insert(function) {
        return Ok(());
    }
    let definition: &Definition = function.definition();
    let named = |fault: String| format!("function {}: {fault}", definition.name);
    if !is_identifier(&definition.name) {
        return Err(named("its name is no identifier of C".to_owned()));
    }
    let Some(scope) = Scope::of_function(definition) else { return check_source(definition).map_err(named) };
    for param in &definition.params {
        match param {
            FunctionParam::Scalar { var, dtype, name } => {
                if scope.variable(*var).is_none_or(|variable| variable.dtype != *dtype) {
                    return Err(named(format!("`{name}` is not held by a variable of type {dtype}")));
                }
            }
            FunctionParam::Memory { name, dims, dtype, .. } => {
                if let Some(dims) = dims {
                    check_dims(name, dims, *dtype).map_err(named)?;
                }
            }
        }
    }
    Verifier::new(scope, definition.result, seen).and_then(|mut verifier| verifier.run()).map_err(named)
}

fn check_source(definition: &Definition) -> Result<(), String> {
    let Code::Source { names, .. } = &definition.code else { return Ok(()) };
    if definition.params.iter().any(|param| matches!(param, FunctionParam::Memory { .. })) {
        return Err("source text takes values only".to_owned());
    }
    if names.len() != definition.params.len() {
        return Err(format!("{} names for {} parameters", names.len(), definition.params.len()));
    }
    if let Some(name) = names.iter().find(|name| !is_identifier(name)) {
        return Err(format!("`{name}` is no identifier of C"));
    }
    if definition.result.is_none() {
        return Err("source text has a result".to_owned());
    }
    Ok(())
}

fn is_identifier(name: &str) -> bool {
    let first = name.chars().next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn check_dims(name: &str, dims: &[usize], dtype: DType) -> Result<(), String> {
    let bytes = dims.iter().try_fold(dtype.size_bytes(), |bytes, &extent| bytes.checked_mul(extent));
    match bytes {
        _ if dims.is_empty() || dims.len() > 3 => Err(format!("`{name}` has {} axes, not one to three", dims.len())),
        Some(0) => Err(format!("`{name}` of extents {dims:?} has no element")),
        Some(bytes) if bytes < MAX_ARRAY_BYTES => Ok(()),
        _ => Err(format!("`{name}` of extents {dims:?} takes 2 GiB or more")),
    }
}

/// The state of checking one body.
struct Verifier<'a, 's> {
    scope: Scope<'a>,
    result: Option<DType>,
    /// By variable: true where it may be named.
    in_scope: Vec<bool>,
    /// By variable: true where it was introduced, so that it must not be again.
    introduced: Vec<bool>,
    /// The variables of the loops around, which their bodies do not assign.
    counters: Vec<Var>,
    loops: usize,
    /// Functions checked so far.
    seen: &'s mut HashSet<Function>,
}

impl<'a, 's> Verifier<'a, 's> {
    fn new(scope: Scope<'a>, result: Option<DType>, seen: &'s mut HashSet<Function>) -> Result<Self, String> {
        let variables = scope.body().vars.len();
        let (in_scope, introduced) = (vec![false; variables], vec![false; variables]);
        let mut verifier = Self { scope, result, in_scope, introduced, counters: Vec::new(), loops: 0, seen };
        for var in scope.parameter_variables() {
            verifier.introduce(var)?;
        }
        Ok(verifier)
    }

    fn run(&mut self) -> Result<(), String> {
        let body = self.scope.body();
        let mut depth = 0;
        walk(&body.statements, &mut |_, at| depth = depth.max(at));
        if depth >= MAX_DEPTH {
            return Err(format!("statements and expressions nest {depth} deep, where {MAX_DEPTH} is the limit"));
        }
        let mut sized_by_launch = 0;
        for array in &body.arrays {
            let is_group = array.space == Space::Group;
            if is_group && !self.scope.is_kernel() {
                return Err(format!("`{}` is an array of the group, which kernels declare", array.name));
            }
            if is_group && array.dims.is_empty() {
                sized_by_launch += 1;
            } else {
                check_dims(array.name, &array.dims, array.dtype)?;
            }
        }
        if sized_by_launch > 1 {
            return Err(format!("{sized_by_launch} arrays are as long as the launch says, where one may be"));
        }
        self.block(&body.statements)?;
        if self.result.is_some() && falls_through(&body.statements) {
            return Err("there is a way to its end without a value".to_owned());
        }
        Ok(())
    }

    fn block(&mut self, statements: &'a [Stmt]) -> Result<(), String> {
        let before = self.in_scope.clone();
        let checked = statements.iter().try_for_each(|stmt| self.statement(stmt));
        self.in_scope = before;
        checked
    }

    fn statement(&mut self, stmt: &'a Stmt) -> Result<(), String> {
        match stmt {
            Stmt::Let(var, value) => {
                let (dtype, name) = (self.var_type(*var)?, self.name(*var));
                // A call that is the whole of a statement may write: nothing else is evaluated beside it.
                match value {
                    Expr::Call(function, arguments) if function.result == Some(dtype) => {
                        self.call(*function, arguments, true)?;
                    }
                    value => self.expect(value, dtype, || format!("`{name}`"))?,
                }
                self.introduce(*var)
            }
            Stmt::Declare(var) => {
                self.var_type(*var)?;
                self.introduce(*var)
            }
            Stmt::Assign(var, value) => {
                if self.counters.contains(var) {
                    return Err(format!("`{}` counts a loop, whose body must not assign it", self.name(*var)));
                }
                let dtype = self.readable(*var)?;
                let name = self.name(*var);
                self.expect(value, dtype, || format!("`{name}`"))
            }
            Stmt::Store(element, value) => {
                let dtype = self.written(element)?;
                self.expect(value, dtype, || "the element".to_owned())
            }
            Stmt::Atomic { before, op, element, value, expected } => {
                let dtype = self.written(element)?;
                let place = self.scope.memory(element.memory).map(|memory| memory.place);
                if place == Some(PointsTo::Thread) {
                    return Err("an atomic on an array of the thread".to_owned());
                }
                if !op.is_defined_on(dtype) {
                    return Err(format!("the atomic {op:?} is not defined on {dtype}"));
                }
                if expected.is_some() != (*op == AtomicOp::CompareExchange) {
                    return Err(format!("the atomic {op:?} has a wrong number of operands"));
                }
                for operand in std::iter::once(value).chain(expected) {
                    self.expect(operand, dtype, || "the element".to_owned())?;
                }
                match before {
                    Some(var) if self.var_type(*var)? != dtype => {
                        Err(format!("`{}` cannot hold what a {dtype} held before", self.name(*var)))
                    }
                    Some(var) => self.introduce(*var),
                    None => Ok(()),
                }
            }
            Stmt::Call(function, arguments) => self.call(*function, arguments, true),
            Stmt::If { condition, then, otherwise } => {
                self.expect(condition, DType::Bool, || "a condition".to_owned())?;
                self.block(then)?;
                self.block(otherwise)
            }
            Stmt::For { var, start, end, step, body } => {
                let dtype = self.var_type(*var)?;
                if !dtype.is_integer() {
                    return Err(format!("`{}` counts a loop and is a {dtype}", self.name(*var)));
                }
                if *step == 0 {
                    return Err(format!("`{}` counts by 0", self.name(*var)));
                }
                let name = self.name(*var);
                self.expect(start, dtype, || format!("`{name}`"))?;
                self.expect(end, dtype, || format!("the end of `{name}`"))?;
                self.introduce(*var)?;
                self.counters.push(*var);
                self.loops += 1;
                let checked = self.block(body);
                self.loops -= 1;
                self.counters.pop();
                self.in_scope[var.0 as usize] = false;
                checked
            }
            Stmt::Loop(body) => {
                self.loops += 1;
                let checked = self.block(body);
                self.loops -= 1;
                checked
            }
            Stmt::Break | Stmt::Continue if self.loops == 0 => Err(format!("{stmt:?} outside of a loop")),
            Stmt::Break | Stmt::Continue => Ok(()),
            Stmt::Return(value) => match (value, self.result) {
                (None, None) => Ok(()),
                (Some(value), Some(dtype)) => self.expect(value, dtype, || "the result".to_owned()),
                (None, Some(dtype)) => Err(format!("it returns nothing, where its result is a {dtype}")),
                (Some(_), None) => Err("it returns a value, where it has no result".to_owned()),
            },
            Stmt::Barrier if self.scope.is_kernel() => Ok(()),
            Stmt::Barrier => Err("a barrier in a function: they stand in kernels only".to_owned()),
        }
    }

    /// The type of an expression, all of which is checked.
    fn expression(&mut self, expr: &'a Expr) -> Result<DType, String> {
        match expr {
            Expr::Literal(scalar) => Ok(scalar.dtype()),
            Expr::Var(var) => self.readable(*var),
            Expr::Builtin(
                Builtin::ThreadIndex(axis)
                | Builtin::GroupIndex(axis)
                | Builtin::GroupSize(axis)
                | Builtin::GridSize(axis),
            ) => match axis {
                0..3 => Ok(DType::U64),
                _ => Err(format!("a grid has no axis {axis}")),
            },
            Expr::Len(memory) => self.memory(*memory).map(|_| DType::U64),
            Expr::Load(element) => self.element(element),
            Expr::Unary(op, a) => {
                let dtype = self.expression(a)?;
                op.result(dtype).ok_or_else(|| format!("{} is not defined on {dtype}", op.name()))
            }
            Expr::Binary(op, a, b) => {
                let dtype = self.expression(a)?;
                self.expect(b, dtype, || format!("the right operand of {}", op.name()))?;
                op.result(dtype).ok_or_else(|| format!("{} is not defined on {dtype}", op.name()))
            }
            Expr::MulAdd(parts) => {
                let dtype = self.expression(&parts[0])?;
                if !dtype.is_float() {
                    return Err(format!("mul_add is not defined on {dtype}"));
                }
                for part in &parts[1..] {
                    self.expect(part, dtype, || "an operand of mul_add".to_owned())?;
                }
                Ok(dtype)
            }
            Expr::Cast(to, a) => self.expression(a).map(|_| *to),
            Expr::And(a, b) | Expr::Or(a, b) => {
                for operand in [a, b] {
                    self.expect(operand, DType::Bool, || "an operand of && or ||".to_owned())?;
                }
                Ok(DType::Bool)
            }
            Expr::Choose(parts) => {
                let [condition, then, otherwise] = &**parts;
                self.expect(condition, DType::Bool, || "a condition".to_owned())?;
                let dtype = self.expression(then)?;
                self.expect(otherwise, dtype, || "the other value of a choice".to_owned())?;
                Ok(dtype)
            }
            Expr::Bits(to, a) => {
                let from = self.expression(a)?;
                let is_bits = |dtype: DType| dtype != DType::Bool;
                match from.size_bytes() == to.size_bytes() && is_bits(from) && is_bits(*to) {
                    true => Ok(*to),
                    false => Err(format!("the bits of a {from} are no {to}")),
                }
            }
            Expr::Call(function, arguments) => {
                self.call(*function, arguments, false)?;
                function.result.ok_or_else(|| format!("{} has no result", function.name))
            }
        }
    }

    fn expect(&mut self, expr: &'a Expr, dtype: DType, what: impl FnOnce() -> String) -> Result<(), String> {
        match self.expression(expr)? {
            found if found == dtype => Ok(()),
            found => Err(format!("{} is a {dtype} and is given a {found}", what())),
        }
    }

    fn call(&mut self, function: Function, arguments: &'a [Argument], may_write: bool) -> Result<(), String> {
        check_function(function, self.seen)?;
        let name = &function.definition().name;
        let params = &function.definition().params;
        if params.len() != arguments.len() {
            return Err(format!("{name} takes {} arguments and is given {}", params.len(), arguments.len()));
        }
        for (param, argument) in params.iter().zip(arguments) {
            match (param, argument) {
                (FunctionParam::Scalar { dtype, name: param, .. }, Argument::Value(value)) => {
                    self.expect(value, *dtype, || format!("`{param}` of {name}"))?;
                }
                (FunctionParam::Memory { dtype, dims, place, is_mut, name: param }, Argument::Memory(memory)) => {
                    let given = self.memory(*memory)?;
                    if given.dtype != *dtype || given.dims != dims.as_deref() || given.place != *place {
                        return Err(format!("`{param}` of {name} is not what `{}` is", given.name));
                    }
                    if *is_mut && !given.is_mut {
                        return Err(format!("{name} writes `{}`, which is only read", given.name));
                    }
                    if *is_mut && !may_write {
                        return Err(format!("{name} writes memory, so that its call is a statement"));
                    }
                }
                _ => return Err(format!("{name} is given a value for memory, or memory for a value")),
            }
        }
        Ok(())
    }

    fn written(&mut self, element: &'a Element) -> Result<DType, String> {
        let dtype = self.element(element)?;
        match self.memory(element.memory)? {
            memory if memory.is_mut => Ok(dtype),
            memory => Err(format!("`{}` is only read", memory.name)),
        }
    }

    fn element(&mut self, element: &'a Element) -> Result<DType, String> {
        let memory = self.memory(element.memory)?;
        if element.index.len() != memory.axes() {
            return Err(format!("`{}` has {} axes and {} indices", memory.name, memory.axes(), element.index.len()));
        }
        for index in &element.index {
            self.expect(index, DType::U64, || format!("an index of `{}`", memory.name))?;
        }
        let Site(site) = element.site;
        match self.scope.body().sites.get(site as usize) {
            Some(_) => Ok(memory.dtype),
            None => Err(format!("there is no site {site}")),
        }
    }

    fn memory(&self, memory: Memory) -> Result<MemoryInfo<'a>, String> {
        self.scope.memory(memory).ok_or_else(|| format!("there is no {memory:?}"))
    }

    fn var_type(&self, var: Var) -> Result<DType, String> {
        let variable = self.scope.variable(var).ok_or_else(|| format!("there is no variable {}", var.0))?;
        Ok(variable.dtype)
    }

    /// The type of a variable that is in scope.
    fn readable(&self, var: Var) -> Result<DType, String> {
        let dtype = self.var_type(var)?;
        match self.in_scope[var.0 as usize] {
            true => Ok(dtype),
            false => Err(format!("`{}` is used where it is not in scope", self.name(var))),
        }
    }

    fn name(&self, var: Var) -> &'a str {
        self.scope.variable(var).map_or("", |variable| variable.name)
    }

    fn introduce(&mut self, var: Var) -> Result<(), String> {
        self.var_type(var)?;
        if std::mem::replace(&mut self.introduced[var.0 as usize], true) {
            return Err(format!("`{}` is introduced twice", self.name(var)));
        }
        self.in_scope[var.0 as usize] = true;
        Ok(())
    }
}

/// True where control may come to the end of statements.
fn falls_through(statements: &[Stmt]) -> bool {
    !statements.iter().any(|stmt| match stmt {
        Stmt::Return(_) | Stmt::Break | Stmt::Continue => true,
        Stmt::If { then, otherwise, .. } => !falls_through(then) && !falls_through(otherwise),
        Stmt::Loop(body) => !breaks(body),
        _ => false,
    })
}

/// True where statements of a loop's body leave that loop by a `Break`.
fn breaks(statements: &[Stmt]) -> bool {
    statements.iter().any(|stmt| match stmt {
        Stmt::Break => true,
        Stmt::If { then, otherwise, .. } => breaks(then) || breaks(otherwise),
        _ => false,
    })
}

impl AtomicOp {
    /// True where the operation is defined on elements of a type.
    pub const fn is_defined_on(self, dtype: DType) -> bool {
        match dtype {
            DType::I32 | DType::U32 | DType::I64 | DType::U64 => true,
            DType::F32 | DType::F64 => {
                matches!(self, AtomicOp::Add | AtomicOp::Min | AtomicOp::Max | AtomicOp::Exchange)
            }
            _ => false,
        }
    }
}
