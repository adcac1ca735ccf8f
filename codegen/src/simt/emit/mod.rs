//! Prints kernels of the SIMT IR as OpenCL C or CUDA C: the user's names, loops as `for` loops, and no more parentheses than
//! the languages ask for.
//!
//! `function` prints functions and their calls, `statement` and `expression` what bodies consist of, `index` the arithmetic of
//! u64, which is done in 32 bits where it provably fits (`range`), `memory` accesses, checked or not, `atomic` what no other
//! thread may come between, and `names` finds names that are free.

mod atomic;
mod expression;
mod function;
mod index;
mod memory;
mod names;
mod range;
mod statement;

use super::function::PointsTo;
use super::ir::{Argument, Array, Body, Builtin, Expr, Kernel, Memory, Param, Space, Stmt};
use super::scope::Scope;
use super::sites::{first_sites, reached_functions};
use super::walk::{Node, walk};
use crate::emit::arithmetic::Arithmetic;
use crate::emit::writer::{LINE, Writer};
use crate::names::entry_name;
use crate::{DType, Dialect, Source};
use names::{BodyNames, Taken};
use range::Known;

pub(crate) use function::Functions;

/// What [`emit`] is told beside the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct EmitOptions {
    /// As in [`crate::EmitOptions`].
    pub contraction: bool,
    /// As in [`crate::EmitOptions`].
    pub cpu_math: bool,
    /// True for a kernel that notes the first index out of range in its last argument, see
    /// [`NOTE_BYTES`](super::NOTE_BYTES); reads there give zero, and writes do nothing.
    pub checked: bool,
    /// The size of the group it is launched in, where it is made for one alone: the compiler then sees to it that so many
    /// threads find room.
    pub group: Option<[u32; 3]>,
}

/// Prints `kernel`, which must be valid ([`verify`](super::verify())).
///
/// The parameters of what is emitted, in order:
///
/// - for each parameter of the kernel: of a slice a pointer and then its length in elements as a u64; of a scalar its value,
///   f16 and bf16 as an f32, bool as a u8;
/// - for the group's array whose length the launch sets, if there is one, its length in elements as a u64;
/// - in a checked kernel a pointer to the note;
/// - in OpenCL C the `__local` pointer to that array; CUDA C takes the dynamic shared memory of the launch.
pub fn emit(kernel: &Kernel, dialect: Dialect, options: &EmitOptions) -> Source {
    let entry = entry_name(&kernel.name);
    let mut arithmetic = Arithmetic::new(dialect, options.cpu_math);
    let functions = reached_functions(&kernel.body.statements);
    let first = first_sites(kernel.body.sites.len(), &functions);
    let mut taken = Taken::new();
    taken.take(&entry);
    let functions = Functions::define(&functions, &mut arithmetic, taken, options.checked.then_some(&first));
    let mut emitter = BodyEmitter::new(Scope::of_kernel(kernel), &mut arithmetic, &functions, options.checked, 0);
    emitter.emit_kernel(kernel, &entry, options.group);
    let code = emitter.out.finish();
    let mut text = arithmetic.head(&code, options.contraction);
    text.push_str(&code);
    Source { text, entry }
}

/// The state of printing one body.
struct BodyEmitter<'a> {
    scope: Scope<'a>,
    dialect: Dialect,
    arithmetic: &'a mut Arithmetic,
    functions: &'a Functions,
    checked: bool,
    /// The number of the body's first site.
    first_site: u32,
    names: BodyNames,
    /// By variable: what is known of its value, and in which type it is declared.
    known: Vec<Known>,
    out: Writer,
}

impl<'a> BodyEmitter<'a> {
    fn new(
        scope: Scope<'a>,
        arithmetic: &'a mut Arithmetic,
        functions: &'a Functions,
        checked: bool,
        first_site: u32,
    ) -> Self {
        let names = BodyNames::new(&scope, functions.taken.clone(), checked);
        let known = range::unknown(scope.body());
        let dialect = arithmetic.dialect();
        Self { scope, dialect, arithmetic, functions, checked, first_site, names, known, out: Writer::default() }
    }

    fn emit_kernel(&mut self, kernel: &Kernel, entry: &str, group: Option<[u32; 3]>) {
        let mut parameters = Vec::new();
        let is_shared = shares_writes(&kernel.body);
        for (number, param) in kernel.params.iter().enumerate() {
            match *param {
                Param::Slice { dtype, is_mut, .. } => {
                    let name = &self.names.params[number];
                    // No two slices of a launch are one memory but where both are read. What other threads of the group
                    // write must be read again after a barrier, which a compiler need not do behind `restrict`.
                    let restrict = !is_mut || !is_shared.contains(&(number as u32));
                    parameters.push(self.pointer(PointsTo::Global, dtype, is_mut, restrict, name));
                    parameters.push(format!("{} {name}_len", self.dialect.value_type(DType::U64)));
                }
                Param::Scalar { var } => {
                    let dtype = self.scope.variable(var).map_or(DType::Bool, |variable| variable.dtype);
                    parameters.push(format!("{} {}", self.dialect.scalar_type(dtype), self.names.var(var)));
                }
            }
        }
        let sized_by_launch = |array: &Array| array.space == Space::Group && array.dims.is_empty();
        let dynamic = kernel.body.arrays.iter().position(sized_by_launch);
        if let Some(number) = dynamic {
            let length = self.dialect.value_type(DType::U64);
            parameters.push(format!("{length} {}_len", self.names.arrays[number]));
        }
        if self.checked {
            parameters.push(self.note_parameter());
        }
        if let (Some(number), Dialect::OpenClC) = (dynamic, self.dialect) {
            let (name, dtype) = (&self.names.arrays[number], kernel.body.arrays[number].dtype);
            parameters.push(self.pointer(PointsTo::Group, dtype, true, false, name));
        }
        let word = self.dialect.spelling().kernel;
        let head = match group {
            Some(group) => format!("{word} {} void {entry}(", self.dialect.group_extents(group)),
            None => format!("{word} void {entry}("),
        };
        self.open_signature(&head, &parameters);
        self.emit_arrays();
        self.emit_statements(&kernel.body.statements);
        self.out.close();
    }

    /// A line that opens a function, or as many as its parameters need.
    fn open_signature(&mut self, head: &str, parameters: &[String]) {
        let mut head = head.to_owned();
        let length: usize = parameters.iter().map(|parameter| parameter.len() + 2).sum();
        if head.len() + length <= LINE {
            head.push_str(&parameters.join(", "));
        } else {
            head.push_str("\n    ");
            let mut column = 4;
            for (number, parameter) in parameters.iter().enumerate() {
                let begins = column + parameter.len() > LINE;
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

    /// The declaration of a pointer to elements.
    fn pointer(&self, place: PointsTo, dtype: DType, is_mut: bool, restrict: bool, name: &str) -> String {
        let space = self.address_space(place);
        let constant = if is_mut { "" } else { "const " };
        let storage = self.dialect.storage_type(dtype);
        match restrict {
            true => format!("{space}{constant}{storage} *{} {name}", self.dialect.spelling().restrict),
            false => format!("{space}{constant}{storage} *{name}"),
        }
    }

    /// The qualifier of a pointer, with a space after it.
    fn address_space(&self, place: PointsTo) -> &'static str {
        match (self.dialect, place) {
            (Dialect::OpenClC, PointsTo::Global) => "__global ",
            (Dialect::OpenClC, PointsTo::Group) => "__local ",
            (Dialect::OpenClC, PointsTo::Thread) | (Dialect::CudaC, _) => "",
        }
    }

    fn note_parameter(&self) -> String {
        let space = self.address_space(PointsTo::Global);
        format!("{space}{} *{}", self.dialect.value_type(DType::U64), self.names.note)
    }

    /// Declares the arrays of the body.
    fn emit_arrays(&mut self) {
        for (array, name) in self.scope.body().arrays.iter().zip(&self.names.arrays) {
            let storage = self.dialect.storage_type(array.dtype);
            let extents: String = array.dims.iter().map(|extent| format!("[{extent}]")).collect();
            let shared = self.dialect.spelling().shared;
            match (array.space, array.dims.is_empty(), self.dialect) {
                (Space::Thread, ..) => self.out.line(&format!("{storage} {name}{extents} = {{0}};")),
                (Space::Group, false, _) => self.out.line(&format!("{shared} {storage} {name}{extents};")),
                (Space::Group, true, Dialect::CudaC) => self.out.line(&format!("extern {shared} {storage} {name}[];")),
                // A parameter.
                (Space::Group, true, Dialect::OpenClC) => {}
            }
        }
    }

    /// Where the thread is.
    fn builtin(&self, builtin: Builtin) -> String {
        let axis = |axis: u8| ['x', 'y', 'z'][usize::from(axis.min(2))];
        match (self.dialect, builtin) {
            (Dialect::OpenClC, Builtin::ThreadIndex(axis)) => format!("get_local_id({axis})"),
            (Dialect::OpenClC, Builtin::GroupIndex(axis)) => format!("get_group_id({axis})"),
            (Dialect::OpenClC, Builtin::GroupSize(axis)) => format!("get_local_size({axis})"),
            (Dialect::OpenClC, Builtin::GridSize(axis)) => format!("get_num_groups({axis})"),
            (Dialect::CudaC, Builtin::ThreadIndex(number)) => format!("threadIdx.{}", axis(number)),
            (Dialect::CudaC, Builtin::GroupIndex(number)) => format!("blockIdx.{}", axis(number)),
            (Dialect::CudaC, Builtin::GroupSize(number)) => format!("blockDim.{}", axis(number)),
            (Dialect::CudaC, Builtin::GridSize(number)) => format!("gridDim.{}", axis(number)),
        }
    }
}

/// The slices through which threads of a group may tell each other something: those that are read where there are barriers,
/// and those of atomics.
fn shares_writes(body: &Body) -> Vec<u32> {
    let (mut has_barrier, mut read, mut atomic) = (false, Vec::new(), Vec::new());
    let param = |memory: &Memory| match *memory {
        Memory::Param(number) => Some(number),
        Memory::Array(_) => None,
    };
    walk(&body.statements, &mut |node, _| match node {
        Node::Stmt(Stmt::Barrier) => has_barrier = true,
        Node::Stmt(Stmt::Atomic { element, .. }) => atomic.extend(param(&element.memory)),
        Node::Expr(Expr::Load(element)) => read.extend(param(&element.memory)),
        // A function may do either.
        Node::Stmt(Stmt::Call(_, arguments)) | Node::Expr(Expr::Call(_, arguments)) => {
            atomic.extend(arguments.iter().filter_map(|argument| match argument {
                Argument::Memory(memory) => param(memory),
                Argument::Value(_) => None,
            }));
        }
        Node::Stmt(_) | Node::Expr(_) => {}
    });
    if has_barrier {
        atomic.extend(read);
    }
    atomic
}
