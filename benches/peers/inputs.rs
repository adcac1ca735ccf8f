//! Inputs that look random, made on the device from their index alone, so that any element of them is known on the host
//! too without a copy.
#![allow(dead_code, reason = "each bench uses its own part")]

use std::ops::Index;

use lazuli::Device;
use lazuli::prelude::*;
use rayon::prelude::*;

/// What one input is like.
#[derive(Clone)]
pub struct Input {
    shape: Vec<usize>,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// f32 from a bound to a bound.
    Values(f32, f32),
    /// i64 below a bound.
    Indices(u64),
}

impl Input {
    /// An input between bounds.
    pub fn new<const N: usize>(shape: [usize; N], low: f32, high: f32) -> Self {
        Self { shape: shape.into(), kind: Kind::Values(low, high) }
    }

    /// Indices into an axis of extent `below`.
    pub fn indices<const N: usize>(shape: [usize; N], below: usize) -> Self {
        Self { shape: shape.into(), kind: Kind::Indices(below as u64) }
    }

    /// Between 0.1 and 1.
    pub fn unit<const N: usize>(shape: [usize; N]) -> Self {
        Self::new(shape, 0.1, 1.0)
    }

    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    fn bytes(&self) -> u64 {
        let element = match self.kind {
            Kind::Values(..) => 4,
            Kind::Indices(_) => 8,
        };
        element * self.len() as u64
    }

    /// Element `i` in row-major order, of input number `seed`. Indices are exact in f64.
    pub fn at(&self, seed: usize, i: usize) -> f64 {
        let x = (i as u64 + ((seed as u64) << 40)).wrapping_mul(MIX[0]);
        let x = (x ^ (x >> 29)).wrapping_mul(MIX[1]);
        match self.kind {
            Kind::Values(low, high) => f64::from((x >> 40) as f32 * ((high - low) / (1 << 24) as f32) + low),
            Kind::Indices(below) => ((x >> 20) % below) as f64,
        }
    }

    /// The same elements as [`at`](Self::at) gives, recorded.
    fn record(&self, device: &Device, seed: usize) -> Stored {
        let x = (device.arange(0, self.len() as u64, 1) + ((seed as u64) << 40)) * MIX[0];
        let x = (&x ^ (&x >> 29)) * MIX[1];
        match self.kind {
            Kind::Values(low, high) => {
                let x = (x >> 40).cast::<f32>() * ((high - low) / (1 << 24) as f32) + low;
                Stored::Values(x.reshape(&self.shape[..]))
            }
            Kind::Indices(below) => Stored::Indices(((x >> 20) % below).cast::<i64>().reshape(&self.shape[..])),
        }
    }
}

/// Constants of the mixing function, odd and with many bits set. A multiply, a shift and a multiply mix the bits of the
/// index, and the top 24 are the fraction.
const MIX: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03];

/// An input on the device.
enum Stored {
    Values(Array<f32>),
    Indices(Array<i64>),
}

/// The inputs of one workload: on the device, and by element on the host.
pub struct Inputs {
    stored: Vec<Stored>,
    kinds: Vec<Input>,
}

impl Inputs {
    /// Makes and stores them.
    pub fn new(device: &Device, kinds: Vec<Input>) -> lazuli::Result<Self> {
        let stored: Vec<_> = kinds.iter().enumerate().map(|(seed, input)| input.record(device, seed)).collect();
        for stored in &stored {
            match stored {
                Stored::Values(array) => array.eval()?,
                Stored::Indices(array) => array.eval()?,
            }
        }
        device.synchronize()?;
        Ok(Self { stored, kinds })
    }

    /// The same values from the host: nothing is compiled.
    pub fn uploaded(device: &Device, kinds: Vec<Input>) -> lazuli::Result<Self> {
        let upload = |(seed, kind): (usize, &Input)| {
            let elements: Vec<f32> = (0..kind.len()).into_par_iter().map(|i| kind.at(seed, i) as f32).collect();
            device.from_shape(&kind.shape[..], &elements).map(Stored::Values)
        };
        let stored = kinds.iter().enumerate().map(upload).collect::<lazuli::Result<_>>()?;
        device.synchronize()?;
        Ok(Self { stored, kinds })
    }

    /// An input of indices. Panics on one of values.
    pub fn indices(&self, input: usize) -> &Array<i64> {
        match &self.stored[input] {
            Stored::Indices(array) => array,
            Stored::Values(_) => panic!("input {input} has values"),
        }
    }

    /// Element `i` of an input, in row-major order.
    pub fn at(&self, input: usize, i: usize) -> f64 {
        self.kinds[input].at(input, i)
    }

    /// Row `i` of an input; the whole of one with one axis.
    pub fn row(&self, input: usize, i: usize) -> Vec<f64> {
        let columns = self.shape(input).last().map_or(1, |columns| *columns);
        (i * columns..(i + 1) * columns).map(|i| self.at(input, i)).collect()
    }

    /// Extents of an input.
    pub fn shape(&self, input: usize) -> &[usize] {
        &self.kinds[input].shape
    }

    /// A sum over the indices of the first input.
    pub fn sum(&self, term: impl Fn(usize) -> f64 + Send + Sync) -> f64 {
        (0..self.kinds[0].len()).into_par_iter().map(term).sum()
    }

    /// Bytes of all of them.
    pub fn bytes(&self) -> u64 {
        self.kinds.iter().map(Input::bytes).sum()
    }
}

impl Index<usize> for Inputs {
    type Output = Array<f32>;

    /// An input of values. Panics on one of indices.
    fn index(&self, input: usize) -> &Array<f32> {
        match &self.stored[input] {
            Stored::Values(array) => array,
            Stored::Indices(_) => panic!("input {input} has indices"),
        }
    }
}
