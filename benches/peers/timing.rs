//! The clock: batches of evaluations with one wait for the device at the end, as events would measure them.

use std::error::Error;
use std::time::Instant;

use lazuli::Device;

use crate::report::Row;
use crate::workloads::{Scale, Workload};

/// Batches timed; the median and the least are reported.
const BATCHES: usize = 7;
/// Batches and calls of a workload that is timed by the call.
const SMALL_BATCHES: usize = 9;
const SMALL_CALLS: usize = 200;
/// Single calls, as `cpu_peers.py` times them.
const SINGLE_CALLS: usize = 9;

/// Measures a workload: one row, or two where it is timed by the call.
pub fn measure(
    workload: &Workload,
    device: &Device,
    scale: Scale,
    seconds: f64,
    singly: bool,
) -> Result<Vec<Row>, Box<dyn Error>> {
    let inputs = workload.inputs(device, scale)?;
    let before = device.counters().launches;
    let start = Instant::now();
    let outputs = workload.record(&inputs);
    lazuli::eval(&outputs[..])?;
    device.synchronize()?;
    let first = milliseconds(start);
    let kernels = device.counters().launches - before;
    let wrong = workload.check(&inputs, &outputs).err().map(|error| error.to_string());
    let bytes = workload.floor_bytes(&inputs, &outputs);
    drop(outputs);

    let call = || match &workload.record(&inputs)[..] {
        [one] => one.eval(),
        several => lazuli::eval(several),
    };
    let batch = |count: usize, wait_each: bool| -> lazuli::Result<f64> {
        device.synchronize()?;
        let start = Instant::now();
        for _ in 0..count {
            call()?;
            if wait_each {
                device.synchronize()?;
            }
        }
        device.synchronize()?;
        Ok(milliseconds(start) / count as f64)
    };
    let row = |suffix: &str, mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        let (median, least) = (times[times.len() / 2], times[0]);
        let rate = if workload.small { 0.0 } else { bytes as f64 / median / 1e6 };
        let (workload, wrong) = (format!("{}{suffix}", workload.name), wrong.clone());
        Row { workload, median, least, rate, first, kernels, wrong }
    };
    let several = |batches: usize, count: usize, wait_each: bool| {
        (0..batches).map(|_| batch(count, wait_each)).collect::<lazuli::Result<Vec<f64>>>()
    };
    if workload.small {
        let mut rows = Vec::new();
        for (suffix, wait_each) in [("", false), ("_sync", true)] {
            batch(SMALL_CALLS / 4, wait_each)?;
            rows.push(row(suffix, several(SMALL_BATCHES, SMALL_CALLS, wait_each)?));
        }
        return Ok(rows);
    }
    if singly {
        return Ok(vec![row("", several(SINGLE_CALLS, 1, true)?)]);
    }
    batch(3, false)?;
    let one = batch(2, false)?.max(1e-3);
    let count = ((seconds * 1e3 / BATCHES as f64 / one) as usize).max(1);
    Ok(vec![row("", several(BATCHES, count, false)?)])
}

/// Milliseconds since a moment.
pub fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
