//! The pieces of the prelude that one kernel uses. A run-time compiler's time counts, so nothing else is put in its source.

use std::collections::{BTreeMap, BTreeSet};

use lazuli_kernels::prelude as sections;

use crate::{DType, Dialect};

/// A section, in the order they are written: later ones call earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Section {
    Base,
    Double,
    Integers,
    Floats,
    F16,
    Bf16,
    Bf16Integers,
    RoundToOdd,
    Casts,
    MulAdd,
    MathCpu,
    Wide,
    LastGroup,
    AwaitGroups,
    Indices,
    Atomics,
    Note,
    Checked,
}

impl Section {
    /// True for the words the other sections are written in, taken line by line.
    fn is_vocabulary(self) -> bool {
        matches!(self, Section::Base | Section::Double)
    }

    fn text(self, dialect: Dialect) -> &'static str {
        match (self, dialect) {
            (Section::Base, Dialect::OpenClC) => sections::OPENCL_C,
            (Section::Base, Dialect::CudaC) => sections::CUDA_C,
            (Section::Double, Dialect::OpenClC) => sections::DOUBLE_OPENCL_C,
            (Section::Double, Dialect::CudaC) => sections::DOUBLE_CUDA_C,
            (Section::F16, Dialect::OpenClC) => sections::F16,
            (Section::F16, Dialect::CudaC) => sections::F16_CUDA_C,
            (Section::Integers, _) => sections::INTEGERS,
            (Section::Floats, _) => sections::FLOATS,
            (Section::Bf16, _) => sections::BF16,
            (Section::Bf16Integers, _) => sections::BF16_INTEGERS,
            (Section::RoundToOdd, _) => sections::ROUND_TO_ODD,
            (Section::Casts, _) => sections::CASTS,
            (Section::MulAdd, _) => sections::MUL_ADD,
            (Section::MathCpu, _) => sections::MATH_CPU,
            (Section::Wide, _) => sections::WIDE,
            (Section::LastGroup, Dialect::OpenClC) => sections::LAST_GROUP_OPENCL_C,
            (Section::LastGroup, Dialect::CudaC) => sections::LAST_GROUP_CUDA_C,
            (Section::AwaitGroups, _) => sections::AWAIT_GROUPS_CUDA_C,
            (Section::Indices, _) => sections::INDICES,
            (Section::Atomics, Dialect::OpenClC) => sections::ATOMICS_OPENCL_C,
            (Section::Atomics, Dialect::CudaC) => sections::ATOMICS_CUDA_C,
            (Section::Note, Dialect::OpenClC) => sections::NOTE_OPENCL_C,
            (Section::Note, Dialect::CudaC) => sections::NOTE_CUDA_C,
            (Section::Checked, _) => sections::CHECKED,
        }
    }
}

/// What a kernel uses of the prelude: sections, and of those that are macros the lines that define functions by them.
#[derive(Default)]
pub(crate) struct Prelude {
    used: BTreeMap<Section, Vec<String>>,
    /// Words of the vocabulary that the kernel itself is written in.
    words: BTreeSet<&'static str>,
    /// Functions that the kernel calls, callees first.
    definitions: String,
}

impl Prelude {
    /// Uses a whole section.
    pub fn section(&mut self, section: Section) {
        self.used.entry(Section::Base).or_default();
        self.used.entry(section).or_default();
    }

    /// Uses what one line, such as `LAZULI_ORDER(i32)`, defines.
    pub fn define(&mut self, section: Section, line: String) {
        self.section(section);
        let lines = self.used.entry(section).or_default();
        if !lines.contains(&line) {
            lines.push(line);
        }
    }

    /// Uses the names of a type in the vocabulary; returns its name there.
    pub fn dtype(&mut self, dtype: DType) -> &'static str {
        self.section(if dtype == DType::F64 { Section::Double } else { Section::Base });
        dtype.name()
    }

    /// Uses a word of the vocabulary outside of the prelude; returns it.
    pub fn word(&mut self, word: &'static str) -> &'static str {
        self.section(Section::Base);
        self.section(Section::Double);
        self.words.insert(word);
        word
    }

    /// Puts a function, which may be written in the vocabulary, after all those of the prelude.
    pub fn define_function(&mut self, text: &str) {
        self.section(Section::Base);
        self.section(Section::Double);
        self.definitions.push_str(text);
    }

    /// Uses f16's or bf16's conversions; returns the name their functions begin with.
    pub fn half(&mut self, dtype: DType) -> &'static str {
        self.section(if dtype == DType::F16 { Section::F16 } else { Section::Bf16 });
        dtype.name()
    }

    /// Uses f32's function `name` of so many arguments as a CPU should compute it; returns its name.
    pub fn cpu_math(&mut self, name: &str, arguments: usize) -> String {
        let function = format!("f32_{name}");
        let line = match arguments {
            1 => format!("LAZULI_OF_NUMBER({function}, {function}_number)"),
            _ => format!("LAZULI_OF_NUMBERS({function}, {function}_number, {function}_nan)"),
        };
        self.section(Section::Double);
        self.define(Section::MathCpu, line);
        function
    }

    /// The text to put before the kernel; empty where it uses nothing.
    pub fn text(&self, dialect: Dialect) -> String {
        let mut functions = String::new();
        for (&section, lines) in self.used.iter().filter(|(section, _)| !section.is_vocabulary()) {
            if section == Section::MathCpu {
                picked(section.text(dialect), lines).iter().for_each(|line| push_line(&mut functions, line));
                lines.iter().for_each(|line| push_line(&mut functions, line));
                continue;
            }
            for paragraph in section.text(dialect).split("\n\n") {
                let is_needed = match defined_macro(paragraph) {
                    Some(name) => lines.iter().any(|line| line.starts_with(&format!("{name}("))),
                    None => true,
                };
                if is_needed {
                    paragraph.lines().filter(|line| is_code(line)).for_each(|line| push_line(&mut functions, line));
                }
            }
            lines.iter().for_each(|line| push_line(&mut functions, line));
        }
        functions.push_str(&self.definitions);
        let vocabulary = self.used.keys().filter(|section| section.is_vocabulary());
        let lines: Vec<&str> =
            vocabulary.flat_map(|section| section.text(dialect).lines()).filter(|line| is_code(line)).collect();
        // Words are spelled in earlier ones.
        let mut needed = functions.clone();
        let mut picked: Vec<&str> = Vec::new();
        for line in lines.into_iter().rev() {
            let word = defined_word(line);
            if needed.contains(word) || self.words.contains(word) {
                push_line(&mut needed, line);
                picked.push(line);
            }
        }
        let mut text = String::new();
        picked.into_iter().rev().for_each(|line| push_line(&mut text, line));
        text.push_str(&functions);
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Comments are for those who read the prelude itself.
fn is_code(line: &str) -> bool {
    !line.starts_with("//") && !line.is_empty()
}

/// The lines of those paragraphs that `lines` or later paragraphs picked need.
fn picked<'a>(text: &'a str, lines: &[String]) -> Vec<&'a str> {
    let mut needed = lines.join("\n");
    let mut picked: Vec<Vec<&str>> = Vec::new();
    for paragraph in text.rsplit("\n\n") {
        let code: Vec<&str> = paragraph.lines().filter(|line| is_code(line)).collect();
        if code.iter().filter_map(|line| picked_name(line)).any(|name| has_word(&needed, name)) {
            needed.push('\n');
            needed.push_str(&code.join("\n"));
            picked.push(code);
        }
    }
    picked.into_iter().rev().flatten().collect()
}

/// The function or macro that begins on a line.
fn picked_name(line: &str) -> Option<&str> {
    match line.strip_prefix("FN ") {
        Some(function) => function.split('(').next()?.rsplit(' ').next(),
        None => line.starts_with("#define ").then(|| defined_word(line)),
    }
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    text.match_indices(word)
        .any(|(at, _)| !is_part(text[..at].chars().next_back()) && !is_part(text[at + word.len()..].chars().next()))
}

/// The word a line of the vocabulary defines, a type or a macro.
fn defined_word(line: &str) -> &str {
    match line.strip_prefix("#define ") {
        Some(definition) => definition.split(['(', ' ']).next().unwrap_or_default(),
        None => line.trim_end_matches(';').rsplit(' ').next().unwrap_or_default(),
    }
}

/// The macro a paragraph defines, if it defines functions by a macro.
fn defined_macro(paragraph: &str) -> Option<&str> {
    let definition = paragraph.lines().find_map(|line| line.strip_prefix("#define LAZULI_"))?;
    let length = definition.find('(')?;
    let start = paragraph.find("LAZULI_")?;
    paragraph.get(start..start + "LAZULI_".len() + length)
}
