//! Functions from source text: element-wise, folds and scans, on the devices that compile source; the host says that it does not.

use lazuli::prelude::*;
use lazuli::{ElementwiseKernel, Error, ReductionKernel, ScanKernel, operands};
use ndarray::{Array1, Array2, ArrayD, Axis, arr1};

use crate::common::*;

/// Runs the body on the devices that compile source, fused and not.
fn on_compiling(body: impl Fn(&Device, &Device)) {
    on_each(|fused, unfused| match fused.name() == "host" {
        true => {
            skip("functions from source text on the host", "it has no compiler; refused_on_the_host tests what it says")
        }
        false => body(fused, unfused),
    });
}

fn uneven(n: usize) -> Array1<f32> {
    Array1::from_iter((0..n).map(|i| ((i * 7919) % 1013) as f32 / 64.0 - 7.5))
}

#[test]
fn a_function_fuses_with_what_is_around_it_and_changes_no_bit() {
    on_compiling(|fused, unfused| {
        let swish = ElementwiseKernel::<f32>::new("swish", "f32 x, f32 beta", "x / (1.0f + exp(-beta * x))").unwrap();
        let clip = ElementwiseKernel::<f32>::new(
            "clip",
            "f32 x, f32 low, f32 high",
            "if (x < low) return low;\nif (x > high) return high;\nreturn x;",
        )
        .unwrap();
        let host = uneven(10_007);
        let run = |device: &Device, by_functions: bool| {
            let x = device.to_device(&host).unwrap();
            let doubled = &x * 2.0;
            let y = match by_functions {
                true => {
                    let y = swish.call(&operands![&doubled, 1.5f32]) + 0.25;
                    clip.call(&operands![&y, -1.0f32, 3.0f32])
                }
                false => (&doubled / ((-(&doubled * 1.5)).exp() + 1.0) + 0.25).maximum(-1.0).minimum(3.0),
            };
            let z = (&y * &x).sum();
            let before = device.counters().launches;
            let values = lazuli::get((&y, &z)).unwrap();
            (values, device.counters().launches - before)
        };
        let ((y, z), launches) = run(fused, true);
        let ((y_unfused, z_unfused), _) = run(unfused, true);
        assert_eq!(launches, run(fused, false).1, "as many launches as of built-in operations");
        assert_eq!(y, y_unfused);
        assert_eq!(z, z_unfused);
        for (y, x) in y.iter().zip(&host) {
            let doubled = x * 2.0;
            let right = (doubled / (1.0 + (-1.5 * doubled).exp()) + 0.25).clamp(-1.0, 3.0);
            assert!(
                (y - right).abs() <= 4.0 * f32::EPSILON * right.abs().max(1.0),
                "{y} where {right} is right, of {x}"
            );
        }
    });
}

#[test]
fn parameters_of_every_type_and_broadcasting() {
    on_compiling(|device, _| {
        let choose = ElementwiseKernel::<f64>::new(
            "choose",
            "bool first, i32 a, double b, u8 c, i64 d",
            "return first ? (f64)a + b : (f64)c - (f64)d;",
        )
        .unwrap();
        let first = device.from_slice(&[true, false, true]).unwrap();
        let a = device.from_shape([2, 1], &[7i32, -9]).unwrap();
        let b = device.from_slice(&[0.5f64, 0.25, 0.125]).unwrap();
        let got = values(&choose.call(&operands![&first, &a, &b, 200u8, 1i64 << 40]));
        let far = 200.0 - (1i64 << 40) as f64;
        assert_eq!(got, ndarray::arr2(&[[7.5, far, 7.125], [-8.5, far, -8.875]]).into_dyn());
        let half = ElementwiseKernel::<f16>::new("third", "f16 x", "x / 3.0f").unwrap();
        let x = device.from_slice(&[1.0f32, 2.0, 1e-7, 65504.0].map(f16::from_f32)).unwrap();
        let right: Vec<f16> =
            [1.0f32, 2.0, 1e-7, 65504.0].map(|x| f16::from_f32(f16::from_f32(x).to_f32() / 3.0)).into();
        assert_eq!(values(&half.call(&operands![&x])), Array1::from(right).into_dyn(), "rounded to the type");
    });
}

#[test]
fn folds_by_an_expression() {
    on_compiling(|fused, unfused| {
        let farthest = ReductionKernel::<f32>::new("farthest", 0.0, "fabs(a) > fabs(b) ? a : b").unwrap();
        let dot = ReductionKernel::<f32>::new("dot", 0.0, "a + b").unwrap().mapping("f32 x, f32 y", "x * y").unwrap();
        let xor = ReductionKernel::<u32>::new("parity", 0, "a ^ b").unwrap();
        for n in [1, 2, 63, 1000, 100_003] {
            let (x, y) = (uneven(n), uneven(n).mapv(|x| 1.0 - x));
            let bits = Array1::from_iter((0..n as u32).map(|i| i.wrapping_mul(2_654_435_761)));
            let run = |device: &Device| {
                let (x, y) = (device.to_device(&x).unwrap(), device.to_device(&y).unwrap());
                let far = farthest.call(&operands![&(&x + 0.5)]).item().unwrap();
                let parity = xor.call(&operands![&device.to_device(&bits).unwrap()]).item().unwrap();
                (far, dot.call(&operands![&x, &y]).item().unwrap(), parity)
            };
            let (far, product, parity) = run(fused);
            assert_eq!((far, product, parity), run(unfused), "{n} elements");
            let right = x.iter().map(|x| x + 0.5).fold(0f32, |far, x| if x.abs() > far.abs() { x } else { far });
            assert_eq!(far.abs(), right.abs());
            assert_eq!(parity, bits.iter().fold(0, |parity, x| parity ^ x));
            let right: f64 = x.iter().zip(&y).map(|(x, y)| f64::from(x * y)).sum();
            assert!((f64::from(product) - right).abs() <= 1e-5 * n as f64 * 60.0, "{product} where {right} is right");
        }
        let table = Array2::from_shape_fn((37, 129), |(i, j)| ((i * 131 + j * 17) % 101) as f32 - 50.0);
        let x = fused.to_device(&table).unwrap();
        for axis in [0, 1] {
            let far = values(&farthest.call_axis(&operands![&x], axis));
            let right = table.fold_axis(Axis(axis as usize), 0f32, |far, x| far.abs().max(x.abs()));
            assert_eq!(far.mapv(f32::abs), right.into_dyn());
        }
        let nothing = fused.from_slice::<f32>(&[]).unwrap();
        assert_eq!(dot.call(&operands![&nothing, &nothing]).item().unwrap(), 0.0);
    });
}

#[test]
fn scans_by_an_expression() {
    on_compiling(|device, _| {
        let running = ScanKernel::<i32>::new("running_maximum", i32::MIN, "a > b ? a : b").unwrap();
        let host = Array1::from_iter((0..5000).map(|i: i32| (i * 7919) % 4999 - (i - 2500).abs()));
        let x = device.to_device(&host).unwrap();
        let right = |start: i32| {
            host.iter().scan(start, |most, x| {
                *most = (*most).max(*x);
                Some(*most)
            })
        };
        assert_eq!(values(&running.inclusive(&x, 0)), Array1::from_iter(right(i32::MIN)).into_dyn());
        let exclusive: Vec<i32> = std::iter::once(i32::MIN).chain(right(i32::MIN)).take(host.len()).collect();
        assert_eq!(values(&running.exclusive(&x, -1)), Array1::from(exclusive).into_dyn());
    });
}

#[test]
fn what_does_not_fit_is_an_error_and_the_device_goes_on() {
    on_compiling(|device, _| {
        let x = device.from_slice(&[1.0f32, 2.0, 3.0]).unwrap();
        let add = ElementwiseKernel::<f32>::new("sum_of", "f32 x, f32 y", "x + y").unwrap();
        let told = |array: &Array<f32>| array.get().unwrap_err().to_string();
        assert!(
            told(&add.call(&operands![&x])).contains("sum_of: it takes (f32, f32) and was called with (f32)"),
            "{}",
            told(&add.call(&operands![&x]))
        );
        assert!(told(&add.call(&operands![&x, 1.0f64])).contains("called with (f32, f64)"));
        let other = device.from_slice(&[1.0f32, 2.0]).unwrap();
        let error = add.call(&operands![&x, &other]).get().unwrap_err();
        assert!(matches!(&error, Error::ShapeMismatch { op: "sum_of", .. }), "{error}");
        let misspelt = ElementwiseKernel::<f32>::new("misspelt", "f32 x", "return x + undeclared_name;").unwrap();
        let error = misspelt.call(&operands![&x]).get().unwrap_err();
        match &error {
            Error::Compile { log, source_text, .. } => {
                assert!(log.contains("undeclared_name"), "{log}");
                assert!(source_text.contains("return x + undeclared_name;"));
            }
            other => panic!("{other}"),
        }
        let two = ReductionKernel::<f32>::new("pair", 0.0, "a + b").unwrap();
        assert!(told(&two.call(&operands![&x, &x])).contains("one array of f32 is folded"));
        assert_eq!(values(&add.call(&operands![&x, 1.0f32])), arr1(&[2.0, 3.0, 4.0]).into_dyn());
    });
}

#[test]
fn refused_on_the_host() {
    let device = open("host", Config::default());
    let x = device.from_slice(&[1.0f32, 2.0]).unwrap();
    let add = ElementwiseKernel::<f32>::new("add_one", "f32 x", "x + 1.0f").unwrap();
    let error = add.call(&operands![&x]).get().unwrap_err();
    assert!(matches!(&error, Error::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("#[lazuli::elementwise]"), "{error}");
    let got: ArrayD<f32> = (&x + 1.0).get().unwrap();
    assert_eq!(got, arr1(&[2.0, 3.0]).into_dyn());
    let only_scalars = add.call(&operands![1.0f32]);
    assert!(only_scalars.get().unwrap_err().to_string().contains("no operand is an array"));
}
