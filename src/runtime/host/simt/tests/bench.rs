//! How fast kernels run here: `cargo test --release --lib simt::tests::bench -- --ignored --nocapture`.

use std::sync::Arc;
use std::time::Instant;

use lazuli_codegen::DType;
use lazuli_codegen::simt::ir::*;

use super::build::*;
use crate::runtime::explicit::RawGrid;

/// y = a x + y.
fn saxpy() -> Arc<Kernel> {
    let mut k = Build::default();
    let a = k.scalar(DType::F32);
    let (x, y) = (k.slice(DType::F32, false), k.slice(DType::F32, true));
    let i = k.var(DType::U64);
    let sum = add(mul(a, k.load(x, [Expr::Var(i)])), k.load(y, [Expr::Var(i)]));
    let store = k.store(y, [Expr::Var(i)], sum);
    k.finish(vec![Stmt::Let(i, global()), when(less(Expr::Var(i), Expr::Len(y)), vec![store])])
}

/// c = a b by tiles of the group.
fn matmul(side: u64) -> Arc<Kernel> {
    let mut k = Build::default();
    let [a, b] = [0; 2].map(|_| k.slice(DType::F32, false));
    let c = k.slice(DType::F32, true);
    let size = k.scalar(DType::U64);
    let tiles = [0; 2].map(|_| k.array(DType::F32, &[side as usize; 2], Space::Group));
    let [row, column, t, inner] = [0; 4].map(|_| k.var(DType::U64));
    let sum = k.var(DType::F32);
    let [tx, ty] = [0, 1].map(|axis| Expr::Builtin(Builtin::ThreadIndex(axis)));
    let [gx, gy] = [0, 1].map(|axis| Expr::Builtin(Builtin::GroupIndex(axis)));
    let along = |t: Expr, i: &Expr| add(mul(t, n(side)), i.clone());
    let from_a = k.load(a, [add(mul(Expr::Var(row), size.clone()), along(Expr::Var(t), &tx))]);
    let from_b = k.load(b, [add(mul(along(Expr::Var(t), &ty), size.clone()), Expr::Var(column))]);
    let fill_a = k.store(tiles[0], [ty.clone(), tx.clone()], from_a);
    let fill_b = k.store(tiles[1], [ty.clone(), tx.clone()], from_b);
    let left = k.load(tiles[0], [ty.clone(), Expr::Var(inner)]);
    let product = mul(left, k.load(tiles[1], [Expr::Var(inner), tx.clone()]));
    let rounds = Stmt::For {
        var: inner,
        start: n(0),
        end: n(side),
        step: 1,
        body: vec![Stmt::Assign(sum, add(Expr::Var(sum), product))],
    };
    let body = vec![fill_a, fill_b, Stmt::Barrier, rounds, Stmt::Barrier];
    let end = binary(lazuli_codegen::BinaryOp::Div, size.clone(), n(side));
    let place = add(mul(Expr::Var(row), size), Expr::Var(column));
    let last = k.store(c, [place], Expr::Var(sum));
    k.finish(vec![
        Stmt::Let(row, along(gy, &ty)),
        Stmt::Let(column, along(gx, &tx)),
        Stmt::Let(sum, literal(0.0f32)),
        Stmt::For { var: t, start: n(0), end, step: 1, body },
        last,
    ])
}

#[test]
#[ignore = "measures"]
fn bench() {
    let a = lazuli_codegen::Scalar::from_bits(DType::F32, u64::from(2.0f32.to_bits()));
    let (mut x, mut y) = (vec![1.0f32; 1 << 22], vec![1.0f32; 1 << 22]);
    for threads in [32, 256, 1024] {
        let grid = line((1 << 22) / threads, threads);
        let mut given = [Given::Scalar(a), Given::Slice(&mut x), Given::Slice(&mut y)];
        let (kernel, mut best) = (saxpy(), f64::MAX);
        let compiled = Compiled::new(&kernel, &mut given);
        for _ in 0..5 {
            let start = Instant::now();
            compiled.launch(&grid);
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("saxpy, groups of {threads}: {:.2} GB/s", 12.0 * f64::from(1 << 22) / best / 1e9);
    }
    for side in [16u32, 32] {
        let size = 256u32;
        let mut matrices = [vec![1.0f32; 1 << 16], vec![1.0f32; 1 << 16], vec![0.0f32; 1 << 16]];
        let [a, b, c] = &mut matrices;
        let n = lazuli_codegen::Scalar::from_bits(DType::U64, size.into());
        let mut given = [Given::Slice(a), Given::Slice(b), Given::Slice(c), Given::Scalar(n)];
        let compiled = Compiled::new(&matmul(side.into()), &mut given);
        let grid = RawGrid { groups: [size / side, size / side, 1], threads: [side, side, 1], local_bytes: 0 };
        let start = Instant::now();
        compiled.launch(&grid);
        let seconds = start.elapsed().as_secs_f64();
        println!("matrix product, tiles of {side}: {:.2} GFLOP/s", 2.0 * f64::from(size).powi(3) / seconds / 1e9);
    }
}
