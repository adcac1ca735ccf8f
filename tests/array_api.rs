//! The array API on the host: values against ndarray and plain Rust, errors with their lines.

use lazuli::prelude::*;
use lazuli::{Buffer, MemFlags};
use ndarray::{Array1, Array2, Array3, ArrayD, Axis, SliceInfo, SliceInfoElem, arr1, arr2, s};

type Outcome = Result<(), Error>;

fn host() -> Device {
    Device::host().expect("the host is always there")
}

/// 0, 1, 2, .. under a shape, on both sides.
fn counted(shape: (usize, usize, usize)) -> (Array<i32>, Array3<i32>) {
    let values = Array1::from_iter(0..(shape.0 * shape.1 * shape.2) as i32).into_shape_with_order(shape).unwrap();
    (host().to_device(&values).unwrap(), values)
}

fn same<T: Element>(ours: &Array<T>, theirs: impl Into<ArrayD<T>>) {
    let (ours, theirs) = (ours.get().unwrap(), theirs.into());
    assert_eq!(ours, theirs);
    assert!(ours.is_standard_layout());
}

#[test]
fn operators_take_arrays_references_and_scalars_on_either_side() -> Outcome {
    let a = host().from_slice(&[1.0f32, 2.0, 4.0])?;
    let b = host().from_slice(&[8.0f32, 4.0, 2.0])?;
    let sum = arr1(&[9.0f32, 6.0, 6.0]).into_dyn();
    for ours in [&a + &b, a.clone() + &b, &a + b.clone(), a.clone() + b.clone()] {
        same(&ours, sum.clone());
    }
    same(&(&a - 1.0), arr1(&[0.0f32, 1.0, 3.0]).into_dyn());
    same(&(1.0 - &a), arr1(&[0.0f32, -1.0, -3.0]).into_dyn());
    same(&(8.0 / a.clone()), arr1(&[8.0f32, 4.0, 2.0]).into_dyn());
    same(&(2.0 * &a * 0.5), arr1(&[1.0f32, 2.0, 4.0]).into_dyn());
    same(&(-&a), arr1(&[-1.0f32, -2.0, -4.0]).into_dyn());
    same(&(2.0 * &host().from_slice(&[1.5f64])?), arr1(&[3.0f64]).into_dyn());
    same(&(3 * &host().from_slice(&[2i32])?), arr1(&[6i32]).into_dyn());
    same(&(3 * &host().from_slice(&[2u8])?), arr1(&[6u8]).into_dyn());
    same(&(3 * host().from_slice(&[2i64])?), arr1(&[6i64]).into_dyn());
    let h = f16::from_f32;
    same(&(h(3.0) * &host().from_slice(&[h(2.0)])?), arr1(&[h(6.0)]).into_dyn());
    let h = bf16::from_f32;
    same(&(host().from_slice(&[h(2.0)])? + h(1.0)), arr1(&[h(3.0)]).into_dyn());
    Ok(())
}

#[test]
fn integers_truncate_wrap_and_never_trap() -> Outcome {
    let a = host().from_slice(&[-7i32, 7, -7, 7, i32::MIN, 7])?;
    let b = host().from_slice(&[2i32, 2, -2, -2, -1, 0])?;
    same(&(&a / &b), arr1(&[-3, 3, 3, -3, i32::MIN, 0]).into_dyn());
    same(&(&a % &b), arr1(&[-1, 1, -1, 1, 0, 0]).into_dyn());
    same(&a.floor_divide(&b), arr1(&[-4, 3, 3, -4, i32::MIN, 0]).into_dyn());
    same(&a.remainder(&b), arr1(&[1, 1, -1, -1, 0, 0]).into_dyn());
    let c = host().from_slice(&[8i32, -8, 1])?;
    same(&(&c << 32), arr1(&[0, 0, 0]).into_dyn());
    same(&(&c >> 32), arr1(&[0, -1, 0]).into_dyn());
    same(&(1 << &host().from_slice(&[0i32, 3])?), arr1(&[1, 8]).into_dyn());
    same(&(!&c & 0xF | 1 ^ &c), arr1(&[9 | 7, -7 | 7, 14]).into_dyn());
    Ok(())
}

#[test]
fn logic_is_bits_of_bool() -> Outcome {
    let a = host().from_slice(&[true, true, false, false])?;
    let b = host().from_slice(&[true, false, true, false])?;
    same(&(&a & &b), arr1(&[true, false, false, false]).into_dyn());
    same(&(&a | &b), arr1(&[true, true, true, false]).into_dyn());
    same(&(&a ^ true), arr1(&[false, false, true, true]).into_dyn());
    same(&(true & !a.clone()), arr1(&[false, false, true, true]).into_dyn());
    assert!(a.any().item()? && !a.all().item()?);
    assert!(!host().zeros::<bool>([0]).any().item()? && host().zeros::<bool>([0]).all().item()?);
    same(&a.reshape([2, 2]).all_axis(-1), arr1(&[true, false]).into_dyn());
    assert_eq!(a.sum().item()?, 2i64);
    Ok(())
}

#[test]
fn in_place_forms_bind_to_a_new_value_of_the_same_shape() -> Outcome {
    let (x, h) = counted((2, 3, 4));
    let mut y = x.clone();
    let old = &y + 0;
    y += 1;
    y *= &x;
    y -= x.slice(s![0, 0, ..]);
    same(&old, h.clone().into_dyn());
    same(&y, ((&h + 1) * &h - h.slice(s![0, 0, ..])).into_dyn());
    let mut row = x.slice(s![0, 0, ..]);
    row += &x;
    let message = row.get().unwrap_err().to_string();
    for part in ["add_assign", "[4]", "[2, 3, 4]", "array_api.rs"] {
        assert!(message.contains(part), "{part} is missing in: {message}");
    }
    let mut b = host().ones::<f32>([1]).broadcast_to([1, 1000]);
    b += 1.0;
    same(&b, Array2::from_elem((1, 1000), 2.0f32).into_dyn());
    Ok(())
}

#[test]
fn comparisons_choices_and_casts() -> Outcome {
    let x = host().from_slice(&[f32::NAN, -1.0, 0.0, 300.0])?;
    same(&x.eq(&x), arr1(&[false, true, true, true]).into_dyn());
    same(&x.ne(&x), arr1(&[true, false, false, false]).into_dyn());
    same(&x.lt(0.0), arr1(&[false, true, false, false]).into_dyn());
    same(&x.le(0.0), arr1(&[false, true, true, false]).into_dyn());
    same(&x.gt(0.0), arr1(&[false, false, false, true]).into_dyn());
    same(&x.ge(x.clone()), arr1(&[false, true, true, true]).into_dyn());
    same(&x.is_nan(), arr1(&[true, false, false, false]).into_dyn());
    same(&x.cast::<u8>(), arr1(&[0u8, 0, 0, 255]).into_dyn());
    same(&x.gt(0.0).cast::<f64>(), arr1(&[0.0, 0.0, 0.0, 1.0]).into_dyn());
    same(&x.ge(0.0).select(&x, -x.clone()).slice(s![1..]), arr1(&[1.0f32, 0.0, 300.0]).into_dyn());
    same(&x.gt(0.0).select(1.5, 2.5), arr1(&[2.5f64, 2.5, 2.5, 1.5]).into_dyn());
    same(&x.clamp(-0.5, 2.0).slice(s![1..]), arr1(&[-0.5f32, 0.0, 2.0]).into_dyn());
    assert!(x.minimum(0.0).get()?[0].is_nan());
    let q = host().from_slice(&[1.0f32 + f32::EPSILON])?;
    assert_eq!(q.mul_add(&q, -1.0).item()?, (1.0 + f32::EPSILON).mul_add(1.0 + f32::EPSILON, -1.0));
    Ok(())
}

#[test]
fn functions_by_their_names() -> Outcome {
    type Case = (&'static str, fn(&Array<f64>) -> Array<f64>, fn(f64) -> f64);
    let cases: [Case; 30] = [
        ("sqrt", Array::sqrt, f64::sqrt),
        ("cbrt", Array::cbrt, f64::cbrt),
        ("recip", Array::recip, f64::recip),
        ("exp", Array::exp, f64::exp),
        ("exp2", Array::exp2, f64::exp2),
        ("expm1", Array::expm1, f64::exp_m1),
        ("log", Array::log, f64::ln),
        ("ln", Array::ln, f64::ln),
        ("log2", Array::log2, f64::log2),
        ("log10", Array::log10, f64::log10),
        ("log1p", Array::log1p, f64::ln_1p),
        ("sin", Array::sin, f64::sin),
        ("cos", Array::cos, f64::cos),
        ("tan", Array::tan, f64::tan),
        ("asin", Array::asin, f64::asin),
        ("acos", Array::acos, f64::acos),
        ("atan", Array::atan, f64::atan),
        ("sinh", Array::sinh, f64::sinh),
        ("cosh", Array::cosh, f64::cosh),
        ("tanh", Array::tanh, f64::tanh),
        ("asinh", Array::asinh, f64::asinh),
        ("acosh", |x| (x + 1.0).acosh(), |x| (x + 1.0).acosh()),
        ("atanh", Array::atanh, f64::atanh),
        ("floor", Array::floor, f64::floor),
        ("ceil", Array::ceil, f64::ceil),
        ("round", |x| (x * 10.0).round(), |x| (x * 10.0).round_ties_even()),
        ("trunc", |x| (x * -3.0).trunc(), |x| (x * -3.0).trunc()),
        ("abs", |x| (-x).abs(), |x| x),
        ("sign", |x| (-x).sign(), |_| -1.0),
        ("square", Array::square, |x| x * x),
    ];
    let h = Array1::linspace(0.05, 0.95, 19);
    let x = host().to_device(&h)?;
    for (name, ours, theirs) in cases {
        for (ours, theirs) in ours(&x).get()?.iter().zip(h.mapv(theirs)) {
            assert!((ours - theirs).abs() <= 1e-14 * theirs.abs().max(1.0), "{name}: {ours} is not {theirs}");
        }
    }
    let sum = (x.erf() + x.erfc()).get()?;
    assert!(sum.iter().all(|v| (v - 1.0).abs() < 1e-14));
    let (a, b) = (host().from_slice(&[-3.0f64])?, host().from_slice(&[4.0f64])?);
    let pairs = [(a.atan2(&b), (-3.0f64).atan2(4.0)), (a.hypot(&b), 5.0), (b.pow(&a), 4.0f64.powi(-3))];
    for (ours, theirs) in pairs.iter().chain(&[(b.copysign(&a), -4.0), (a.maximum(&b), 4.0), (a.minimum(&b), -3.0)]) {
        assert!((ours.item()? - theirs).abs() < 1e-14);
    }
    assert_eq!((a.floor_divide(2.0).item()?, a.remainder(2.0).item()?, (a % 2.0).item()?), (-2.0, 1.0, -1.0));
    let odd = host().from_slice(&[f32::NAN, f32::INFINITY, 1.0])?;
    same(&odd.is_inf(), arr1(&[false, true, false]).into_dyn());
    same(&odd.is_finite(), arr1(&[false, false, true]).into_dyn());
    Ok(())
}

#[test]
fn rank_has_no_limit() -> Outcome {
    let shape: Vec<usize> = [2; 10].into_iter().chain([1; 18]).collect();
    let x = host().arange(0, 1024, 1).reshape(&shape);
    let y = x.t() + 0;
    assert_eq!(y.ndim(), 28);
    let values = y.get()?;
    assert_eq!((values.iter().nth(1), values.iter().nth(3)), (Some(&512), Some(&768)));
    let z = host().arange(0i64, 2592, 1).reshape([2, 3, 2, 3, 2, 3, 2, 3, 2]);
    assert_eq!((z.t() * z.reshape(z.t().shape())).sum().item()?, 4_360_377_096);
    Ok(())
}

#[test]
fn slices_are_those_of_ndarray() {
    let (x, h) = counted((5, 6, 7));
    macro_rules! check {
        ($($info:expr),+ $(,)?) => {
            $(
                same(&x.slice($info), h.slice($info).into_owned().into_dyn());
                same(&(x.slice($info) + 1), (h.slice($info).into_owned() + 1).into_dyn());
            )+
        };
    }
    check!(
        s![.., .., ..],
        s![1..4, ..;2, ..;-1],
        s![..;-2, 1..6;-3, -3..-1],
        s![2, .., -1],
        s![.., ndarray::NewAxis, 3, 1..],
        s![4, 5, 6],
        s![2..2, .., ..],
        s![1..=3, ..=2;2, 6..;-5],
    );
    let dynamic: SliceInfo<Vec<SliceInfoElem>, ndarray::IxDyn, ndarray::IxDyn> =
        vec![SliceInfoElem::Index(1), (..).into(), (2..5).into()].try_into().unwrap();
    same(&x.slice(&dynamic), h.slice(s![1, .., 2..5]).into_owned().into_dyn());
    same(&x.slice([SliceInfoElem::from(0), (..).into(), 0.into()]), h.slice(s![0, .., 0]).into_owned().into_dyn());
}

#[test]
fn views_cost_no_launch() -> Outcome {
    let (x, h) = counted((3, 4, 5));
    let device = Device::open("host", Config::default())?;
    let y = device.to_device(&h)?;
    same(&y.t(), h.t().into_owned().into_dyn());
    same(&y.permute(&[2, 0, -2]), h.view().permuted_axes([2, 0, 1]).as_standard_layout().into_owned().into_dyn());
    same(
        &y.flip(1).slice(s![1, ..;2, ..;-2]),
        h.slice(s![1, ..;-1, ..]).slice(s![..;2, ..;-2]).into_owned().into_dyn(),
    );
    same(&y.index_axis(-1, -2), h.index_axis(Axis(2), 3).into_owned().into_dyn());
    same(&y.reshape([12, 5]).swap_axes(0, 1), h.to_shape((12, 5)).unwrap().t().into_owned().into_dyn());
    same(
        &y.slice(s![0, 0..1, ..]).broadcast_to([2, 3, 5]),
        h.slice(s![0, 0..1, ..]).broadcast((2, 3, 5)).unwrap().into_owned().into_dyn(),
    );
    same(&y.slice(s![3..3, .., ..]), Array3::<i32>::zeros((0, 4, 5)).into_dyn());
    assert_eq!(y.slice(s![2, 1, 3]).item()?, h[[2, 1, 3]]);
    assert_eq!(device.counters().launches, 0, "a view launched a kernel");

    same(&x.flatten(), h.flatten().into_owned().into_dyn());
    same(&x.t().flatten(), h.t().iter().copied().collect::<Array1<i32>>().into_dyn());
    same(&x.reshape_infer(&[2, -1]), h.to_shape((2, 30)).unwrap().into_owned().into_dyn());
    assert!(x.reshape_infer(&[7, -1]).check().is_err() && x.reshape_infer(&[-1, -1]).check().is_err());
    assert_eq!(x.insert_axis(-1).shape(), [3, 4, 5, 1]);
    assert_eq!(x.insert_axis(0).shape(), [1, 3, 4, 5]);
    assert_eq!(x.insert_axis(1).squeeze().shape(), [3, 4, 5]);
    assert_eq!(x.insert_axis(1).remove_axis(1).shape(), [3, 4, 5]);
    assert!(x.remove_axis(1).check().is_err());
    Ok(())
}

#[test]
fn assigned_slices_leave_the_old_value_to_whoever_holds_it() -> Outcome {
    let (x, mut h) = counted((3, 4, 5));
    let mut y = x.clone();
    let seen = y.slice(s![1, .., 2..4]);
    let was = h.slice(s![1, .., 2..4]).into_owned();
    y.slice_assign(s![1, .., 2..4], -1);
    y.slice_assign(s![..;-2, 0, ndarray::NewAxis, ..], &host().from_slice(&[10, 20, 30, 40, 50])?);
    y.slice_assign(s![0..0, .., ..], 9);
    h.slice_mut(s![1, .., 2..4]).fill(-1);
    h.slice_mut(s![..;-2, 0, ..]).assign(&arr1(&[10, 20, 30, 40, 50]));
    same(&y, h.clone().into_dyn());
    same(&seen, was.into_dyn());
    same(&x, counted((3, 4, 5)).1.into_dyn());
    let mut z = host().arange(0, 5, 1);
    let shifted = z.slice(s![1..]) + z.slice(s![..-1]);
    z.slice_assign(s![1..], shifted);
    same(&z, arr1(&[0, 1, 3, 5, 7]).into_dyn());
    let line = line!() + 1;
    z.slice_assign(s![1..3], &y);
    let message = z.get().unwrap_err().to_string();
    for part in ["slice_assign", "[2]", "[3, 4, 5]", &format!("array_api.rs:{line}")] {
        assert!(message.contains(part), "{part} is missing in: {message}");
    }
    Ok(())
}

#[test]
fn reductions_over_any_axes() -> Outcome {
    let (x, h) = counted((3, 4, 5));
    let wide = h.mapv(i64::from);
    assert_eq!(x.sum().item()?, wide.sum());
    same(&x.sum_axis(1), wide.sum_axis(Axis(1)).into_dyn());
    same(&x.sum_axis(-1), wide.sum_axis(Axis(2)).into_dyn());
    same(&x.sum_axes(&[0, -1]), wide.sum_axis(Axis(2)).sum_axis(Axis(0)).into_dyn());
    same(&x.sum_axes(&[]), wide.clone().into_dyn());
    same(
        &x.t().sum_axes_keep(&[0, 2]),
        wide.sum_axis(Axis(2)).sum_axis(Axis(0)).insert_axis(Axis(0)).insert_axis(Axis(2)).into_dyn(),
    );
    same(&x.max_axis(0), h.index_axis(Axis(0), 2).into_owned().into_dyn());
    same(&x.min_axes_keep(&[1, 2]), h.slice(s![.., ..1, ..1]).into_owned().into_dyn());
    same(&x.mean_axis(0), wide.mapv(|v| v as f64).mean_axis(Axis(0)).unwrap().into_dyn());
    assert_eq!((x.slice(s![0, 0, 1..]).prod()).item()?, 24);
    let (sum, mean): (Array<i64>, Array<f64>) = (host().full([300], true).sum(), host().full([3], 100i8).mean());
    assert_eq!((sum.item()?, mean.item()?), (300, 100.0));
    assert_eq!(host().full([2], f16::from_f32(60000.0)).mean().item()?, f16::from_f32(60000.0));
    assert!(host().zeros::<f32>([0]).mean().item()?.is_nan());
    let empty = host().zeros::<f32>([0, 2]);
    assert_eq!(empty.min_axis(1).get()?.shape(), [0]);
    assert!(empty.min_axis(0).get().is_err());
    same(&empty.sum_axis(0), arr1(&[0.0f32, 0.0]).into_dyn());
    same(&empty.sum_axes_keep(&[0, 1]), arr2(&[[0.0f32]]).into_dyn());
    assert_eq!(host().zeros::<f32>([2, 0, 3]).max_axes(&[0, 2]).get()?.shape(), [0]);
    let message = x.sum_axes(&[0, -3]).get().unwrap_err().to_string();
    assert!(message.contains("sum") && message.contains("given twice"), "{message}");
    Ok(())
}

#[test]
fn arrays_made_from_nothing() -> Outcome {
    let device = host();
    same(&device.full([2, 2], 7u16), Array2::from_elem((2, 2), 7u16).into_dyn());
    same(&device.ones::<bool>((1, 2)), arr2(&[[true, true]]).into_dyn());
    assert_eq!(device.zeros::<f64>(()).item()?, 0.0);
    same(&device.eye::<i8>(3), Array2::<i8>::eye(3).into_dyn());
    same(&device.arange(-128i8, 127, 1), (-128i8..127).collect::<Array1<i8>>().into_dyn());
    same(&device.arange(250u8, 255, 2), arr1(&[250u8, 252, 254]).into_dyn());
    same(&device.arange(u64::MAX - 2, u64::MAX, 1), arr1(&[u64::MAX - 2, u64::MAX - 1]).into_dyn());
    same(&device.arange(i64::MIN, i64::MIN + 3, 2), arr1(&[i64::MIN, i64::MIN + 2]).into_dyn());
    same(&device.arange(0.0f32, 1.0, 0.25), arr1(&[0.0f32, 0.25, 0.5, 0.75]).into_dyn());
    same(&device.arange(3, 0, 1), Array1::<i32>::zeros(0).into_dyn());
    same(
        &device.arange(f16::from_f32(1.0), f16::from_f32(0.0), f16::from_f32(-0.5)),
        arr1(&[f16::from_f32(1.0), f16::from_f32(0.5)]).into_dyn(),
    );
    for bad in
        [device.arange(0.0f32, 1.0, 0.0), device.arange(0.0, f32::NAN, 1.0), device.arange(0.0, f32::INFINITY, 1.0)]
    {
        assert!(bad.get().unwrap_err().to_string().contains("arange"));
    }
    assert!(device.zeros::<f32>([usize::MAX, 2]).get().unwrap_err().to_string().contains("zeros"));
    let spaced = device.linspace(0.1f32, 0.7, 1000).get()?;
    assert_eq!((spaced[0], spaced[999]), (0.1, 0.7));
    let theirs = Array1::<f32>::linspace(0.1, 0.7, 1000);
    assert!(spaced.iter().zip(&theirs).take(999).all(|(ours, theirs)| ours == theirs));
    same(&device.linspace(2.0, 3.0, 1), arr1(&[2.0]).into_dyn());
    assert_eq!(device.linspace(2.0, 3.0, 0).get()?.len(), 0);
    Ok(())
}

#[test]
fn every_layout_goes_to_the_device_and_back() -> Outcome {
    let device = host();
    let h = counted((3, 4, 5)).1;
    same(&device.to_device(&h.view().reversed_axes())?, h.t().into_owned().into_dyn());
    same(
        &device.to_device(&h.view().permuted_axes([1, 2, 0]))?,
        h.view().permuted_axes([1, 2, 0]).into_owned().into_dyn(),
    );
    same(&device.to_device(&h.slice(s![..;-1, 1..3, ..;2]))?, h.slice(s![..;-1, 1..3, ..;2]).into_owned().into_dyn());
    same(&device.to_device(&h.slice(s![..;-1, .., ..]))?, h.slice(s![..;-1, .., ..]).into_owned().into_dyn());
    same(
        &device.to_device(&h.slice(s![0, .., 0]).broadcast((2, 4)).unwrap())?,
        h.slice(s![0, .., 0]).broadcast((2, 4)).unwrap().into_owned().into_dyn(),
    );
    same(&device.to_device(&h.clone().into_shared())?, h.clone().into_dyn());
    same(&device.to_device(&h.clone().into_dyn())?, h.clone().into_dyn());
    same(&device.to_device(&ndarray::arr0(4u8))?, ndarray::arr0(4u8).into_dyn());
    same(&device.to_device(&Array2::<f64>::zeros((0, 3)))?, Array2::<f64>::zeros((0, 3)).into_dyn());
    let fortran = device.to_device(&h.slice(s![0, .., ..]).t())?;
    same(
        &(&fortran + &device.to_device(&h.slice(s![0, .., ..]).t().as_standard_layout())?),
        (&h.slice(s![0, .., ..]).t() * 2).as_standard_layout().into_owned().into_dyn(),
    );

    let mut source = Array1::from_iter(0..100i32);
    let x = device.to_device(&source)?;
    source.fill(-1);
    assert_eq!(x.sum().item()?, 4950);
    same(&device.from_shape((2, 2), &[1, 2, 3, 4])?, arr2(&[[1, 2], [3, 4]]).into_dyn());
    assert!(device.from_shape([3, 2], &[1, 2]).is_err());

    let mut target = Array3::<i32>::zeros((5, 4, 3));
    device.to_device(&h)?.t().get_into(&mut target)?;
    assert_eq!(target, h.t());
    let mut target = Array3::<i32>::zeros((5, 4, 6));
    device.to_device(&h.t())?.get_into(&mut target.slice_mut(s![.., .., ..;-2]))?;
    assert_eq!(target.slice(s![.., .., ..;-2]), h.t());
    let mut target = Array3::<i32>::zeros((3, 4, 5));
    (device.to_device(&h)? + 0).get_into(&mut target)?;
    assert_eq!(target, h);
    assert!(device.to_device(&h)?.t().get_into(&mut target).is_err());
    assert!(device.to_device(&h)?.item().is_err());
    Ok(())
}

#[test]
fn several_results_of_different_types() -> Outcome {
    let x = host().from_slice(&[1.0f32, 2.0])?;
    let (a, b, c) = lazuli::get((&(&x * 2.0), &x.gt(1.5), &x.cast::<i64>()))?;
    assert_eq!(
        (a, b, c),
        (arr1(&[2.0f32, 4.0]).into_dyn(), arr1(&[false, true]).into_dyn(), arr1(&[1i64, 2]).into_dyn())
    );
    let list = [&x + 1.0, x.slice(s![..1])];
    let got = lazuli::get(&list[..])?;
    assert_eq!(got[1], arr1(&[1.0f32]).into_dyn());

    let other = Device::open("host", Config::default())?;
    let y = x.to(&other)?;
    let (p, q) = lazuli::get((&(&x + 1.0), &(&y + 1.0)))?;
    assert_eq!(p, q);
    let z = &x * 3.0;
    lazuli::eval((&z, &(&y + 1.0)))?;
    assert!(format!("{z:?}").contains(", evaluated"), "{z:?}");
    let line = line!() + 1;
    let message = (&x + &y).get().unwrap_err().to_string();
    for part in ["add", "different devices", "to(&device)", &format!("array_api.rs:{line}")] {
        assert!(message.contains(part), "{part} is missing in: {message}");
    }
    assert!(x.gt(0.0).select(&y, 0.0).check().is_err() && x.mul_add(1.0, &y).check().is_err());
    Ok(())
}

#[test]
fn the_first_mistake_is_reported_with_its_line() -> Outcome {
    let x = host().zeros::<f32>([2, 3]);
    let line = line!() + 1;
    let bad = x.slice(s![0..9, ..]);
    let after = ((2.0 * bad.t()).sum_axis(5).insert_axis(9) - &x).reshape([7]).cast::<i8>();
    let message = after.get().unwrap_err().to_string();
    for part in ["slice", "..9", "axis 0", "extent 2", "[2, 3]", &format!("array_api.rs:{line}")] {
        assert!(message.contains(part), "{part} is missing in: {message}");
    }
    assert_eq!(message, after.check().unwrap_err().to_string());
    let cases: [(&str, Array<f32>, &[&str]); 12] = [
        ("rank", x.slice(s![0]), &["slice", "2 axes"]),
        ("index", x.slice(s![0, -4]), &["-4", "axis 1", "extent 3"]),
        ("index_axis", x.index_axis(0, 2), &["index_axis", "index 2", "extent 2"]),
        ("axis", x.sum_axis(2), &["sum", "axis 2", "[2, 3]"]),
        ("axis", x.mean_axis(-3), &["mean", "axis -3"]),
        ("reshape", x.reshape([5, 5]), &["reshape", "6 elements", "[5, 5]"]),
        ("permute", x.permute(&[0]), &["permute", "every axis"]),
        ("permute", x.permute(&[0, 0]), &["permute", "given twice"]),
        ("swap", x.swap_axes(0, 2), &["swap_axes", "axis 2"]),
        ("flip", x.flip(-3), &["flip", "axis -3"]),
        ("broadcast", x.broadcast_to([2, 4]), &["broadcast_to", "[2, 4]"]),
        ("insert", x.insert_axis(3), &["insert_axis", "axis 3"]),
    ];
    for (name, array, parts) in cases {
        let message = array.get().unwrap_err().to_string();
        for part in parts.iter().chain(&["array_api.rs:"]) {
            assert!(message.contains(part), "{name}: {part} is missing in: {message}");
        }
    }
    assert_eq!((&x + 1.0).sum().item()?, 6.0, "the device goes on working");
    Ok(())
}

#[test]
fn printing_never_launches() -> Outcome {
    let device = Device::open("host", Config::default())?;
    let x = device.from_shape([2, 2], &[1.0f32, 2.0, 3.0, 4.0])?;
    assert_eq!(x.t().to_string(), "[[1, 3],\n [2, 4]]");
    let y = &x * 2.0;
    assert_eq!(y.to_string(), "Array<f32>[2, 2] (not evaluated: mul)");
    assert_eq!(format!("{y:?}"), "Array<f32>[2, 2] on host, not evaluated: mul");
    assert_eq!(format!("{x:?}"), "Array<f32>[2, 2] on host, evaluated");
    let big = device.to_device(&Array1::from_iter(0..100_000i32))?;
    assert_eq!(big.to_string(), "Array<i32>[100000] starting [0, 1, 2, 3, 4, 5, 6, 7]");
    assert!(x.reshape([3]).to_string().contains("failed: reshape"));
    assert_eq!(device.counters().launches, 0);
    y.eval()?;
    assert_eq!(format!("{y:.1}"), "[[2.0, 4.0],\n [6.0, 8.0]]");
    assert!(!y.explain()?.to_string().is_empty() && y.to_dot()?.contains("digraph"));
    Ok(())
}

#[test]
fn buffers_are_device_memory_with_flags() -> Outcome {
    let device = host();
    let copy = MemFlags::COPY_HOST_PTR;
    let buffer = Buffer::from_slice(&device, MemFlags::READ_WRITE | copy, &[1u32, 2, 3, 4])?;
    assert_eq!((buffer.len(), buffer.is_empty(), buffer.flags()), (4, false, MemFlags::READ_WRITE | copy));
    same(&(buffer.to_array([2, 2])? * 2), arr2(&[[2u32, 4], [6, 8]]).into_dyn());
    let mut back = [0u32; 4];
    buffer.copy_to_host(&mut back)?;
    assert_eq!(back, [1, 2, 3, 4]);
    assert!(buffer.copy_to_host(&mut [0; 3]).is_err());
    assert!(buffer.to_array([5]).is_err());
    for bad in [
        MemFlags::READ_ONLY,
        MemFlags::READ_ONLY | MemFlags::WRITE_ONLY | copy,
        MemFlags::READ_WRITE | MemFlags::WRITE_ONLY | copy,
        MemFlags::USE_HOST_PTR | copy,
        MemFlags::USE_HOST_PTR,
        MemFlags::empty(),
    ] {
        assert!(Buffer::from_slice(&device, bad, &[1u32]).is_err(), "{bad:?}");
    }
    let write_only = Buffer::from_slice(&device, MemFlags::WRITE_ONLY | copy, &[true])?;
    assert!(write_only.to_array([1]).is_err());
    Ok(())
}

#[test]
fn arrays_and_devices_cross_threads() {
    fn crosses<T: Send + Sync + Clone>() {}
    crosses::<Array<f32>>();
    crosses::<Array<bool>>();
    let a = host().arange(0, 6, 1).reshape([2, 3]) + 1;
    let sums = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|k| {
                scope.spawn({
                    let a = &a;
                    move || (a + k).get().unwrap().sum()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<i32>()
    });
    assert_eq!(sums, 336);
}

#[test]
fn a_constant_that_was_evaluated_still_is_one() -> Outcome {
    let x = host().from_slice(&[1.0f32, 2.0, 3.0])?;
    let two = host().full((), 2.0f32);
    assert_eq!(two.item()?, 2.0);
    same(&(&x * &two + &two), arr1(&[4.0f32, 6.0, 8.0]).into_dyn());
    same(&(&two - x.reshape([3, 1])), arr2(&[[1.0f32], [0.0], [-1.0]]).into_dyn());
    same(&two, ndarray::arr0(2.0f32).into_dyn());
    // As a root it is a value like any other.
    let (both, alone) = lazuli::get((&(&two + 1.0), &host().full((), 5.0f32)))?;
    assert_eq!((both, alone), (ndarray::arr0(3.0f32).into_dyn(), ndarray::arr0(5.0f32).into_dyn()));
    Ok(())
}
