//! Which devices there are, and how to open one by name.
//!
//! Looking opens no device, so listing is cheap and has no side effects. A library that is missing is a line that says so.

use std::sync::Arc;

use lazuli_codegen::{
    Access, Affine, Axis, AxisId, BufferId, BufferParam, Coefficient, DType, Expr, IndexWidth, Kernel, Placement,
    Scalar, ScalarId, Schedule, SizeId, Stmt, Term, Var, VarType,
};

use super::{Binaries, LaunchArgs, Memory, Runtime};
use crate::error::{Error, Result};

/// A device that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The name that [`open`] takes: `cuda:0`, `opencl:1`, `host`.
    pub name: String,
    /// What the driver calls it, such as `NVIDIA H200, CUDA 13.0, 132 multiprocessors`.
    pub description: String,
}

/// Everything that was looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Survey {
    /// The devices: CUDA's, then OpenCL's, each in order of number, then the host, which is always there.
    pub found: Vec<Found>,
    /// What is absent, and why, one line each.
    pub absent: Vec<String>,
}

/// A device's kind and number, as parsed from a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wanted {
    Cuda(usize),
    OpenCl(usize),
    Host,
}

/// Looks for every device. Opens none.
pub fn survey() -> Survey {
    let (cuda, mut absent) = cuda_devices();
    if !cuda.is_empty() {
        absent.extend(cuda_compiler_absent());
    }
    let (opencl, opencl_absent) = opencl_devices();
    absent.extend(opencl_absent);
    let cuda = cuda.into_iter().enumerate().map(|(i, description)| (format!("cuda:{i}"), description));
    let opencl = opencl.into_iter().enumerate().map(|(i, device)| (format!("opencl:{i}"), device.description));
    let host = std::iter::once(("host".to_owned(), host_description()));
    let found = cuda.chain(opencl).chain(host).map(|(name, description)| Found { name, description }).collect();
    Survey { found, absent }
}

/// Opens the device named `host`, `cuda`, `cuda:N`, `opencl` or `opencl:N`, in letters of either case, and returns its full
/// name with it. A missing compiler shows when it is first needed.
///
/// Errors: `DeviceNotFound` with what was looked for; `Driver`.
pub fn open(name: &str, binaries: &Binaries) -> Result<(String, Arc<dyn Runtime>)> {
    match parse(name) {
        Some(Wanted::Cuda(index)) => Ok((format!("cuda:{index}"), open_cuda(index, binaries)?)),
        Some(Wanted::OpenCl(index)) => Ok((format!("opencl:{index}"), open_opencl(index, binaries)?)),
        Some(Wanted::Host) => Ok(("host".into(), open_host()?)),
        None => {
            let survey = survey();
            let mut looked_for = vec!["a name is host, cuda, cuda:N, opencl or opencl:N".to_owned()];
            looked_for.extend(survey.found.iter().map(|found| format!("{} is {}", found.name, found.description)));
            looked_for.extend(survey.absent);
            Err(Error::DeviceNotFound { name: name.into(), looked_for })
        }
    }
}

/// Opens the first CUDA device that compiles and runs a kernel, else the first OpenCL GPU that does, else the host. The
/// lines say why each device before it was passed over.
///
/// Errors: those of the host, which has none in practice.
pub fn open_auto(binaries: &Binaries) -> Result<(String, Arc<dyn Runtime>, Vec<String>)> {
    let mut passed_over = Vec::new();
    let (cuda, absent) = cuda_devices();
    passed_over.extend(absent);
    for index in 0..cuda.len() {
        if let Some((name, runtime)) = try_open(format!("cuda:{index}"), open_cuda(index, binaries), &mut passed_over) {
            return Ok((name, runtime, passed_over));
        }
    }
    let (opencl, absent) = opencl_devices();
    passed_over.extend(absent);
    for (index, device) in opencl.iter().enumerate() {
        let name = format!("opencl:{index}");
        if !device.is_gpu {
            passed_over.push(format!("{name}: {} is no GPU; it is used when named", device.description));
            continue;
        }
        if let Some((name, runtime)) = try_open(name, open_opencl(index, binaries), &mut passed_over) {
            return Ok((name, runtime, passed_over));
        }
    }
    Ok(("host".into(), open_host()?, passed_over))
}

/// The device, if it opened and a kernel runs on it; else the reason goes to the list.
fn try_open(
    name: String,
    opened: Result<Arc<dyn Runtime>>,
    passed_over: &mut Vec<String>,
) -> Option<(String, Arc<dyn Runtime>)> {
    let tried = opened.and_then(|runtime| probe(&*runtime).map(|()| runtime));
    match tried {
        Ok(runtime) => Some((name, runtime)),
        Err(error) => {
            tracing::warn!(%error, "{name} was found but does not work");
            passed_over.push(format!("{name}: {error}"));
            None
        }
    }
}

/// Compiles and runs the smallest kernel there is, one that stores its scalar, and looks at what it stored.
fn probe(runtime: &dyn Runtime) -> Result<()> {
    const COUNT: usize = 33;
    const VALUE: i32 = 0x1A2A_3A4A;
    let at = Affine { offset: None, terms: vec![(Term::Axis(AxisId(0)), Coefficient::One)], ahead: None };
    let kernel = Arc::new(Kernel {
        name: "probe_i32".into(),
        index: IndexWidth::I32,
        buffers: vec![BufferParam { dtype: DType::I32, access: Access::Write }],
        sizes: 1,
        scalars: vec![DType::I32],
        axes: vec![Axis { extent: SizeId(0) }],
        parallel: vec![AxisId(0)],
        vars: vec![VarType::Value(DType::I32)],
        body: vec![
            Stmt::Let { var: Var(0), expr: Expr::Scalar(ScalarId(0)) },
            Stmt::Store { buffer: BufferId(0), at, value: Var(0), wide: false },
        ],
    });
    let schedule = Schedule::Map { group: 32, width: 1, placement: Placement::Linear };
    let executable = runtime.compile(&kernel, schedule, false)?;
    let memory: Box<dyn Memory> = runtime.allocate(COUNT * size_of::<i32>())?;
    let sizes = [COUNT as i64];
    let scalars = [Scalar::from_bits(DType::I32, VALUE as u64)];
    let grid = schedule.grid(&kernel, &sizes);
    runtime.launch(&*executable, &LaunchArgs { buffers: &[&*memory], sizes: &sizes, scalars: &scalars, grid })?;
    let mut stored = [0; COUNT * size_of::<i32>()];
    runtime.download(&*memory, 0, &mut stored)?;
    if stored.chunks_exact(size_of::<i32>()).any(|element| element != VALUE.to_ne_bytes()) {
        return Err(Error::Driver {
            device: runtime.facts().name.clone(),
            call: "a first kernel".into(),
            message: "it ran, but stored wrong values".into(),
        });
    }
    Ok(())
}

/// Reads a name; none where it is not of a known form.
fn parse(name: &str) -> Option<Wanted> {
    let name = name.trim().to_ascii_lowercase();
    let (kind, number) = match name.split_once(':') {
        Some((kind, number)) => (kind, Some(number.parse().ok()?)),
        None => (name.as_str(), None),
    };
    match (kind, number) {
        ("cuda", number) => Some(Wanted::Cuda(number.unwrap_or(0))),
        ("opencl", number) => Some(Wanted::OpenCl(number.unwrap_or(0))),
        ("host", None) => Some(Wanted::Host),
        _ => None,
    }
}

/// An OpenCL device that was found.
struct OpenClDevice {
    is_gpu: bool,
    description: String,
}

#[cfg(feature = "cuda")]
fn cuda_devices() -> (Vec<String>, Vec<String>) {
    super::cuda::candidates()
}

#[cfg(not(feature = "cuda"))]
fn cuda_devices() -> (Vec<String>, Vec<String>) {
    (Vec::new(), vec![built_without("CUDA", "cuda")])
}

/// Why kernels cannot be compiled for CUDA devices, if so. Loads the compiler.
#[cfg(feature = "cuda")]
fn cuda_compiler_absent() -> Option<String> {
    super::cuda::compiler_absent()
}

#[cfg(not(feature = "cuda"))]
fn cuda_compiler_absent() -> Option<String> {
    None
}

#[cfg(feature = "cuda")]
fn open_cuda(index: usize, binaries: &Binaries) -> Result<Arc<dyn Runtime>> {
    Ok(Arc::new(super::cuda::CudaRuntime::open(index, binaries.clone())?))
}

#[cfg(not(feature = "cuda"))]
fn open_cuda(index: usize, _binaries: &Binaries) -> Result<Arc<dyn Runtime>> {
    Err(Error::DeviceNotFound { name: format!("cuda:{index}"), looked_for: vec![built_without("CUDA", "cuda")] })
}

#[cfg(feature = "opencl")]
fn opencl_devices() -> (Vec<OpenClDevice>, Vec<String>) {
    use super::opencl::{Class, candidates};
    let (candidates, absent) = candidates();
    let devices = candidates
        .into_iter()
        .map(|device| OpenClDevice { is_gpu: device.class == Class::Gpu, description: device.description })
        .collect();
    (devices, absent)
}

#[cfg(not(feature = "opencl"))]
fn opencl_devices() -> (Vec<OpenClDevice>, Vec<String>) {
    (Vec::new(), vec![built_without("OpenCL", "opencl")])
}

#[cfg(feature = "opencl")]
fn open_opencl(index: usize, binaries: &Binaries) -> Result<Arc<dyn Runtime>> {
    Ok(Arc::new(super::opencl::OpenClRuntime::open(index, binaries.clone())?))
}

#[cfg(not(feature = "opencl"))]
fn open_opencl(index: usize, _binaries: &Binaries) -> Result<Arc<dyn Runtime>> {
    Err(Error::DeviceNotFound { name: format!("opencl:{index}"), looked_for: vec![built_without("OpenCL", "opencl")] })
}

#[cfg(not(all(feature = "cuda", feature = "opencl")))]
fn built_without(what: &str, feature: &str) -> String {
    format!("{what}: built without the feature {feature}")
}

fn open_host() -> Result<Arc<dyn Runtime>> {
    Ok(Arc::new(super::host::HostRuntime::new()))
}

fn host_description() -> String {
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    format!("the host CPU, {threads} threads")
}

#[cfg(test)]
mod tests {
    //! What is found depends on the machine; the forms of names and of answers do not.

    use super::*;

    fn refused(name: &str) -> (String, String) {
        match open(name, &None).map(drop).unwrap_err() {
            Error::DeviceNotFound { name, looked_for } => (name, looked_for.join("\n")),
            error => panic!("{error}"),
        }
    }

    #[test]
    fn names_are_read_in_either_case() {
        assert_eq!(parse("cuda"), Some(Wanted::Cuda(0)));
        assert_eq!(parse("CUDA:3"), Some(Wanted::Cuda(3)));
        assert_eq!(parse(" OpenCL:12 "), Some(Wanted::OpenCl(12)));
        assert_eq!(parse("opencl"), Some(Wanted::OpenCl(0)));
        assert_eq!(parse("Host"), Some(Wanted::Host));
        for wrong in ["", "abacus", "cuda:", "cuda:-1", "cuda:0:1", "host:0", "cuda0", "opencl:99999999999999999999"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_forms_and_what_there_is() {
        let (name, looked_for) = refused("abacus");
        assert_eq!(name, "abacus");
        assert!(looked_for.contains("cuda:N") && looked_for.contains("host is the host CPU"), "{looked_for}");
    }

    #[test]
    fn a_number_too_high_is_answered_with_what_was_looked_for() {
        let (name, looked_for) = refused("opencl:99");
        assert_eq!(name, "opencl:99");
        assert!(looked_for.to_lowercase().contains("opencl"), "{looked_for}");
        let (name, looked_for) = refused("cuda:99");
        assert_eq!(name, "cuda:99");
        assert!(!looked_for.is_empty());
    }

    #[test]
    fn the_host_is_always_found_and_opens() {
        let survey = survey();
        println!("{survey:#?}");
        assert_eq!(survey.found.last().map(|found| found.name.as_str()), Some("host"));
        assert_eq!(open("HOST", &None).unwrap().0, "host");
        if !cfg!(feature = "cuda") {
            assert!(survey.absent.contains(&"CUDA: built without the feature cuda".into()));
        }
        if !cfg!(feature = "opencl") {
            assert!(survey.absent.contains(&"OpenCL: built without the feature opencl".into()));
        }
    }

    #[test]
    fn every_device_that_is_found_runs_a_kernel() {
        for found in survey().found {
            match open(&found.name, &None) {
                Ok((name, runtime)) => {
                    assert_eq!(name, found.name);
                    match probe(&*runtime) {
                        Err(error @ Error::Unsupported { .. }) => println!("SKIP {}: {error}", found.name),
                        outcome => outcome.unwrap(),
                    }
                }
                Err(error) => println!("SKIP {}: {error}", found.name),
            }
        }
    }

    #[test]
    fn auto_says_why_it_passed_devices_over() {
        let (name, runtime, passed_over) = open_auto(&None).unwrap();
        println!("{name} {} {passed_over:#?}", runtime.facts().name);
        if !name.starts_with("cuda") {
            assert!(passed_over.iter().any(|line| line.to_lowercase().contains("cuda")), "{passed_over:?}");
        }
        if name == "host" {
            assert!(passed_over.iter().any(|line| line.to_lowercase().contains("opencl")), "{passed_over:?}");
        }
    }

    /// Case C59. The loader reads its folder of vendors once, so the search runs in a process of its own.
    #[cfg(all(target_os = "linux", feature = "opencl"))]
    #[test]
    fn an_empty_folder_of_vendors_leaves_the_host_and_a_reason() {
        const INNER: &str = "LAZULI_TEST_NO_VENDOR";
        if std::env::var_os(INNER).is_some() {
            let survey = survey();
            assert!(!survey.found.iter().any(|found| found.name.starts_with("opencl")), "{survey:?}");
            assert!(survey.absent.iter().any(|line| line.contains("OpenCL")), "{survey:?}");
            let (_, looked_for) = refused("opencl");
            println!("{looked_for}");
            assert!(looked_for.contains("OCL_ICD_VENDORS") || looked_for.contains("OPENCL_DYLIB_PATH"), "{looked_for}");
            assert!(open_auto(&None).is_ok());
            return;
        }
        let folder = std::env::temp_dir().join(format!("lazuli-no-vendor-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let test = "runtime::discover::tests::an_empty_folder_of_vendors_leaves_the_host_and_a_reason";
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(INNER, "1")
            .env("OCL_ICD_VENDORS", &folder)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        std::fs::remove_dir(&folder).unwrap();
    }
}
