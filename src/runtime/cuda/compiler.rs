//! From source to kernel: by the store of binaries where it can, else by NVRTC, which is loaded only then.

use std::env;
use std::fmt;
use std::os::raw::c_int;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use super::device::{Properties, dotted};
use super::handles::Handles;
use super::libraries;
use super::nvrtc::{self, Release, Target};
use super::program::{CudaExecutable, SourceText};
use super::raw_module::CudaModule;
use crate::cache::disk::{DiskStore, key_of};
use crate::error::{Error, Result};
use crate::runtime::Binaries;
use crate::runtime::explicit::ModuleOptions;

/// Variables by which a process may find another NVRTC than the last one did.
const PLACES: [&str; 8] = [
    "LAZULI_NVRTC_DIR",
    "LD_LIBRARY_PATH",
    "CUDA_PATH",
    "CUDA_HOME",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYTHONPATH",
    "HOME",
];

/// The compiler of one device.
pub(super) struct Compiler {
    architecture: u32,
    driver: i32,
    binaries: Binaries,
    /// What the last process found, while its NVRTC still lies there unchanged.
    remembered: Option<Release>,
    /// What this process found when it first had to compile, or why it found nothing.
    loaded: OnceLock<Result<Release, String>>,
}

impl Compiler {
    pub(super) fn new(properties: &Properties, binaries: Binaries) -> Self {
        let remembered = binaries.as_deref().and_then(recall);
        Self {
            architecture: properties.architecture,
            driver: properties.driver,
            binaries,
            remembered,
            loaded: OnceLock::new(),
        }
    }

    /// Compiler, target and driver, such as `NVRTC 13.0 --gpu-architecture=sm_90, driver 13.0`.
    pub(super) fn describe(&self) -> String {
        let release = self.remembered.as_ref().map_or_else(|| self.loaded(), Ok);
        let driver = dotted(self.driver);
        match release {
            Ok(release) => format!("{release} {}, driver {driver}", self.target(release).option()),
            Err(why) => format!("{why}, driver {driver}"),
        }
    }

    /// Takes a kernel from the store, else compiles its source and keeps what that gave.
    /// Errors: `Compile` with the log, the options and the source; `Unsupported` where NVRTC is missing; `Driver`.
    pub(super) fn make(&self, handles: &Arc<Handles>, source: SourceText, contraction: bool) -> Result<CudaExecutable> {
        if let Some(kept) =
            self.remembered.as_ref().and_then(|release| self.kept(handles, &source, release, contraction))
        {
            return Ok(kept);
        }
        let release = self.loaded().map_err(|why| Error::Unsupported {
            device: handles.name.clone(),
            what: format!("compiling kernels: {why}"),
        })?;
        if self.remembered.as_ref() != Some(release)
            && let Some(kept) = self.kept(handles, &source, release, contraction)
        {
            return Ok(kept);
        }
        let target = self.target(release);
        let image =
            nvrtc::compile(source.text, source.entry, &target, contraction).map_err(|failure| Error::Compile {
                device: handles.name.clone(),
                kernel: source.name.into(),
                options: failure.options,
                log: failure.log,
                source_text: source.text.into(),
            })?;
        let made = CudaExecutable::load(handles, &source, &image, false)?;
        if let Some(binaries) = &self.binaries {
            binaries.put(&self.key(&source, release, contraction), &image);
        }
        Ok(made)
    }

    /// Takes a module of the caller's from the store, else compiles its source.
    /// Errors: `Compile` with the log, the options and the source; `Unsupported` where NVRTC is missing; `Driver`.
    pub(super) fn module(&self, handles: &Arc<Handles>, source: &str, asked: &ModuleOptions) -> Result<CudaModule> {
        let expressions = &asked.name_expressions;
        let kept = |release: &Release| {
            let (binaries, key) = (self.binaries.as_ref()?, self.module_key(source, asked, release)?);
            let (image, names) = (binaries.get(&key)?, binaries.get(&names_key(&key))?);
            let names = String::from_utf8(names).ok()?;
            let names: Vec<&str> = names.lines().collect();
            if names.len() != expressions.len() {
                return None;
            }
            let lowered = expressions.iter().cloned().zip(names.into_iter().map(String::from)).collect();
            CudaModule::load(handles, asked, Some(source), image, lowered, true)
                .inspect_err(|error| tracing::debug!(module = asked.name, %error, "a stored binary was refused"))
                .ok()
        };
        if let Some(kept) = self.remembered.as_ref().and_then(kept) {
            return Ok(kept);
        }
        let release = self.loaded().map_err(|why| Error::Unsupported {
            device: handles.name.clone(),
            what: format!("compiling modules: {why}"),
        })?;
        if self.remembered.as_ref() != Some(release)
            && let Some(kept) = kept(release)
        {
            return Ok(kept);
        }
        let (options, machine_code) = self.module_options(source, asked, release);
        let compiled = nvrtc::compile_with(source, &asked.name, &options, machine_code, expressions);
        let compiled = compiled.map_err(|failure| Error::Compile {
            device: handles.name.clone(),
            kernel: asked.name.clone(),
            options: failure.options,
            log: failure.log,
            source_text: source.into(),
        })?;
        if let (Some(binaries), Some(key)) = (&self.binaries, self.module_key(source, asked, release)) {
            binaries.put(&key, &compiled.image);
            binaries.put(&names_key(&key), compiled.lowered.join("\n").as_bytes());
        }
        let lowered = expressions.iter().cloned().zip(compiled.lowered).collect();
        CudaModule::load(handles, asked, Some(source), compiled.image, lowered, false)
    }

    /// The options of a module, and whether they ask for machine code: the device's architecture unless the caller names one, and
    /// the toolkit's headers, after all folders that the caller names, for a source that includes something.
    fn module_options(&self, source: &str, asked: &ModuleOptions, release: &Release) -> (Vec<String>, bool) {
        const NAMES: [&str; 2] = ["--gpu-architecture", "-arch"];
        let headers = source.contains("include").then(libraries::header_folder).flatten();
        let headers = headers.map(|folder| format!("--include-path={}", folder.display()));
        let given = || asked.options.iter().cloned().chain(headers.clone());
        let mut words = asked.options.iter();
        while let Some(word) = words.next() {
            if let Some(rest) = NAMES.iter().find_map(|name| word.strip_prefix(name)) {
                let value = rest.strip_prefix('=').or_else(|| words.next().map(String::as_str));
                return (given().collect(), value.is_some_and(|value| value.starts_with("sm_")));
            }
        }
        let target = self.target(release);
        let options = std::iter::once(target.option().to_owned()).chain(given()).collect();
        (options, target.gives_machine_code())
    }

    /// Everything that the code of a module depends on; none where it is not to be kept.
    fn module_key(&self, source: &str, asked: &ModuleOptions, release: &Release) -> Option<Vec<u8>> {
        let compiler = format!("{release}, driver {}, sm_{}", self.driver, self.architecture);
        let (options, version) = (self.module_options(source, asked, release).0, env!("CARGO_PKG_VERSION"));
        let (options, expressions) = (options.join("\0"), asked.name_expressions.join("\0"));
        let parts = ["cuda module", version, &compiler, &options, &expressions, &asked.name, source].map(str::as_bytes);
        Some(key_of(&[&parts[..], &[asked.kept_under.as_deref()?]].concat()))
    }

    /// The kernel, if the store has it as compiled by this release and the driver takes it.
    fn kept(
        &self,
        handles: &Arc<Handles>,
        source: &SourceText,
        release: &Release,
        contraction: bool,
    ) -> Option<CudaExecutable> {
        let image = self.binaries.as_ref()?.get(&self.key(source, release, contraction))?;
        if !self.target(release).fits(&image) {
            return None;
        }
        match CudaExecutable::load(handles, source, &image, true) {
            Ok(kept) => Some(kept),
            Err(error) => {
                tracing::debug!(kernel = source.name, %error, "a stored binary was refused");
                None
            }
        }
    }

    /// Everything that the code depends on. The generator's version is this crate's.
    fn key(&self, source: &SourceText, release: &Release, contraction: bool) -> Vec<u8> {
        let compiler = format!("{release}, driver {}, sm_{}", self.driver, self.architecture);
        let options = self.target(release).options(contraction).join(" ");
        let version = env!("CARGO_PKG_VERSION");
        key_of(&["cuda", version, &compiler, &options, source.entry, source.text].map(str::as_bytes))
    }

    fn target(&self, release: &Release) -> Target {
        Target::new(release, self.architecture)
    }

    /// This process's NVRTC, loaded now if it was not; else why not.
    fn loaded(&self) -> Result<&Release, &str> {
        let load = || {
            libraries::require_nvrtc()?;
            let release = Release::loaded();
            if let Some(binaries) = &self.binaries
                && self.remembered.as_ref() != Some(&release)
            {
                remember(binaries, &release);
            }
            Ok(release)
        };
        self.loaded.get_or_init(load).as_ref().map_err(String::as_str)
    }
}

/// Where the names of functions are kept beside the code under a key.
fn names_key(key: &[u8]) -> Vec<u8> {
    key_of(&[b"names", key])
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NVRTC {}.{}", self.version.0, self.version.1)
    }
}

/// The release that was remembered, if its library still lies where it lay, unchanged. It names the compiler of the kernels
/// in the store; a process that compiles asks its own NVRTC, so that no kernel is ever kept under another's name.
fn recall(binaries: &DiskStore) -> Option<Release> {
    read_note(&String::from_utf8(binaries.get(&note_key())?).ok()?)
}

fn remember(binaries: &DiskStore, release: &Release) {
    match libraries::nvrtc_path().and_then(|path| note(&path, release)) {
        Some(note) => binaries.put(&note_key(), note.as_bytes()),
        None => tracing::debug!("where NVRTC lies is not known, so that it will be loaded again next time"),
    }
}

/// The places where NVRTC is looked for decide which one is found.
fn note_key() -> Vec<u8> {
    let places = PLACES.map(|name| env::var_os(name).unwrap_or_default().into_encoded_bytes());
    let mut parts: Vec<&[u8]> = vec![b"nvrtc", env!("CARGO_PKG_VERSION").as_bytes()];
    parts.extend(places.iter().map(Vec::as_slice));
    key_of(&parts)
}

/// Path, stamp, version and architectures, a line each.
fn note(path: &Path, release: &Release) -> Option<String> {
    let architectures: Vec<String> = release.architectures.iter().map(u32::to_string).collect();
    let (major, minor) = release.version;
    Some(format!("{}\n{}\n{major}.{minor}\n{}", path.to_str()?, stamp(path)?, architectures.join(" ")))
}

fn read_note(note: &str) -> Option<Release> {
    let mut lines = note.split('\n');
    let path = PathBuf::from(lines.next()?);
    if lines.next()? != stamp(&path)? {
        return None;
    }
    let (major, minor) = lines.next()?.split_once('.')?;
    let version: (c_int, c_int) = (major.parse().ok()?, minor.parse().ok()?);
    let architectures = lines.next()?.split_whitespace().map(|number| number.parse().ok()).collect::<Option<_>>()?;
    Some(Release { version, architectures })
}

/// Changes with the file: its size and time.
fn stamp(path: &Path) -> Option<String> {
    let found = path.metadata().ok()?;
    let age = found.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(format!("{} {}", found.len(), age.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_holds_while_its_library_is_unchanged() {
        let path = env::temp_dir().join(format!("lazuli-note-{}", std::process::id()));
        std::fs::write(&path, "a library").unwrap();
        for architectures in [vec![75, 90, 120], vec![]] {
            let release = Release { version: (13, 0), architectures };
            assert_eq!(read_note(&note(&path, &release).unwrap()), Some(release));
        }
        let old = note(&path, &Release { version: (13, 0), architectures: vec![90] }).unwrap();
        for damaged in [&old[..old.len() / 2], "", "\n\n\n", &old.replace(".0\n", "\n")] {
            assert_eq!(read_note(damaged), None, "{damaged:?}");
        }
        std::fs::write(&path, "another library").unwrap();
        assert_eq!(read_note(&old), None);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read_note(&old), None);
    }
}
