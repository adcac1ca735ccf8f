//! Times of the host, printed: `cargo test --release --lib host::tests::bench -- --ignored --nocapture`.

use std::time::Instant;

use lazuli_codegen::*;

use super::build::*;
use super::rows::{layer_norm, softmax};
use crate::runtime::host::HostRuntime;
use crate::runtime::{LaunchArgs, Memory, Runtime};

const N: usize = 1 << 24;

/// What this thread has computed so far, in milliseconds: with one thread, the time that a launch takes of a shared machine.
fn busy_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|first| first.parse::<f64>().ok());
    nanoseconds.unwrap_or_default() / 1e6
}

fn time(name: &str, build: Build, schedule: Schedule, buffers: &[&dyn Memory]) {
    let runtime = HostRuntime::new();
    let (kernel, sizes, scalars) = build.finish();
    let executable = runtime.compile(&kernel, schedule, false).unwrap();
    let grid = schedule.grid(&kernel, &sizes);
    let arguments = LaunchArgs { buffers, sizes: &sizes, scalars: &scalars, grid };
    let (mut times, mut busy): (Vec<f64>, Vec<f64>) = (0..15)
        .map(|_| {
            let (start, busy) = (Instant::now(), busy_ms());
            runtime.launch(&*executable, &arguments).unwrap();
            (start.elapsed().as_secs_f64() * 1e3, busy_ms() - busy)
        })
        .unzip();
    times.sort_by(f64::total_cmp);
    busy.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    println!("{name:24} median {:9.4} ms, best {:9.4} ms, busy {:9.4} ms", times[middle], times[0], busy[middle]);
}

/// A map of `inputs` over `n` elements.
fn map(n: usize, inputs: usize, fill: impl FnOnce(&mut Build, &[Var]) -> Var) -> Build {
    let mut k = Build::new();
    let i = k.parallel(n as i64);
    let buffers: Vec<BufferId> = (0..inputs).map(|_| k.input(DType::F32)).collect();
    let values: Vec<Var> = buffers
        .into_iter()
        .map(|buffer| {
            let at = k.at(0, &[(i, 1)]);
            k.load(buffer, at)
        })
        .collect();
    let out = k.output(DType::F32);
    let value = fill(&mut k, &values);
    let at = k.at(0, &[(i, 1)]);
    k.store(out, at, value);
    k
}

#[test]
#[ignore = "prints times; checks nothing"]
fn rows_of_sixteen_million_elements() {
    let r = HostRuntime::new();
    let (input, gain, out) = (upload(&r, &noise(N, 1)), upload(&r, &noise(N, 2)), upload(&r, &noise(N, 4)));
    let (a, g, o) = (&*input, &*gain, &*out);
    let lanes = Tree { lanes: 1, width: 16 };
    for (n, tree) in
        [(4096, lanes), (1 << 20, lanes), (512, lanes), (128, lanes), (64, Tree::SERIAL), (8, Tree::SERIAL)]
    {
        let rows = N as i64 / n;
        let schedule = if tree == Tree::SERIAL { MAP } else { group(tree) };
        let mut k = Build::new();
        let (i, axis) = (k.parallel(rows), k.axis(n));
        let (input, output) = (k.input(DType::F32), k.output(DType::F32));
        softmax(&mut k, &[axis], tree, &[(i, n), (axis, 1)], input, output);
        time(&format!("softmax {rows}x{n}"), k, schedule, &[a, o]);
        let mut k = Build::new();
        let (i, axis) = (k.parallel(rows), k.axis(n));
        let buffers = [k.input(DType::F32), k.input(DType::F32), k.output(DType::F32)];
        layer_norm(&mut k, &[axis], n as usize, tree, (&[(i, n), (axis, 1)], &[(axis, 1)]), buffers);
        time(&format!("layer norm {rows}x{n}"), k, schedule, &[a, g, o]);
    }
    for n in [4096, 512, 64] {
        let columns = N as i64 / n;
        let mut k = Build::new();
        let (j, axis) = (k.parallel(columns), k.axis(n));
        let (input, output) = (k.input(DType::F32), k.output(DType::F32));
        softmax(&mut k, &[axis], Tree::SERIAL, &[(axis, columns), (j, 1)], input, output);
        time(&format!("column softmax {n}x{columns}"), k, MAP, &[a, o]);
    }
    time("exp", map(N, 1, |k, v| k.unary(UnaryOp::Exp, v[0])), MAP, &[a, o]);
    time("copy", map(N, 1, |_, v| v[0]), MAP, &[a, o]);
}

#[test]
#[ignore = "prints times; checks nothing"]
fn sixteen_million_elements() {
    let r = HostRuntime::new();
    let inputs = [upload(&r, &noise(N, 1)), upload(&r, &noise(N, 2)), upload(&r, &noise(N, 3))];
    let out = upload(&r, &noise(N, 4));
    let (a, b, c, o) = (&*inputs[0], &*inputs[1], &*inputs[2], &*out);
    let triad = |n| {
        map(n, 3, |k, v| {
            let product = k.binary(BinaryOp::Mul, v[0], v[1]);
            k.binary(BinaryOp::Add, product, v[2])
        })
    };
    time("triad", triad(N), MAP, &[a, b, c, o]);
    for n in [1, 1000, 10_000, 100_000] {
        time(&format!("triad of {n}"), triad(n), MAP, &[a, b, c, o]);
    }
    let chain = map(N, 1, |k, v| {
        let mut value = v[0];
        for step in 0..5 {
            let (scale, shift) = (k.scalar(1.0 + step as f32), k.scalar(0.5f32));
            value = k.binary(BinaryOp::Mul, value, scale);
            value = k.binary(BinaryOp::Add, value, shift);
        }
        value
    });
    time("chain10", chain, MAP, &[a, o]);
    let transcend = map(N, 3, |k, v| {
        let (x, y) = (k.binary(BinaryOp::Mul, v[0], v[0]), k.binary(BinaryOp::Mul, v[1], v[1]));
        let sum = k.binary(BinaryOp::Add, x, y);
        let root = k.unary(UnaryOp::Sqrt, sum);
        let minus = k.unary(UnaryOp::Neg, v[2]);
        let exp = k.unary(UnaryOp::Exp, minus);
        let left = k.binary(BinaryOp::Mul, root, exp);
        let sin = k.unary(UnaryOp::Sin, v[0]);
        let half = k.scalar(0.5f32);
        let right = k.binary(BinaryOp::Mul, half, sin);
        k.binary(BinaryOp::Add, left, right)
    });
    time("transcend", transcend, MAP, &[a, b, c, o]);
    for op in UnaryOp::ALL.into_iter().filter(|op| op.result(DType::F32) == Some(DType::F32)) {
        time(op.name(), map(N, 1, |k, v| k.unary(op, v[0])), MAP, &[a, o]);
    }
    time(
        "pow",
        map(N, 2, |k, v| {
            let x = k.unary(UnaryOp::Abs, v[0]);
            k.binary(BinaryOp::Pow, x, v[1])
        }),
        MAP,
        &[a, b, o],
    );

    let wide = [upload(&r, &vec![0.7f64; N])];
    for op in [UnaryOp::Exp, UnaryOp::Log, UnaryOp::Sin, UnaryOp::Cos, UnaryOp::Tanh, UnaryOp::Erf] {
        let mut k = Build::new();
        let i = k.parallel(N as i64 / 2);
        let (ka, ko) = (k.input(DType::F64), k.output(DType::F64));
        let at = k.at(0, &[(i, 2)]);
        let v = k.load(ka, at);
        let v = k.unary(op, v);
        let at = k.at(0, &[(i, 1)]);
        k.store(ko, at, v);
        time(&format!("8M f64 {}", op.name()), k, MAP, &[&*wide[0], o]);
    }

    let tree = Tree { lanes: 1, width: 16 };
    let (chunk, chunks) = (1 << 16, (N >> 16) as i64);
    let mut k = Build::new();
    let (ci, ri) = (k.parallel(chunks), k.axis(N as i64));
    let (ka, kb, ko) = (k.input(DType::F32), k.input(DType::F32), k.output(DType::F32));
    let length = k.size(chunk);
    let result = k.reduce(&[ri], Span::Chunk { axis: ci, length }, tree, |k| {
        let at = k.at(0, &[(ri, 1)]);
        let x = k.load(ka, at);
        let at = k.at(0, &[(ri, 1)]);
        let y = k.load(kb, at);
        let d = k.binary(BinaryOp::Sub, x, y);
        vec![(ReduceOp::Sum, k.binary(BinaryOp::Mul, d, d))]
    })[0];
    let at = k.at(0, &[(ci, 1)]);
    k.store(ko, at, result);
    time("sum of (a-b)^2", k, group(tree), &[a, b, o]);

    for columns in [4096i64, 64, 16] {
        let rows = N as i64 / columns;
        let mut k = Build::new();
        let (j, ri) = (k.parallel(columns), k.axis(rows));
        let (ka, ko) = (k.input(DType::F32), k.output(DType::F32));
        let result = k.reduce(&[ri], Span::Whole, Tree::SERIAL, |k| {
            let at = k.at(0, &[(ri, columns), (j, 1)]);
            vec![(ReduceOp::Sum, k.load(ka, at))]
        })[0];
        let at = k.at(0, &[(j, 1)]);
        k.store(ko, at, result);
        time(&format!("column sums of {columns}"), k, MAP, &[a, o]);
    }
    for columns in [4096i64, 64] {
        let rows = N as i64 / columns;
        let mut k = Build::new();
        let (i, ri) = (k.parallel(rows), k.axis(columns));
        let (ka, ko) = (k.input(DType::F32), k.output(DType::F32));
        let result = k.reduce(&[ri], Span::Whole, tree, |k| {
            let at = k.at(0, &[(i, columns), (ri, 1)]);
            vec![(ReduceOp::Sum, k.load(ka, at))]
        })[0];
        let at = k.at(0, &[(i, 1)]);
        k.store(ko, at, result);
        time(&format!("row sums of {columns}"), k, group(tree), &[a, o]);
    }
    for columns in [64, 8] {
        let rows = N as i64 / columns;
        let mut k = Build::new();
        let (i, ri) = (k.parallel(rows), k.axis(columns));
        let (ka, ko) = (k.input(DType::F32), k.output(DType::F32));
        let result = k.reduce(&[ri], Span::Whole, Tree::SERIAL, |k| {
            let at = k.at(0, &[(i, columns), (ri, 1)]);
            vec![(ReduceOp::Sum, k.load(ka, at))]
        })[0];
        let at = k.at(0, &[(i, 1)]);
        k.store(ko, at, result);
        time(&format!("plain row sums of {columns}"), k, MAP, &[a, o]);
    }
    for (name, side, si, sj) in
        [("row broadcast", 4096i64, 0, 1), ("column broadcast", 4096, 1, 0), ("transpose", 4096, 1, 4096)]
    {
        let mut k = Build::new();
        let (i, j) = (k.parallel(side), k.parallel(side));
        let (ka, kb, ko) = (k.input(DType::F32), k.input(DType::F32), k.output(DType::F32));
        let at = k.at(0, &[(i, si), (j, sj)]);
        let x = k.load(ka, at);
        let at = k.at(0, &[(i, side), (j, 1)]);
        let y = k.load(kb, at);
        let v = k.binary(BinaryOp::Add, x, y);
        let at = k.at(0, &[(i, side), (j, 1)]);
        k.store(ko, at, v);
        time(name, k, MAP, &[a, b, o]);
    }
}
