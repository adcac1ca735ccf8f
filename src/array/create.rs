//! Arrays made from nothing: constants and indices. All of them are lazy; inside an expression they take no memory.

use std::panic::Location;
use std::sync::Arc;

use lazuli_codegen::{BinaryOp, DType, Scalar};

use super::{Array, IntoShape};
use crate::device::Device;
use crate::dtype::{Element, Float, Number, bf16, f16};
use crate::error::{Error, Place};
use crate::graph::{Node, record};
use crate::shape::{Shape, element_count};

impl Device {
    /// An array of one value.
    ///
    /// Errors, kept until a value is asked for: `LimitExceeded` for more elements than can be addressed.
    ///
    /// ```
    /// use lazuli::prelude::*;
    ///
    /// let x = Device::host()?.full([2, 3], 7u8);
    /// assert_eq!(x.sum().item()?, 42);
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[track_caller]
    pub fn full<T: Element>(&self, shape: impl IntoShape, value: T) -> Array<T> {
        self.constant("full", shape.into_shape(), value, Location::caller())
    }

    /// An array of 0, or of false.
    ///
    /// Errors, kept until a value is asked for: `LimitExceeded` for more elements than can be addressed.
    #[track_caller]
    pub fn zeros<T: Element>(&self, shape: impl IntoShape) -> Array<T> {
        self.constant("zeros", shape.into_shape(), T::zero(), Location::caller())
    }

    /// An array of 1, or of true.
    ///
    /// Errors, kept until a value is asked for: `LimitExceeded` for more elements than can be addressed.
    #[track_caller]
    pub fn ones<T: Element>(&self, shape: impl IntoShape) -> Array<T> {
        self.constant("ones", shape.into_shape(), T::one(), Location::caller())
    }

    /// `start`, `start + step`, .. up to `stop`, which is left out: `ceil((stop - start) / step)` elements along one axis,
    /// none where that is negative. Element i is `start + i * step`; f16 and bf16 compute it in f32 and round once.
    ///
    /// Errors, kept until a value is asked for: `InvalidArgument` for a step of 0 or a NaN, `LimitExceeded` for more elements
    /// than can be addressed.
    ///
    /// ```
    /// use lazuli::prelude::*;
    ///
    /// let x = Device::host()?.arange(5, -5, -3);
    /// assert_eq!(x.get()?.as_slice().unwrap(), [5, 2, -1, -4]);
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[track_caller]
    pub fn arange<T: Number>(&self, start: T, stop: T, step: T) -> Array<T> {
        const OP: &str = "arange";
        let at = Location::caller();
        let call = || format!("arange({start}, {stop}, {step})");
        let n = match steps(start.to_scalar(), stop.to_scalar(), step.to_scalar()) {
            Some(n) if n < isize::MAX as f64 => n as usize,
            Some(_) => {
                let what = format!("{} has more elements than an index can address", call());
                return self.failed(Error::LimitExceeded { op: OP, what, at }, at);
            }
            None => {
                let what = format!("{} takes no steps that lead anywhere", call());
                return self.failed(Error::InvalidArgument { op: OP, what, shape: Vec::new(), at }, at);
            }
        };
        // The index alone may not fit an i8 even where every element does, so small integers are computed wide.
        let wide = wide_type(T::DTYPE);
        let scaled = record::binary(BinaryOp::Mul, &record::iota(n, wide, at), &widened(step, wide, at), at);
        let shifted = record::binary(BinaryOp::Add, &scaled, &widened(start, wide, at), at);
        Array::from_node(record::cast(&shifted, T::DTYPE, at), self)
    }

    /// `n` evenly spaced numbers from `start` to `stop`, both of them included: `start + i * ((stop - start) / (n - 1))`, and
    /// exactly `stop` at the end. One number is `start`. f16 and bf16 compute in f32 and round once.
    ///
    /// ```
    /// use lazuli::prelude::*;
    ///
    /// let x = Device::host()?.linspace(0.0f32, 1.0, 5);
    /// assert_eq!(x.get()?.as_slice().unwrap(), [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[track_caller]
    pub fn linspace<T: Float>(&self, start: T, stop: T, n: usize) -> Array<T> {
        let at = Location::caller();
        if n < 2 {
            return self.constant("linspace", Shape::from_slice(&[n]), start, at);
        }
        let wide = wide_type(T::DTYPE);
        let (first, last) = (float_value(start.to_scalar()), float_value(stop.to_scalar()));
        let constant = |value: f64| match wide {
            DType::F32 => record::scalar((value as f32).to_scalar(), at),
            _ => record::scalar(value.to_scalar(), at),
        };
        let step = |first: f64, last: f64| match wide {
            DType::F32 => f64::from((last as f32 - first as f32) / (n - 1) as f32),
            _ => (last - first) / (n - 1) as f64,
        };
        let spaced_from = |first: f64, step: f64| {
            let scaled = record::binary(BinaryOp::Mul, &record::iota(n, wide, at), &constant(step), at);
            record::binary(BinaryOp::Add, &scaled, &constant(first), at)
        };
        let whole_step = step(first, last);
        // Numbers further apart than the type's largest are spaced at half their size, which is exact.
        let spaced = match !whole_step.is_finite() && first.is_finite() && last.is_finite() {
            false => spaced_from(first, whole_step),
            true => {
                let halves = spaced_from(first / 2.0, step(first / 2.0, last / 2.0));
                record::binary(BinaryOp::Add, &halves, &halves, at)
            }
        };
        let end = record::scalar((n as i64 - 1).to_scalar(), at);
        let is_last = record::binary(BinaryOp::Eq, &record::iota(n, DType::I64, at), &end, at);
        let node = record::select(&is_last, &widened(stop, wide, at), &spaced, at);
        Array::from_node(record::cast(&node, T::DTYPE, at), self)
    }

    /// The square matrix with 1 along the diagonal and 0 elsewhere.
    ///
    /// Errors, kept until a value is asked for: `LimitExceeded` for more elements than can be addressed.
    #[doc(alias = "identity")]
    #[track_caller]
    pub fn eye<T: Element>(&self, n: usize) -> Array<T> {
        let at = Location::caller();
        if element_count(&[n, n]).is_none() {
            let what = format!("shape {:?} has more elements than an index can address", [n, n]);
            return self.failed(Error::LimitExceeded { op: "eye", what, at }, at);
        }
        let column = record::iota(n, DType::I64, at);
        let row = record::reshape(&column, Shape::from_slice(&[n, 1]), at);
        let diagonal = record::binary(BinaryOp::Eq, &row, &column, at);
        Array::from_node(record::cast(&diagonal, T::DTYPE, at), self)
    }

    fn constant<T: Element>(&self, op: &'static str, shape: Shape, value: T, at: Place) -> Array<T> {
        if element_count(&shape).is_none() {
            let what = format!("shape {shape:?} has more elements than an index can address");
            return self.failed(Error::LimitExceeded { op, what, at }, at);
        }
        let scalar = record::scalar(value.to_scalar(), at);
        Array::from_node(record::broadcast_to(&scalar, &shape, at), self)
    }

    fn failed<T: Element>(&self, error: Error, at: Place) -> Array<T> {
        Array::from_node(record::failed(error, T::DTYPE, at), self)
    }
}

/// The type in which elements of a type are computed from indices.
fn wide_type(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => DType::I64,
        DType::Bool | DType::U8 | DType::U16 | DType::U32 | DType::U64 => DType::U64,
        DType::F32 | DType::F64 => dtype,
    }
}

/// A value as a 0-d constant of the type that [`wide_type`] gives.
fn widened<T: Element>(value: T, wide: DType, at: Place) -> Arc<Node> {
    let scalar = value.to_scalar();
    let scalar = match wide {
        DType::F32 => (float_value(scalar) as f32).to_scalar(),
        DType::F64 => float_value(scalar).to_scalar(),
        DType::I64 => (integer_value(scalar) as i64).to_scalar(),
        _ => (integer_value(scalar) as u64).to_scalar(),
    };
    record::scalar(scalar, at)
}

/// How many steps lead from `start` to `stop`; `None` where a step leads nowhere.
fn steps(start: Scalar, stop: Scalar, step: Scalar) -> Option<f64> {
    if !start.dtype().is_float() {
        let (start, stop, step) = (integer_value(start), integer_value(stop), integer_value(step));
        let way = stop - start;
        return match step {
            0 => None,
            _ if way.signum() != step.signum() => Some(0.0),
            _ => Some(way.unsigned_abs().div_ceil(step.unsigned_abs()) as f64),
        };
    }
    let steps = (float_value(stop) - float_value(start)) / float_value(step);
    (float_value(step) != 0.0 && !steps.is_nan()).then(|| steps.ceil().max(0.0))
}

/// The value of an integer or bool scalar.
fn integer_value(scalar: Scalar) -> i128 {
    let bits = scalar.bits();
    match scalar.dtype() {
        DType::I8 => (bits as i8).into(),
        DType::I16 => (bits as i16).into(),
        DType::I32 => (bits as i32).into(),
        DType::I64 => (bits as i64).into(),
        _ => bits.into(),
    }
}

/// The value of a float scalar.
fn float_value(scalar: Scalar) -> f64 {
    let bits = scalar.bits();
    match scalar.dtype() {
        DType::F16 => f16::from_bits(bits as u16).to_f64(),
        DType::BF16 => bf16::from_bits(bits as u16).to_f64(),
        DType::F32 => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits),
    }
}

#[cfg(test)]
mod tests {
    use super::steps;
    use crate::dtype::Element;

    #[test]
    fn ranges_have_as_many_steps_as_in_numpy() {
        let count = |a: f32, b: f32, c: f32| steps(a.to_scalar(), b.to_scalar(), c.to_scalar());
        assert_eq!(count(0.0, 1.0, 0.1), Some(10.0));
        assert_eq!(count(1.0, 0.0, 0.25), Some(0.0));
        assert_eq!(count(1.0, 0.0, -0.25), Some(4.0));
        assert_eq!(count(0.0, 1.0, 0.0), None);
        assert_eq!(count(0.0, f32::NAN, 1.0), None);
        assert_eq!(count(0.0, f32::INFINITY, 1.0), Some(f64::INFINITY));
        let count = |a: i8, b: i8, c: i8| steps(a.to_scalar(), b.to_scalar(), c.to_scalar());
        assert_eq!(count(-128, 127, 1), Some(255.0));
        assert_eq!(count(5, -5, -3), Some(4.0));
        assert_eq!(count(3, 3, 1), Some(0.0));
        assert_eq!(count(0, 3, 0), None);
    }
}
