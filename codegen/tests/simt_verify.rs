//! What `simt::verify` refuses, and what the numbers of sites are.

mod common;

use common::simt::{Builder, add, global, less, mul, n, when};
use lazuli_codegen::simt::function::{Code, Definition, FunctionParam, PointsTo};
use lazuli_codegen::simt::ir::*;
use lazuli_codegen::simt::{Function, sites, verify};
use lazuli_codegen::{BinaryOp, DType, Scalar, UnaryOp};

fn f32_of(value: f32) -> Expr {
    common::simt::f32_of(value)
}

/// A kernel over one slice of f32 and one that is written, and a variable `v` of f32.
fn kernel(statements: impl FnOnce(&mut Builder, Memory, Memory, Var) -> Vec<Stmt>) -> Kernel {
    let mut k = Builder::default();
    let (x, out) = (k.slice("x", DType::F32, false), k.slice("out", DType::F32, true));
    let v = k.var("v", DType::F32);
    let statements = statements(&mut k, x, out, v);
    k.kernel("test", statements)
}

fn refused(why: &str, statements: impl FnOnce(&mut Builder, Memory, Memory, Var) -> Vec<Stmt>) {
    let error = verify(&kernel(statements)).expect_err(why);
    assert!(error.starts_with("kernel test: ") && error.contains(why), "{error}");
}

#[test]
fn types_that_do_not_fit_are_refused() {
    refused("`v` is a f32 and is given a u64", |_, _, _, v| vec![Stmt::Let(v, n(1))]);
    refused("the right operand of add is a f32", |_, _, _, v| vec![Stmt::Let(v, add(f32_of(1.0), n(1)))]);
    refused("not is not defined on f32", |_, _, _, v| {
        vec![Stmt::Let(v, Expr::Unary(UnaryOp::Not, Box::new(f32_of(1.0))))]
    });
    refused("a condition is a bool", |_, _, _, _| vec![when(n(1), vec![])]);
    refused("an index of `x` is a u64", |k, x, _, v| vec![Stmt::Let(v, k.load(x, [f32_of(0.0)]))]);
    refused("`x` has 1 axes and 2 indices", |k, x, _, v| vec![Stmt::Let(v, k.load(x, [n(0), n(0)]))]);
    refused("the element is a f32", |k, _, out, _| vec![k.store(out, [n(0)], n(1))]);
    refused("the bits of a u64 are no f32", |_, _, _, v| vec![Stmt::Let(v, Expr::Bits(DType::F32, Box::new(n(1))))]);
    refused("mul_add is not defined on u64", |_, _, _, _| {
        vec![when(less(Expr::MulAdd(Box::new([n(1), n(1), n(1)])), n(1)), vec![])]
    });
    refused("a grid has no axis 3", |_, _, _, _| vec![when(less(Expr::Builtin(Builtin::GridSize(3)), n(1)), vec![])]);
}

#[test]
fn names_are_used_in_their_scope_only() {
    refused("`v` is used where it is not in scope", |k, _, out, v| {
        vec![when(less(n(0), n(1)), vec![Stmt::Let(v, f32_of(1.0))]), k.store(out, [n(0)], Expr::Var(v))]
    });
    refused("`v` is introduced twice", |_, _, _, v| vec![Stmt::Let(v, f32_of(1.0)), Stmt::Let(v, f32_of(1.0))]);
    refused("`k` counts a loop", |k, _, _, _| {
        let var = k.var("k", DType::U64);
        vec![Stmt::For { var, start: n(0), end: n(9), step: 1, body: vec![Stmt::Assign(var, n(3))] }]
    });
    refused("`v` counts a loop and is a f32", |_, _, _, var| {
        vec![Stmt::For { var, start: f32_of(0.0), end: f32_of(1.0), step: 1, body: vec![] }]
    });
    refused("`k` counts by 0", |k, _, _, _| {
        let var = k.var("k", DType::U64);
        vec![Stmt::For { var, start: n(0), end: n(9), step: 0, body: vec![] }]
    });
    refused("there is no variable 9", |_, _, _, _| vec![Stmt::Assign(Var(9), n(1))]);
    refused("there is no Array(0)", |k, _, _, v| vec![Stmt::Let(v, k.load(Memory::Array(0), [n(0)]))]);
    refused("there is no site 7", |_, _, out, _| {
        vec![Stmt::Store(Element { memory: out, index: vec![n(0)], site: Site(7) }, f32_of(1.0))]
    });
}

#[test]
fn memory_is_written_where_it_may_be() {
    refused("`x` is only read", |k, x, _, _| vec![k.store(x, [n(0)], f32_of(1.0))]);
    let atomic = |op, element, value| Stmt::Atomic { before: None, op, element, value, expected: None };
    refused("`x` is only read", |k, x, _, _| vec![atomic(AtomicOp::Add, k.element(x, [n(0)]), f32_of(1.0))]);
    refused("the atomic And is not defined on f32", |k, _, out, _| {
        vec![atomic(AtomicOp::And, k.element(out, [n(0)]), f32_of(1.0))]
    });
    refused("CompareExchange has a wrong number of operands", |k, _, _, _| {
        let counts = k.slice("counts", DType::U64, true);
        vec![atomic(AtomicOp::CompareExchange, k.element(counts, [n(0)]), n(1))]
    });
    refused("an atomic on an array of the thread", |k, _, _, _| {
        let own = k.array("own", DType::F32, &[4], Space::Thread);
        vec![atomic(AtomicOp::Add, k.element(own, [n(0)]), f32_of(1.0))]
    });
    for (dims, why) in [(&[][..], "has 0 axes"), (&[2, 2, 2, 2], "has 4 axes"), (&[3, 0], "has no element")] {
        refused(why, |k, _, _, _| {
            k.array("own", DType::F32, dims, Space::Thread);
            vec![]
        });
    }
    refused("takes 2 GiB or more", |k, _, _, _| {
        k.array("own", DType::F32, &[1 << 20, 1 << 20], Space::Group);
        vec![]
    });
    refused("2 arrays are as long as the launch says", |k, _, _, _| {
        k.array("a", DType::F32, &[], Space::Group);
        k.array("b", DType::F32, &[], Space::Group);
        vec![]
    });
}

#[test]
fn control_goes_where_it_can() {
    refused("Break outside of a loop", |_, _, _, _| vec![Stmt::Break]);
    refused("Continue outside of a loop", |_, _, _, _| vec![when(less(n(0), n(1)), vec![Stmt::Continue])]);
    refused("it returns a value", |_, _, _, _| vec![Stmt::Return(Some(n(1)))]);
    let deep = |levels| (0..levels).fold(n(1), |inner, _| add(inner, n(1)));
    refused("is the limit", |_, _, _, _| vec![when(less(deep(5_000), n(1)), vec![])]);
    // As deep as may be, down to the text.
    let longest = kernel(|_, _, _, _| vec![when(less(deep(390), global(0)), vec![Stmt::Return(None)])]);
    verify(&longest).unwrap();
    let text = lazuli_codegen::simt::emit(&longest, lazuli_codegen::Dialect::CudaC, &Default::default()).text;
    assert!(text.contains("if (391 < "), "{text}");
}

/// A function of one f32.
fn function(name: &str, statements: Vec<Stmt>) -> Function {
    Function::new(Definition {
        name: name.to_owned(),
        params: vec![FunctionParam::Scalar { var: Var(0), name: "x", dtype: DType::F32 }],
        result: Some(DType::F32),
        code: Code::Body(Body { vars: vec![Variable { name: "x", dtype: DType::F32 }], statements, ..Body::default() }),
    })
}

#[test]
fn functions_give_their_result_on_every_path() {
    let is_small = || less(Expr::Var(Var(0)), f32_of(1.0));
    let give = || Stmt::Return(Some(Expr::Var(Var(0))));
    let call = |function, arguments| verify(&kernel(|_, _, _, v| vec![Stmt::Let(v, Expr::Call(function, arguments))]));
    let one = || vec![Argument::Value(f32_of(1.0))];
    let whole = [
        vec![give()],
        vec![Stmt::If { condition: is_small(), then: vec![give()], otherwise: vec![give()] }],
        vec![Stmt::Loop(vec![when(is_small(), vec![give()])])],
    ];
    for statements in whole {
        call(function("whole", statements), one()).unwrap();
    }
    let cut = [
        vec![],
        vec![when(is_small(), vec![give()])],
        vec![Stmt::Loop(vec![when(is_small(), vec![Stmt::Break]), when(is_small(), vec![give()])])],
    ];
    for statements in cut {
        let error = call(function("cut", statements), one()).unwrap_err();
        assert!(error.contains("function cut: there is a way to its end without a value"), "{error}");
    }
    let whole = function("whole", vec![give()]);
    for (arguments, why) in [
        (vec![], "whole takes 1 arguments and is given 0"),
        (vec![Argument::Value(n(1))], "`x` of whole is a f32 and is given a u64"),
        (vec![Argument::Memory(Memory::Param(0))], "memory for a value"),
    ] {
        let error = call(whole, arguments).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    let error = call(function("waits", vec![Stmt::Barrier, give()]), one()).unwrap_err();
    assert!(error.contains("function waits: a barrier in a function"), "{error}");
}

#[test]
fn functions_write_what_their_callers_may() {
    let fills = Function::new(Definition {
        name: "fills".to_owned(),
        params: vec![FunctionParam::Memory {
            name: "to",
            dtype: DType::F32,
            dims: None,
            place: PointsTo::Global,
            is_mut: true,
        }],
        result: None,
        code: Code::Body(Body {
            statements: vec![Stmt::Store(
                Element { memory: Memory::Param(0), index: vec![n(0)], site: Site(0) },
                f32_of(1.0),
            )],
            sites: vec![Place { file: "fills.rs", line: 4, column: 2 }],
            ..Body::default()
        }),
    });
    refused("fills writes `x`, which is only read", |_, x, _, _| vec![Stmt::Call(fills, vec![Argument::Memory(x)])]);
    refused("`to` of fills is not what `shared` is", |k, _, _, _| {
        let shared = k.array("shared", DType::F32, &[4], Space::Group);
        vec![Stmt::Call(fills, vec![Argument::Memory(shared)])]
    });
    let called = kernel(|k, x, out, v| {
        let load = k.load(x, [mul(global(0), n(2))]);
        vec![Stmt::Let(v, load), Stmt::Call(fills, vec![Argument::Memory(out)])]
    });
    verify(&called).unwrap();
    let places: Vec<&str> = sites(&called).iter().map(|place| place.file).collect();
    assert_eq!(places, ["kernel.rs", "fills.rs"]);
    let options = lazuli_codegen::simt::emit::EmitOptions { checked: true, ..Default::default() };
    let text = lazuli_codegen::simt::emit(&called, lazuli_codegen::Dialect::CudaC, &options).text;
    assert!(text.contains("f32_store(to, element1(0, to_len, 1, note), 1.0f);"), "{text}");
    assert!(text.contains("fills(out, out_len, note);"), "{text}");
}

/// Indices are computed in 32 bits where they fit, and in 64 where they may not.
#[test]
fn indices_are_as_wide_as_they_must_be() {
    let text = |index: Expr| {
        let kernel = kernel(|k, _, out, _| vec![k.store(out, [index], f32_of(1.0))]);
        verify(&kernel).unwrap();
        let text = lazuli_codegen::simt::emit(&kernel, lazuli_codegen::Dialect::CudaC, &Default::default()).text;
        let line = text.lines().find(|line| line.contains("out[")).unwrap().trim();
        line.trim_start_matches("out[").trim_end_matches("] = 1.0f;").to_owned()
    };
    let op = |op, a, b| Expr::Binary(op, Box::new(a), Box::new(b));
    let thread = || common::simt::thread(0);
    let group = || common::simt::group(0);
    assert_eq!(text(add(mul(thread(), n(32)), thread())), "threadIdx.x * 32 + threadIdx.x");
    assert_eq!(text(mul(thread(), n(65_537))), "threadIdx.x * 65537");
    assert_eq!(text(mul(thread(), n(65_540))), "(unsigned long long)threadIdx.x * 65540");
    assert_eq!(text(mul(group(), n(2))), "(unsigned long long)blockIdx.x * 2");
    assert_eq!(text(op(BinaryOp::Sub, n(31), thread())), "(unsigned long long)31 - threadIdx.x");
    assert_eq!(text(op(BinaryOp::Sub, add(thread(), n(70_000)), thread())), "threadIdx.x + 70000 - threadIdx.x");
    assert_eq!(text(op(BinaryOp::Div, group(), n(7))), "blockIdx.x / 7");
    assert_eq!(text(op(BinaryOp::Rem, group(), thread())), "u64_rem(blockIdx.x, threadIdx.x)");
    assert_eq!(text(op(BinaryOp::Shl, thread(), n(16))), "threadIdx.x << 16");
    assert_eq!(text(op(BinaryOp::Shl, thread(), n(17))), "(unsigned long long)threadIdx.x << 17");
    assert_eq!(text(add(n(u64::MAX), n(3))), "2");
    assert_eq!(text(mul(op(BinaryOp::Rem, Expr::Len(Memory::Param(0)), n(8)), n(4))), "x_len % 8 * 4");
    let from_i32 = Expr::Cast(DType::U64, Box::new(Expr::Literal(Scalar::from_bits(DType::I32, 0xffff_ffff))));
    assert_eq!(text(from_i32), "(unsigned long long)(-1)");
}
