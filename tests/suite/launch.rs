//! Launches: arguments and grids as they should be and as they should not, arrays that kernels read and write, and order.

use lazuli::prelude::*;
use lazuli::{Buffer, Error, LocalMem, MemFlags, Struct, args};
use ndarray::s;

use super::common::{launches, open};
use super::module::{SAXPY, on_compilers, portable};

const DOUBLE: &str = "KERNEL twice(GLOBAL f32 *x, u32 n) { if (INDEX_X < n) x[INDEX_X] *= 2.0f; }";
const COPY: &str = "KERNEL copy(GLOBAL const f32 *x, GLOBAL f32 *y) { y[INDEX_X] = x[INDEX_X]; }";

/// The message of a launch that was refused; nothing was launched for it.
#[track_caller]
fn refused(device: &Device, launch: impl FnOnce() -> lazuli::Result<()>) -> String {
    let before = device.counters().launches;
    match launch() {
        Err(Error::InvalidLaunch { kernel, what }) => {
            assert_eq!(device.counters().launches, before, "{what}");
            format!("{kernel}: {what}")
        }
        other => panic!("{other:?} in place of a refusal"),
    }
}

#[test]
fn an_expression_is_computed_before_a_kernel_reads_it() {
    on_compilers(|device| {
        let copy = portable(device, "copy", COPY);
        let x = device.from_slice(&[1.0f32, 2.0, 3.0, 4.0]).unwrap();
        let mut y = device.zeros::<f32>([4]);
        copy.call(args![&(&x * 3.0 + 1.0), &mut y]).launch(1, 4).unwrap();
        assert_eq!(y.get().unwrap().as_slice(), Some(&[4.0, 7.0, 10.0, 13.0][..]));
        // What was written goes on as any array.
        assert_eq!((&y + &x).sum().item().unwrap(), 44.0);
        // A mistake recorded in an argument comes out of the launch.
        let mistake = &x + &device.zeros::<f32>([3]);
        let error = copy.call(args![&mistake, &mut y]).launch(1, 4).unwrap_err();
        assert!(matches!(error, Error::ShapeMismatch { .. }), "{error}");
    });
}

#[test]
#[allow(clippy::reversed_empty_ranges, reason = "in `s![]` a negative end counts from the end")]
fn a_kernel_reads_views_as_dense_arrays_in_row_major_order() {
    on_compilers(|device| {
        let copy = portable(device, "copy", COPY);
        let values = ndarray::Array2::from_shape_fn((6, 8), |(i, j)| (i * 8 + j) as f32);
        let x = device.to_device(&values).unwrap();
        let fortran = device.to_device(&values.t()).unwrap(); // Stored in column-major order.
        let views = [
            x.slice(s![1..3, ..]),
            x.slice(s![..;-1, ..;2]),
            x.t(),
            x.index_axis(0, 2),
            x.index_axis(0, 2).flip(0),
            x.index_axis(1, 3),
            x.index_axis(0, 1).broadcast_to([3, 8]),
            fortran.clone(),
            fortran + 1.0,
            device.from_slice(&[7.0f32]).unwrap().index_axis(0, 0),
        ];
        for view in views {
            let n = view.len();
            let mut y = device.zeros::<f32>([n]);
            copy.call(args![&view, &mut y]).launch(1, n).unwrap();
            let right: Vec<f32> = view.get().unwrap().iter().copied().collect();
            assert_eq!(y.get().unwrap().as_slice(), Some(&right[..]), "{:?}", view.shape());
        }
    });
}

#[test]
fn whoever_has_the_old_value_of_a_written_array_keeps_it() {
    on_compilers(|device| {
        let twice = portable(device, "twice", DOUBLE);
        let mut x = device.from_slice(&[1.0f32, 2.0, 3.0]).unwrap();
        let (clone, recorded, part) = (x.clone(), &x + 1.0, x.slice(s![1..]));
        let fetch = x.get_async().unwrap();
        twice.call(args![&mut x, 3u32]).forall(3).unwrap();
        let slice = |array: &Array<f32>| array.get().unwrap().iter().copied().collect::<Vec<_>>();
        assert_eq!(slice(&x), [2.0, 4.0, 6.0]);
        assert_eq!((slice(&clone), slice(&recorded)), (vec![1.0, 2.0, 3.0], vec![2.0, 3.0, 4.0]));
        assert_eq!(
            (slice(&part), fetch.wait().unwrap().into_raw_vec_and_offset().0),
            (vec![2.0, 3.0], vec![1.0, 2.0, 3.0])
        );
        // A view that is written takes nothing from what it is a view of, and keeps its shape.
        let base = device.from_shape([2, 2], &[1.0f32, 2.0, 3.0, 4.0]).unwrap();
        let mut turned = base.t();
        twice.call(args![&mut turned, 4u32]).forall(4).unwrap();
        assert_eq!(turned.get().unwrap(), ndarray::arr2(&[[2.0, 6.0], [4.0, 8.0]]).into_dyn());
        assert_eq!(slice(&base), [1.0, 2.0, 3.0, 4.0]);
    });
}

#[test]
fn an_array_that_nobody_else_holds_is_written_in_place() {
    on_compilers(|device| {
        let twice = portable(device, "twice", DOUBLE);
        let mut x = device.from_slice(&[1.0f32; 1000]).unwrap();
        let counted = launches(device, || twice.call(args![&mut x, 1000u32]).forall(1000).unwrap());
        assert_eq!(counted, 1, "no copy");
        let live = device.counters().live_bytes;
        (0..5).for_each(|_| twice.call(args![&mut x, 1000u32]).forall(1000).unwrap());
        assert_eq!(device.counters().live_bytes, live);
        let held = x.clone();
        let counted = launches(device, || twice.call(args![&mut x, 1000u32]).forall(1000).unwrap());
        assert_eq!(counted, 2, "a copy, and the kernel");
        assert!(held.get().unwrap().iter().all(|x| *x == 64.0) && x.get().unwrap().iter().all(|x| *x == 128.0));
    });
}

#[test]
fn wrong_arguments_are_refused_before_anything_runs() {
    on_compilers(|device| {
        let saxpy = portable(device, "saxpy", SAXPY);
        let (x, mut y) = (device.from_slice(&[1.0f32]).unwrap(), device.from_slice(&[1.0f32]).unwrap());
        if saxpy.parameter_count().is_some() {
            let told = refused(device, || saxpy.call(args![1.0f32, &x, &mut y]).forall(1));
            assert_eq!(told, "saxpy: it takes 4 arguments and was given 3");
            let told = refused(device, || saxpy.call(args![1.0f64, &x, &mut y, 1u32]).forall(1));
            assert!(told.contains("parameter 0") && told.contains("a scalar of f64"), "{told}");
            let told = refused(device, || saxpy.call(args![1.0f32, 2u16, &mut y, 1u32]).forall(1));
            assert!(told.contains("parameter 1") && told.contains("a scalar of u16"), "{told}");
            let told = refused(device, || saxpy.call(args![Struct(&[1u8; 3]), &x, &mut y, 1u32]).forall(1));
            assert!(told.contains("parameter 0") && told.contains("3 bytes"), "{told}");
        }
        if !device.name().starts_with("cuda") {
            // OpenCL tells types and address spaces too.
            let whole = device.from_slice(&[1i32]).unwrap();
            let told = refused(device, || saxpy.call(args![1.0f32, &whole, &mut y, 1u32]).forall(1));
            assert!(told.contains("(x) takes ") && told.contains("1 elements of i32"), "{told}");
            let told = refused(device, || saxpy.call(args![1.0f32, &x, LocalMem::<f32>::new(4), 1u32]).forall(1));
            assert!(told.contains("(y) takes ") && told.contains("16 bytes of local memory"), "{told}");
            let told = refused(device, || saxpy.call(args![1.0f32, &x, &mut y, 1i32]).forall(1));
            assert!(told.contains("(n)") && told.contains("a scalar of i32"), "{told}");
        }
        let elsewhere = Device::host().unwrap().from_slice(&[1.0f32]).unwrap();
        let told = refused(device, || saxpy.call(args![1.0f32, &elsewhere, &mut y, 1u32]).forall(1));
        assert!(told.contains("argument 1") && told.contains("host") && told.contains(device.name()), "{told}");
        let twin = open(device.name(), Config::default()).from_slice(&[1.0f32]).unwrap();
        let told = refused(device, || saxpy.call(args![1.0f32, &twin, &mut y, 1u32]).forall(1));
        assert!(told.contains("another handle"), "{told}");
        // The device goes on.
        saxpy.call(args![1.0f32, &x, &mut y, 1u32]).forall(1).unwrap();
        assert_eq!(y.item().unwrap(), 2.0);
    });
}

#[test]
fn grids_past_the_limits_are_refused_with_the_limit() {
    on_compilers(|device| {
        let twice = portable(device, "twice", DOUBLE);
        let most = twice.attributes().unwrap().max_threads as usize;
        let mut x = device.from_slice(&[1.0f32]).unwrap();
        let mut told = |groups: [usize; 3], threads: [usize; 3]| {
            refused(device, || twice.call(args![&mut x, 1u32]).launch(groups, threads))
        };
        let past = told([1, 1, 1], [most + 1, 1, 1]);
        assert!(past.contains(&most.to_string()) && past.contains(&(most + 1).to_string()), "{past}");
        assert!(told([1, 1, 1], [1, most, 2]).contains(&most.to_string()));
        assert!(told([1, 1, 1], [1, 0, 1]).contains("[1, 0, 1]"));
        let past = told([1 << 33, 1, 1], [1, 1, 1]);
        assert!(past.contains("8589934592 groups along x") && past.contains("4294967295"), "{past}");
        assert!(told([1, 1, 1], [usize::MAX, 1, 1]).contains("threads along x"));
        let source = "KERNEL spread(GLOBAL f32 *x LOCAL_PARAM(f32, tile)) { LOCAL_ARRAY(f32, tile)
            tile[THREAD_X] = x[0]; BARRIER; x[INDEX_X] = tile[0]; }";
        let spread = portable(device, "spread", source);
        let huge = LocalMem::<f32>::new(1 << 24);
        let past = refused(device, || spread.call(args![&mut x, huge]).launch(1, 1));
        assert!(past.contains("67108864 bytes of local memory"), "{past}");
        spread.call(args![&mut x, LocalMem::<f32>::new(1)]).launch(1, 1).unwrap();
        if !device.name().starts_with("cuda") {
            let told = refused(device, || twice.call(args![&mut x, 1u32]).local_bytes(16).launch(1, 1));
            assert!(told.contains("16 bytes") && told.contains("LocalMem"), "{told}");
        }
        assert_eq!(x.item().unwrap(), 1.0);
    });
}

#[test]
fn a_grid_of_nothing_launches_nothing() {
    on_compilers(|device| {
        let twice = portable(device, "twice", DOUBLE);
        let mut x = device.from_slice(&[1.0f32]).unwrap();
        let mut none = device.zeros::<f32>([0]);
        let counted = launches(device, || {
            twice.call(args![&mut x, 1u32]).forall(0).unwrap();
            twice.call(args![&mut x, 1u32]).launch([1, 0], 1).unwrap();
            twice.call(args![&mut none, 0u32]).forall(0).unwrap();
        });
        assert_eq!(counted, 0);
        assert_eq!(x.item().unwrap(), 1.0);
        assert_eq!(none.get().unwrap().len(), 0);
        // Memory without elements is memory all the same.
        twice.call(args![&mut none, 0u32]).launch(1, 1).unwrap();
    });
}

#[test]
fn forall_covers_every_element_once() {
    on_compilers(|device| {
        let source = "KERNEL count(GLOBAL u32 *x, u32 n) { if (INDEX_X < n) x[INDEX_X] += 1; }";
        let count = portable(device, "count", source);
        for n in [1usize, 2, 31, 255, 256, 257, 1000, 100_003] {
            let mut x = device.from_slice(&vec![0u32; n]).unwrap();
            count.call(args![&mut x, n as u32]).forall(n).unwrap();
            assert!(x.get().unwrap().iter().all(|x| *x == 1), "{n}");
        }
    });
}

#[test]
fn launches_on_queues_are_in_order_with_all_else() {
    on_compilers(|device| {
        let saxpy = portable(device, "saxpy", SAXPY);
        let n = 1 << 16;
        let (first, second) = (device.queue().unwrap(), device.queue().unwrap());
        let x = device.from_slice(&vec![1.0f32; n]).unwrap();
        let mut y = device.from_slice(&vec![0.0f32; n]).unwrap();
        for round in 0..8 {
            let queue = if round % 2 == 0 { &first } else { &second };
            let event =
                saxpy.call(args![1.0f32, &(&x * 1.0), &mut y, n as u32]).submit(queue, &[], n / 64, 64).unwrap();
            if round == 7 {
                event.wait().unwrap();
                assert!(event.is_done().unwrap());
                event.duration().unwrap();
            }
            y += 1.0; // Lazy work, on its own queue.
        }
        assert!(y.get().unwrap().iter().all(|y| *y == 16.0));
        let other = open(device.name(), Config::default()).queue().unwrap();
        let wrong = saxpy.call(args![1.0f32, &x, &mut y, 1u32]).submit(&other, &[], 1, 1).map(|_| ());
        assert!(matches!(wrong, Err(Error::InvalidLaunch { .. })), "{wrong:?}");
    });
}

#[test]
fn a_launch_is_timed() {
    on_compilers(|device| {
        let source = "KERNEL spin(GLOBAL f32 *x, u32 rounds) {
            f32 y = x[INDEX_X];
            for (u32 i = 0; i < rounds; i++) y = y * 0.999f + 1.0f;
            x[INDEX_X] = y;
        }";
        let spin = portable(device, "spin", source);
        let mut x = device.from_slice(&[1.0f32; 1024]).unwrap();
        spin.call(args![&mut x, 1u32]).launch(4, 256).unwrap();
        let mut timed = |rounds: u32| spin.call(args![&mut x, rounds]).timed(4, 256).unwrap();
        let (short, long) = (timed(1), timed(200_000));
        assert!(long > short, "{long:?} for many rounds, {short:?} for one");
    });
}

#[test]
fn every_element_type_is_an_argument() {
    fn check<T: Element>(device: &Device, c_type: &str, value: T) {
        let source = format!("KERNEL fill(GLOBAL {c_type} *x, {c_type} value) {{ x[INDEX_X] = value; }}");
        let mut x = device.from_slice(&[T::zero(); 3]).unwrap();
        portable(device, "fill", &source).call(args![&mut x, value]).launch(1, 3).unwrap();
        assert!(x.get().unwrap().iter().all(|x| *x == value), "{c_type}");
    }
    on_compilers(|device| {
        check(device, "i8", -3i8);
        check(device, "i16", -300i16);
        check(device, "i32", i32::MIN);
        check(device, "i64", i64::MIN + 1);
        check(device, "u8", 200u8);
        check(device, "u16", 60_000u16);
        check(device, "u32", u32::MAX);
        check(device, "u64", u64::MAX - 1);
        check(device, "f32", -0.5f32);
        check(device, "f64", 1e300f64);
        // Booleans are bytes, halves their bits.
        let mut x = device.from_slice(&[false; 2]).unwrap();
        let source = "KERNEL fill(GLOBAL u8 *x, u8 value) { x[INDEX_X] = value; }";
        portable(device, "fill", source).call(args![&mut x, true]).launch(1, 2).unwrap();
        assert_eq!(x.get().unwrap().as_slice(), Some(&[true, true][..]));
        let mut x = device.from_slice(&[f16::ZERO]).unwrap();
        let source = "KERNEL fill(GLOBAL u16 *x, u16 value) { x[INDEX_X] = value; }";
        portable(device, "fill", source).call(args![&mut x, f16::from_f32(1.5)]).launch(1, 1).unwrap();
        assert_eq!(x.item().unwrap(), f16::from_f32(1.5));
        let mut x = device.from_slice(&[0u64]).unwrap();
        let source = "KERNEL fill(GLOBAL u64 *x, u64 value) { x[INDEX_X] = value; }";
        portable(device, "fill", source).call(args![&mut x, 7usize]).launch(1, 1).unwrap();
        assert_eq!(x.item().unwrap(), 7);
    });
}

#[test]
fn a_value_made_by_a_bad_index_is_told_by_the_launch_that_would_read_it() {
    on_compilers(|device| {
        let copy = portable(device, "copy", COPY);
        let x = device.from_slice(&[1.0f32, 2.0]).unwrap();
        let indices = device.from_slice(&[0i32, 5]).unwrap();
        let mut y = device.zeros::<f32>([2]);
        let error = copy.call(args![&x.take(&indices, 0), &mut y]).launch(1, 2).unwrap_err();
        assert!(matches!(error, Error::IndexOutOfRange { index: 5, .. }), "{error}");
        let mut taken = x.take(&indices, 0);
        let error = copy.call(args![&x, &mut taken]).launch(1, 2).unwrap_err();
        assert!(matches!(error, Error::IndexOutOfRange { index: 5, .. }), "{error}");
    });
}

#[test]
fn writing_to_a_buffer_leaves_the_array_that_reads_it() {
    on_compilers(|device| {
        let twice = portable(device, "twice", DOUBLE);
        let flags = MemFlags::READ_WRITE | MemFlags::COPY_HOST_PTR;
        let mut buffer = Buffer::from_slice(device, flags, &[1.0f32, 2.0]).unwrap();
        let array = buffer.to_array([2]).unwrap();
        let lazy = &array * 10.0;
        twice.call(args![&mut buffer, 2u32]).forall(2).unwrap();
        assert_eq!(lazy.get().unwrap().as_slice(), Some(&[10.0, 20.0][..]));
        assert_eq!(buffer.to_array([2]).unwrap().get().unwrap().as_slice(), Some(&[2.0, 4.0][..]));
    });
}
