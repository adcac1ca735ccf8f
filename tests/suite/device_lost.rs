//! Kernels that fault: the error names them, every later call says that the device is lost, and the process goes on.
//!
//! A fault takes the context of the whole process with it, so each runs in a process of its own. On PoCL a fault is one of the
//! process, so there is nothing to see there.

use std::collections::HashSet;

use lazuli::prelude::*;
use lazuli::{Error, Module, args};

use super::common::{assert_passed, in_a_process, names, skip};

/// Runs a test of this file on each CUDA device under test.
fn on_cuda(test: &str) {
    let devices: HashSet<&String> = names().iter().filter(|name| name.starts_with("cuda")).collect();
    if devices.is_empty() {
        skip("device_lost", "no CUDA device is under test");
    }
    for name in devices {
        for fault in ["reach_past", "misaligned", "trap"] {
            let environment = [("LAZULI_TEST_DEVICES", name.as_str()), (FAULT, fault)];
            assert_passed(&in_a_process(&format!("device_lost::{test}"), &environment));
        }
    }
}

/// Names the faulty kernel, of those below.
const FAULT: &str = "LAZULI_TEST_FAULT";

const FAULTS: &str = "
    __global__ void harmless(float *x) { x[threadIdx.x] += 1.0f; }
    __global__ void reach_past(float *x, unsigned long long far) { x[far] = 1.0f; }
    __global__ void misaligned(char *x) { *(double *)(x + 1) = 1.0; }
    __global__ void trap(float *x) { asm(\"trap;\"); }";

/// The kernels that an error blames. Fails for any other error.
#[track_caller]
fn blamed<T>(outcome: lazuli::Result<T>, device: &str) -> Vec<String> {
    match outcome {
        Err(Error::DeviceLost { device: lost, kernels, .. }) if lost == device => kernels,
        Err(other) => panic!("{other} in place of the loss"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn a_fault_loses_the_device_and_the_process_goes_on() {
    on_cuda("lose_and_go_on");
}

#[test]
#[ignore = "run by the test above, in a process of its own"]
fn lose_and_go_on() {
    let name = &names()[0];
    let fault = std::env::var(FAULT).unwrap();
    let fault = fault.as_str();
    let device = Device::open(name, Config::default()).unwrap();
    let module = Module::new(&device, FAULTS).unwrap();
    let function = |name: &str| module.function(name).unwrap();
    let mut x = device.from_slice(&[1.0f32; 32]).unwrap();
    let untouched = device.from_slice(&[5.0f32]).unwrap();
    // Waited for, so not to blame.
    function("harmless").call(args![&mut x]).launch(1, 32).unwrap();
    device.synchronize().unwrap();
    let mut y = device.from_slice(&[0.0f32; 32]).unwrap();
    let launched = match fault {
        "reach_past" => function(fault).call(args![&mut y, 1u64 << 45]).launch(1, 1),
        _ => function(fault).call(args![&mut y]).launch(1, 1),
    };
    launched.and_then(|()| device.synchronize()).expect_err("a fault");
    assert!(device.is_lost());
    assert_eq!(blamed(device.synchronize(), name), [fault]);
    // Every later call says so, whatever it is.
    assert_eq!(blamed(untouched.get(), name), [fault]);
    assert_eq!(blamed((&untouched + 1.0).eval(), name), [fault]);
    assert_eq!(blamed(device.from_slice(&[1.0f32; 1 << 20]), name), [fault]);
    assert_eq!(blamed(Module::new(&device, "__global__ void f() {}"), name), [fault]);
    assert_eq!(blamed(function_of(&module), name), [fault]);
    assert_eq!(blamed(device.queue().map(drop), name), [fault]);

    // Other devices go on, and so does this one where the driver lets it.
    assert_eq!(Device::host().unwrap().from_slice(&[1.0f32, 2.0]).unwrap().sum().item().unwrap(), 3.0);
    match Device::open(name, Config::default()) {
        Err(error) => {
            let told = error.to_string();
            assert!(told.contains(fault) && told.contains("a new process has the device back"), "{told}");
            assert_eq!(blamed(Err::<(), _>(error), name), [fault]);
        }
        Ok(fresh) => {
            let module_again = Module::new(&fresh, FAULTS).unwrap();
            let mut z = fresh.from_slice(&[1.0f32; 32]).unwrap();
            module_again.function("harmless").unwrap().call(args![&mut z]).launch(1, 32).unwrap();
            assert_eq!((&z * 2.0).sum().item().unwrap(), 128.0);
        }
    }
    // What is left of the lost one goes quietly.
    drop((module, x, y, untouched, device));
}

fn function_of(module: &Module) -> lazuli::Result<()> {
    module.function("harmless").map(drop)
}

#[test]
fn a_fault_loses_all_devices_of_the_context_and_auto_passes_it_over() {
    on_cuda("lose_the_shared_one");
}

#[test]
#[ignore = "run by the test above, in a process of its own"]
fn lose_the_shared_one() {
    let name = &names()[0];
    let device = Device::from_name(name).unwrap();
    // Another device of the same context is lost with it.
    let other = Device::open(name, Config::default()).unwrap();
    let held = other.from_slice(&[1.0f32]).unwrap();
    let module = Module::new(&device, FAULTS).unwrap();
    let mut x = device.from_slice(&[0.0f32]).unwrap();
    module.function("trap").unwrap().call(args![&mut x]).launch(1, 1).unwrap();
    assert_eq!(blamed(x.get(), name), ["trap"]);
    assert_eq!(blamed(held.get(), name), ["trap"]);
    assert!(other.is_lost());
    // Neither a handle of the lost device nor a confusing error comes of asking again.
    match Device::from_name(name) {
        Ok(again) => assert!(again != device && !again.is_lost()),
        Err(error) => assert_eq!(blamed(Err::<(), _>(error), name), ["trap"]),
    }
    let other_device = Device::auto().unwrap();
    assert_eq!(other_device.from_slice(&[1.0f32, 2.0]).unwrap().sum().item().unwrap(), 3.0);
    if !other_device.name().starts_with("cuda") {
        let passed_over = other_device.passed_over().join("; ");
        assert!(passed_over.contains("is lost after a launch of trap"), "{passed_over}");
    }
}
