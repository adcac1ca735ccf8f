//! The cases of the project's list of failures that other array libraries had, by number, with what is of their kind.

use lazuli::Array;
use lazuli::prelude::*;
use ndarray::{Array1, Array2, ArrayD, Axis, IxDyn, ShapeBuilder, arr1, arr2, s};

use crate::common::*;
use crate::oracle::Real;

#[test]
fn c01_an_expression_keeps_the_value_its_source_had_when_it_was_recorded() {
    on_every(|device| {
        let record = || {
            let mut x = device.from_slice(&[1, 2]).unwrap();
            let r = &x + 10;
            x.slice_assign(s![..1], 9);
            (x, r)
        };
        let (right_r, right_x) = (arr1(&[11, 12]).into_dyn(), arr1(&[9, 2]).into_dyn());
        let (x, r) = record();
        assert_eq!(lazuli::get((&r, &x)).unwrap(), (right_r.clone(), right_x.clone()));
        let (x, r) = record();
        assert_eq!(lazuli::get((&x, &r)).unwrap(), (right_x.clone(), right_r.clone()));
        let (_x, r) = record();
        same(&r, right_r);
        let (x, _r) = record();
        same(&x, right_x);
    });
}

#[test]
fn c01_a_view_keeps_the_value_that_a_later_write_replaces() {
    on_every(|device| {
        let host = Array1::from_iter((0..24).map(f64::from)).into_shape_with_order((2, 3, 4)).unwrap();
        let mut x = device.to_device(&host).unwrap();
        let row = x.slice(s![1, .., ..;-1]);
        let turned = x.t();
        x.slice_assign(s![1, 1.., ..;2], device.from_shape([2, 1], &[-1.0, -2.0]).unwrap());
        x += 1.0;
        let mut right = host.clone();
        right.slice_mut(s![1, 1, ..;2]).fill(-1.0);
        right.slice_mut(s![1, 2, ..;2]).fill(-2.0);
        right += 1.0;
        let (ours_turned, ours, ours_row) = lazuli::get((&turned, &x, &row)).unwrap();
        assert_eq!(ours, right.into_dyn());
        assert_eq!(ours_row, host.slice(s![1, .., ..;-1]).to_owned().into_dyn());
        assert_eq!(ours_turned, host.t().to_owned().into_dyn());
    });
}

#[test]
fn c03_in_place_forms_read_the_old_values_where_operands_overlap() {
    on_every(|device| {
        let mut x = device.arange(0, 9, 1).reshape([3, 3]);
        x += x.t();
        same(&x, arr2(&[[0, 4, 8], [4, 8, 12], [8, 12, 16]]).into_dyn());

        let mut x = device.arange(0i64, 10_000, 1).reshape([100, 100]);
        x.eval().unwrap();
        x += x.t();
        assert_eq!(x.sum().item().unwrap(), 99_990_000);
        let host = Array1::from_iter(0..10_000i64).into_shape_with_order((100, 100)).unwrap();
        same(&x, (&host + &host.t()).into_dyn());

        for evaluated in [false, true] {
            let mut z = device.arange(0, 5, 1);
            if evaluated {
                z.eval().unwrap();
            }
            let sum = z.slice(s![1..]) + z.slice(s![..-1]);
            z.slice_assign(s![1..], sum);
            same(&z, arr1(&[0, 1, 3, 5, 7]).into_dyn());
        }
    });
}

#[test]
fn c03_overlap_by_flips_steps_and_higher_ranks() {
    on_every(|device| {
        let host = Array1::from_iter((0..1001).map(|i| i as f32));
        let mut x = device.to_device(&host).unwrap();
        x += x.flip(0);
        same(&x, Array1::from_elem(1001, 1000.0f32).into_dyn());

        let mut x = device.to_device(&host).unwrap();
        let twice = x.slice(s![..500]) * 2.0;
        x.slice_assign(s![..1000;2], twice);
        let mut right = host.clone();
        for i in 0..500 {
            right[2 * i] = 2.0 * host[i];
        }
        same(&x, right.into_dyn());

        let cube = Array1::from_iter(0..1000u32).into_shape_with_order((10, 10, 10)).unwrap();
        let mut x = device.to_device(&cube).unwrap();
        x *= x.permute(&[2, 0, 1]);
        same(&x, (&cube * &cube.view().permuted_axes([2, 0, 1])).into_dyn());
    });
}

#[test]
fn c04_kernels_are_not_shared_between_element_types() {
    fn sum<A: Element, B: Element>(device: &Device, a: &[A], b: &[B]) -> Vec<i32> {
        let (a, b) = (device.from_slice(a).unwrap(), device.from_slice(b).unwrap());
        flat(&(a.cast::<i32>() + b.cast::<i32>()))
    }
    on_every(|device| {
        assert_eq!(sum(device, &[10i32, 20], &[1i32, 2]), [11, 22]);
        assert_eq!(sum(device, &[40_000u16, 1], &[-1i8, 1]), [39_999, 2]);
        assert_eq!(sum(device, &[-1i8, 1], &[40_000u16, 1]), [39_999, 2]);
        assert_eq!(sum(device, &[-1i16, 1], &[200u8, 1]), [199, 2]);
        assert_eq!(sum(device, &[true, false], &[2.9f32, -2.9]), [3, -2]);
        assert_eq!(sum(device, &[f16::ONE, f16::ONE], &[bf16::ONE, bf16::from_f32(3.0)]), [2, 4]);
        assert_eq!(sum(device, &[bf16::ONE, bf16::ONE], &[f16::ONE, f16::from_f32(3.0)]), [2, 4]);
        assert_eq!(sum(device, &[u64::MAX, 7], &[1i64, -7]), [0, 0]);
        assert_eq!(sum(device, &[10i32, 20], &[1i32, 2]), [11, 22]);
    });
}

#[test]
fn c04_kernels_are_not_shared_between_outputs_ranks_or_layouts() {
    on_every(|device| {
        let x = device.from_shape([2, 3], &[1, 2, 3, 4, 5, 6]).unwrap();
        let right = arr2(&[[2, 3, 4], [5, 6, 7]]);
        same(&(&x + 1), right.clone().into_dyn());
        same(&(x.t() + 1), right.t().to_owned().into_dyn());
        same(&(x.flip(1) + 1), arr2(&[[4, 3, 2], [7, 6, 5]]).into_dyn());
        same(&(x.flatten() + 1), arr1(&[2, 3, 4, 5, 6, 7]).into_dyn());
        same(&(x.slice(s![.., ..;2]) + 1), arr2(&[[2, 4], [5, 7]]).into_dyn());
        same(&(x.slice(s![..1, ..]).broadcast_to([2, 3]) + 1), arr2(&[[2, 3, 4], [2, 3, 4]]).into_dyn());
        let a = device.from_slice(&[1, 2]).unwrap();
        let b = device.from_slice(&[10, 20]).unwrap();
        same(&(&a - &b), arr1(&[-9, -18]).into_dyn());
        same(&(&b - &a), arr1(&[9, 18]).into_dyn());
        same(&(&a - &a), arr1(&[0, 0]).into_dyn());
        let (p, q) = (&a * &b, &a - &b);
        assert_eq!(lazuli::get((&p, &q)).unwrap(), (arr1(&[10, 40]).into_dyn(), arr1(&[-9, -18]).into_dyn()));
        let (p, q) = (&a * &b, &a - &b);
        assert_eq!(lazuli::get((&q, &p)).unwrap(), (arr1(&[-9, -18]).into_dyn(), arr1(&[10, 40]).into_dyn()));
    });
}

#[test]
fn c07_products_are_rounded_before_they_are_subtracted() {
    on_every(|device| {
        let of = |value: f32| device.from_slice(&[value; 4]).unwrap();
        let (a1, b1, a2, b2) = (of(2_396_747.0), of(7.0), of(2_396_747.0), of(7.0));
        same(&(&a1 * &b2 - &a2 * &b1), Array1::<f32>::zeros(4).into_dyn());
        assert_eq!(flat(&(&a1 * &b2)), [16_777_228.0; 4]);
        same(&(&a1 * 7.0 - 16_777_228.0), Array1::<f32>::zeros(4).into_dyn());
        same(&a1.mul_add(&b2, -16_777_228.0), Array1::from_elem(4, 1.0f32).into_dyn());
    });
}

#[test]
fn c07_every_float_type_rounds_after_each_operation() {
    fn check<T: Float>(device: &Device, a: f64, b: f64, rounded: f64) {
        // Lengths around the vector widths, since wide and single code may differ.
        for n in [1usize, 3, 16, 1000] {
            let of = |value: f64| device.from_slice(&vec![T::from_f64(value); n]).unwrap();
            let difference = of(a) * of(b) - of(rounded);
            same(&difference, ArrayD::from_elem(IxDyn(&[n]), T::zero()));
            let sum = of(rounded) - of(a) * of(b);
            same(&sum, ArrayD::from_elem(IxDyn(&[n]), T::zero()));
        }
    }
    on_every(|device| {
        check::<f32>(device, 2_396_747.0, 7.0, 16_777_228.0);
        let a = 1.0 + 2f64.powi(-52);
        check::<f64>(device, a, a, a * a);
        check::<f16>(device, 1.0 + 2f64.powi(-10), 1.0 + 2f64.powi(-10), 1.0 + 2f64.powi(-9));
        check::<bf16>(device, 1.0 + 2f64.powi(-7), 1.0 + 2f64.powi(-7), 1.0 + 2f64.powi(-6));
    });
}

#[test]
fn c08_in_place_forms_on_a_broadcast_leave_its_source_alone() {
    on_every(|device| {
        let a = device.ones::<f32>([1]);
        let mut b = a.broadcast_to([1, 1000]);
        b += 1.0;
        same(&b, Array2::from_elem((1, 1000), 2.0f32).into_dyn());
        same(&a, arr1(&[1.0f32]).into_dyn());

        let a = device.from_shape([3, 1], &[1i64, 2, 3]).unwrap();
        let mut b = a.broadcast_to([2, 3, 700]);
        b += &b.flip(1);
        same(&b, ArrayD::from_elem(IxDyn(&[2, 3, 700]), 4i64));
        let mut c = a.broadcast_to([3, 4]);
        c.slice_assign(s![.., 1], 0);
        same(&c, arr2(&[[1, 0, 1, 1], [2, 0, 2, 2], [3, 0, 3, 3]]).into_dyn());
        same(&a, arr2(&[[1i64], [2], [3]]).into_dyn());
    });
}

#[test]
fn c11_operands_of_different_memory_orders_meet_by_index() {
    on_every(|device| {
        let a = arr2(&[[0.0f64, 1.0], [0.0, 0.0]]);
        let mut column_major = Array2::zeros((2, 2).f());
        column_major.assign(&a);
        let (x, y) = (device.to_device(&a).unwrap(), device.to_device(&column_major).unwrap());
        same(&(&x + &y), arr2(&[[0.0, 2.0], [0.0, 0.0]]).into_dyn());
        same(&(&y + &x), arr2(&[[0.0, 2.0], [0.0, 0.0]]).into_dyn());

        let b = Array1::from_iter((0..6).map(f64::from)).into_shape_with_order((2, 3)).unwrap();
        let mut column_major = Array2::zeros((2, 3).f());
        column_major.assign(&b);
        let difference = device.to_device(&b).unwrap() - device.to_device(&column_major).unwrap();
        same(&difference, Array2::<f64>::zeros((2, 3)).into_dyn());

        let c = device.arange(0, 12, 1).reshape([3, 4]);
        same(&(c.slice(s![..2, ..2]).t() + 0), arr2(&[[0, 4], [1, 5]]).into_dyn());
        c.eval().unwrap();
        same(&(c.slice(s![..2, ..2]).t() + 0), arr2(&[[0, 4], [1, 5]]).into_dyn());
    });
}

#[test]
fn c11_every_permutation_of_a_cube_adds_to_every_other() {
    const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    on_every(|device| {
        let cube = Array1::from_iter(0..24i64).into_shape_with_order((2, 3, 4)).unwrap();
        for order in ORDERS {
            // The same values, in each memory order.
            let mut back = [0; 3];
            order.iter().enumerate().for_each(|(to, from)| back[*from] = to);
            let laid = cube.view().permuted_axes(order).as_standard_layout().into_owned().permuted_axes(back);
            assert_eq!(laid, cube);
            let ours = device.to_device(&laid).unwrap() * 100 + device.to_device(&cube).unwrap();
            same(&ours, (&cube * 101).into_dyn());
            let turned = device.to_device(&laid).unwrap().permute(&order.map(|axis| axis as isize)) + 0;
            same(&turned, cube.view().permuted_axes(order).to_owned().into_dyn());
            let part = device.to_device(&laid).unwrap().slice(s![.., 1..;-1, ..;3]).t() + 0;
            same(&part, cube.slice(s![.., 1..;-1, ..;3]).t().to_owned().into_dyn());
        }
    });
}

#[test]
fn c13_views_are_values() {
    on_every(|device| {
        let mut x = device.arange(0, 8, 1);
        let mut y = x.reshape([4, 2]);
        let b = x.slice(s![..;2]);
        y.slice_assign(s![0, 0], 33);
        x += 1;
        same(&x, arr1(&[1, 2, 3, 4, 5, 6, 7, 8]).into_dyn());
        same(&b, arr1(&[0, 2, 4, 6]).into_dyn());
        same(&y.slice(s![0, ..]), arr1(&[33, 1]).into_dyn());
        same(&y, arr2(&[[33, 1], [2, 3], [4, 5], [6, 7]]).into_dyn());

        // The same with data on the device, whose memory a write could reach.
        let mut x = device.from_slice(&[0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
        let mut y = x.reshape([4, 2]);
        let b = x.slice(s![..;2]);
        y.slice_assign(s![0, 0], 33);
        y.eval().unwrap();
        x += 1;
        x.eval().unwrap();
        same(&b, arr1(&[0, 2, 4, 6]).into_dyn());
        same(&y, arr2(&[[33, 1], [2, 3], [4, 5], [6, 7]]).into_dyn());
        same(&x, arr1(&[1, 2, 3, 4, 5, 6, 7, 8]).into_dyn());
    });
}

#[test]
fn c15_reductions_of_empty_arrays_and_over_no_axes() {
    on_every(|device| {
        let empty = device.zeros::<f32>([0, 2]);
        same(&empty.min_axis(1), ArrayD::from_elem(IxDyn(&[0]), 0.0f32));
        let error = empty.min_axis(0).get().unwrap_err().to_string();
        assert!(error.contains("min") && error.contains("[0, 2]") && error.contains("cases.rs"), "{error}");

        let x = device.arange(0i64, 6, 1).reshape([2, 3]);
        same(&x.sum_axes(&[]), arr2(&[[0i64, 1, 2], [3, 4, 5]]).into_dyn());
        same(&device.arange(0i32, 6, 1).reshape([2, 3]).sum_axes(&[]), arr2(&[[0i64, 1, 2], [3, 4, 5]]).into_dyn());
        let error = x.sum_axes(&[0, 0]).get().unwrap_err().to_string();
        assert!(error.contains("sum") && error.contains("[2, 3]") && error.contains("cases.rs"), "{error}");
        let error = x.sum_axes(&[0, -2]).get().unwrap_err().to_string();
        assert!(error.contains("sum") && error.contains("[2, 3]"), "{error}");

        let kept = device.zeros::<f32>([0, 10]).sum_axes_keep(&[0, 1]);
        same(&kept, ArrayD::from_elem(IxDyn(&[1, 1]), 0.0f32));
        same(&device.zeros::<f32>([2, 0, 3]).max_axes(&[0, 2]), ArrayD::from_elem(IxDyn(&[0]), 0.0f32));
    });
}

#[test]
fn c15_empty_reductions_of_every_type_and_kind() {
    fn check<T: Number>(device: &Device) {
        let empty = device.from_shape([3, 0, 2], &[] as &[T]).unwrap();
        same(&empty.sum_axis(1), ArrayD::from_elem(IxDyn(&[3, 2]), T::Sum::zero()));
        same(&empty.prod_axis(1), ArrayD::from_elem(IxDyn(&[3, 2]), T::Sum::one()));
        same(&empty.sum_axis(0), ArrayD::from_elem(IxDyn(&[0, 2]), T::Sum::zero()));
        same(&empty.max_axis(2), ArrayD::from_elem(IxDyn(&[3, 0]), T::zero()));
        same(&empty.sum(), ArrayD::from_elem(IxDyn(&[]), T::Sum::zero()));
        same(&empty.prod(), ArrayD::from_elem(IxDyn(&[]), T::Sum::one()));
        for mean in flat(&empty.mean_axis(1)).into_iter().chain(flat(&empty.mean())) {
            assert_ne!(mean, mean, "the mean of nothing is NaN");
        }
        for failed in [empty.min(), empty.max(), empty.min_axis(1), empty.max_axes(&[0, 1])] {
            let error = failed.get().unwrap_err().to_string();
            assert!(error.contains("[3, 0, 2]"), "{error}");
        }
        // Empty, but not given: a product of views.
        let x = device.from_slice(&[T::one(); 6]).unwrap().reshape([3, 2]);
        same(&x.slice(s![.., 2..]).sum_axis(1), ArrayD::from_elem(IxDyn(&[3]), T::Sum::zero()));
    }
    on_every(|device| {
        check::<i8>(device);
        check::<u16>(device);
        check::<i32>(device);
        check::<u64>(device);
        check::<f16>(device);
        check::<bf16>(device);
        check::<f32>(device);
        check::<f64>(device);
        let empty = device.zeros::<bool>([2, 0]);
        same(&empty.any_axis(1), arr1(&[false, false]).into_dyn());
        same(&empty.all_axis(1), arr1(&[true, true]).into_dyn());
        same(&empty.sum_axis(1), arr1(&[0i64, 0]).into_dyn());
    });
}

#[test]
fn c20_integer_division_floors_or_truncates_and_never_traps() {
    on_every(|device| {
        let a = device.from_slice(&[-7i32, 7, -7, 7, -1, 1, -5, 5]).unwrap();
        let b = device.from_slice(&[2i32, 2, -2, -2, 3, -3, 3, -3]).unwrap();
        assert_eq!(flat(&a.floor_divide(&b)), [-4, 3, 3, -4, -1, -1, -2, -2]);
        assert_eq!(flat(&a.remainder(&b)), [1, 1, -1, -1, 2, -2, 1, -1]);
        assert_eq!(flat(&(&a / &b)), [-3, 3, 3, -3, 0, 0, -1, -1]);
        assert_eq!(flat(&(&a % &b)), [-1, 1, -1, 1, -1, 1, -2, 2]);
        let a = device.from_slice(&[-7.0f64, -1.0]).unwrap();
        let b = device.from_slice(&[2.0f64, 5.0]).unwrap();
        assert_eq!(flat(&a.floor_divide(&b))[0], -4.0);
        assert_eq!(flat(&a.remainder(&b))[1], 4.0);
    });
}

#[test]
fn c20_the_two_traps_of_hardware_division_in_every_integer_type() {
    macro_rules! check {
        ($device:ident: $($type:ty)+) => { $(
            let (least, minus) = (<$type>::MIN, (0 as $type).wrapping_sub(1));
            // Enough of them for the vectorised part of a loop, and a few for its rest.
            let cases = [(least, minus), (7, 0), (0, 0), (least, 0), (<$type>::MAX, minus), (least, 1)];
            let pairs: Vec<_> = cases.iter().cycle().take(1003).collect();
            let (a, b): (Vec<$type>, Vec<$type>) = pairs.into_iter().copied().unzip();
            let zip = |f: fn($type, $type) -> $type| a.iter().zip(&b).map(|(a, b)| f(*a, *b)).collect::<Vec<_>>();
            let (x, y) = ($device.from_slice(&a).unwrap(), $device.from_slice(&b).unwrap());
            let div = zip(|a, b| if b == 0 { 0 } else { a.wrapping_div(b) });
            let rem = zip(|a, b| if b == 0 { 0 } else { a.wrapping_rem(b) });
            assert_eq!(flat(&(&x / &y)), div);
            assert_eq!(flat(&(&x % &y)), rem);
            // None of these has a remainder, so flooring makes no difference.
            assert_eq!(flat(&x.floor_divide(&y)), div);
            assert_eq!(flat(&x.remainder(&y)), rem);
            assert!(flat(&(&x / 0)).iter().chain(&flat(&(&x % 0))).all(|value| *value == 0));
            assert_eq!(flat(&(&x / minus)), a.iter().map(|a| a.wrapping_div(minus)).collect::<Vec<_>>());
        )+ };
    }
    on_every(|device| {
        check!(device: i8 i16 i32 i64 u8 u16 u32 u64);
    });
}

#[test]
fn c21_shifts_by_the_width_or_more_lose_every_bit() {
    on_every(|device| {
        macro_rules! shifted {
            ($($type:ty: $a:expr, $op:tt, $b:expr => $right:expr;)+) => { $(
                let (a, b): ($type, $type) = ($a, $b);
                let (x, y) = (device.from_slice(&[a; 5]).unwrap(), device.from_slice(&[b; 5]).unwrap());
                assert_eq!(flat(&(&x $op &y)), [$right; 5], "{a} {} {b} of {}", stringify!($op), stringify!($type));
                assert_eq!(flat(&(&x $op b)), [$right; 5], "{a} {} {b} of {}", stringify!($op), stringify!($type));
            )+ };
        }
        shifted! {
            i32: 8, <<, 32 => 0;
            i32: 8, >>, 32 => 0;
            i32: -8, >>, 32 => -1;
            i8: 1, <<, 8 => 0;
            i64: 8, <<, 64 => 0;
            i64: -1, >>, 100 => -1;
            u64: u64::MAX, <<, 64 => 0;
            // The rest of the kind.
            i8: -128, >>, 7 => -1;
            i8: -128, >>, 8 => -1;
            i8: 1, <<, 7 => -128;
            i8: 64, >>, 127 => 0;
            i16: 1, <<, 15 => i16::MIN;
            i16: 1, <<, 16 => 0;
            i16: -1, >>, 31 => -1;
            u8: 255, >>, 8 => 0;
            u8: 255, <<, 8 => 0;
            u8: 255, <<, 32 => 0;
            u16: u16::MAX, >>, 16 => 0;
            u16: u16::MAX, <<, 17 => 0;
            u32: u32::MAX, >>, 32 => 0;
            u32: u32::MAX, <<, 33 => 0;
            u32: u32::MAX, <<, 31 => 1 << 31;
            u64: u64::MAX, >>, 64 => 0;
            u64: u64::MAX, <<, 63 => 1 << 63;
            u64: u64::MAX, <<, u64::MAX => 0;
            i32: 8, <<, -1 => 0;
            i32: -8, >>, -1 => -1;
            i64: 8, >>, i64::MIN => 0;
        }
    });
}

const SPECIALS: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 300.0, -1.5, 3e9];

#[test]
fn c23_casts_to_integers_saturate_and_take_nan_for_0() {
    fn check<F: Real>(device: &Device) {
        let host: Vec<F> = SPECIALS.iter().map(|value| F::from_f64(*value)).collect();
        let given = device.from_slice(&host).unwrap();
        // A view of it, and an expression.
        let wide = device.from_slice(&host.iter().flat_map(|value| [F::zero(), *value]).collect::<Vec<_>>()).unwrap();
        let negated = -(-given.cast::<f64>());
        for x in [given.clone(), wide.slice(s![1..;2]), given.reshape([6, 1]).slice(s![.., 0])] {
            check_values(&x);
        }
        check_values(&negated.cast::<F>());
    }
    fn check_values<F: Real>(x: &Array<F>) {
        let is_half = F::DTYPE == DType::F16 || F::DTYPE == DType::BF16;
        let big = F::rounded(3e9).real();
        assert_eq!(flat(&x.cast::<i32>()), [0, i32::MAX, i32::MIN, 300, -1, i32::MAX]);
        assert_eq!(flat(&x.cast::<u8>()), [0, 255, 0, 255, 0, 255]);
        assert_eq!(flat(&x.cast::<i64>()), [0, i64::MAX, i64::MIN, 300, -1, big as i64]);
        if !is_half {
            assert_eq!(flat(&x.cast::<i64>())[5], 3_000_000_000);
        }
        assert_eq!(flat(&x.cast::<i8>()), [0, 127, -128, 127, -1, 127]);
        assert_eq!(flat(&x.cast::<i16>()), [0, 32767, -32768, 300, -1, 32767]);
        assert_eq!(flat(&x.cast::<u16>()), [0, 65535, 0, 300, 0, 65535]);
        assert_eq!(flat(&x.cast::<u32>()), [0, u32::MAX, 0, 300, 0, big as u32]);
        assert_eq!(flat(&x.cast::<u64>()), [0, u64::MAX, 0, 300, 0, big as u64]);
        assert_eq!(flat(&x.cast::<bool>()), [true; 6]);
    }
    on_every(|device| {
        check::<f32>(device);
        check::<f64>(device);
        check::<bf16>(device);
        check::<f16>(device);
        // As constants.
        for (value, int, byte, long) in [
            (f32::NAN, 0, 0, 0),
            (f32::INFINITY, i32::MAX, 255, i64::MAX),
            (f32::NEG_INFINITY, i32::MIN, 0, i64::MIN),
            (300.0, 300, 255, 300),
            (-1.5, -1, 0, -1),
            (3e9, i32::MAX, 255, 3_000_000_000),
        ] {
            let x = device.full((), value);
            assert_eq!(x.cast::<i32>().item().unwrap(), int);
            assert_eq!(x.cast::<u8>().item().unwrap(), byte);
            assert_eq!(x.cast::<i64>().item().unwrap(), long);
            assert_eq!(device.full([3], value).cast::<i64>().sum().item().unwrap(), long.wrapping_mul(3));
        }
    });
}

#[test]
fn c25_casts_to_bf16_round_to_the_nearest_even() {
    on_every(|device| {
        let x = [0.269_140_88f32, 1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0, 3.38e38, 3.4e38];
        let right = [0.26953125f32, 1.0, 1.015625, 3.376_239_1e38, f32::INFINITY];
        let ours = flat(&device.from_slice(&x).unwrap().cast::<bf16>());
        assert_eq!(ours.iter().map(|value| value.to_f32()).collect::<Vec<_>>(), right);
        let back = device.from_slice(&x).unwrap().cast::<bf16>().cast::<f32>();
        assert_eq!(flat(&back), right);

        let nan = device.from_slice(&[f32::from_bits(0x7F80_0001), f32::from_bits(0xFF80_0001), f32::NAN]).unwrap();
        assert!(flat(&nan.cast::<bf16>()).iter().all(|value| value.is_nan()));
        assert!(flat(&nan.cast::<f16>()).iter().all(|value| value.is_nan()));
        let nan = device.from_slice(&[f64::from_bits(0x7FF0_0000_0000_0001), -f64::NAN]).unwrap();
        assert!(flat(&nan.cast::<bf16>()).iter().all(|value| value.is_nan()));
        assert!(flat(&nan.cast::<f16>()).iter().all(|value| value.is_nan()));

        let ints = [257i32, 259, 16_777_217];
        let right = [256.0f32, 260.0, 16_777_216.0];
        let ours = device.from_slice(&ints).unwrap().cast::<bf16>();
        assert_eq!(flat(&ours).iter().map(|value| value.to_f32()).collect::<Vec<_>>(), right);
        assert_eq!(flat(&device.from_slice(&ints.map(i64::from)).unwrap().cast::<bf16>().cast::<f32>()), right);

        // One rounding, not two: through f32 each of these would land on the tie and go down.
        let tie = (1i64 << 40) + (1 << 32);
        let ours = flat(&device.from_slice(&[tie, tie + 1, tie - 1]).unwrap().cast::<bf16>().cast::<f64>());
        assert_eq!(ours, [2f64.powi(40), 2f64.powi(40) + 2f64.powi(33), 2f64.powi(40)]);
        let tie = 1.0 + 2f64.powi(-8);
        let ours = flat(&device.from_slice(&[tie, tie + 2f64.powi(-50)]).unwrap().cast::<bf16>().cast::<f64>());
        assert_eq!(ours, [1.0, 1.0 + 2f64.powi(-7)]);
        let tie = 1.0 + 2f64.powi(-11);
        let ours = flat(&device.from_slice(&[tie, tie + 2f64.powi(-50)]).unwrap().cast::<f16>().cast::<f64>());
        assert_eq!(ours, [1.0, 1.0 + 2f64.powi(-10)]);
    });
}

#[test]
fn c41_a_chain_of_a_hundred_thousand_operations_evaluates_on_a_small_stack() {
    on_every(|device| {
        // Unfused, each operation is a launch; a tenth of them shows the same.
        let n = if device.config().fusion { 100_000 } else { 10_000 };
        let compiled = compiles(device, || {
            on_a_small_stack(|| {
                let mut x = device.full((), 1.0f32);
                for _ in 0..n {
                    x = &x + 1.0;
                }
                assert_eq!(x.item().unwrap(), n as f32 + 1.0);
                let mut x = device.from_slice(&[1.0f32, -1.0]).unwrap();
                for _ in 0..n {
                    x += 1.0;
                }
                assert_eq!(flat(&x), [n as f32 + 1.0, n as f32 - 1.0]);
            });
        });
        assert!(compiled <= 10, "{compiled} kernels compiled");
    });
}

#[test]
fn c41_a_million_nodes_are_dropped_on_a_small_stack() {
    on_fused(|device| {
        let before = device.counters();
        on_a_small_stack(|| {
            let mut x = device.full((), 1.0f32);
            let mut y = device.from_slice(&[1.0f64, 2.0]).unwrap();
            for i in 0..500_000 {
                x = &x + 1.0;
                y = if i % 3 == 0 { &y * &y } else { y.flip(0) };
            }
            // Other walks: of the error, of the text.
            assert!(x.check().is_ok());
            assert!(format!("{x:?} {y}").contains("not evaluated"));
            // A failed operation at the bottom of a long chain.
            let mut z = &y + device.zeros::<f64>([3]);
            for _ in 0..100_000 {
                z = &z + 1.0;
            }
            assert!(z.get().is_err());
        });
        assert_eq!(device.counters().launches, before.launches);
        assert_eq!(device.counters().live_bytes, before.live_bytes);
    });
}

#[test]
fn c42_more_operands_than_one_kernel_takes() {
    on_every(|device| {
        let buffers: Vec<Array<f32>> = (0..600).map(|k| device.from_slice(&[k as f32; 3]).unwrap()).collect();
        let mut sum = device.zeros::<f32>([3]);
        for buffer in &buffers {
            sum += buffer;
        }
        assert_eq!(flat(&sum), [179_700.0; 3]);

        let mut sum = device.zeros::<f32>([3]);
        for k in 0..600 {
            sum += k as f32;
        }
        assert_eq!(flat(&sum), [179_700.0; 3]);

        // As a tree, with strides in the way, and of a type whose scalars are wider.
        let rows: Vec<Array<f64>> =
            (0..600).map(|k| device.from_slice(&[f64::from(k); 6]).unwrap().reshape([2, 3]).t()).collect();
        let mut layer = rows;
        while layer.len() > 1 {
            layer =
                layer.chunks(2).map(|two| if two.len() == 2 { &two[0] + &two[1] } else { two[0].clone() }).collect();
        }
        same(&layer[0], ArrayD::from_elem(IxDyn(&[3, 2]), 179_700.0));

        // And as many results of one space.
        let results: Vec<Array<f32>> = buffers.iter().take(300).map(|buffer| buffer + 1.0).collect();
        for (k, result) in lazuli::get(&results[..]).unwrap().into_iter().enumerate() {
            assert_eq!(result, arr1(&[k as f32 + 1.0; 3]).into_dyn());
        }
    });
}

#[test]
fn c44_scalars_are_arguments_and_do_not_compile_again() {
    on_every(|device| {
        let x = device.from_slice(&[1.0f32, 2.0]).unwrap();
        let step = |i: usize| flat(&(&x * i as f32 + 1.0));
        assert_eq!(step(3), [4.0, 7.0]);
        let again = compiles(device, || {
            for i in 0..1000 {
                assert_eq!(step(i), [i as f32 + 1.0, 2.0 * i as f32 + 1.0]);
            }
        });
        assert_eq!(again, 0);
    });
}

#[test]
fn c44_equal_scalars_are_not_merged_by_value_for_any_type() {
    fn check<T: Number>(device: &Device) {
        let x = device.from_slice(&[T::one(), T::from_f64(2.0)]).unwrap();
        let step = |a: f64, b: f64| {
            let ours = flat(&(&x * T::from_f64(a) + T::from_f64(b)));
            assert_eq!(ours, [T::from_f64(a + b), T::from_f64(2.0 * a + b)]);
        };
        step(3.0, 4.0);
        let again = compiles(device, || {
            [(1.0, 1.0), (0.0, 0.0), (2.0, 1.0), (1.0, 2.0), (2.0, 2.0)].into_iter().for_each(|(a, b)| step(a, b));
        });
        assert_eq!(again, 0, "{}", T::DTYPE);
    }
    on_every(|device| {
        check::<i8>(device);
        check::<u32>(device);
        check::<i64>(device);
        check::<f16>(device);
        check::<bf16>(device);
        check::<f64>(device);
    });
}

#[test]
fn c49_threads_share_an_unevaluated_array() {
    on_every(|device| {
        let a = device.arange(0, 6, 1).reshape([2, 3]) + 1;
        let start = std::sync::Barrier::new(8);
        let results: Vec<ArrayD<i32>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|k| {
                    let (a, start) = (&a, &start);
                    scope.spawn(move || {
                        start.wait();
                        values(&(a + k))
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(results[3], arr2(&[[4, 5, 6], [7, 8, 9]]).into_dyn());
        assert_eq!(results.iter().map(|result| result.sum()).sum::<i32>(), 336);
    });
}

#[test]
fn c49_threads_evaluate_and_drop_one_array_at_once() {
    on_every(|device| {
        for round in 0..20 {
            let source = device.from_slice(&vec![1.0f32; 1000]).unwrap();
            let a = &source * 2.0 + round as f32;
            drop(source);
            std::thread::scope(|scope| {
                for k in 0..8 {
                    let a = a.clone();
                    scope.spawn(move || {
                        let right = (2.0 + round as f32) * 1000.0;
                        match k % 4 {
                            0 => a.eval().unwrap(),
                            1 => assert_eq!(a.sum().item().unwrap(), right),
                            2 => assert_eq!(flat(&(&a - a.flip(0))), vec![0.0; 1000]),
                            _ => assert_eq!(flat(&a), vec![2.0 + round as f32; 1000]),
                        }
                    });
                }
            });
        }
    });
}

#[test]
fn c49_two_threads_that_need_one_kernel_compile_it_once() {
    on_each(|fused, _| {
        let x = fused.from_slice(&[1.0f32, 2.0, 3.0]).unwrap();
        let start = std::sync::Barrier::new(8);
        let compiled = compiles(fused, || {
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        start.wait();
                        assert_eq!(flat(&((&x * 3.0 - 1.0) * &x)), [2.0, 10.0, 24.0]);
                    });
                }
            });
        });
        assert_eq!(compiled, 1);
    });
}

#[test]
fn c51_an_upload_takes_the_values_at_the_call() {
    on_every(|device| {
        for n in [100usize, 3_000_000] {
            let right = (n * (n - 1) / 2) as f64;
            let mut h = Array1::from_iter((0..n).map(|i| i as f64));
            let x = device.to_device(&h).unwrap();
            h.fill(-1.0);
            drop(h);
            let over = vec![7.0f64; n];
            assert_eq!(x.sum().item().unwrap(), right);
            assert_eq!(flat(&x.slice(s![..3])), [0.0, 1.0, 2.0]);
            drop(over);

            let mut h: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let y = device.from_slice(&h).unwrap() + 0.0;
            h.fill(-1.0);
            assert_eq!(y.sum().item().unwrap(), right);
        }
    });
}

#[test]
fn c52_a_wrong_shape_is_an_error_value_and_the_device_goes_on() {
    on_every(|device| {
        let line = line!() + 1;
        let sum = device.zeros::<f32>([2, 3]) + device.zeros::<f32>([4, 3]);
        let error = sum.get().unwrap_err();
        assert!(matches!(error, Error::ShapeMismatch { .. }), "{error:?}");
        let message = error.to_string();
        for part in ["add", "[2, 3]", "[4, 3]", &format!("cases.rs:{line}")] {
            assert!(message.contains(part), "{part} is missing in: {message}");
        }
        assert_eq!((device.full((), 1) + 1).item().unwrap(), 2);
    });
}

#[test]
fn c52_every_binary_operation_names_both_shapes_and_its_line() {
    on_each(|device, _| {
        let a = device.from_shape([2, 3], &[1.0f32; 6]).unwrap();
        let b = device.from_shape([4, 3], &[1.0f32; 12]).unwrap();
        let i = device.from_shape([2, 3], &[1i32; 6]).unwrap();
        let j = device.from_shape([4, 3], &[1i32; 12]).unwrap();
        macro_rules! refused {
            ($($name:literal: $array:expr;)+) => { $(
                let failed = $array;
                let message = failed.get().unwrap_err().to_string();
                for part in [$name, "[2, 3]", "[4, 3]"] {
                    assert!(message.contains(part), "{part} is missing in: {message}");
                }
                // In a macro, `line!()` is the line of the whole list.
                let lines = line!()..line!() + 40;
                assert!(lines.into_iter().any(|line| message.contains(&format!("cases.rs:{line}:"))), "{message}");
                assert!(failed.check().is_err() && failed.eval().is_err() && failed.item().is_err());
            )+ };
        }
        refused! {
            "sub": &a - &b;
            "mul": &a * &b;
            "div": &a / &b;
            "rem": &a % &b;
            "pow": a.pow(&b);
            "atan2": a.atan2(&b);
            "hypot": a.hypot(&b);
            "copysign": a.copysign(&b);
            "minimum": a.minimum(&b);
            "maximum": a.maximum(&b);
            "floor_divide": a.floor_divide(&b);
            "remainder": a.remainder(&b);
            "bitand": &i & &j;
            "bitor": &i | &j;
            "bitxor": &i ^ &j;
            "shl": &i << &j;
            "shr": &i >> &j;
            "eq": a.eq(&b);
            "ne": a.ne(&b);
            "lt": a.lt(&b);
            "le": a.le(&b);
            "gt": a.gt(&b);
            "ge": a.ge(&b);
            "mul_add": a.mul_add(&b, 1.0);
            "mul_add": a.mul_add(1.0, &b);
            "select": a.gt(0.0).select(&b, 1.0);
            "select": a.gt(0.0).select(1.0, &b);
            "broadcast_to": a.broadcast_to([4, 3]);
            "add_assign": { let mut x = a.clone(); x += &b; x };
            "slice_assign": { let mut x = b.clone(); x.slice_assign(s![.., ..], &a); x };
        }
    });
}

const NOTHING_FOUND: &str = "cases::c59_inner_no_driver";

#[test]
fn c59_without_drivers_the_host_alone_is_left() {
    let folder = Folder::new("no-vendors");
    let path = folder.0.to_string_lossy().into_owned();
    let output = in_a_process(
        NOTHING_FOUND,
        &[
            ("OCL_ICD_VENDORS", &path),
            ("OPENCL_VENDOR_PATH", &path),
            ("OCL_ICD_FILENAMES", ""),
            ("CUDA_VISIBLE_DEVICES", ""),
            ("LAZULI_DEVICE", ""),
        ],
    );
    assert_passed(&output);
}

#[test]
#[ignore = "run by c59_without_drivers_the_host_alone_is_left in a process of its own"]
fn c59_inner_no_driver() {
    let found: Vec<String> = Device::list().into_iter().map(|info| info.name).collect();
    assert_eq!(found, ["host"]);
    let absent = Device::absent().join("\n");
    println!("{absent}");
    assert!(absent.contains("OpenCL") && absent.contains("CUDA"), "{absent}");
    for (name, looked_for) in [("cuda:0", "cuda"), ("opencl:0", "opencl")] {
        match Device::from_name(name) {
            Err(Error::DeviceNotFound { name: refused, looked_for: lines }) => {
                assert_eq!(refused, name);
                assert!(lines.join("\n").to_lowercase().contains(looked_for), "{lines:?}");
            }
            other => panic!("{other:?}"),
        }
    }
    let device = Device::auto().unwrap();
    assert_eq!(device.name(), "host");
    assert_eq!(flat(&(device.arange(0, 3, 1) + 1)), [1, 2, 3]);
    let passed_over = device.passed_over().join("\n");
    assert!(passed_over.contains("CUDA") && passed_over.contains("OpenCL"), "{passed_over}");
}

#[test]
fn c40_grids_and_ranks_past_the_usual_limits() {
    on_every(|device| {
        let x = device.from_shape([70_001, 3], &vec![1.0f32; 210_003]).unwrap();
        assert_eq!((x.t() + x.t()).sum().item().unwrap(), 420_006.0);
        assert!(flat(&x.sum_axis(1)).iter().all(|sum| *sum == 3.0));
        let a = device.arange(0.0f32, 131_074.0, 1.0).reshape([65_537, 1, 2]).permute(&[2, 1, 0]);
        assert_eq!((a + 1.0).slice(s![-1, -1, -1]).item().unwrap(), 131_074.0);
    });
}

#[test]
fn c40_more_rows_than_a_grid_axis_takes_in_every_kind_of_kernel() {
    on_every(|device| {
        let rows = 65_536 * 2 + 3;
        let x = device.arange(0i64, rows, 1).reshape([rows as usize, 1]);
        let wide = x.broadcast_to([rows as usize, 2]) * 2;
        same(&wide.slice(s![-1, ..]), arr1(&[2 * (rows - 1); 2]).into_dyn());
        same(&(wide.t() + wide.t()).slice(s![.., -1]), arr1(&[4 * (rows - 1); 2]).into_dyn());
        assert_eq!(wide.max_axis(1).sum().item().unwrap(), rows * (rows - 1));
        let centred = &wide - wide.min_axes_keep(&[1]);
        assert!(!centred.ne(0).any().item().unwrap());
        let last = device.from_slice(&[rows - 1, 0, -2]).unwrap();
        same(&wide.take(&last, 0).slice(s![.., 1]), arr1(&[2 * (rows - 1), 0, 2 * (rows - 2)]).into_dyn());
    });
}

#[test]
fn c38_more_axes_than_anyone_needs() {
    on_every(|device| {
        // Twenty-eight axes, ten of which reversal moves.
        let mut shape = [2usize; 28];
        shape[10..].fill(1);
        let y = device.arange(0i32, 1024, 1).reshape(shape).t() + 0;
        assert_eq!(y.ndim(), 28);
        let reversed = (0..1024i32).map(|i| (i as u32).reverse_bits() as i32 >> 22 & 1023).collect::<Vec<_>>();
        assert_eq!((reversed[1], reversed[3]), (512, 768));
        assert_eq!(flat(&y), reversed);
        assert_eq!(values(&y).index_axis(Axis(0), 0).len(), 1024);

        let shape = [2usize, 3, 2, 3, 2, 3, 2, 3, 2];
        let z = device.arange(0i64, 2592, 1).reshape(shape);
        assert_eq!((z.t() * z.reshape(z.t().shape())).sum().item().unwrap(), 4_360_377_096);
        // All axes but the outer ones folded, in both orders, and a gather along the middle one.
        let host = Array1::from_iter(0..2592i64).into_shape_with_order(IxDyn(&shape)).unwrap();
        let inner: Vec<isize> = (1..8).collect();
        let mut right = host.clone();
        for _ in 0..7 {
            right = right.sum_axis(Axis(1));
        }
        same(&z.sum_axes(&inner), right.clone());
        same(&z.t().sum_axes(&inner), right.t().to_owned());
        let places = device.from_slice(&[1i32, 0, -1]).unwrap();
        same(&z.take(&places, 4), host.select(Axis(4), &[1, 0, 1]));
    });
}

#[test]
fn c14_the_first_nan_is_the_least_and_the_greatest() {
    on_every(|device| {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let mut long: Vec<f32> = (0..5000).map(|i| i as f32).collect();
        long[2500] = nan;
        for (host, at) in
            [(vec![3.0, nan, 1.0, 5.0], 1), (vec![1.0, 2.0, nan], 2), (vec![inf, nan, -inf], 1), (long, 2500)]
        {
            let x = device.from_slice(&host).unwrap();
            assert_eq!((x.argmax().item().unwrap(), x.argmin().item().unwrap()), (at, at));
            assert_eq!((x.argmax_axis(0).item().unwrap(), x.argmin_axis(-1).item().unwrap()), (at, at));
            // The element there is the extreme.
            assert!(x.take(&x.argmax().reshape([1]), 0).item().unwrap().is_nan());
            assert!(x.max().item().unwrap().is_nan() && x.min().item().unwrap().is_nan());
            let computed = (&x * 2.0).exp();
            assert_eq!(computed.argmax().item().unwrap(), at);
        }
    });
}

#[test]
fn c14_in_every_float_type_and_along_every_axis() {
    fn check<T: Real>(device: &Device) {
        for axis in [0usize, 1] {
            for (rows, columns) in [(3, 5), (70, 9), (4, 300)] {
                let nan = (rows / 2, columns / 2);
                let host = Array2::from_shape_fn((rows, columns), |(i, j)| match (i, j) == nan {
                    true => T::rounded(f64::NAN),
                    false => T::rounded(((i * 7 + j * 3) % 11) as f64 - 5.0),
                });
                let x = device.to_device(&host).unwrap();
                let first = |beats: fn(f64, f64) -> bool| {
                    host.map_axis(Axis(axis), |row| {
                        let values: Vec<f64> = row.iter().map(|v| v.real()).collect();
                        let best = values.iter().enumerate().fold(0, |best, (i, v)| {
                            let wins = !values[best].is_nan() && (v.is_nan() || beats(*v, values[best]));
                            if wins { i } else { best }
                        });
                        best as i64
                    })
                };
                same(&x.argmax_axis(axis as isize), first(|a, b| a > b).into_dyn());
                same(&x.argmin_axis(axis as isize), first(|a, b| a < b).into_dyn());
            }
        }
    }
    on_every(|device| {
        check::<f16>(device);
        check::<bf16>(device);
        check::<f32>(device);
        check::<f64>(device);
    });
}

#[test]
fn c17_sums_and_means_widen_before_they_overflow() {
    on_every(|device| {
        let most = device.from_slice(&[i32::MAX; 2]).unwrap();
        assert_eq!(most.mean().item().unwrap(), 2_147_483_647.0f64);
        assert_eq!(most.sum().item().unwrap(), 4_294_967_294i64);
        let small = device.from_slice(&[100i8; 3]).unwrap();
        assert_eq!((small.sum().item().unwrap(), small.mean().item().unwrap()), (300i64, 100.0f64));
        assert_eq!(device.from_slice(&[255u8; 2]).unwrap().sum().item().unwrap(), 510u64);
        let halves = device.from_slice(&[f16::from_f32(60_000.0); 2]).unwrap();
        assert_eq!(halves.mean().item().unwrap(), f16::from_f32(60_000.0));
        assert_eq!(device.ones::<bool>([300]).sum().item().unwrap(), 300i64);
        // Of the same kind: what is computed before the fold, other axes and forms, and longer arrays.
        assert_eq!((&most + 0).sum_axes_keep(&[0]).item().unwrap(), 4_294_967_294i64);
        let many = device.full([70, 1000], 100i8);
        same(&many.sum_axis(1), Array1::from_elem(70, 100_000i64).into_dyn());
        same(&many.mean_axis(0), Array1::from_elem(1000, 100.0f64).into_dyn());
        assert_eq!(device.full([100_000], f16::from_f32(600.0)).mean().item().unwrap(), f16::from_f32(600.0));
        assert_eq!(device.full([100_000], bf16::ONE).sum().item().unwrap(), bf16::from_f32(99_840.0));
        assert_eq!(device.full([3], u32::MAX).prod().item().unwrap(), u64::from(u32::MAX).wrapping_pow(3));
        assert_eq!(device.full([2], i32::MIN).var(0).item().unwrap(), 0.0f64);
        assert_eq!(device.full([4], 60_000u16).norm(Norm::L2).item().unwrap(), 120_000.0f64);
    });
}

#[test]
fn c26_subnormals_keep_their_value() {
    on_every(|device| {
        let close = |ours: Array<f32>, right: f32| {
            let ours = ours.item().unwrap();
            assert!(ours == right || (ours / right - 1.0).abs() < 3e-7, "{ours} where {right} is right");
        };
        let t = device.from_slice(&[1e-40f32]).unwrap();
        close(t.log(), -92.103_41);
        close(t.sqrt(), 9.999_973e-21);
        close(&t / &t, 1.0);
        close(&t * 1e30, 9.999_946e-11);
        let least = device.from_slice(&[f32::from_bits(1)]).unwrap();
        close(&least * f32::NEG_INFINITY, f32::NEG_INFINITY);
        let small = device.from_slice(&[1e-10f32]).unwrap();
        close(small.log1p(), 1e-10);
        close(small.expm1(), 1e-10);
        close(device.from_slice(&[f32::INFINITY]).unwrap().log1p(), f32::INFINITY);
        // Stored, and reduced.
        assert_eq!(flat(&(&least + &least)), [f32::from_bits(2)]);
        assert_eq!(device.full([1000], f32::from_bits(3)).sum().item().unwrap(), f32::from_bits(3000));
        assert_eq!(least.max().item().unwrap(), f32::from_bits(1));
        assert_eq!(device.from_slice(&[0.0, f32::from_bits(1)]).unwrap().count_nonzero().item().unwrap(), 1);
        assert_eq!(device.from_slice(&[f64::from_bits(1), 0.0]).unwrap().argmax().item().unwrap(), 0);
    });
}

#[test]
fn c36_an_index_out_of_range_is_an_error_and_the_device_goes_on() {
    on_every(|device| {
        let x = device.arange(0i64, 10, 1);
        let of = |indices: &[i64]| x.take(&device.from_slice(indices).unwrap(), 0);
        let refused = |array: Array<i64>, index: i64| {
            let error = array.get().unwrap_err();
            assert!(
                matches!(error, Error::IndexOutOfRange { index: told, extent: 10, .. } if told == index),
                "{error}"
            );
            let said = error.to_string();
            assert!(said.contains("take") && said.contains("[10]") && said.contains("cases.rs"), "{said}");
        };
        refused(of(&[0, 2, 4, 8, 10]), 10);
        refused(of(&[-11]), -11);
        same(&of(&[-10]), arr1(&[0i64]).into_dyn());
        same(&of(&[]), Array1::<i64>::zeros(0).into_dyn());
        assert_eq!(x.sum().item().unwrap(), 45);
        // With data on the device, a computed index, and within a reduction.
        x.eval().unwrap();
        refused(of(&[0, 10]), 10);
        refused(x.take(&(&x + 1), 0), 10);
        refused(x.take(&(&x + 1), 0).sum(), 10);
        refused(x.reshape([10, 1]).broadcast_to([10, 3]).take(&(&x - 11), 0).sum_axis(0), -11);
        assert_eq!(x.take(&(&x - 10), 0).sum().item().unwrap(), 45);
    });
}

#[test]
fn c47_a_loop_that_only_records_does_not_hold_every_step() {
    fn steps(t: &mut Array<f32>, t1: &Array<f32>, count: usize) {
        for _ in 0..count {
            *t = &*t * 0.1 + t1 * (1.0 - 0.1);
        }
    }
    let is = |t: &Array<f32>, right: f32| assert!(flat(t).iter().all(|v| (v - right).abs() < 1e-6), "{t}");
    on_every(|device| {
        let (mut t, t1) = (device.zeros::<f32>([4]), device.ones::<f32>([4]));
        steps(&mut t, &t1, 1);
        is(&t, 0.9);
        steps(&mut t, &t1, 1);
        is(&t, 0.99);
        steps(&mut t, &t1, 998);
        is(&t, 1.0);
        // Evaluated at every step: what is alive is as much after a thousand as after ten.
        t.eval().unwrap();
        let after = |t: &mut Array<f32>, count: usize| {
            for _ in 0..count {
                steps(t, &t1, 1);
                t.eval().unwrap();
            }
            device.counters().live_bytes
        };
        let few = after(&mut t, 10);
        assert_eq!(after(&mut t, 1000), few);
        is(&t, 1.0);
    });
    on_fused(|device| {
        let (mut t, t1) = (device.zeros::<f32>([4]), device.ones::<f32>([4]));
        let mut live = Vec::new();
        for _ in 0..256 {
            steps(&mut t, &t1, 1000);
            t.eval().unwrap();
            live.push(device.counters().live_bytes);
        }
        is(&t, 1.0);
        assert_eq!(live.first(), live.last(), "live bytes do not grow with steps");
        let mut t = device.zeros::<f32>([4]);
        let before = device.counters();
        steps(&mut t, &t1, 256_000);
        assert_eq!(device.counters().live_bytes, before.live_bytes, "recording takes no memory of the device");
        is(&t, 1.0);
        let grown = device.counters().peak_bytes - before.peak_bytes.min(device.counters().peak_bytes);
        assert!(grown <= 1 << 16, "{grown} bytes more at the peak of 256000 steps at once");
    });
}
