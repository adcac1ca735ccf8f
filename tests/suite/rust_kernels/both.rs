//! One text, as a function of Rust, a device function called by a kernel, and an element-wise function.

use std::fmt::Debug;

use lazuli::{Array, Device, Element};

use crate::common::{flat, on_each};

/// Defines a module with a function in all its forms, and `check`, which holds them against each other on every device.
macro_rules! both {
    ($(#[$meta:meta])* fn $name:ident($($param:ident: $type:ty),+) -> $result:ty { $($body:tt)* }) => {
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports, reason = "for the bodies that need them")]
            use super::*;

            #[lazuli::device]
            fn on_device($($param: $type),+) -> $result { $($body)* }

            #[lazuli::kernel]
            fn run($($param: &[$type],)+ out: &mut [$result]) {
                let thread = lazuli::kernel::grid1();
                if thread < out.len() {
                    out[thread] = on_device($($param[thread]),+);
                }
            }

            #[lazuli::elementwise]
            fn over_arrays($($param: $type),+) -> $result { $($body)* }

            #[allow(clippy::all, reason = "written for kernels")]
            fn in_rust($($param: $type),+) -> $result { $($body)* }

            pub fn check($($param: &[$type]),+) {
                let length = [$($param.len()),+].into_iter().min().unwrap_or(0);
                let expected: Vec<$result> = (0..length).map(|at| in_rust($($param[at]),+)).collect();
                crate::rust_kernels::both::hold(stringify!($name), &expected, |device| {
                    $(let $param = device.from_slice(&$param[..length])?;)+
                    let mut out = device.zeros::<$result>(length);
                    run($(&$param,)+ &mut out).forall(length)?;
                    Ok([out, over_arrays($(&$param),+)])
                });
            }
        }
    };
}

/// Runs a function in both forms it has on devices, and compares all bits; NaN are equal.
pub fn hold<T: Element>(name: &str, expected: &[T], run: impl Fn(&Device) -> lazuli::Result<[Array<T>; 2]>) {
    on_each(|fused, unfused| {
        for device in [fused, unfused] {
            let [kernel, elementwise] = run(device).unwrap_or_else(|error| panic!("{name}: {error}"));
            compare(&format!("{name} as a kernel"), &flat(&kernel), expected);
            compare(&format!("{name} over arrays"), &flat(&elementwise), expected);
        }
    });
}

/// Every value is the expected one, bit for bit, but that all NaN are one.
#[track_caller]
pub fn compare<T: Element + Debug>(what: &str, ours: &[T], expected: &[T]) {
    assert_eq!(ours.len(), expected.len(), "{what}");
    for (at, (ours, expected)) in ours.iter().zip(expected).enumerate() {
        #[allow(clippy::eq_op, reason = "that is what NaN is told by")]
        let both_nan = ours != ours && expected != expected;
        let same = ours.to_scalar() == expected.to_scalar() || both_nan;
        assert!(same, "{what}: {ours:?} where {expected:?} is right, at {at}");
    }
}
