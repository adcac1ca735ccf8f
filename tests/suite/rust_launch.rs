//! Launches of kernels written in Rust: what compiles when, indices out of range, and where a kernel without memory runs.

use lazuli::kernel::*;
use lazuli::prelude::*;
use lazuli::{Buffer, Error, MemFlags};

use super::common::{compiles, is_cpu, named, names, on_fused, open};

#[lazuli::kernel]
fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    let i = grid1();
    if i < y.len() {
        y[i] = a * x[i] + y[i];
    }
}

/// Reads one element past the end in the last thread.
#[lazuli::kernel]
fn neighbours(x: &[i32], y: &mut [i32]) {
    let i = grid1();
    y[i] = x[i] + x[i + 1];
}

#[lazuli::kernel]
fn in_three(y: &mut [u32], n: usize) {
    let (i, j, k) = grid3();
    y[(k * n + j) * n + i] = 1;
}

#[lazuli::kernel]
fn reversed(x: &[i32], y: &mut [i32]) {
    let mut tile = shared_dynamic::<i32>();
    let (here, size) = (thread_idx().x, block_dim().x);
    tile[here] = x[grid1()];
    barrier();
    y[grid1()] = tile[size - 1 - here] + 1000 * (tile.len() as i32);
}

#[lazuli::kernel]
fn nothing(n: u32) {
    let mut i = 0u32;
    while i < n {
        i += 1;
    }
}

#[test]
fn a_kernel_compiles_once_a_device_and_is_counted() {
    on_fused(|device| {
        let x = device.from_slice(&[1.0f32, 2.0, 3.0]).unwrap();
        let mut y = device.from_slice(&[10.0f32, 20.0, 30.0]).unwrap();
        let before = device.counters();
        let compiled = compiles(device, || {
            saxpy(2.0, &x, &mut y).forall(3).unwrap();
            saxpy(1.0, &x, &mut y).launch(1, 4).unwrap();
        });
        assert_eq!(compiled, 1);
        let after = device.counters();
        assert_eq!((after.launches - before.launches, after.kernel_hits - before.kernel_hits), (2, 1));
        assert_eq!(y.get().unwrap().as_slice(), Some(&[13.0, 26.0, 39.0][..]));
    });
}

#[test]
fn parts_of_buffers_are_arguments_where_the_device_lets_one_begin() {
    on_fused(|device| {
        let values: Vec<f32> = (0..1000u16).map(f32::from).collect();
        let x = Buffer::from_slice(device, MemFlags::COPY_HOST_PTR, &values).unwrap();
        let mut y = Buffer::from_slice(device, MemFlags::COPY_HOST_PTR, &[1.0f32; 1000]).unwrap();
        // 512 elements in, no device minds.
        let (mut left, right) = y.slice_mut(..).unwrap().split_at_mut(512).unwrap();
        let (part, _) = right.split_at_mut(100).unwrap();
        saxpy(2.0, x.slice(512..612).unwrap(), part).forall(200).unwrap();
        left.fill(0.0).unwrap();
        let expected = |i: usize| if i < 512 { 0.0 } else { 1.0 + if i < 612 { 2.0 * values[i] } else { 0.0 } };
        assert_eq!(y.to_vec().unwrap(), (0..1000).map(expected).collect::<Vec<f32>>());
        // One element in, OpenCL devices do.
        let mut y = device.zeros::<f32>([100]);
        match saxpy(2.0, x.slice(1..101).unwrap(), &mut y).forall(100) {
            Ok(()) => assert_eq!(y.get().unwrap()[[99]], 200.0),
            Err(Error::InvalidLaunch { kernel, what }) => {
                assert!(device.name().starts_with("opencl"), "{what}");
                assert!(kernel == "saxpy" && what.contains("argument 1") && what.contains("byte 4"), "{what}");
                assert_eq!(y.get().unwrap()[[99]], 0.0);
            }
            Err(other) => panic!("{other}"),
        }
        // Recorded, a part is an input like any array.
        let mut y = device.zeros::<f32>([100]);
        saxpy(2.0, x.slice(1..101).unwrap(), &mut y).record_forall(100).unwrap();
        assert_eq!(y.get().unwrap()[[99]], 200.0);
    });
}

#[test]
fn an_index_out_of_range_is_an_error_with_kernel_thread_and_line_and_the_device_goes_on() {
    for name in names() {
        let device = open(name, Config::default().with_checked_kernels(true));
        named(name, || {
            let x = device.from_slice(&(0..8).collect::<Vec<i32>>()).unwrap();
            let mut y = device.zeros::<i32>([8]);
            match neighbours(&x, &mut y).launch(2, 4) {
                Err(Error::KernelIndex { kernel, index, axis, extent, group, thread, at }) => {
                    assert_eq!((kernel.as_str(), index, axis, extent), ("neighbours", 8, 0, 8));
                    assert_eq!((group, thread), ([1, 0, 0], [3, 0, 0]));
                    assert!(at.contains("rust_launch.rs:21:"), "{at}");
                }
                other => panic!("{other:?}"),
            }
            // What was out of range was read as zero; all else is as it should be.
            assert_eq!(y.get().unwrap().as_slice(), Some(&[1, 3, 5, 7, 9, 11, 13, 7][..]));
            let mut part = Buffer::from_slice(&device, MemFlags::COPY_HOST_PTR, &[0i32; 4]).unwrap();
            assert!(matches!(neighbours(&x, &mut part).launch(1, 8), Err(Error::KernelIndex { extent: 4 | 8, .. })));
            neighbours(&x, &mut part).launch(1, 4).unwrap();
            let mut host = [0; 4];
            part.copy_to_host(&mut host).unwrap();
            assert_eq!(host, [1, 3, 5, 7]);
        });
    }
}

#[test]
fn checks_are_on_where_an_access_could_end_the_process_and_can_be_turned_off() {
    let is_cpu = |name: &&String| is_cpu(&open(name, Config::default()));
    for name in names().iter().filter(is_cpu) {
        let (checked, unchecked) =
            (open(name, Config::default()), open(name, Config::default().with_checked_kernels(false)));
        named(name, || {
            let run = |device: &Device| {
                let x = device.from_slice(&[1i32, 2, 3]).unwrap();
                let mut y = device.zeros::<i32>([2]);
                neighbours(&x, &mut y).launch(1, 2).map(|()| y.get().unwrap().into_raw_vec_and_offset().0)
            };
            assert_eq!(run(&checked).unwrap(), [3, 5]);
            assert_eq!(run(&unchecked).unwrap(), [3, 5]);
            let x = checked.from_slice(&[1i32, 2]).unwrap();
            let mut y = checked.zeros::<i32>([2]);
            assert!(matches!(neighbours(&x, &mut y).launch(1, 2), Err(Error::KernelIndex { .. })));
        });
    }
}

#[test]
fn grids_have_three_dimensions_and_indices_are_in_order() {
    on_fused(|device| {
        let mut y = device.zeros::<u32>([64]);
        in_three(&mut y, 4).launch([2, 1, 4], [2, 4, 1]).unwrap();
        assert!(y.get().unwrap().iter().all(|y| *y == 1));
        let told = in_three(&mut y, 4).launch([2, 1, 4], [2, 0, 1]).unwrap_err().to_string();
        assert!(told.contains("in_three") && told.contains("[2, 0, 1]"), "{told}");
        let told = in_three(&mut y, 4).launch(1, 1 << 20).unwrap_err().to_string();
        assert!(told.contains("1048576"), "{told}");
        in_three(&mut y, 4).launch([1, 0, 1], 1).unwrap();
        in_three(&mut y, 4).forall(0).unwrap();
    });
}

#[test]
fn a_shared_array_has_the_length_that_the_launch_sets() {
    on_fused(|device| {
        let x = device.from_slice(&(0..16).collect::<Vec<i32>>()).unwrap();
        let mut y = device.zeros::<i32>([16]);
        reversed(&x, &mut y).local_bytes(8 * 4).launch(2, 8).unwrap();
        let right: Vec<i32> = (0..16).map(|i| i / 8 * 8 + 7 - i % 8 + 8000).collect();
        assert_eq!(y.get().unwrap().as_slice(), Some(&right[..]));
    });
}

#[test]
fn a_kernel_without_memory_runs_where_it_is_told_to() {
    on_fused(|device| {
        let before = device.counters().launches;
        nothing(3).on(device).launch(1, 1).unwrap();
        assert_eq!(device.counters().launches, before + 1);
    });
    let told = nothing(3).launch(1, 1).unwrap_err().to_string();
    assert!(told.contains("nothing") && told.contains("on(&device)"), "{told}");
}

#[test]
fn memory_of_two_devices_is_refused() {
    on_fused(|device| {
        let x = Device::host().unwrap().from_slice(&[1.0f32]).unwrap();
        let mut y = device.zeros::<f32>([1]);
        let refused = saxpy(1.0, &x, &mut y).forall(1);
        assert!(matches!(refused, Err(Error::InvalidLaunch { .. })), "{refused:?}");
        assert_eq!(y.item().unwrap(), 0.0);
    });
}

#[test]
fn a_kernel_on_a_queue_is_in_order_with_lazy_work_and_is_timed() {
    on_fused(|device| {
        let queue = device.queue().unwrap();
        let n = 1 << 14;
        let x = device.from_slice(&vec![1.0f32; n]).unwrap();
        let mut y = device.zeros::<f32>([n]);
        for _ in 0..4 {
            let event = saxpy(1.0, &x, &mut y).submit(&queue, &[], n / 64, 64).unwrap();
            y += &x;
            event.wait().unwrap();
        }
        assert!(y.get().unwrap().iter().all(|y| *y == 8.0));
        let time = saxpy(1.0, &x, &mut y).timed(n / 64, 64).unwrap();
        assert!(time.as_secs_f64() < 60.0, "{time:?}");
        assert!(y.get().unwrap().iter().all(|y| *y == 9.0));
    });
}

/// OpenCL drivers count on 256 threads a group where the kernel does not say how many.
#[test]
fn groups_may_be_as_large_as_the_device_takes() {
    on_fused(|device| {
        let n = 4096usize;
        let x = device.from_slice(&vec![1.0f32; n]).unwrap();
        for threads in [1024, 512, 257] {
            let mut y = device.zeros::<f32>([n]);
            saxpy(2.0, &x, &mut y).launch(n.div_ceil(threads), threads).unwrap();
            assert_eq!(y.get().unwrap().as_slice(), Some(&vec![2.0f32; n][..]), "{threads} threads");
        }
        let mut cube = device.zeros::<u32>([16 * 16 * 4]);
        in_three(&mut cube, 16).launch(1, [16, 16, 4]).unwrap();
        assert_eq!(cube.get().unwrap().sum(), 16 * 16 * 4);
        let error = saxpy(2.0, &x, &mut device.zeros::<f32>([n])).launch(1, [1 << 16, 1 << 10]).unwrap_err();
        assert!(matches!(error, Error::InvalidLaunch { .. }), "{error}");
    });
}
