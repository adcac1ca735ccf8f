//! Kernels and functions over any element type, and constants that the compiler knows.

use lazuli::kernel::*;
use lazuli::{Device, Element, Float, KernelDefinition, Number};

use super::both::compare;
use crate::common::{flat, on_fused};

#[lazuli::device]
fn scaled<T: Number>(x: T, by: T) -> T {
    x * by
}

#[lazuli::kernel]
fn axpy<T: Number>(a: T, x: &[T], y: &mut [T]) {
    let i = grid1();
    if i < y.len() {
        y[i] = scaled(x[i], a) + y[i];
    }
}

#[lazuli::kernel]
fn copy<T: Element>(x: &[T], y: &mut [T], fill: T) {
    let i = grid1();
    if i < y.len() {
        y[i] = if i < x.len() { x[i] } else { fill };
    }
}

fn axpy_of<T: Number>(device: &Device) {
    let of = |number: i32| T::from_f64(f64::from(number));
    let x: Vec<T> = (0..30).map(|i| of(i % 4)).collect();
    let y: Vec<T> = (0..30).map(|i| of(i % 7)).collect();
    let expected: Vec<T> = (0..30).map(|i| of(3 * (i % 4) + i % 7)).collect();
    let (x, mut y) = (device.from_slice(&x).unwrap(), device.from_slice(&y).unwrap());
    axpy(of(3), &x, &mut y).forall(30).unwrap();
    compare(T::DTYPE.name(), &flat(&y), &expected);
}

fn copy_of<T: Element>(device: &Device) {
    let x: Vec<T> = (0..10).map(|i| T::from_f64(f64::from(i % 3))).collect();
    let mut expected = x.clone();
    expected.extend([T::one(); 3]);
    let (x, mut y) = (device.from_slice(&x).unwrap(), device.zeros::<T>(13));
    copy(&x, &mut y, T::one()).forall(13).unwrap();
    compare(T::DTYPE.name(), &flat(&y), &expected);
}

macro_rules! each {
    ($function:ident on $device:ident: $($type:ty),+) => { $($function::<$type>($device);)+ };
}

#[test]
fn a_generic_kernel_runs_for_every_element_type() {
    on_fused(|device| {
        each!(axpy_of on device: i8, i16, i32, i64, u8, u16, u32, u64, lazuli::f16, lazuli::bf16, f32, f64);
        each!(copy_of on device: bool, i8, i16, i32, i64, u8, u16, u32, u64, lazuli::f16, lazuli::bf16, f32, f64);
    });
}

const OFFSETS: [i32; 3] = [10, 20, 30];
const LENGTH: usize = 4;

#[lazuli::kernel]
fn constants<const N: usize, const UP: bool>(out: &mut [i32]) {
    let i = grid1();
    let mut line = [1i32; N];
    let mut rows = [[0i32; LENGTH]; N];
    line[N - 1] = OFFSETS[1] + const { OFFSETS[0] * 2 };
    rows[N - 1][LENGTH - 1] = i32::MAX;
    let mut sum = 0;
    for k in 0..N {
        sum += line[k];
    }
    let bytes = const { std::mem::size_of::<f64>() };
    if i < out.len() {
        out[i] = if UP { sum + bytes as i32 } else { sum - (rows[N - 1][LENGTH - 1] == i32::MAX) as i32 };
    }
}

#[test]
fn constants_of_rust_are_constants_of_kernels() {
    on_fused(|device| {
        let mut out = device.zeros::<i32>(2);
        constants::<3, true>(&mut out).forall(2).unwrap();
        assert_eq!(flat(&out), [50, 50]);
        constants::<5, false>(&mut out).forall(2).unwrap();
        assert_eq!(flat(&out), [43, 43]);
    });
}

#[test]
fn names_carry_the_generic_arguments() {
    assert_eq!(axpy::Kernel::<f32>::build().unwrap().name, "axpy_f32");
    assert_eq!(constants::Kernel::<3, true>::build().unwrap().name, "constants_3_true");
    assert_eq!(axpy::Kernel::<lazuli::bf16>::NAME, "axpy");
    on_fused(|device| assert!(axpy::Kernel::<f32>::source(device).unwrap().contains("axpy_f32")));
    on_fused(|device| assert!(axpy::Kernel::<f32>::attributes(device).unwrap().max_threads >= 1));
}

#[lazuli::device]
fn mean<T: Float, const N: usize>(window: &[T; N]) -> T {
    let mut sum = T::zero();
    for i in 0..window.len() {
        sum += window[i];
    }
    sum / (N as T)
}

#[lazuli::device]
fn fill(part: &mut [f32], from: f32) {
    for i in 0..part.len() {
        part[i] = from + i as f32;
    }
}

#[lazuli::device]
fn total(part: &[f32], count: usize) -> f32 {
    let mut sum = 0.0;
    for i in 0..count {
        sum += part[i];
    }
    sum
}

#[lazuli::device]
fn corners(square: &mut [[f32; 2]; 2]) -> f32 {
    square[0][1] += 1.0;
    square[0][0] + square[1][1]
}

/// Memory of each kind is given to the same functions.
#[lazuli::kernel]
fn lends(x: &[f32], y: &mut [f32]) {
    let mut own = [0.0f32; 4];
    let mut ours = shared::<[f32; 8]>();
    let mut square = [[1.0f32, 2.0], [3.0, 4.0]];
    fill(&mut own, 5.0);
    if thread_idx().x == 0 {
        fill(&mut ours, x[0]);
        fill(y, 100.0);
    }
    barrier();
    let sums = total(&own, 4) + 1000.0 * total(&ours, 8) + total(x, 2) * 0.5 + total(y, 2) * 0.25;
    barrier();
    let c = corners(&mut square);
    if thread_idx().x == 0 {
        y[0] = sums;
        y[1] = mean(&own);
        y[2] = c + square[0][1] * 10.0;
    }
}

#[test]
fn functions_take_memory_of_every_kind() {
    on_fused(|device| {
        let (x, mut y) = (device.from_slice(&[1.0f32, 2.0]).unwrap(), device.zeros::<f32>(3));
        lends(&x, &mut y).launch([1], [4]).unwrap();
        let ours: f32 = (0..8).map(|i| 1.0 + i as f32).sum();
        assert_eq!(flat(&y), [26.0 + 1000.0 * ours + 1.5 + 201.0 * 0.25, 6.5, 5.0 + 30.0]);
    });
}

mod circle {
    #[lazuli::device]
    pub fn even(n: i32) -> bool {
        if n == 0 { true } else { odd(n - 1) }
    }

    #[lazuli::device]
    pub fn odd(n: i32) -> bool {
        if n == 0 { false } else { even(n - 1) }
    }

    #[lazuli::kernel]
    pub fn parity(out: &mut [bool]) {
        out[0] = even(7);
    }

    #[lazuli::device]
    pub fn meets() {
        lazuli::kernel::barrier();
    }

    #[lazuli::kernel]
    pub fn meets_elsewhere(out: &mut [i32]) {
        meets();
        out[0] = 1;
    }
}

#[test]
fn what_the_macros_cannot_see_is_an_error_value() {
    on_fused(|device| {
        let mut out = device.zeros::<bool>(1);
        let error = circle::parity(&mut out).launch([1], [1]).unwrap_err().to_string();
        assert!(error.contains("parity") && error.contains("even calls itself"), "{error}");
        let mut out = device.zeros::<i32>(1);
        let error = circle::meets_elsewhere(&mut out).launch([1], [1]).unwrap_err().to_string();
        assert!(error.contains("barrier stands in kernels"), "{error}");
        // The device goes on working.
        let mut y = device.from_slice(&[1.0f32]).unwrap();
        axpy(2.0f32, &device.from_slice(&[3.0f32]).unwrap(), &mut y).forall(1).unwrap();
        assert_eq!(flat(&y), [7.0]);
    });
}
