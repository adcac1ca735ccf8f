//! Values fetched while the program goes on.

use lazuli::prelude::*;
use ndarray::{Array1, arr1, s};

use crate::common::{flat, on_each, on_every};

#[test]
fn a_value_fetched_later_is_that_of_the_call() {
    on_each(|fused, unfused| {
        for device in [fused, unfused] {
            let n = 100_000;
            let x = device.arange(0.0f32, n as f32, 1.0);
            x.eval().unwrap();
            let right = |k: usize| Array1::from_iter((0..n).map(|i| i as f32 * k as f32)).into_dyn();
            // More are under way than there are chunks to keep, and each result's memory is free for the next at once.
            let fetches: Vec<_> = (0..40).map(|k| (&x * k as f32).get_async().unwrap()).collect();
            for _ in 0..3 {
                (&x + 1.0).eval().unwrap();
            }
            for (k, fetch) in fetches.into_iter().enumerate().rev() {
                assert_eq!(fetch.shape(), [n]);
                assert_eq!(fetch.wait().unwrap(), right(k), "{k}");
            }
        }
    });
}

#[test]
fn views_bools_and_what_has_no_elements_are_fetched() {
    on_every(|device| {
        let x = device.arange(0, 24, 1).reshape([2, 3, 4]);
        x.eval().unwrap();
        let views = [
            x.clone(),
            x.t(),
            x.flip(1),
            x.slice(s![.., 1..;-2, 1..3]),
            x.index_axis(0, 1).insert_axis(0).broadcast_to([5, 3, 4]),
            x.slice(s![1, 2, 3]),
            x.slice(s![.., 1..1, ..]),
            &x.t() + 1,
        ];
        for view in views {
            let right = view.get().unwrap();
            assert_eq!(view.get_async().unwrap().wait().unwrap(), right, "{right:?}");
        }
        assert_eq!(x.gt(11).get_async().unwrap().wait().unwrap(), x.get().unwrap().map(|value| *value > 11));
    });
}

#[test]
fn a_fetch_becomes_ready_or_is_forgotten() {
    on_every(|device| {
        let x = device.arange(0.0f64, 1000.0, 1.0);
        drop(x.get_async().unwrap());
        let fetch = (&x * 2.0).get_async().unwrap();
        device.synchronize().unwrap();
        // The copy was submitted before the wait, which was for everything.
        assert!(fetch.is_ready().unwrap());
        drop(x);
        assert_eq!(fetch.wait().unwrap()[[999]], 1998.0);
    });
}

#[test]
fn mistakes_come_out_before_anything_is_fetched() {
    on_every(|device| {
        let wrong = device.zeros::<f32>([2, 3]) + device.zeros::<f32>([4]);
        let error = wrong.get_async().unwrap_err();
        assert!(matches!(error, Error::ShapeMismatch { op: "add", .. }), "{error}");
        assert_eq!(flat(&device.from_slice(&[1, 2]).unwrap()), [1, 2]);
        assert_eq!(device.full([1], 3).get_async().unwrap().wait().unwrap(), arr1(&[3]).into_dyn());
    });
}
