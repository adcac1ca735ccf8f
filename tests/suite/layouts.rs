//! Maps whose operands lie in memory in different ways: turned, shifted, upside down. On GPUs these go through tiles,
//! rows and runs of neighbours, so that the sizes are those at which one of them ends.

use lazuli::prelude::*;
use ndarray::{Array1, Array2, Array3, ArrayD, s};

use crate::common::*;

fn matrix<T>(rows: usize, columns: usize, of: impl Fn(usize) -> T) -> Array2<T> {
    Array2::from_shape_fn((rows, columns), |(i, j)| of(i * columns + j))
}

fn wave(rows: usize, columns: usize) -> Array2<f32> {
    matrix(rows, columns, |i| ((i * 7919) % 1009) as f32 / 8.0)
}

/// The array has these values, and fused they take one launch.
#[track_caller]
fn in_one_launch<T: Element>(device: &Device, ours: &Array<T>, right: impl Into<ArrayD<T>>) {
    let explanation = ours.explain().expect("explains");
    assert_eq!(explanation.kernels.len(), 1, "{explanation}");
    assert_eq!(launches(device, || same(ours, right)), 1);
}

/// `x + y.t()`, and the like with the operands' parts, at sizes on either side of a tile's.
fn turned_sums<T: Element + Number + std::ops::Add<Output = T>>(device: &Device, of: impl Fn(usize) -> T) {
    for (rows, columns) in [(1, 70), (5, 300), (16, 16), (32, 33), (64, 64), (65, 130), (128, 128), (257, 40)] {
        let (x, y) = (matrix(rows, columns, &of), matrix(columns, rows, |i| of(i + 5)));
        let (ours, theirs) = (device.to_device(&x).unwrap(), device.to_device(&y).unwrap());
        let sum = Array2::from_shape_fn((rows, columns), |(i, j)| x[[i, j]] + y[[j, i]]);
        in_one_launch(device, &(&ours + theirs.t()), sum.clone().into_dyn());
        // Parts that begin and end anywhere, of which neighbours are not aligned.
        if rows > 2 {
            let part = ours.slice(s![1.., 2..]) + theirs.t().slice(s![1.., 2..]);
            in_one_launch(device, &part, sum.slice(s![1.., 2..]).to_owned().into_dyn());
        }
    }
}

#[test]
fn turned_operands_of_every_width_are_added() {
    on_fused(|device| {
        turned_sums(device, |i| (i % 1013) as f32);
        turned_sums(device, |i| (i % 61) as i8);
        turned_sums(device, |i| (i % 1013) as u16);
        turned_sums(device, |i| i as u64);
        turned_sums(device, |i| f16::from_f32((i % 37) as f32));
        turned_sums(device, |i| bf16::from_f32((i % 37) as f32));
        if device.from_slice(&[1.0f64]).and_then(|x| (x + 1.0).get()).is_ok() {
            turned_sums(device, |i| i as f64);
        }
        let (x, y) = (matrix(70, 90, |i| i % 3 == 0), matrix(90, 70, |i| i % 5 == 0));
        let both = device.to_device(&x).unwrap() & device.to_device(&y).unwrap().t();
        in_one_launch(device, &both, (&x & &y.t()).into_dyn());
    });
}

#[test]
fn axes_change_places_in_any_number() {
    on_fused(|device| {
        let host = Array1::from_iter((0..3 * 40 * 2 * 66).map(|i| (i % 2003) as f32));
        let host = host.into_shape_with_order((3, 40, 2, 66)).unwrap();
        let x = device.to_device(&host).unwrap();
        for order in [[0, 1, 3, 2], [0, 3, 2, 1], [3, 1, 2, 0], [3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1]] {
            let turned = host.view().permuted_axes(order);
            let shape = turned.shape().to_vec();
            let straight = device.from_shape(shape.clone(), &vec![0.5f32; host.len()]).unwrap();
            let ours = straight + x.permute(&order.map(|axis| axis as isize));
            in_one_launch(device, &ours, turned.mapv(|x| x + 0.5).into_dyn());
            // Copied into row-major order, in the same shape and flat.
            let flat: Vec<f32> = turned.iter().map(|x| x * 2.0).collect();
            let ours = x.permute(&order.map(|axis| axis as isize)).flatten() * 2.0;
            in_one_launch(device, &ours, ArrayD::from_shape_vec(vec![flat.len()], flat).unwrap());
        }
    });
}

#[test]
fn several_operands_are_turned_at_once() {
    on_fused(|device| {
        for (rows, columns) in [(70, 100), (33, 257)] {
            let hosts: Vec<Array2<f32>> = (0..9).map(|k| wave(columns, rows) + k as f32).collect();
            let straight = wave(rows, columns);
            let row = wave(1, columns);
            let mut ours = device.to_device(&straight).unwrap() * device.to_device(&row).unwrap();
            let mut right = &straight * &row;
            for host in &hosts {
                ours -= device.to_device(host).unwrap().t();
                right = right - host.t();
            }
            in_one_launch(device, &ours, right.into_dyn());
        }
    });
}

#[test]
fn turned_results_beside_straight_ones() {
    on_fused(|device| {
        let (x, y) = (wave(70, 100), wave(100, 70));
        let (ours, theirs) = (device.to_device(&x).unwrap(), device.to_device(&y).unwrap());
        let (sum, twice) = (&ours + theirs.t(), theirs.t() * 2.0);
        lazuli::eval((&sum, &twice)).unwrap();
        same(&sum, (&x + &y.t()).into_dyn());
        same(&twice, (&y.t() * 2.0).into_dyn());
    });
}

/// The five-point stencil.
fn stencil(u: &Array<f32>) -> Array<f32> {
    let around =
        u.slice(s![..-2, 1..-1]) + u.slice(s![2.., 1..-1]) + u.slice(s![1..-1, ..-2]) + u.slice(s![1..-1, 2..]);
    around * 0.25 - u.slice(s![1..-1, 1..-1])
}

fn stencil_of(u: &Array2<f32>) -> Array2<f32> {
    let around =
        &u.slice(s![..-2, 1..-1]) + &u.slice(s![2.., 1..-1]) + u.slice(s![1..-1, ..-2]) + u.slice(s![1..-1, 2..]);
    around * 0.25 - u.slice(s![1..-1, 1..-1])
}

#[test]
fn stencils_of_any_size_are_one_launch() {
    on_fused(|device| {
        for (rows, columns) in [(3, 3), (4, 40), (6, 34), (7, 300), (66, 130), (101, 67), (9, 2051), (300, 18)] {
            let host = wave(rows, columns);
            let u = device.to_device(&host).unwrap();
            in_one_launch(device, &stencil(&u), stencil_of(&host).into_dyn());
            // Turned: its rows lie along the columns.
            in_one_launch(device, &stencil(&u.t()), stencil_of(&host.t().to_owned()).into_dyn());
            // Upside down and backwards.
            let turned = host.slice(s![..;-1, ..;-1]).to_owned();
            in_one_launch(device, &stencil(&u.flip(0).flip(1)), stencil_of(&turned).into_dyn());
        }
    });
}

#[test]
fn whole_rows_are_subtracted() {
    on_fused(|device| {
        for (rows, columns) in [(5, 256), (6, 260), (9, 1023), (40, 300), (70, 12)] {
            let host = wave(rows, columns);
            let u = device.to_device(&host).unwrap();
            let ours = u.slice(s![1..-1, ..]) * 2.0 - u.slice(s![..-2, ..]) - u.slice(s![2.., ..]);
            let right = &host.slice(s![1..-1, ..]) * 2.0 - host.slice(s![..-2, ..]) - host.slice(s![2.., ..]);
            in_one_launch(device, &ours, right.into_dyn());
            let ours = u.slice(s![3.., ..]) - u.slice(s![..-3, ..]);
            in_one_launch(device, &ours, (&host.slice(s![3.., ..]) - &host.slice(s![..-3, ..])).into_dyn());
        }
    });
}

#[test]
fn a_seven_point_stencil_is_one_launch() {
    on_fused(|device| {
        for (a, b, c) in [(3, 4, 70), (10, 13, 34), (5, 9, 300)] {
            let host: Array3<f32> = Array3::from_shape_fn((a, b, c), |(i, j, k)| ((i * 71 + j * 13 + k) % 97) as f32);
            let u = device.to_device(&host).unwrap();
            let ours = u.slice(s![..-2, 1..-1, 1..-1])
                + u.slice(s![2.., 1..-1, 1..-1])
                + u.slice(s![1..-1, ..-2, 1..-1])
                + u.slice(s![1..-1, 2.., 1..-1])
                + u.slice(s![1..-1, 1..-1, ..-2])
                + u.slice(s![1..-1, 1..-1, 2..])
                - u.slice(s![1..-1, 1..-1, 1..-1]) * 6.0;
            let right = &host.slice(s![..-2, 1..-1, 1..-1])
                + &host.slice(s![2.., 1..-1, 1..-1])
                + host.slice(s![1..-1, ..-2, 1..-1])
                + host.slice(s![1..-1, 2.., 1..-1])
                + host.slice(s![1..-1, 1..-1, ..-2])
                + host.slice(s![1..-1, 1..-1, 2..])
                - &host.slice(s![1..-1, 1..-1, 1..-1]) * 6.0;
            in_one_launch(device, &ours, right.into_dyn());
        }
    });
}

#[test]
fn neighbours_that_are_not_aligned_are_added() {
    on_fused(|device| {
        for n in [2, 5, 64, 1023, 4099] {
            let host = wave(1, n).into_shape_with_order(n).unwrap();
            let x = device.to_device(&host).unwrap();
            let ours = x.slice(s![1..]) + x.slice(s![..-1]);
            in_one_launch(device, &ours, (&host.slice(s![1..]) + &host.slice(s![..-1])).into_dyn());
            let ours = x.flip(0) * 2.0 + &x;
            in_one_launch(device, &ours, (&host.slice(s![..;-1]) * 2.0 + &host).into_dyn());
            let bytes = host.mapv(|x| x as i8);
            let x = device.to_device(&bytes).unwrap();
            let ours = x.slice(s![1..]).gt(x.slice(s![..-1]));
            let right = Array1::from_shape_fn(n - 1, |i| bytes[i + 1] > bytes[i]);
            in_one_launch(device, &ours, right.into_dyn());
        }
        for (rows, columns) in [(2, 65), (40, 65), (7, 1000)] {
            let host = wave(rows, columns);
            let x = device.to_device(&host).unwrap();
            let ours = x.slice(s![.., 1..]) + x.slice(s![.., ..-1]);
            in_one_launch(device, &ours, (&host.slice(s![.., 1..]) + &host.slice(s![.., ..-1])).into_dyn());
        }
    });
}
