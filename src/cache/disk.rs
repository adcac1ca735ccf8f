//! Compiled binaries kept on disk, for the next process. Knows bytes only.
//!
//! Each entry is a file of its own whose name is the hash of its key. It holds the key, compared whole, and a checksum over
//! everything; whatever does not fit is as good as missing. Files are written under another name and renamed, so that
//! readers and writers of any number of processes see whole entries only. The folder belongs to its user alone: what comes
//! out of it is run as code. No trouble with the disk is an error; it is told by `tracing::debug`, and the binary is made
//! again.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Names the folder, in place of the user's own.
const FOLDER: &str = "LAZULI_CACHE_DIR";
/// `off` turns the store off.
const SWITCH: &str = "LAZULI_CACHE";
/// How many bytes the entries may have in all.
const BYTES: &str = "LAZULI_CACHE_BYTES";

const DEFAULT_BYTES: u64 = 256 << 20;
/// The start of every entry: what it is, and in which version of this layout.
const MAGIC: &[u8; 12] = b"lazuli\0bin\0\x01";
/// Magic, length of the key, length of the payload.
const HEADER: usize = MAGIC.len() + 2 * size_of::<u64>();
const CHECKSUM: usize = blake3::OUT_LEN;
/// What the names of entries end in, after the 64 digits of the hash.
const ENDING: &str = ".lazuli";
/// What the names of files begin with that are not whole yet.
const UNFINISHED: &str = ".lazuli-";
/// An unfinished file as old as this has lost its writer.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A folder of entries, bounded by their bytes. Keys and payloads are any bytes.
#[derive(Debug)]
pub struct DiskStore {
    folder: PathBuf,
    most_bytes: u64,
    /// Bytes written since the folder was last looked through.
    unswept: AtomicU64,
}

impl DiskStore {
    /// The user's store: `LAZULI_CACHE_DIR`, else `lazuli` in `XDG_CACHE_HOME` or in `~/.cache`. None where it is turned
    /// off, or where there is no such folder to name.
    pub fn of_user() -> Option<DiskStore> {
        let switch = std::env::var(SWITCH).unwrap_or_default().trim().to_ascii_lowercase();
        if matches!(switch.as_str(), "off" | "0" | "false" | "no") {
            return None;
        }
        let path = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let folder = path(FOLDER).or_else(|| {
            // A relative one is to be ignored, says the XDG specification.
            let caches = path("XDG_CACHE_HOME").filter(|path| path.is_absolute());
            Some(caches.or_else(|| path("HOME").map(|home| home.join(".cache")))?.join("lazuli"))
        });
        let Some(folder) = folder else {
            tracing::debug!("no store of compiled kernels: neither {FOLDER} nor XDG_CACHE_HOME nor HOME is set");
            return None;
        };
        let most_bytes = match std::env::var(BYTES) {
            Ok(text) => text.trim().parse().unwrap_or_else(|_| {
                tracing::debug!("{BYTES}={text:?} is no number of bytes; {DEFAULT_BYTES} are kept");
                DEFAULT_BYTES
            }),
            Err(_) => DEFAULT_BYTES,
        };
        Some(DiskStore::new(folder, most_bytes))
    }

    /// The store in this folder, which is made when something is first kept.
    pub fn new(folder: PathBuf, most_bytes: u64) -> DiskStore {
        DiskStore { folder, most_bytes, unswept: AtomicU64::new(0) }
    }

    /// What is kept under the key. None where there is nothing, or nothing that can be trusted.
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let path = self.folder.join(name_of(key));
        match self.read(&path, key) {
            Ok(payload) => Some(payload),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::debug!(path = %path.display(), %error, "an entry on disk is ignored");
                None
            }
        }
    }

    /// Keeps the payload under the key, in place of what was there. Where that cannot be done, nothing is changed.
    pub fn put(&self, key: &[u8], payload: &[u8]) {
        let bytes = (HEADER + key.len() + payload.len() + CHECKSUM) as u64;
        if bytes > self.enough_bytes() {
            tracing::debug!(bytes, most = self.most_bytes, "too large to be kept on disk");
            return;
        }
        let name = name_of(key);
        if let Err(error) = self.write(&name, key, payload) {
            tracing::debug!(folder = %self.folder.display(), %error, "nothing is kept on disk");
            return;
        }
        // Looking through the folder costs a call for each file. So it is done now and then: after a sixteenth of the
        // bound by one process, and by chance (names are hashes) where many processes write a little each.
        let unswept = self.unswept.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if unswept >= self.most_bytes / 16 || name.starts_with("00") || name.starts_with("40") {
            self.unswept.store(0, Ordering::Relaxed);
            if let Err(error) = self.sweep(SystemTime::now()) {
                tracing::debug!(folder = %self.folder.display(), %error, "the folder cannot be looked through");
            }
        }
    }

    /// What a sweep leaves, so that one process keeps the bound until its next one.
    fn enough_bytes(&self) -> u64 {
        self.most_bytes / 8 * 7
    }

    fn read(&self, path: &Path, key: &[u8]) -> io::Result<Vec<u8>> {
        // Asked for before it is opened: opening a pipe would wait for its writer.
        let found = fs::symlink_metadata(path)?;
        if !found.is_file() {
            return Err(foreign("it is no file"));
        }
        private(&found, "the file")?;
        private(&fs::metadata(&self.folder)?, "the folder")?;
        if found.len() > self.most_bytes {
            return Err(foreign("it is larger than the whole store may be"));
        }
        let mut file = File::open(path)?;
        let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0).saturating_add(1));
        file.read_to_end(&mut bytes)?;
        let payload = payload_of(&bytes, key).map_err(foreign)?.to_vec();
        // The oldest go first, so what is used is made young. It may fail where the file may only be read.
        if let Err(error) = file.set_modified(SystemTime::now()) {
            tracing::debug!(path = %path.display(), %error, "an entry on disk keeps its old time");
        }
        Ok(payload)
    }

    fn write(&self, name: &str, key: &[u8], payload: &[u8]) -> io::Result<()> {
        make_folder(&self.folder)?;
        private(&fs::metadata(&self.folder)?, "the folder")?;
        let mut header = Vec::with_capacity(HEADER + key.len());
        header.extend(MAGIC);
        header.extend((key.len() as u64).to_le_bytes());
        header.extend((payload.len() as u64).to_le_bytes());
        header.extend(key);
        let checksum = blake3::Hasher::new().update(&header).update(payload).finalize();

        // Processes of two containers may have one number, so that there is chance in the name too.
        let chance = RandomState::new().hash_one(std::process::id());
        let unfinished = self.folder.join(format!("{UNFINISHED}{}-{chance:016x}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&unfinished)?;
        let written = file
            .write_all(&header)
            .and_then(|()| file.write_all(payload))
            .and_then(|()| file.write_all(checksum.as_bytes()));
        drop(file);
        let kept = written.and_then(|()| fs::rename(&unfinished, self.folder.join(name)));
        if kept.is_err() {
            // Its own failure would add nothing; a sweep takes the file in time.
            let _ = fs::remove_file(&unfinished);
        }
        kept
    }

    /// Removes the oldest entries until there is some room again, and unfinished files whose writers are gone. Files of
    /// other names are not ours and stay.
    fn sweep(&self, now: SystemTime) -> io::Result<()> {
        let mut entries = Vec::new();
        let mut bytes = 0;
        for file in fs::read_dir(&self.folder)? {
            let file = file?;
            let name = file.file_name();
            let Some(name) = name.to_str() else { continue };
            let (entry, unfinished) = (is_entry(name), name.starts_with(UNFINISHED));
            if !entry && !unfinished {
                continue;
            }
            // Another process may have removed it since.
            let Ok(found) = file.metadata() else { continue };
            if !found.is_file() {
                continue;
            }
            let modified = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if entry {
                bytes += found.len();
                entries.push((modified, found.len(), file.path()));
            } else if now.duration_since(modified).is_ok_and(|age| age > ABANDONED) {
                remove(&file.path());
            }
        }
        let enough = self.enough_bytes();
        if bytes <= enough {
            return Ok(());
        }
        entries.sort_unstable();
        for (_, length, path) in entries {
            if bytes <= enough {
                break;
            }
            remove(&path);
            bytes -= length;
        }
        tracing::debug!(folder = %self.folder.display(), bytes, "the oldest entries on disk were removed");
        Ok(())
    }
}

/// A key of several parts: no two lists of parts give the same bytes.
pub fn key_of(parts: &[&[u8]]) -> Vec<u8> {
    let mut key = Vec::with_capacity(parts.iter().map(|part| size_of::<u64>() + part.len()).sum());
    for part in parts {
        key.extend((part.len() as u64).to_le_bytes());
        key.extend(*part);
    }
    key
}

fn name_of(key: &[u8]) -> String {
    format!("{}{ENDING}", blake3::hash(key).to_hex())
}

fn is_entry(name: &str) -> bool {
    name.strip_suffix(ENDING)
        .is_some_and(|hash| hash.len() == 2 * blake3::OUT_LEN && hash.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// The payload of an entry, if it is whole and its key is this one; else what is wrong.
fn payload_of<'a>(entry: &'a [u8], key: &[u8]) -> Result<&'a [u8], &'static str> {
    let (checked, checksum) = entry.split_last_chunk::<CHECKSUM>().ok_or("it is cut short")?;
    let rest = checked.strip_prefix(MAGIC).ok_or("it is of another format")?;
    let (key_length, rest) = number(rest).ok_or("it is cut short")?;
    let (payload_length, rest) = number(rest).ok_or("it is cut short")?;
    if key_length.checked_add(payload_length) != Some(rest.len() as u64) {
        return Err("its length is wrong");
    }
    if blake3::hash(checked) != *checksum {
        return Err("its checksum is wrong");
    }
    rest.strip_prefix(key).filter(|payload| payload.len() as u64 == payload_length).ok_or("its key is another")
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*number), rest))
}

fn foreign(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn remove(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::debug!(path = %path.display(), %error, "a file on disk cannot be removed");
        }
        _ => {}
    }
}

#[cfg(unix)]
fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Refuses what another user owns or may write.
#[cfg(unix)]
fn private(found: &fs::Metadata, what: &str) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid().as_raw();
    let (owner, mode) = (found.uid(), found.mode() & 0o777);
    let refuse = |why: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    if owner != user {
        return refuse(format!("{what} is user {owner}'s, and this is user {user}"));
    }
    if mode & 0o022 != 0 {
        return refuse(format!("{what} may be written by others (mode {mode:o})"));
    }
    Ok(())
}

/// Elsewhere the user's own folder is as private as the system makes it.
#[cfg(not(unix))]
fn private(_found: &fs::Metadata, _what: &str) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
