//! The devices under test, and how a test runs on each of them.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock};

use lazuli::prelude::*;
use ndarray::ArrayD;

/// The variable that names the devices under test.
const DEVICES: &str = "LAZULI_TEST_DEVICES";

/// The names of the devices under test.
pub fn names() -> &'static [String] {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    NAMES.get_or_init(|| {
        if let Ok(list) = std::env::var(DEVICES) {
            return list.split(',').map(|name| name.trim().to_string()).filter(|name| !name.is_empty()).collect();
        }
        let found: Vec<String> = Device::list().into_iter().map(|info| info.name).collect();
        let (there, gone): (Vec<&str>, Vec<&str>) =
            ["host", "opencl:0", "cuda:0"].into_iter().partition(|name| found.iter().any(|other| other == name));
        for name in gone {
            let kind = name.split(':').next().unwrap_or(name);
            let reasons = Device::absent().into_iter().filter(|line| line.to_lowercase().contains(kind));
            skip(kind, &reasons.collect::<Vec<_>>().join("; "));
        }
        there.into_iter().map(String::from).collect()
    })
}

/// Tells, past the test harness's capture, that something was not run; each line once.
pub fn skip(what: &str, reason: &str) {
    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let line = format!("SKIP {what}: {reason}");
    let mut said = SAID.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !said.contains(&line) {
        let _ = writeln!(std::io::stderr(), "{line}");
        said.push(line);
    }
}

/// A device of its own: nobody else moves its counters. It keeps nothing on disk, so that what it compiles does not depend on
/// the runs before.
pub fn open(name: &str, config: Config) -> Device {
    Device::open(name, config.with_disk_cache(false)).unwrap_or_else(|error| panic!("{name} does not open: {error}"))
}

/// Runs the body once for each device under test, with a fusing handle and one that does not fuse.
pub fn on_each(body: impl Fn(&Device, &Device)) {
    for name in names() {
        let (fused, unfused) = (open(name, Config::default()), open(name, Config::default().with_fusion(false)));
        named(name, || body(&fused, &unfused));
    }
}

/// Runs the body on each device under test, fused and then not.
pub fn on_every(body: impl Fn(&Device)) {
    on_each(|fused, unfused| {
        named("fused", || body(fused));
        named("unfused", || body(unfused));
    });
}

/// Runs the body on each device under test, fused.
pub fn on_fused(body: impl Fn(&Device)) {
    for name in names() {
        let device = open(name, Config::default());
        named(name, || body(&device));
    }
}

/// True for the host and for the OpenCL devices that are CPUs.
pub fn is_cpu(device: &Device) -> bool {
    let is_it = |info: &lazuli::DeviceInfo| info.name == device.name() && info.description.contains(", CPU,");
    device.name() == "host" || Device::list().iter().any(is_it)
}

/// Puts a name before the message of a panic.
pub fn named<R>(name: &str, body: impl FnOnce() -> R) -> R {
    thread_local! {
        /// How many names are around the body.
        static DEPTH: Cell<usize> = const { Cell::new(0) };
    }
    DEPTH.set(DEPTH.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(body));
    DEPTH.set(DEPTH.get() - 1);
    let payload = match result {
        Ok(result) => return result,
        Err(payload) => payload,
    };
    let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
    let Some(message) = payload.downcast_ref::<String>().cloned().or(text) else { resume_unwind(payload) };
    let message = format!("[{name}] {message}");
    if DEPTH.get() == 0 {
        // The first panic has told its place, but not the device.
        let _ = writeln!(std::io::stderr(), "{message}");
    }
    resume_unwind(Box::new(message))
}

/// The values, or a panic with the error.
#[track_caller]
pub fn values<T: Element>(array: &Array<T>) -> ArrayD<T> {
    match array.get() {
        Ok(values) => {
            assert_eq!(values.shape(), array.shape());
            values
        }
        Err(error) => panic!("{error}"),
    }
}

/// The values in row-major order.
#[track_caller]
pub fn flat<T: Element>(array: &Array<T>) -> Vec<T> {
    values(array).iter().copied().collect()
}

/// The array has exactly this shape and these values.
#[track_caller]
pub fn same<T: Element>(ours: &Array<T>, theirs: impl Into<ArrayD<T>>) {
    let theirs = theirs.into();
    let ours = values(ours);
    assert_eq!(ours.shape(), theirs.shape());
    let wrong = ours.indexed_iter().zip(&theirs).find(|((_, ours), theirs)| ours != theirs);
    if let Some(((at, ours), theirs)) = wrong {
        panic!("at {at:?}: {ours} where {theirs} is right");
    }
}

/// Fails where two arrays of floats differ in any bit, and tells how many do and the first.
pub fn same_bits(ours: &ArrayD<f32>, theirs: &ArrayD<f32>, what: &str) {
    assert_eq!(ours.shape(), theirs.shape(), "{what}");
    let differs = |pair: &(usize, (&f32, &f32))| pair.1.0.to_bits() != pair.1.1.to_bits();
    let mut different = ours.iter().zip(theirs).enumerate().filter(differs);
    if let Some((place, (a, b))) = different.next() {
        panic!(
            "{what}: {} of {} elements differ, first number {place}: {a} and {b}",
            different.count() + 1,
            ours.len()
        );
    }
}

/// The counted launches of a body.
pub fn launches(device: &Device, body: impl FnOnce()) -> u64 {
    let before = device.counters().launches;
    body();
    device.counters().launches - before
}

/// The counted compilations of a body.
pub fn compiles(device: &Device, body: impl FnOnce()) -> u64 {
    let before = device.counters().compiles;
    body();
    device.counters().compiles - before
}

/// The operations in all kernels that an evaluation would launch.
#[track_caller]
pub fn operations<T: Element>(array: &Array<T>) -> usize {
    let explanation = array.explain().expect("explains");
    explanation.kernels.iter().map(|kernel| kernel.operations).sum()
}

/// Runs on a thread with a stack of 2 MiB.
pub fn on_a_small_stack(body: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn_scoped(scope, body).expect("a thread");
        if let Err(payload) = thread.join() {
            resume_unwind(payload);
        }
    });
}

/// Runs one ignored test of this binary in a process of its own, under further environment variables.
pub fn in_a_process(test: &str, environment: &[(&str, &str)]) -> Output {
    let environment: HashMap<&str, &str> = environment.iter().copied().collect();
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]).envs(environment);
    command.output().expect("starts")
}

/// The output was that of one test, which passed.
#[track_caller]
pub fn assert_passed(output: &Output) {
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{}\n{said}\n{errors}", output.status);
}

/// A new empty folder below the system's one for temporary files; removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("lazuli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
