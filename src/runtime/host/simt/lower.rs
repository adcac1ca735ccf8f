//! From the SIMT IR to steps.

use std::collections::HashMap;

use lazuli_codegen::simt::function::{Code, Definition, Function, FunctionParam};
use lazuli_codegen::simt::ir::{Argument, Body, Builtin, Element, Expr, Kernel, Memory, Param, Space, Stmt, Var};
use lazuli_codegen::simt::{self, Node, Scope};
use lazuli_codegen::{BinaryOp, DType, Scalar};
use smallvec::SmallVec;

use super::advance::advance;
use super::program::{
    Access, Atomic, Call, Callee, Counter, If, Lanes, MaskId, MemoryId, MemorySlot, Program, Reg, Repeat, Step,
};
use crate::runtime::host::ops::apply::Fn1;
use crate::runtime::host::ops::{binary::binary, cast, register_bytes, ternary, unary::unary};

/// A program with the functions it calls.
pub struct Lowered {
    pub program: Program,
    pub callees: Vec<Callee>,
}

/// Lowers a kernel, which must be valid.
///
/// # Errors
/// What the host cannot run: functions that are source text. And faults of ours.
pub fn lower_kernel(kernel: &Kernel) -> Result<Lowered, String> {
    let mut lowering = Lowering::new(kernel.body.sites.len(), &kernel.body);
    let mut memories = Vec::new();
    for param in &kernel.params {
        memories.push(match *param {
            Param::Slice { .. } => Some(lowering.memory(MemorySlot::Slice)),
            Param::Scalar { .. } => None,
        });
    }
    let scope = Scope::of_kernel(kernel);
    let (callee, _) = lowering.body(scope, memories, 0, None)?;
    Ok(lowering.finish(scope, callee, None))
}

/// Lowers a function over values, which must be valid.
///
/// # Errors
/// As of [`lower_kernel`].
pub fn lower_function(function: Function) -> Result<Lowered, String> {
    let definition: &Definition = function.definition();
    let Some(scope) = Scope::of_function(definition) else { return Err(no_compiler(definition)) };
    if definition.params.iter().any(|param| matches!(param, FunctionParam::Memory { .. })) {
        return Err(format!("function {} takes memory, which vectors are not", definition.name));
    }
    let mut lowering = Lowering::new(0, scope.body());
    let memories = vec![None; definition.params.len()];
    let result = definition.result.map(|dtype| lowering.register(dtype));
    let (callee, _) = lowering.body(scope, memories, 0, result)?;
    Ok(lowering.finish(scope, callee, result))
}

fn no_compiler(definition: &Definition) -> String {
    format!("function {}, which is source text; write it in Rust, under #[lazuli::device]", definition.name)
}

/// What callers must know of a lowered function.
#[derive(Clone)]
struct FunctionInfo {
    number: usize,
    values: Vec<Option<Reg>>,
    memories: Vec<Option<MemoryId>>,
    result: Option<Reg>,
}

/// The state of lowering a kernel and its functions.
struct Lowering {
    program: Program,
    callees: Vec<Callee>,
    functions: HashMap<Function, FunctionInfo>,
    first_sites: HashMap<Function, u32>,
    constants: HashMap<Scalar, Reg>,
    /// The registers of variables, of the body lowered last.
    vars: Vec<Reg>,
}

impl Lowering {
    fn new(sites: usize, body: &Body) -> Self {
        let reached = simt::reached_functions(&body.statements);
        Self {
            program: Program::default(),
            callees: Vec::new(),
            functions: HashMap::new(),
            first_sites: simt::first_sites(sites, &reached),
            constants: HashMap::new(),
            vars: Vec::new(),
        }
    }

    fn register(&mut self, dtype: DType) -> Reg {
        self.program.registers.push(register_bytes(dtype));
        Reg(self.program.registers.len() as u32 - 1)
    }

    fn mask(&mut self) -> MaskId {
        self.program.masks += 1;
        MaskId(self.program.masks as u32 - 1)
    }

    fn memory(&mut self, slot: MemorySlot) -> MemoryId {
        self.program.memories.push(slot);
        MemoryId(self.program.memories.len() as u32 - 1)
    }

    fn constant(&mut self, scalar: Scalar) -> Reg {
        if let Some(&known) = self.constants.get(&scalar) {
            return known;
        }
        let reg = self.register(scalar.dtype());
        // Registers hold halves as arguments do.
        self.program.constants.push((reg, scalar.argument_bytes().0));
        self.constants.insert(scalar, reg);
        reg
    }

    fn builtin(&mut self, builtin: Builtin) -> Reg {
        if let Some(&(_, known)) = self.program.builtins.iter().find(|(known, _)| *known == builtin) {
            return known;
        }
        let reg = self.register(DType::U64);
        self.program.builtins.push((builtin, reg));
        reg
    }

    /// Lowers a body. Gives what its callers run, and the memories of its arrays.
    fn body(
        &mut self,
        scope: Scope,
        params: Vec<Option<MemoryId>>,
        first_site: u32,
        result: Option<Reg>,
    ) -> Result<(Callee, Vec<MemoryId>), String> {
        let body = scope.body();
        let vars = body.vars.iter().map(|variable| self.register(variable.dtype)).collect();
        let arrays: Vec<MemoryId> = body
            .arrays
            .iter()
            .map(|array| {
                let (elements, bytes) = (array.dims.iter().product(), array.dtype.size_bytes());
                self.memory(match (array.space, array.dims.is_empty()) {
                    (Space::Group, false) => MemorySlot::Group { elements, bytes },
                    (Space::Group, true) => MemorySlot::Dynamic { bytes },
                    (Space::Thread, _) => MemorySlot::Thread { elements, bytes },
                })
            })
            .collect();
        let (entry, alive) = (self.mask(), self.mask());
        let mut assigned = vec![false; body.vars.len()];
        simt::walk(&body.statements, &mut |node, _| {
            if let Node::Stmt(Stmt::Declare(var) | Stmt::Assign(var, _)) = node {
                assigned[var.0 as usize] = true;
            }
        });
        let mut shared = vec![false; body.vars.len()];
        if scope.is_kernel() {
            // The scalars of a launch.
            scope.parameter_variables().into_iter().for_each(|var| shared[var.0 as usize] = !assigned[var.0 as usize]);
        }
        let mut lowering = BodyLowering {
            all: self,
            scope,
            vars,
            params,
            arrays,
            first_site,
            result,
            alive,
            loops: Vec::new(),
            held: vec![Lanes::All; body.vars.len()],
            assigned,
            shared,
            free: HashMap::new(),
        };
        let mut steps = Vec::new();
        for (array, &memory) in body.arrays.iter().zip(&lowering.arrays) {
            if array.space == Space::Thread {
                steps.push(Step::Clear { memory });
            }
        }
        lowering.statements(&body.statements, &mut steps)?;
        let (vars, arrays) = (lowering.vars, lowering.arrays);
        self.vars = vars;
        Ok((Callee { body: steps, entry, alive }, arrays))
    }

    fn finish(mut self, scope: Scope, callee: Callee, result: Option<Reg>) -> Lowered {
        for var in scope.parameter_variables() {
            self.program.scalars.push(self.vars[var.0 as usize]);
        }
        (self.program.body, self.program.entry, self.program.alive) = (callee.body, callee.entry, callee.alive);
        self.program.result = result;
        Lowered { program: self.program, callees: self.callees }
    }

    /// A function, lowered now if it was not.
    fn function(&mut self, function: Function) -> Result<FunctionInfo, String> {
        if let Some(known) = self.functions.get(&function) {
            return Ok(known.clone());
        }
        let definition: &'static Definition = function.definition();
        let Code::Body(_) = &definition.code else { return Err(no_compiler(definition)) };
        let Some(scope) = Scope::of_function(definition) else { return Err(no_compiler(definition)) };
        let memories: Vec<Option<MemoryId>> = definition
            .params
            .iter()
            .map(|param| match param {
                FunctionParam::Memory { .. } => Some(self.memory(MemorySlot::Given)),
                FunctionParam::Scalar { .. } => None,
            })
            .collect();
        let result = definition.result.map(|dtype| self.register(dtype));
        let first_site = self.first_sites.get(&function).copied().unwrap_or(0);
        let (callee, _) = self.body(scope, memories.clone(), first_site, result)?;
        let values = definition
            .params
            .iter()
            .map(|param| match param {
                FunctionParam::Scalar { var, .. } => Some(self.vars[var.0 as usize]),
                FunctionParam::Memory { .. } => None,
            })
            .collect();
        self.callees.push(callee);
        let info = FunctionInfo { number: self.callees.len() - 1, values, memories, result };
        self.functions.insert(function, info.clone());
        Ok(info)
    }
}

/// A register with a value.
#[derive(Clone, Copy)]
struct Operand {
    reg: Reg,
    /// True where it is for one use.
    is_temporary: bool,
    /// Which lanes hold it; the first where it is one for all.
    lanes: Lanes,
}

/// The masks of a loop around.
#[derive(Clone, Copy)]
struct LoopMasks {
    running: MaskId,
}

/// The state of lowering one body.
struct BodyLowering<'a> {
    all: &'a mut Lowering,
    scope: Scope<'a>,
    vars: Vec<Reg>,
    /// By parameter.
    params: Vec<Option<MemoryId>>,
    arrays: Vec<MemoryId>,
    first_site: u32,
    result: Option<Reg>,
    alive: MaskId,
    loops: Vec<LoopMasks>,
    /// By variable: true where it is assigned after its `Let`.
    assigned: Vec<bool>,
    /// By variable: true where all lanes that see it see one value.
    shared: Vec<bool>,
    /// By variable: which lanes hold it.
    held: Vec<Lanes>,
    /// Temporaries that nobody reads any more, by bytes.
    free: HashMap<usize, Vec<Reg>>,
}

impl<'a> BodyLowering<'a> {
    fn statements(&mut self, statements: &'a [Stmt], steps: &mut Vec<Step>) -> Result<(), String> {
        statements.iter().try_for_each(|stmt| self.statement(stmt, steps))
    }

    fn statement(&mut self, stmt: &'a Stmt, steps: &mut Vec<Step>) -> Result<(), String> {
        match stmt {
            // No lane reads a new variable that it has not written, so every lane may be written.
            Stmt::Let(var, value) => {
                let (to, lanes) = (self.var(*var), self.lanes_of(value));
                self.value_into(value, to, lanes, steps)?;
                if lanes == Lanes::First {
                    steps.push(Step::Splat { to, from: to });
                    self.shared[var.0 as usize] = !self.assigned[var.0 as usize];
                }
            }
            Stmt::Declare(_) => {}
            Stmt::Assign(var, value) => {
                let from = self.vector(value, steps)?;
                steps.push(Step::Assign { to: self.var(*var), from: from.reg });
                self.give_back(from);
            }
            Stmt::Store(element, value) => {
                let (access, index) = self.access(element, Direction::Store, steps)?;
                let from = self.vector(value, steps)?;
                steps.push(Step::Store { from: from.reg, access });
                index.into_iter().chain([from]).for_each(|operand| self.give_back(operand));
            }
            Stmt::Atomic { before, op, element, value, expected } => {
                let (access, mut held) = self.access(element, Direction::Atomic, steps)?;
                let value = self.vector(value, steps)?;
                held.push(value);
                let expected = expected.as_ref().map(|expected| self.vector(expected, steps)).transpose()?;
                held.extend(expected);
                let dtype = self.memory_dtype(element.memory)?;
                steps.push(Step::Atomic(Box::new(Atomic {
                    op: *op,
                    dtype,
                    access,
                    value: value.reg,
                    expected: expected.map(|operand| operand.reg),
                    before: before.map(|var| self.var(var)),
                })));
                held.into_iter().for_each(|operand| self.give_back(operand));
            }
            Stmt::Call(function, arguments) => self.call(*function, arguments, None, steps)?,
            Stmt::If { condition, then, otherwise } => {
                let condition = self.vector(condition, steps)?;
                // The masks are made before either side runs.
                self.give_back(condition);
                let masks = [self.all.mask(), self.all.mask()];
                let [mut on_true, mut on_false] = [Vec::new(), Vec::new()];
                self.statements(then, &mut on_true)?;
                self.statements(otherwise, &mut on_false)?;
                let exits = leaves(then).any() || leaves(otherwise).any();
                let condition = condition.reg;
                steps.push(Step::If(Box::new(If { condition, then: on_true, otherwise: on_false, masks, exits })));
            }
            Stmt::For { var, start, end, step, body } => {
                let counter = self.var(*var);
                let lanes = match (self.lanes_of(start), self.lanes_of(end)) {
                    (Lanes::First, Lanes::First) => Lanes::First,
                    _ => Lanes::All,
                };
                self.value_into(start, counter, lanes, steps)?;
                let dtype = self.dtype(end)?;
                // A copy: the body may assign a variable that the end was made of.
                let end_reg = self.temporary(dtype);
                self.value_into(end, end_reg, lanes, steps)?;
                self.held[var.0 as usize] = lanes;
                self.shared[var.0 as usize] = lanes == Lanes::First;
                let goes_on = self.temporary(DType::Bool);
                let (Some(less), Some(advance)) = (binary(BinaryOp::Lt, dtype), advance(dtype)) else {
                    return Err(format!("a loop counts in {dtype}"));
                };
                let counter = Counter { var: counter, end: end_reg, goes_on, less, advance, step: *step, lanes };
                self.repeat(Some(counter), body, steps)?;
                for reg in [end_reg, goes_on] {
                    self.give_back(Operand { reg, is_temporary: true, lanes });
                }
            }
            Stmt::Loop(body) => self.repeat(None, body, steps)?,
            Stmt::Break => steps.push(Step::Break { running: self.innermost()?.running }),
            Stmt::Continue => steps.push(Step::Continue),
            Stmt::Return(value) => {
                let value = value.as_ref().map(|value| self.vector(value, steps)).transpose()?;
                let target = value.and_then(|value| Some((self.result?, value.reg)));
                steps.push(Step::Return { value: target, alive: self.alive });
                value.into_iter().for_each(|operand| self.give_back(operand));
            }
            Stmt::Barrier => steps.push(Step::Barrier),
        }
        Ok(())
    }

    fn repeat(&mut self, counter: Option<Counter>, body: &'a [Stmt], steps: &mut Vec<Step>) -> Result<(), String> {
        let (running, current) = (self.all.mask(), self.all.mask());
        self.loops.push(LoopMasks { running });
        let mut inner = Vec::new();
        let lowered = self.statements(body, &mut inner);
        self.loops.pop();
        lowered?;
        let leaves = leaves(body);
        steps.push(Step::Repeat(Box::new(Repeat {
            counter,
            running,
            current,
            body: inner,
            exits: leaves.any(),
            returns: leaves.returns,
            alive: self.alive,
        })));
        Ok(())
    }

    fn innermost(&self) -> Result<LoopMasks, String> {
        self.loops.last().copied().ok_or_else(|| "a break outside of a loop".to_owned())
    }

    /// The first lane where an expression has one value for all lanes, and does no harm.
    fn lanes_of(&self, expr: &Expr) -> Lanes {
        if self.is_shared(expr) { Lanes::First } else { Lanes::All }
    }

    fn is_shared(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Literal(_) | Expr::Len(_) => true,
            Expr::Var(var) => self.shared[var.0 as usize],
            Expr::Builtin(builtin) => !matches!(builtin, Builtin::ThreadIndex(_)),
            Expr::Unary(_, a) | Expr::Cast(_, a) | Expr::Bits(_, a) => self.is_shared(a),
            Expr::Binary(_, a, b) | Expr::And(a, b) | Expr::Or(a, b) => self.is_shared(a) && self.is_shared(b),
            Expr::MulAdd(parts) | Expr::Choose(parts) => parts.iter().all(|part| self.is_shared(part)),
            Expr::Load(_) | Expr::Call(..) => false,
        }
    }

    /// The value of an expression, in some register, of which only the first lane may hold it.
    fn value(&mut self, expr: &'a Expr, steps: &mut Vec<Step>) -> Result<Operand, String> {
        let (reg, lanes) = match expr {
            Expr::Var(var) => (self.var(*var), self.held[var.0 as usize]),
            Expr::Literal(scalar) => (self.all.constant(*scalar), Lanes::All),
            Expr::Builtin(builtin) => (self.all.builtin(*builtin), Lanes::All),
            Expr::Len(memory) => match self.scope.memory(*memory).and_then(|memory| memory.dims) {
                Some(dims) => {
                    let extent = dims.first().map_or(0, |&extent| extent as u64);
                    (self.all.constant(Scalar::from_bits(DType::U64, extent)), Lanes::All)
                }
                None => return self.computed(expr, steps),
            },
            Expr::Cast(to, a) if self.is_free_cast(a, *to)? => return self.value(a, steps),
            Expr::Bits(to, a) if is_same_register(self.dtype(a)?, *to) => return self.value(a, steps),
            _ => return self.computed(expr, steps),
        };
        Ok(Operand { reg, is_temporary: false, lanes })
    }

    /// The value of an expression, in every lane of some register.
    fn vector(&mut self, expr: &'a Expr, steps: &mut Vec<Step>) -> Result<Operand, String> {
        let operand = self.value(expr, steps)?;
        if operand.lanes == Lanes::All {
            return Ok(operand);
        }
        let reg = self.temporary(self.dtype(expr)?);
        steps.push(Step::Splat { to: reg, from: operand.reg });
        self.give_back(operand);
        Ok(Operand { reg, is_temporary: true, lanes: Lanes::All })
    }

    /// The value of an operand of what is computed in some lanes.
    fn operand(&mut self, expr: &'a Expr, lanes: Lanes, steps: &mut Vec<Step>) -> Result<Operand, String> {
        match lanes {
            Lanes::First => self.value(expr, steps),
            Lanes::All => self.vector(expr, steps),
        }
    }

    fn computed(&mut self, expr: &'a Expr, steps: &mut Vec<Step>) -> Result<Operand, String> {
        let lanes = self.lanes_of(expr);
        let reg = self.temporary(self.dtype(expr)?);
        self.value_into(expr, reg, lanes, steps)?;
        Ok(Operand { reg, is_temporary: true, lanes })
    }

    /// Computes an expression into lanes of a register that it does not read itself.
    fn value_into(&mut self, expr: &'a Expr, to: Reg, lanes: Lanes, steps: &mut Vec<Step>) -> Result<(), String> {
        match expr {
            Expr::Len(memory) if self.scope.memory(*memory).is_some_and(|memory| memory.dims.is_none()) => {
                steps.push(Step::Length { to, memory: self.memory(*memory)?, lanes });
            }
            Expr::Var(_) | Expr::Literal(_) | Expr::Builtin(_) | Expr::Len(_) => self.copy(expr, to, lanes, steps)?,
            Expr::Load(element) => {
                let (access, index) = self.access(element, Direction::Load, steps)?;
                steps.push(Step::Load { to, access });
                index.into_iter().for_each(|operand| self.give_back(operand));
            }
            Expr::Unary(op, a) => {
                let run = unary(*op, self.dtype(a)?).ok_or_else(|| undefined(op.name()))?;
                self.apply1(run, a, to, lanes, steps)?;
            }
            Expr::Binary(op, a, b) => {
                let run = binary(*op, self.dtype(a)?).ok_or_else(|| undefined(op.name()))?;
                let (a, b) = (self.operand(a, lanes, steps)?, self.operand(b, lanes, steps)?);
                steps.push(Step::Apply2 { run, to, a: a.reg, b: b.reg, lanes });
                [a, b].into_iter().for_each(|operand| self.give_back(operand));
            }
            Expr::MulAdd(parts) => {
                let run = ternary::mul_add(self.dtype(&parts[0])?).ok_or_else(|| undefined("mul_add"))?;
                let [a, b, c] = &**parts;
                let operands =
                    [self.operand(a, lanes, steps)?, self.operand(b, lanes, steps)?, self.operand(c, lanes, steps)?];
                let [a, b, c] = operands.map(|operand| operand.reg);
                steps.push(Step::Apply3 { run, to, a, b, c, lanes });
                operands.into_iter().for_each(|operand| self.give_back(operand));
            }
            Expr::Cast(target, a) => match cast::cast(self.dtype(a)?, *target) {
                Some(run) => self.apply1(run, a, to, lanes, steps)?,
                None => self.copy(a, to, lanes, steps)?,
            },
            Expr::Bits(target, a) => self.bits(*target, a, to, lanes, steps)?,
            Expr::And(a, b) => self.short_circuit([a, b], true, to, lanes, steps)?,
            Expr::Or(a, b) => self.short_circuit([a, b], false, to, lanes, steps)?,
            Expr::Choose(parts) => self.choose(parts, to, lanes, steps)?,
            Expr::Call(function, arguments) => self.call(*function, arguments, Some(to), steps)?,
        }
        Ok(())
    }

    fn apply1(&mut self, run: Fn1, a: &'a Expr, to: Reg, lanes: Lanes, steps: &mut Vec<Step>) -> Result<(), String> {
        let a = self.operand(a, lanes, steps)?;
        steps.push(Step::Apply1 { run, to, a: a.reg, lanes });
        self.give_back(a);
        Ok(())
    }

    fn copy(&mut self, a: &'a Expr, to: Reg, lanes: Lanes, steps: &mut Vec<Step>) -> Result<(), String> {
        let from = self.value(a, steps)?;
        steps.push(match (from.lanes, lanes) {
            (Lanes::First, Lanes::All) => Step::Splat { to, from: from.reg },
            _ => Step::Copy { to, from: from.reg, lanes },
        });
        self.give_back(from);
        Ok(())
    }

    /// The bits of a value: a half's go through memory's form of it.
    fn bits(
        &mut self,
        to_type: DType,
        a: &'a Expr,
        to: Reg,
        lanes: Lanes,
        steps: &mut Vec<Step>,
    ) -> Result<(), String> {
        let from_type = self.dtype(a)?;
        match (from_type.is_half(), to_type.is_half()) {
            (false, false) => self.copy(a, to, lanes, steps),
            (true, false) => self.apply1(cast::narrow(from_type), a, to, lanes, steps),
            (false, true) => self.apply1(cast::widen(to_type), a, to, lanes, steps),
            (true, true) if from_type == to_type => self.copy(a, to, lanes, steps),
            (true, true) => {
                let a = self.operand(a, lanes, steps)?;
                let bits = self.temporary(DType::U16);
                steps.push(Step::Apply1 { run: cast::narrow(from_type), to: bits, a: a.reg, lanes });
                steps.push(Step::Apply1 { run: cast::widen(to_type), to, a: bits, lanes });
                self.give_back(a);
                self.give_back(Operand { reg: bits, is_temporary: true, lanes });
                Ok(())
            }
        }
    }

    /// `a && b` where `is_and`, else `a || b`.
    fn short_circuit(
        &mut self,
        [a, b]: [&'a Expr; 2],
        is_and: bool,
        to: Reg,
        lanes: Lanes,
        steps: &mut Vec<Step>,
    ) -> Result<(), String> {
        let a = self.operand(a, lanes, steps)?;
        let b = self.value_where((a.reg, is_and), b, lanes, steps)?;
        let [on_true, on_false] = if is_and { [b, a] } else { [a, b] };
        let run = ternary::select(DType::Bool);
        steps.push(Step::Apply3 { run, to, a: a.reg, b: on_true.reg, c: on_false.reg, lanes });
        [a, b].into_iter().for_each(|operand| self.give_back(operand));
        Ok(())
    }

    fn choose(&mut self, parts: &'a [Expr; 3], to: Reg, lanes: Lanes, steps: &mut Vec<Step>) -> Result<(), String> {
        let [condition, on_true, on_false] = parts;
        let run = ternary::select(self.dtype(on_true)?);
        let condition = self.operand(condition, lanes, steps)?;
        let on_true = self.value_where((condition.reg, true), on_true, lanes, steps)?;
        let on_false = self.value_where((condition.reg, false), on_false, lanes, steps)?;
        steps.push(Step::Apply3 { run, to, a: condition.reg, b: on_true.reg, c: on_false.reg, lanes });
        [condition, on_true, on_false].into_iter().for_each(|operand| self.give_back(operand));
        Ok(())
    }

    /// A value for the lanes whose condition is as wanted; arithmetic alone does no harm in the others.
    fn value_where(
        &mut self,
        (condition, wanted): (Reg, bool),
        expr: &'a Expr,
        lanes: Lanes,
        steps: &mut Vec<Step>,
    ) -> Result<Operand, String> {
        // What acts is never shared, so that the condition is in every lane where it does.
        if !may_act(expr) {
            return self.operand(expr, lanes, steps);
        }
        let mut inner = Vec::new();
        let operand = self.vector(expr, &mut inner)?;
        let mask = self.all.mask();
        steps.push(Step::Masked { condition, wanted, mask, steps: inner });
        Ok(operand)
    }

    fn call(
        &mut self,
        function: Function,
        arguments: &'a [Argument],
        to: Option<Reg>,
        steps: &mut Vec<Step>,
    ) -> Result<(), String> {
        let info = self.all.function(function)?;
        let mut call = Call { values: Vec::new(), memories: Vec::new(), result: None, function: info.number };
        let mut held = Vec::new();
        for (number, argument) in arguments.iter().enumerate() {
            match (argument, info.values.get(number), info.memories.get(number)) {
                (Argument::Value(value), Some(&Some(param)), _) => {
                    let operand = self.vector(value, steps)?;
                    call.values.push((param, operand.reg));
                    held.push(operand);
                }
                (Argument::Memory(memory), _, Some(&Some(param))) => {
                    call.memories.push((param, self.memory(*memory)?));
                }
                _ => return Err(format!("argument {number} of {}", function.name())),
            }
        }
        call.result = to.zip(info.result);
        steps.push(Step::Call(Box::new(call)));
        held.into_iter().for_each(|operand| self.give_back(operand));
        Ok(())
    }

    /// An access, and the operands that it is held by.
    fn access(
        &mut self,
        element: &'a Element,
        direction: Direction,
        steps: &mut Vec<Step>,
    ) -> Result<(Access, Vec<Operand>), String> {
        let info = self.scope.memory(element.memory).ok_or_else(|| format!("there is no {:?}", element.memory))?;
        let mut held = Vec::with_capacity(element.index.len());
        for index in &element.index {
            held.push(self.vector(index, steps)?);
        }
        let convert = match (direction, info.dtype.is_half()) {
            (Direction::Load, true) => Some(cast::widen(info.dtype)),
            (Direction::Store, true) => Some(cast::narrow(info.dtype)),
            _ => None,
        };
        let access = Access {
            memory: self.memory(element.memory)?,
            index: held.iter().map(|operand| operand.reg).collect(),
            extents: info.dims.map_or(SmallVec::new(), |dims| dims.iter().map(|&extent| extent as u64).collect()),
            site: self.first_site + element.site.0,
            bytes: info.dtype.size_bytes(),
            convert,
        };
        Ok((access, held))
    }

    fn memory(&self, memory: Memory) -> Result<MemoryId, String> {
        let known = match memory {
            Memory::Param(number) => self.params.get(number as usize).copied().flatten(),
            Memory::Array(number) => self.arrays.get(number as usize).copied(),
        };
        known.ok_or_else(|| format!("there is no {memory:?}"))
    }

    fn memory_dtype(&self, memory: Memory) -> Result<DType, String> {
        self.scope.memory(memory).map(|memory| memory.dtype).ok_or_else(|| format!("there is no {memory:?}"))
    }

    fn dtype(&self, expr: &Expr) -> Result<DType, String> {
        self.scope.dtype(expr).ok_or_else(|| "an expression without a type".to_owned())
    }

    /// True where a conversion leaves a register as it is.
    fn is_free_cast(&self, a: &Expr, to: DType) -> Result<bool, String> {
        Ok(cast::cast(self.dtype(a)?, to).is_none())
    }

    fn var(&self, var: Var) -> Reg {
        self.vars[var.0 as usize]
    }

    fn temporary(&mut self, dtype: DType) -> Reg {
        let free = self.free.get_mut(&register_bytes(dtype)).and_then(Vec::pop);
        free.unwrap_or_else(|| self.all.register(dtype))
    }

    fn give_back(&mut self, operand: Operand) {
        if operand.is_temporary {
            let bytes = self.all.program.registers[operand.reg.at()];
            self.free.entry(bytes).or_default().push(operand.reg);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Load,
    Store,
    Atomic,
}

fn undefined(operation: &str) -> String {
    format!("{operation} is not defined on its operands")
}

/// True where the bits of two types lie in registers in the same way.
fn is_same_register(from: DType, to: DType) -> bool {
    from == to || !from.is_half() && !to.is_half()
}

/// True where computing an expression for a lane that does not want it may do harm: a read out of range, an endless loop.
fn may_act(expr: &Expr) -> bool {
    match expr {
        Expr::Load(_) | Expr::Call(..) => true,
        Expr::Literal(_) | Expr::Var(_) | Expr::Builtin(_) | Expr::Len(_) => false,
        Expr::Unary(_, a) | Expr::Cast(_, a) | Expr::Bits(_, a) => may_act(a),
        Expr::Binary(_, a, b) | Expr::And(a, b) | Expr::Or(a, b) => may_act(a) || may_act(b),
        Expr::MulAdd(parts) | Expr::Choose(parts) => parts.iter().any(may_act),
    }
}

/// How lanes may leave statements before their end.
#[derive(Clone, Copy, Default)]
struct Leaves {
    rounds: bool,
    returns: bool,
}

impl Leaves {
    fn any(self) -> bool {
        self.rounds || self.returns
    }
}

fn leaves(statements: &[Stmt]) -> Leaves {
    let mut leaves = Leaves::default();
    // The breaks of inner loops count as well: a mask more does no harm.
    simt::walk(statements, &mut |node, _| match node {
        Node::Stmt(Stmt::Break | Stmt::Continue) => leaves.rounds = true,
        Node::Stmt(Stmt::Return(_)) => leaves.returns = true,
        Node::Stmt(_) | Node::Expr(_) => {}
    });
    leaves
}
