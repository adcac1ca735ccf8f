//! Control flow under divergence, against the same in Rust.

use lazuli_codegen::DType;
use lazuli_codegen::simt::Function;
use lazuli_codegen::simt::function::{Code, Definition, FunctionParam};
use lazuli_codegen::simt::ir::*;

use super::build::*;

/// `acc = acc * 31 + what`, so that order and number of steps show.
fn mix(acc: Var, what: Expr) -> Stmt {
    Stmt::Assign(acc, add(mul(Expr::Var(acc), n(31)), what))
}

#[test]
fn nested_loops_break_continue_and_return_by_lane() {
    let expected = |i: u64| {
        let mut acc = i;
        for a in 0..i % 7 {
            if a == 3 {
                continue;
            }
            let mut b = a;
            loop {
                if b > i % 11 {
                    break;
                }
                b += 2;
                if (b + i).is_multiple_of(5) {
                    continue;
                }
                if b + a == 9 {
                    return acc * 31 + 1000;
                }
                acc = (acc * 31).wrapping_add(b);
            }
            acc = (acc * 31).wrapping_add(a);
            if acc.is_multiple_of(13) {
                break;
            }
        }
        acc
    };
    let mut k = Build::default();
    let out = k.slice(DType::U64, true);
    let [i, acc, a, b] = [0; 4].map(|_| k.var(DType::U64));
    let early = k.store(out, [Expr::Var(i)], add(mul(Expr::Var(acc), n(31)), n(1000)));
    let last = k.store(out, [Expr::Var(i)], Expr::Var(acc));
    let is_five = equal(rem(add(Expr::Var(b), Expr::Var(i)), n(5)), n(0));
    let inner = vec![
        when(less(rem(Expr::Var(i), n(11)), Expr::Var(b)), vec![Stmt::Break]),
        Stmt::Assign(b, add(Expr::Var(b), n(2))),
        when(is_five, vec![Stmt::Continue]),
        when(equal(add(Expr::Var(b), Expr::Var(a)), n(9)), vec![early, Stmt::Return(None)]),
        mix(acc, Expr::Var(b)),
    ];
    let body = vec![
        when(equal(Expr::Var(a), n(3)), vec![Stmt::Continue]),
        Stmt::Let(b, Expr::Var(a)),
        Stmt::Loop(inner),
        mix(acc, Expr::Var(a)),
        when(equal(rem(Expr::Var(acc), n(13)), n(0)), vec![Stmt::Break]),
    ];
    let rounds = Stmt::For { var: a, start: n(0), end: rem(Expr::Var(i), n(7)), step: 1, body };
    let statements = vec![Stmt::Let(i, global()), Stmt::Let(acc, Expr::Var(i)), rounds, last];
    let kernel = k.finish(statements);
    for (groups, threads) in [(1, 1), (3, 40), (2, 256), (1, 1000)] {
        let mut found = vec![0u64; (groups * threads) as usize];
        run(&kernel, &line(groups, threads), &mut [Given::Slice(&mut found)]);
        let wanted: Vec<u64> = (0..found.len() as u64).map(expected).collect();
        assert_eq!(found, wanted, "{groups} groups of {threads}");
    }
}

#[test]
fn loops_end_where_their_type_would_wrap() {
    // 250, 253, then past the end, where a u8 would go round.
    for (start, end, step, rounds) in
        [(250u8, 255u8, 3, 2u32), (0, 255, 1, 255), (0, 255, 200, 2), (0, 255, 300, 1), (9, 9, 1, 0), (9, 3, 2, 0)]
    {
        let mut k = Build::default();
        let out = k.slice(DType::U32, true);
        let (count, var) = (k.var(DType::U32), k.var(DType::U8));
        let body = vec![Stmt::Assign(count, add(Expr::Var(count), literal(1u32)))];
        let last = k.store(out, [global()], Expr::Var(count));
        let counted = Stmt::For { var, start: literal(start), end: literal(end), step, body };
        let kernel = k.finish(vec![Stmt::Let(count, literal(0u32)), counted, last]);
        let mut found = vec![0u32; 5];
        run(&kernel, &line(1, 5), &mut [Given::Slice(&mut found)]);
        assert_eq!(found, [rounds; 5], "{start}..{end} by {step}");
    }
    let mut k = Build::default();
    let out = k.slice(DType::I32, true);
    let (sum, var) = (k.var(DType::I32), k.var(DType::I32));
    let body = vec![Stmt::Assign(
        sum,
        add(Expr::Var(sum), binary(lazuli_codegen::BinaryOp::Shr, Expr::Var(var), literal(24))),
    )];
    let last = k.store(out, [global()], Expr::Var(sum));
    let (start, end, step) = (i32::MIN, i32::MAX, 1 << 30);
    let counted = Stmt::For { var, start: literal(start), end: literal(end), step, body };
    let kernel = k.finish(vec![Stmt::Let(sum, literal(0)), counted, last]);
    let mut found = vec![0i32; 3];
    run(&kernel, &line(1, 3), &mut [Given::Slice(&mut found)]);
    assert_eq!(found, [-128 - 64 + 64; 3]);
}

#[test]
fn what_is_not_wanted_is_not_read() {
    // i < len && x[i] > 0, and both sides of a choice.
    let mut k = Build::default();
    let (x, out) = (k.slice(DType::I32, false), k.slice(DType::I32, true));
    let i = k.var(DType::U64);
    let is_in = || less(Expr::Var(i), Expr::Len(x));
    let [first, second, third] = [0; 3].map(|_| k.load(x, [Expr::Var(i)]));
    let is_positive = Expr::And(Box::new(is_in()), Box::new(less(literal(0), first)));
    let not_in = Expr::Unary(lazuli_codegen::UnaryOp::Not, Box::new(is_in()));
    let is_odd = Expr::Or(Box::new(not_in), Box::new(equal(rem(second, literal(2)), literal(1))));
    let chosen = Expr::Choose(Box::new([is_in(), third, literal(-7)]));
    let ints = |expr| cast(DType::I32, expr);
    let value = add(add(mul(ints(is_positive), literal(100)), mul(ints(is_odd), literal(1000))), chosen);
    let store = k.store(out, [Expr::Var(i)], value);
    let kernel = k.finish(vec![Stmt::Let(i, global()), store]);
    let mut x = vec![3, -4, 0, 5, 8];
    let mut found = vec![0; 8];
    let note = run_with(&kernel, &line(2, 4), true, &mut [Given::Slice(&mut x), Given::Slice(&mut found)]).unwrap();
    assert_eq!(note, [0; 8]);
    assert_eq!(found, [1103, -4, 0, 1105, 108, 993, 993, 993]);
}

/// fn steps(x: u64) -> u64 { loop { if x == 1 { return count } ... } }, called under a mask and within an expression.
#[test]
fn functions_return_by_lane() {
    fn collatz(mut x: u64) -> u64 {
        let mut count = 0;
        loop {
            if x <= 1 {
                return count;
            }
            x = if x.is_multiple_of(2) { x / 2 } else { 3 * x + 1 };
            count += 1;
        }
    }
    let (x, count) = (Var(0), Var(1));
    let variable = |name| Variable { name, dtype: DType::U64 };
    let half = binary(lazuli_codegen::BinaryOp::Div, Expr::Var(x), n(2));
    let tripled = add(mul(n(3), Expr::Var(x)), n(1));
    let next = Expr::Choose(Box::new([equal(rem(Expr::Var(x), n(2)), n(0)), half, tripled]));
    let body = Body {
        vars: vec![variable("x"), variable("count")],
        statements: vec![
            Stmt::Let(count, n(0)),
            Stmt::Loop(vec![
                when(less(Expr::Var(x), n(2)), vec![Stmt::Return(Some(Expr::Var(count)))]),
                Stmt::Assign(x, next),
                Stmt::Assign(count, add(Expr::Var(count), n(1))),
            ]),
        ],
        ..Body::default()
    };
    let function = Function::new(Definition {
        name: "collatz".into(),
        params: vec![FunctionParam::Scalar { var: x, name: "x", dtype: DType::U64 }],
        result: Some(DType::U64),
        code: Code::Body(body),
    });
    let mut k = Build::default();
    let out = k.slice(DType::U64, true);
    let i = k.var(DType::U64);
    let call = |of: Expr| Expr::Call(function, vec![Argument::Value(of)]);
    let twice = add(call(Expr::Var(i)), mul(n(1000), call(call(Expr::Var(i)))));
    let store = k.store(out, [Expr::Var(i)], twice);
    let kernel = k.finish(vec![
        Stmt::Let(i, global()),
        when(equal(rem(Expr::Var(i), n(3)), n(0)), vec![Stmt::Return(None)]),
        store,
    ]);
    let mut found = vec![7u64; 300];
    run(&kernel, &line(3, 100), &mut [Given::Slice(&mut found)]);
    for (i, &found) in found.iter().enumerate() {
        let i = i as u64;
        let wanted = if i.is_multiple_of(3) { 7 } else { collatz(i) + 1000 * collatz(collatz(i)) };
        assert_eq!(found, wanted, "{i}");
    }
}

#[test]
fn expressions_may_nest_as_deep_as_any_runtime_takes() {
    let mut k = Build::default();
    let out = k.slice(DType::U64, true);
    let deep = (0..390).fold(global(), |inner, _| add(inner, n(1)));
    let store = k.store(out, [global()], deep);
    let mut found = vec![0u64; 4];
    run(&k.finish(vec![store]), &line(1, 4), &mut [Given::Slice(&mut found)]);
    assert_eq!(found, [390, 391, 392, 393]);
}
