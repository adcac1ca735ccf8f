//! The workloads of the peers' tables, written once for every bench: the shapes, the expression as NumPy code has it, and
//! the same expression in f64 for a sample of the results.
#![allow(dead_code, reason = "each bench uses its own part")]

use lazuli::Device;
use lazuli::prelude::*;
use ndarray::{Slice, s};

use crate::inputs::{Input, Inputs};

/// One workload.
pub struct Workload {
    /// As `peers.py` calls it.
    pub name: &'static str,
    /// The inputs at a scale: shapes and bounds.
    inputs: fn(Scale) -> Vec<Input>,
    /// Records the expression.
    record: fn(&Inputs) -> Vec<Array<f32>>,
    /// What output `.1` must have at index `.2` of its first axis, in f64.
    expected: fn(&Inputs, usize, usize) -> Vec<f64>,
    /// Indices of the first axis that are compared, from each end.
    sample: usize,
    /// The most relative error, in the norm over a sample.
    tolerance: f64,
    /// Timed by the call: the device has next to nothing to do.
    pub small: bool,
}

/// Element counts: those of the tables times a factor.
#[derive(Clone, Copy)]
pub struct Scale(pub f64);

impl Scale {
    /// A count of the table, scaled as `peers.py` does it.
    fn of(self, count: usize) -> usize {
        ((count as f64 * self.0) as usize).max(1024)
    }
}

/// The rows of `peers.py` whose operations there are, in its order.
pub const GPU: &[Workload] = &[
    Workload { inputs: |scale| vec![Input::unit([scale.of(1 << 28)]); 3], ..TRIAD },
    Workload { inputs: |scale| vec![Input::unit([scale.of(1 << 28)]); 2], ..CHAIN10 },
    Workload { inputs: |scale| vec![Input::unit([scale.of(1 << 28)]); 3], ..TRANSCEND },
    Workload {
        name: "black_scholes",
        inputs: |scale| {
            let bounds = [(10.0, 100.0), (10.0, 100.0), (0.1, 2.0), (0.01, 0.05), (0.1, 0.5)];
            bounds.map(|(low, high)| Input::new([scale.of(1 << 26)], low, high)).into()
        },
        record: |x| black_scholes(&x[0], &x[1], &x[2], &x[3], &x[4]).into(),
        expected: |x, output, i| {
            vec![black_scholes_f64(x.at(0, i), x.at(1, i), x.at(2, i), x.at(3, i), x.at(4, i))[output]]
        },
        tolerance: 2e-3,
        ..ELEMENTWISE
    },
    Workload { inputs: |scale| vec![Input::unit([scale.of(1 << 28)]); 2], ..SUM_SQ_DIFF },
    Workload { inputs: |scale| vec![Input::new([scale.of(1 << 14), 4096], -4.0, 4.0)], ..SOFTMAX },
    Workload { name: "softmax_128", inputs: |scale| vec![Input::new([scale.of(1 << 19), 128], -4.0, 4.0)], ..SOFTMAX },
    Workload { name: "softmax_1M", inputs: |scale| vec![Input::new([64, scale.of(1 << 20)], -4.0, 4.0)], ..SOFTMAX },
    Workload {
        name: "layernorm_4096",
        inputs: |scale| vec![Input::unit([scale.of(1 << 14), 4096]), Input::unit([4096]), Input::unit([4096])],
        record: |x| vec![normalised(&x[0]) * &x[1] + &x[2]],
        expected: |x, _, i| {
            let row = normalised_f64(&x.row(0, i));
            row.iter().enumerate().map(|(j, value)| value * x.at(1, j) + x.at(2, j)).collect()
        },
        tolerance: 1e-3,
        ..ROWS
    },
    Workload {
        name: "col_sum",
        inputs: |scale| vec![Input::unit([scale.of(1 << 15), 4096]); 2],
        record: |x| vec![(&x[0] * &x[1]).sum_axis(0)],
        expected: |x, _, j| {
            let rows = x.shape(0)[0];
            vec![(0..rows).map(|i| x.at(0, i * 4096 + j) * x.at(1, i * 4096 + j)).sum()]
        },
        sample: 8,
        tolerance: 1e-3,
        ..ELEMENTWISE
    },
    Workload {
        name: "mean_var",
        inputs: |scale| vec![Input::unit([scale.of(1 << 15), 4096])],
        record: |x| {
            let mean = x[0].mean_axes_keep(&[-1]);
            let d = &x[0] - &mean;
            vec![mean.index_axis(1, 0), (&d * &d).mean_axis(-1)]
        },
        expected: |x, output, i| {
            let (mean, variance) = moments(&x.row(0, i));
            vec![[mean, variance][output]]
        },
        tolerance: 1e-3,
        ..ROWS
    },
    Workload {
        name: "pairwise_rbf",
        inputs: |scale| vec![Input::unit([scale.of(1 << 15)]); 2],
        record: |x| {
            let d = x[0].insert_axis(1) - x[1].insert_axis(0);
            vec![(-(&d * &d)).exp().sum_axis(1)]
        },
        expected: |x, _, i| vec![x.row(1, 0).iter().map(|b| (-(x.at(0, i) - b).powi(2)).exp()).sum()],
        tolerance: 1e-3,
        ..ROWS
    },
    Workload {
        name: "stencil5",
        inputs: |scale| vec![Input::unit([scale.of(1 << 14), 1 << 14])],
        record: |x| vec![stencil(&x[0])],
        expected: |x, _, i| {
            let [above, here, below] = [i, i + 1, i + 2].map(|row| x.row(0, row));
            let inside = 1..here.len() - 1;
            inside.map(|j| 0.25 * (above[j] + below[j] + here[j - 1] + here[j + 1]) - here[j]).collect()
        },
        sample: 14,
        tolerance: 1e-3,
        ..ELEMENTWISE
    },
    Workload {
        name: "add_transposed",
        // peers.py does not scale this one; a scaled run here is for machines that cannot hold it.
        inputs: |scale| {
            let n = ((16384.0 * scale.0.sqrt()) as usize).max(32);
            vec![Input::unit([n, n]); 2]
        },
        record: |x| vec![&x[0] + 2.0 * x[1].t()],
        expected: |x, _, i| {
            let n = x.shape(0)[0];
            (0..n).map(|j| x.at(0, i * n + j) + 2.0 * x.at(1, j * n + i)).collect()
        },
        ..ROWS
    },
    Workload {
        name: "gather_scale",
        inputs: |scale| {
            let n = scale.of(1 << 26);
            vec![Input::unit([n]), Input::indices([n], n), Input::unit([n])]
        },
        record: |x| vec![x[0].take(x.indices(1), 0) * &x[2]],
        expected: |x, _, i| vec![x.at(0, x.at(1, i) as usize) * x.at(2, i)],
        ..ELEMENTWISE
    },
    Workload { name: "small_chain10", inputs: |_| vec![Input::unit([1000]); 2], small: true, ..CHAIN10 },
    Workload { name: "small_softmax", inputs: |_| vec![Input::new([32, 128], -4.0, 4.0)], small: true, ..SOFTMAX },
];

/// The rows of `cpu_peers.py`, with its bounds. A scale of one is its default of 2^24 elements.
pub const CPU: &[Workload] = &[
    Workload { inputs: |scale| vec![Input::new([scale.of(1 << 24)], 0.1, 1.1); 3], ..TRIAD },
    Workload { inputs: |scale| vec![Input::new([scale.of(1 << 24)], 0.1, 1.1); 2], ..CHAIN10 },
    Workload { inputs: |scale| vec![Input::new([scale.of(1 << 24)], 0.1, 1.1); 3], ..TRANSCEND },
    Workload { inputs: |scale| vec![Input::new([scale.of(1 << 24)], 0.1, 1.1); 2], ..SUM_SQ_DIFF },
    Workload {
        name: "softmax",
        inputs: |scale| vec![Input::new([scale.of(1 << 24) / 4096, 4096], -4.0, 4.0)],
        ..SOFTMAX
    },
    Workload {
        name: "layernorm",
        inputs: |scale| vec![Input::new([scale.of(1 << 24) / 4096, 4096], -4.0, 4.0)],
        record: |x| vec![normalised(&x[0])],
        expected: |x, _, i| normalised_f64(&x.row(0, i)),
        tolerance: 1e-3,
        ..ROWS
    },
];

/// What the workloads over elements have in common.
const ELEMENTWISE: Workload = Workload {
    name: "",
    inputs: |_| Vec::new(),
    record: |_| Vec::new(),
    expected: |_, _, _| Vec::new(),
    sample: 4096,
    tolerance: 2e-4,
    small: false,
};

/// What the workloads over rows have in common.
const ROWS: Workload = Workload { sample: 4, ..ELEMENTWISE };

const TRIAD: Workload = Workload {
    name: "triad",
    record: |x| vec![&x[0] * &x[1] + &x[2]],
    expected: |x, _, i| vec![x.at(0, i) * x.at(1, i) + x.at(2, i)],
    ..ELEMENTWISE
};

const CHAIN10: Workload = Workload {
    name: "chain10",
    record: |x| vec![chain10(&x[0], &x[1])],
    expected: |x, _, i| vec![chain10_f64(x.at(0, i), x.at(1, i))],
    ..ELEMENTWISE
};

const TRANSCEND: Workload = Workload {
    name: "transcend",
    record: |x| vec![transcend(&x[0], &x[1], &x[2])],
    expected: |x, _, i| {
        let (a, b, c) = (x.at(0, i), x.at(1, i), x.at(2, i));
        vec![(a * a + b * b).sqrt() * (-c).exp() + 0.5 * a.sin()]
    },
    ..ELEMENTWISE
};

const SUM_SQ_DIFF: Workload = Workload {
    name: "sum_sq_diff",
    record: |x| {
        let d = &x[0] - &x[1];
        vec![(&d * &d).sum()]
    },
    expected: |x, _, _| vec![x.sum(|i| (x.at(0, i) - x.at(1, i)).powi(2))],
    tolerance: 1e-3,
    ..ELEMENTWISE
};

const SOFTMAX: Workload = Workload {
    name: "softmax_4096",
    record: |x| {
        let e = (&x[0] - x[0].max_axes_keep(&[-1])).exp();
        vec![&e / e.sum_axes_keep(&[-1])]
    },
    expected: |x, _, i| {
        let row = x.row(0, i);
        let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|value| (value - most).exp()).sum();
        row.iter().map(|value| (value - most).exp() / sum).collect()
    },
    ..ROWS
};

impl Workload {
    /// The workload of the CPU table by this name.
    pub fn of_cpu(name: &str) -> Option<&'static Self> {
        CPU.iter().find(|workload| workload.name == name)
    }

    /// The inputs, stored on the device. Errors: as an evaluation.
    pub fn inputs(&self, device: &Device, scale: Scale) -> lazuli::Result<Inputs> {
        Inputs::new(device, (self.inputs)(scale))
    }

    /// Records the expression.
    pub fn record(&self, inputs: &Inputs) -> Vec<Array<f32>> {
        (self.record)(inputs)
    }

    /// Bytes that must move: each input read once, each output written once.
    pub fn floor_bytes(&self, inputs: &Inputs, outputs: &[Array<f32>]) -> u64 {
        inputs.bytes() + outputs.iter().map(|output| 4 * output.len() as u64).sum::<u64>()
    }

    /// Compares a sample from both ends of each output with f64.
    ///
    /// Errors: the relative error, in the norm over a sample, where it is too large.
    pub fn check(&self, inputs: &Inputs, outputs: &[Array<f32>]) -> Result<(), Box<dyn std::error::Error>> {
        for (number, output) in outputs.iter().enumerate() {
            let n = output.shape().first().map_or(1, |n| *n);
            let last = n.saturating_sub(self.sample);
            for range in [0..self.sample.min(n), last..n] {
                let got = match output.ndim() {
                    0 => output.get()?,
                    1 => output.slice(s![range.clone()]).get()?,
                    _ => output.slice(s![range.clone(), ..]).get()?,
                };
                let expected: Vec<f64> = range.flat_map(|i| (self.expected)(inputs, number, i)).collect();
                if got.len() != expected.len() {
                    return Err(format!("{}: {} values for {}", self.name, got.len(), expected.len()).into());
                }
                let pairs = got.iter().zip(&expected);
                let difference: f64 = pairs.map(|(got, right)| (f64::from(*got) - right).powi(2)).sum();
                let error = (difference / expected.iter().map(|right| right * right).sum::<f64>()).sqrt();
                if error.is_nan() || error >= self.tolerance {
                    let (name, most) = (self.name, self.tolerance);
                    return Err(
                        format!("{name}, output {number}: relative error {error:.3e} is over {most:.0e}").into()
                    );
                }
            }
        }
        Ok(())
    }
}

fn chain10(a: &Array<f32>, b: &Array<f32>) -> Array<f32> {
    let x = a * 2.0 + b;
    let x = x * a - b * 0.5;
    let x = &x * &x + a;
    let x = (x.abs() + 1.0).sqrt();
    x * b - a
}

fn chain10_f64(a: f64, b: f64) -> f64 {
    let x = a * 2.0 + b;
    let x = x * a - b * 0.5;
    let x = x * x + a;
    let x = (x.abs() + 1.0).sqrt();
    x * b - a
}

fn transcend(a: &Array<f32>, b: &Array<f32>, c: &Array<f32>) -> Array<f32> {
    (a * a + b * b).sqrt() * (-c).exp() + 0.5 * a.sin()
}

fn black_scholes(s: &Array<f32>, k: &Array<f32>, t: &Array<f32>, r: &Array<f32>, v: &Array<f32>) -> [Array<f32>; 2] {
    let sq = v * t.sqrt();
    let d1 = ((s / k).log() + (r + 0.5 * v * v) * t) / &sq;
    let d2 = &d1 - &sq;
    let normal = |d: &Array<f32>| 0.5 * (1.0 + (d * std::f32::consts::FRAC_1_SQRT_2).erf());
    let disc = k * (-r * t).exp();
    let call = s * normal(&d1) - &disc * normal(&d2);
    let put = &call - s + disc;
    [call, put]
}

fn black_scholes_f64(s: f64, k: f64, t: f64, r: f64, v: f64) -> [f64; 2] {
    let sq = v * t.sqrt();
    let d1 = ((s / k).ln() + (r + 0.5 * v * v) * t) / sq;
    let normal = |d: f64| 0.5 * (1.0 + libm::erf(d * std::f64::consts::FRAC_1_SQRT_2));
    let disc = k * (-r * t).exp();
    let call = s * normal(d1) - disc * normal(d1 - sq);
    [call, call - s + disc]
}

fn normalised(x: &Array<f32>) -> Array<f32> {
    let d = x - x.mean_axes_keep(&[-1]);
    let variance = (&d * &d).mean_axes_keep(&[-1]);
    d / (variance + 1e-5).sqrt()
}

fn normalised_f64(row: &[f64]) -> Vec<f64> {
    let (mean, variance) = moments(row);
    row.iter().map(|value| (value - mean) / (variance + 1e-5).sqrt()).collect()
}

fn moments(row: &[f64]) -> (f64, f64) {
    let n = row.len() as f64;
    let mean = row.iter().sum::<f64>() / n;
    (mean, row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n)
}

fn stencil(u: &Array<f32>) -> Array<f32> {
    let [rows, columns] = [0, 1].map(|axis| Slice::from(1..u.shape()[axis] - 1));
    let above_and_below = u.slice(s![..-2, columns]) + u.slice(s![2.., columns]);
    let around = above_and_below + u.slice(s![rows, ..-2]) + u.slice(s![rows, 2..]);
    0.25 * around - u.slice(s![rows, columns])
}
