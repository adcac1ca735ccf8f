//! The engine against scalar Rust.

mod build;
mod control;
mod groups;
mod memory;
mod operations;
