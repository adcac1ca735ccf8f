//! Mistakes are error values that name the operation, the shapes and the line; nothing and no axes are fine; and after any
//! failure the device goes on.

use std::ops::Range;

use lazuli::prelude::*;
use lazuli::{Buffer, MemFlags};
use ndarray::{Array1, Array2, ArrayD, Axis, IxDyn, ShapeBuilder, SliceInfoElem, arr1, s};

use crate::common::*;

/// The array's error has all of these parts; asking again, or through what is made of it, gives the same one.
#[track_caller]
fn refused<T: Number>(array: &Array<T>, line: u32, parts: &[&str]) -> Error {
    refused_within(array, line..line + 1, parts)
}

/// The same, of an array that one of these lines recorded. In a macro, `line!()` is the line of the whole call.
#[track_caller]
fn refused_within<T: Number>(array: &Array<T>, mut lines: Range<u32>, parts: &[&str]) -> Error {
    let error = array.get().expect_err("is refused");
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "{part} is missing in: {message}");
    }
    assert!(lines.any(|line| message.contains(&format!("bad_input.rs:{line}:"))), "{message}");
    let mut target = ArrayD::from_elem(IxDyn(array.shape()), T::zero());
    let derived = (array.abs().flatten() + T::one()).slice(s![..;-1]);
    for other in [
        array.check().unwrap_err(),
        array.eval().unwrap_err(),
        array.item().map(drop).unwrap_err(),
        array.get_into(&mut target).unwrap_err(),
        array.explain().map(drop).unwrap_err(),
        array.to_dot().map(drop).unwrap_err(),
        derived.get().map(drop).unwrap_err(),
        array.maximum(array).sum().get().map(drop).unwrap_err(),
        lazuli::get((array,)).map(drop).unwrap_err(),
        lazuli::eval(&[array.clone()][..]).unwrap_err(),
    ] {
        assert_eq!(other.to_string(), message);
    }
    assert!(format!("{array}").contains("failed") && format!("{array:?}").contains("failed"));
    error
}

/// The device computes as before.
fn goes_on(device: &Device) {
    let x = device.from_slice(&[1.0f32, 2.0, 3.0]).unwrap();
    assert_eq!(flat(&(&x * 2.0 + 1.0)), [3.0, 5.0, 7.0]);
    assert_eq!(x.sum().item().unwrap(), 6.0);
    assert_eq!((device.full((), 1) + 1).item().unwrap(), 2);
}

#[test]
fn shapes_that_do_not_broadcast() {
    on_every(|device| {
        let a = device.zeros::<f32>([2, 3]);
        let b = device.from_shape([3, 2], &[0.0f32; 6]).unwrap();
        let line = line!() + 1;
        let error = refused(&(&a + &b), line, &["add", "[2, 3]", "[3, 2]"]);
        assert!(matches!(error, Error::ShapeMismatch { op: "add", .. }));
        let line = line!() + 1;
        refused(&(&a * device.zeros::<f32>([2])), line, &["mul", "[2, 3]", "[2]"]);
        let line = line!() + 1;
        refused(&(device.zeros::<f32>([0]) - device.zeros::<f32>([2])), line, &["sub", "[0]", "[2]"]);
        let line = line!() + 1;
        refused(&a.broadcast_to([3]), line, &["broadcast_to", "[2, 3]", "[3]"]);
        let line = line!() + 1;
        refused(&a.gt(0.0).select(&a, &b), line, &["select", "[2, 3]", "[3, 2]"]);
        let mut c = device.zeros::<f32>([3]);
        let line = line!() + 1;
        c += &a;
        refused(&c, line, &["add_assign", "[3]", "[2, 3]"]);
        let mut c = a.clone();
        let line = line!() + 1;
        c.slice_assign(s![.., 1..], &a);
        refused(&c, line, &["slice_assign", "[2, 2]", "[2, 3]"]);
        goes_on(device);
    });
}

#[test]
fn the_first_mistake_is_the_one_told() {
    on_every(|device| {
        let line = line!() + 1;
        let first = device.zeros::<f32>([2, 3]) + device.zeros::<f32>([4]);
        let later = (first + 1.0).sum_axis(7).reshape([9, 9]) * device.zeros::<f32>([5]);
        refused(&later, line, &["add", "[2, 3]", "[4]"]);
        let fine = device.ones::<f32>([3]);
        assert!(lazuli::get((&fine, &later)).is_err());
        goes_on(device);
    });
}

#[test]
fn axes_out_of_range_or_given_twice() {
    on_every(|device| {
        let a = device.zeros::<f32>([2, 3]);
        macro_rules! cases {
            ($($array:expr, $($part:literal)+;)+) => { $(
                let error = refused_within(&$array, line!()..line!() + 40, &[$($part),+]);
                assert!(matches!(error, Error::InvalidAxis { .. } | Error::InvalidArgument { .. }), "{error:?}");
            )+ };
        }
        cases! {
            a.sum_axis(2), "sum" "[2, 3]" "2";
            a.sum_axis(-3), "sum" "[2, 3]" "-3";
            a.max_axes(&[0, 5]), "max" "[2, 3]" "5";
            a.min_axes(&[1, -1]), "min" "[2, 3]" "twice";
            a.prod_axes_keep(&[0, 0]), "prod" "[2, 3]" "twice";
            a.mean_axis(isize::MAX), "mean" "[2, 3]";
            a.mean_axis(isize::MIN), "mean" "[2, 3]";
            a.flip(2), "flip" "[2, 3]";
            a.swap_axes(0, 2), "swap_axes" "[2, 3]";
            a.insert_axis(4), "insert_axis" "[2, 3]";
            a.insert_axis(-4), "insert_axis" "[2, 3]";
            a.remove_axis(0), "remove_axis" "[2, 3]";
            a.remove_axis(3), "remove_axis" "[2, 3]";
            a.permute(&[0]), "permute" "[2, 3]";
            a.permute(&[0, 0]), "permute" "[2, 3]";
            a.permute(&[0, 2]), "permute" "[2, 3]";
            a.index_axis(2, 0), "index_axis" "[2, 3]";
            a.index_axis(1, 3), "index_axis" "[2, 3]" "3";
            a.index_axis(1, -4), "index_axis" "[2, 3]" "-4";
            device.full((), 1.0f32).sum_axis(0), "sum" "[]";
        }
        goes_on(device);
    });
}

#[test]
fn slices_out_of_range() {
    on_every(|device| {
        let a = device.arange(0, 10, 1);
        macro_rules! cases {
            ($($array:expr, $($part:literal)+;)+) => { $(
                let error = refused_within(&$array, line!()..line!() + 40, &[$($part),+]);
                assert!(matches!(error, Error::InvalidArgument { .. }), "{error:?}");
            )+ };
        }
        cases! {
            a.slice(s![..11]), "slice" "[10]";
            a.slice(s![11..]), "slice" "[10]";
            a.slice(s![-11..]), "slice" "[10]";
            a.slice(s![..-11]), "slice" "[10]";
            a.slice(s![10]), "slice" "[10]" "10";
            a.slice(s![-11]), "slice" "[10]" "-11";
            a.slice(s![0, 0]), "slice" "[10]";
            a.slice(s![isize::MIN..]), "slice" "[10]";
            a.slice(s![..isize::MAX]), "slice" "[10]";
            a.slice([] as [SliceInfoElem; 0]), "slice" "[10]";
            a.slice([SliceInfoElem::Slice { start: 0, end: None, step: 0 }]), "slice" "[10]" "step 0";
            { let mut x = a.clone(); x.slice_assign(s![..11], 1); x }, "slice_assign" "[10]";
            { let mut x = a.clone(); x.slice_assign(s![12], 1); x }, "slice_assign" "[10]" "12";
        }
        // In range, to the last index, and ranges that are empty.
        assert_eq!(flat(&a.slice(s![10..])), [] as [i32; 0]);
        assert_eq!(flat(&a.slice(s![7..3])), [] as [i32; 0]);
        assert_eq!(flat(&a.slice(s![-10..;9])), [0, 9]);
        assert_eq!(flat(&a.slice(s![1..9;-3])), [8, 5, 2]);
        assert_eq!(flat(&a.slice([SliceInfoElem::Slice { start: 0, end: None, step: isize::MIN }])), [9]);
        goes_on(device);
    });
}

#[test]
fn reshapes_that_do_not_fit() {
    on_every(|device| {
        let a = device.zeros::<i64>([4, 6]);
        macro_rules! cases {
            ($($array:expr, $($part:literal)+;)+) => { $(
                refused_within(&$array, line!()..line!() + 40, &[$($part),+]);
            )+ };
        }
        cases! {
            a.reshape([5, 5]), "reshape" "[4, 6]" "[5, 5]";
            a.reshape(()), "reshape" "[4, 6]";
            a.reshape([0]), "reshape" "[4, 6]";
            a.reshape([usize::MAX, 2]), "reshape" "[4, 6]";
            a.reshape([usize::MAX / 2 + 1, 2, 12]), "reshape" "[4, 6]";
            a.reshape_infer(&[-1, 5]), "reshape" "[4, 6]";
            a.reshape_infer(&[-1, -1]), "reshape" "[4, 6]";
            a.reshape_infer(&[-2, 12]), "reshape" "[4, 6]";
            a.reshape_infer(&[-1, 0]), "reshape" "[4, 6]";
        }
        assert_eq!(a.reshape_infer(&[-1, 8]).shape(), [3, 8]);
        goes_on(device);
    });
}

#[test]
fn operands_of_different_devices() {
    for name in names() {
        for other in names() {
            // Two handles of one name that were opened apart are two devices, too.
            let (here, there) = (open(name, Config::default()), open(other, Config::default()));
            let (a, b) = (here.from_slice(&[1.0f32, 2.0]).unwrap(), there.from_slice(&[3.0f32, 4.0]).unwrap());
            let line = line!() + 1;
            let error = refused(&(&a + &b), line, &["add", "[2]", name, other]);
            assert!(matches!(error, Error::DeviceMismatch { .. }), "{error:?}");
            let line = line!() + 1;
            refused(&a.gt(0.0).select(&a, &b), line, &["select", "[2]"]);
            let line = line!() + 1;
            refused(&a.mul_add(&a, &b), line, &["mul_add", "[2]"]);
            let mut c = a.clone();
            let line = line!() + 1;
            c *= &b;
            refused(&c, line, &["mul_assign", "[2]"]);
            let mut c = a.clone();
            let line = line!() + 1;
            c.slice_assign(s![..], &b);
            refused(&c, line, &["slice_assign", "[2]"]);

            assert_eq!(flat(&(&a + b.to(&here).unwrap())), [4.0, 6.0]);
            let (x, y) = ((&a + 1.0), (&b * 2.0));
            let (x, y) = lazuli::get((&x, &y)).unwrap();
            assert_eq!((x, y), (arr1(&[2.0f32, 3.0]).into_dyn(), arr1(&[6.0f32, 8.0]).into_dyn()));
            assert_eq!(flat(&(&a + 1.0).slice(s![..;-1]).to(&there).unwrap()), [3.0, 2.0]);
            goes_on(&here);
            goes_on(&there);
        }
    }
}

#[test]
fn devices_that_are_not_there() {
    for name in ["cuda:99", "opencl:99", "abacus", "", "host:1", "cuda:-1", "opencl:x", "cuda:0:0"] {
        for result in [Device::from_name(name), Device::open(name, Config::default())] {
            match result {
                Err(error @ Error::DeviceNotFound { .. }) => {
                    let message = error.to_string();
                    assert!(message.contains(&format!("{name:?}")) && message.contains("looked for"), "{message}");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }
    for result in [Device::cuda(99), Device::opencl(99)] {
        assert!(matches!(result, Err(Error::DeviceNotFound { .. })), "{result:?}");
    }
    assert_eq!(Device::host().unwrap().name(), "host");
}

#[test]
fn an_environment_that_names_an_absent_device_is_an_error() {
    let output = in_a_process("bad_input::inner_absent_device", &[("LAZULI_DEVICE", "cuda:99")]);
    assert_passed(&output);
    let output = in_a_process("bad_input::inner_host_by_name", &[("LAZULI_DEVICE", " Host ")]);
    assert_passed(&output);
}

#[test]
#[ignore = "run in a process of its own, with LAZULI_DEVICE set"]
fn inner_absent_device() {
    let error = Device::auto().unwrap_err();
    assert!(matches!(&error, Error::DeviceNotFound { name, .. } if name == "cuda:99"), "{error:?}");
}

#[test]
#[ignore = "run in a process of its own, with LAZULI_DEVICE set"]
fn inner_host_by_name() {
    assert_eq!(Device::auto().unwrap().name(), "host");
}

#[test]
fn more_elements_than_can_be_addressed() {
    on_every(|device| {
        let huge = usize::MAX / 2;
        macro_rules! cases {
            ($($array:expr, $($part:literal)+;)+) => { $(
                refused_within(&$array, line!()..line!() + 40, &[$($part),+]);
            )+ };
        }
        cases! {
            device.zeros::<f32>([huge, 3]), "zeros";
            device.ones::<i8>([usize::MAX]), "ones";
            device.full([huge, huge, huge], 1u8), "full";
            device.eye::<f32>(usize::MAX), "eye";
            device.eye::<f32>(1 << 33), "eye" "[8589934592, 8589934592]";
            device.arange(0.0f64, 1e300, 1e-300), "arange";
            device.arange(0.0f32, f32::INFINITY, 1.0), "arange";
            device.arange(i64::MIN, i64::MAX, 1), "arange";
            device.arange(0u64, u64::MAX, 1), "arange";
            device.arange(0, 10, 0), "arange";
            device.arange(0.0f32, f32::NAN, 1.0), "arange";
            device.zeros::<f32>([1]).broadcast_to([huge, huge]), "broadcast_to";
            device.zeros::<f32>([1 << 40, 1]) + device.zeros::<f32>([1 << 40]), "add";
        }
        // Fewer elements than the limit, but more bytes: found when it is planned.
        let error = device.zeros::<f64>([usize::MAX / 4]).get().unwrap_err();
        assert!(matches!(error, Error::LimitExceeded { .. } | Error::OutOfMemory { .. }), "{error:?}");
        let error = (device.zeros::<f64>([usize::MAX / 4]) + 1.0).eval().unwrap_err();
        assert!(matches!(error, Error::LimitExceeded { .. } | Error::OutOfMemory { .. }), "{error:?}");
        // No elements beside a huge extent are none.
        assert_eq!(device.zeros::<f32>([0, huge]).get().unwrap().len(), 0);
        goes_on(device);
    });
}

#[test]
fn more_memory_than_there_is() {
    on_every(|device| {
        let before = device.counters();
        // A byte for each of 2^50 elements: no machine has it, and no address space maps it.
        for _ in 0..2 {
            let error = device.zeros::<u8>([1 << 50]).eval().unwrap_err();
            assert!(matches!(error, Error::OutOfMemory { .. }), "{error:?}");
            let message = error.to_string();
            assert!(message.contains(device.name()) && message.contains(&(1u64 << 50).to_string()), "{message}");
        }
        // In the second kernel of three, whose inputs the first has made.
        let x = device.from_slice(&[1.0f32; 1000]).unwrap();
        let table = x.exp().insert_axis(1).broadcast_to([1000, 1 << 40]) + 1.0;
        let error = table.eval().unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error:?}");
        assert!(table.get().is_err(), "and again");
        drop((x, table));
        assert_eq!(device.counters().live_bytes, before.live_bytes);
        goes_on(device);
    });
}

#[test]
fn a_pool_full_of_other_sizes_is_emptied_before_it_fails() {
    on_fused(|device| {
        let x = device.from_slice(&vec![0.0f32; 1 << 16]).unwrap();
        drop(x);
        assert!(device.counters().pooled_bytes > 0);
        assert!(device.zeros::<u8>([1 << 50]).eval().is_err());
        assert_eq!(device.counters().pooled_bytes, 0);
        goes_on(device);
    });
}

#[test]
fn host_data_that_does_not_fit() {
    on_each(|device, _| {
        assert!(matches!(device.from_shape([2, 3], &[1, 2, 3]), Err(Error::HostData { op: "from_shape", .. })));
        assert!(matches!(device.from_shape([usize::MAX, 2], &[1, 2, 3]), Err(Error::HostData { .. })));
        assert!(matches!(device.from_shape((), &[] as &[i32]), Err(Error::HostData { .. })));
        let x = device.from_slice(&[1, 2, 3]).unwrap();
        let error = x.get_into(&mut Array1::zeros(4)).unwrap_err().to_string();
        assert!(error.contains("get_into") && error.contains("[3]") && error.contains("[4]"), "{error}");
        let line = line!() + 1;
        let error = x.item().unwrap_err().to_string();
        assert!(error.contains("item") && error.contains("[3]"), "{error}");
        assert!(error.contains(&format!("bad_input.rs:{line}")), "{error}");
        assert!(device.zeros::<f32>([0]).item().is_err());

        let flags = MemFlags::READ_WRITE | MemFlags::COPY_HOST_PTR;
        let buffer = Buffer::from_slice(device, flags, &[1u8, 2, 3]).unwrap();
        assert!(matches!(buffer.to_array([2, 2]), Err(Error::HostData { .. })));
        assert!(matches!(buffer.copy_to_host(&mut [0; 2]), Err(Error::HostData { .. })));
        for wrong in [
            MemFlags::READ_ONLY,
            MemFlags::empty(),
            MemFlags::READ_ONLY | MemFlags::WRITE_ONLY | MemFlags::COPY_HOST_PTR,
            MemFlags::USE_HOST_PTR | MemFlags::COPY_HOST_PTR,
            MemFlags::USE_HOST_PTR,
            MemFlags::from_bits_retain(1 << 40) | flags,
        ] {
            assert!(Buffer::from_slice(device, wrong, &[1u8]).is_err(), "{wrong:?}");
        }
        let written = Buffer::from_slice(device, MemFlags::WRITE_ONLY | MemFlags::COPY_HOST_PTR, &[1u8]).unwrap();
        assert!(written.to_array(1).is_err());
        goes_on(device);
    });
}

#[test]
fn a_buffer_is_never_written_through_an_array() {
    on_every(|device| {
        let flags = MemFlags::READ_WRITE | MemFlags::COPY_HOST_PTR;
        let buffer = Buffer::from_slice(device, flags, &[1.0f32, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!((buffer.len(), buffer.is_empty(), buffer.flags()), (4, false, flags));
        let mut x = buffer.to_array([2, 2]).unwrap();
        x += 1.0;
        x.slice_assign(s![0, ..], 9.0);
        assert_eq!(flat(&x), [9.0, 9.0, 4.0, 5.0]);
        let mut back = [0.0f32; 4];
        buffer.copy_to_host(&mut back).unwrap();
        assert_eq!(back, [1.0, 2.0, 3.0, 4.0]);
        let empty = Buffer::from_slice(device, flags, &[] as &[f64]).unwrap();
        empty.copy_to_host(&mut []).unwrap();
        assert_eq!(values(&(empty.to_array([0, 5]).unwrap() + 1.0)).shape(), [0, 5]);
    });
}

/// Everything an array of floats does, on one without elements. `empty` has shape [0, 3].
fn use_nothing(device: &Device, empty: &Array<f32>) {
    let shape = |array: &Array<f32>, right: &[usize]| assert_eq!(values(array).shape(), right);
    shape(empty, &[0, 3]);
    shape(&(empty + 1.0), &[0, 3]);
    shape(&(1.0 - empty * empty), &[0, 3]);
    shape(&(empty + device.from_slice(&[1.0f32, 2.0, 3.0]).unwrap()), &[0, 3]);
    shape(&(empty.sqrt().exp().erf() / empty), &[0, 3]);
    shape(&empty.t(), &[3, 0]);
    shape(&empty.slice(s![.., ..;-2]), &[0, 2]);
    shape(&empty.slice(s![..0, 1]), &[0]);
    shape(&empty.flip(0).flip(1), &[0, 3]);
    shape(&empty.reshape([3, 0, 7]), &[3, 0, 7]);
    shape(&empty.reshape([0]), &[0]);
    shape(&empty.flatten(), &[0]);
    shape(&empty.insert_axis(0).broadcast_to([4, 0, 3]), &[4, 0, 3]);
    shape(&empty.sum_axis(0), &[3]);
    shape(&empty.sum_axis(1), &[0]);
    shape(&empty.max_axis(1), &[0]);
    shape(&empty.prod_axes_keep(&[0]), &[1, 3]);
    shape(&empty.sum(), &[]);
    assert_eq!(empty.sum().item().unwrap(), 0.0);
    assert_eq!((empty.sum() + 1.0).item().unwrap(), 1.0);
    assert_eq!(flat(&empty.sum_axis(0)), [0.0; 3]);
    assert_eq!(flat(&(empty.sum_axis(0) + 2.0)), [2.0; 3]);
    assert!(empty.mean().item().unwrap().is_nan());
    assert!(empty.max().get().is_err() && empty.min_axis(0).get().is_err());
    shape(&empty.gt(0.0).select(empty, 1.0), &[0, 3]);
    shape(&empty.mul_add(2.0, empty), &[0, 3]);
    assert_eq!(values(&empty.cast::<i8>()).shape(), [0, 3]);
    assert_eq!(values(&empty.is_nan()).shape(), [0, 3]);
    let mut assigned = device.from_shape([2, 3], &[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
    assigned.slice_assign(s![1..1, ..], empty);
    assigned.slice_assign(s![2.., ..], 7.0);
    assert_eq!(flat(&assigned), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let mut assigned = empty.clone();
    assigned.slice_assign(s![.., 1], 7.0);
    assigned += 1.0;
    shape(&assigned, &[0, 3]);
    let mut target = Array2::zeros((0, 3));
    empty.get_into(&mut target).unwrap();
    empty.eval().unwrap();
    let ours = lazuli::get((empty, &empty.cast::<u8>(), &(device.full((), 1.0f32) * 2.0))).unwrap();
    assert_eq!((ours.0.len(), ours.1.len(), ours.2[[]]), (0, 0, 2.0));
    let sum = empty.sum();
    assert_eq!(lazuli::get(&[empty.clone(), sum][..]).unwrap()[1][[]], 0.0);
    assert!(empty.check().is_ok() && empty.is_empty());
    assert_eq!(empty.len(), 0);
    let _ = format!("{empty} {empty:?} {} {}", empty + 1.0, empty.explain().unwrap());
    let _ = (empty + 1.0).explain().unwrap().to_string();
    let _ = (empty + 1.0).to_dot().unwrap();
    let other = open(device.name(), Config::default());
    shape(&empty.to(&other).unwrap(), &[0, 3]);
    shape(&(empty + 1.0).to(&other).unwrap(), &[0, 3]);
}

#[test]
fn arrays_without_elements_work_everywhere() {
    on_every(|device| {
        let given = device.to_device(&Array2::<f32>::zeros((0, 3))).unwrap();
        use_nothing(device, &given);
        let count = launches(device, || {
            use_nothing_launches(device);
        });
        assert_eq!(count, 0, "nothing takes no kernel");
        use_nothing(device, &device.zeros([0, 3]));
        use_nothing(device, &device.to_device(&Array2::<f32>::zeros((0, 3).f())).unwrap());
        use_nothing(device, &(device.from_slice(&[1.0f32; 6]).unwrap().reshape([2, 3]).slice(s![2.., ..]) * 2.0));
        use_nothing(device, &device.arange(3.0f32, 0.0, 1.0).reshape([0, 3]));
        use_nothing(device, &device.from_slice(&[] as &[f32]).unwrap().reshape([0, 3]));
    });
}

fn use_nothing_launches(device: &Device) {
    let x = device.zeros::<f64>([4, 0]);
    assert_eq!(values(&((&x + 1.0).sqrt() * &x)).shape(), [4, 0]);
    assert_eq!(values(&x.max_axis(0)).shape(), [0]);
    assert_eq!(values(&device.eye::<f32>(0)).shape(), [0, 0]);
    assert_eq!(values(&device.linspace(0.0f32, 1.0, 0)).shape(), [0]);
    assert_eq!(values(&device.arange(0, 0, 1)).shape(), [0]);
}

#[test]
fn arrays_without_axes_work_everywhere() {
    on_every(|device| {
        let given = device.to_device(&ndarray::arr0(3.0f32)).unwrap();
        for x in [given, device.full((), 3.0f32), device.from_slice(&[3.0f32]).unwrap().reshape(()), {
            device.arange(0.0f32, 5.0, 1.0).slice(s![3])
        }] {
            assert_eq!((x.ndim(), x.len(), x.is_empty()), (0, 1, false));
            assert_eq!(values(&x)[[]], 3.0);
            assert_eq!(x.item().unwrap(), 3.0);
            assert_eq!((&x + &x).item().unwrap(), 6.0);
            assert_eq!(((2.0 * &x - 1.0).sqrt() * &x).item().unwrap(), 5f32.sqrt() * 3.0);
            assert_eq!(flat(&(&x * device.from_slice(&[1.0f32, 2.0]).unwrap())), [3.0, 6.0]);
            assert_eq!(values(&x.t())[[]], 3.0);
            assert_eq!(values(&x.permute(&[]))[[]], 3.0);
            assert_eq!(values(&x.slice(s![]))[[]], 3.0);
            assert_eq!(values(&x.squeeze())[[]], 3.0);
            assert_eq!(values(&x.insert_axis(0)).shape(), [1]);
            assert_eq!(flat(&x.flatten()), [3.0]);
            assert_eq!(flat(&x.reshape([1, 1, 1])), [3.0]);
            assert_eq!(flat(&x.broadcast_to([2, 2])), [3.0; 4]);
            assert_eq!(x.broadcast_to([1000]).sum().item().unwrap(), 3000.0);
            assert_eq!(x.sum().item().unwrap(), 3.0);
            assert_eq!(x.max().item().unwrap(), 3.0);
            assert_eq!(x.mean().item().unwrap(), 3.0);
            assert_eq!(x.sum_axes(&[]).item().unwrap(), 3.0);
            assert_eq!(x.prod_axes_keep(&[]).item().unwrap(), 3.0);
            assert_eq!(x.cast::<i32>().item().unwrap(), 3);
            assert!(x.gt(2.0).item().unwrap());
            assert_eq!(x.gt(2.0).select(&x, 0.0).item().unwrap(), 3.0);
            let mut y = x.clone();
            y += 1.0;
            assert_eq!(y.item().unwrap(), 4.0);
            y.slice_assign(s![], 8.0);
            assert_eq!((&y + &x).item().unwrap(), 11.0);
            let mut target = ndarray::arr0(0.0f32);
            x.get_into(&mut target).unwrap();
            assert_eq!(target[()], 3.0);
            let (a, b) = (&x + 1.0, x.cast::<u8>());
            let (a, b) = lazuli::get((&a, &b)).unwrap();
            assert_eq!((a[[]], b[[]]), (4.0, 3));
            x.eval().unwrap();
            assert_eq!(format!("{x}"), "3");
            assert_eq!(x.to(&open(device.name(), Config::default())).unwrap().item().unwrap(), 3.0);
        }
    });
}

#[test]
fn many_axes() {
    on_every(|device| {
        // Axes that do not merge: each other one is walked backwards.
        for rank in [9usize, 16, 20] {
            let count = 1usize << rank;
            let mut x = device.arange(0i32, count as i32, 1).reshape(vec![2; rank]);
            x.eval().unwrap();
            let mut flips = 0;
            for axis in (0..rank).step_by(2) {
                x = x.flip(axis as isize);
                flips |= 1 << (rank - 1 - axis);
            }
            let right = (0..count).map(|i| ((i ^ flips) + 1) as i32).collect::<Vec<_>>();
            assert_eq!(flat(&(&x + 1)), right);
            assert_eq!(x.max().item().unwrap(), count as i32 - 1);
            let sum = x.sum_axes(&(0..rank as isize).step_by(2).collect::<Vec<_>>());
            assert_eq!(sum.sum().item().unwrap(), (count as i64) * (count as i64 - 1) / 2);
        }
        // Axes of extent 1 are as many as one likes.
        let x = device.from_slice(&[1.0f32, 2.0]).unwrap();
        let mut shape = vec![1; 200];
        shape[100] = 2;
        let y = x.reshape(&shape) + x.reshape(&shape).flip(100);
        assert_eq!(y.ndim(), 200);
        assert_eq!(flat(&y), [3.0, 3.0]);
        assert_eq!(y.sum_axes(&(0..200).collect::<Vec<_>>()).item().unwrap(), 6.0);
    });
}

#[test]
fn sizes_past_two_to_the_31st_index_right() {
    on_fused(|device| {
        if device.name() == "host" && cfg!(debug_assertions) {
            skip("sizes past 2^31 on the host", "a debug build takes minutes for them; use --release");
            return;
        }
        let n = 3_000_000_000i64;
        let x = device.arange(0i64, n, 1);
        assert_eq!(x.len(), n as usize);
        let (sum, most) = (x.sum(), x.max());
        let (sum, most) = lazuli::get((&sum, &most)).unwrap();
        assert_eq!((sum[[]], most[[]]), (n * (n - 1) / 2, n - 1));
        assert_eq!(flat(&x.slice(s![-3..])), [n - 3, n - 2, n - 1]);
        assert_eq!(flat(&x.slice(s![..;-1_500_000_000])), [n - 1, n - 1_500_000_001]);
        // Axes of which none is that long, and an offset that is.
        let table = x.reshape([60_000, 50_000]);
        assert_eq!(flat(&table.slice(s![-1, -2..])), [n - 2, n - 1]);
        assert_eq!(flat(&table.slice(s![59_999, ..;25_000])), [n - 50_000, n - 25_000]);
        let counters = device.counters();
        assert!(counters.live_bytes < 1 << 20 && counters.peak_bytes < 16 << 20, "{counters:?}");
    });
}

#[test]
fn data_past_two_to_the_31st_bytes_and_elements() {
    on_fused(|device| {
        if !device.name().starts_with("cuda") {
            skip("an array of 2.2 GB", &format!("on {} it takes too long", device.name()));
            return;
        }
        let n = (1usize << 31) + 1000;
        let x = device.arange(0i64, n as i64, 1).cast::<u8>();
        x.eval().unwrap();
        assert_eq!(flat(&x.slice(s![-2..])), [(n - 2) as u8, (n - 1) as u8]);
        // 256 divides the step, so that all of these are one number.
        let steps = x.slice(s![231..;256]);
        assert_eq!((steps.min().item().unwrap(), steps.max().item().unwrap()), (231, 231));
        assert_eq!(
            x.slice(s![1isize << 31..]).cast::<i64>().sum().item().unwrap(),
            (0..1000).map(|i| i % 256).sum::<i64>()
        );
    });
}

#[test]
fn after_any_failure_a_recorded_part_that_is_fine_still_evaluates() {
    on_every(|device| {
        let x = device.from_slice(&[1.0f32, 2.0, 3.0]).unwrap();
        let fine = &x * 2.0;
        let bad = &fine + device.zeros::<f32>([7]);
        assert!(lazuli::get((&fine, &bad)).is_err());
        assert!(bad.get().is_err());
        assert_eq!(flat(&fine), [2.0, 4.0, 6.0]);
        // The table does not fit, its reduction does.
        let table = fine.insert_axis(1).broadcast_to([3, 1 << 48]) + 1.0;
        assert!(matches!(table.eval(), Err(Error::OutOfMemory { .. })));
        assert_eq!(flat(&(&fine + 1.0)), [3.0, 5.0, 7.0]);
        if device.config().fusion {
            // Without fusion, the whole table is a step of it.
            assert_eq!(flat(&table.slice(s![.., -1])), [3.0, 5.0, 7.0]);
        }
        goes_on(device);
    });
}

#[test]
fn a_failure_in_one_thread_leaves_the_others_their_values() {
    on_every(|device| {
        let x = device.from_slice(&[1.0f32; 100]).unwrap();
        std::thread::scope(|scope| {
            for k in 0..6 {
                let x = &x;
                scope.spawn(move || {
                    for _ in 0..10 {
                        match k % 3 {
                            0 => assert!(device.zeros::<u8>([1 << 50]).eval().is_err()),
                            1 => assert!((x + device.zeros::<f32>([3])).get().is_err()),
                            _ => assert_eq!((x * k as f32).sum().item().unwrap(), 100.0 * k as f32),
                        }
                    }
                });
            }
        });
        goes_on(device);
    });
}

/// Name and recording of a reduction of floats, to floats, and what it makes of one element.
type Single = (&'static str, fn(&Array<f32>, &[isize]) -> Array<f32>, fn(f32) -> f32);

/// Every reduction of floats that has an error where there is nothing, and every one that has not.
const REDUCTIONS: [Single; 14] = [
    ("sum", |x, axes| x.sum_axes(axes), |v| v),
    ("prod", |x, axes| x.prod_axes(axes), |v| v),
    ("mean", |x, axes| x.mean_axes(axes), |v| v),
    ("min", |x, axes| x.min_axes(axes), |v| v),
    ("max", |x, axes| x.max_axes(axes), |v| v),
    ("any", |x, axes| x.ne(0.0).any_axes(axes).cast(), |v| if v != 0.0 { 1.0 } else { 0.0 }),
    ("all", |x, axes| x.ne(0.0).all_axes(axes).cast(), |v| if v != 0.0 { 1.0 } else { 0.0 }),
    ("count_nonzero", |x, axes| x.count_nonzero_axes(axes).cast(), |v| if v != 0.0 { 1.0 } else { 0.0 }),
    ("var", |x, axes| x.var_axes(axes, 0), |v| if v.is_finite() { 0.0 } else { f32::NAN }),
    ("std", |x, axes| x.std_axes(axes, 0), |v| if v.is_finite() { 0.0 } else { f32::NAN }),
    ("norm", |x, axes| x.norm_axes(axes, Norm::L1), f32::abs),
    ("norm", |x, axes| x.norm_axes(axes, Norm::L2), f32::abs),
    ("norm", |x, axes| x.norm_axes(axes, Norm::Max), f32::abs),
    ("logsumexp", |x, axes| x.logsumexp_axes(axes), |v| v),
];

/// What it makes of nothing; none where that is an error.
fn of_nothing(reduction: usize) -> Option<f32> {
    [
        Some(0.0),
        Some(1.0),
        Some(f32::NAN),
        None,
        None,
        Some(0.0),
        Some(1.0),
        Some(0.0),
        Some(f32::NAN),
        Some(f32::NAN),
        Some(0.0),
        Some(0.0),
        None,
        None,
    ][reduction]
}

#[test]
fn axes_of_no_element_in_every_reduction() {
    on_every(|device| {
        for shape in [&[0usize][..], &[3, 0], &[0, 3], &[2, 0, 3], &[0, 0], &[1, 0, 1]] {
            let x = device.zeros::<f32>(shape);
            for (number, (name, record, _)) in REDUCTIONS.iter().enumerate() {
                for axis in 0..shape.len() {
                    let mut left = shape.to_vec();
                    let extent = left.remove(axis);
                    let y = record(&x, &[axis as isize]);
                    match (left.contains(&0), of_nothing(number)) {
                        (true, _) => same(&y, ArrayD::<f32>::zeros(IxDyn(&left))),
                        (false, Some(right)) => {
                            assert_eq!(extent, 0);
                            let ours = values(&y);
                            assert_eq!(ours.shape(), left);
                            let is_right = |v: &f32| *v == right || (v.is_nan() && right.is_nan());
                            assert!(ours.iter().all(is_right), "{name} of nothing: {ours}");
                        }
                        (false, None) => {
                            let error = y.get().unwrap_err().to_string();
                            assert!(error.contains(name) && error.contains("bad_input.rs"), "{error}");
                            assert!(error.contains(&format!("{shape:?}")), "{error}");
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn axes_of_one_element_in_every_reduction() {
    on_every(|device| {
        let host = [3.5f32, -2.0, 0.0, f32::INFINITY, f32::NAN, f32::NEG_INFINITY, 1e-40];
        for (shape, axis) in
            [(vec![1, 7], 0), (vec![7, 1], 1), (vec![1, 7, 1], 0), (vec![1, 7, 1], 2), (vec![7, 1, 1], 1)]
        {
            let x = device.from_shape(shape.clone(), &host).unwrap();
            let mut left = shape.clone();
            left.remove(axis as usize);
            for (name, record, single) in REDUCTIONS {
                let y = record(&x, &[axis]);
                assert_eq!(y.shape(), left);
                for (ours, element) in flat(&y).into_iter().zip(host) {
                    let right = single(element);
                    // log(exp(x - x)) + x, exactly; a square of a subnormal is 0.
                    let is_right =
                        ours == right || (ours.is_nan() && right.is_nan()) || (name == "norm" && right == 1e-40);
                    assert!(is_right, "{name} of {element}: {ours} where {right} is right");
                }
            }
            same(&x.argmax_axis(axis), ArrayD::<i64>::zeros(IxDyn(&left)));
            same(&x.argmin_axis_keep(axis).squeeze(), ArrayD::<i64>::zeros(IxDyn(&[7])));
            let softmax = flat(&x.softmax(axis));
            for (ours, element) in softmax.into_iter().zip(host) {
                assert!(if element.is_finite() { ours == 1.0 } else { ours.is_nan() }, "softmax of {element}: {ours}");
            }
        }
    });
}

#[test]
fn nan_and_infinity_spoil_no_other_row() {
    on_every(|device| {
        for columns in [5usize, 100, 3000] {
            let mut host = Array2::from_shape_fn((6, columns), |(i, j)| ((i * 37 + j * 11) % 23) as f32 * 0.25 - 2.0);
            host[[1, columns / 2]] = f32::NAN;
            host[[2, columns - 1]] = f32::INFINITY;
            host[[3, 0]] = f32::NEG_INFINITY;
            let (x, clean) = (device.to_device(&host).unwrap(), [0usize, 4, 5]);
            let rest = device.to_device(&host.select(Axis(0), &clean)).unwrap();
            for (name, record, _) in REDUCTIONS {
                let (all, alone) = (values(&record(&x, &[1])), values(&record(&rest, &[1])));
                assert_eq!(all.select(Axis(0), &clean), alone, "{name} of rows of {columns}");
                let is_nan = |row: usize| all[[row]].is_nan();
                match name {
                    "any" | "all" | "count_nonzero" => assert!(!is_nan(1)),
                    _ => assert!(is_nan(1), "{name} of a row with a NaN: {}", all[[1]]),
                }
            }
            let at = values(&x.argmax_axis(1));
            assert_eq!((at[[1]], at[[2]]), (columns as i64 / 2, columns as i64 - 1));
            assert_eq!(values(&x.argmin_axis(1))[[3]], 0);
            let p = values(&x.softmax(1));
            let is_one = |row: &usize| (p.index_axis(Axis(0), *row).sum() - 1.0).abs() < 1e-4;
            assert!(clean.iter().all(is_one), "softmax of rows of {columns}");
        }
    });
}

#[test]
fn reductions_over_more_elements_than_an_i32_counts() {
    on_fused(|device| {
        let n = (1i64 << 31) + 9;
        assert_eq!(device.arange(0i64, n, 1).max().item().unwrap(), n - 1, "the last element is reached");
        let rows = device.from_slice(&[1u8, 2, 3]).unwrap().reshape([3, 1]).broadcast_to([3, 1 << 30]);
        same(&rows.max_axis(1), arr1(&[1u8, 2, 3]).into_dyn());
        same(&rows.slice(s![.., ..1 << 29]).max_axis(0).max().reshape([1]), arr1(&[3u8]).into_dyn());
        let wide = device.full([1 << 16, (1 << 15) + 1], true);
        assert!(wide.all().item().unwrap());
    });
}
