//! What threads of a group and groups of a grid share: arrays, barriers, atomics.

use lazuli_codegen::simt::ir::*;
use lazuli_codegen::{BinaryOp, DType};

use super::build::*;
use crate::error::Error;
use crate::runtime::explicit::RawGrid;

#[test]
fn groups_turn_round_what_they_share() {
    // Each group reverses its part through an array of the group, in three dimensions of threads.
    let mut k = Build::default();
    let (x, out) = (k.slice(DType::F16, false), k.slice(DType::F16, true));
    let shared = k.array(DType::F16, &[2, 3, 4], Space::Group);
    let [tx, ty, tz] = [0, 1, 2].map(|axis| Expr::Builtin(Builtin::ThreadIndex(axis)));
    let group = add(
        mul(Expr::Builtin(Builtin::GroupIndex(1)), Expr::Builtin(Builtin::GridSize(0))),
        Expr::Builtin(Builtin::GroupIndex(0)),
    );
    let thread = add(mul(add(mul(tz.clone(), n(3)), ty.clone()), n(4)), tx.clone());
    let at = add(mul(group, n(24)), thread);
    let back = |extent: u64, index: &Expr| binary(BinaryOp::Sub, n(extent - 1), index.clone());
    let loaded = k.load(x, [at.clone()]);
    let fill = k.store(shared, [tz.clone(), ty.clone(), tx.clone()], loaded);
    let turned = k.load(shared, [back(2, &tz), back(3, &ty), back(4, &tx)]);
    let store = k.store(out, [at], turned);
    let kernel = k.finish(vec![fill, Stmt::Barrier, store]);
    let mut x: Vec<half::f16> = (0..24 * 6).map(|i| half::f16::from_f32(i as f32)).collect();
    let mut found = vec![half::f16::ZERO; x.len()];
    let grid = RawGrid { groups: [3, 2, 1], threads: [4, 3, 2], local_bytes: 0 };
    run(&kernel, &grid, &mut [Given::Slice(&mut x), Given::Slice(&mut found)]);
    let wanted: Vec<half::f16> = x.chunks(24).flat_map(|part| part.iter().rev().copied()).collect();
    assert_eq!(found, wanted);
}

#[test]
fn a_launch_sets_the_length_of_an_array() {
    let mut k = Build::default();
    let out = k.slice(DType::U32, true);
    let shared = k.array(DType::U32, &[], Space::Group);
    let t = Expr::Builtin(Builtin::ThreadIndex(0));
    let fill = k.store(shared, [t.clone()], cast(DType::U32, Expr::Len(shared)));
    let next = rem(add(t, n(1)), Expr::Len(shared));
    let turned = k.load(shared, [next]);
    let store = k.store(out, [global()], turned);
    let kernel = k.finish(vec![fill, Stmt::Barrier, store]);
    let mut found = vec![0u32; 12];
    run(&kernel, &RawGrid { local_bytes: 24, ..line(2, 6) }, &mut [Given::Slice(&mut found)]);
    assert_eq!(found, [6; 12]);
}

#[test]
fn a_barrier_that_a_part_of_a_group_comes_to_is_an_error() {
    let at_barrier = |statements: fn(&mut Build, Memory) -> Vec<Stmt>| {
        let mut k = Build::default();
        let out = k.slice(DType::U64, true);
        let statements = statements(&mut k, out);
        let kernel = k.finish(statements);
        let mut found = vec![0u64; 64];
        run_with(&kernel, &line(2, 32), false, &mut [Given::Slice(&mut found)])
    };
    // Threads that have returned are not waited for.
    let returned = at_barrier(|_, _| {
        let is_low = less(Expr::Builtin(Builtin::ThreadIndex(0)), n(5));
        vec![when(is_low, vec![Stmt::Return(None)]), Stmt::Barrier]
    });
    returned.unwrap();
    let divided =
        at_barrier(|_, _| vec![when(less(Expr::Builtin(Builtin::ThreadIndex(0)), n(5)), vec![Stmt::Barrier])]);
    let told = divided.unwrap_err().to_string();
    assert!(told.contains("launch of test") && told.contains("5 of the 32"), "{told}");
    let by_rounds = at_barrier(|k, _| {
        let var = k.var(DType::U64);
        let end = Expr::Builtin(Builtin::ThreadIndex(0));
        vec![Stmt::For { var, start: n(0), end, step: 1, body: vec![Stmt::Barrier] }]
    });
    assert!(matches!(by_rounds, Err(Error::Driver { .. })));
}

#[test]
fn atomics_count_across_groups() {
    let mut k = Build::default();
    let (sums, places) = (k.slice(DType::U32, true), k.slice(DType::U32, true));
    let (i, before) = (k.var(DType::U64), k.var(DType::U32));
    let element = k.element(sums, [rem(Expr::Var(i), n(3))]);
    let raise = Stmt::Atomic { before: Some(before), op: AtomicOp::Add, element, value: literal(1u32), expected: None };
    let store = k.store(places, [Expr::Var(i)], Expr::Var(before));
    let kernel = k.finish(vec![
        Stmt::Let(i, global()),
        when(equal(rem(Expr::Var(i), n(7)), n(0)), vec![Stmt::Return(None)]),
        raise,
        store,
    ]);
    let count = 64 * 100;
    let (mut sums, mut places) = (vec![0u32; 3], vec![u32::MAX; count]);
    run(&kernel, &line(64, 100), &mut [Given::Slice(&mut sums), Given::Slice(&mut places)]);
    for (bin, &sum) in sums.iter().enumerate() {
        let mut held: Vec<u32> = (bin..count).step_by(3).filter(|i| i % 7 != 0).map(|i| places[i]).collect();
        held.sort_unstable();
        // Every number was handed out once.
        assert_eq!(held, (0..sum).collect::<Vec<_>>(), "bin {bin}");
    }
}

#[test]
fn every_atomic_does_what_it_says() {
    use AtomicOp::*;
    fn one<T: crate::dtype::Element + PartialEq + std::fmt::Debug>(
        op: AtomicOp,
        held: T,
        value: T,
        expected: Option<T>,
        wanted: T,
    ) {
        let mut k = Build::default();
        let (place, old) = (k.slice(T::DTYPE, true), k.slice(T::DTYPE, true));
        let before = k.var(T::DTYPE);
        let element = k.element(place, [n(0)]);
        let (value, expected) = (literal(value), expected.map(literal));
        let atomic = Stmt::Atomic { before: Some(before), op, element, value, expected };
        let store = k.store(old, [n(0)], Expr::Var(before));
        let kernel = k.finish(vec![atomic, store]);
        let (mut place, mut old) = (vec![held], vec![wanted]);
        run(&kernel, &line(1, 1), &mut [Given::Slice(&mut place), Given::Slice(&mut old)]);
        assert_eq!((place[0], old[0]), (wanted, held), "{op:?} of {}", T::DTYPE);
    }
    macro_rules! integers {
        ($($type:ident),+) => { $(
            let (a, b) = ($type::MAX - 2, 7 as $type);
            one(Add, a, b, None, a.wrapping_add(b));
            one(Sub, b, a, None, b.wrapping_sub(a));
            one(Min, a, b, None, b);
            one(Max, a, b, None, a);
            one(And, a, b, None, a & b);
            one(Or, a, b, None, a | b);
            one(Xor, a, b, None, a ^ b);
            one(Exchange, a, b, None, b);
            one(CompareExchange, a, b, Some(a), b);
            one(CompareExchange, a, b, Some(b), a);
        )+ };
    }
    integers!(i32, u32, i64, u64);
    one(Min, -5i32, 3, None, -5);
    one(Max, -5i64, 3, None, 3);
    one(Add, 1.5f32, 2.25, None, 3.75);
    one(Min, 1.5f64, -2.25, None, -2.25);
    one(Max, 1.5f32, -2.25, None, 1.5);
    one(Exchange, 1.5f64, -2.25, None, -2.25);
    let mut k = Build::default();
    let place = k.slice(DType::F32, true);
    let element = k.element(place, [n(0)]);
    let atomic = Stmt::Atomic { before: None, op: Min, element, value: literal(f32::NAN), expected: None };
    let kernel = k.finish(vec![atomic]);
    let mut place = vec![1.0f32];
    run(&kernel, &line(1, 1), &mut [Given::Slice(&mut place)]);
    assert!(place[0].is_nan());
}
