//! Gathers: values by NumPy's rules, launches, and indices out of range as errors.

use lazuli::prelude::*;
use lazuli::{Array, Error};
use ndarray::{Array1, Array2, ArrayD, Axis, IxDyn, arr1, arr2, s};

use crate::common::*;

/// 0, 1, .. in row-major order.
fn counted(shape: &[usize]) -> ArrayD<f32> {
    let n: usize = shape.iter().product();
    Array1::from_iter((0..n).map(|i| i as f32)).into_shape_with_order(IxDyn(shape)).unwrap()
}

/// What NumPy's `take` gives.
fn taken(x: &ArrayD<f32>, indices: &ArrayD<i64>, axis: usize) -> ArrayD<f32> {
    let extent = x.shape()[axis] as i64;
    let flat: Vec<usize> = indices.iter().map(|i| i.rem_euclid(extent) as usize).collect();
    let mut shape = x.shape().to_vec();
    shape.splice(axis..=axis, indices.shape().iter().copied());
    x.select(Axis(axis), &flat).as_standard_layout().into_owned().into_shape_with_order(IxDyn(&shape)).unwrap()
}

/// Indices between `-extent` and `extent - 1`, of no order.
fn scattered(shape: &[usize], extent: usize) -> ArrayD<i64> {
    let n: usize = shape.iter().product();
    let index = |i: usize| ((i * 7919 + 5) % (2 * extent)) as i64 - extent as i64;
    Array1::from_iter((0..n).map(index)).into_shape_with_order(IxDyn(shape)).unwrap()
}

#[track_caller]
fn out_of_range<T: Element>(array: &Array<T>) -> (&'static str, i64, usize, u32) {
    match array.get() {
        Err(Error::IndexOutOfRange { op, index, extent, at, .. }) => {
            assert!(at.file().ends_with("gather.rs"));
            (op, index, extent, at.line())
        }
        Err(other) => panic!("{other}"),
        Ok(values) => panic!("{values}"),
    }
}

#[test]
fn every_axis_by_indices_of_every_rank() {
    on_every(|device| {
        for shape in [&[7][..], &[5, 6], &[4, 3, 5], &[2, 3, 2, 4]] {
            let host = counted(shape);
            let x = device.to_device(&host).unwrap();
            for axis in 0..shape.len() {
                for of in [&[][..], &[1], &[9], &[3, 2], &[2, 1, 3], &[0], &[2, 0]] {
                    let indices = scattered(of, shape[axis]);
                    let ours = x.take(&device.to_device(&indices).unwrap(), axis as isize);
                    same(&ours, taken(&host, &indices, axis));
                    let ours = x.take(&device.to_device(&indices).unwrap(), axis as isize - shape.len() as isize);
                    same(&ours, taken(&host, &indices, axis));
                }
            }
        }
    });
}

#[test]
fn operands_of_every_layout() {
    on_every(|device| {
        let host = counted(&[6, 8]);
        let x = device.to_device(&host).unwrap();
        let indices = device.from_slice(&[5i32, -1, 0, 2]).unwrap();
        let wide = arr1(&[5i64, -1, 0, 2]).into_dyn();
        same(&x.t().take(&indices, 0), taken(&host.t().to_owned(), &wide, 0));
        same(&x.t().take(&indices, 1), taken(&host.t().to_owned(), &wide, 1));
        same(&x.flip(1).take(&indices, 1), taken(&host.slice(s![.., ..;-1]).to_owned().into_dyn(), &wide, 1));
        same(
            &x.slice(s![.., 1..;2]).take(&indices, 0),
            taken(&host.slice(s![.., 1..;2]).to_owned().into_dyn(), &wide, 0),
        );
        let fortran = device.to_device(&host.t().as_standard_layout().to_owned().reversed_axes()).unwrap();
        same(&fortran.take(&indices, 1), taken(&host, &wide, 1));
        let row = device.to_device(&counted(&[8])).unwrap().broadcast_to([3, 8]);
        same(&row.take(&indices, 1), taken(&counted(&[8]).broadcast(IxDyn(&[3, 8])).unwrap().to_owned(), &wide, 1));
        same(&(&x * 2.0).take(&indices, 0), taken(&(&host * 2.0), &wide, 0));
        same(&x.exp().log().take(&indices, 0).round(), taken(&host, &wide, 0));
        same(&x.sum_axis(1).take(&indices, 0), taken(&host.sum_axis(Axis(1)), &wide, 0));
        same(&x.take(&indices, 0).take(&indices, 1), taken(&taken(&host, &wide, 0), &wide, 1));
        same(&x.reshape([3, 16]).take(&indices.slice(s![2..]), 0).reshape([2, 2, 8]), {
            let three = host.clone().into_shape_with_order(IxDyn(&[3, 16])).unwrap();
            taken(&three, &arr1(&[0i64, 2]).into_dyn(), 0).into_shape_with_order(IxDyn(&[2, 2, 8])).unwrap()
        });
    });
}

#[test]
fn all_elements_in_row_major_order() {
    on_every(|device| {
        let host = counted(&[4, 5]);
        let x = device.to_device(&host).unwrap();
        let indices = device.from_shape([2, 2], &[0u16, 7, 19, 11]).unwrap();
        same(&x.take_flat(&indices), arr2(&[[0.0f32, 7.0], [19.0, 11.0]]).into_dyn());
        same(&x.t().take_flat(&indices), arr2(&[[0.0f32, 16.0], [19.0, 17.0]]).into_dyn());
        same(&x.take_flat(&device.from_slice(&[-20i64]).unwrap()), arr1(&[0.0f32]).into_dyn());
        let wrong = x.take_flat(&device.from_slice(&[-21i64]).unwrap());
        assert_eq!(out_of_range(&wrong), ("take_flat", -21, 20, line!() - 1));
        let said = wrong.get().unwrap_err().to_string();
        assert!(said.contains("20 elements") && said.contains("[4, 5]") && said.contains("[1]"), "{said}");
    });
}

#[test]
fn along_an_axis_place_by_place() {
    on_every(|device| {
        let x = device.from_shape([2, 3], &[10, 30, 20, 60, 40, 50]).unwrap();
        let order = device.from_shape([2, 3], &[0i8, 2, 1, 1, 2, 0]).unwrap();
        same(&x.take_along_axis(&order, 1), arr2(&[[10, 20, 30], [40, 50, 60]]).into_dyn());
        let rows = device.from_shape([1, 3], &[1u8, 0, 1]).unwrap();
        same(&x.take_along_axis(&rows, 0), arr2(&[[60, 30, 50]]).into_dyn());
        let last = device.from_shape([1, 1], &[-1i64]).unwrap();
        same(&x.take_along_axis(&last, -1), arr2(&[[20], [50]]).into_dyn());
        let error = x.take_along_axis(&device.zeros::<i32>([3, 3]), 1).get().unwrap_err().to_string();
        assert!(error.contains("take_along_axis") && error.contains("[2, 3] and [3, 3]"), "{error}");
        let error = x.take_along_axis(&device.zeros::<i32>([3]), 1).get().unwrap_err().to_string();
        assert!(error.contains("take_along_axis") && error.contains("[2, 3] and [3]"), "{error}");
    });
}

#[test]
fn indices_of_every_integer_type_and_their_ends() {
    fn check<I: Integer>(device: &Device, wrong: I, told: i64) {
        let x = device.arange(0i64, 100, 1);
        let of = |values: [f64; 3]| device.from_slice(&values.map(I::from_f64)).unwrap();
        same(&x.take(&of([99.0, 0.0, 50.0]), 0), arr1(&[99i64, 0, 50]).into_dyn());
        let wrong = device.full([4], wrong);
        assert_eq!(out_of_range(&x.take(&wrong, 0)).1, told);
    }
    on_every(|device| {
        check::<i8>(device, i8::MIN, -128);
        check::<i8>(device, i8::MAX, 127);
        check::<i16>(device, i16::MIN, -32768);
        check::<i32>(device, i32::MAX, i64::from(i32::MAX));
        check::<i64>(device, i64::MIN, -i64::from(i32::MAX));
        check::<i64>(device, i64::MAX, i64::from(i32::MAX));
        check::<u8>(device, 100, 100);
        check::<u16>(device, u16::MAX, 65_535);
        check::<u32>(device, u32::MAX, i64::from(i32::MAX));
        check::<u64>(device, u64::MAX, i64::from(i32::MAX));
    });
}

#[test]
fn a_gather_is_part_of_its_readers_kernel() {
    on_fused(|device| {
        let (n, m) = (5000usize, 300usize);
        let table = device.to_device(&counted(&[m])).unwrap();
        let places = device.to_device(&scattered(&[n], m)).unwrap();
        let w = device.to_device(&(counted(&[n]) + 1.0)).unwrap();
        let y = table.take(&places, 0) * &w;
        assert_eq!(launches(device, || y.eval().unwrap()), 1);
        same(&y, taken(&counted(&[m]), &scattered(&[n], m), 0) * (counted(&[n]) + 1.0));

        // Indices computed in the kernel, a cheap operand, a reduction after it, and a row kernel over gathered rows.
        let y = table.take(&(device.arange(0i64, m as i64, 1) * 7 % m as i64), 0);
        assert_eq!(launches(device, || y.eval().unwrap()), 1);
        same(&y, Array1::from_iter((0..m).map(|i| (i * 7 % m) as f32)).into_dyn());
        let y = (&table + 1.0).take(&places, 0) - 1.0;
        assert_eq!(launches(device, || y.eval().unwrap()), 1);
        let rows = device.to_device(&counted(&[40, 70])).unwrap();
        let some = device.to_device(&scattered(&[90], 40)).unwrap();
        let sums = rows.take(&some, 0).sum_axis(1);
        assert_eq!(launches(device, || sums.eval().unwrap()), 1);
        same(&sums, taken(&counted(&[40, 70]), &scattered(&[90], 40), 0).sum_axis(Axis(1)));
        let x = rows.take(&some, 0);
        let centred = &x - x.mean_axes_keep(&[1]);
        assert_eq!(launches(device, || centred.eval().unwrap()), 1);

        // A dear operand is stored first, and so is a gather of which a part is read.
        let y = table.exp().take(&places, 0);
        assert_eq!(y.explain().unwrap().kernels.len(), 2);
        assert!(y.explain().unwrap().to_string().contains("its value is read at computed indices"));
        let part = table.take(&places, 0).slice(s![..10]) + 1.0;
        assert_eq!(part.explain().unwrap().kernels.len(), 2);
        assert!(part.explain().unwrap().to_string().contains("take"));
    });
}

#[test]
fn fused_gathers_give_the_bits_of_separate_ones() {
    on_each(|fused, unfused| {
        let record = |device: &Device| {
            let x = device.to_device(&counted(&[37, 53]).mapv(|v| (v * 0.37).sin())).unwrap();
            let rows = device.to_device(&scattered(&[64], 37)).unwrap();
            let places = device.to_device(&scattered(&[64, 53], 53)).unwrap();
            let y = x.take(&rows, 0);
            let z = (&y - y.max_axes_keep(&[1])).exp();
            ((&z / z.sum_axes_keep(&[1])).take_along_axis(&places, 1) * 3.0 + &y.t().t()).sum_axis(0)
        };
        let bits = |array: Array<f32>| flat(&array).iter().map(|v| v.to_bits()).collect::<Vec<u32>>();
        assert_eq!(bits(record(fused)), bits(record(unfused)));
    });
}

#[test]
fn a_bad_index_is_an_error_of_every_value_made_of_it_and_of_no_other() {
    on_every(|device| {
        let x = device.to_device(&counted(&[10])).unwrap();
        let bad = device.from_slice(&[0i64, 12, 3, -14, 11]).unwrap();
        let y = x.take(&bad, 0);
        let line = line!() - 1;
        y.eval().expect("evaluating does not ask the device");
        let right = ("take", 12, 10, line);
        for _ in 0..3 {
            assert_eq!(out_of_range(&y), right, "each time");
        }
        assert_eq!(out_of_range(&(&y * 2.0)), right, "of what is made of it later");
        assert_eq!(out_of_range(&y.slice(s![..1])), right, "of a part of it that is right");
        assert_eq!(out_of_range(&(y.slice(s![..1]) + 1.0)), right);
        assert_eq!(out_of_range(&x.take(&bad, 0).slice(s![..1])).1, 12, "of a part recorded before it ran");
        assert_eq!(out_of_range(&(x.take(&bad, 0).slice(s![..1]) + 1.0)).1, 12);
        assert_eq!(out_of_range(&x.take(&bad, 0).sum()).1, 12);
        assert!(matches!(y.sum().item(), Err(Error::IndexOutOfRange { .. })));
        let mut host = Array1::<f32>::zeros(5);
        assert!(matches!(y.get_into(&mut host), Err(Error::IndexOutOfRange { .. })));
        assert!(
            matches!(y.to(&Device::host().unwrap()), Err(Error::IndexOutOfRange { .. })) || device.name() == "host"
        );

        // Values of one kernel with it are right.
        let good = device.from_slice(&[0i64, 9, 3, -10, 1]).unwrap();
        let (a, b, c) = (x.take(&bad, 0) + 1.0, x.take(&good, 0) + 1.0, x.slice(s![..5]) * 2.0);
        lazuli::eval((&a, &b, &c)).unwrap();
        assert_eq!(out_of_range(&a).1, 12);
        same(&b, arr1(&[1.0f32, 10.0, 4.0, 1.0, 2.0]).into_dyn());
        same(&c, arr1(&[0.0f32, 2.0, 4.0, 6.0, 8.0]).into_dyn());
        assert!(lazuli::get((&b, &a)).is_err());
        let (a, b) =
            (x.take(&device.from_slice(&[-11i32]).unwrap(), 0), x.take(&device.from_slice(&[10u32]).unwrap(), 0));
        lazuli::eval((&a, &b)).unwrap();
        assert_eq!((out_of_range(&a).1, out_of_range(&b).1), (-11, 10));
        assert_eq!(x.sum().item().unwrap(), 45.0, "the device goes on working");
    });
}

#[test]
fn indices_are_checked_where_every_element_is_the_same() {
    on_every(|device| {
        let (good, bad) = (device.from_slice(&[0i64, -3, 2]).unwrap(), device.from_slice(&[0i64, 3, 2]).unwrap());
        let one = device.from_slice(&[5.0f32]).unwrap();
        let column = device.from_shape([2, 1], &[1.0f32, 2.0]).unwrap();
        same(&device.full([3], 7.0f32).take(&good, 0), arr1(&[7.0f32; 3]).into_dyn());
        same(&one.broadcast_to([3]).take(&good, 0), arr1(&[5.0f32; 3]).into_dyn());
        same(&column.broadcast_to([2, 3]).take(&good, 1), arr2(&[[1.0f32; 3], [2.0; 3]]).into_dyn());
        assert_eq!(out_of_range(&device.full([3], 7.0f32).take(&bad, 0)).1, 3);
        assert_eq!(out_of_range(&(one.broadcast_to([3]).take(&bad, 0) * 2.0)).1, 3);
        assert_eq!(out_of_range(&column.broadcast_to([2, 3]).take(&bad, 1).sum_axis(1)).1, 3);
        assert_eq!(out_of_range(&device.zeros::<f32>([2, 3]).take_along_axis(&bad.insert_axis(0), 1)).1, 3);
        // An axis of one element.
        let single = column.take(&device.from_slice(&[0i8, -1, 0]).unwrap(), 1);
        same(&single, arr2(&[[1.0f32; 3], [2.0; 3]]).into_dyn());
        assert_eq!(out_of_range(&column.take(&device.from_slice(&[0i8, 1]).unwrap(), 1)).1, 1);
        let rows = column.broadcast_to([2, 300]).take(&device.from_slice(&[300i32; 200]).unwrap(), 1);
        assert_eq!(out_of_range(&(&rows - rows.max_axes_keep(&[1]))).1, 300);
    });
}

#[test]
fn the_error_names_the_line_of_its_own_graph() {
    on_every(|device| {
        let x = device.to_device(&counted(&[10])).unwrap();
        let bad = device.from_slice(&[10i64]).unwrap();
        // One plan serves both.
        let (first, line) = (x.take(&bad, 0) * 2.0, line!());
        let second = x.take(&bad, 0) * 2.0;
        assert_eq!(out_of_range(&first).3, line);
        assert_eq!(out_of_range(&second).3, line + 1);
    });
}

#[test]
fn a_loop_of_gathers_neither_waits_nor_grows() {
    on_every(|device| {
        let mut x = device.to_device(&counted(&[64])).unwrap();
        let turn = device.to_device(&Array1::from_iter((0..64i64).map(|i| i - 1))).unwrap();
        x.eval().unwrap();
        let mut most = 0;
        for step in 0..200 {
            x = x.take(&turn, 0);
            x.eval().unwrap();
            if step == 40 {
                most = device.counters().live_bytes;
            }
        }
        assert!(device.counters().live_bytes <= most + 64 * 256, "{} after {most}", device.counters().live_bytes);
        same(&x, Array1::from_iter((0..64).map(|i| ((i + 64 * 4 - 200) % 64) as f32)).into_dyn());
        // A mistake long ago is still told.
        let mut y = x.take(&device.from_slice(&[64i64; 64]).unwrap(), 0);
        for _ in 0..100 {
            y = y.take(&turn, 0);
            y.eval().unwrap();
        }
        assert_eq!(out_of_range(&y).1, 64);
    });
}

#[test]
fn mistakes_that_need_no_device_are_told_early() {
    on_every(|device| {
        let x = device.to_device(&counted(&[2, 3])).unwrap();
        let indices = device.from_slice(&[0i64]).unwrap();
        let error = x.take(&indices, 2).check().unwrap_err().to_string();
        assert!(error.contains("take: axis 2") && error.contains("[2, 3]") && error.contains("gather.rs"), "{error}");
        let error = device.zeros::<f32>([0, 3]).take(&indices, 0).check().unwrap_err().to_string();
        assert!(error.contains("take") && error.contains("[0, 3]"), "{error}");
        for (rank, other) in [(2, 1), (1, 2), (1, 0), (3, 2)] {
            let operand = device.zeros::<f32>(&[2; 3][..rank]);
            let along = operand.take_along_axis(&device.zeros::<i64>(&[1; 3][..other]), 0);
            assert!(
                matches!(along.check(), Err(Error::ShapeMismatch { op: "take_along_axis", .. })),
                "{rank} and {other}"
            );
        }
        let nothing = device.zeros::<f32>([0, 3]).take(&device.zeros::<i64>([0]), 0);
        same(&nothing, Array2::<f32>::zeros((0, 3)).into_dyn());
        assert_eq!(device.zeros::<f32>([0, 3]).take(&indices, 1).shape(), [0, 1]);
        let elsewhere = open("host", Config::default()).from_slice(&[0i64]).unwrap();
        assert!(matches!(x.take(&elsewhere, 0).check(), Err(Error::DeviceMismatch { op: "take", .. })));
        assert!(x.reshape([5]).take(&indices, 0).check().unwrap_err().to_string().contains("reshape"));
        let huge = device.full([1 << 40], 0i64);
        let error = x.take(&huge.insert_axis(1).broadcast_to([1 << 40, 1 << 22]), 0).check().unwrap_err();
        assert!(matches!(error, Error::LimitExceeded { op: "take", .. }), "{error}");
    });
}

#[test]
fn threads_that_ask_at_once_get_one_answer() {
    on_fused(|device| {
        let x = device.to_device(&counted(&[1000])).unwrap();
        for round in 0..20 {
            let is_bad = round % 2 == 1;
            let places = device.to_device(&scattered(&[500], if is_bad { 1500 } else { 1000 })).unwrap();
            let y = x.take(&places, 0) * 2.0;
            y.eval().unwrap();
            let answers: Vec<bool> = std::thread::scope(|scope| {
                let ask = || (0..2).map(|_| (&y + 1.0).get().is_err() && y.get().is_err()).collect::<Vec<bool>>();
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
                threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
            });
            assert!(answers.iter().all(|is_error| *is_error == is_bad), "{answers:?}");
        }
    });
}
