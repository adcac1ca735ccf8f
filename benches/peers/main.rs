//! How fast a device gets through the workloads of the peers' tables, in the columns of those tables.
//!
//!     cargo bench --bench peers -- [--device NAME] [--scale S] [--only NAME,NAME] [--seconds T] [--unfused] [--json FILE]
//!     cargo bench --bench peers -- --cpu [--n N] ...
//!
//! NAME is `cuda:0`, `opencl:0`, `host` (default: what `Device::auto` takes). One line each:
//!
//!     workload peer median_ms min_ms GB/s first_ms kernels
//!
//! Sizes, bounds, tolerances and the way of timing are those of `peers.py` beside this file; `--scale` multiplies its
//! element counts. `--cpu` runs the six rows of `cpu_peers.py` instead, with its sizes, and times single calls as it does.
//! Inputs lie on the device and results are dropped at once. GB/s counts each input read once and each output written once.
//! `first_ms` is the first evaluation on a device that has compiled nothing, without the disk cache; the rows
//! `first_chain10_cold` and `first_chain10_warm` are first calls of two new processes that share a new cache folder.
//! `--unfused` adds a row with fusion off; `--workloads` prints the names alone. A wrong answer prints WRONG and makes the exit status 1. The binary stands alone:
//! it can be copied to another machine.

mod first_call;
mod inputs;
mod report;
mod timing;
mod workloads;

use std::error::Error;
use std::process::ExitCode;

use lazuli::{Config, Device};

use self::report::Report;
use self::workloads::{CPU, GPU, Scale, Workload};

struct Arguments {
    device: Option<String>,
    scale: f64,
    cpu: bool,
    only: Vec<String>,
    seconds: f64,
    unfused: bool,
    json: Option<String>,
    list: bool,
}

/// What `--only` calls the rows of first calls.
const FIRST_CALL: &str = "first_chain10";

fn main() -> ExitCode {
    if let Some(outcome) = first_call::child() {
        return outcome;
    }
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool, Box<dyn Error>> {
    let arguments = arguments()?;
    if arguments.list {
        table(arguments.cpu).iter().for_each(|workload| println!("{}", workload.name));
        println!("{FIRST_CALL}");
        return Ok(true);
    }
    let name = match &arguments.device {
        Some(name) => name.clone(),
        None => Device::auto()?.name().to_string(),
    };
    // Held to the end: what a runtime sets up once a process is not part of any workload's first call.
    let open = |fused| Device::open(&name, Config::default().with_fusion(fused).with_disk_cache(false));
    let first = open(true)?;
    let mut report = Report::new(&first, arguments.cpu);
    let scale = Scale(arguments.scale);
    for workload in chosen(&arguments)? {
        for fused in if arguments.unfused { &[true, false][..] } else { &[true] } {
            // A device of its own has compiled nothing, and its memory goes with it.
            let device = open(*fused)?;
            let peer = format!("{}{}", first.name(), if *fused { "" } else { "/unfused" });
            match timing::measure(workload, &device, scale, arguments.seconds, arguments.cpu) {
                Ok(rows) => rows.into_iter().for_each(|row| report.add(&peer, row)),
                Err(error) => report.not_run(workload.name, &peer, &*error),
            }
        }
    }
    if !arguments.cpu && (arguments.only.is_empty() || arguments.only.iter().any(|name| name == FIRST_CALL)) {
        match first_call::measure(&name, arguments.scale) {
            Ok(rows) => rows.into_iter().for_each(|row| report.add(first.name(), row)),
            Err(error) => report.not_run(FIRST_CALL, first.name(), &*error),
        }
    }
    if let Some(path) = &arguments.json {
        report.write_json(path)?;
    }
    Ok(report.all_right())
}

fn table(cpu: bool) -> &'static [Workload] {
    if cpu { CPU } else { GPU }
}

/// The workloads that are asked for, in the order of the table.
fn chosen(arguments: &Arguments) -> Result<Vec<&'static Workload>, Box<dyn Error>> {
    let all = table(arguments.cpu);
    let known = |name: &String| name == FIRST_CALL || all.iter().any(|workload| workload.name == name);
    if let Some(name) = arguments.only.iter().find(|name| !known(name)) {
        return Err(format!("no workload {name}").into());
    }
    let wanted = |workload: &&Workload| arguments.only.is_empty() || arguments.only.iter().any(|n| n == workload.name);
    Ok(all.iter().filter(wanted).collect())
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut parsed = Arguments {
        device: None,
        scale: 1.0,
        cpu: false,
        only: Vec::new(),
        seconds: 0.4,
        unfused: false,
        json: None,
        list: false,
    };
    let mut words = std::env::args().skip(1);
    let mut n = None;
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        match word.as_str() {
            // Cargo says so.
            "--bench" => {}
            "--cpu" => parsed.cpu = true,
            "--workloads" => parsed.list = true,
            "--unfused" => parsed.unfused = true,
            "--device" => parsed.device = Some(value()?),
            "--n" => n = Some(value()?.parse::<usize>()?),
            "--scale" => parsed.scale = value()?.parse()?,
            "--seconds" => parsed.seconds = value()?.parse()?,
            "--only" => parsed.only = value()?.split(',').map(String::from).collect(),
            "--json" => parsed.json = Some(value()?),
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    if let Some(n) = n {
        if !parsed.cpu {
            return Err("--n goes with --cpu; the GPU table takes --scale".into());
        }
        parsed.scale = n as f64 / (1 << 24) as f64;
    }
    Ok(parsed)
}
