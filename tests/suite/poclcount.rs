//! What we count against what PoCL itself counts.

use lazuli::prelude::*;
use ndarray::s;

use crate::common::*;

const INNER: &str = "poclcount::inner_work";

#[test]
fn pocl_counts_as_many_kernels_as_we_do() {
    if !names().iter().any(|name| name == "opencl:0") {
        skip("PoCL's own count", "opencl:0 is not under test");
        return;
    }
    let device = open("opencl:0", Config::default());
    let listed = Device::list().into_iter().find(|info| info.name == device.name()).expect("is listed").description;
    if !["pocl", "portable computing language"].iter().any(|name| listed.to_lowercase().contains(name)) {
        skip("PoCL's own count", &format!("opencl:0 is {listed}"));
        return;
    }
    for fusion in ["on", "off"] {
        let folder = Folder::new(&format!("pocl-trace-{fusion}"));
        let trace = folder.0.join("trace.txt");
        let output = in_a_process(
            INNER,
            &[("POCL_TRACING", "text"), ("POCL_TRACING_OPT", &trace.to_string_lossy()), ("LAZULI_TEST_FUSION", fusion)],
        );
        assert_passed(&output);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let ours: usize = said
            .lines()
            .find_map(|line| line.split_once("launches=").map(|(_, count)| count.trim().parse().unwrap()))
            .expect("a count");
        assert!(ours > 20, "{ours} launches are not much of a test");
        let trace = std::fs::read_to_string(&trace).expect("PoCL's trace");
        assert_eq!(kernels(&trace), ours, "fusion {fusion}; the trace begins\n{}", &trace[..trace.len().min(2000)]);
    }
}

/// The kernels in a trace of PoCL's text tracer, which prints a line for each command and each state that it reaches:
/// `0 | EV ID 2 | DEV 1 | CQ 4 | ndrange_kernel | complete | KERNEL ID 8 | name=sum_f32`.
fn kernels(trace: &str) -> usize {
    let fields = trace.lines().map(|line| line.split(" | ").collect::<Vec<_>>());
    fields.filter(|fields| fields.get(4..6) == Some(&["ndrange_kernel", "complete"])).count()
}

#[test]
#[ignore = "run by pocl_counts_as_many_kernels_as_we_do in a process of its own"]
fn inner_work() {
    let fusion = std::env::var("LAZULI_TEST_FUSION").is_ok_and(|value| value == "on");
    let device = open("opencl:0", Config::default().with_fusion(fusion));
    let x = device.from_slice(&[1.0f32; 1000]).unwrap();
    for k in 0..10 {
        let y = (&x * k as f32 + 1.0).sqrt();
        let z = y.slice(s![..;-2]).sum();
        lazuli::get((&y, &z)).unwrap();
        assert_eq!(x.slice(s![..3]).get().unwrap().len(), 3);
        assert!((&x + device.zeros::<f32>([3])).get().is_err());
        let _ = (&x * 2.0).explain().unwrap();
    }
    let columns = x.reshape([20, 50]).sum_axis(0);
    assert_eq!(flat(&columns), [20.0; 50]);
    assert_eq!(device.arange(0i64, 3_000_000, 1).sum().item().unwrap(), 4_499_998_500_000);
    device.synchronize().unwrap();
    println!("\nlaunches={}", device.counters().launches);
}
