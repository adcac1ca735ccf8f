//! What a compiler says, told in the caller's terms: their source, and the line that each message is about.

/// The log with the line of the source under each message that names one and does not show it already.
pub(crate) fn with_source_lines(log: &str, name: &str, source: &str) -> String {
    let lines: Vec<&str> = source.lines().collect();
    let mut told = String::with_capacity(log.len());
    let mut entries = log.lines().peekable();
    while let Some(entry) = entries.next() {
        told += entry;
        told.push('\n');
        let Some(line) = line_number(entry, name).and_then(|number| lines.get(number.checked_sub(1)?)) else {
            continue;
        };
        let (line, next) = (line.trim(), entries.peek());
        if !line.is_empty() && !next.is_some_and(|next| next.contains(line)) {
            told += "    ";
            told += line;
            told.push('\n');
        }
    }
    told.truncate(told.trim_end().len());
    told
}

/// The log of a compiler that pays no heed to `#line` and calls every source `<kernel>`, as NVIDIA's for OpenCL C does, with
/// the caller's name and line numbers. `assembled` is what it saw.
pub(crate) fn renumbered(log: &str, name: &str, assembled: &str) -> String {
    const ITS_NAME: &str = "<kernel>:";
    let Some(before) = assembled.lines().position(|line| line.starts_with("#line 1 ")).map(|line| line + 1) else {
        return log.to_string();
    };
    let mut parts = log.split(ITS_NAME);
    let mut told = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        match part[..digits].parse::<usize>() {
            Ok(line) if line > before => told += &format!("{name}:{}{}", line - before, &part[digits..]),
            _ => told += &format!("{ITS_NAME}{part}"),
        }
    }
    told
}

/// The line that a message is about: `name(3): error` as NVRTC has it, `name:3:5: error` as Clang does.
fn line_number(entry: &str, name: &str) -> Option<usize> {
    let rest = &entry[entry.find(name)? + name.len()..];
    let rest = rest.strip_prefix('(').or_else(|| rest.strip_prefix(':'))?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "int a;\n    int b = missing;\nint c;";

    #[test]
    fn a_message_gets_its_line() {
        let told = with_source_lines("k.cu(2): error: identifier \"missing\" is undefined\n1 error", "k.cu", SOURCE);
        assert_eq!(told, "k.cu(2): error: identifier \"missing\" is undefined\n    int b = missing;\n1 error");
        let told = with_source_lines("error: k.cl:2:13: use of undeclared", "k.cl", SOURCE);
        assert_eq!(told, "error: k.cl:2:13: use of undeclared\n    int b = missing;");
    }

    #[test]
    fn a_source_without_a_name_gets_its_own() {
        let assembled = "typedef int i32;\n#line 1 \"k.cl\"\nint a;\nint b = missing;\n";
        let log = "<kernel>:4:9: error: use of undeclared\n<kernel>:1:2: note: here\n2 errors";
        let told = renumbered(log, "k.cl", assembled);
        assert_eq!(told, "k.cl:2:9: error: use of undeclared\n<kernel>:1:2: note: here\n2 errors");
        assert_eq!(renumbered(log, "k.cl", "int a;"), log);
    }

    #[test]
    fn a_line_that_is_shown_is_not_shown_twice_and_others_are_left_alone() {
        let shown = "k.cl:2:13: error: use of undeclared\n    int b = missing;\n            ^";
        assert_eq!(with_source_lines(shown, "k.cl", SOURCE), shown);
        for log in ["k.cl:99:1: error", "other.h(2): error", "k.cl: error", "k.cl(0): error", ""] {
            assert_eq!(with_source_lines(log, "k.cl", SOURCE), log);
        }
    }
}
