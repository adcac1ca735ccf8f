//! The files that a source includes: what its compiled code depends on beside itself.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Files are followed no further than this many.
const MOST_FILES: usize = 4096;

/// A digest of every file that a source includes, directly or not, as the include folders give them. None where that is not
/// known: a file that is not found, or a name that a macro makes.
///
/// Conditions are not looked at, so a file may be counted that the compiler leaves out; the digest then changes more often than
/// it must.
pub(super) fn digest(source: &str, folders: &[PathBuf]) -> Option<Vec<u8>> {
    let mut hasher = blake3::Hasher::new();
    let mut seen: HashSet<PathBuf> = HashSet::new();
    // What is still to be looked through, with the folder that quoted names are looked for in first.
    let mut waiting = vec![(source.to_string(), PathBuf::from("."))];
    while let Some((text, folder)) = waiting.pop() {
        for name in names(&text)? {
            let own = name.is_quoted.then_some(&folder);
            let path =
                own.into_iter().chain(folders).map(|folder| folder.join(name.text)).find(|path| path.is_file())?;
            let content = std::fs::read(&path).ok()?;
            hasher.update(name.text.as_bytes()).update(&[0]).update(&(content.len() as u64).to_le_bytes());
            hasher.update(&content);
            if seen.insert(path.clone()) {
                if seen.len() > MOST_FILES {
                    return None;
                }
                let folder = path.parent().unwrap_or(Path::new(".")).to_path_buf();
                waiting.push((String::from_utf8_lossy(&content).into_owned(), folder));
            }
        }
    }
    Some(hasher.finalize().as_bytes().to_vec())
}

/// A name in an `#include`.
#[derive(Debug, PartialEq)]
struct Name<'a> {
    text: &'a str,
    is_quoted: bool,
}

/// The names that a text includes, in order; none where one of them is not plain to see.
fn names(text: &str) -> Option<Vec<Name<'_>>> {
    if text.contains("__has_include") || text.contains("__has_embed") {
        return None;
    }
    let directive = |line: &'_ str| -> Option<usize> {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
        Some(line.len() - rest.len())
    };
    let mut names = Vec::new();
    for line in text.lines() {
        let Some(start) = directive(line) else {
            match may_include(line) {
                true => return None,
                false => continue,
            }
        };
        let rest = line[start..].trim_start();
        let (rest, end, is_quoted) = match rest.split_at_checked(1)? {
            ("\"", rest) => (rest, '"', true),
            ("<", rest) => (rest, '>', false),
            _ => return None,
        };
        names.push(Name { text: &rest[..rest.find(end)?], is_quoted });
    }
    Some(names)
}

/// True for a line that is no plain `#include` and may read a file all the same: behind a comment, with its `#` spelt otherwise
/// or on a line of its own, or in words that compilers have beside it.
fn may_include(line: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    let is_cut = || line.trim_end().ends_with('\\') && has(&["inc", "#\\", "%:\\"]);
    has(&["#", "%:", "??="]) && (has(&["include", "import", "embed"]) || is_cut())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_what_is_unclear_is_refused() {
        let text = "#include \"a.h\"\n  #  include <b/c.h> // why\nint include;\n#define X 1\n";
        let found = names(text).unwrap();
        let expected = [Name { text: "a.h", is_quoted: true }, Name { text: "b/c.h", is_quoted: false }];
        assert_eq!(found, expected);
        for unclear in ["#include NAME", "#include \"a.h", "#include", "#if __has_include(\"a.h\")\n#endif"] {
            assert_eq!(names(unclear), None, "{unclear}");
        }
        for hidden in [
            "/* why */ #include \"a.h\"",
            "*/#include <a.h>",
            "%:include <a.h>",
            "#\\\ninclude <a.h>",
            "#inc\\\nlude <a.h>",
        ] {
            assert_eq!(names(hidden), None, "{hidden}");
        }
        for other in ["#include_next <a.h>", "# include_next <a.h>", "#import <a.h>", "#embed <a.bin>"] {
            assert_eq!(names(other), None, "{other}");
        }
        assert_eq!(names("#define PLUS(a, b) a \\\n    + b\n#pragma unroll\n"), Some(Vec::new()));
    }

    #[test]
    fn the_digest_follows_the_content_of_files_through_files() {
        let folder = std::env::temp_dir().join(format!("lazuli-includes-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("deep")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write("outer.h", "#include \"deep/inner.h\"\n");
        write("deep/inner.h", "#include \"beside.h\"\n");
        write("deep/beside.h", "#include \"inner.h\"\nint one;");
        let source = "#include <outer.h>\n";
        let folders = [folder.clone()];
        let first = digest(source, &folders).unwrap();
        assert_eq!(digest(source, &folders), Some(first.clone()), "nothing has changed; a circle ends");
        assert_eq!(digest(source, &[]), None, "the file is not found");
        write("deep/beside.h", "#include \"inner.h\"\nint two;");
        assert_ne!(digest(source, &folders), Some(first.clone()), "a file two steps away has changed");
        std::fs::remove_file(folder.join("deep/beside.h")).unwrap();
        assert_eq!(digest(source, &folders), None);
        assert_ne!(digest("int x;", &folders), Some(first), "a source alone");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
