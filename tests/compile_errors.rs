//! What kernels in Rust leave out is a compile error where it stands, which says what to write instead. Each file of `tests/ui`
//! has the compiler's words beside it; `TRYBUILD=overwrite cargo test --test compile_errors` writes them anew.

#[test]
fn what_kernels_leave_out_is_refused_where_it_stands() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}
