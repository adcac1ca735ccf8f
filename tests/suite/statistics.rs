//! Arg-reductions, variances, norms and the exponential forms: values against NumPy's numbers and plain loops, and launches.

use lazuli::prelude::*;
use lazuli::{Array, Error};
use ndarray::{Array1, Array2, ArrayD, Axis, IxDyn, arr0, arr1, arr2};

use crate::common::*;

/// A matrix of many different numbers, with some twice.
fn matrix(rows: usize, columns: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 37 + j * 11) % 23) as f32 * 0.25 - 2.0)
}

/// The first index whose element beats all before it; a NaN beats numbers.
fn first<T: Copy + PartialOrd>(row: impl IntoIterator<Item = T>, beats: impl Fn(T, T) -> bool) -> i64 {
    let is_nan = |v: T| v.partial_cmp(&v).is_none();
    let mut best: Option<(usize, T)> = None;
    for (i, v) in row.into_iter().enumerate() {
        let wins = best.is_none_or(|(_, old)| !is_nan(old) && (is_nan(v) || beats(v, old)));
        if wins {
            best = Some((i, v));
        }
    }
    best.expect("an element").0 as i64
}

/// Both arg-reductions of an array, whole and along every axis, are those of a plain loop.
fn check_arg<T: Element + PartialOrd>(device: &Device, host: &ArrayD<T>) {
    let x = device.to_device(host).unwrap();
    let (least, greatest) = (|a: T, b: T| a < b, |a: T, b: T| a > b);
    same(&x.argmin(), arr0(first(host.iter().copied(), least)).into_dyn());
    same(&x.argmax(), arr0(first(host.iter().copied(), greatest)).into_dyn());
    for axis in 0..host.ndim() {
        let along = |beats: fn(T, T) -> bool| host.map_axis(Axis(axis), |row| first(row.iter().copied(), beats));
        same(&x.argmin_axis(axis as isize), along(least));
        same(&x.argmax_axis(axis as isize), along(greatest));
        same(&x.argmax_axis_keep(axis as isize - host.ndim() as isize), along(greatest).insert_axis(Axis(axis)));
        same(&x.argmin_axis_keep(axis as isize), along(least).insert_axis(Axis(axis)));
    }
}

#[test]
fn arg_reductions_find_the_first_in_every_shape_and_layout() {
    on_every(|device| {
        for shape in [&[1][..], &[9], &[700], &[5, 1], &[1, 5], &[4, 70], &[300, 3], &[3, 4, 5], &[2, 1, 90]] {
            let n: usize = shape.iter().product();
            let flat = Array1::from_iter((0..n).map(|i| ((i * 7919 + 3) % 31) as f32 - 9.0));
            let host = flat.into_shape_with_order(IxDyn(shape)).unwrap();
            check_arg(device, &host);
            check_arg(device, &host.t().to_owned());
        }
        let x = device.to_device(&matrix(6, 50)).unwrap();
        let flipped = matrix(6, 50).slice(ndarray::s![..;-1, ..;-1]).to_owned().into_dyn();
        same(&x.flip(0).flip(1).argmax(), arr0(first(flipped.iter().copied(), |a, b| a > b)).into_dyn());
        same(&device.full([], 3.0f32).argmax(), arr0(0i64).into_dyn());
        same(&device.full([], f32::NAN).argmin(), arr0(0i64).into_dyn());
    });
}

#[test]
fn arg_reductions_of_every_type_and_their_ends() {
    on_every(|device| {
        let bools = arr2(&[[false, true, true], [true, false, false], [true, true, true]]).into_dyn();
        check_arg(device, &bools);
        check_arg(device, &arr1(&[0i8, -128, 127, 127, -128]).into_dyn());
        check_arg(device, &arr1(&[5u8, 255, 0, 255, 0]).into_dyn());
        check_arg(device, &arr1(&[0i16, i16::MAX, i16::MIN, i16::MIN]).into_dyn());
        check_arg(device, &arr1(&[u16::MAX, 3, 0]).into_dyn());
        check_arg(device, &arr1(&[i32::MIN, i32::MAX, i32::MIN]).into_dyn());
        check_arg(device, &arr1(&[7u32, u32::MAX, 0, 0]).into_dyn());
        check_arg(device, &arr1(&[i64::MAX - 1, i64::MAX, i64::MIN + 1, i64::MIN]).into_dyn());
        check_arg(device, &arr1(&[u64::MAX - 1, u64::MAX, 1, 0]).into_dyn());
        check_arg(device, &arr1(&[0.0f64, -0.0, 1e300, -1e300, f64::INFINITY, f64::NEG_INFINITY]).into_dyn());
        check_arg(device, &arr1(&[0.0f32, -0.0, -0.0]).into_dyn());
        check_arg(device, &arr1(&[f32::NEG_INFINITY; 3]).into_dyn());
        check_arg(device, &arr1(&[f32::INFINITY, f32::NAN, f32::NEG_INFINITY, f32::NAN]).into_dyn());
        let halves = [1.0f32, f32::NAN, 65_504.0, -65_504.0, 65_504.0];
        check_arg(device, &Array1::from_iter(halves.map(f16::from_f32)).into_dyn());
        check_arg(device, &Array1::from_iter(halves[2..].iter().map(|v| f16::from_f32(*v))).into_dyn());
        check_arg(device, &Array1::from_iter(halves[2..].iter().map(|v| bf16::from_f32(*v))).into_dyn());
    });
}

#[test]
fn arg_reductions_of_nothing_are_errors() {
    on_every(|device| {
        let empty = device.zeros::<f32>([3, 0, 2]);
        for (array, name) in [
            (empty.argmax(), "argmax"),
            (empty.argmin(), "argmin"),
            (empty.argmax_axis(1), "argmax"),
            (empty.argmin_axis_keep(-2), "argmin"),
        ] {
            let error = array.get().unwrap_err().to_string();
            assert!(
                error.starts_with(name) && error.contains("[3, 0, 2]") && error.contains("statistics.rs"),
                "{error}"
            );
        }
        same(&empty.argmax_axis(0), ArrayD::<i64>::zeros(IxDyn(&[0, 2])));
        same(&empty.argmin_axis_keep(2), ArrayD::<i64>::zeros(IxDyn(&[3, 0, 1])));
        let error = device.zeros::<f32>([3]).argmax_axis(1).get().unwrap_err();
        assert!(matches!(error, Error::InvalidAxis { op: "argmax", axis: 1, .. }), "{error}");
    });
}

#[test]
fn an_arg_reduction_is_one_launch_and_reads_its_row_once() {
    on_each(|fused, unfused| {
        for (rows, columns) in [(6, 40), (5, 100), (130, 129), (3, 4096)] {
            let host = matrix(rows, columns);
            let (x, apart) = (fused.to_device(&host).unwrap(), unfused.to_device(&host).unwrap());
            let (along, down) = ((&x * 2.0).argmax_axis(1), x.argmin_axis(0));
            assert_eq!(launches(fused, || along.eval().unwrap()), 1, "rows of {rows} x {columns}");
            assert_eq!(launches(fused, || down.eval().unwrap()), 1, "columns of {rows} x {columns}");
            assert_eq!(values(&along), values(&(&apart * 2.0).argmax_axis(1)));
            // Both at once, with the extreme itself.
            let (at, highest) = (x.argmax_axis(1), x.max_axis(1));
            assert_eq!(launches(fused, || lazuli::eval((&at, &highest)).unwrap()), 1);
            same(&x.take_along_axis(&at.insert_axis(1), 1).squeeze(), values(&highest.squeeze()));
        }
        let x = fused.to_device(&matrix(1, 500)).unwrap();
        let at = x.argmax();
        assert_eq!(launches(fused, || at.eval().unwrap()), 1, "a whole array that one group folds");
        let x = fused.to_device(&matrix(20, 100).mapv(f64::from)).unwrap();
        assert_eq!(launches(fused, || x.argmax_axis(1).eval().unwrap()), 1, "f64");
    });
}

#[test]
fn large_arrays_are_searched_whole() {
    on_fused(|device| {
        let n = 3_000_000usize;
        let mut host = Array1::from_iter((0..n).map(|i| ((i * 7919) % 100_003) as f32));
        host[2_345_678] = 1e9;
        host[2_900_000] = 1e9;
        let x = device.to_device(&host).unwrap();
        assert_eq!(x.argmax().item().unwrap(), 2_345_678);
        host[1_999_999] = f32::NAN;
        assert_eq!(device.to_device(&host).unwrap().argmin().item().unwrap(), 1_999_999);
        let turned = device.to_device(&host.into_shape_with_order((1000, 3000)).unwrap().t()).unwrap();
        assert_eq!(turned.argmax().item().unwrap(), (1_999_999 % 3000) * 1000 + 1_999_999 / 3000);
    });
}

fn close<T: Element>(ours: &Array<T>, right: &[f64], tolerance: f64)
where
    f64: From<T>,
{
    let ours = flat(ours);
    assert_eq!(ours.len(), right.len());
    for (ours, right) in ours.into_iter().map(f64::from).zip(right) {
        let is_same = ours == *right || (ours.is_nan() && right.is_nan());
        assert!(is_same || (ours - right).abs() <= tolerance * right.abs(), "{ours} where {right} is right");
    }
}

#[test]
fn variances_are_numpys() {
    on_every(|device| {
        let x = device.from_shape([2, 4], &[1.0f32, 2.0, 3.0, 4.0, -1.0, 7.0, 7.0, 0.5]).unwrap();
        // np.var, np.std of it.
        close(&x.var(0), &[7.527_343_75], 1e-6);
        close(&x.var(1), &[8.602678571428571], 1e-6);
        close(&x.std(0), &[2.7436005084559962], 1e-6);
        close(&x.var_axis(1, 0), &[1.25, 13.421_875], 1e-6);
        close(&x.var_axis(-1, 1), &[1.666_666_666_666_666_7, 17.895_833_333_333_332], 1e-6);
        close(&x.var_axis(0, 0), &[1.0, 6.25, 4.0, 3.0625], 1e-6);
        close(&x.std_axes_keep(&[1], 0), &[1.118_033_988_749_895, 3.663_587_722_426_152], 1e-6);
        assert_eq!(x.std_axes_keep(&[1], 0).shape(), [2, 1]);
        assert_eq!(x.var_axes(&[0, 1], 0).shape(), [] as [usize; 0]);
        close(&x.var_axes(&[], 0), &[0.0; 8], 0.0);
        // More freedom than elements: the sum of squares over 0.
        close(&x.var_axis(0, 2), &[f64::INFINITY; 4], 0.0);
        close(&x.var_axis(0, 9), &[f64::INFINITY; 4], 0.0);
        close(&device.full([3], 2.5f64).var(3), &[f64::NAN], 0.0);
        close(&device.zeros::<f64>([0]).var(0), &[f64::NAN], 0.0);
        close(&device.zeros::<f64>([2, 0]).std_axis(1, 1), &[f64::NAN; 2], 0.0);
        assert_eq!(device.zeros::<f64>([2, 0]).var_axis(0, 0).shape(), [0]);
        close(&device.from_slice(&[1.0f32, f32::NAN]).unwrap().var(0), &[f64::NAN], 0.0);
        close(&device.from_slice(&[1.0f64, f64::INFINITY]).unwrap().std(0), &[f64::NAN], 0.0);
    });
}

#[test]
fn variances_of_every_type_are_sound() {
    on_every(|device| {
        // Far from zero: one pass with squares would lose everything.
        let far = Array1::from_iter((0..1000).map(|i| 1e7 + f64::from(i % 2)));
        close(&device.to_device(&far).unwrap().var(0), &[0.25], 1e-9);
        let far = Array1::from_iter((0..1000).map(|i| 1e4 + (i % 2) as f32));
        close(&device.to_device(&far).unwrap().var(0), &[0.25], 1e-3);
        // Integers are f64, halves are folded in f32 and rounded once.
        close(&device.from_slice(&[i32::MAX, i32::MAX - 2]).unwrap().var(0), &[1.0], 0.0);
        close(&device.from_slice(&[0u8, 255]).unwrap().std(0), &[127.5], 0.0);
        close(&device.from_slice(&[true, false, false, true]).unwrap().var(0), &[0.25], 0.0);
        let halves = device.from_slice(&[f16::from_f32(300.0), f16::from_f32(-300.0)]).unwrap();
        assert_eq!(halves.std(0).item().unwrap(), f16::from_f32(300.0));
        assert_eq!(halves.var(0).item().unwrap(), f16::INFINITY);
        let halves = device.from_slice(&[bf16::from_f32(3.0), bf16::from_f32(-3.0)]).unwrap();
        assert_eq!(halves.var(0).item().unwrap(), bf16::from_f32(9.0));
    });
}

#[test]
fn norms_and_counts() {
    on_every(|device| {
        let x = device.from_shape([2, 3], &[3.0f32, -4.0, 0.0, -6.0, 0.0, -8.0]).unwrap();
        same(&x.norm_axis(1, Norm::L2), arr1(&[5.0f32, 10.0]).into_dyn());
        same(&x.norm_axis(1, Norm::L1), arr1(&[7.0f32, 14.0]).into_dyn());
        same(&x.norm_axes_keep(&[1], Norm::Max), arr2(&[[4.0f32], [8.0]]).into_dyn());
        same(&x.norm(Norm::L1), arr0(21.0f32).into_dyn());
        same(&x.norm_axes(&[0, 1], Norm::Max), arr0(8.0f32).into_dyn());
        same(&x.count_nonzero_axis(1), arr1(&[2i64, 2]).into_dyn());
        same(&x.count_nonzero_axes_keep(&[0]), arr2(&[[2i64, 1, 1]]).into_dyn());
        assert_eq!(device.from_slice(&[i64::MIN, 3]).unwrap().norm(Norm::Max).item().unwrap(), 2f64.powi(63));
        assert_eq!(device.from_slice(&[3u8, 4]).unwrap().norm(Norm::L2).item().unwrap(), 5.0);
        let halves = device.full([10_000], f16::ONE);
        assert_eq!(halves.norm(Norm::L2).item().unwrap(), f16::from_f32(100.0));
        for kind in [Norm::L1, Norm::L2, Norm::Max] {
            assert!(device.from_slice(&[1.0f64, f64::NAN, 2.0]).unwrap().norm(kind).item().unwrap().is_nan());
            assert_eq!(device.from_slice(&[1.0, f64::NEG_INFINITY]).unwrap().norm(kind).item().unwrap(), f64::INFINITY);
        }
        let empty = device.zeros::<f32>([2, 0]);
        same(&empty.norm_axis(1, Norm::L2), arr1(&[0.0f32, 0.0]).into_dyn());
        same(&empty.norm_axis(1, Norm::L1), arr1(&[0.0f32, 0.0]).into_dyn());
        let error = empty.norm_axis(1, Norm::Max).get().unwrap_err().to_string();
        assert!(error.starts_with("norm") && error.contains("[2, 0]"), "{error}");

        let counted = device.from_slice(&[0.0f32, -0.0, f32::NAN, 1e-45, f32::INFINITY]).unwrap();
        assert_eq!(counted.count_nonzero().item().unwrap(), 3);
        assert_eq!(device.from_slice(&[true, false, true]).unwrap().count_nonzero().item().unwrap(), 2);
        assert_eq!(device.from_slice(&[0u64, u64::MAX, 256]).unwrap().count_nonzero().item().unwrap(), 2);
        assert_eq!(device.zeros::<i8>([0]).count_nonzero().item().unwrap(), 0);
        assert_eq!(device.ones::<i8>([100_000]).count_nonzero().item().unwrap(), 100_000);
    });
}

#[test]
fn exponential_forms_neither_overflow_nor_lose_the_tail() {
    on_every(|device| {
        let x = device.from_shape([2, 3], &[1000.0f64, 1001.0, 1002.0, -1000.0, -1000.0, -3000.0]).unwrap();
        let tail = [0.090_030_573_170_380_46, 0.244_728_471_054_797_64, 0.665_240_955_774_821_8, 0.5, 0.5, 0.0];
        close(&x.softmax(1), &tail, 1e-12);
        let logs = [-2.407_605_964_444_38, -1.407_605_964_444_38, -0.407_605_964_444_38];
        let rest = [-std::f64::consts::LN_2, -std::f64::consts::LN_2, -2_000.693_147_180_56];
        close(&x.log_softmax(-1), &[logs, rest].concat(), 1e-12);
        close(&x.logsumexp_axis(1), &[1_002.407_605_964_444_4, -999.306_852_819_440_1], 1e-12);
        assert_eq!(x.logsumexp_axes_keep(&[1]).shape(), [2, 1]);
        close(&x.logsumexp(), &[1_002.407_605_964_444_4], 1e-12);
        // Infinities as in SciPy.
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let odd = device.from_shape([4, 2], &[-inf, -inf, inf, 0.0, nan, 0.0, -inf, 3.0]).unwrap();
        close(&odd.logsumexp_axis(1), &[-inf, inf, nan, 3.0], 1e-12);
        close(&odd.softmax(1), &[nan, nan, nan, nan, nan, nan, 0.0, 1.0], 1e-12);
        let halves = device.from_slice(&[f16::from_f32(60_000.0), f16::from_f32(60_000.0)]).unwrap();
        assert_eq!(flat(&halves.softmax(0)), [f16::from_f32(0.5); 2]);
        assert_eq!(device.zeros::<f32>([3, 0]).softmax(1).shape(), [3, 0]);
        same(&device.zeros::<f32>([3, 0]).log_softmax(1), ArrayD::zeros(IxDyn(&[3, 0])));
        same(&device.zeros::<f32>([3, 1]).softmax(1), ArrayD::ones(IxDyn(&[3, 1])));
        let error = device.zeros::<f32>([3, 0]).logsumexp_axis(1).get().unwrap_err().to_string();
        assert!(error.starts_with("logsumexp") && error.contains("[3, 0]"), "{error}");
        let error = device.zeros::<f32>([3]).softmax(1).get().unwrap_err();
        assert!(matches!(error, Error::InvalidAxis { op: "softmax", .. }), "{error}");
    });
}

/// Name and recording.
type Recording = (&'static str, fn(&Array<f32>, isize) -> Array<f32>);

#[test]
fn each_is_one_launch_with_the_bits_of_separate_ones() {
    const ALL: [Recording; 8] = [
        ("softmax", |x, axis| x.softmax(axis)),
        ("log_softmax", |x, axis| x.log_softmax(axis)),
        ("logsumexp", |x, axis| x.logsumexp_axis(axis)),
        ("var", |x, axis| x.var_axis(axis, 0)),
        ("std", |x, axis| (x * 3.0).std_axes_keep(&[axis], 1) + 1.0),
        ("norm L1", |x, axis| x.norm_axis(axis, Norm::L1)),
        ("norm L2", |x, axis| x / x.norm_axes_keep(&[axis], Norm::L2)),
        ("norm max", |x, axis| x / x.norm_axes_keep(&[axis], Norm::Max)),
    ];
    on_each(|fused, unfused| {
        for (rows, columns) in [(6, 40), (5, 100), (130, 129), (3, 4096)] {
            for axis in [0, 1] {
                let (x, apart) = (
                    fused.to_device(&matrix(rows, columns)).unwrap(),
                    unfused.to_device(&matrix(rows, columns)).unwrap(),
                );
                for (name, record) in ALL {
                    let y = record(&x, axis);
                    let count = launches(fused, || y.eval().unwrap());
                    assert_eq!(count, 1, "{name} over axis {axis} of {rows} x {columns}");
                    let bits = |array: &Array<f32>| flat(array).iter().map(|v| v.to_bits()).collect::<Vec<u32>>();
                    assert_eq!(bits(&y), bits(&record(&apart, axis)), "{name} over axis {axis} of {rows} x {columns}");
                }
            }
        }
    });
}

#[test]
fn the_spread_of_large_numbers_close_together_is_sound() {
    on_every(|device| {
        let n = 1_000_000;
        let x = device.linspace(1e6f32, 1e6 + 1.0, n);
        let host: Vec<f64> = x.get().unwrap().iter().map(|v| f64::from(*v)).collect();
        let mean = host.iter().sum::<f64>() / n as f64;
        let right = host.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64;
        let found = f64::from(x.var(0).item().unwrap());
        assert!((found / right - 1.0).abs() < 1e-2, "{found} is not {right}");
        let spread = device.full([100_003], 0.1f32).std(0).item().unwrap();
        assert!((0.0..1e-8).contains(&spread), "{spread}");
        let spread = device.full([3, 40_000], -7e5f32).var_axis(1, 1).max().item().unwrap();
        assert!((0.0..1e-6).contains(&spread), "{spread}");
    });
}
