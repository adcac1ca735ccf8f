//! The first call of chain10 in a new process: with an empty cache folder, and then with what the first process left there.
//!
//! As for the peers, opening the device and bringing the inputs there is not counted; recording, planning, compiling and
//! running is. The inputs are uploaded, so that nothing was compiled before.

use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use lazuli::{Config, Device};

use crate::inputs::{Input, Inputs};
use crate::report::Row;
use crate::timing::milliseconds;

/// Set for the processes that measure: the device, a blank and the element count.
const CHILD: &str = "LAZULI_BENCH_FIRST_CALL";

/// Rows of the cold and the warm first call. Each is one call, so that the median is that call.
pub fn measure(device: &str, scale: f64) -> Result<Vec<Row>, Box<dyn Error>> {
    let n = ((scale * (1 << 28) as f64) as usize).max(1024);
    let folder = std::env::temp_dir().join(format!("lazuli-first-call-{}", std::process::id()));
    let rows = ["cold", "warm"].map(|kind| {
        let (first, kernels) = in_new_process(device, n, &folder, kind)?;
        let workload = format!("first_chain10_{kind}");
        Ok(Row { workload, median: first, least: first, rate: 0.0, first, kernels, wrong: None })
    });
    let _ = std::fs::remove_dir_all(&folder);
    rows.into_iter().collect()
}

fn in_new_process(device: &str, n: usize, folder: &Path, kind: &str) -> Result<(f64, u64), Box<dyn Error>> {
    // The drivers' own caches would hide what ours does: PoCL gets a new one each time, NVIDIA's is off.
    let drivers = folder.join(format!("pocl-{kind}"));
    std::fs::create_dir_all(&drivers)?;
    let output = Command::new(std::env::current_exe()?)
        .env(CHILD, format!("{device} {n}"))
        .env("LAZULI_CACHE_DIR", folder.join("kernels"))
        .env("POCL_CACHE_DIR", &drivers)
        .env("CUDA_CACHE_DISABLE", "1")
        .env_remove("LAZULI_CACHE")
        .env_remove("LAZULI_CACHE_BYTES")
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let mut words = said.split_whitespace();
    match (output.status.success(), words.next(), words.next()) {
        (true, Some(first), Some(kernels)) => Ok((first.parse()?, kernels.parse()?)),
        _ => Err(format!("the process of the {kind} call: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// In such a process, makes the call and prints its time and its kernels; `None` in any other.
pub fn child() -> Option<ExitCode> {
    let setting = std::env::var(CHILD).ok()?;
    let outcome = setting.split_once(' ').ok_or_else(|| "no element count".into()).and_then(|(device, n)| {
        let (first, kernels) = first_call(device, n.parse()?)?;
        println!("{first} {kernels}");
        Ok::<(), Box<dyn Error>>(())
    });
    Some(match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    })
}

fn first_call(device: &str, n: usize) -> Result<(f64, u64), Box<dyn Error>> {
    let device = Device::open(device, Config::default())?;
    let chain10 = crate::workloads::GPU.iter().find(|workload| workload.name == "chain10").ok_or("no chain10")?;
    let inputs = Inputs::uploaded(&device, vec![Input::unit([n]); 2])?;
    let start = Instant::now();
    let outputs = chain10.record(&inputs);
    lazuli::eval(&outputs[..])?;
    device.synchronize()?;
    let first = milliseconds(start);
    chain10.check(&inputs, &outputs)?;
    Ok((first, device.counters().launches))
}
