//! Schedules for GPUs, run from graph to values on an OpenCL CPU device that claims to be a GPU: what they compute is
//! tested where there is no GPU.

#![allow(clippy::reversed_empty_ranges, reason = "in `s![]` a negative end counts from the end")]

use std::sync::Arc;

use lazuli_codegen::{DeviceFacts, Kernel, Schedule};
use ndarray::{Array2, ArrayD, Axis, s};

use crate::config::Config;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::prelude::*;
use crate::runtime::opencl::OpenClRuntime;
use crate::runtime::{Executable, LaunchArgs, Memory, Runtime};

/// An OpenCL device under other facts.
struct Posing {
    runtime: OpenClRuntime,
    facts: DeviceFacts,
}

impl Runtime for Posing {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        self.runtime.allocate(bytes)
    }

    fn upload(&self, source: &[u8], target: &dyn Memory, target_offset: usize) -> Result<()> {
        self.runtime.upload(source, target, target_offset)
    }

    fn download(&self, source: &dyn Memory, source_offset: usize, target: &mut [u8]) -> Result<()> {
        self.runtime.download(source, source_offset, target)
    }

    fn clear(&self, memory: &dyn Memory, bytes: usize) -> Result<()> {
        self.runtime.clear(memory, bytes)
    }

    fn compile(&self, kernel: &Arc<Kernel>, schedule: Schedule, contraction: bool) -> Result<Arc<dyn Executable>> {
        lazuli_codegen::verify_kernel(kernel, &schedule).map_err(Error::Internal)?;
        self.runtime.compile(kernel, schedule, contraction)
    }

    fn launch(&self, executable: &dyn Executable, arguments: &LaunchArgs) -> Result<()> {
        self.runtime.launch(executable, arguments)
    }

    fn synchronize(&self) -> Result<()> {
        self.runtime.synchronize()
    }

    fn queues(&self) -> &dyn crate::runtime::explicit::Queues {
        self.runtime.queues()
    }

    fn modules(&self) -> &dyn crate::runtime::explicit::Modules {
        self.runtime.modules()
    }
}

/// What is said of a map whose threads have an element each.
const ONE_BY_ONE: &str = "threads, 1 element a thread";

/// A device that lowering takes for a GPU with so much local memory; `None`, aloud, where there is no OpenCL.
fn gpu(local_memory_bytes: u32) -> Option<Device> {
    let runtime = match OpenClRuntime::open(0, None) {
        Ok(runtime) => runtime,
        Err(error) => {
            println!("SKIP: {error}");
            return None;
        }
    };
    let facts = DeviceFacts { is_cpu: false, max_group: 1024, local_memory_bytes, ..runtime.facts().clone() };
    let config = Config::default().with_disk_cache(false);
    Some(Device::new("posing".into(), Arc::new(Posing { runtime, facts }), Vec::new(), config))
}

/// How the only kernel of an evaluation is run; then its values are compared.
#[track_caller]
fn schedule_of<T: Element>(ours: &Array<T>, right: &ArrayD<T>) -> String {
    let explanation = ours.explain().unwrap();
    assert_eq!(explanation.kernels.len(), 1, "{explanation}");
    let found = ours.get().unwrap();
    assert_eq!(found.shape(), right.shape());
    let wrong = found.indexed_iter().zip(right).find(|((_, found), right)| found != right);
    if let Some(((at, found), right)) = wrong {
        panic!("at {at:?}: {found} where {right} is right\n{explanation}");
    }
    explanation.kernels[0].schedule.clone()
}

fn matrix<T: Element>(rows: usize, columns: usize, of: impl Fn(usize) -> T) -> Array2<T> {
    Array2::from_shape_fn((rows, columns), |(i, j)| of(i * columns + j))
}

/// `x + y.t()` of a type, at sizes on either side of a tile's.
fn sums<T: Element + Number + std::ops::Add<Output = T>>(device: &Device, of: impl Fn(usize) -> T) {
    for (rows, columns) in [(32, 32), (33, 100), (64, 64), (65, 127), (128, 192), (160, 40)] {
        let (x, y) = (matrix(rows, columns, &of), matrix(columns, rows, |i| of(i + 5)));
        let ours = device.to_device(&x).unwrap() + device.to_device(&y).unwrap().t();
        let right = Array2::from_shape_fn((rows, columns), |(i, j)| x[[i, j]] + y[[j, i]]);
        let schedule = schedule_of(&ours, &right.into_dyn());
        assert!(schedule.contains("tiles of"), "{rows} by {columns} of {}: {schedule}", T::DTYPE);
    }
}

#[test]
fn a_turned_operand_of_any_type_goes_through_a_tile() {
    for local_memory in [48 << 10, 16 << 10] {
        let Some(device) = gpu(local_memory) else { return };
        sums(&device, |i| (i % 1013) as f32);
        sums(&device, |i| (i % 1013) as f64);
        sums(&device, |i| f16::from_f32((i % 37) as f32));
        sums(&device, |i| bf16::from_f32((i % 37) as f32));
        sums(&device, |i| (i % 61) as i8);
        sums(&device, |i| (i % 1013) as i16);
        sums(&device, |i| i as u64);
    }
    let Some(device) = gpu(48 << 10) else { return };
    let x = matrix(70, 90, |i| i % 3 == 0);
    let y = matrix(90, 70, |i| i % 5 == 0);
    let ours = device.to_device(&x).unwrap() & device.to_device(&y).unwrap().t();
    assert!(schedule_of(&ours, &(&x & &y.t()).into_dyn()).contains("tiles of"));
}

fn wave(rows: usize, columns: usize) -> Array2<f32> {
    matrix(rows, columns, |i| ((i * 7919) % 1009) as f32 / 8.0)
}

#[test]
fn a_stencil_shares_the_reads_of_its_rows() {
    let Some(device) = gpu(48 << 10) else { return };
    for (rows, columns) in [(6, 34), (7, 300), (66, 130), (100, 67), (9, 1030)] {
        let host = wave(rows, columns);
        let u = device.to_device(&host).unwrap();
        let around = u.slice(s![..-2, 1..-1]) + u.slice(s![2.., 1..-1]) + u.slice(s![1..-1, ..-2]);
        let ours = (around + u.slice(s![1..-1, 2..])) * 0.25 - u.slice(s![1..-1, 1..-1]);
        let right = Array2::from_shape_fn((rows - 2, columns - 2), |(i, j)| {
            let around = host[[i, j + 1]] + host[[i + 2, j + 1]] + host[[i + 1, j]];
            (around + host[[i + 1, j + 2]]) * 0.25 - host[[i + 1, j + 1]]
        });
        let schedule = schedule_of(&ours, &right.into_dyn());
        assert!(schedule.contains("rows of 1 element "), "{rows} by {columns}: {schedule}");
    }
}

#[test]
fn rows_are_shared_backwards_and_in_runs_of_neighbours() {
    let Some(device) = gpu(48 << 10) else { return };
    let host = wave(70, 128);
    let u = device.to_device(&host).unwrap();
    // Upside down, and with a row between those that are read.
    let down = u.flip(0);
    let ours = down.slice(s![..-2, ..64]) - down.slice(s![2.., ..64]);
    let right = Array2::from_shape_fn((68, 64), |(i, j)| host[[69 - i, j]] - host[[67 - i, j]]);
    let schedule = schedule_of(&ours, &right.into_dyn());
    assert!(schedule.contains("rows of 4 elements"), "{schedule}");
    // Too far apart for a window.
    let ours = u.slice(s![..-9, ..64]) - u.slice(s![9.., ..64]);
    let right = Array2::from_shape_fn((61, 64), |(i, j)| host[[i, j]] - host[[i + 9, j]]);
    let schedule = schedule_of(&ours, &right.into_dyn());
    assert!(schedule.ends_with("a thread") && !schedule.contains("rows of"), "{schedule}");
    // Three axes: rows lie along the middle one.
    let cube = host.into_shape_with_order((10, 14, 64)).unwrap();
    let u = device.to_device(&cube).unwrap();
    let ours = u.slice(s![1..-1, ..-2, 1..-1]) + u.slice(s![1..-1, 2.., 1..-1]) - u.slice(s![2.., 1..-1, 1..-1]);
    let right = ndarray::Array3::from_shape_fn((8, 12, 62), |(i, j, k)| {
        cube[[i + 1, j, k + 1]] + cube[[i + 1, j + 2, k + 1]] - cube[[i + 2, j + 1, k + 1]]
    });
    assert!(schedule_of(&ours, &right.into_dyn()).contains("rows of"));
}

#[test]
fn short_axes_are_tiled_in_small_squares_or_computed_in_rows() {
    let Some(device) = gpu(48 << 10) else { return };
    for (rows, columns, schedule) in [
        (16, 500, "tiles of 16 x 16"),
        (300, 20, "tiles of 16 x 16"),
        (9, 200, "rows of"),
        (3, 1000, "3 rows of"),
        (500, 5, ONE_BY_ONE),
    ] {
        let (x, y) = (wave(rows, columns), wave(columns, rows));
        let ours = device.to_device(&x).unwrap() - device.to_device(&y).unwrap().t();
        let found = schedule_of(&ours, &(&x - &y.t()).into_dyn());
        assert!(found.contains(schedule), "{rows} by {columns}: {found}");
    }
}

#[test]
fn a_turned_result_beside_a_straight_one_goes_through_a_tile() {
    let Some(device) = gpu(48 << 10) else { return };
    for (rows, columns) in [(64, 64), (70, 100), (130, 65)] {
        let (x, y) = (wave(rows, columns), wave(columns, rows));
        let (ours, theirs) = (device.to_device(&x).unwrap(), device.to_device(&y).unwrap());
        let (sum, twice) = (&ours + theirs.t(), theirs.t() * 2.0);
        let before = device.counters().launches;
        crate::eval((&sum, &twice)).unwrap();
        assert_eq!(device.counters().launches - before, 1);
        assert_eq!(sum.get().unwrap(), (&x + &y.t()).into_dyn());
        assert_eq!(twice.get().unwrap(), (&y.t() * 2.0).into_dyn());
    }
}

#[test]
fn many_operands_do_not_leave_the_registers() {
    let Some(device) = gpu(48 << 10) else { return };
    let x = wave(130, 70);
    let y: Vec<Array2<f32>> = (0..10).map(|k| wave(130, 70) + k as f32).collect();
    let turned = device.to_device(&wave(70, 130)).unwrap();
    let (mut ours, mut right) = (turned.t() + device.to_device(&x).unwrap(), &wave(70, 130).t() + &x);
    for y in &y {
        ours += device.to_device(y).unwrap();
        right += y;
    }
    assert!(schedule_of(&ours, &right.into_dyn()).contains("tiles of 32 x 32"));
}

#[test]
fn neighbours_that_are_not_aligned_are_loaded_one_by_one() {
    let Some(device) = gpu(48 << 10) else { return };
    let host = wave(1, 4099).into_shape_with_order(4099).unwrap();
    let x = device.to_device(&host).unwrap();
    let shifted = schedule_of(
        &(x.slice(s![1..]) + x.slice(s![..-1])),
        &(&host.slice(s![1..]) + &host.slice(s![..-1])).into_dyn(),
    );
    let turned = schedule_of(&(x.flip(0) * 2.0 + &x), &(&host.slice(s![..;-1]) * 2.0 + &host).into_dyn());
    for schedule in [shifted, turned] {
        assert!(schedule.contains(", 4 elements a thread"), "{schedule}");
    }
    // Rows of an odd length are stored one by one, but several together.
    let host = wave(40, 65);
    let x = device.to_device(&host).unwrap();
    let ours = x.slice(s![.., 2..]) * 3.0;
    let schedule = schedule_of(&ours, &(&host.slice(s![.., 2..]) * 3.0).into_dyn());
    assert!(schedule.contains("rows of 1 element "), "{schedule}");
}

#[test]
fn a_reshaped_transpose_is_a_transpose() {
    let Some(device) = gpu(48 << 10) else { return };
    let host = wave(96, 70);
    let x = device.to_device(&host).unwrap();
    let flat = host.t().iter().copied().collect::<Vec<f32>>();
    let right = |shape: &[usize]| ArrayD::from_shape_vec(shape, flat.clone()).unwrap();
    assert!(schedule_of(&(x.t().flatten() + 0.0), &right(&[6720])).contains("tiles of"));
    // 35 rows of 2 * 96: the rows are split, and the columns merged with them.
    assert!(schedule_of(&(x.t().reshape([35, 192]) + 0.0), &right(&[35, 192])).contains("tiles of"));
    // Nothing divides 80 and 96 but what is too short.
    assert!(schedule_of(&(x.t().reshape([84, 80]) + 0.0), &right(&[84, 80])).contains(ONE_BY_ONE));
    // An index that is a value, too, and both results of one division.
    let counted = x.t().flatten() + device.arange(0.0f32, 6720.0, 1.0);
    let right = ArrayD::from_shape_fn(vec![6720], |at| flat[at[0]] + at[0] as f32);
    assert!(schedule_of(&counted, &right).contains("tiles of"));
}

/// Rows that are read once and used again in every element, of whole numbers, so that every type has them exactly.
fn rows_of<T: Element + Number + std::ops::Sub<Output = T> + PartialOrd>(device: &Device) {
    for (rows, columns) in [(5, 9), (70, 40), (4, 300), (3, 4096), (2, 9000), (2, 40_000)] {
        let host = matrix(rows, columns, |i| T::from_f64(((i / columns * 7 + i % columns * 3) % 11) as f64));
        let x = device.to_device(&host).unwrap();
        let ten = T::from_f64(10.0);
        let what = format!("{rows} rows of {columns} of {}", T::DTYPE);
        let below = x.max_axes_keep(&[-1]) - x.clone();
        assert_eq!(below.get().unwrap(), host.mapv(|v| ten - v).into_dyn(), "{what}");
        let first = |row: ndarray::ArrayView1<'_, T>| row.iter().position(|v| *v == ten).unwrap() as i64;
        assert_eq!(x.argmax_axis(-1).get().unwrap(), host.map_axis(Axis(1), first).into_dyn(), "{what}");
        let least =
            |row: ndarray::ArrayView1<'_, T>| row.iter().fold(ten, |least, v| if *v < least { *v } else { least });
        assert_eq!(x.min_axis(-1).get().unwrap(), host.map_axis(Axis(1), least).into_dyn(), "{what}");
        assert_eq!(x.max_axis(0).get().unwrap().len(), columns);
    }
}

#[test]
fn rows_of_every_type_are_kept_for_a_second_pass() {
    let Some(device) = gpu(48 << 10) else { return };
    rows_of::<f16>(&device);
    rows_of::<bf16>(&device);
    rows_of::<f32>(&device);
    rows_of::<f64>(&device);
    rows_of::<i8>(&device);
    rows_of::<u16>(&device);
    rows_of::<i64>(&device);
}

#[test]
fn groups_combine_sums_of_every_type_and_layout() {
    let Some(device) = gpu(48 << 10) else { return };
    for (rows, columns) in [(1, 1_000_000), (3, 200_000), (50_000, 3), (40_000, 40)] {
        let host = matrix(rows, columns, |i| (i % 5) as i32);
        let x = device.to_device(&host).unwrap();
        let of = |axis| host.map_axis(Axis(axis), |line| line.iter().map(|v| i64::from(*v)).sum::<i64>()).into_dyn();
        assert_eq!(x.sum_axis(0).get().unwrap(), of(0), "{rows} by {columns}");
        assert_eq!(x.sum_axis(1).get().unwrap(), of(1), "{rows} by {columns}");
        assert_eq!(x.sum().item().unwrap(), of(0).sum());
        let halves = x.cast::<f16>().max();
        assert_eq!(halves.item().unwrap(), f16::from_f32(4.0));
        assert!((&x - 1).lt(4).all().item().unwrap() && x.eq(4).any().item().unwrap());
    }
}

#[test]
fn axes_that_do_not_merge_are_walked_without_divisions() {
    let Some(device) = gpu(48 << 10) else { return };
    let host = ndarray::Array3::from_shape_fn((30, 41, 53), |(i, j, k)| ((i * 7 + j * 3 + k) % 13) as i64);
    let x = device.to_device(&host).unwrap();
    let check = |ours: Array<i64>, right: ArrayD<i64>, what: &str| {
        let explanation = ours.explain().unwrap();
        assert_eq!(ours.get().unwrap(), right, "{what}\n{explanation}");
        let source = &explanation.kernels[0].source;
        let within = |line: &str| line.starts_with("        ") && (line.contains(" % n") || line.contains(" / n"));
        assert!(!source.lines().any(within), "{what} divides in its loop:\n{source}");
    };
    let inner = host.slice(s![.., ..40, 1..]);
    check(x.slice(s![.., ..40, 1..]).sum(), ndarray::arr0(inner.sum()).into_dyn(), "a part of a cube");
    let part = host.slice(s![.., ..;-2, ..52]);
    check(
        x.slice(s![.., ..;-2, ..52]).sum_axes(&[1, 2]),
        part.sum_axis(Axis(2)).sum_axis(Axis(1)).into_dyn(),
        "rows of planes",
    );
    let row = host.slice(s![0, 0, ..]).to_owned();
    let apart = &host - &row;
    let (first, line) = (x.slice(s![0, 0, ..]), 53);
    assert_eq!(first.shape(), [line]);
    check((&x - &first).sum(), ndarray::arr0(apart.sum()).into_dyn(), "less a row");
    let turned = host.view().permuted_axes([1, 0, 2]);
    check(
        x.permute(&[1, 0, 2]).sum_axes(&[0, 2]),
        turned.sum_axis(Axis(2)).sum_axis(Axis(0)).into_dyn(),
        "around an axis",
    );
    check(x.slice(s![.., ..;3, ..;20]).max_axes(&[0, 1, 2]), ndarray::arr0(12).into_dyn(), "short rows");
}
