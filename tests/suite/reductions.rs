//! Reductions of every type, over every choice of axes, of every layout and of many lengths.

use std::collections::BTreeMap;

use lazuli::prelude::*;
use ndarray::{Array1, ArrayD, Axis, IxDyn, ShapeBuilder, s};

use crate::common::*;
use crate::oracle::{Random, Real, Sample, Wide};

/// The elements that fold into each result, in row-major order of both.
fn lanes<T: Copy>(host: &ArrayD<T>, axes: &[usize]) -> (Vec<usize>, Vec<Vec<T>>) {
    let mut lanes: BTreeMap<Vec<usize>, Vec<T>> = BTreeMap::new();
    for (index, value) in host.indexed_iter() {
        let kept = (0..host.ndim()).filter(|axis| !axes.contains(axis)).map(|axis| index[axis]).collect();
        lanes.entry(kept).or_default().push(*value);
    }
    let shape = (0..host.ndim()).filter(|axis| !axes.contains(axis)).map(|axis| host.shape()[axis]).collect();
    (shape, lanes.into_values().collect())
}

/// Small whole numbers, a few of each, so that every sum of floats is exact.
fn whole<T: Element>(shape: &[usize]) -> ArrayD<T> {
    let count: usize = shape.iter().product();
    let mut random = Random::new(11);
    let values: Vec<T> = (0..count).map(|_| T::from_f64((random.unit() * 9.0).floor() - 4.0)).collect();
    ArrayD::from_shape_vec(IxDyn(shape), values).unwrap()
}

/// Arrays of the shape [4, 6, 10] that lie in memory in different ways, and what they hold.
fn layouts<T: Number>(device: &Device) -> Vec<(&'static str, Array<T>, ArrayD<T>)> {
    let cube = whole::<T>(&[4, 6, 10]).into_dimensionality::<ndarray::Ix3>().unwrap();
    let large = whole::<T>(&[8, 19, 11]).into_dimensionality::<ndarray::Ix3>().unwrap();
    let row = whole::<T>(&[6, 1]).into_dimensionality::<ndarray::Ix2>().unwrap();
    let fortran = {
        let mut fortran = ndarray::Array3::from_elem((4, 6, 10).f(), T::zero());
        fortran.assign(&cube);
        fortran
    };
    let on = |array: &ndarray::Array3<T>| device.to_device(array).unwrap();
    let turned = whole::<T>(&[10, 4, 6]).into_dimensionality::<ndarray::Ix3>().unwrap();
    vec![
        ("row-major", on(&cube), cube.clone().into_dyn()),
        ("column-major", on(&fortran), cube.clone().into_dyn()),
        (
            "stepped",
            on(&large).slice(s![..;2, 1..19;3, 1..]),
            large.slice(s![..;2, 1..19;3, 1..]).to_owned().into_dyn(),
        ),
        ("backwards", on(&cube).slice(s![..;-1, .., ..;-1]), cube.slice(s![..;-1, .., ..;-1]).to_owned().into_dyn()),
        (
            "broadcast",
            device.to_device(&row).unwrap().broadcast_to([4, 6, 10]),
            row.broadcast((4, 6, 10)).unwrap().to_owned().into_dyn(),
        ),
        ("permuted", on(&turned).permute(&[1, 2, 0]), turned.view().permuted_axes([1, 2, 0]).to_owned().into_dyn()),
        ("computed", on(&cube) + on(&fortran), cube.mapv(double).into_dyn()),
    ]
}

fn double<T: Element>(x: T) -> T {
    let value: f64 = x.to_string().parse().unwrap();
    T::from_f64(2.0 * value)
}

const AXES: [&[usize]; 8] = [&[0, 1, 2], &[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[]];

fn check_layouts<T: Sample + Number>(device: &Device)
where
    T::Sum: Sample,
{
    let whole_number = |value: Wide| match value {
        Wide::Int(value) => value,
        Wide::Float(value) => value as i128,
    };
    for (layout, x, host) in layouts::<T>(device) {
        for axes in AXES {
            let what = format!("{} {layout} over {axes:?}", T::DTYPE);
            let (shape, lanes) = lanes(&host, axes);
            let sums: Vec<T::Sum> = lanes
                .iter()
                .map(|lane| T::Sum::of(Wide::Int(lane.iter().map(|x| whole_number(x.wide())).sum())))
                .collect();
            let most: Vec<T> =
                lanes.iter().map(|lane| *lane.iter().max_by_key(|x| whole_number(x.wide())).unwrap()).collect();
            let signed: Vec<isize> =
                axes.iter().map(|axis| if axis % 2 == 0 { *axis as isize } else { *axis as isize - 3 }).collect();
            let kept: Vec<usize> =
                (0..3).map(|axis| if axes.contains(&axis) { 1 } else { host.shape()[axis] }).collect();
            let (sum, max) = (x.sum_axes(&signed), x.max_axes_keep(&signed));
            if device.config().fusion {
                lazuli::eval((&sum, &max)).unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            let ours = values(&sum);
            assert_eq!((ours.shape(), ours.iter().copied().collect::<Vec<_>>()), (&shape[..], sums), "sum of {what}");
            let ours = values(&max);
            assert_eq!((ours.shape(), ours.iter().copied().collect::<Vec<_>>()), (&kept[..], most), "max of {what}");
        }
    }
}

#[test]
fn sums_and_maxima_of_f32_over_all_axes_and_layouts() {
    on_every(check_layouts::<f32>);
}

#[test]
fn sums_and_maxima_of_i32_over_all_axes_and_layouts() {
    on_every(check_layouts::<i32>);
}

#[test]
fn sums_and_maxima_of_f16_over_all_axes_and_layouts() {
    on_every(check_layouts::<f16>);
}

/// All reductions of a number type, over few choices of axes.
fn check_kinds<T: Sample + Number>(device: &Device)
where
    T::Sum: Sample,
    T::Mean: Sample,
{
    // The twos make products grow, in few places, so that a half type holds them.
    let shape = [3usize, 5, 4];
    let host = ArrayD::from_shape_fn(IxDyn(&shape), |at| {
        T::from_f64([1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 1.0][(at[0] * 20 + at[1] * 4 + at[2]) % 7])
    });
    let x = device.to_device(&host).unwrap();
    let int = |value: T| match value.wide() {
        Wide::Int(value) => value,
        Wide::Float(value) => value as i128,
    };
    let small = host.slice(s![.., ..2, ..]).to_owned().into_dyn();
    for axes in [&[0usize, 1, 2][..], &[1], &[2], &[0, 2]] {
        let signed: Vec<isize> = axes.iter().map(|axis| *axis as isize).collect();
        let (_, lanes_of) = lanes(&host, axes);
        let (_, lanes_of_small) = lanes(&small, axes);
        let (sum, mean, min, max) =
            (x.sum_axes(&signed), x.mean_axes(&signed), x.min_axes(&signed), x.max_axes(&signed));
        let prod = x.slice(s![.., ..2, ..]).prod_axes(&signed);
        if device.config().fusion {
            lazuli::eval((&sum, &mean, &min, &max, &prod)).unwrap_or_else(|error| panic!("{error}"));
        }
        let sums: Vec<T::Sum> =
            lanes_of.iter().map(|lane| T::Sum::of(Wide::Int(lane.iter().map(|x| int(*x)).sum()))).collect();
        assert_eq!(flat(&sum), sums, "sum of {} over {axes:?}", T::DTYPE);
        let prods: Vec<T::Sum> = lanes_of_small
            .iter()
            .map(|lane| {
                let product = lane.iter().fold(1i128, |product, x| product.wrapping_mul(int(*x)));
                match T::Sum::DTYPE.is_float() {
                    true => T::Sum::of(Wide::Float(product as f64)),
                    false => T::Sum::of(Wide::Int(product)),
                }
            })
            .collect();
        assert_eq!(flat(&prod), prods, "prod of {} over {axes:?}", T::DTYPE);
        assert_eq!(
            flat(&min),
            lanes_of
                .iter()
                .map(|lane| T::of(Wide::Int(lane.iter().map(|x| int(*x)).min().unwrap())))
                .collect::<Vec<_>>()
        );
        assert_eq!(
            flat(&max),
            lanes_of
                .iter()
                .map(|lane| T::of(Wide::Int(lane.iter().map(|x| int(*x)).max().unwrap())))
                .collect::<Vec<_>>()
        );
        for (ours, lane) in flat(&mean).into_iter().zip(&lanes_of) {
            let right = lane.iter().map(|x| int(*x)).sum::<i128>() as f64 / lane.len() as f64;
            let right_of_type = match T::Mean::DTYPE {
                // Divided in f32, rounded once more.
                DType::F16 | DType::BF16 | DType::F32 => T::Mean::of(Wide::Float(f64::from(right as f32))),
                _ => T::Mean::of(Wide::Float(right)),
            };
            assert_eq!(ours, right_of_type, "mean of {} over {axes:?}", T::DTYPE);
        }
    }
}

macro_rules! kinds {
    ($($name:ident: $($type:ty)+;)+) => { $(
        #[test]
        fn $name() {
            on_every(|device| {
                $(check_kinds::<$type>(device);)+
            });
        }
    )+ };
}

kinds! {
    every_reduction_of_bytes: i8 u8;
    every_reduction_of_16_bit_integers: i16 u16;
    every_reduction_of_32_bit_integers: i32 u32;
    every_reduction_of_64_bit_integers: i64 u64;
    every_reduction_of_halves: f16 bf16;
    every_reduction_of_f32_and_f64: f32 f64;
}

#[test]
fn every_reduction_of_bool() {
    on_every(|device| {
        let host = ArrayD::from_shape_fn(IxDyn(&[3, 5, 4]), |at| at[1] != 2 && at[0] + at[2] != 1 || at[0] == 2);
        let x = device.to_device(&host).unwrap();
        for axes in [&[0usize, 1, 2][..], &[0], &[1], &[2], &[0, 2]] {
            let signed: Vec<isize> = axes.iter().map(|axis| *axis as isize).collect();
            let (_, lanes) = lanes(&host, axes);
            let fold = |f: fn(&Vec<bool>) -> bool| lanes.iter().map(f).collect::<Vec<_>>();
            assert_eq!(flat(&x.any_axes(&signed)), fold(|lane| lane.contains(&true)));
            assert_eq!(flat(&x.all_axes(&signed)), fold(|lane| !lane.contains(&false)));
            let count = |lane: &Vec<bool>| lane.iter().filter(|x| **x).count();
            assert_eq!(flat(&x.sum_axes(&signed)), lanes.iter().map(|lane| count(lane) as i64).collect::<Vec<_>>());
            let means = lanes.iter().map(|lane| count(lane) as f64 / lane.len() as f64).collect::<Vec<_>>();
            assert_eq!(flat(&x.mean_axes(&signed)), means);
        }
        let long = device.full([100_003], true);
        assert!(long.all().item().unwrap());
        let mut long = vec![false; 100_003];
        assert!(!device.from_slice(&long).unwrap().any().item().unwrap());
        for place in [0, 100_002, 4097] {
            long[place] = true;
            assert!(device.from_slice(&long).unwrap().any().item().unwrap(), "at {place}");
            assert!(!(!device.from_slice(&long).unwrap()).all().item().unwrap(), "at {place}");
            long[place] = false;
        }
    });
}

#[test]
fn sums_widen_and_means_do_not_overflow() {
    // C17.
    on_every(|device| {
        let x = device.from_slice(&[i32::MAX, i32::MAX]).unwrap();
        assert_eq!((x.mean().item().unwrap(), x.sum().item().unwrap()), (2_147_483_647.0f64, 4_294_967_294i64));
        let x = device.from_slice(&[100i8; 3]).unwrap();
        assert_eq!((x.mean().item().unwrap(), x.sum().item().unwrap()), (100.0f64, 300i64));
        assert_eq!(device.from_slice(&[255u8; 2]).unwrap().sum().item().unwrap(), 510u64);
        let large = f16::from_f64(60_000.0);
        assert_eq!(device.from_slice(&[large; 2]).unwrap().mean().item().unwrap(), large);
        assert_eq!(device.from_slice(&[large; 2]).unwrap().sum().item().unwrap(), f16::INFINITY);
        assert_eq!(device.ones::<bool>([300]).sum().item().unwrap(), 300i64);
        assert_eq!(device.from_slice(&[i64::MAX, 1]).unwrap().sum().item().unwrap(), i64::MIN);
        assert_eq!(device.from_slice(&[u64::MAX, 2]).unwrap().sum().item().unwrap(), 1);
    });
}

const LENGTHS: [usize; 11] = [0, 1, 2, 3, 63, 64, 65, 1000, 8193, 100_003, 1_000_001];

#[test]
fn whole_numbers_sum_exactly_at_every_length() {
    on_every(|device| {
        let ints = whole::<i32>(&[1_000_001]);
        let floats = ints.mapv(|x| x as f32);
        for n in LENGTHS {
            let part = ints.slice(s![..n]);
            let right: i64 = part.iter().map(|x| i64::from(*x)).sum();
            let x = device.to_device(&part).unwrap();
            assert_eq!(x.sum().item().unwrap(), right, "i32 at {n}");
            let y = device.to_device(&floats.slice(s![..n])).unwrap();
            assert_eq!(y.sum().item().unwrap(), right as f32, "f32 at {n}");
            // Backwards, and every other one.
            assert_eq!(y.flip(0).sum().item().unwrap(), right as f32, "f32 backwards at {n}");
            let right: i64 = part.iter().step_by(2).map(|x| i64::from(*x)).sum();
            assert_eq!(x.slice(s![..;2]).sum().item().unwrap(), right, "steps at {n}");
            if n > 0 {
                let (least, most) = (part.iter().min().unwrap(), part.iter().max().unwrap());
                assert_eq!((x.min().item().unwrap(), x.max().item().unwrap()), (*least, *most), "{n}");
                let right = right_product(&floats.slice(s![..n]).to_owned().into_dyn());
                let ours = y.square().minimum(1.0).maximum(0.5).prod().item().unwrap();
                assert_eq!(ours, right, "product at {n}");
            }
        }
    });
}

/// The product of halves and ones, which is exact or 0.
fn right_product(host: &ArrayD<f32>) -> f32 {
    let halves = host.iter().filter(|x| **x == 0.0).count() as i32;
    if halves > 149 { 0.0 } else { 2f64.powi(-halves) as f32 }
}

#[test]
fn matrices_of_every_proportion_sum_exactly_along_both_axes() {
    on_every(|device| {
        for (rows, columns) in [
            (1usize, 1usize),
            (1, 100_003),
            (100_003, 1),
            (2, 8193),
            (8193, 2),
            (65, 1000),
            (1000, 65),
            (300, 301),
            (7, 50_000),
            (50_000, 7),
        ] {
            let host = whole::<f32>(&[rows, columns]);
            let mut fortran = ArrayD::from_elem(IxDyn(&[rows, columns]).f(), 0.0f32);
            fortran.assign(&host);
            for x in [device.to_device(&host).unwrap(), device.to_device(&fortran).unwrap()] {
                for axis in [0usize, 1] {
                    let right: Vec<f32> =
                        host.lanes(Axis(axis)).into_iter().map(|lane| lane.iter().sum::<f32>()).collect();
                    assert_eq!(flat(&x.sum_axis(axis as isize)), right, "{rows} by {columns}, axis {axis}");
                    let right: Vec<f32> = host
                        .lanes(Axis(axis))
                        .into_iter()
                        .map(|lane| lane.iter().copied().fold(f32::INFINITY, f32::min))
                        .collect();
                    assert_eq!(flat(&(&x * 1.0).min_axis(axis as isize)), right, "{rows} by {columns}, axis {axis}");
                }
            }
        }
    });
}

/// A sum that carries what each addition loses (Neumaier).
fn compensated(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0);
    for value in values {
        let next = sum + value;
        lost += if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
        sum = next;
    }
    sum + lost
}

/// The sum of numbers that do not sum exactly, against a sum in f64 with a bound that grows with the magnitudes.
fn check_close<T: Real>(n: usize, epsilon: f64)
where
    T::Sum: Real,
    T::Mean: Real,
{
    on_each(|fused, unfused| {
        let mut random = Random::new(n as u64);
        let host: Vec<T> = (0..n).map(|_| T::rounded((random.unit() - 0.3) * 100.0)).collect();
        let right = compensated(host.iter().map(|x| x.real()));
        let size: f64 = host.iter().map(|x| x.real().abs()).sum();
        let mut bits = Vec::new();
        for device in [fused, unfused] {
            let x = device.from_slice(&host).unwrap();
            let sum = x.sum().item().unwrap().real();
            // f16 and bf16 are summed in f32 and rounded at the end.
            let rounding = match T::DTYPE {
                DType::F16 => right.abs() * 2f64.powi(-11),
                DType::BF16 => right.abs() * 2f64.powi(-8),
                _ => 0.0,
            };
            if sum.is_finite() {
                let bound = 24.0 * epsilon * size + rounding;
                assert!((sum - right).abs() <= bound, "{sum} of {n} {}, {right} is right", T::DTYPE);
            }
            let mean = x.mean().item().unwrap().real();
            let rounding = rounding / n as f64;
            let bound = 24.0 * epsilon * size / n as f64 + rounding + right.abs() / n as f64 * epsilon;
            assert!((mean - right / n as f64).abs() <= bound, "{mean} for {n}");
            let again = device.from_slice(&host).unwrap().sum().item().unwrap().real();
            let within = (device.from_slice(&host).unwrap() * T::one()).sum().item().unwrap().real();
            bits.extend([sum.to_bits(), again.to_bits(), within.to_bits()]);
        }
        assert!(bits.iter().all(|other| *other == bits[0]), "sums of {n} {} differ: {bits:x?}", T::DTYPE);
    });
}

#[test]
fn sums_of_floats_are_close_and_the_same_fused_or_not() {
    for n in [1, 2, 3, 63, 64, 65, 1000, 8193, 100_003] {
        check_close::<f32>(n, 2f64.powi(-24));
        check_close::<f64>(n, 2f64.powi(-53));
    }
    for n in [3, 1000, 100_003] {
        check_close::<f16>(n, 2f64.powi(-24));
        check_close::<bf16>(n, 2f64.powi(-24));
    }
}

#[test]
fn a_long_sum_of_equal_numbers_does_not_drift() {
    on_every(|device| {
        let n = 10_000_000usize;
        let ours = device.full([n], 0.1f32);
        if !device.config().fusion {
            ours.eval().unwrap();
        }
        let sum = f64::from(ours.sum().item().unwrap());
        let right = f64::from(0.1f32) * n as f64;
        // A running sum in f32 is off by a tenth here; chains of 512 are off by their share.
        assert!((sum - right).abs() <= right * 512.0 * 2f64.powi(-24), "{sum} for {right}");
    });
}

#[test]
fn nan_reaches_minima_and_maxima_from_any_place() {
    fn check<T: Real>(device: &Device) {
        for n in [1usize, 2, 3, 16, 17, 65, 1000, 8193, 20_000] {
            for place in [0, 1, n / 2, n.saturating_sub(2), n - 1] {
                let mut host: Vec<T> = (0..n).map(|i| T::rounded((i % 13) as f64 - 6.0)).collect();
                host[place.min(n - 1)] = T::rounded(f64::NAN);
                let x = device.from_slice(&host).unwrap();
                assert!(x.max().item().unwrap().real().is_nan(), "max of {n} {} at {place}", T::DTYPE);
                assert!(x.min().item().unwrap().real().is_nan(), "min of {n} {} at {place}", T::DTYPE);
                assert!(x.sum().item().unwrap().real_or_nan(), "sum of {n} {} at {place}", T::DTYPE);
            }
        }
        let nan = T::rounded(f64::NAN);
        let (infinite, less) = (T::rounded(f64::INFINITY), T::rounded(f64::NEG_INFINITY));
        let matrix = device
            .from_shape([3, 3], &[nan, T::one(), T::zero(), T::one(), infinite, less, T::zero(), nan, T::one()])
            .unwrap();
        let is_nan = |x: &Array<T>| flat(x).iter().map(|x| x.real().is_nan()).collect::<Vec<_>>();
        assert_eq!(is_nan(&matrix.max_axis(1)), [true, false, true]);
        assert_eq!(is_nan(&matrix.min_axis(0)), [true, true, false]);
        assert_eq!(flat(&matrix.max_axis(1))[1], infinite);
        assert_eq!(flat(&matrix.min_axis(0))[2], less);
        assert_eq!(device.from_slice(&[less, less]).unwrap().max().item().unwrap(), less);
        assert_eq!(device.from_slice(&[infinite, infinite]).unwrap().min().item().unwrap(), infinite);
    }
    trait RealOrNan {
        fn real_or_nan(&self) -> bool;
    }
    impl<T: Element> RealOrNan for T {
        fn real_or_nan(&self) -> bool {
            self != self
        }
    }
    on_every(|device| {
        check::<f32>(device);
        check::<f64>(device);
        check::<f16>(device);
        check::<bf16>(device);
    });
}

#[test]
fn extremes_of_integers_are_their_own_limits() {
    macro_rules! check {
        ($device:ident: $($type:ty)+) => { $(
            for n in [1usize, 65, 20_000] {
                let least = $device.from_slice(&vec![<$type>::MIN; n]).unwrap();
                let most = $device.from_slice(&vec![<$type>::MAX; n]).unwrap();
                assert_eq!(least.max().item().unwrap(), <$type>::MIN);
                assert_eq!(most.min().item().unwrap(), <$type>::MAX);
                assert_eq!(least.reshape([n, 1]).max_axis(0).item().unwrap(), <$type>::MIN);
                assert_eq!(most.reshape([1, n]).min_axis(1).item().unwrap(), <$type>::MAX);
            }
        )+ };
    }
    on_every(|device| {
        check!(device: i8 i16 i32 i64 u8 u16 u32 u64);
    });
}

#[test]
fn reductions_of_reductions_and_their_broadcast_back() {
    on_every(|device| {
        let host = whole::<f64>(&[20, 30]);
        let x = device.to_device(&host).unwrap();
        let total: f64 = host.sum();
        assert_eq!(x.sum_axis(0).sum().item().unwrap(), total);
        assert_eq!(
            x.sum_axis(1).max().item().unwrap(),
            host.sum_axis(Axis(1)).fold(f64::NEG_INFINITY, |a, b| a.max(*b))
        );
        let centred = &x - x.mean_axes_keep(&[1]);
        let right = &host - &(host.sum_axis(Axis(1)) / 30.0).insert_axis(Axis(1));
        let worst = values(&centred).iter().zip(&right).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst <= 1e-12, "{worst}");
        let variance = centred.square().mean_axis(1);
        for (ours, row) in flat(&variance).iter().zip(host.rows()) {
            let mean = row.sum() / 30.0;
            let right = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 30.0;
            assert!((ours - right).abs() <= 1e-12, "{ours} for {right}");
        }
        // Softmax, whatever number of kernels it takes.
        let shifted = (&x - x.max_axes_keep(&[1])).exp();
        let softmax = &shifted / shifted.sum_axes_keep(&[1]);
        for sum in flat(&softmax.sum_axis(1)) {
            assert!((sum - 1.0).abs() <= 1e-12);
        }
        // Of products of two views of one array.
        let y = x.slice(s![..20, ..20]);
        let right: f64 = (0..20).map(|i| (0..20).map(|j| host[[i, j]] * host[[j, i]]).sum::<f64>()).sum();
        assert_eq!((&y * y.t()).sum().item().unwrap(), right);
        // A matrix product as a reduction.
        let (a, b) = (x.insert_axis(2), x.t().insert_axis(0));
        let product = (a.broadcast_to([20, 30, 20]) * b.broadcast_to([20, 30, 20])).sum_axis(1);
        let flat_host = host.clone().into_dimensionality::<ndarray::Ix2>().unwrap();
        same(&product, flat_host.dot(&flat_host.t()).into_dyn());
        assert_eq!(x.sum_axes_keep(&[0, 1]).shape(), [1, 1]);
        let one: Array1<f64> = Array1::from_elem(1, total);
        same(&x.sum_axes_keep(&[0]).sum_axis(1), one.into_dyn());
    });
}
