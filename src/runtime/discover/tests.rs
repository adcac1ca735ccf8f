//! What is found depends on the machine; the forms of names and of answers do not.

use super::*;

fn refused(name: &str) -> (String, String) {
    match open(name).map(drop).unwrap_err() {
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
    assert_eq!(open("HOST").unwrap().0, "host");
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
        match open(&found.name) {
            Ok((name, runtime)) => {
                assert_eq!(name, found.name);
                probe(&*runtime).unwrap();
            }
            Err(error) => println!("SKIP {}: {error}", found.name),
        }
    }
}

#[test]
fn auto_says_why_it_passed_devices_over() {
    let (name, runtime, passed_over) = open_auto().unwrap();
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
        assert!(open_auto().is_ok());
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
