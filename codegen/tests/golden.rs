//! The emitted text of representative kernels, whole, in both languages. `LAZULI_BLESS=1` writes the files anew.

mod common;

use std::{env, fs, path::PathBuf};

use lazuli_codegen::{Dialect, EmitOptions, emit, simt, verify_kernel};

#[test]
fn emitted_text_is_as_recorded() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let is_blessing = env::var_os("LAZULI_BLESS").is_some_and(|value| value == "1");
    let mut drifted = Vec::new();
    let mut expected = Vec::new();
    let mut texts = Vec::new();
    for (name, kernel, schedule) in common::kernels::all() {
        verify_kernel(&kernel, &schedule).unwrap_or_else(|error| panic!("{name}: {error}"));
        for dialect in Dialect::ALL {
            // Groups wait for each other on CUDA alone.
            if dialect == Dialect::OpenClC && kernel.waits() {
                continue;
            }
            let file = folder.join(format!("{name}.{}", dialect.file_extension()));
            // A kernel of functions under a CPU's schedule shows how they are written there.
            let options = EmitOptions { cpu_math: name == "transcend_f32_cpu", ..Default::default() };
            let source = emit(&kernel, &schedule, dialect, &options);
            if dialect == Dialect::CudaC {
                let other = EmitOptions { cpu_math: !options.cpu_math, ..options };
                assert_eq!(source, emit(&kernel, &schedule, dialect, &other), "{name}");
            }
            texts.push((file, source.text));
        }
    }
    for (name, kernel, options) in common::simt::all() {
        simt::verify(&kernel).unwrap_or_else(|error| panic!("{name}: {error}"));
        for dialect in Dialect::ALL {
            let file = folder.join(format!("{name}.{}", dialect.file_extension()));
            texts.push((file, simt::emit(&kernel, dialect, &options).text));
        }
    }
    for (file, text) in texts {
        if is_blessing {
            fs::write(&file, &text).expect("golden file written");
        } else if fs::read_to_string(&file).ok().as_deref() != Some(&text) {
            drifted.push(format!("{}:\n{text}", file.display()));
        }
        expected.push(file);
    }
    assert!(drifted.is_empty(), "LAZULI_BLESS=1 accepts these:\n{}", drifted.join("\n"));
    for file in fs::read_dir(&folder).expect("golden folder") {
        let file = file.expect("entry").path();
        assert!(expected.contains(&file), "{} belongs to no kernel", file.display());
    }
}
