//! Kernels for devices that are small in some way, run on the host: what a device cannot take is never asked of it, and what
//! it computes is right.

use std::sync::Arc;

use lazuli_codegen::{DeviceFacts, Kernel, Schedule, local_memory_bytes};
use ndarray::{Array1, Array2, ArrayD, Axis, IxDyn};

use crate::config::Config;
use crate::error::Result;
use crate::runtime::host::HostRuntime;
use crate::runtime::{Executable, LaunchArgs, Memory, Runtime};
use crate::{Array, Device, Norm};

/// A host that claims to be another device, and takes no kernel that this one could not.
struct Small {
    host: HostRuntime,
    facts: DeviceFacts,
}

impl Runtime for Small {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        self.host.allocate(bytes)
    }

    fn upload(&self, source: &[u8], target: &dyn Memory, target_offset: usize) -> Result<()> {
        self.host.upload(source, target, target_offset)
    }

    fn clear(&self, memory: &dyn Memory, bytes: usize) -> Result<()> {
        self.host.clear(memory, bytes)
    }

    fn download(&self, source: &dyn Memory, source_offset: usize, target: &mut [u8]) -> Result<()> {
        self.host.download(source, source_offset, target)
    }

    fn compile(&self, kernel: &Arc<Kernel>, schedule: Schedule, contraction: bool) -> Result<Arc<dyn Executable>> {
        lazuli_codegen::verify_kernel(kernel, &schedule).unwrap();
        let (parameters, local) = (kernel.parameter_bytes(), local_memory_bytes(kernel, &schedule));
        assert!(parameters <= self.facts.max_parameter_bytes as usize, "{} takes {parameters} bytes", kernel.name);
        assert!(local <= self.facts.local_memory_bytes as usize, "{} takes {local} local bytes", kernel.name);
        let threads = match schedule {
            Schedule::Map { group, .. } | Schedule::Rows { group, .. } | Schedule::Tile { group, .. } => group,
            Schedule::Group { tree, points, .. } => tree.lanes * points,
        };
        assert!(threads <= self.facts.max_group, "{} takes groups of {threads}", kernel.name);
        self.host.compile(kernel, schedule, contraction)
    }

    fn launch(&self, executable: &dyn Executable, arguments: &LaunchArgs) -> Result<()> {
        self.host.launch(executable, arguments)
    }

    fn synchronize(&self) -> Result<()> {
        self.host.synchronize()
    }

    fn queues(&self) -> &dyn crate::runtime::explicit::Queues {
        self.host.queues()
    }

    fn modules(&self) -> &dyn crate::runtime::explicit::Modules {
        self.host.modules()
    }
}

/// Runs the body on devices with parameters of 1024 bytes or local memory of 16 KiB, small groups or few units: fused, and
/// not.
fn on_small_devices(body: impl Fn(&Device)) {
    let large = DeviceFacts {
        name: "small".into(),
        is_cpu: false,
        compute_units: 20,
        max_group: 1024,
        local_memory_bytes: 48 << 10,
        max_parameter_bytes: 4096,
        max_allocation_bytes: 1 << 40,
        has_f64: true,
        cooperation: lazuli_codegen::Cooperation::None,
        compiler: "small".into(),
    };
    let small = [
        DeviceFacts { max_parameter_bytes: 1024, ..large.clone() },
        DeviceFacts { local_memory_bytes: 16 << 10, ..large.clone() },
        DeviceFacts { max_parameter_bytes: 1024, local_memory_bytes: 16 << 10, max_group: 256, ..large.clone() },
        DeviceFacts { max_group: 64, compute_units: 1, local_memory_bytes: 16 << 10, ..large.clone() },
        DeviceFacts { is_cpu: true, max_parameter_bytes: 1024, max_group: 4096, compute_units: 2, ..large },
    ];
    for facts in small {
        for fusion in [true, false] {
            let runtime = Small { host: HostRuntime::new(), facts: facts.clone() };
            let config = Config::default().with_fusion(fusion);
            body(&Device::new("small".into(), Arc::new(runtime), Vec::new(), config));
        }
    }
}

fn matrix(rows: usize, columns: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 37 + j * 11) % 23) as f32 * 0.25 - 2.0)
}

#[track_caller]
fn close(ours: &Array<f32>, right: &ArrayD<f64>) {
    let ours = ours.get().unwrap();
    assert_eq!(ours.shape(), right.shape());
    for (ours, right) in ours.iter().zip(right) {
        assert!((f64::from(*ours) - right).abs() <= 1e-4 * right.abs().max(1.0), "{ours} where {right} is right");
    }
}

#[test]
fn hundreds_of_operands_and_scalars() {
    on_small_devices(|device| {
        let buffers: Vec<Array<f32>> = (0..200).map(|k| device.from_slice(&[k as f32; 3]).unwrap()).collect();
        let sum = buffers[1..].iter().fold(buffers[0].clone(), |sum, x| sum + x);
        assert_eq!(sum.get().unwrap(), ndarray::arr1(&[19_900.0f32; 3]).into_dyn());
        let sum = (0..300).fold(device.zeros::<f32>([3]) + &buffers[0], |sum, k| sum + k as f32);
        assert_eq!(sum.get().unwrap(), ndarray::arr1(&[44_850.0f32; 3]).into_dyn());
        // Many results of one space, and reductions beside one another.
        let results: Vec<Array<f32>> = buffers.iter().map(|x| x * 2.0).collect();
        let values = crate::get(&results[..]).unwrap();
        assert!(values.iter().enumerate().all(|(k, values)| values[[1]] == 2.0 * k as f32));
        let x = device.to_device(&matrix(4, 3000)).unwrap();
        let sums: Vec<Array<f32>> = (0..60).map(|k| (&x + k as f32).max_axis(1)).collect();
        let values = crate::get(&sums[..]).unwrap();
        assert!(
            values
                .iter()
                .enumerate()
                .all(|(k, values)| (values[[0]] - values[[1]]).abs() < 9.0 && values[[0]] >= k as f32)
        );
    });
}

#[test]
fn many_axes_that_no_two_operands_walk_alike() {
    on_small_devices(|device| {
        let shape = [2usize, 3, 2, 2, 3, 2, 2, 2];
        let n: usize = shape.iter().product();
        let host = Array1::from_iter((0..n).map(|i| i as f32)).into_shape_with_order(IxDyn(&shape)).unwrap();
        let x = device.to_device(&host).unwrap();
        // Each pair of axes of one extent, exchanged.
        let mut sum = &x * 1.0;
        let mut right = host.clone();
        for (a, b) in [(0, 2), (2, 3), (3, 5), (5, 6), (6, 7), (0, 7), (1, 4), (2, 6), (0, 5), (3, 7)] {
            sum += x.swap_axes(a, b).flip(a);
            let mut turned = host.view();
            turned.swap_axes(a as usize, b as usize);
            turned.invert_axis(Axis(a as usize));
            right = right + turned;
        }
        assert_eq!(sum.get().unwrap(), right);
    });
}

#[test]
fn rows_and_columns_of_every_length() {
    on_small_devices(|device| {
        for (rows, columns) in [(5, 3), (3, 700), (700, 5), (2, 9000), (1, 70_000)] {
            let host = matrix(rows, columns);
            let wide = host.mapv(f64::from);
            let x = device.to_device(&host).unwrap();
            for axis in [0usize, 1] {
                let (own, count) = (axis as isize, [rows, columns][axis] as f64);
                let keep = |values: ndarray::Array1<f64>| values.insert_axis(Axis(axis));
                let mean = keep(wide.sum_axis(Axis(axis)) / count);
                let centred = &wide - &mean;
                let variance = keep((&centred * &centred).sum_axis(Axis(axis)) / count);
                close(&x.mean_axes_keep(&[own]), &mean.clone().into_dyn());
                close(&x.var_axes_keep(&[own], 0), &variance.clone().into_dyn());
                let norm = (&x - x.mean_axes_keep(&[own])) / (x.var_axes_keep(&[own], 0) + 1e-5).sqrt();
                close(&norm, &(&centred / &variance.mapv(|v| (v + 1e-5).sqrt())).into_dyn());
                let e = wide.mapv(f64::exp);
                close(&x.softmax(own), &(&e / &keep(e.sum_axis(Axis(axis)))).into_dyn());
                close(&x.norm_axis(own, Norm::L2), &(&wide * &wide).sum_axis(Axis(axis)).mapv(f64::sqrt).into_dyn());
                let at = x.argmax_axis_keep(own);
                let highest = x.take_along_axis(&at, own);
                assert_eq!(highest.get().unwrap(), x.max_axes_keep(&[own]).get().unwrap());
            }
            let sum = crate::get((&x.sum(), &x.cast::<f64>().sum(), &x.max(), &x.argmin())).unwrap();
            assert_eq!(sum.1.sum(), wide.sum());
        }
    });
}
