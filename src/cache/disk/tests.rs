use std::process::Command;

use super::*;

/// A folder of a test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lazuli-disk-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    fn store(&self, most_bytes: u64) -> DiskStore {
        DiskStore::new(self.0.clone(), most_bytes)
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> = fs::read_dir(&self.0).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort_unstable();
        files
    }

    fn bytes(&self) -> u64 {
        self.files().iter().map(|file| file.metadata().unwrap().len()).sum()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_was_put_is_got_by_any_store_of_the_folder() {
    let folder = Folder::new("put");
    let store = folder.store(1 << 20);
    assert_eq!(store.get(b"key"), None);
    assert!(!folder.0.exists(), "asking makes no folder");
    for (key, payload) in [(&b"key"[..], &b"payload"[..]), (b"", b"no key"), (b"no payload", b""), (b"ke", b"ypayload")]
    {
        store.put(key, payload);
    }
    let other = folder.store(1 << 20);
    assert_eq!(other.get(b"key").as_deref(), Some(&b"payload"[..]));
    assert_eq!(other.get(b"").as_deref(), Some(&b"no key"[..]));
    assert_eq!(other.get(b"no payload").as_deref(), Some(&b""[..]));
    assert_eq!(other.get(b"ke").as_deref(), Some(&b"ypayload"[..]));
    assert_eq!(other.get(b"k"), None);
    other.put(b"key", b"another");
    assert_eq!(store.get(b"key").as_deref(), Some(&b"another"[..]));
    assert_eq!(folder.files().len(), 4, "nothing unfinished is left");
}

#[test]
fn parts_of_a_key_do_not_run_together() {
    assert_ne!(key_of(&[b"ab", b"c"]), key_of(&[b"a", b"bc"]));
    assert_ne!(key_of(&[b"ab"]), key_of(&[b"ab", b""]));
}

#[test]
fn damage_of_every_kind_is_a_missing_entry_that_can_be_put_again() {
    let folder = Folder::new("damage");
    let store = folder.store(1 << 20);
    let again = |damaged: &[u8], what: &str| {
        let path = &folder.files()[0];
        fs::write(path, damaged).unwrap();
        assert_eq!(store.get(b"key"), None, "{what}");
        store.put(b"key", b"payload");
        assert_eq!(store.get(b"key").as_deref(), Some(&b"payload"[..]), "{what}");
    };
    store.put(b"key", b"payload");
    let whole = fs::read(&folder.files()[0]).unwrap();
    for length in 0..whole.len() {
        again(&whole[..length], &format!("cut to {length}"));
    }
    for place in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[place] ^= 1 << (place % 8);
        again(&flipped, &format!("byte {place} flipped"));
    }
    again(&[whole.clone(), vec![0]].concat(), "a byte too many");
    again(&vec![0xFF; 4096], "noise");
    again(b"\x7fELF and so on", "another's file");

    // A whole entry, but of another key, or of another version of the format.
    store.put(b"yek", b"payload");
    let other = fs::read(folder.0.join(name_of(b"yek"))).unwrap();
    fs::remove_file(folder.0.join(name_of(b"yek"))).unwrap();
    again(&other, "another key");
    let mut newer = whole[..whole.len() - CHECKSUM].to_vec();
    newer[MAGIC.len() - 1] += 1;
    let checksum = blake3::hash(&newer);
    newer.extend(checksum.as_bytes());
    again(&newer, "another version");
    // Lengths past the end, with a right checksum.
    let mut long = whole[..whole.len() - CHECKSUM].to_vec();
    long[MAGIC.len()..HEADER].fill(0xFF);
    let checksum = blake3::hash(&long);
    long.extend(checksum.as_bytes());
    again(&long, "lengths without end");
}

#[test]
fn a_folder_where_the_entry_should_be_is_no_error() {
    let folder = Folder::new("folder");
    let store = folder.store(1 << 20);
    fs::create_dir_all(folder.0.join(name_of(b"key")).join("inner")).unwrap();
    store.put(b"key", b"payload");
    assert_eq!(store.get(b"key"), None);
    store.put(b"other", b"payload");
    assert_eq!(store.get(b"other").as_deref(), Some(&b"payload"[..]));
    assert_eq!(folder.files().len(), 2, "nothing unfinished is left");
}

#[test]
fn a_folder_that_cannot_be_made_is_no_error() {
    let folder = Folder::new("file");
    fs::write(&folder.0, "a file").unwrap();
    let store = DiskStore::new(folder.0.join("below/a/file"), 1 << 20);
    store.put(b"key", b"payload");
    assert_eq!(store.get(b"key"), None);
    let store = folder.store(1 << 20);
    store.put(b"key", b"payload");
    assert_eq!(store.get(b"key"), None);
    fs::remove_file(&folder.0).unwrap();
}

#[test]
fn the_oldest_go_when_the_bound_is_reached_and_use_makes_young() {
    const MOST: u64 = 64 << 10;
    let folder = Folder::new("bound");
    let store = folder.store(MOST);
    let key = |number: u64| number.to_le_bytes();
    for number in 0..300u64 {
        store.put(&key(number), &[number as u8; 1000]);
        if number < 40 {
            // Times of files are coarse, so they are told apart by hand.
            let path = folder.0.join(name_of(&key(number)));
            let past = SystemTime::now() - Duration::from_secs(1000 - number);
            File::options().write(true).open(path).unwrap().set_modified(past).unwrap();
        }
        if number == 39 {
            assert!(store.get(&key(0)).is_some());
        }
        if number == 70 {
            assert!(store.get(&key(0)).is_some(), "it was used after the others");
            assert_eq!(store.get(&key(1)), None, "it was the oldest");
        }
        assert!(folder.bytes() <= MOST, "{} bytes", folder.bytes());
    }
    assert!(store.get(&key(299)).is_some());
    assert!(folder.bytes() > MOST / 2, "{} bytes", folder.bytes());
}

#[test]
fn what_is_larger_than_the_bound_is_not_kept() {
    let folder = Folder::new("large");
    folder.store(1000).put(b"key", &[1; 1000]);
    folder.store(0).put(b"key", &[]);
    assert!(!folder.0.exists());
    folder.store(10_000).put(b"key", &[1; 1000]);
    assert_eq!(folder.store(1000).get(b"key"), None);
}

#[test]
fn a_sweep_leaves_files_of_others_and_takes_what_was_abandoned() {
    let folder = Folder::new("others");
    let store = folder.store(1000);
    store.put(b"key", &[1; 800]);
    for name in ["letter.txt", "letter.lazuli", ".lazuli-1-2", ".lazuli-3-4"] {
        fs::write(folder.0.join(name), vec![0; 5000]).unwrap();
    }
    let past = SystemTime::now() - 2 * ABANDONED;
    File::options().write(true).open(folder.0.join(".lazuli-1-2")).unwrap().set_modified(past).unwrap();
    store.sweep(SystemTime::now()).unwrap();
    assert!(store.get(b"key").is_some());
    let names: Vec<_> = folder.files().iter().map(|path| path.file_name().unwrap().to_owned()).collect();
    assert!(names.iter().any(|name| name == "letter.txt") && names.iter().any(|name| name == "letter.lazuli"));
    assert!(names.iter().any(|name| name == ".lazuli-3-4") && !names.iter().any(|name| name == ".lazuli-1-2"));
}

#[cfg(unix)]
#[test]
fn folder_and_files_are_the_users_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("private");
    let store = DiskStore::new(folder.0.join("inner"), 1 << 20);
    store.put(b"key", b"payload");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let file = store.folder.join(name_of(b"key"));
    assert_eq!((mode(&folder.0), mode(&store.folder), mode(&file)), (0o700, 0o700, 0o600));

    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for wrong in [0o777, 0o702, 0o720, 0o1777] {
        set(&store.folder, wrong);
        assert_eq!(store.get(b"key"), None, "folder of mode {wrong:o}");
        store.put(b"other", b"payload");
        assert_eq!(fs::read_dir(&store.folder).unwrap().count(), 1, "folder of mode {wrong:o}");
    }
    set(&store.folder, 0o755);
    set(&file, 0o666);
    assert_eq!(store.get(b"key"), None);
    set(&file, 0o644);
    assert!(store.get(b"key").is_some());

    // Another's folder; only root can give it away.
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&store.folder, Some(12345), None).unwrap();
        assert_eq!(store.get(b"key"), None);
        store.put(b"other", b"payload");
        assert_eq!(fs::read_dir(&store.folder).unwrap().count(), 1);
    }
}

/// Puts and gets the same keys as all others do, with payloads that tell what they are.
fn hammer(store: &DiskStore) {
    for round in 0..10u8 {
        for key in 0..20u8 {
            if let Some(payload) = store.get(&[key]) {
                assert!(payload.len() >= 2000 && payload.iter().all(|byte| *byte == key), "key {key}");
            }
            store.put(&[key], &vec![key; 2000 + usize::from(round)]);
            assert!(store.get(&[key]).is_some());
        }
    }
}

#[test]
fn threads_and_processes_that_fill_one_folder_at_once_all_succeed() {
    const INNER: &str = "LAZULI_TEST_DISK_FOLDER";
    if let Some(folder) = std::env::var_os(INNER) {
        hammer(&DiskStore::new(folder.into(), 1 << 20));
        return;
    }
    let folder = Folder::new("crowd");
    let name = "cache::disk::tests::threads_and_processes_that_fill_one_folder_at_once_all_succeed";
    let mut processes: Vec<_> = (0..2)
        .map(|_| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", name]).env(INNER, &folder.0).spawn().unwrap()
        })
        .collect();
    let store = folder.store(1 << 20);
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(|| hammer(&store)))));
    for process in &mut processes {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(folder.files().len(), 20, "nothing unfinished is left");
    assert!((0..20).all(|key| store.get(&[key]).is_some_and(|payload| payload.len() == 2009)));
}
