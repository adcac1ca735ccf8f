//! Kernels of the SIMT IR, as `#[lazuli::kernel]` would write them.

use std::collections::HashMap;

use lazuli_codegen::simt::function::{Code, Definition, FunctionParam, PointsTo};
use lazuli_codegen::simt::ir::*;
use lazuli_codegen::simt::{Function, emit::EmitOptions};
use lazuli_codegen::{BinaryOp, DType, Scalar, UnaryOp};

/// Builds a body.
#[derive(Default)]
pub struct Builder {
    pub params: Vec<Param>,
    pub body: Body,
}

impl Builder {
    pub fn slice(&mut self, name: &'static str, dtype: DType, is_mut: bool) -> Memory {
        self.params.push(Param::Slice { name, dtype, is_mut });
        Memory::Param(self.params.len() as u32 - 1)
    }

    pub fn scalar(&mut self, name: &'static str, dtype: DType) -> Expr {
        let var = self.var(name, dtype);
        self.params.push(Param::Scalar { var });
        Expr::Var(var)
    }

    pub fn var(&mut self, name: &'static str, dtype: DType) -> Var {
        self.body.vars.push(Variable { name, dtype });
        Var(self.body.vars.len() as u32 - 1)
    }

    pub fn array(&mut self, name: &'static str, dtype: DType, dims: &[usize], space: Space) -> Memory {
        self.body.arrays.push(Array { name, dtype, dims: dims.to_vec(), space });
        Memory::Array(self.body.arrays.len() as u32 - 1)
    }

    pub fn element(&mut self, memory: Memory, index: impl IntoIterator<Item = Expr>) -> Element {
        let line = self.body.sites.len() as u32 + 1;
        self.body.sites.push(Place { file: "kernel.rs", line, column: 5 });
        Element { memory, index: index.into_iter().collect(), site: Site(line - 1) }
    }

    pub fn load(&mut self, memory: Memory, index: impl IntoIterator<Item = Expr>) -> Expr {
        Expr::Load(Box::new(self.element(memory, index)))
    }

    pub fn store(&mut self, memory: Memory, index: impl IntoIterator<Item = Expr>, value: Expr) -> Stmt {
        Stmt::Store(self.element(memory, index), value)
    }

    pub fn kernel(mut self, name: &str, statements: Vec<Stmt>) -> Kernel {
        self.body.statements = statements;
        Kernel { name: name.to_owned(), params: self.params, body: self.body }
    }
}

pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

pub fn add(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Add, a, b)
}

pub fn mul(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Mul, a, b)
}

pub fn less(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Lt, a, b)
}

pub fn and(a: Expr, b: Expr) -> Expr {
    Expr::And(Box::new(a), Box::new(b))
}

pub fn n(value: u64) -> Expr {
    Expr::Literal(Scalar::from_bits(DType::U64, value))
}

pub fn f32_of(value: f32) -> Expr {
    Expr::Literal(Scalar::from_bits(DType::F32, u64::from(value.to_bits())))
}

pub fn thread(axis: u8) -> Expr {
    Expr::Builtin(Builtin::ThreadIndex(axis))
}

pub fn group(axis: u8) -> Expr {
    Expr::Builtin(Builtin::GroupIndex(axis))
}

/// The thread's number in the grid.
pub fn global(axis: u8) -> Expr {
    add(mul(group(axis), Expr::Builtin(Builtin::GroupSize(axis))), thread(axis))
}

pub fn when(condition: Expr, then: Vec<Stmt>) -> Stmt {
    Stmt::If { condition, then, otherwise: Vec::new() }
}

pub fn cast(to: DType, value: Expr) -> Expr {
    Expr::Cast(to, Box::new(value))
}

/// y = a x + y.
pub fn axpy(name: &str, dtype: DType) -> Kernel {
    let mut k = Builder::default();
    let a = k.scalar("a", dtype);
    let (x, y) = (k.slice("x", dtype, false), k.slice("y", dtype, true));
    let i = k.var("i", DType::U64);
    let at = || Expr::Var(i);
    let sum = add(mul(a, k.load(x, [at()])), k.load(y, [at()]));
    let then = vec![k.store(y, [at()], sum)];
    k.kernel(name, vec![Stmt::Let(i, global(0)), when(less(at(), Expr::Len(y)), then)])
}

/// A transpose through a padded tile, 32 by 8 threads a group.
pub fn transpose() -> Kernel {
    let mut k = Builder::default();
    let (rows, columns) = (k.scalar("rows", DType::U64), k.scalar("columns", DType::U64));
    let (from, to) = (k.slice("from", DType::F32, false), k.slice("to", DType::F32, true));
    let tile = k.array("tile", DType::F32, &[32, 33], Space::Group);
    let vars = ["tx", "ty", "row", "column"].map(|name| k.var(name, DType::U64));
    let [tx, ty, row, column] = vars.map(Expr::Var);
    let (by, turned) = (k.var("by", DType::U64), k.var("by", DType::U64));
    let copy = |by: Expr, k: &mut Builder| {
        let value = k.load(from, [add(mul(add(row.clone(), by.clone()), columns.clone()), column.clone())]);
        let store = k.store(tile, [add(ty.clone(), by.clone()), tx.clone()], value);
        when(and(less(add(row.clone(), by), rows.clone()), less(column.clone(), columns.clone())), vec![store])
    };
    let copied = copy(Expr::Var(by), &mut k);
    let (out_row, out_column) = (k.var("row", DType::U64), k.var("column", DType::U64));
    let at = |by: Expr| add(Expr::Var(out_row), by);
    let value = k.load(tile, [tx.clone(), add(ty.clone(), Expr::Var(turned))]);
    let place = add(mul(at(Expr::Var(turned)), rows.clone()), Expr::Var(out_column));
    let store = k.store(to, [place], value);
    let is_inside = and(less(at(Expr::Var(turned)), columns.clone()), less(Expr::Var(out_column), rows.clone()));
    let rounds = |var, body| Stmt::For { var, start: n(0), end: n(32), step: 8, body };
    let statements = vec![
        Stmt::Let(vars[0], thread(0)),
        Stmt::Let(vars[1], thread(1)),
        Stmt::Let(vars[2], add(mul(group(1), n(32)), ty.clone())),
        Stmt::Let(vars[3], add(mul(group(0), n(32)), tx.clone())),
        rounds(by, vec![copied]),
        Stmt::Barrier,
        Stmt::Let(out_row, add(mul(group(0), n(32)), ty.clone())),
        Stmt::Let(out_column, add(mul(group(1), n(32)), tx.clone())),
        rounds(turned, vec![when(is_inside, vec![store])]),
    ];
    k.kernel("transpose", statements)
}

/// c = a b by tiles; the extents are multiples of the tile's side.
pub fn matmul(side: usize) -> Kernel {
    let mut k = Builder::default();
    let [a, b] = ["a", "b"].map(|name| k.slice(name, DType::F32, false));
    let c = k.slice("c", DType::F32, true);
    let size = k.scalar("n", DType::U64);
    let [a_tile, b_tile] = ["a_tile", "b_tile"].map(|name| k.array(name, DType::F32, &[side, side], Space::Group));
    let vars = ["tx", "ty", "row", "column", "t", "k"].map(|name| k.var(name, DType::U64));
    let [tx, ty, row, column, t, inner] = vars.map(Expr::Var);
    let sum = k.var("sum", DType::F32);
    let side = n(side as u64);
    let along = |t: &Expr, i: &Expr| add(mul(t.clone(), side.clone()), i.clone());
    let from_a = k.load(a, [add(mul(row.clone(), size.clone()), along(&t, &tx))]);
    let from_b = k.load(b, [add(mul(along(&t, &ty), size.clone()), column.clone())]);
    let fill_a = k.store(a_tile, [ty.clone(), tx.clone()], from_a);
    let fill_b = k.store(b_tile, [ty.clone(), tx.clone()], from_b);
    let product = mul(k.load(a_tile, [ty.clone(), inner.clone()]), k.load(b_tile, [inner.clone(), tx.clone()]));
    let body = vec![
        fill_a,
        fill_b,
        Stmt::Barrier,
        Stmt::For {
            var: vars[5],
            start: n(0),
            end: side.clone(),
            step: 1,
            body: vec![Stmt::Assign(sum, add(Expr::Var(sum), product))],
        },
        Stmt::Barrier,
    ];
    let last = k.store(c, [add(mul(row, size.clone()), column)], Expr::Var(sum));
    let statements = vec![
        Stmt::Let(vars[0], thread(0)),
        Stmt::Let(vars[1], thread(1)),
        Stmt::Let(vars[2], along(&group(1), &ty)),
        Stmt::Let(vars[3], along(&group(0), &tx)),
        Stmt::Let(sum, f32_of(0.0)),
        Stmt::For { var: vars[4], start: n(0), end: binary(BinaryOp::Div, size, side.clone()), step: 1, body },
        last,
    ];
    k.kernel("matmul", statements)
}

/// Counts bytes: in the group's own bins first.
pub fn histogram() -> Kernel {
    let mut k = Builder::default();
    let data = k.slice("data", DType::U8, false);
    let counts = k.slice("counts", DType::U32, true);
    let bins = k.array("bins", DType::U32, &[256], Space::Group);
    let (t, i, total) = (k.var("t", DType::U64), k.var("i", DType::U64), k.var("total", DType::U32));
    let one = Expr::Literal(Scalar::from_bits(DType::U32, 1));
    let zero = Expr::Literal(Scalar::from_bits(DType::U32, 0));
    let clear = k.store(bins, [Expr::Var(t)], zero.clone());
    let bin = cast(DType::U64, k.load(data, [Expr::Var(i)]));
    let raise = |element, value| Stmt::Atomic { before: None, op: AtomicOp::Add, element, value, expected: None };
    let count = raise(k.element(bins, [bin]), one);
    let load = k.load(bins, [Expr::Var(t)]);
    let add_up = raise(k.element(counts, [Expr::Var(t)]), Expr::Var(total));
    let statements = vec![
        Stmt::Let(t, thread(0)),
        when(less(Expr::Var(t), n(256)), vec![clear]),
        Stmt::Barrier,
        Stmt::Let(i, global(0)),
        when(less(Expr::Var(i), Expr::Len(data)), vec![count]),
        Stmt::Barrier,
        when(
            less(Expr::Var(t), n(256)),
            vec![Stmt::Let(total, load), when(binary(BinaryOp::Gt, Expr::Var(total), zero), vec![add_up])],
        ),
    ];
    k.kernel("histogram", statements)
}

/// Clamps by a function that calls another and returns early.
pub fn clamp() -> Kernel {
    let x = Variable { name: "x", dtype: DType::F32 };
    let function = |name: &str, params: &[&'static str], statements| {
        let vars = params.iter().map(|name| Variable { name, ..x }).collect();
        let params = params.iter().enumerate().map(|(number, name)| FunctionParam::Scalar {
            var: Var(number as u32),
            name,
            dtype: DType::F32,
        });
        Function::new(Definition {
            name: name.to_owned(),
            params: params.collect(),
            result: Some(DType::F32),
            code: Code::Body(Body { vars, statements, ..Body::default() }),
        })
    };
    let value = |number| Expr::Var(Var(number));
    let at_least = function(
        "at_least",
        &["x", "low"],
        vec![when(less(value(0), value(1)), vec![Stmt::Return(Some(value(1)))]), Stmt::Return(Some(value(0)))],
    );
    let give = |expr| Argument::Value(expr);
    let inner = Expr::Call(at_least, vec![give(value(0)), give(value(1))]);
    let within = function(
        "within",
        &["x", "low", "high"],
        vec![Stmt::Return(Some(Expr::Choose(Box::new([less(value(2), value(0)), value(2), inner]))))],
    );
    let mut k = Builder::default();
    let (low, high) = (k.scalar("low", DType::F32), k.scalar("high", DType::F32));
    let (data, out) = (k.slice("data", DType::F32, false), k.slice("out", DType::F32, true));
    let i = k.var("i", DType::U64);
    let loaded = k.load(data, [Expr::Var(i)]);
    let store = k.store(out, [Expr::Var(i)], Expr::Call(within, vec![give(loaded), give(low), give(high)]));
    k.kernel("clamp", vec![Stmt::Let(i, global(0)), when(less(Expr::Var(i), Expr::Len(out)), vec![store])])
}

/// The golden kernels, with what the emitter is told beside them.
pub fn all() -> Vec<(&'static str, Kernel, EmitOptions)> {
    let plain = EmitOptions::default();
    let checked = EmitOptions { checked: true, ..plain };
    vec![
        ("simt_saxpy", axpy("saxpy", DType::F32), plain),
        ("simt_saxpy_checked", axpy("saxpy", DType::F32), checked),
        ("simt_axpy_f16", axpy("axpy_f16", DType::F16), plain),
        ("simt_transpose", transpose(), plain),
        ("simt_transpose_checked", transpose(), checked),
        ("simt_matmul_32", matmul(32), plain),
        ("simt_matmul_16", matmul(16), plain),
        ("simt_histogram", histogram(), plain),
        ("simt_clamp", clamp(), plain),
    ]
}

/// Every operation and cast that is defined on elements of a type, and every atomic.
pub fn every_operation(dtype: DType) -> Kernel {
    let mut k = Builder::default();
    let slices = [0, 1].map(|_| k.slice("x", dtype, false));
    let i = k.var("i", DType::U64);
    let at = || Expr::Var(i);
    let [x, y] = slices.map(|slice| {
        let var = k.var("x", dtype);
        (var, k.load(slice, [at()]))
    });
    let mut statements = vec![Stmt::Let(i, global(0)), Stmt::Let(x.0, x.1), Stmt::Let(y.0, y.1)];
    let (x, y) = (Expr::Var(x.0), Expr::Var(y.0));
    let mut results = Vec::new();
    for op in UnaryOp::ALL {
        results.extend(op.result(dtype).map(|to| (to, Expr::Unary(op, Box::new(x.clone())))));
    }
    for op in BinaryOp::ALL {
        results.extend(op.result(dtype).map(|to| (to, binary(op, x.clone(), y.clone()))));
        let by = |bits| Expr::Literal(Scalar::from_bits(dtype, bits));
        if dtype.is_integer() {
            for bits in [0, 3, u64::MAX >> (64 - 8 * dtype.size_bytes())] {
                results.extend(op.result(dtype).map(|to| (to, binary(op, x.clone(), by(bits)))));
            }
        }
    }
    results.extend(DType::ALL.map(|to| (to, cast(to, x.clone()))));
    for to in DType::ALL {
        if to.size_bytes() == dtype.size_bytes() && to != DType::Bool && dtype != DType::Bool {
            results.push((to, Expr::Bits(to, Box::new(x.clone()))));
        }
    }
    if dtype.is_float() {
        results.push((dtype, Expr::MulAdd(Box::new([x.clone(), y.clone(), x.clone()]))));
    }
    let is_less = less(x.clone(), y.clone());
    results.push((dtype, Expr::Choose(Box::new([is_less.clone(), x.clone(), y.clone()]))));
    let or = Expr::Or(Box::new(is_less.clone()), Box::new(and(is_less.clone(), is_less)));
    results.push((DType::Bool, or));
    let mut outs = HashMap::new();
    for (number, (to, value)) in results.into_iter().enumerate() {
        let out = *outs.entry(to).or_insert_with(|| k.slice("out", to, true));
        let place = add(mul(at(), n(100)), n(number as u64));
        statements.push(k.store(out, [place], value));
    }
    k.kernel("every_operation", statements)
}

/// Every atomic of a type, on a slice and on an array of the group.
pub fn every_atomic(dtype: DType) -> Kernel {
    let mut k = Builder::default();
    let (x, out) = (k.slice("x", dtype, true), k.slice("out", dtype, true));
    let shared = k.array("shared", dtype, &[4, 8], Space::Group);
    let value = k.scalar("value", dtype);
    let mut statements = Vec::new();
    use AtomicOp::*;
    for op in [Add, Sub, Min, Max, And, Or, Xor, Exchange, CompareExchange] {
        if !op.is_defined_on(dtype) {
            continue;
        }
        for element in [k.element(x, [global(0)]), k.element(shared, [thread(1), thread(0)])] {
            let expected = (op == CompareExchange).then(|| value.clone());
            let before = k.var("before", dtype);
            let atomic = |before, element| Stmt::Atomic {
                before,
                op,
                element,
                value: value.clone(),
                expected: expected.clone(),
            };
            statements.push(atomic(None, element.clone()));
            statements.push(atomic(Some(before), element));
            statements.push(k.store(out, [global(0)], Expr::Var(before)));
        }
    }
    k.kernel("every_atomic", statements)
}

/// Functions over memory of every place, arrays of a length that the launch sets, and every kind of loop.
pub fn memories(dtype: DType) -> Kernel {
    let memory = |name, dims: Option<&[usize]>, place| FunctionParam::Memory {
        name,
        dtype,
        dims: dims.map(<[usize]>::to_vec),
        place,
        is_mut: true,
    };
    let element = |param, index: Vec<Expr>| Element { memory: Memory::Param(param), index, site: Site(0) };
    let swap = |to: u32, index: Vec<Expr>, from: u32, at: Vec<Expr>| {
        Stmt::Store(element(to, index), Expr::Load(Box::new(element(from, at))))
    };
    let i = Var(0);
    let at = || Expr::Var(i);
    let function = Function::new(Definition {
        name: "exchange".to_owned(),
        params: vec![
            memory("global", None, PointsTo::Global),
            memory("group", Some(&[2, 3, 4]), PointsTo::Group),
            memory("own", Some(&[6]), PointsTo::Thread),
            memory("dynamic", None, PointsTo::Group),
            FunctionParam::Scalar { var: i, name: "i", dtype: DType::U64 },
        ],
        result: None,
        code: Code::Body(Body {
            vars: vec![Variable { name: "i", dtype: DType::U64 }],
            statements: vec![
                when(less(Expr::Len(Memory::Param(0)), at()), vec![Stmt::Return(None)]),
                swap(0, vec![at()], 1, vec![n(0), at(), at()]),
                swap(1, vec![n(1), n(2), at()], 2, vec![at()]),
                swap(2, vec![at()], 3, vec![Expr::Len(Memory::Param(3))]),
            ],
            sites: vec![Place { file: "function.rs", line: 1, column: 1 }],
            ..Body::default()
        }),
    });
    let mut k = Builder::default();
    let x = k.slice("x", dtype, true);
    let memories = [
        x,
        k.array("group", dtype, &[2, 3, 4], Space::Group),
        k.array("own", dtype, &[6], Space::Thread),
        k.array("dynamic", dtype, &[], Space::Group),
    ];
    let arguments: Vec<Argument> =
        memories.into_iter().map(Argument::Memory).chain([Argument::Value(global(0))]).collect();
    let (limit, count) = (k.scalar("limit", DType::I64), k.var("count", DType::I64));
    let (j, step) = (k.var("j", DType::I64), k.var("for", DType::U64));
    let one = Expr::Literal(Scalar::from_bits(DType::I64, 1));
    let inner = vec![
        Stmt::Assign(count, add(Expr::Var(count), Expr::Var(j))),
        Stmt::If {
            condition: less(Expr::Var(count), limit.clone()),
            then: vec![Stmt::Break],
            otherwise: vec![Stmt::If {
                condition: less(limit.clone(), Expr::Var(count)),
                then: vec![Stmt::Continue],
                otherwise: vec![Stmt::Assign(count, one.clone())],
            }],
        },
    ];
    let end = k.load(x, [n(0)]);
    let counted = Stmt::For { var: step, start: n(3), end: cast(DType::U64, end), step: 7, body: vec![Stmt::Barrier] };
    let statements = vec![
        Stmt::Call(function, arguments),
        Stmt::Declare(count),
        Stmt::Assign(count, one),
        Stmt::For { var: j, start: limit.clone(), end: limit, step: 3, body: inner },
        Stmt::Loop(vec![when(less(thread(2), n(1)), vec![Stmt::Return(None)])]),
        counted,
    ];
    k.kernel("memories", statements)
}
