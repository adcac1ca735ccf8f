//! Finding libcuda and NVRTC before cudarc asks for them.
//!
//! cudarc loads a library at its first call, by a list of plain names, and panics where none loads. So each is looked for
//! here first; one that lies in a folder the system's loader does not search is loaded by its full path and kept, after
//! which the plain name finds it. NVRTC loads a second library by plain name, its builtins, which gets the same treatment.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cudarc::{driver, nvrtc};

/// Folders of libcuda that containers and WSL use without telling the loader.
const DRIVER_FOLDERS: [&str; 4] =
    ["/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/wsl/lib", "/run/opengl-driver/lib"];
/// Where a toolkit keeps its libraries, below its root.
const TOOLKIT_FOLDERS: [&str; 4] = ["lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"];
/// Versions of NVRTC, in order of preference. cudarc asks for these names; that of version 11 is spelled otherwise in the
/// library itself, so that preloading it would not help.
const NVRTC_NAMES: [&str; 2] = ["libnvrtc.so.13", "libnvrtc.so.12"];

/// Makes sure that libcuda is loaded, or says what was tried.
pub(super) fn require_driver() -> Result<(), String> {
    static FOUND: OnceLock<Result<(), String>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            if driver_loads() {
                return Ok(());
            }
            for folder in DRIVER_FOLDERS {
                if preload(&Path::new(folder).join("libcuda.so.1")) && driver_loads() {
                    return Ok(());
                }
            }
            let folders = DRIVER_FOLDERS.join(", ");
            Err(format!(
                "CUDA: the driver's library cannot be loaded (tried libcuda.so, libcuda.so.1; also in {folders})"
            ))
        })
        .clone()
}

/// Makes sure that NVRTC is loaded, or says what was tried.
pub(super) fn require_nvrtc() -> Result<(), String> {
    static FOUND: OnceLock<Result<(), String>> = OnceLock::new();
    FOUND.get_or_init(find_nvrtc).clone()
}

/// Where the NVRTC lies that this process has loaded, if the system says so.
#[cfg(target_os = "linux")]
pub(super) fn nvrtc_path() -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let mut paths = maps.lines().filter_map(|line| Some(&line[line.find('/')?..]));
    let is_nvrtc = |path: &&str| {
        Path::new(path)
            .file_name()
            .is_some_and(|name| name.to_str().is_some_and(|name| name.starts_with("libnvrtc.so")))
    };
    paths.find(is_nvrtc).map(PathBuf::from)
}

/// Elsewhere it is not known.
#[cfg(not(target_os = "linux"))]
pub(super) fn nvrtc_path() -> Option<PathBuf> {
    None
}

fn find_nvrtc() -> Result<(), String> {
    // A folder that the user names comes before whatever the system has.
    if let Some(folder) = env::var_os("LAZULI_NVRTC_DIR") {
        preload_nvrtc(Path::new(&folder));
    }
    if nvrtc_loads() {
        return Ok(());
    }
    let folders = nvrtc_folders();
    if folders.iter().any(|folder| preload_nvrtc(folder) && nvrtc_loads()) {
        return Ok(());
    }
    let names = NVRTC_NAMES.join(", ");
    let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let folders = if folders.is_empty() { "nowhere else".into() } else { folders.join(", ") };
    Err(format!(
        "CUDA: the compiler NVRTC cannot be loaded (tried libnvrtc.so, {names} by name and in {folders}); \
         `pip install nvidia-cuda-nvrtc` brings it, and LAZULI_NVRTC_DIR may name its folder"
    ))
}

fn driver_loads() -> bool {
    // SAFETY: it opens and closes the driver's library, whose constructors are as trustworthy as the driver.
    unsafe { driver::sys::is_culib_present() }
}

fn nvrtc_loads() -> bool {
    // SAFETY: it opens and closes NVRTC, as above.
    unsafe { nvrtc::sys::is_culib_present() }
}

/// Where the headers of CUDA lie (`cuda_fp16.h` and others), if a toolkit is installed.
pub(super) fn header_folder() -> Option<PathBuf> {
    let folders = ["include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"];
    let mut all = toolkit_roots().into_iter().flat_map(|root| folders.map(|folder| root.join(folder)));
    all.find(|folder| folder.join("cuda_fp16.h").is_file())
}

/// Where toolkits may be installed: the one that the environment names first.
fn toolkit_roots() -> Vec<PathBuf> {
    let mut toolkits: Vec<PathBuf> = ["CUDA_PATH", "CUDA_HOME"]
        .iter()
        .filter_map(env::var_os)
        .filter(|root| !root.is_empty())
        .map(Into::into)
        .collect();
    toolkits.push("/usr/local/cuda".into());
    toolkits.extend(children(Path::new("/usr/local"), |name| name.starts_with("cuda-")));
    toolkits.push("/opt/cuda".into());
    toolkits
}

/// Existing folders that may hold NVRTC: toolkits first, then the wheels of Python environments.
fn nvrtc_folders() -> Vec<PathBuf> {
    let toolkits = toolkit_roots();
    let toolkits = toolkits.iter().flat_map(|root| TOOLKIT_FOLDERS.map(|folder| root.join(folder)));

    let mut packages = Vec::new();
    for root in ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(env::var_os).map(PathBuf::from) {
        packages.extend(python_packages(&root.join("lib")));
    }
    if let Some(path) = env::var_os("PYTHONPATH") {
        packages.extend(env::split_paths(&path).filter(|entry| !entry.as_os_str().is_empty()));
    }
    if let Some(home) = env::var_os("HOME") {
        packages.extend(python_packages(&Path::new(&home).join(".local/lib")));
    }
    for lib in ["/usr/local/lib", "/usr/lib", "/opt/conda/lib"] {
        packages.extend(python_packages(Path::new(lib)));
    }
    let wheels = packages
        .iter()
        .flat_map(|packages| children(&packages.join("nvidia"), |_| true))
        .map(|package| package.join("lib"));

    let mut folders: Vec<PathBuf> = toolkits.chain(wheels).filter(|folder| folder.is_dir()).collect();
    let mut seen = std::collections::HashSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    folders
}

/// The folders of packages below a `lib` folder with `python3.11` and the like in it.
fn python_packages(lib: &Path) -> impl Iterator<Item = PathBuf> {
    children(lib, |name| name.starts_with("python3"))
        .into_iter()
        .flat_map(|python| ["site-packages", "dist-packages"].map(|packages| python.join(packages)))
}

/// What lies in a folder under a name that fits, last name first, so that newer versions come first.
fn children(folder: &Path, fits: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok())
        .filter(|entry| entry.file_name().to_str().is_some_and(&fits))
        .map(|entry| entry.path())
        .collect();
    paths.sort_unstable_by(|a, b| b.cmp(a));
    paths
}

/// Loads NVRTC and its builtins from a folder; true where NVRTC was loaded.
fn preload_nvrtc(folder: &Path) -> bool {
    for name in NVRTC_NAMES {
        let library = folder.join(name);
        if !library.is_file() {
            continue;
        }
        // The builtins carry the minor version too (`libnvrtc-builtins.so.13.0`), and NVRTC asks for exactly its own.
        let version = name.trim_start_matches("libnvrtc");
        let builtins = children(folder, |file| {
            file.strip_prefix("libnvrtc-builtins").is_some_and(|rest| {
                rest.strip_prefix(version).is_some_and(|minor| minor.is_empty() || minor.starts_with('.'))
            })
        });
        for builtins in builtins {
            preload(&builtins);
        }
        if preload(&library) {
            return true;
        }
    }
    false
}

/// Loads a library by its full path and keeps it to the end of the process; true where that worked.
#[cfg(target_os = "linux")]
fn preload(path: &Path) -> bool {
    use std::ffi::{CString, c_char, c_int, c_void};
    use std::os::unix::ffi::OsStrExt;

    const RTLD_NOW: c_int = 0x2;
    const RTLD_GLOBAL: c_int = 0x100;
    unsafe extern "C" {
        fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    }

    if !path.is_file() {
        return false;
    }
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the name is a C string. Loading runs the library's constructors; it is the library that cudarc would load,
    // from a folder of the system's, the user's or their Python's.
    let handle = unsafe { dlopen(name.as_ptr(), RTLD_NOW | RTLD_GLOBAL) };
    tracing::debug!(path = %path.display(), loaded = !handle.is_null(), "preload");
    !handle.is_null()
}

/// Elsewhere the system's own search has to do.
#[cfg(not(target_os = "linux"))]
fn preload(_path: &Path) -> bool {
    false
}
