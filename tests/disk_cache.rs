//! Compiled kernels on disk, across processes: case C45, and what a second process finds.
//!
//! The folders are named by environment variables, so that every evaluation runs in a process of its own: this binary with
//! [`inner`] alone. PoCL's cache of its own is pointed at a folder of the test too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use lazuli::{Array, Config, Device};
use ndarray::array;

const DEVICE: &str = "LAZULI_TEST_DISK_DEVICE";
/// The graphs of case C45.
const GRAPHS: u64 = 20;
/// Fewer, where it is not about them.
const FEW: u64 = 5;
const GRAPHS_SETTING: &str = "LAZULI_TEST_DISK_GRAPHS";

/// A folder of a test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lazuli-{}-{}", name.replace(':', "-"), std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Where the kernels are kept.
    fn kernels(&self) -> PathBuf {
        self.0.join("kernels")
    }

    /// The entries that are kept.
    fn entries(&self) -> Vec<PathBuf> {
        let mut entries: Vec<_> = fs::read_dir(self.kernels()).unwrap().map(|file| file.unwrap().path()).collect();
        entries.sort_unstable();
        entries
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The devices that compile and are there.
fn devices() -> Vec<String> {
    let found: Vec<String> = Device::list().into_iter().map(|info| info.name).collect();
    let (there, gone): (Vec<_>, Vec<_>) = ["opencl:0", "cuda:0"].into_iter().partition(|name| {
        let named = |found: &String| found == name;
        found.iter().any(named)
    });
    for name in gone {
        println!("SKIP {name}: {}", Device::absent().join("; "));
    }
    there.into_iter().map(String::from).collect()
}

/// Starts a process that evaluates the graphs, with its kernels in one folder and PoCL's cache in another.
fn start(device: &str, kernels: &Path, pocl: &Path, settings: &[(&str, &str)]) -> Child {
    fs::create_dir_all(pocl).unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "inner", "--ignored", "--nocapture"])
        .env(DEVICE, device)
        .env("LAZULI_CACHE_DIR", kernels)
        .env("POCL_CACHE_DIR", pocl)
        .env_remove("LAZULI_CACHE")
        .env_remove("LAZULI_CACHE_BYTES")
        .envs(settings.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for a process, which must have had the right values. Gives its compiles and its disk hits.
fn finish(process: Child) -> (u64, u64) {
    let output = process.wait_with_output().unwrap();
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{}\n{said}\n{complained}", output.status);
    let counted = |name: &str| {
        let number = said.split_whitespace().find_map(|word| word.strip_prefix(name));
        number.unwrap_or_else(|| panic!("{said}")).parse().unwrap()
    };
    (counted("compiles="), counted("disk_hits="))
}

fn run(device: &str, folder: &Folder, settings: &[(&str, &str)]) -> (u64, u64) {
    finish(start(device, &folder.kernels(), &folder.0.join("pocl"), settings))
}

fn run_few(device: &str, folder: &Folder, setting: (&str, &str)) -> (u64, u64) {
    run(device, folder, &[(GRAPHS_SETTING, &FEW.to_string()), setting])
}

/// Evaluates the graphs of case C45, or the first few. Run by the tests below, in processes of its own.
#[test]
#[ignore = "run by the other tests, in a process of its own"]
fn inner() {
    let Ok(name) = std::env::var(DEVICE) else { return };
    let disk = std::env::var("LAZULI_TEST_DISK_OFF").is_err();
    let start = std::time::Instant::now();
    let device = Device::open(&name, Config::default().with_disk_cache(disk)).unwrap();
    let opened = start.elapsed();
    let mut first = None;
    let graphs = std::env::var(GRAPHS_SETTING).map_or(GRAPHS, |number| number.parse().unwrap());
    for k in 0..graphs {
        let mut graph: Array<f32> = &device.arange(0.0f32, 4.0, 1.0) * 19.0 + 19.0;
        for _ in 0..2 * k {
            graph = -graph;
        }
        assert_eq!(graph.get().unwrap(), array![19.0, 38.0, 57.0, 76.0].into_dyn(), "graph {k}");
        first.get_or_insert_with(|| start.elapsed());
    }
    let counters = device.counters();
    println!("compiles={} disk_hits={}", counters.compiles, counters.disk_hits);
    println!("open {opened:?}, first value after {:?}, all after {:?}", first.unwrap_or_default(), start.elapsed());
}

#[test]
fn case_c45_two_processes_fill_one_cache_and_damage_is_repaired() {
    for device in devices() {
        let folder = Folder::new(&format!("c45-{device}"));
        let both =
            [0, 1].map(|number| start(&device, &folder.kernels(), &folder.0.join(format!("pocl-{number}")), &[]));
        for (compiles, hits) in both.map(finish) {
            assert_eq!(compiles + hits, GRAPHS, "{device}");
        }
        // A process that comes later compiles nothing, whatever PoCL remembers.
        assert_eq!(finish(start(&device, &folder.kernels(), &folder.0.join("pocl-2"), &[])), (0, GRAPHS), "{device}");

        let entries = folder.entries();
        assert!(entries.len() as u64 >= GRAPHS, "{device}: {entries:?}");
        // Every entry takes one kind of damage after another, so that each kind meets kernels on any device.
        type Damage = fn(Vec<u8>) -> Vec<u8>;
        let kinds: [(&str, Damage); 4] = [
            ("cut to half", |bytes| bytes[..bytes.len() / 2].to_vec()),
            ("cut to nothing", |_| Vec::new()),
            ("a byte flipped", |mut bytes| {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 0x10;
                bytes
            }),
            ("another format", |bytes| bytes.iter().rev().copied().collect()),
        ];
        for (kind, damage) in kinds {
            let damaged = folder.entries();
            let damaged: Vec<_> = damaged.iter().step_by(2).collect();
            for path in &damaged {
                fs::write(path, damage(fs::read(path).unwrap())).unwrap();
            }
            let (compiles, hits) = run(&device, &folder, &[]);
            assert_eq!(compiles + hits, GRAPHS, "{device}, {kind}");
            assert!(compiles > 0 && compiles <= damaged.len() as u64, "{device}, {kind}: {compiles} compiled");
            assert_eq!(run(&device, &folder, &[]), (0, GRAPHS), "{device}, {kind}: repaired");
        }
    }
}

/// Root may write anywhere, so the folder is one that cannot be made; and, for others, one that may only be read.
#[test]
fn case_c45_a_folder_that_cannot_be_written_is_no_error() {
    for device in devices() {
        let folder = Folder::new(&format!("c45-read-only-{device}"));
        let file = folder.0.join("file");
        fs::write(&file, "no folder").unwrap();
        for below in [file.join("below"), file.clone(), "/proc/lazuli".into()] {
            let process = start(&device, &below, &folder.0.join("pocl"), &[]);
            assert_eq!(finish(process), (GRAPHS, 0), "{device}, {}", below.display());
        }
        assert_eq!(fs::read(&file).unwrap(), b"no folder");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let set = |mode| fs::set_permissions(folder.kernels(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(run(&device, &folder, &[]), (GRAPHS, 0));
            fs::remove_file(&folder.entries()[0]).unwrap();
            set(0o500);
            // What is there is read; what is missing is compiled.
            let (compiles, hits) = run(&device, &folder, &[]);
            assert_eq!(compiles + hits, GRAPHS, "{device}");
            assert!(compiles <= 1, "{device}: {compiles} compiled");
            set(0o777);
            assert_eq!(run(&device, &folder, &[]), (GRAPHS, 0), "{device}: everybody may write there");
        }
    }
}

#[test]
fn the_cache_is_turned_off_by_the_environment_and_by_the_settings() {
    for device in devices() {
        let folder = Folder::new(&format!("off-{device}"));
        for setting in [("LAZULI_CACHE", "off"), ("LAZULI_TEST_DISK_OFF", "1")] {
            assert_eq!(run_few(&device, &folder, setting), (FEW, 0), "{device}, {setting:?}");
            assert!(!folder.kernels().exists(), "{device}, {setting:?}");
        }
    }
}

#[test]
fn the_cache_keeps_to_its_bound() {
    for device in devices() {
        let folder = Folder::new(&format!("bound-{device}"));
        run_few(&device, &folder, ("LAZULI_CACHE_BYTES", "1000000"));
        let bytes = |folder: &Folder| folder.entries().iter().map(|path| path.metadata().unwrap().len()).sum::<u64>();
        let whole = bytes(&folder);
        fs::remove_dir_all(folder.kernels()).unwrap();
        let most = (whole / 2).to_string();
        for _ in 0..2 {
            run_few(&device, &folder, ("LAZULI_CACHE_BYTES", &most));
            assert!(bytes(&folder) <= whole / 2, "{device}: {} of {most} bytes", bytes(&folder));
        }
    }
}

/// A kernel that memory has dropped comes back from disk, and counts as what it is.
#[test]
fn the_host_keeps_nothing_on_disk_and_counts_compiles() {
    let device = Device::open("host", Config::default().with_kernel_cache(1).with_plan_cache(1)).unwrap();
    let x = device.arange(0.0f32, 4.0, 1.0);
    for _ in 0..2 {
        (&x + 1.0).eval().unwrap();
        (&x * 2.0).eval().unwrap();
    }
    assert_eq!(device.counters().disk_hits, 0);
    assert!(device.counters().compiles >= 4);
}
