//! Kernels that the user wrote as operations of the lazy graph: order, fusing around them, values kept, errors.

use lazuli::kernel::*;
use lazuli::prelude::*;
use lazuli::{Error, Language, Module, Output, args};
use ndarray::{Array1, arr1, s};

use crate::common::*;

/// Kernels over `n` elements in the language of both.
const SOURCE: &str = "
KERNEL square(GLOBAL const f32 *x, GLOBAL f32 *y, u32 n) {
    if (INDEX_X < n) y[INDEX_X] = x[INDEX_X] * x[INDEX_X];
}
KERNEL raise(GLOBAL f32 *x, f32 by, u32 n) {
    if (INDEX_X < n) x[INDEX_X] += by;
}
KERNEL split(GLOBAL const f32 *x, GLOBAL f32 *whole, GLOBAL f32 *rest, u32 n) {
    if (INDEX_X < n) {
        whole[INDEX_X] = floor(x[INDEX_X]);
        rest[INDEX_X] = x[INDEX_X] - floor(x[INDEX_X]);
    }
}
";

/// Runs the body on the devices that compile source, fused and not, with the module.
fn on_compiling(body: impl Fn(&Device, &Module)) {
    on_every(|device| match device.name() == "host" {
        true => skip(
            "recorded launches of source on the host",
            "it has no compiler; a test beside these records kernels in Rust there",
        ),
        false => {
            let module = Module::builder(device).language(Language::Portable).source(SOURCE).unwrap();
            body(device, &module);
        }
    });
}

fn host_values(n: usize) -> Array1<f32> {
    Array1::from_iter((0..n).map(|i| (i % 97) as f32 / 8.0 - 3.0))
}

#[lazuli::kernel]
fn halved(x: &[f32], y: &mut [f32]) {
    let i = grid1();
    if i < y.len() {
        y[i] = x[i] * 0.5;
    }
}

/// Reads one element too many.
#[lazuli::kernel]
fn next(x: &[f32], y: &mut [f32]) {
    let i = grid1();
    if i < y.len() {
        y[i] = x[i + 1];
    }
}

#[test]
fn kernels_in_rust_are_recorded_on_every_device() {
    on_every(|device| {
        let host = host_values(1000);
        let x = device.to_device(&host).unwrap();
        let before = device.counters().launches;
        let (mut y, mut z) = (Output::<f32>::new(device, [1000]), &x + 1.0);
        let old = z.clone();
        halved(&(&x * 8.0 - 1.0), &mut y).record_forall(1000).unwrap();
        halved(&y.array().unwrap(), &mut z).record(4, 250).unwrap();
        let sum = &z + &old;
        assert_eq!(device.counters().launches, before, "recording launched something");
        let right = host.mapv(|x| (x * 8.0 - 1.0) * 0.5 * 0.5 + (x + 1.0));
        assert_eq!(values(&sum), right.into_dyn());
        assert_eq!(values(&old), host.mapv(|x| x + 1.0).into_dyn());
        assert_eq!(values(&y.array().unwrap()), host.mapv(|x| (x * 8.0 - 1.0) * 0.5).into_dyn());
        // Out of range in a kernel that is launched with checks: told by `get`, whatever was made of it.
        let checked = open(device.name(), Config::default().with_checked_kernels(true));
        let mut y = Output::<f32>::new(&checked, [8]);
        next(&checked.from_slice(&[1.0f32; 8]).unwrap(), &mut y).record_forall(8).unwrap();
        let error = (y.array().unwrap() + 1.0).get().unwrap_err();
        assert!(matches!(&error, Error::KernelIndex { index: 8, extent: 8, .. }), "{error}");
        assert_eq!(checked.from_slice(&[1.0f32]).unwrap().sum().item().unwrap(), 1.0);
    });
}

#[test]
fn what_is_before_and_after_a_launch_fuses_and_nothing_runs_before_it_is_asked_for() {
    on_compiling(|device, module| {
        let n = 1000;
        let host = host_values(n);
        let x = device.to_device(&host).unwrap();
        let before = device.counters().launches;
        let inner = (&x * 2.0 + 1.0).exp().minimum(50.0);
        let mut y = Output::<f32>::new(device, [n]);
        module.function("square").unwrap().call(args![&inner, &mut y, n as u32]).record_forall(n).unwrap();
        let y = y.array().unwrap();
        let z = (&y - 0.5).sqrt() * &x;
        assert_eq!(device.counters().launches, before, "recording launched something");
        let got = z.get().unwrap();
        let launches = device.counters().launches - before;
        if device.config().fusion {
            assert_eq!(launches, 3, "one kernel before, the user's, one after");
        }
        // The same with the launch at once.
        let mut eager = Output::<f32>::new(device, [n]);
        module.function("square").unwrap().call(args![&inner, &mut eager, n as u32]).forall(n).unwrap();
        let right = (eager.array().unwrap() - 0.5).sqrt() * &x;
        // The square roots of negative numbers are NaN on both sides.
        let bits = |values: ndarray::ArrayD<f32>| values.mapv(f32::to_bits);
        assert_eq!(bits(got), bits(right.get().unwrap()));
        assert_eq!(y.shape(), [n]);
    });
}

#[test]
fn several_outputs_come_of_one_launch() {
    on_compiling(|device, module| {
        let host = host_values(300);
        let x = device.to_device(&host).unwrap();
        let (mut whole, mut rest) = (Output::<f32>::new(device, [300]), Output::<f32>::new(device, [3, 100]));
        let split = module.function("split").unwrap();
        split.call(args![&x, &mut whole, &mut rest, 300u32]).record_forall(300).unwrap();
        let (whole, rest) = (whole.array().unwrap(), rest.array().unwrap());
        let before = device.counters().launches;
        let (w, r) = lazuli::get((&whole, &rest)).unwrap();
        assert_eq!(device.counters().launches, before + 1);
        assert_eq!(w, host.mapv(f32::floor).into_dyn());
        assert_eq!(r.shape(), [3, 100]);
        assert_eq!(r.iter().copied().collect::<Vec<_>>(), host.iter().map(|x| x - x.floor()).collect::<Vec<_>>());
        // One that is dropped unasked for is no loss.
        let (mut whole, mut rest) = (Output::<f32>::new(device, [300]), Output::<f32>::new(device, [300]));
        split.call(args![&x, &mut whole, &mut rest, 300u32]).record_forall(300).unwrap();
        drop(whole);
        assert_eq!(values(&rest.array().unwrap()), host.mapv(|x| x - x.floor()).into_dyn());
    });
}

#[test]
fn an_array_that_is_written_keeps_its_old_value_for_whoever_has_it() {
    on_compiling(|device, module| {
        let host = host_values(64);
        let raise = module.function("raise").unwrap();
        let mut x = device.to_device(&host).unwrap();
        let old = x.clone();
        let seen = &x * 10.0;
        for by in [1.0f32, 20.0, 300.0] {
            raise.call(args![&mut x, by, 64u32]).record_forall(64).unwrap();
        }
        let after = &x + &old;
        assert_eq!(values(&after), host.mapv(|x| x + 1.0 + 20.0 + 300.0 + x).into_dyn());
        assert_eq!(values(&old), host.clone().into_dyn());
        assert_eq!(values(&seen), host.mapv(|x| x * 10.0).into_dyn());
        // Two from one value, neither sees the other.
        let (mut one, mut other) = (old.clone(), old.clone());
        raise.call(args![&mut one, 1.0f32, 64u32]).record_forall(64).unwrap();
        raise.call(args![&mut other, 2.0f32, 64u32]).record_forall(64).unwrap();
        let (one, other) = lazuli::get((&one, &other)).unwrap();
        assert_eq!(one, host.mapv(|x| x + 1.0).into_dyn());
        assert_eq!(other, host.mapv(|x| x + 2.0).into_dyn());
    });
}

#[test]
fn views_go_in_as_the_values_they_are() {
    on_compiling(|device, module| {
        let table = ndarray::Array2::from_shape_fn((8, 6), |(i, j)| (i * 6 + j) as f32);
        let x = device.to_device(&table).unwrap();
        let part = x.t().slice(s![1..5;2, ..;-1]);
        let mut y = Output::<f32>::new(device, [2, 8]);
        module.function("square").unwrap().call(args![&part, &mut y, 16u32]).record_forall(16).unwrap();
        let right = table.t().slice(s![1..5;2, ..;-1]).mapv(|x| x * x);
        assert_eq!(values(&(y.array().unwrap() + 0.0)), right.into_dyn());
    });
}

#[test]
fn a_long_chain_of_launches_and_shared_values_costs_no_more_than_it_is() {
    on_compiling(|device, module| {
        let raise = module.function("raise").unwrap();
        let x = device.from_slice(&[0.0f32; 16]).unwrap();
        // A value that every round uses again is computed once.
        let shared = (&x + 3.0).sqrt().exp();
        let rounds = 400;
        let mut y = x.clone();
        for _ in 0..rounds {
            y = &y + &shared;
            raise.call(args![&mut y, 1.0f32, 16u32]).record_forall(16).unwrap();
        }
        let before = device.counters().launches;
        let got = y.slice(s![0]).item().unwrap();
        let launches = device.counters().launches - before;
        let step = 3f32.sqrt().exp();
        let right = (0..rounds).fold(0f32, |y, _| y + step + 1.0);
        assert!((got - right).abs() <= 1e-3 * right, "{got} where {right} is right");
        if device.config().fusion {
            assert_eq!(launches, 1 + 2 * rounds as u64 - 1, "the shared value, then a sum and a launch each round");
        }
    });
}

#[test]
fn a_launch_is_explained_and_drawn() {
    on_compiling(|device, module| {
        let x = device.from_slice(&[1.0f32, 2.0, 3.0]).unwrap();
        let mut y = Output::<f32>::new(device, [3]);
        module.function("square").unwrap().call(args![&(&x + 1.0), &mut y, 3u32]).record_forall(3).unwrap();
        let z = y.array().unwrap() * 2.0;
        let before = device.counters().launches;
        let explanation = z.explain().unwrap();
        let names: Vec<&str> = explanation.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        assert_eq!(names[1], "square");
        assert!(explanation.to_string().contains("a kernel that you wrote"), "{explanation}");
        assert!(z.to_dot().unwrap().contains("mul"));
        assert_eq!(device.counters().launches, before, "explaining launched something");
        assert_eq!(values(&z), arr1(&[8.0, 18.0, 32.0]).into_dyn());
    });
}

#[test]
fn mistakes_are_errors_and_carry_on() {
    on_compiling(|device, module| {
        let square = module.function("square").unwrap();
        let x = device.from_slice(&[1.0f32, 2.0, 3.0]).unwrap();
        let bad = &x + &device.from_slice(&[1.0f32, 2.0]).unwrap();
        let mut y = Output::<f32>::new(device, [3]);
        square.call(args![&bad, &mut y, 3u32]).record_forall(3).unwrap();
        let error = (y.array().unwrap() + 1.0).get().unwrap_err();
        assert!(matches!(error, Error::ShapeMismatch { .. }), "{error}");
        let mut buffer = lazuli::Buffer::from_slice(device, lazuli::MemFlags::COPY_HOST_PTR, &[0.0f32; 3]).unwrap();
        let error = square.call(args![&x, &mut buffer, 3u32]).record_forall(3).unwrap_err();
        assert!(error.to_string().contains("buffer that a recorded launch would write"), "{error}");
        let error = square.call(args![&x, &x, 3u32]).record_forall(3).unwrap_err();
        assert!(error.to_string().contains("writes nothing"), "{error}");
        // What can be told at the launch only comes out of `get`.
        let mut y = Output::<f32>::new(device, [3]);
        square.call(args![&x, &mut y]).record_forall(3).unwrap();
        let error = y.array().unwrap().get().unwrap_err();
        assert!(matches!(error, Error::InvalidLaunch { .. }), "{error}");
        assert!(Output::<f32>::new(device, [3]).array().is_err());
        let mut y = Output::<f32>::new(device, [3]);
        square.call(args![&x, &mut y, 3u32]).record_forall(3).unwrap();
        assert_eq!(values(&y.array().unwrap()), arr1(&[1.0, 4.0, 9.0]).into_dyn());
    });
}
