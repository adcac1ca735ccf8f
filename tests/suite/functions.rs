//! Functions written in Rust over whole arrays: mapped over elements, folded and scanned by, on every device.

use lazuli::prelude::*;
use lazuli::{Error, bf16, f16};
use ndarray::{Array1, Array2, Array3, ArrayD, Axis, arr1, s};

use crate::common::*;

#[lazuli::device]
fn cube<T: Number>(x: T) -> T {
    x * x * x
}

#[lazuli::elementwise]
fn gelu(x: f32) -> f32 {
    let inner = 0.797_884_6 * (x + 0.044_715 * cube(x));
    0.5 * x * (1.0 + inner.tanh())
}

#[lazuli::elementwise]
fn soft_clip(x: f32, limit: f32) -> f32 {
    if x > limit {
        return limit + (x - limit) * 0.125;
    }
    if x < -limit { -limit + (x + limit) * 0.125 } else { x }
}

/// Rounds of z * z + c until it leaves the circle.
#[lazuli::elementwise]
fn escape_time(re: f32, im: f32, most: u32) -> u32 {
    let mut x = 0.0;
    let mut y = 0.0;
    let mut rounds = 0u32;
    while rounds < most && x * x + y * y <= 4.0 {
        let next = x * x - y * y + re;
        y = 2.0 * x * y + im;
        x = next;
        rounds += 1;
    }
    rounds
}

#[lazuli::elementwise]
fn pick(first: bool, a: i64, b: u8, c: f64) -> f64 {
    match b {
        0 => c,
        1..=9 if first => a as f64,
        _ => (a % 1000) as f64 + c,
    }
}

#[lazuli::elementwise]
fn blend<T: Float>(x: T, y: T, by: T) -> T {
    x * by + y * (T::one() - by)
}

#[lazuli::device]
fn add<T: Number>(a: T, b: T) -> T {
    a + b
}

#[lazuli::device]
fn farther(a: f32, b: f32) -> f32 {
    if a.abs() >= b.abs() { a } else { b }
}

/// Associative, and not commutative.
#[lazuli::device]
fn last_not_zero(a: i32, b: i32) -> i32 {
    if b != 0 { b } else { a }
}

#[lazuli::device]
fn either(a: bool, b: bool) -> bool {
    a || b
}

fn uneven(n: usize) -> Array1<f32> {
    Array1::from_iter((0..n).map(|i| ((i * 7919) % 1013) as f32 / 64.0 - 7.5))
}

/// Launches that evaluating some arrays takes.
fn launches<R>(device: &Device, evaluate: impl FnOnce() -> R) -> (R, u64) {
    let before = device.counters().launches;
    let result = evaluate();
    (result, device.counters().launches - before)
}

#[test]
fn two_functions_among_built_in_operations_are_one_kernel_with_the_bits_of_the_unfused_run() {
    on_each(|fused, unfused| {
        let run = |device: &Device| {
            let x = device.to_device(&uneven(100_003)).unwrap();
            let y = soft_clip(&(gelu(&(&x * 0.5 + 0.1)) - 0.25), 1.5).exp() * &x;
            launches(device, || values(&y))
        };
        let (values_fused, kernels) = run(fused);
        let (values_unfused, kernels_unfused) = run(unfused);
        assert_eq!(kernels, 1);
        assert_eq!(kernels_unfused, 7, "a kernel for each operation");
        assert_eq!(values_fused.mapv(f32::to_bits), values_unfused.mapv(f32::to_bits));
        for (got, x) in values_fused.iter().zip(uneven(100_003)) {
            let z = f64::from(x * 0.5 + 0.1);
            let gelu = 0.5 * z * (1.0 + (0.797_884_6 * (z + 0.044_715 * z * z * z)).tanh()) - 0.25;
            let clipped = if gelu > 1.5 { 1.5 + (gelu - 1.5) * 0.125 } else { gelu };
            let right = clipped.exp() * f64::from(x);
            assert!((f64::from(*got) - right).abs() <= 1e-5 * right.abs().max(1.0), "{got} where {right} is right");
        }
    });
}

#[test]
fn explanations_name_the_function_and_show_its_source() {
    on_fused(|device| {
        let x = device.to_device(&uneven(64)).unwrap();
        let explanation = (gelu(&x) * 2.0).explain().unwrap();
        assert_eq!(explanation.kernels.len(), 1);
        assert!(explanation.kernels[0].name.contains("gelu"), "{}", explanation.kernels[0].name);
        assert!(explanation.kernels[0].source.contains("gelu"), "{}", explanation.kernels[0].source);
        assert!((gelu(&x) * 2.0).to_dot().unwrap().contains("gelu"));
    });
}

#[test]
fn loops_broadcasting_and_types_that_differ() {
    on_every(|device| {
        let re = Array1::linspace(-2.0f32, 0.75, 33);
        let im = Array1::linspace(-1.25f32, 1.25, 21);
        let times = escape_time(device.to_device(&re).unwrap(), device.to_device(&im).unwrap().reshape([21, 1]), 50);
        let right = Array2::from_shape_fn((21, 33), |(i, j)| {
            let (mut x, mut y, mut rounds) = (0f32, 0f32, 0);
            while rounds < 50 && x * x + y * y <= 4.0 {
                (x, y) = (x * x - y * y + re[j], 2.0 * x * y + im[i]);
                rounds += 1;
            }
            rounds
        });
        assert_eq!(values(&times), right.into_dyn());
        let first = device.from_slice(&[true, false, true, true]).unwrap();
        let a = device.from_slice(&[-7i64, i64::MAX, 123_456, 5]).unwrap();
        let b = device.from_slice(&[0u8, 5, 9, 10]).unwrap();
        let got = pick(&first, &a, &b, 0.5);
        assert_eq!(values(&got), arr1(&[0.5, 807.5, 123_456.0, 5.5]).into_dyn());
        let nothing = gelu(device.from_slice::<f32>(&[]).unwrap());
        assert_eq!(values(&nothing).len(), 0);
        let one = gelu(device.from_slice(&[1.0f32]).unwrap().reshape([]));
        assert!((one.item().unwrap() - 0.841_192).abs() < 1e-5);
    });
}

#[test]
fn a_generic_function_rounds_to_each_type() {
    on_every(|device| {
        let (x, y) = ([1.0f32, -3.5, 0.1, 1000.0], [2.0f32, 0.25, 7.0, -999.0]);
        macro_rules! of_type {
            ($type:ty, $from:expr, $to:expr) => {{
                let (from, to) = ($from, $to);
                let host = |x: [f32; 4]| x.map(from);
                let (a, b, by) =
                    (device.from_slice(&host(x)).unwrap(), device.from_slice(&host(y)).unwrap(), from(0.3));
                let got = values(&blend(&a, &b, by));
                for (k, got) in got.iter().enumerate() {
                    // Each operation rounds.
                    let (x, y) = (to(from(x[k])), to(from(y[k])));
                    let rest = to(from(1.0 - to(by)));
                    let right = from(to(from(x * to(by))) + to(from(y * rest)));
                    assert_eq!(*got, right, "element {k} of {}", stringify!($type));
                }
            }};
        }
        of_type!(f32, |x: f32| x, |x: f32| x);
        of_type!(f16, f16::from_f32, f16::to_f32);
        of_type!(bf16, bf16::from_f32, bf16::to_f32);
        let (a, b) = (device.from_slice(&[1.5f64]).unwrap(), device.from_slice(&[-2.25f64]).unwrap());
        assert_eq!(values(&blend(&a, &b, 0.25)), arr1(&[1.5 * 0.25 + -2.25 * 0.75]).into_dyn());
    });
}

#[test]
fn a_fold_by_addition_has_the_bits_of_the_sum_and_takes_as_many_kernels() {
    on_each(|fused, unfused| {
        for shape in [vec![1], vec![100_003], vec![37, 4099], vec![4099, 37], vec![9, 10, 11]] {
            let n = shape.iter().product();
            let host = uneven(n).into_shape_with_order(&shape[..]).unwrap();
            let run = |device: &Device| {
                let x = device.to_device(&host).unwrap() * 0.75;
                let (whole, kernels) = launches(device, || values(&x.reduce(add::Function::new(), 0.0)));
                let (sum, built_in) = launches(device, || values(&x.sum()));
                assert_eq!(kernels, built_in, "{shape:?}");
                assert_eq!(whole.mapv(f32::to_bits), sum.mapv(f32::to_bits), "{shape:?}");
                let mut all = vec![whole];
                for axis in 0..shape.len() as isize {
                    let folded = values(&x.reduce_axis(add::Function::new(), 0.0, axis));
                    assert_eq!(folded.mapv(f32::to_bits), values(&x.sum_axis(axis)).mapv(f32::to_bits), "{shape:?}");
                    all.push(folded);
                }
                all
            };
            assert_eq!(run(fused), run(unfused), "{shape:?}");
        }
        let counts = fused.from_slice(&(0..1000).collect::<Vec<i32>>()).unwrap();
        assert_eq!(counts.reduce(add::Function::new(), 0).item().unwrap(), 499_500);
    });
}

#[test]
fn folds_fuse_with_what_they_read_and_with_what_is_made_of_them() {
    on_fused(|device| {
        let host = Array2::from_shape_fn((64, 300), |(i, j)| ((i * 31 + j * 17) % 97) as f32 - 48.0);
        let x = device.to_device(&host).unwrap();
        let scaled = |x: &Array<f32>, most: &Array<f32>| (x - most).exp().sum_axis(1);
        let ours = scaled(&x, &(&x * 1.0).reduce_axes_keep(farther::Function, 0.0, &[1]));
        let built_in = scaled(&x, &(&x * 1.0).max_axes_keep(&[1]));
        let ((), kernels) = launches(device, || drop(values(&ours)));
        let ((), right) = launches(device, || drop(values(&built_in)));
        assert_eq!(kernels, right);
        let far = values(&x.reduce_axis(farther::Function, 0.0, 1));
        for (row, far) in host.axis_iter(Axis(0)).zip(far.iter()) {
            assert_eq!(row.iter().fold(0f32, |most, x| most.max(x.abs())), far.abs());
        }
        let flags = device.to_device(&host.mapv(|x| x == 48.0)).unwrap();
        assert_eq!(values(&flags.reduce_axis(either::Function, false, 0)), values(&flags.any_axis(0)));
        let nothing = device.from_shape::<f32>([3, 0], &[]).unwrap();
        assert_eq!(values(&nothing.reduce_axis(add::Function::new(), 0.0, 1)), arr1(&[0.0; 3]).into_dyn());
        assert_eq!(values(&nothing.reduce_axis(add::Function::new(), 0.0, 0)).shape(), [0]);
    });
}

/// C30: the last element of a block took the next block's carry.
#[test]
fn scans_of_ones_count_at_every_length() {
    on_fused(|device| {
        for n in [1, 2, 255, 256, 257, 4097, 1_050_001] {
            let ones = device.from_slice(&vec![1i32; n]).unwrap();
            let counted = Array1::from_iter(0..n as i32);
            assert_eq!(values(&ones.scan_exclusive(add::Function::new(), 0, 0)), counted.clone().into_dyn(), "{n}");
            assert_eq!(values(&ones.scan(add::Function::new(), 0, 0)), (counted + 1).into_dyn(), "{n}");
        }
    });
}

#[test]
fn scans_along_every_axis_keep_the_order_of_elements() {
    on_every(|device| {
        for (a, b, c) in [(3, 5, 7), (1, 2100, 3), (2, 3, 2500), (70, 1, 1), (40, 40, 1)] {
            let host = Array3::from_shape_fn((a, b, c), |(i, j, k)| match (i * 7 + j * 13 + k * 29) % 5 {
                0 => (i * 10_000 + j * 100 + k) as i32 + 1,
                _ => 0,
            });
            let x = device.to_device(&host).unwrap();
            for axis in 0..3 {
                let mut inclusive = host.clone();
                inclusive.accumulate_axis_inplace(Axis(axis), |before, own| {
                    if *own == 0 {
                        *own = *before;
                    }
                });
                let got = values(&x.scan(last_not_zero::Function, 0, axis as isize));
                assert_eq!(got, inclusive.clone().into_dyn(), "{:?} along {axis}", host.shape());
                let got = values(&x.scan_exclusive(last_not_zero::Function, 0, axis as isize - 3));
                let mut exclusive = Array3::zeros(host.raw_dim());
                let whole = host.shape()[axis];
                exclusive
                    .slice_axis_mut(Axis(axis), ndarray::Slice::from(1..whole))
                    .assign(&inclusive.slice_axis(Axis(axis), ndarray::Slice::from(..whole - 1)));
                assert_eq!(got, exclusive.into_dyn(), "{:?} along {axis}", host.shape());
            }
        }
    });
}

#[test]
fn scans_read_and_are_read_by_fused_kernels_and_views() {
    on_each(|fused, unfused| {
        let run = |device: &Device| {
            let x = device.to_device(&uneven(5000)).unwrap();
            let view = (&x * 2.0).reshape([50, 100]).t();
            let y = view.scan(add::Function::new(), 0.0, 0);
            (values(&(&y.slice(s![..;-1, 1..;7]) / 3.0 + 1.0)), values(&y))
        };
        let (got, whole) = run(fused);
        assert_eq!((got.clone(), whole.clone()), run(unfused));
        let host = uneven(5000).mapv(|x| x * 2.0).into_shape_with_order((50, 100)).unwrap();
        let mut right = host.t().mapv(f64::from);
        right.accumulate_axis_inplace(Axis(0), |before, own| *own += before);
        for (got, right) in whole.iter().zip(&right) {
            assert!((f64::from(*got) - right).abs() <= 1e-3, "{got} where {right} is right");
        }
        let halves = fused.from_slice(&[0.5f32, 1.5, 2.0].map(f16::from_f32)).unwrap();
        let sums = values(&halves.scan(add::Function::new(), f16::ZERO, 0));
        assert_eq!(sums, arr1(&[0.5f32, 2.0, 4.0].map(f16::from_f32)).into_dyn());
    });
}

#[test]
fn what_does_not_fit_is_an_error_and_the_device_goes_on() {
    on_fused(|device| {
        let x = device.from_slice(&[1.0f32, 2.0, 3.0]).unwrap();
        let y = device.from_slice(&[1.0f32, 2.0]).unwrap();
        let error = soft_clip(&x, &y).get().unwrap_err();
        assert!(
            matches!(&error, Error::ShapeMismatch { op: "soft_clip", at, .. } if at.file().ends_with("functions.rs")),
            "{error}"
        );
        let error = x.scan(add::Function::new(), 0.0, 1).get().unwrap_err();
        assert!(matches!(&error, Error::InvalidAxis { op: "scan", axis: 1, .. }), "{error}");
        let error = x.reduce_axis(add::Function::new(), 0.0, -2).get().unwrap_err();
        assert!(matches!(&error, Error::InvalidAxis { axis: -2, .. }), "{error}");
        let other = open("host", Config::default());
        let error = soft_clip(&x, other.from_slice(&[1.0f32; 3]).unwrap()).get().unwrap_err();
        assert!(matches!(&error, Error::DeviceMismatch { op: "soft_clip", .. }), "{error}");
        let error = gelu(&(&x + &y)).get().unwrap_err();
        assert!(matches!(&error, Error::ShapeMismatch { op: "add", .. }), "{error}");
        assert!(gelu(2.0).get().unwrap_err().to_string().contains("no operand is an array"));
        assert_eq!(values(&soft_clip(&x, 10.0)), arr1(&[1.0, 2.0, 3.0]).into_dyn());
    });
}

#[test]
fn eight_threads_use_one_function_at_once() {
    on_fused(|device| {
        let x = device.to_device(&uneven(2000)).unwrap();
        let right = values(&(gelu(&x) + 1.0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(values(&(gelu(&x) + 1.0)), right));
            }
        });
    });
}

#[test]
fn a_thousand_scalars_compile_one_kernel() {
    on_fused(|device| {
        let x = device.from_slice(&[1.0f32, -20.0]).unwrap();
        let first: ArrayD<f32> = values(&soft_clip(&x, 4.0));
        assert_eq!(first, arr1(&[1.0, -6.0]).into_dyn());
        let compiled = device.counters().compiles;
        for limit in 0..1000 {
            values(&soft_clip(&x, limit as f32));
        }
        assert_eq!(device.counters().compiles, compiled);
    });
}
