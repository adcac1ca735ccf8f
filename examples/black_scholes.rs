//! Prices of European options by the Black-Scholes formula: five inputs, two outputs, one kernel.
//!
//!     cargo run --release --example black_scholes

use std::error::Error;

use lazuli::prelude::*;
use ndarray::Array1;

const N: usize = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::auto()?;
    println!("device: {device}");

    let host = Options {
        spot: spread(N, 1, 10.0, 100.0),
        strike: spread(N, 2, 10.0, 100.0),
        years: spread(N, 3, 0.1, 2.0),
        rate: spread(N, 4, 0.01, 0.05),
        volatility: spread(N, 5, 0.1, 0.5),
    };
    let [spot, strike, years, rate, volatility] = host.columns().map(|column| device.to_device(column));
    let (call, put) = prices(&spot?, &strike?, &years?, &rate?, &volatility?);

    let before = device.counters().launches;
    let (call, put) = lazuli::get((&call, &put))?;
    let launches = device.counters().launches - before;
    println!("{N} options, calls and puts: {launches} kernel");
    if launches != 1 {
        return Err(format!("{launches} launches where one would do").into());
    }

    println!(
        "\n{:>8}{:>8}{:>7}{:>7}{:>7}{:>10}{:>10}{:>12}{:>12}",
        "spot", "strike", "years", "rate", "vol.", "call", "put", "call in f64", "put in f64"
    );
    let mut worst: f64 = 0.0;
    for i in 0..N {
        let option = host.columns().map(|column| f64::from(column[i]));
        let (expected_call, expected_put) = reference(option);
        let (got_call, got_put) = (f64::from(call[[i]]), f64::from(put[[i]]));
        if i % (N / 6) == 0 {
            let [s, k, t, r, v] = option;
            println!(
                "{s:8.2}{k:8.2}{t:7.2}{r:7.3}{v:7.2}{got_call:10.4}{got_put:10.4}{expected_call:12.4}{expected_put:12.4}"
            );
        }
        // Put-call parity: a call less a put is the spot less the discounted strike.
        let [s, k, t, r, _] = option;
        let parity = got_call - got_put - (s - k * (-r * t).exp());
        worst = [worst, (got_call - expected_call).abs(), (got_put - expected_put).abs(), parity.abs()]
            .into_iter()
            .fold(0.0, f64::max);
    }
    println!("\nlargest difference from the formula in f64, and from put-call parity: {worst:.1e}");
    if worst.is_nan() || worst > 1e-3 {
        return Err("the prices are wrong".into());
    }
    Ok(())
}

/// Prices of calls and puts, as one would write them in NumPy.
fn prices(s: &Array<f32>, k: &Array<f32>, t: &Array<f32>, r: &Array<f32>, v: &Array<f32>) -> (Array<f32>, Array<f32>) {
    let deviation = v * t.sqrt();
    let d1 = ((s / k).log() + (r + 0.5 * v * v) * t) / &deviation;
    let d2 = &d1 - deviation;
    let normal = |d: Array<f32>| 0.5 * (1.0 + (d * std::f32::consts::FRAC_1_SQRT_2).erf());
    let discounted = k * (-r * t).exp();
    let call = s * normal(d1) - &discounted * normal(d2);
    let put = &call - s + discounted;
    (call, put)
}

/// The same for one option in f64, the put by its own formula.
fn reference([s, k, t, r, v]: [f64; 5]) -> (f64, f64) {
    let normal = |d: f64| 0.5 * libm::erfc(-d * std::f64::consts::FRAC_1_SQRT_2);
    let deviation = v * t.sqrt();
    let d1 = ((s / k).ln() + (r + 0.5 * v * v) * t) / deviation;
    let d2 = d1 - deviation;
    let discounted = k * (-r * t).exp();
    (s * normal(d1) - discounted * normal(d2), discounted * normal(-d2) - s * normal(-d1))
}

struct Options {
    spot: Array1<f32>,
    strike: Array1<f32>,
    years: Array1<f32>,
    rate: Array1<f32>,
    volatility: Array1<f32>,
}

impl Options {
    fn columns(&self) -> [&Array1<f32>; 5] {
        [&self.spot, &self.strike, &self.years, &self.rate, &self.volatility]
    }
}

/// Numbers spread evenly between two bounds, in an order that looks random: multiples of an irrational number, modulo 1.
fn spread(n: usize, seed: u32, low: f32, high: f32) -> Array1<f32> {
    let step = f64::from(seed + 1).sqrt() * 0.618_033_988_749_895 + f64::from(seed).cbrt();
    Array1::from_shape_fn(n, |i| low + (high - low) * ((i as f64 * step).fract() as f32))
}
