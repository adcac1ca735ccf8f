//! Maps: contiguous, broadcast, strided, transposed, and their sizes.

use half::{bf16, f16};
use lazuli_codegen::*;

use super::build::*;
use crate::runtime::host::HostRuntime;

fn runtime() -> HostRuntime {
    HostRuntime::new()
}

#[test]
fn triad_of_any_size_matches_scalar_arithmetic() {
    for n in [0usize, 1, 2, 63, 64, 65, 1000, 4096, 4097, 100_003, 1 << 20] {
        let (a, b, c) = (noise(n, 1), noise(n, 2), noise(n, 3));
        let mut k = Build::new();
        let i = k.parallel(n as i64);
        let buffers = [k.input(DType::F32), k.input(DType::F32), k.input(DType::F32)];
        let out = k.output(DType::F32);
        let values = buffers.map(|buffer| {
            let at = k.at(0, &[(i, 1)]);
            k.load(buffer, at)
        });
        let product = k.binary(BinaryOp::Mul, values[0], values[1]);
        let sum = k.binary(BinaryOp::Add, product, values[2]);
        let at = k.at(0, &[(i, 1)]);
        k.store(out, at, sum);
        let r = runtime();
        let memory = [upload(&r, &a), upload(&r, &b), upload(&r, &c)];
        let got: Vec<f32> = run(k, MAP, &[&*memory[0], &*memory[1], &*memory[2]], n);
        let want: Vec<f32> = (0..n).map(|i| a[i] * b[i] + c[i]).collect();
        assert_eq!(got, want, "{n}");
    }
}

/// out[i, j] = a[i, j] * row[j] + column[i], with strides for a and the output.
fn broadcast(rows: usize, columns: usize, transposed_in: bool, transposed_out: bool) {
    let (a, row, column) = (noise(rows * columns, 1), noise(columns, 2), noise(rows, 3));
    let mut k = Build::new();
    let (i, j) = (k.parallel(rows as i64), k.parallel(columns as i64));
    let (ka, krow, kcolumn, out) =
        (k.input(DType::F32), k.input(DType::F32), k.input(DType::F32), k.output(DType::F32));
    let strides = |transposed: bool| if transposed { (1, rows as i64) } else { (columns as i64, 1) };
    let (si, sj) = strides(transposed_in);
    let at = k.at(0, &[(i, si), (j, sj)]);
    let va = k.load(ka, at);
    let at = k.at(0, &[(j, 1)]);
    let vrow = k.load(krow, at);
    let at = k.at(0, &[(i, 1)]);
    let vcolumn = k.load(kcolumn, at);
    let product = k.binary(BinaryOp::Mul, va, vrow);
    let sum = k.binary(BinaryOp::Add, product, vcolumn);
    let (ti, tj) = strides(transposed_out);
    let at = k.at(0, &[(i, ti), (j, tj)]);
    k.store(out, at, sum);
    let r = runtime();
    let memory = [upload(&r, &a), upload(&r, &row), upload(&r, &column)];
    let got: Vec<f32> = run(k, MAP, &[&*memory[0], &*memory[1], &*memory[2]], rows * columns);
    for i in 0..rows {
        for j in 0..columns {
            let want = a[i * si as usize + j * sj as usize] * row[j] + column[i];
            assert_eq!(got[i * ti as usize + j * tj as usize], want, "{rows}x{columns} at {i},{j}");
        }
    }
}

#[test]
fn broadcast_strided_and_transposed_maps() {
    for (rows, columns) in [(1, 1), (3, 5), (1, 7000), (7000, 1), (100, 33), (3, 5000), (1000, 130), (129, 4096)] {
        for transposed in [(false, false), (true, false), (false, true), (true, true)] {
            broadcast(rows, columns, transposed.0, transposed.1);
        }
    }
}

#[test]
fn flipped_and_stepped_loads() {
    let n = 5001;
    let a = noise(3 * n, 1);
    let mut k = Build::new();
    let i = k.parallel(n as i64);
    let (ka, out) = (k.input(DType::F32), k.output(DType::F32));
    let at = k.at(3 * n as i64 - 1, &[(i, -3)]);
    let v = k.load(ka, at);
    let at = k.at(0, &[(i, 1)]);
    k.store(out, at, v);
    let r = runtime();
    let got: Vec<f32> = run(k, MAP, &[&*upload(&r, &a)], n);
    let want: Vec<f32> = (0..n).map(|i| a[3 * n - 1 - 3 * i]).collect();
    assert_eq!(got, want);
}

#[test]
fn zero_dimensional_kernel_runs_once() {
    let mut k = Build::new();
    let (a, out) = (k.input(DType::F64), k.output(DType::F64));
    let at = k.at(0, &[]);
    let v = k.load(a, at);
    let two = k.scalar(2.0f64);
    let v = k.binary(BinaryOp::Mul, v, two);
    let at = k.at(0, &[]);
    k.store(out, at, v);
    let got: Vec<f64> = run(k, MAP, &[&*upload(&runtime(), &[21.0f64])], 1);
    assert_eq!(got, [42.0]);
}

#[test]
fn a_constant_and_a_loaded_value_can_be_stored() {
    let n = 10_000;
    let mut k = Build::new();
    let i = k.parallel(n as i64);
    let (a, copy, out) = (k.input(DType::I16), k.output(DType::I16), k.output(DType::F16));
    let at = k.at(0, &[(i, 1)]);
    let v = k.load(a, at);
    let at = k.at(0, &[(i, 1)]);
    k.store(copy, at, v);
    let half = k.scalar(f16::from_f32(0.5));
    let at = k.at(0, &[(i, 1)]);
    k.store(out, at, half);
    let r = runtime();
    let data: Vec<i16> = (0..n).map(|i| i as i16).collect();
    let (input, copied) = (upload(&r, &data), upload(&r, &vec![0i16; n]));
    let got: Vec<f16> = run(k, MAP, &[&*input, &*copied], n);
    assert!(got.iter().all(|&x| x == f16::from_f32(0.5)));
    let mut back = vec![0i16; n];
    crate::runtime::Runtime::download(&r, &*copied, 0, crate::runtime::bytes::of_slice_mut(&mut back)).unwrap();
    assert_eq!(back, data);
}

#[test]
fn one_value_stored_twice_and_used_after() {
    let n = 9000;
    let a = noise(n, 1);
    let mut k = Build::new();
    let i = k.parallel(n as i64);
    let (ka, first, second, third) =
        (k.input(DType::F32), k.output(DType::F32), k.output(DType::F32), k.output(DType::F32));
    let at = k.at(0, &[(i, 1)]);
    let v = k.load(ka, at);
    let square = k.binary(BinaryOp::Mul, v, v);
    for out in [first, second] {
        let at = k.at(0, &[(i, 1)]);
        k.store(out, at, square);
    }
    let more = k.binary(BinaryOp::Add, square, v);
    let at = k.at(0, &[(i, 1)]);
    k.store(third, at, more);
    let r = runtime();
    let outs = [upload(&r, &a), upload(&r, &a)];
    let got: Vec<f32> = run(k, MAP, &[&*upload(&r, &a), &*outs[0], &*outs[1]], n);
    assert!(got.iter().zip(&a).all(|(got, a)| *got == a * a + a));
    for out in &outs {
        let mut back = vec![0f32; n];
        crate::runtime::Runtime::download(&r, &**out, 0, crate::runtime::bytes::of_slice_mut(&mut back)).unwrap();
        assert!(back.iter().zip(&a).all(|(got, a)| *got == a * a));
    }
}

#[test]
fn halves_round_after_every_operation() {
    let a: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    let n = a.len();
    let mut k = Build::new();
    let i = k.parallel(n as i64);
    let (ka, out) = (k.input(DType::F16), k.output(DType::F16));
    let at = k.at(0, &[(i, 1)]);
    let v = k.load(ka, at);
    let third = k.scalar(f16::from_f32(0.333));
    let v = k.binary(BinaryOp::Mul, v, third);
    let v = k.binary(BinaryOp::Add, v, third);
    let at = k.at(0, &[(i, 1)]);
    k.store(out, at, v);
    let got: Vec<f16> = run(k, MAP, &[&*upload(&runtime(), &a)], n);
    let third = f16::from_f32(0.333).to_f32();
    for (got, a) in got.iter().zip(&a) {
        let want = f16::from_f32(f16::from_f32(a.to_f32() * third).to_f32() + third);
        assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{a:?}: {got:?} {want:?}");
    }
}

#[test]
fn bf16_moves_bits_unchanged() {
    let a: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
    let mut k = Build::new();
    let i = k.parallel(a.len() as i64);
    let (ka, out) = (k.input(DType::BF16), k.output(DType::BF16));
    let at = k.at(0, &[(i, 1)]);
    let v = k.load(ka, at);
    let at = k.at(0, &[(i, 1)]);
    k.store(out, at, v);
    let got: Vec<bf16> = run(k, MAP, &[&*upload(&runtime(), &a)], a.len());
    assert!(got.iter().zip(&a).all(|(got, a)| got.to_bits() == a.to_bits()));
}

/// out[i, j, l] = a[l, i, j] + b[i, j, l] + i * 1000 + l, whose first operand runs against the grain.
#[test]
fn tiles_of_three_axes_with_ragged_edges() {
    for (x, y, z) in [(3usize, 70usize, 200usize), (40, 5, 333), (17, 129, 65), (2, 1000, 1000)] {
        let (a, b) = (noise(x * y * z, 1), noise(x * y * z, 2));
        for column_major_out in [false, true] {
            let mut k = Build::new();
            let (i, j, l) = (k.parallel(x as i64), k.parallel(y as i64), k.parallel(z as i64));
            let (ka, kb, out) = (k.input(DType::F32), k.input(DType::F32), k.output(DType::F32));
            let at = k.at(0, &[(l, (x * y) as i64), (i, y as i64), (j, 1)]);
            let va = k.load(ka, at);
            let plain = [(i, (y * z) as i64), (j, z as i64), (l, 1)];
            let at = k.at(0, &plain);
            let vb = k.load(kb, at);
            let at = k.at(0, &[(i, 1000), (l, 1)]);
            let index = k.index(Expr::Index(at));
            let index = k.value(DType::F32, Expr::IndexValue(index));
            let v = k.binary(BinaryOp::Add, va, vb);
            let v = k.binary(BinaryOp::Add, v, index);
            let across = [(i, 1), (j, x as i64), (l, (x * y) as i64)];
            let at = k.at(0, if column_major_out { &across } else { &plain });
            k.store(out, at, v);
            let r = runtime();
            let memory = [upload(&r, &a), upload(&r, &b)];
            let got: Vec<f32> = run(k, MAP, &[&*memory[0], &*memory[1]], x * y * z);
            for (i, j, l) in (0..x).flat_map(|i| (0..y).flat_map(move |j| (0..z).map(move |l| (i, j, l)))) {
                let want = a[(l * x + i) * y + j] + b[(i * y + j) * z + l] + (i * 1000 + l) as f32;
                let at = if column_major_out { (l * y + j) * x + i } else { (i * y + j) * z + l };
                assert_eq!(got[at], want, "{x}x{y}x{z} at {i},{j},{l}");
            }
        }
    }
}
