//! The engine against scalar Rust.

mod bench;
mod build;
mod control;
mod groups;
mod memory;
mod operations;
