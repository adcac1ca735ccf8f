//! The engine against scalar Rust.
