//! Prints a kernel under a schedule as OpenCL C or CUDA C.
//!
//! One emitter serves both languages: [`Dialect`] holds what they spell differently. `map`, `tile` and `group` lay
//! the work out, `rows` reads for several rows before it computes them, `elements` deals the elements of a loop to
//! lanes and `lanes` combines what they folded, `combine` what groups did, `recompute` settles which values a later loop
//! computes again, `block` and `serial` print statements, `expression`, `operation`, `cast` and `index` print values.

pub(crate) mod arithmetic;
mod block;
mod cast;
mod combine;
mod elements;
mod expression;
mod facts;
mod group;
mod index;
mod lanes;
mod literal;
mod map;
mod operation;
pub(crate) mod prelude;
mod recompute;
mod rows;
mod serial;
pub(crate) mod text;
mod tile;
pub(crate) mod user_call;
mod walk;
pub(crate) mod writer;

use std::collections::HashMap;

use crate::dialect::Spelling;
use crate::names::{Names, entry_name};
use crate::{Access, AxisId, Combine, DType, Dialect, Kernel, Reduce, Schedule, Span, Stmt, Var, VarType};
use arithmetic::Arithmetic;
use elements::Kept;
use facts::Facts;
use group::Group;
use text::Text;
use tile::Tile;
use writer::{LINE, Writer};

/// Threads of a multiprocessor at once where rows are kept in registers: each then has 64 of them, and while one group
/// waits, another works. Groups that wait for each other are counted on it.
const THREADS_AT_ONCE: u32 = 1024;

/// What the emitter is told beside the kernel and its schedule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct EmitOptions {
    /// True lets the compiler contract `a * b + c` into one rounding. OpenCL C says it in the source; for CUDA C the
    /// runtime says it by `--fmad`.
    pub contraction: bool,
    /// True for OpenCL on a CPU that has f64: f32 functions are written out in f64, of which its compiler makes vectors,
    /// where the language's own are calls that it makes one by one. CUDA C takes no notice.
    pub cpu_math: bool,
}

/// An emitted kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// The whole text.
    pub text: String,
    /// The name of the kernel in it: the kernel's own, unless that is a word of the language.
    pub entry: String,
}

/// Prints `kernel`, which must be valid ([`verify_kernel`](crate::verify_kernel)), as `schedule` runs it.
pub fn emit(kernel: &Kernel, schedule: &Schedule, dialect: Dialect, options: &EmitOptions) -> Source {
    let entry = entry_name(&kernel.name);
    let kernel = &*recompute::recompute(kernel, schedule);
    let mut emitter = Emitter::new(kernel, schedule, dialect, options);
    emitter.arithmetic.define_functions(kernel, &entry);
    emitter.emit_signature(&entry);
    match *schedule {
        Schedule::Map { width, placement, .. } => emitter.emit_map(width, placement),
        Schedule::Rows { width, rows, placement, .. } => emitter.emit_run_of_rows(width, rows, placement),
        Schedule::Tile { group, side, width, across } => emitter.emit_tile(Tile::new(group, side, width, across)),
        Schedule::Group { tree, points, lane_order, steps } => {
            emitter.emit_group(Group { tree, points, lane_order, steps, lane: "lane" });
        }
    }
    emitter.out.close();
    let code = emitter.out.finish();
    let mut text = emitter.arithmetic.head(&code, options.contraction);
    text.push_str(&code);
    Source { text, entry }
}

/// Bytes of local (shared) memory that a group of the emitted kernel takes at the most: in CUDA C a warp needs none.
pub fn local_memory_bytes(kernel: &Kernel, schedule: &Schedule) -> usize {
    let (tree, points) = match schedule {
        Schedule::Map { .. } | Schedule::Rows { .. } => return 0,
        Schedule::Tile { side, .. } => return tile::local_memory_bytes(kernel, schedule, *side),
        Schedule::Group { tree, .. } if tree.lanes == 1 => return 0,
        Schedule::Group { tree, points, .. } => (tree, points),
    };
    let results = kernel.body.iter().filter_map(|stmt| match stmt {
        Stmt::Reduce(Reduce { folds, .. }) | Stmt::Combine(Combine { folds, .. }) => {
            Some(folds.iter().map(|fold| fold.result))
        }
        Stmt::Let { .. } | Stmt::Store { .. } | Stmt::Loop(_) => None,
    });
    let element = |var: Var| match kernel.vars[var.0 as usize] {
        VarType::Value(dtype) if dtype.is_half() => DType::F32.size_bytes(),
        VarType::Value(dtype) => dtype.size_bytes(),
        VarType::Index => DType::I64.size_bytes(),
    };
    results.flatten().map(element).sum::<usize>() * (tree.lanes * points) as usize
}

/// The state of one emission.
struct Emitter<'a> {
    kernel: &'a Kernel,
    schedule: &'a Schedule,
    dialect: Dialect,
    words: &'static Spelling,
    names: Names,
    facts: Facts,
    arithmetic: Arithmetic,
    out: Writer,
    /// By variable: its name, or its expression where it is used once.
    values: Vec<Text>,
    /// By variable: its name, if it has one.
    value_names: Vec<Option<String>>,
    /// By variable: where it is kept for later loops, if it is.
    slots: Vec<Option<Text>>,
    /// The variables kept so far.
    kept: Vec<Kept>,
    /// By variable: where it lies as it was read from memory, if that was done beforehand.
    read: Vec<Option<Text>>,
    /// By buffer: where what is stored to it goes first, if it goes through a tile.
    turned: Vec<Option<Text>>,
    /// By axis: its index.
    axes: Vec<Text>,
    /// The condition under which the neighbour at hand exists, where it may not.
    guard: Option<Text>,
    /// The condition under which the thread's point exists, where it may not.
    in_range: Option<Text>,
    /// The names of the first element number, and of the one past the last, of chunks at the top level of a group.
    spans: Vec<(Span, Vec<AxisId>, String, String)>,
    /// True where a thread's number among those that fold what points hand in has a name.
    has_member: bool,
    /// How many names begin with each word.
    name_counts: HashMap<&'static str, u32>,
}

impl<'a> Emitter<'a> {
    fn new(kernel: &'a Kernel, schedule: &'a Schedule, dialect: Dialect, options: &EmitOptions) -> Self {
        Emitter {
            kernel,
            schedule,
            dialect,
            words: dialect.spelling(),
            names: Names::new(kernel),
            facts: Facts::new(kernel, schedule),
            arithmetic: Arithmetic::new(dialect, options.cpu_math),
            out: Writer::default(),
            values: vec![Text::atom(""); kernel.vars.len()],
            value_names: vec![None; kernel.vars.len()],
            slots: vec![None; kernel.vars.len()],
            kept: Vec::new(),
            read: vec![None; kernel.vars.len()],
            turned: vec![None; kernel.buffers.len()],
            axes: (0..kernel.axes.len()).map(|axis| Text::atom(format!("i{axis}"))).collect(),
            guard: None,
            in_range: None,
            spans: Vec::new(),
            has_member: false,
            name_counts: HashMap::new(),
        }
    }

    fn emit_signature(&mut self, entry: &str) {
        let words = self.words;
        let mut parameters = Vec::new();
        for (buffer, name) in self.kernel.buffers.iter().zip(&self.names.buffers) {
            let storage = self.dialect.storage_type(buffer.dtype);
            parameters.push(match buffer.access {
                Access::Read => format!("{}const {storage} *{} {name}", words.global, words.restrict),
                Access::Write => format!("{}{storage} *{} {name}", words.global, words.restrict),
                // Other groups write there too.
                Access::Scratch | Access::Counter | Access::Note => format!("{}{storage} *{name}", words.global),
            });
        }
        let index = self.dialect.index_type(self.kernel.index);
        parameters.extend(self.names.sizes.iter().map(|name| format!("{index} {name}")));
        for (&dtype, name) in self.kernel.scalars.iter().zip(&self.names.scalars) {
            parameters.push(format!("{} {name}", self.dialect.scalar_type(dtype)));
        }
        let mut head = match self.schedule.threads() {
            Some(threads) => {
                let is_kept =
                    matches!(self.schedule, Schedule::Group { tree, steps, .. } if *steps > 0 && tree.lanes > 1);
                let at_once = (is_kept && threads < THREADS_AT_ONCE).then(|| THREADS_AT_ONCE / threads);
                format!("{} {} void {entry}(", words.kernel, self.dialect.group_size(threads, at_once))
            }
            None => format!("{} void {entry}(", words.kernel),
        };
        let length: usize = parameters.iter().map(|parameter| parameter.len() + 2).sum();
        if head.len() + length <= LINE {
            head.push_str(&parameters.join(", "));
        } else {
            // Pointers, sizes and scalars each begin a line.
            head.push_str("\n    ");
            let mut column = 4;
            for (number, parameter) in parameters.iter().enumerate() {
                let begins = number == self.kernel.buffers.len()
                    || number == self.kernel.buffers.len() + self.names.sizes.len()
                    || column + parameter.len() > LINE;
                if number > 0 {
                    head.push_str(if begins { ",\n    " } else { ", " });
                    column = if begins { 4 } else { column + 2 };
                }
                head.push_str(parameter);
                column += parameter.len();
            }
        }
        self.out.open(&format!("{head})"));
    }

    /// A name of its own that begins with `word`; a long word stands alone the first time.
    fn fresh_name(&mut self, word: &'static str) -> String {
        let count = self.name_counts.entry(word).or_default();
        *count += 1;
        if *count == 1 && word.len() > 1 { word.to_owned() } else { format!("{word}{}", *count - 1) }
    }

    /// The variable's name; the first to ask chooses the word it begins with.
    fn value_name(&mut self, var: Var, word: &'static str) -> String {
        if let Some(name) = &self.value_names[var.0 as usize] {
            return name.clone();
        }
        let name = self.fresh_name(word);
        self.value_names[var.0 as usize] = Some(name.clone());
        name
    }

    fn value(&self, var: Var) -> &Text {
        &self.values[var.0 as usize]
    }

    fn set_value(&mut self, var: Var, text: Text) {
        self.values[var.0 as usize] = text;
    }

    /// The type of a variable in C.
    fn c_type(&self, var: Var) -> &'static str {
        match self.kernel.vars[var.0 as usize] {
            VarType::Value(dtype) => self.dialect.value_type(dtype),
            VarType::Index => self.dialect.index_type(self.kernel.index),
        }
    }

    /// The element type of a variable; an index counts as the integer it is.
    fn dtype(&self, var: Var) -> DType {
        match (self.kernel.vars[var.0 as usize], self.kernel.index) {
            (VarType::Value(dtype), _) => dtype,
            (VarType::Index, crate::IndexWidth::I32) => DType::I32,
            (VarType::Index, crate::IndexWidth::I64) => DType::I64,
        }
    }
}

impl Schedule {
    /// Threads in a group, where that is one number whatever the sizes.
    fn threads(&self) -> Option<u32> {
        match *self {
            Schedule::Map { group, placement, .. } | Schedule::Rows { group, placement, .. } => match placement {
                crate::Placement::Linear => Some(group),
                crate::Placement::InnerAxis => None,
            },
            Schedule::Tile { group, .. } => Some(group),
            Schedule::Group { tree, points, .. } => Some(tree.lanes * points),
        }
    }
}
