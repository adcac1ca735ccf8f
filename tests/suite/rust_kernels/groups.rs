//! Threads together: indices in one to three dimensions, shared arrays, barriers and atomics.

use lazuli::Error;
use lazuli::kernel::*;

use crate::common::{flat, is_cpu, on_every, on_fused, skip};

#[lazuli::kernel]
fn where_am_i(out: &mut [u64]) {
    let (x, y, z) = grid3();
    let (sx, sy, sz) = grid_size3();
    let (t, b) = (thread_idx(), block_idx());
    let same = x == b.x * block_dim().x + t.x && y == b.y * block_dim().y + t.y && z == b.z * block_dim().z + t.z;
    let whole = sx == grid_dim().x * block_dim().x && grid_size1() == sx && grid_size2().1 == sy;
    if same && whole && sz == 2 && grid1() == x && grid2().1 == y {
        out[(z * sy + y) * sx + x] = (x + 100 * y + 10000 * z) as u64;
    }
}

#[test]
fn threads_know_where_they_are() {
    on_fused(|device| {
        let mut out = device.zeros::<u64>(12 * 6 * 2);
        where_am_i(&mut out).launch((3, 2, 1), (4, 3, 2)).unwrap();
        let expected: Vec<u64> =
            (0..2).flat_map(|z| (0..6).flat_map(move |y| (0..12).map(move |x| x + 100 * y + 10000 * z))).collect();
        assert_eq!(flat(&out), expected);
    });
}

#[lazuli::kernel]
fn strided(x: &[i32], sums: &mut [i32]) {
    let mut sum = 0;
    for i in (grid1()..x.len()).step_by(grid_size1()) {
        sum += x[i];
    }
    sums[grid1()] = sum;
}

#[test]
fn a_grid_goes_through_more_than_it_has_threads() {
    on_fused(|device| {
        let x: Vec<i32> = (0..1001).collect();
        let mut sums = device.zeros::<i32>(24);
        strided(&device.from_slice(&x).unwrap(), &mut sums).launch([3], [8]).unwrap();
        let expected: Vec<i32> = (0..24).map(|t| x.iter().skip(t).step_by(24).sum()).collect();
        assert_eq!(flat(&sums), expected);
    });
}

const THREADS: usize = 64;

/// A sum of each group, by halves.
#[lazuli::kernel]
fn group_sums(x: &[f32], sums: &mut [f32]) {
    let mut part = shared::<[f32; THREADS]>();
    let (i, t) = (grid1(), thread_idx().x);
    part[t] = if i < x.len() { x[i] } else { 0.0 };
    barrier();
    let mut width = THREADS / 2;
    while width > 0 {
        if t < width {
            part[t] += part[t + width];
        }
        barrier();
        width /= 2;
    }
    if t == 0 {
        sums[block_idx().x] = part[0];
    }
}

/// The same in the array whose length the launch sets.
#[lazuli::kernel]
fn reversed(x: &[i32], y: &mut [i32]) {
    let mut part = shared_dynamic::<i32>();
    let t = thread_idx().x;
    part[t] = x[t];
    barrier();
    y[t] = part[part.len() - 1 - t];
}

#[test]
fn groups_share_arrays_and_meet() {
    on_fused(|device| {
        let x: Vec<f32> = (0..300).map(|i| i as f32).collect();
        let mut sums = device.zeros::<f32>(5);
        group_sums(&device.from_slice(&x).unwrap(), &mut sums).launch([5], [THREADS]).unwrap();
        let expected: Vec<f32> = x.chunks(THREADS).map(|part| part.iter().sum()).collect();
        assert_eq!(flat(&sums), expected);
        let x: Vec<i32> = (0..40).collect();
        let mut y = device.zeros::<i32>(40);
        reversed(&device.from_slice(&x).unwrap(), &mut y).local_bytes(160).launch([1], [40]).unwrap();
        assert_eq!(flat(&y), x.into_iter().rev().collect::<Vec<_>>());
    });
}

#[lazuli::kernel]
fn atomics(cells: &mut [i32], seen: &mut [i32]) {
    let i = grid1() as i32;
    let before = atomic_add(&mut cells[0], 1);
    atomic_add(&mut seen[before as usize], 1);
    atomic_sub(&mut cells[1], 2);
    atomic_min(&mut cells[2], i - 5);
    atomic_max(&mut cells[3], i * 3);
    atomic_and(&mut cells[4], !(1 << (i % 8)));
    atomic_or(&mut cells[5], 1 << (i % 8));
    atomic_xor(&mut cells[6], 1 << (i % 31));
    let was = atomic_exchange(&mut cells[7], 1);
    if was == 0 {
        atomic_add(&mut cells[8], 1);
    }
    if atomic_compare_exchange(&mut cells[9], 0, i + 1) == 0 {
        atomic_add(&mut cells[10], 1);
    }
}

#[lazuli::kernel]
fn float_atomics(cells: &mut [f32], wide: &mut [f64], counts: &mut [u64]) {
    let i = grid1();
    let mut own = shared::<[u32; 2]>();
    if thread_idx().x == 0 {
        own[0] = 0;
    }
    barrier();
    atomic_add(&mut own[0], 1);
    atomic_add(&mut cells[0], 0.5);
    atomic_max(&mut cells[1], i as f32);
    atomic_min(&mut cells[2], -(i as f32));
    atomic_add(&mut wide[0], 0.25);
    barrier();
    if thread_idx().x == 0 {
        atomic_add(&mut counts[0], own[0] as u64);
    }
}

#[test]
fn atomics_lose_nothing() {
    on_fused(|device| {
        let mut cells = device.from_slice(&[0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0]).unwrap();
        let mut seen = device.zeros::<i32>(256);
        atomics(&mut cells, &mut seen).launch([4], [64]).unwrap();
        let cells = flat(&cells);
        let xor = (0..256).fold(0, |bits, i| bits ^ 1 << (i % 31));
        assert_eq!(cells[..9], [256, -512, -5, 765, !255, 255, xor, 1, 1]);
        assert!((1..=256).contains(&cells[9]) && cells[10] == 1, "{cells:?}");
        assert_eq!(flat(&seen), [1; 256]);
        let (mut cells, mut wide) = (device.zeros::<f32>(3), device.zeros::<f64>(1));
        let mut counts = device.zeros::<u64>(1);
        float_atomics(&mut cells, &mut wide, &mut counts).launch([4], [64]).unwrap();
        assert_eq!(flat(&cells), [128.0, 255.0, -255.0]);
        assert_eq!((flat(&wide), flat(&counts)), (vec![64.0], vec![256]));
    });
}

#[lazuli::kernel]
fn lost(x: &[i32], y: &mut [i32]) {
    let i = grid1();
    y[i] = x[i + 2];
}

#[test]
fn an_index_out_of_range_is_told_with_its_place() {
    let name = crate::common::names().iter().find(|name| !name.starts_with("cuda"));
    let Some(name) = name else { return };
    let device = crate::common::open(name, lazuli::Config::default().with_checked_kernels(true));
    let (x, mut y) = (device.from_slice(&[1, 2, 3, 4]).unwrap(), device.zeros::<i32>(4));
    let error = lost(&x, &mut y).launch([1], [4]).unwrap_err();
    let told = error.to_string();
    let lazuli::Error::KernelIndex { index, extent, at, .. } = error else { panic!("{told}") };
    assert!((4..=5).contains(&index) && extent == 4 && at.contains("groups.rs"), "{told}");
}

/// Threads that return before a barrier: the host counts those that are left; OpenCL must not be asked.
#[lazuli::kernel]
fn some_leave(first: usize, counts: &mut [i32]) {
    if thread_idx().x < first {
        return;
    }
    barrier();
    atomic_add(&mut counts[0], 1);
}

/// Some threads of a group never come to the barrier.
#[lazuli::kernel]
fn some_stay_away(counts: &mut [i32]) {
    let here = thread_idx().x;
    if here * 2 < 80 {
        barrier();
    }
    counts[here] = 1;
}

#[test]
fn a_barrier_for_some_threads_is_an_error_on_cpus() {
    on_every(|device| {
        if device.name().starts_with("cuda") {
            return skip("a barrier for some threads on CUDA", "what comes of it is not defined there");
        }
        let error = some_stay_away(&mut device.zeros::<i32>([64])).launch(1, 64).unwrap_err();
        assert!(error.to_string().contains("barrier"), "{error}");
        let mut counts = device.zeros::<i32>([1]);
        all_leave(1, &mut counts).launch(1, 64).unwrap();
        assert_eq!(counts.get().unwrap()[[0]], 64);
    });
}

/// All of a group return, or none.
#[lazuli::kernel]
fn all_leave(groups: usize, counts: &mut [i32]) {
    let group = block_idx().x;
    if group >= groups {
        return;
    }
    barrier();
    atomic_add(&mut counts[0], 1);
}

#[test]
fn threads_that_return_before_a_barrier_are_refused_where_the_device_misses_them() {
    on_every(|device| {
        let mut counts = device.zeros::<i32>([1]);
        match (some_leave(24, &mut counts).launch(1, 64), device.name().starts_with("opencl")) {
            (Err(Error::Unsupported { what, .. }), true) => assert!(what.contains("some_leave"), "{what}"),
            (launched, is_opencl) => {
                assert!(!is_opencl, "{launched:?}");
                launched.unwrap();
                assert_eq!(counts.get().unwrap()[[0]], 40);
            }
        }
        let mut counts = device.zeros::<i32>([1]);
        all_leave(2, &mut counts).launch(3, 64).unwrap();
        assert_eq!(counts.get().unwrap()[[0]], 128);
    });
}

#[lazuli::elementwise]
fn of_table(i: i32) -> i32 {
    let mut table = [10, 20, 30];
    table[(i + 1) as usize] += 1;
    table[i as usize]
}

#[lazuli::device]
fn of_table_too(a: i32, b: i32) -> i32 {
    let table = [1, 2];
    table[(a + b) as usize]
}

#[test]
fn functions_over_arrays_reach_no_further_than_their_own_arrays() {
    on_every(|device| {
        let x = device.from_slice(&[0, 1, 2, 3, -1, i32::MIN, i32::MAX]).unwrap();
        assert_eq!(of_table(&x).get().unwrap().as_slice().unwrap(), [10, 20, 30, 0, 0, 0, 0]);
        assert_eq!(device.from_slice(&[1, 5, 7, 9]).unwrap().reduce(of_table_too::Function, 0).item().unwrap(), 2);
        if is_cpu(device) {
            let scanned = device.from_slice(&[1, 5, 7, 9]).unwrap().scan(of_table_too::Function, 0, 0).get();
            assert!(matches!(scanned, Err(Error::KernelIndex { .. })), "{scanned:?}");
        }
    });
}
