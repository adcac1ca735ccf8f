//! Functions, each printed once and after all that it calls, and calls of them.

use std::collections::{HashMap, HashSet};

use super::names::{Taken, c_name};
use super::{BodyEmitter, Scope};
use crate::DType;
use crate::emit::arithmetic::Arithmetic;
use crate::emit::text::Text;
use crate::emit::user_call::apart_from_variables;
use crate::simt::function::{Code, Definition, Function, FunctionParam};
use crate::simt::ir::{Argument, Memory};
use crate::simt::sites::reached_functions;

/// What is done about the indices of a function's accesses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Indices {
    /// Nothing.
    Trusted,
    /// One out of range reads zero and writes nothing.
    Checked,
    /// So does it, and it is noted.
    Noted,
}

/// The functions that a source defines.
#[derive(Default)]
pub(crate) struct Functions {
    names: HashMap<Function, String>,
    /// Those that may note an index out of range.
    noting: HashSet<Function>,
    /// Names that stand at the top of the source.
    pub(super) taken: Taken,
}

impl Functions {
    /// Writes functions into the prelude; each must come after those it calls. `first_sites` are the numbers of their first
    /// sites where accesses are checked.
    pub(super) fn define(
        functions: &[Function],
        arithmetic: &mut Arithmetic,
        taken: Taken,
        first_sites: Option<&HashMap<Function, u32>>,
    ) -> Self {
        let indices = if first_sites.is_some() { Indices::Noted } else { Indices::Trusted };
        Self::define_named(functions, arithmetic, taken, indices, first_sites, |name| name)
    }

    /// The same under names that are changed before.
    fn define_named(
        functions: &[Function],
        arithmetic: &mut Arithmetic,
        taken: Taken,
        indices: Indices,
        first_sites: Option<&HashMap<Function, u32>>,
        name_of: fn(String) -> String,
    ) -> Self {
        let mut defined = Self { taken, ..Self::default() };
        for &function in functions {
            let definition = function.definition();
            let name = defined.taken.fresh(&name_of(c_name(&definition.name)));
            let notes = match function.body() {
                Some(body) => {
                    let calls_noting =
                        reached_functions(&body.statements).iter().any(|callee| defined.noting.contains(callee));
                    !body.sites.is_empty() || calls_noting
                }
                None => false,
            };
            if notes && first_sites.is_some() {
                defined.noting.insert(function);
            }
            let text = match &definition.code {
                Code::Source { names, text, .. } => source_text(definition, &name, names, text),
                Code::Body(_) => {
                    let first_site = first_sites.and_then(|first| first.get(&function).copied()).unwrap_or(0);
                    defined.printed(function, &name, arithmetic, indices, first_site)
                }
            };
            arithmetic.prelude.define_function(&text);
            defined.names.insert(function, name);
        }
        defined
    }

    /// Writes into the prelude of a kernel of the engine, `entry`, the functions that it calls, and those that these call. Such
    /// a kernel has no note, and its functions reach no more than arrays of their own, so that each index is checked.
    pub(crate) fn define_for(called: &[Function], arithmetic: &mut Arithmetic, entry: &str) -> Self {
        let mut reached = Vec::new();
        for function in called {
            let callees = function.body().map_or(Vec::new(), |body| reached_functions(&body.statements));
            for callee in callees.into_iter().chain([*function]) {
                if !reached.contains(&callee) {
                    reached.push(callee);
                }
            }
        }
        let mut names = Taken::new();
        names.take(entry);
        Self::define_named(&reached, arithmetic, names, Indices::Checked, None, apart_from_variables)
    }

    /// The name of a function in the source; its own where it is not defined there.
    pub(crate) fn name(&self, function: Function) -> &str {
        self.names.get(&function).map_or(&function.definition().name, String::as_str)
    }

    /// A call with values, as an expression.
    pub(crate) fn call(&self, function: Function, arguments: &[&Text], arithmetic: &mut Arithmetic) -> Text {
        let call = Text::call(self.name(function), arguments);
        let definition = function.definition();
        match (&definition.code, definition.result) {
            // What the user wrote in C is not rounded to a half.
            (Code::Source { .. }, Some(dtype)) if dtype.is_half() => arithmetic.cast(DType::F32, dtype, &call),
            _ => call,
        }
    }

    fn printed(
        &self,
        function: Function,
        name: &str,
        arithmetic: &mut Arithmetic,
        indices: Indices,
        first_site: u32,
    ) -> String {
        let definition = function.definition();
        let Some(scope) = Scope::of_function(definition) else { return String::new() };
        let notes = self.noting.contains(&function);
        let mut emitter = BodyEmitter::new(scope, arithmetic, self, indices != Indices::Trusted, first_site);
        if indices == Indices::Checked {
            // `note_index` notes nothing there.
            emitter.names.note = "0".into();
        }
        let mut parameters = Vec::new();
        for (number, param) in definition.params.iter().enumerate() {
            match param {
                FunctionParam::Scalar { var, dtype, .. } => {
                    parameters.push(format!("{} {}", emitter.dialect.value_type(*dtype), emitter.names.var(*var)));
                }
                FunctionParam::Memory { dtype, dims, place, is_mut, .. } => {
                    let name = emitter.names.params[number].clone();
                    match dims {
                        Some(dims) => {
                            let space = emitter.address_space(*place);
                            let extents: String = dims.iter().map(|extent| format!("[{extent}]")).collect();
                            parameters.push(format!("{space}{} {name}{extents}", emitter.dialect.storage_type(*dtype)));
                        }
                        None => {
                            parameters.push(emitter.pointer(*place, *dtype, *is_mut, false, &name));
                            parameters.push(format!("{} {name}_len", emitter.dialect.value_type(DType::U64)));
                        }
                    }
                }
            }
        }
        if notes {
            parameters.push(emitter.note_parameter());
        }
        let result = definition.result.map_or("void", |dtype| emitter.dialect.value_type(dtype));
        emitter.open_signature(&format!("FN {result} {name}("), &parameters);
        emitter.emit_arrays();
        emitter.emit_statements(&scope.body().statements);
        emitter.out.close();
        emitter.out.finish()
    }
}

/// A function of the user's text, in the types of the vocabulary.
fn source_text(definition: &Definition, name: &str, names: &[String], text: &str) -> String {
    let vocabulary = |dtype: DType| if dtype.is_half() { DType::F32.name() } else { dtype.name() };
    let types = definition.params.iter().map(|param| match param {
        FunctionParam::Scalar { dtype, .. } | FunctionParam::Memory { dtype, .. } => vocabulary(*dtype),
    });
    let parameters: Vec<String> = types.zip(names).map(|(dtype, name)| format!("{dtype} {name}")).collect();
    let result = definition.result.map_or("void", vocabulary);
    let mut function = format!("FN {result} {name}({}) {{\n", parameters.join(", "));
    for line in text.trim_matches('\n').lines() {
        function.push_str(&format!("    {line}\n"));
    }
    function.push_str("}\n");
    function
}

impl BodyEmitter<'_> {
    /// A call, as an expression.
    pub(super) fn call(&mut self, function: Function, arguments: &[Argument]) -> Text {
        let mut given = Vec::new();
        for argument in arguments {
            match argument {
                Argument::Value(value) => given.push(self.value(value)),
                Argument::Memory(memory) => {
                    given.push(Text::atom(self.names.memory(*memory)));
                    if self.has_length(*memory) {
                        given.push(self.length(*memory).text);
                    }
                }
            }
        }
        if self.functions.noting.contains(&function) {
            given.push(Text::atom(self.names.note.clone()));
        }
        self.functions.call(function, &given.iter().collect::<Vec<_>>(), self.arithmetic)
    }

    /// True where the length is passed beside the pointer.
    fn has_length(&self, memory: Memory) -> bool {
        self.scope.memory(memory).is_some_and(|memory| memory.dims.is_none())
    }
}
