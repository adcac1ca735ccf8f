//! The kernels of a scan, in the SIMT IR.
//!
//! The elements are seen as `rows` of `length` that lie `inner` apart. A row is cut into chunks. Where there are several, each
//! is folded first, the results are scanned (by these same kernels), and each chunk is then scanned from what comes before it:
//! every element is read twice and written once.
//!
//! Along memory (`inner` of 1, on a GPU) a group takes a chunk: it comes in through the group's array so that reads and
//! writes stay side by side, each thread goes over a few neighbours, and the threads' results are scanned by doubling. Else a
//! thread takes a chunk, its neighbours the same chunk of the next rows.

use lazuli_codegen::simt::Function;
use lazuli_codegen::simt::ir::{
    Argument, Array, Body, Builtin, Element, Expr, Kernel, Memory, Param, Place, Site, Space, Stmt, Var, Variable,
};
use lazuli_codegen::{BinaryOp, DType, Scalar};

/// Threads of a group that scans a chunk together.
pub const THREADS: usize = 256;

/// Neighbouring elements that each of them goes over.
pub const EACH: usize = 8;

/// What tells the kernels of scans apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Variant {
    /// What combines.
    pub combine: Function,
    /// What leaves every element as it is.
    pub identity: Scalar,
    /// Who takes a chunk.
    pub by: By,
    /// What is done with it.
    pub work: Work,
}

/// Who takes a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum By {
    Group,
    Thread,
}

/// What is done with a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Work {
    /// Its elements are folded into one.
    Fold,
    /// It is scanned.
    Scan {
        /// True where an element's own value is not in its result.
        is_exclusive: bool,
        /// True where what comes before each chunk is given.
        has_before: bool,
    },
}

/// The kernel of a variant: `source`, `before` where it is given, `target`, then `length`, `chunk`, `chunks` and `inner`.
pub fn kernel(variant: Variant) -> Kernel {
    let dtype = variant.identity.dtype();
    let mut build = Build { variant, dtype, body: Body::default(), params: Vec::new() };
    build.body.sites.push(Place { file: file!(), line: line!(), column: column!() });
    let source = build.slice("source", false);
    let before = match variant.work {
        Work::Scan { has_before: true, .. } => Some(build.slice("before", false)),
        _ => None,
    };
    let target = build.slice("target", true);
    let [length, chunk, chunks, inner] = ["length", "chunk", "chunks", "inner"].map(|name| build.size(name));
    let slices = Slices { source, before, target };
    let sizes = Sizes { length, chunk, chunks, inner };
    let statements = match variant.by {
        By::Group => build.by_group(&slices, &sizes),
        By::Thread => build.by_thread(&slices, &sizes),
    };
    build.body.statements = statements;
    let work = match variant.work {
        Work::Fold => "fold",
        Work::Scan { is_exclusive: true, .. } => "exclusive_scan",
        Work::Scan { is_exclusive: false, .. } => "scan",
    };
    let name = format!("{}_{work}_{}", variant.combine.name(), dtype.name());
    Kernel { name, params: build.params, body: build.body }
}

struct Slices {
    source: Memory,
    before: Option<Memory>,
    target: Memory,
}

struct Sizes {
    length: Var,
    chunk: Var,
    chunks: Var,
    inner: Var,
}

struct Build {
    variant: Variant,
    dtype: DType,
    body: Body,
    params: Vec<Param>,
}

impl Build {
    fn slice(&mut self, name: &'static str, is_mut: bool) -> Memory {
        self.params.push(Param::Slice { name, dtype: self.dtype, is_mut });
        Memory::Param(self.params.len() as u32 - 1)
    }

    fn size(&mut self, name: &'static str) -> Var {
        let var = self.index(name);
        self.params.push(Param::Scalar { var });
        var
    }

    fn index(&mut self, name: &'static str) -> Var {
        self.var(name, DType::U64)
    }

    fn value(&mut self, name: &'static str) -> Var {
        self.var(name, self.dtype)
    }

    fn var(&mut self, name: &'static str, dtype: DType) -> Var {
        self.body.vars.push(Variable { name, dtype });
        Var(self.body.vars.len() as u32 - 1)
    }

    fn identity(&self) -> Expr {
        Expr::Literal(self.variant.identity)
    }

    /// `combine(before, next)`.
    fn combine(&self, before: Expr, next: Expr) -> Expr {
        Expr::Call(self.variant.combine, vec![Argument::Value(before), Argument::Value(next)])
    }

    /// What the first element of a chunk is combined with.
    fn start(&self, slices: &Slices, at: Expr) -> Expr {
        slices.before.map_or_else(|| self.identity(), |before| load(before, at))
    }

    /// `running = combine(running, value)`, and what is stored on the way.
    fn step(&self, running: Var, value: Expr, store: impl FnOnce(Expr) -> Stmt) -> Vec<Stmt> {
        let next = Stmt::Assign(running, self.combine(read(running), value));
        match self.variant.work {
            Work::Fold => vec![next],
            Work::Scan { is_exclusive: true, .. } => vec![store(read(running)), next],
            Work::Scan { is_exclusive: false, .. } => vec![next, store(read(running))],
        }
    }

    /// A thread for each chunk of each row; rows side by side are neighbours.
    fn by_thread(&mut self, slices: &Slices, sizes: &Sizes) -> Vec<Stmt> {
        let [thread, lane, number, part, row, first, last, k] =
            ["thread", "lane", "number", "part", "row", "first", "last", "k"].map(|name| self.index(name));
        let (running, value) = (self.value("running"), self.value("value"));
        let at = add(mul(add(mul(read(row), read(sizes.length)), read(k)), read(sizes.inner)), read(lane));
        let mut body = vec![Stmt::Let(value, load(slices.source, at.clone()))];
        body.extend(self.step(running, read(value), |result| store(slices.target, at, result)));
        let total = Expr::Len(slices.before.unwrap_or(slices.target));
        let mut statements = vec![Stmt::Let(thread, grid_index())];
        // There is a result for each thread, or a row for each where there is one chunk.
        let is_past = match (self.variant.work, slices.before) {
            (Work::Fold, _) | (_, Some(_)) => Expr::Binary(BinaryOp::Ge, read(thread).into(), total.into()),
            _ => Expr::Binary(BinaryOp::Ge, mul(read(thread), read(sizes.length)).into(), total.into()),
        };
        statements.push(Stmt::If { condition: is_past, then: vec![Stmt::Return(None)], otherwise: Vec::new() });
        statements.extend([
            Stmt::Let(lane, rem(read(thread), read(sizes.inner))),
            Stmt::Let(number, div(read(thread), read(sizes.inner))),
            Stmt::Let(part, rem(read(number), read(sizes.chunks))),
            Stmt::Let(row, div(read(number), read(sizes.chunks))),
            Stmt::Let(first, mul(read(part), read(sizes.chunk))),
            Stmt::Let(last, least(add(read(first), read(sizes.chunk)), read(sizes.length))),
            Stmt::Let(running, self.start(slices, read(thread))),
            Stmt::For { var: k, start: read(first), end: read(last), step: 1, body },
        ]);
        if self.variant.work == Work::Fold {
            statements.push(store(slices.target, read(thread), read(running)));
        }
        statements
    }

    /// A group for each chunk of each row, of `THREADS * EACH` elements; rows lie one after the other.
    fn by_group(&mut self, slices: &Slices, sizes: &Sizes) -> Vec<Stmt> {
        let chunk = THREADS * EACH;
        // One element is left out after every 32, so that threads that go over neighbours meet no bank of memory twice.
        let staged = self.array("staged", chunk + chunk / 32);
        let totals = self.array("totals", THREADS);
        let [group, thread, row, part, first, count, k, at, reach] =
            ["group", "thread", "row", "part", "first", "count", "k", "at", "reach"].map(|name| self.index(name));
        let (total, before, running) = (self.value("total"), self.value("before"), self.value("running"));
        let place = |k: Expr| add(k.clone(), div(k, number(32)));
        let mine = |j: Expr| add(mul(read(thread), number(EACH)), j);

        let mut statements = vec![
            Stmt::Let(group, Expr::Builtin(Builtin::GroupIndex(0))),
            Stmt::Let(thread, Expr::Builtin(Builtin::ThreadIndex(0))),
            Stmt::Let(row, div(read(group), read(sizes.chunks))),
            Stmt::Let(part, rem(read(group), read(sizes.chunks))),
            Stmt::Let(first, add(mul(read(row), read(sizes.length)), mul(read(part), number(chunk)))),
            Stmt::Let(count, least(sub(read(sizes.length), mul(read(part), number(chunk))), number(chunk))),
            // In: neighbouring threads take neighbouring elements; past the end the identity, which changes nothing.
            Stmt::For {
                var: k,
                start: read(thread),
                end: number(chunk),
                step: THREADS as u64,
                body: vec![store(
                    staged,
                    place(read(k)),
                    Expr::Choose(Box::new([
                        less(read(k), read(count)),
                        load(slices.source, add(read(first), read(k))),
                        self.identity(),
                    ])),
                )],
            },
            Stmt::Barrier,
            // Each thread folds its own neighbours.
            Stmt::Let(total, load(staged, place(mine(number(0))))),
        ];
        let j = self.index("j");
        statements.push(Stmt::For {
            var: j,
            start: number(1),
            end: number(EACH),
            step: 1,
            body: vec![Stmt::Assign(total, self.combine(read(total), load(staged, place(mine(read(j))))))],
        });
        // The threads' results, scanned by doubling: after each round a thread's holds twice as many of those before it.
        statements.extend([
            store(totals, read(thread), read(total)),
            Stmt::Barrier,
            Stmt::Let(reach, number(1)),
            Stmt::Loop(vec![
                Stmt::If {
                    condition: Expr::Binary(BinaryOp::Ge, read(reach).into(), number(THREADS).into()),
                    then: vec![Stmt::Break],
                    otherwise: Vec::new(),
                },
                Stmt::If {
                    condition: Expr::Binary(BinaryOp::Ge, read(thread).into(), read(reach).into()),
                    then: vec![Stmt::Assign(
                        total,
                        self.combine(load(totals, sub(read(thread), read(reach))), read(total)),
                    )],
                    otherwise: Vec::new(),
                },
                Stmt::Barrier,
                store(totals, read(thread), read(total)),
                Stmt::Barrier,
                Stmt::Assign(reach, mul(read(reach), number(2))),
            ]),
        ]);
        if self.variant.work == Work::Fold {
            statements.push(Stmt::If {
                condition: Expr::Binary(BinaryOp::Eq, read(thread).into(), number(THREADS - 1).into()),
                then: vec![store(slices.target, read(group), read(total))],
                otherwise: Vec::new(),
            });
            return statements;
        }
        let of_threads = Expr::Choose(Box::new([
            less(number(0), read(thread)),
            load(totals, sub(read(thread), number(1))),
            self.identity(),
        ]));
        let start = match slices.before {
            Some(memory) => self.combine(load(memory, read(group)), of_threads),
            None => of_threads,
        };
        let j = self.index("j");
        let body = {
            let value = self.value("value");
            let place = place(mine(read(j)));
            let mut body = vec![Stmt::Let(value, load(staged, place.clone()))];
            body.extend(self.step(running, read(value), |result| store(staged, place, result)));
            body
        };
        statements.extend([
            Stmt::Let(before, start),
            Stmt::Let(running, read(before)),
            Stmt::For { var: j, start: number(0), end: number(EACH), step: 1, body },
            Stmt::Barrier,
            // Out, as it came in.
            Stmt::For {
                var: at,
                start: read(thread),
                end: read(count),
                step: THREADS as u64,
                body: vec![store(slices.target, add(read(first), read(at)), load(staged, place(read(at))))],
            },
        ]);
        statements
    }

    fn array(&mut self, name: &'static str, length: usize) -> Memory {
        self.body.arrays.push(Array { name, dtype: self.dtype, dims: vec![length], space: Space::Group });
        Memory::Array(self.body.arrays.len() as u32 - 1)
    }
}

/// The thread's number in the grid.
fn grid_index() -> Expr {
    let [group, size, thread] =
        [Builtin::GroupIndex(0), Builtin::GroupSize(0), Builtin::ThreadIndex(0)].map(Expr::Builtin);
    add(mul(group, size), thread)
}

fn read(var: Var) -> Expr {
    Expr::Var(var)
}

fn number(value: usize) -> Expr {
    Expr::Literal(Scalar::from_bits(DType::U64, value as u64))
}

fn element(memory: Memory, at: Expr) -> Element {
    Element { memory, index: vec![at], site: Site(0) }
}

fn load(memory: Memory, at: Expr) -> Expr {
    Expr::Load(Box::new(element(memory, at)))
}

fn store(memory: Memory, at: Expr, value: Expr) -> Stmt {
    Stmt::Store(element(memory, at), value)
}

fn less(a: Expr, b: Expr) -> Expr {
    Expr::Binary(BinaryOp::Lt, a.into(), b.into())
}

fn least(a: Expr, b: Expr) -> Expr {
    Expr::Binary(BinaryOp::Minimum, a.into(), b.into())
}

fn add(a: Expr, b: Expr) -> Expr {
    Expr::Binary(BinaryOp::Add, a.into(), b.into())
}

fn sub(a: Expr, b: Expr) -> Expr {
    Expr::Binary(BinaryOp::Sub, a.into(), b.into())
}

fn mul(a: Expr, b: Expr) -> Expr {
    Expr::Binary(BinaryOp::Mul, a.into(), b.into())
}

fn div(a: Expr, b: Expr) -> Expr {
    Expr::Binary(BinaryOp::Div, a.into(), b.into())
}

fn rem(a: Expr, b: Expr) -> Expr {
    Expr::Binary(BinaryOp::Rem, a.into(), b.into())
}
