//! Names for what Rust names: legal in both languages, and one for each thing.

use std::collections::HashSet;

use crate::names::{is_prelude, is_reserved};
use crate::simt::ir::{Memory, Var};
use crate::simt::scope::Scope;

/// Words that the text around may use, beside those that no kernel can be named by.
#[rustfmt::skip]
const USED: &[&str] = &[
    "atomicAdd", "atomicAnd", "atomicCAS", "atomicExch", "atomicMax", "atomicMin", "atomicOr", "atomicSub", "atomicXor",
    "blockDim", "blockIdx", "element1", "element2", "element3", "gridDim", "is_within", "note_index", "threadIdx", "warpSize",
];

/// A name in Rust as one in C: raw identifiers and letters that C lacks mended, words of the languages marked.
pub(super) fn c_name(name: &str) -> String {
    let name = name.strip_prefix("r#").unwrap_or(name);
    let mut mended: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    // Names with two underscores, or one before a capital, belong to the compiler.
    if mended.starts_with('_') || mended.starts_with(|c: char| c.is_ascii_digit()) || mended.is_empty() {
        mended = format!("v{mended}");
    }
    if is_prelude(&mended) || is_reserved(&mended) || USED.contains(&mended.as_str()) {
        mended.push('_');
    }
    mended
}

/// Names that are given already.
#[derive(Clone, Default)]
pub(super) struct Taken(HashSet<String>);

impl Taken {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn take(&mut self, name: &str) {
        self.0.insert(name.to_owned());
    }

    /// The name, with a number where it is taken.
    pub fn fresh(&mut self, name: &str) -> String {
        let mut free = name.to_owned();
        let mut number = 1;
        while !self.0.insert(free.clone()) {
            free = format!("{name}{}{number}", if name.ends_with(|c: char| c.is_ascii_digit()) { "_" } else { "" });
            number += 1;
        }
        free
    }
}

/// The names in one body.
pub(super) struct BodyNames {
    /// By parameter; empty for scalars, which are variables.
    pub params: Vec<String>,
    pub vars: Vec<String>,
    pub arrays: Vec<String>,
    pub note: String,
    taken: Taken,
}

impl BodyNames {
    pub fn new(scope: &Scope, mut taken: Taken, checked: bool) -> Self {
        let with_length = |taken: &mut Taken, name: &str| {
            // The length's name must be free as well.
            let mut name = taken.fresh(&c_name(name));
            while !taken.0.insert(format!("{name}_len")) {
                name = taken.fresh(&name);
            }
            name
        };
        let params = (0..scope.params() as u32)
            .map(|number| match scope.memory(Memory::Param(number)) {
                Some(memory) => with_length(&mut taken, memory.name),
                None => String::new(),
            })
            .collect();
        let body = scope.body();
        let mut vars = vec![String::new(); body.vars.len()];
        let held = scope.parameter_variables();
        let others = (0..body.vars.len() as u32).map(Var).filter(|var| !held.contains(var));
        for var in held.iter().copied().chain(others) {
            vars[var.0 as usize] = taken.fresh(&c_name(body.vars[var.0 as usize].name));
        }
        let arrays = body.arrays.iter().map(|array| with_length(&mut taken, array.name)).collect();
        let note = if checked { taken.fresh("note") } else { String::new() };
        Self { params, vars, arrays, note, taken }
    }

    pub fn var(&self, var: Var) -> &str {
        &self.vars[var.0 as usize]
    }

    pub fn memory(&self, memory: Memory) -> &str {
        match memory {
            Memory::Param(number) => &self.params[number as usize],
            Memory::Array(number) => &self.arrays[number as usize],
        }
    }

    /// A name of the emitter's own.
    pub fn fresh(&mut self, name: &str) -> String {
        self.taken.fresh(name)
    }
}
