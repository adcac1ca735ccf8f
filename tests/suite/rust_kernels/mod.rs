//! Kernels written in Rust: what each construct does on a device is what it does in Rust.
//!
//! Most functions here are written once and compiled twice, by rustc and by the macros; see `both!`.

#[macro_use]
mod both;

mod control;
mod evaluation;
mod generic;
mod groups;
mod methods;
mod operators;
