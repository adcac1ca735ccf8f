//! Row kernels: what is reduced and used again in every element of its row is one launch, and stored in full.

use lazuli::{Array, Device};
use ndarray::{Array2, ArrayD, Axis, arr1, s};

use crate::common::{launches, on_each, on_every, on_fused, same, same_bits, values};

/// A matrix of many different numbers, in row-major order.
fn matrix(rows: usize, columns: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 37 + j * 11) % 23) as f32 * 0.25 - 2.0)
}

fn over(x: &Array<f32>, axes: &[isize]) -> Array<f32> {
    x.sum_axes_keep(axes)
}

fn softmax(x: &Array<f32>, axes: &[isize]) -> Array<f32> {
    let e = (x - x.max_axes_keep(axes)).exp();
    &e / over(&e, axes)
}

fn layer_norm(x: &Array<f32>, axes: &[isize]) -> Array<f32> {
    let d = x - x.mean_axes_keep(axes);
    let variance = (&d * &d).mean_axes_keep(axes);
    d / (variance + 1e-5).sqrt()
}

/// Name and recording of what is one kernel over rows.
type Recording = (&'static str, fn(&Array<f32>, &[isize]) -> Array<f32>);

const ROW_KERNELS: [Recording; 8] = [
    ("softmax", softmax),
    ("layer norm", layer_norm),
    ("log-softmax", |x, axes| {
        let z = x - x.max_axes_keep(axes);
        &z - over(&z.exp(), axes).log()
    }),
    ("log-sum-exp", |x, axes| {
        let highest = x.max_axes_keep(axes);
        over(&(x - &highest).exp(), axes).log() + highest
    }),
    ("RMS norm", |x, axes| x / ((x * x).mean_axes_keep(axes) + 1e-6).sqrt()),
    ("variance", |x, axes| {
        let d = x - x.mean_axes_keep(axes);
        (&d * &d).mean_axes_keep(axes)
    }),
    ("normalise by the largest", |x, axes| x / x.abs().max_axes_keep(axes)),
    ("standardise", |x, axes| {
        let d = x - x.mean_axes_keep(axes);
        &d / (&d * &d).mean_axes_keep(axes).sqrt()
    }),
];

/// Launches once on a fused device, and gives the unfused device's bits.
fn one_launch(fused: &Device, unfused: &Device, host: &ArrayD<f32>, axes: &[isize]) {
    for (name, record) in ROW_KERNELS {
        let (x, apart) = (fused.to_device(host).unwrap(), unfused.to_device(host).unwrap());
        let y = record(&x, axes);
        let count = launches(fused, || y.eval().unwrap());
        assert_eq!(count, 1, "{name} over axes {axes:?} of {:?}", host.shape());
        let what = format!("{name} over axes {axes:?} of {:?}", host.shape());
        same_bits(&values(&y), &values(&record(&apart, axes)), &what);
    }
}

#[test]
fn softmax_and_its_kin_are_one_launch_along_rows() {
    on_each(|fused, unfused| {
        for (rows, columns) in [(6, 40), (5, 100), (130, 129), (3, 4096), (2, 9000)] {
            one_launch(fused, unfused, &matrix(rows, columns).into_dyn(), &[-1]);
        }
    });
}

#[test]
fn softmax_and_its_kin_are_one_launch_down_columns_over_several_axes_and_in_column_order() {
    on_each(|fused, unfused| {
        one_launch(fused, unfused, &matrix(100, 70).into_dyn(), &[0]);
        one_launch(fused, unfused, &matrix(300, 33).reversed_axes().into_dyn(), &[1]);
        one_launch(fused, unfused, &matrix(300, 33).reversed_axes().into_dyn(), &[0]);
        let cube = matrix(12, 60).into_shape_with_order((12, 6, 10)).unwrap();
        one_launch(fused, unfused, &cube.clone().into_dyn(), &[1, 2]);
        one_launch(fused, unfused, &cube.clone().into_dyn(), &[0, 2]);
        one_launch(fused, unfused, &cube.into_dyn(), &[1]);
    });
}

#[test]
fn rows_of_probabilities_sum_to_one() {
    on_every(|device| {
        for (rows, columns) in [(7, 1), (7, 2), (4, 63), (4, 65), (3, 1000), (2, 20_000)] {
            let p = values(&softmax(&device.to_device(&matrix(rows, columns)).unwrap(), &[-1]));
            for row in p.axis_iter(Axis(0)) {
                assert!((row.iter().map(|v| f64::from(*v)).sum::<f64>() - 1.0).abs() < 1e-5, "{rows} x {columns}");
            }
        }
    });
}

#[test]
fn mean_and_variance_together_are_one_launch() {
    on_fused(|device| {
        let x = device.to_device(&matrix(50, 200)).unwrap();
        let mean = x.mean_axis(-1);
        let d = &x - mean.insert_axis(-1);
        let variance = (&d * &d).mean_axis(-1);
        assert_eq!(launches(device, || lazuli::eval((&mean, &variance)).unwrap()), 1);
        let host = matrix(50, 200);
        for (row, (mean, variance)) in values(&mean).iter().zip(values(&variance).iter()).enumerate() {
            assert!((mean - host.row(row).mean().unwrap()).abs() < 1e-5);
            assert!((variance - host.row(row).var(0.0)).abs() < 1e-4);
        }
    });
}

#[test]
fn nan_and_infinity_stay_in_their_row() {
    on_every(|device| {
        let mut host = matrix(4, 200);
        host[[1, 7]] = f32::NAN;
        host[[2, 9]] = f32::INFINITY;
        host[[3, 11]] = f32::NEG_INFINITY;
        let p = values(&softmax(&device.to_device(&host).unwrap(), &[-1]));
        let is_nan = |row: usize| p.index_axis(Axis(0), row).iter().all(|v| v.is_nan());
        assert!(!p.index_axis(Axis(0), 0).iter().any(|v| v.is_nan()) && is_nan(1));
        // inf - inf is NaN, and so is the sum it enters; exp(-inf) is 0.
        assert!(is_nan(2) && p[[3, 11]] == 0.0 && !p[[3, 0]].is_nan());
    });
}

#[test]
fn a_value_asked_for_and_read_in_part_is_stored_whole() {
    on_every(|device| {
        let host = matrix(6, 50);
        let x = device.to_device(&host).unwrap();
        let w = device.from_slice(&(0..12).map(|i| i as f32 * 0.1).collect::<Vec<f32>>()).unwrap();
        let right: Vec<f32> = (0..12).map(|i| i as f32 * 0.1 + 1.0).collect();
        // Once a row, through a view that leaves out half of it.
        let v = &w + 1.0;
        let scaled = (&x - x.sum_axis(1).insert_axis(1)) * v.slice(s![..6]).insert_axis(1);
        let (whole, _) = lazuli::get((&v, &scaled)).unwrap();
        assert_eq!(whole, arr1(&right).into_dyn());
        let v = &w + 1.0;
        let scaled = (&x - x.sum_axis(1).insert_axis(1)) * v.slice(s![..;2]).insert_axis(1);
        let (whole, _) = lazuli::get((&v, &scaled)).unwrap();
        assert_eq!(whole, arr1(&right).into_dyn());
        // By one way with a value of half the length.
        let half = device.from_slice(&[1.0f32; 6]).unwrap();
        let v = &w + 1.0;
        let sum = v.slice(s![..6;-1]) + half.slice(s![..;-1]);
        let (whole, _) = lazuli::get((&v, &sum)).unwrap();
        assert_eq!(whole, arr1(&right).into_dyn());
    });
}

#[test]
fn rows_of_one_element_keep_what_was_asked_for() {
    on_every(|device| {
        let x = device.from_slice(&[-1.5f32]).unwrap();
        let m = x.abs();
        let (m, most) = lazuli::get((&m, &m.max_axes_keep(&[0]))).unwrap();
        assert_eq!((m[[0]], most[[0]]), (1.5, 1.5));

        let x = device.from_shape([3, 1], &[-1.0f32, 2.0, 5.0]).unwrap();
        let c = x.minimum(2.0);
        let sum = c.sum_axis(-1) + 1.0;
        let (sum, c) = lazuli::get((&sum.insert_axis(1), &c)).unwrap();
        assert_eq!(c.iter().copied().collect::<Vec<f32>>(), [-1.0, 2.0, 2.0]);
        assert_eq!(sum.iter().copied().collect::<Vec<f32>>(), [0.0, 3.0, 3.0]);

        let x = device.from_shape([2, 1], &[-1.0f32, 2.0]).unwrap();
        let most = x.max_axes_keep(&[1]);
        let e = (&x - &most).exp();
        let sum = e.sum_axes_keep(&[1]);
        let (p, most, sum, e) = lazuli::get((&(&e / &sum), &most, &sum, &e)).unwrap();
        for (values, right) in [(p, [1.0, 1.0]), (most, [-1.0, 2.0]), (sum, [1.0, 1.0]), (e, [1.0, 1.0])] {
            assert_eq!(values.iter().copied().collect::<Vec<f32>>(), right);
        }

        let x = device.from_shape([1, 2], &[3.0f32, 4.0]).unwrap();
        let m = x.min_axis(1);
        let e = (-&m).min_axes_keep(&[0]);
        let (m, rest) = lazuli::get((&m, &(&e - e.max_axes_keep(&[0])))).unwrap();
        assert_eq!((m[[0]], rest[[0]]), (3.0, 0.0));
        let m = device.from_slice(&[7.0f32]).unwrap().insert_axis(0).min_axis(0);
        same(&(&m - m.max_axes_keep(&[0])), arr1(&[0.0f32]).into_dyn());
    });
}

#[test]
fn a_reduction_read_in_two_ways_does_not_leave_a_loop_over_the_row_to_one_thread() {
    on_fused(|device| {
        let host = matrix(40, 300);
        let x = device.to_device(&host).unwrap();
        let v = (&x * &x).mean_axis(1);
        let (y, z) = (&x / v.sqrt().insert_axis(1), &v * 2.0);
        let (y, z) = lazuli::get((&y, &z)).unwrap();
        for (row, host) in host.rows().into_iter().enumerate() {
            let right = host.iter().map(|v| v * v).sum::<f32>() / 300.0;
            assert!((z[[row]] - 2.0 * right).abs() < 1e-4);
            assert!((y[[row, 5]] - host[5] / right.sqrt()).abs() < 1e-4);
        }
    });
}

#[test]
fn many_reductions_of_one_array_share_the_local_memory_there_is() {
    on_every(|device| {
        let host: Vec<f64> = (0..5000).map(|i| (i % 17) as f64 - 8.0).collect();
        let x = device.from_slice(&host).unwrap();
        let outputs = [
            x.sum(),
            x.min(),
            x.max(),
            (&x * &x).sum(),
            x.abs().sum(),
            (&x + 1.0).sum(),
            (&x - 1.0).sum(),
            x.abs().max(),
        ];
        lazuli::eval(&outputs[..]).unwrap();
        let right: [f64; 8] = [
            host.iter().sum(),
            -8.0,
            8.0,
            host.iter().map(|v| v * v).sum(),
            host.iter().map(|v| v.abs()).sum(),
            host.iter().map(|v| v + 1.0).sum(),
            host.iter().map(|v| v - 1.0).sum(),
            8.0,
        ];
        for (output, right) in outputs.iter().zip(right) {
            assert_eq!(output.item().unwrap(), right);
        }
    });
}
