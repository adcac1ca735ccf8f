//! Reductions that one group cannot fold: groups share them in one launch where the device can do it, with the same bits
//! fused and not, and with no more memory than the inputs, the outputs and a little scratch.

use lazuli::{Array, Device};
use ndarray::{Array2, Axis};

use crate::common::{flat, launches, on_each, on_every, on_fused, same_bits, values};

/// Different numbers between -2 and 4, whose sums of squares are exact in f64.
fn numbers(rows: usize, columns: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 31 + j * 7919 + j / 1000) % 97) as f32 * 0.0625 - 2.0)
}

/// Launches that combining groups may take: one, but two in OpenCL, where the device may lack the atomics.
fn most_launches(device: &Device) -> u64 {
    if device.name().starts_with("opencl") { 2 } else { 1 }
}

#[test]
fn a_whole_array_is_one_launch() {
    on_fused(|device| {
        for n in [1usize, 7, 1000, 65_536, 1 << 20, (1 << 22) + 3] {
            let host = numbers(1, n).into_shape_with_order(n).unwrap();
            let x = device.to_device(&host).unwrap();
            let d = &x - 0.5;
            let sum = (&d * &d).sum();
            let count = launches(device, || sum.eval().unwrap());
            assert!((1..=most_launches(device)).contains(&count), "{n} elements took {count} launches");
            let right: f64 = host.iter().map(|v| (f64::from(*v) - 0.5).powi(2)).sum();
            assert!((f64::from(sum.item().unwrap()) / right - 1.0).abs() < 1e-5, "{n}: {sum} is not {right}");
            let most = x.max();
            assert!(launches(device, || most.eval().unwrap()) <= most_launches(device));
            assert_eq!(most.item().unwrap(), host.iter().copied().fold(f32::MIN, f32::max));
        }
    });
}

#[test]
fn reductions_of_one_array_share_its_pass() {
    on_fused(|device| {
        let host = numbers(1, 3_000_000).into_shape_with_order(3_000_000).unwrap();
        let x = device.to_device(&host).unwrap();
        let (sum, most, least) = (x.sum(), x.max(), (&x * 2.0).min());
        let count = launches(device, || lazuli::eval((&sum, &most, &least)).unwrap());
        assert!(count <= most_launches(device), "{count} launches");
        let right: f64 = host.iter().map(|v| f64::from(*v)).sum();
        assert!((f64::from(sum.item().unwrap()) / right - 1.0).abs() < 1e-5);
        assert_eq!(most.item().unwrap(), 4.0);
        assert_eq!(least.item().unwrap(), -4.0);
    });
}

#[test]
fn epilogues_join_what_groups_combine() {
    on_fused(|device| {
        let host = numbers(3, 400_000);
        let x = device.to_device(&host).unwrap();
        let bias = device.from_slice(&[1.0f32, 2.0, 3.0]).unwrap();
        let y = (&x * &x).sum_axis(1).sqrt() * 0.5 + &bias;
        let count = launches(device, || y.eval().unwrap());
        assert!(count <= most_launches(device), "{count} launches");
        for (row, found) in flat(&y).into_iter().enumerate() {
            let norm = host.row(row).iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
            let right = norm * 0.5 + (row + 1) as f64;
            assert!((f64::from(found) / right - 1.0).abs() < 1e-5, "{found} is not {right}");
        }
    });
}

#[test]
fn long_columns_are_folded_by_many_groups() {
    on_every(|device| {
        let host = numbers(100_000, 5);
        let x = device.to_device(&host).unwrap();
        let y = values(&(&x * &x).sum_axis(0));
        for (column, found) in y.iter().enumerate() {
            let right: f64 = host.column(column).iter().map(|v| f64::from(*v).powi(2)).sum();
            assert!((f64::from(*found) / right - 1.0).abs() < 1e-5, "column {column}: {found} is not {right}");
        }
    });
}

type Recording = (&'static str, fn(&Array<f32>) -> Array<f32>);

/// What is made of the reductions of rows, in every element of a row or once a row.
const OF_LONG_ROWS: [Recording; 5] = [
    ("softmax", |x| {
        let e = (x - x.max_axis(-1).insert_axis(-1)).exp();
        &e / e.sum_axis(-1).insert_axis(-1)
    }),
    ("layer norm", |x| {
        let d = x - x.mean_axis(-1).insert_axis(-1);
        let variance = (&d * &d).mean_axis(-1).insert_axis(-1);
        d / (variance + 1e-5).sqrt()
    }),
    ("variance", |x| {
        let d = x - x.mean_axis(-1).insert_axis(-1);
        (&d * &d).mean_axis(-1)
    }),
    ("log-sum-exp", |x| {
        let highest = x.max_axis(-1);
        (x - highest.insert_axis(-1)).exp().sum_axis(-1).log() + highest
    }),
    ("standardise all", |x| {
        let d = x - x.mean();
        &d / (&d * &d).mean().sqrt()
    }),
];

#[test]
fn long_rows_have_one_value_however_they_are_cut() {
    on_each(|fused, unfused| {
        for (rows, columns) in [(2, 40_000), (5, 66_000), (1, 1 << 20), (130, 33_000)] {
            let host = numbers(rows, columns);
            let (x, apart) = (fused.to_device(&host).unwrap(), unfused.to_device(&host).unwrap());
            for (name, record) in OF_LONG_ROWS {
                let what = format!("{name} of {rows} rows of {columns}");
                let y = record(&x);
                let count = launches(fused, || y.eval().unwrap());
                if fused.name().starts_with("cuda") {
                    assert_eq!(count, 1, "{what}");
                }
                same_bits(&values(&y), &values(&record(&apart)), &what);
            }
        }
    });
}

#[test]
fn long_rows_are_right() {
    on_every(|device| {
        let host = numbers(3, 70_001);
        let x = device.to_device(&host).unwrap();
        let softmax = values(&OF_LONG_ROWS[0].1(&x));
        for (row, found) in host.axis_iter(Axis(0)).zip(softmax.axis_iter(Axis(0))) {
            let e: Vec<f64> = row.iter().map(|v| (f64::from(*v) - 4.0).exp()).collect();
            let all: f64 = e.iter().sum();
            for (found, e) in found.iter().zip(&e) {
                assert!((f64::from(*found) * all / e - 1.0).abs() < 1e-4, "{found} is not {}", e / all);
            }
        }
        let variance = values(&OF_LONG_ROWS[2].1(&x));
        for (row, found) in host.axis_iter(Axis(0)).zip(variance.iter()) {
            let right = row.mapv(f64::from).var(0.0);
            assert!((f64::from(*found) / right - 1.0).abs() < 1e-5, "{found} is not {right}");
        }
    });
}

#[test]
fn memory_is_inputs_outputs_and_scratch() {
    on_fused(|device| {
        let host = numbers(64, 65_536);
        let x = device.to_device(&host).unwrap();
        let before = device.counters();
        assert_eq!(before.live_bytes, (64 * 65_536 * 4) as u64);
        let y = (&x * &x + 1.0).sum_axis(-1);
        y.eval().unwrap();
        // The chunks' results and their counts.
        let scratch = 64 * 1024;
        let peak = device.counters().peak_bytes;
        assert!(peak <= before.live_bytes + 64 * 4 + scratch, "{peak} bytes at the most, {before:?} before");
        assert!(device.counters().live_bytes <= before.live_bytes + 4096, "{:?}", device.counters());
    });
}

#[test]
fn reductions_over_different_loops_do_not_hand_in_together() {
    on_every(|device| {
        let x = device.arange(0.0f64, 163_840.0, 1.0);
        let (flat, deep) = (x.max(), (x.reshape([16_384, 10]) + 1.0).max());
        lazuli::eval((&flat, &deep)).unwrap();
        assert_eq!((flat.item().unwrap(), deep.item().unwrap()), (163_839.0, 163_840.0));
        let (a, b) = (x.reshape([4, 40_960]), (&x + 1.0).reshape([4, 40_960]));
        let turned = a.max_axis(1) - b.max_axis(1).flip(0);
        assert_eq!(turned.get().unwrap(), ndarray::arr1(&[-122_881.0, -40_961.0, 40_959.0, 122_879.0]).into_dyn());
        assert_eq!((x.reshape([16_384, 10]).max() - x.min()).item().unwrap(), 163_839.0);
    });
}
