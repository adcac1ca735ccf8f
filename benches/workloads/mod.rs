//! The five workloads of `benches/peers/cpu_peers.py` and of the GPU peers' table, written once for every bench: inputs made
//! on the device, the expression as NumPy code has it, the traffic that no program can avoid, and a check against f64.
#![allow(dead_code, reason = "each bench uses its own part")]

use lazuli::prelude::*;
use lazuli::{Error, Result};
use ndarray::s;
use rayon::prelude::*;

/// One workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workload {
    Triad,
    Chain10,
    Transcend,
    BlackScholes,
    SumSqDiff,
}

use Workload::*;

/// All of them, in the order of the tables.
pub const ALL: [Workload; 5] = [Triad, Chain10, Transcend, BlackScholes, SumSqDiff];

/// Elements compared with f64.
const SAMPLE: usize = 4096;

/// The results of one evaluation: one array, or two.
pub struct Outputs(Vec<Array<f32>>);

impl Workload {
    pub fn name(self) -> &'static str {
        match self {
            Triad => "triad",
            Chain10 => "chain10",
            Transcend => "transcend",
            BlackScholes => "black_scholes",
            SumSqDiff => "sum_sq_diff",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        ALL.into_iter().find(|workload| workload.name() == name)
    }

    /// Elements of each input on a GPU, before scaling.
    pub fn gpu_len(self) -> usize {
        if self == BlackScholes { 1 << 26 } else { 1 << 28 }
    }

    /// The bounds of each input.
    fn bounds(self) -> &'static [(f32, f32)] {
        match self {
            Triad | Transcend => &[(0.1, 1.0); 3],
            Chain10 | SumSqDiff => &[(0.1, 1.0); 2],
            BlackScholes => &[(10.0, 100.0), (10.0, 100.0), (0.1, 2.0), (0.01, 0.05), (0.1, 0.5)],
        }
    }

    /// The inputs, stored on the device.
    pub fn inputs(self, device: &Device, n: usize) -> Result<Vec<Array<f32>>> {
        let bounds = self.bounds().iter().enumerate();
        let inputs: Vec<Array<f32>> =
            bounds.map(|(number, &(low, high))| spread(device, n, number as u64, low, high)).collect();
        for input in &inputs {
            input.eval()?;
        }
        device.synchronize()?;
        Ok(inputs)
    }

    /// Records the expression.
    pub fn record(self, x: &[Array<f32>]) -> Outputs {
        Outputs(match self {
            Triad => vec![&x[0] * &x[1] + &x[2]],
            Chain10 => vec![chain10(&x[0], &x[1])],
            Transcend => vec![transcend(&x[0], &x[1], &x[2])],
            BlackScholes => black_scholes(&x[0], &x[1], &x[2], &x[3], &x[4]).into(),
            SumSqDiff => {
                let d = &x[0] - &x[1];
                vec![(&d * &d).sum()]
            }
        })
    }

    /// Bytes that must move: each input read once, each output written once.
    pub fn floor_bytes(self, n: usize) -> u64 {
        let outputs = match self {
            BlackScholes => 2 * n,
            SumSqDiff => 1,
            Triad | Chain10 | Transcend => n,
        };
        4 * (self.bounds().len() * n + outputs) as u64
    }

    /// Compares a sample of the results with the same expression in f64 over the same inputs.
    ///
    /// Errors: `Err` with the relative error, in the norm over the sample.
    pub fn check(self, outputs: &Outputs, n: usize) -> Result<(), Box<dyn std::error::Error>> {
        let bounds = self.bounds();
        let input =
            |number: usize, i: usize| f64::from(spread_at(i as u64, number as u64, bounds[number].0, bounds[number].1));
        let column = |f: &(dyn Fn(usize) -> f64 + Sync)| (0..n.min(SAMPLE)).map(f).collect::<Vec<f64>>();
        let (expected, tolerance) = match self {
            Triad => (vec![column(&|i| input(0, i) * input(1, i) + input(2, i))], 2e-4),
            Chain10 => (vec![column(&|i| chain10_f64(input(0, i), input(1, i)))], 2e-4),
            Transcend => (vec![column(&|i| transcend_f64(input(0, i), input(1, i), input(2, i)))], 2e-4),
            BlackScholes => {
                let prices = |i| black_scholes_f64(input(0, i), input(1, i), input(2, i), input(3, i), input(4, i));
                (vec![column(&|i| prices(i).0), column(&|i| prices(i).1)], 2e-3)
            }
            SumSqDiff => {
                let sum = (0..n).into_par_iter().map(|i| (input(0, i) - input(1, i)).powi(2)).sum();
                (vec![vec![sum]], 1e-3)
            }
        };
        for (output, expected) in outputs.0.iter().zip(expected) {
            let got = match output.ndim() {
                0 => output.get()?,
                _ => output.slice(s![..expected.len()]).get()?,
            };
            let difference: f64 = got.iter().zip(&expected).map(|(got, right)| (f64::from(*got) - right).powi(2)).sum();
            let error = (difference / expected.iter().map(|right| right * right).sum::<f64>()).sqrt();
            if error.is_nan() || error >= tolerance {
                return Err(format!("{}: relative error {error:.3e} is over {tolerance:.0e}", self.name()).into());
            }
        }
        Ok(())
    }
}

impl Outputs {
    /// Computes the results and leaves them on the device; does not wait for it.
    pub fn eval(&self) -> Result<()> {
        lazuli::eval(&self.0[..])
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

fn transcend_f64(a: f64, b: f64, c: f64) -> f64 {
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

fn black_scholes_f64(s: f64, k: f64, t: f64, r: f64, v: f64) -> (f64, f64) {
    let sq = v * t.sqrt();
    let d1 = ((s / k).ln() + (r + 0.5 * v * v) * t) / sq;
    let normal = |d: f64| 0.5 * (1.0 + libm::erf(d * std::f64::consts::FRAC_1_SQRT_2));
    let disc = k * (-r * t).exp();
    let call = s * normal(d1) - disc * normal(d1 - sq);
    (call, call - s + disc)
}

/// Constants of the mixing function, odd and with many bits set.
const MIX: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03];

/// Numbers that look random, made on the device from their index alone: a multiply, a shift and a multiply mix its bits,
/// and the top 24 are the fraction. [`spread_at`] gives the same numbers on the host.
fn spread(device: &Device, n: usize, seed: u64, low: f32, high: f32) -> Array<f32> {
    let x = (device.arange(0, n as u64, 1) + (seed << 40)) * MIX[0];
    let x = (&x ^ (&x >> 29)) * MIX[1];
    (x >> 40).cast::<f32>() * ((high - low) / (1 << 24) as f32) + low
}

fn spread_at(i: u64, seed: u64, low: f32, high: f32) -> f32 {
    let x = (i + (seed << 40)).wrapping_mul(MIX[0]);
    let x = (x ^ (x >> 29)).wrapping_mul(MIX[1]);
    (x >> 40) as f32 * ((high - low) / (1 << 24) as f32) + low
}

/// The device of a name, or why a bench skips it.
pub fn open(name: &str, config: Config) -> std::result::Result<Device, String> {
    Device::open(name, config).map_err(|error| match error {
        Error::DeviceNotFound { looked_for, .. } => format!("SKIP {name}: not found; {}", looked_for.join("; ")),
        other => format!("SKIP {name}: {other}"),
    })
}
