//! Kernels at random: declarations, assignments, branches, loops, functions, arrays, a barrier and accesses, in which every
//! operation has one right result.

use lazuli_codegen::simt::Function;
use lazuli_codegen::simt::function::{Code, Definition, FunctionParam};
use lazuli_codegen::simt::ir::*;
use lazuli_codegen::{BinaryOp, DType, Scalar, UnaryOp};

/// Groups, and threads of each.
pub const GROUPS: u32 = 3;
pub const GROUP: u32 = 16;
/// Elements of each slice that is only read.
pub const READ: u64 = 37;
/// Elements of each slice that is written: some for each thread.
pub const WRITTEN: u64 = (GROUPS * GROUP) as u64 * OWN;
/// Elements that a thread has of each.
const OWN: u64 = 4;

const TYPES: [DType; 13] = DType::ALL;

/// A kernel of about so many statements. With `wild`, indices may be out of range, so that it must be checked.
pub fn random_kernel(seed: u64, size: usize, wild: bool) -> Kernel {
    let mut params = Vec::new();
    for (name, is_mut) in [("x", false), ("y", true)] {
        params.extend(TYPES.map(|dtype| Param::Slice { name, dtype, is_mut }));
    }
    let mut writer = Writer::new(seed | 1);
    let functions = (0..writer.below(3)).map(|_| writer.function(size / 4)).collect();
    let mut body = Scope { body: Body::default(), visible: Vec::new(), functions, memory: true, wild, loops: 0 };
    let i = body.declare("i", DType::U64, false);
    let thread = body.declare("t", DType::U64, false);
    body.body.arrays = vec![
        Array { name: "own", dtype: DType::U32, dims: vec![3, 5], space: Space::Thread },
        Array { name: "shared", dtype: DType::I64, dims: vec![GROUP as usize], space: Space::Group },
    ];
    let mut statements = vec![
        Stmt::Let(
            i,
            binary(
                BinaryOp::Add,
                binary(BinaryOp::Mul, at(Builtin::GroupIndex(0)), at(Builtin::GroupSize(0))),
                at(Builtin::ThreadIndex(0)),
            ),
        ),
        Stmt::Let(thread, at(Builtin::ThreadIndex(0))),
    ];
    // What threads of a group tell each other comes first, while all of them are there.
    let told = writer.expression(&mut body, DType::I64, 2);
    statements.push(Stmt::Store(body.element(Memory::Array(1), vec![Expr::Var(thread)]), told));
    statements.push(Stmt::Barrier);
    let by = 1 + writer.below(15);
    let other = binary(BinaryOp::Rem, binary(BinaryOp::Add, Expr::Var(thread), number(by)), number(u64::from(GROUP)));
    let heard = body.declare("heard", DType::I64, true);
    let element = body.element(Memory::Array(1), vec![other]);
    statements.push(Stmt::Let(heard, Expr::Load(Box::new(element))));
    statements.extend(writer.block(&mut body, size, 0));
    Kernel { name: "random".into(), params, body: Body { statements, ..body.body } }
}

fn number(value: u64) -> Expr {
    Expr::Literal(Scalar::from_bits(DType::U64, value))
}

fn at(builtin: Builtin) -> Expr {
    Expr::Builtin(builtin)
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

/// A body in the making.
struct Scope {
    body: Body,
    /// Variables in scope, and whether they may be assigned.
    visible: Vec<(Var, DType, bool)>,
    functions: Vec<Function>,
    /// True in the kernel, which has slices and arrays.
    memory: bool,
    wild: bool,
    loops: usize,
}

impl Scope {
    fn declare(&mut self, name: &'static str, dtype: DType, assignable: bool) -> Var {
        self.body.vars.push(Variable { name, dtype });
        let var = Var(self.body.vars.len() as u32 - 1);
        self.visible.push((var, dtype, assignable));
        var
    }

    fn element(&mut self, memory: Memory, index: Vec<Expr>) -> Element {
        self.body.sites.push(Place { file: "random.rs", line: self.body.sites.len() as u32, column: 1 });
        Element { memory, index, site: Site(self.body.sites.len() as u32 - 1) }
    }
}

/// Draws what is written.
struct Writer(u64);

impl Writer {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_in(&mut self, odds: u64) -> bool {
        self.below(odds) == 0
    }

    fn choice<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// A function of three values.
    fn function(&mut self, size: usize) -> Function {
        let mut body = Scope {
            body: Body::default(),
            visible: Vec::new(),
            functions: Vec::new(),
            memory: false,
            wild: false,
            loops: 0,
        };
        let types = [self.choice(&TYPES), self.choice(&TYPES), DType::U64];
        let params = types.map(|dtype| {
            let var = body.declare("p", dtype, true);
            FunctionParam::Scalar { var, name: "p", dtype }
        });
        let result = self.choice(&TYPES);
        let mut statements = self.block(&mut body, size, 0);
        if self.one_in(2) {
            let condition = self.expression(&mut body, DType::Bool, 2);
            let early = self.expression(&mut body, result, 2);
            let then = vec![Stmt::Return(Some(early))];
            statements.insert(0, Stmt::If { condition, then, otherwise: Vec::new() });
        }
        // The block's variables are out of scope at its end.
        let value = self.expression(&mut body, result, 3);
        statements.push(Stmt::Return(Some(value)));
        Function::new(Definition {
            name: "helper".into(),
            params: params.into(),
            result: Some(result),
            code: Code::Body(Body { statements, ..body.body }),
        })
    }

    /// Statements in a scope of their own.
    fn block(&mut self, scope: &mut Scope, size: usize, depth: usize) -> Vec<Stmt> {
        let visible = scope.visible.len();
        let mut statements = Vec::new();
        let mut left = size;
        while left > 0 {
            let taken = self.statement(scope, left, depth, &mut statements);
            left = left.saturating_sub(taken);
        }
        scope.visible.truncate(visible);
        statements
    }

    /// One statement; says how many it counts as.
    fn statement(&mut self, scope: &mut Scope, left: usize, depth: usize, to: &mut Vec<Stmt>) -> usize {
        let deep = depth < 4 && left > 3;
        match self.below(12) {
            0..=2 => {
                let dtype = self.choice(&TYPES);
                let value = self.expression(scope, dtype, 3);
                let name = self.choice(&["a", "b", "for", "x", "f32", "value"]);
                let assignable = self.one_in(2);
                let var = scope.declare(name, dtype, assignable);
                to.push(Stmt::Let(var, value));
            }
            3 | 4 => {
                let assignable: Vec<(Var, DType, bool)> =
                    scope.visible.iter().copied().filter(|&(.., assignable)| assignable).collect();
                if !assignable.is_empty() {
                    let (var, dtype, _) = self.choice(&assignable);
                    let value = match self.one_in(3) {
                        // What C writes as a compound assignment.
                        true if dtype != DType::Bool => {
                            let by = self.expression(scope, dtype, 2);
                            binary(BinaryOp::Add, Expr::Var(var), by)
                        }
                        _ => self.expression(scope, dtype, 3),
                    };
                    to.push(Stmt::Assign(var, value));
                }
            }
            5 | 6 if scope.memory => {
                let own = self.one_in(4);
                let dtype = if own { DType::U32 } else { self.choice(&TYPES) };
                let value = self.expression(scope, dtype, 3);
                let element = if own { self.own_element(scope) } else { self.written_element(scope, dtype) };
                to.push(Stmt::Store(element, self.without_nan(dtype, value)));
            }
            7 | 8 if deep => {
                let condition = self.expression(scope, DType::Bool, 3);
                let then = self.block(scope, left / 3, depth + 1);
                let otherwise = if self.one_in(2) { self.block(scope, left / 4, depth + 1) } else { Vec::new() };
                to.push(Stmt::If { condition, then, otherwise });
                return left / 2 + 1;
            }
            9 if deep && scope.loops < 2 => {
                to.push(self.counted(scope, left / 3, depth));
                return left / 2 + 1;
            }
            10 if deep && scope.loops < 2 => {
                let count = scope.declare("rounds", DType::U8, false);
                to.push(Stmt::Let(count, Expr::Literal(Scalar::from_bits(DType::U8, 0))));
                scope.loops += 1;
                let mut body = self.block(scope, left / 3, depth + 1);
                scope.loops -= 1;
                let one = Expr::Literal(Scalar::from_bits(DType::U8, 1));
                let most = Expr::Literal(Scalar::from_bits(DType::U8, self.below(5)));
                let condition = binary(BinaryOp::Ge, Expr::Var(count), most);
                let stop = Stmt::If { condition, then: vec![Stmt::Break], otherwise: Vec::new() };
                body.splice(0..0, [stop, Stmt::Assign(count, binary(BinaryOp::Add, Expr::Var(count), one))]);
                to.push(Stmt::Loop(body));
                return left / 2 + 1;
            }
            11 if scope.loops > 0 => {
                let condition = self.expression(scope, DType::Bool, 2);
                let leave = if self.one_in(2) { Stmt::Break } else { Stmt::Continue };
                to.push(Stmt::If { condition, then: vec![leave], otherwise: Vec::new() });
            }
            11 if scope.memory && depth > 0 && self.one_in(3) => {
                let condition = self.expression(scope, DType::Bool, 2);
                to.push(Stmt::If { condition, then: vec![Stmt::Return(None)], otherwise: Vec::new() });
            }
            _ => {}
        }
        1
    }

    /// A loop of few rounds, whatever its bounds.
    fn counted(&mut self, scope: &mut Scope, size: usize, depth: usize) -> Stmt {
        let dtype = self.choice(&[DType::U64, DType::U64, DType::I32, DType::U8, DType::I64]);
        let literal = |value: u64| Expr::Literal(Scalar::from_bits(dtype, value));
        let (start, end, step) = match self.below(3) {
            0 => {
                let start = self.below(7);
                (literal(start), literal(start + self.below(5)), 1 + self.below(3))
            }
            // To an end that is a value, of the last few of the type, where a step may pass its end.
            1 => {
                let end = self.expression(scope, dtype, 2);
                (binary(BinaryOp::Sub, literal(5), literal(5)), binary(BinaryOp::Remainder, end, literal(6)), 1)
            }
            _ => {
                let last = match dtype {
                    DType::I32 => i32::MAX as u64,
                    DType::I64 => i64::MAX as u64,
                    DType::U8 => u8::MAX.into(),
                    _ => u64::MAX,
                };
                (literal(last - self.below(20)), literal(last - self.below(3)), 3 + self.below(9))
            }
        };
        let var = scope.declare("k", dtype, false);
        let own = scope.visible.len() - 1;
        scope.loops += 1;
        let body = self.block(scope, size, depth + 1);
        scope.loops -= 1;
        scope.visible.remove(own);
        Stmt::For { var, start, end, step, body }
    }

    fn index(&mut self, scope: &mut Scope, extent: u64) -> Expr {
        let index = self.expression(scope, DType::U64, 2);
        let wild = scope.wild && self.one_in(20);
        if wild { index } else { binary(BinaryOp::Rem, index, number(extent)) }
    }

    fn own_element(&mut self, scope: &mut Scope) -> Element {
        let index = [3, 5].map(|extent| self.index(scope, extent));
        scope.element(Memory::Array(0), index.into())
    }

    /// An element that no other thread reaches.
    fn written_element(&mut self, scope: &mut Scope, dtype: DType) -> Element {
        let place = TYPES.iter().position(|&known| known == dtype).unwrap_or(0) + TYPES.len();
        let within = self.index(scope, OWN);
        let within = if scope.wild { binary(BinaryOp::Rem, within, number(OWN)) } else { within };
        let mut index = binary(BinaryOp::Add, binary(BinaryOp::Mul, Expr::Var(Var(0)), number(OWN)), within);
        if scope.wild && self.one_in(20) {
            index = binary(BinaryOp::Add, index, number(WRITTEN));
        }
        scope.element(Memory::Param(place as u32), vec![index])
    }

    /// NaNs have many bits, and any of them may come out.
    fn without_nan(&mut self, dtype: DType, value: Expr) -> Expr {
        if !dtype.is_float() {
            return value;
        }
        let is_nan = Expr::Unary(UnaryOp::IsNan, Box::new(value.clone()));
        Expr::Choose(Box::new([is_nan, Expr::Literal(Scalar::from_bits(dtype, 0)), value]))
    }

    fn expression(&mut self, scope: &mut Scope, dtype: DType, depth: usize) -> Expr {
        if depth == 0 {
            return self.leaf(scope, dtype);
        }
        match self.below(12) {
            0 | 1 => self.leaf(scope, dtype),
            2 => {
                let from = self.choice(&TYPES);
                Expr::Cast(dtype, Box::new(self.expression(scope, from, depth - 1)))
            }
            3 => {
                let condition = self.expression(scope, DType::Bool, depth - 1);
                let then = self.expression(scope, dtype, depth - 1);
                let otherwise = self.expression(scope, dtype, depth - 1);
                Expr::Choose(Box::new([condition, then, otherwise]))
            }
            4 if scope.memory => {
                let element = match self.below(4) {
                    0 if dtype == DType::U32 => self.own_element(scope),
                    1 => self.written_element(scope, dtype),
                    _ => {
                        let place = TYPES.iter().position(|&known| known == dtype).unwrap_or(0);
                        let index = self.index(scope, READ);
                        scope.element(Memory::Param(place as u32), vec![index])
                    }
                };
                Expr::Load(Box::new(element))
            }
            5 => {
                let functions: Vec<Function> =
                    scope.functions.iter().copied().filter(|function| function.result == Some(dtype)).collect();
                if functions.is_empty() {
                    return self.leaf(scope, dtype);
                }
                let function = self.choice(&functions);
                let arguments = function
                    .params
                    .iter()
                    .map(|param| match param {
                        FunctionParam::Scalar { dtype, .. } | FunctionParam::Memory { dtype, .. } => {
                            Argument::Value(self.expression(scope, *dtype, depth - 1))
                        }
                    })
                    .collect();
                Expr::Call(function, arguments)
            }
            6 => {
                let op = self.choice(&UNARY);
                match op.result(dtype) {
                    Some(result) if result == dtype => {
                        Expr::Unary(op, Box::new(self.expression(scope, dtype, depth - 1)))
                    }
                    _ => self.leaf(scope, dtype),
                }
            }
            7 if dtype == DType::U64 => {
                let float = self.expression(scope, DType::F64, depth - 1);
                Expr::Bits(DType::U64, Box::new(self.without_nan(DType::F64, float)))
            }
            7 if dtype == DType::U32 => {
                let float = self.expression(scope, DType::F32, depth - 1);
                Expr::Bits(DType::U32, Box::new(self.without_nan(DType::F32, float)))
            }
            7 if dtype.is_float() => {
                let parts = [0; 3].map(|_| self.expression(scope, dtype, depth - 1));
                Expr::MulAdd(Box::new(parts))
            }
            _ if dtype == DType::Bool => self.condition(scope, depth),
            _ => {
                let op = self.choice(if dtype.is_float() { &ON_FLOATS } else { &ON_INTEGERS });
                let a = self.expression(scope, dtype, depth - 1);
                binary(op, a, self.expression(scope, dtype, depth - 1))
            }
        }
    }

    fn condition(&mut self, scope: &mut Scope, depth: usize) -> Expr {
        let [a, b] = match self.below(5) {
            0 | 1 => {
                let [a, b] = [0; 2].map(|_| Box::new(self.expression(scope, DType::Bool, depth - 1)));
                return if self.one_in(2) { Expr::And(a, b) } else { Expr::Or(a, b) };
            }
            2 => {
                let op = self.choice(&[UnaryOp::IsNan, UnaryOp::IsInf, UnaryOp::IsFinite]);
                return Expr::Unary(op, Box::new(self.expression(scope, DType::F32, depth - 1)));
            }
            _ => {
                let dtype = self.choice(&TYPES);
                [0; 2].map(|_| self.expression(scope, dtype, depth - 1))
            }
        };
        binary(self.choice(&COMPARISONS), a, b)
    }

    fn leaf(&mut self, scope: &mut Scope, dtype: DType) -> Expr {
        let known: Vec<Var> =
            scope.visible.iter().filter(|(_, known, _)| *known == dtype).map(|&(var, ..)| var).collect();
        if !known.is_empty() && !self.one_in(3) {
            return Expr::Var(self.choice(&known));
        }
        if dtype == DType::U64 && self.one_in(2) {
            let builtin = self.choice(&[
                Builtin::ThreadIndex(0),
                Builtin::GroupIndex(0),
                Builtin::GroupSize(0),
                Builtin::GridSize(0),
                Builtin::ThreadIndex(1),
            ]);
            return match self.one_in(4) && scope.memory {
                true => Expr::Len(Memory::Param(self.below(3) as u32)),
                false => Expr::Builtin(builtin),
            };
        }
        let bits = match dtype {
            DType::Bool => self.below(2),
            DType::F32 => u64::from(((self.below(200) as f32 - 100.0) / 8.0).to_bits()),
            DType::F64 => ((self.below(200) as f64 - 100.0) / 8.0).to_bits(),
            DType::F16 => u64::from(half::f16::from_f32((self.below(200) as f32 - 100.0) / 8.0).to_bits()),
            DType::BF16 => u64::from(half::bf16::from_f32((self.below(200) as f32 - 100.0) / 8.0).to_bits()),
            _ => {
                let small = self.below(70);
                let large = self.next() << 16 ^ self.next();
                let ends = u64::MAX >> (1 + self.below(64));
                let value = self.choice(&[small, small, small.wrapping_neg(), large, ends]);
                value & (u64::MAX >> (64 - 8 * dtype.size_bytes()))
            }
        };
        Expr::Literal(Scalar::from_bits(dtype, bits))
    }
}

const UNARY: [UnaryOp; 10] = [
    UnaryOp::Neg,
    UnaryOp::Abs,
    UnaryOp::Sign,
    UnaryOp::Not,
    UnaryOp::Recip,
    UnaryOp::Sqrt,
    UnaryOp::Floor,
    UnaryOp::Ceil,
    UnaryOp::Round,
    UnaryOp::Trunc,
];

const ON_FLOATS: [BinaryOp; 6] =
    [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Minimum, BinaryOp::Maximum];

const ON_INTEGERS: [BinaryOp; 14] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Rem,
    BinaryOp::FloorDivide,
    BinaryOp::Remainder,
    BinaryOp::Minimum,
    BinaryOp::Maximum,
    BinaryOp::BitAnd,
    BinaryOp::BitOr,
    BinaryOp::BitXor,
    BinaryOp::Shl,
    BinaryOp::Shr,
];

const COMPARISONS: [BinaryOp; 6] = [BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge];
