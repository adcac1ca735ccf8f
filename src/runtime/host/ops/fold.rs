//! Folding vectors: element by element into as many accumulators (a loop over rows), or along the vector into a tree.

use std::mem::MaybeUninit;
use std::sync::Arc;

use lazuli_codegen::{DType, ReduceOp};

use super::apply::{picked, source};
use super::user::UserFold;

/// The loops of one reduction on one type.
#[derive(Clone, Copy)]
pub struct FoldOps {
    /// Sets accumulators to the identity: accumulators, count.
    pub start: unsafe fn(*mut u8, usize),
    /// `acc[i] = op(acc[i], value[i])`: accumulators, values, count.
    pub columns: unsafe fn(*mut u8, *const u8, usize),
    /// Element i goes to accumulator `(phase + i) % width`: accumulators, values, count, phase, width.
    pub rows: unsafe fn(*mut u8, *const u8, usize, usize, usize),
    /// Combines `lanes * width` accumulators into the first: accumulators, lanes, width.
    pub combine: unsafe fn(*mut u8, usize, usize),
    /// Folds each of several rows of one length into its result: results, accumulators of one row, values, rows, length,
    /// lanes and width of the tree.
    pub segments: unsafe fn(*mut u8, *mut u8, *const u8, usize, usize, [usize; 2]),
}

/// How one reduction folds vectors.
#[derive(Clone)]
pub enum Folding {
    /// By loops compiled for it.
    BuiltIn(FoldOps),
    /// By a function of the user's.
    User(Arc<UserFold>),
}

/// # Safety
/// Of all: what the field of [`FoldOps`] with that name asks for.
impl Folding {
    pub unsafe fn start(&self, acc: *mut u8, n: usize) {
        match self {
            // SAFETY (of all that follow): the caller's promise.
            Folding::BuiltIn(ops) => unsafe { (ops.start)(acc, n) },
            // SAFETY: as above.
            Folding::User(fold) => unsafe { fold.start(acc, n) },
        }
    }

    pub unsafe fn columns(&self, acc: *mut u8, values: *const u8, n: usize) {
        match self {
            // SAFETY: as above.
            Folding::BuiltIn(ops) => unsafe { (ops.columns)(acc, values, n) },
            // SAFETY: as above.
            Folding::User(fold) => unsafe { fold.columns(acc, values, n) },
        }
    }

    pub unsafe fn rows(&self, acc: *mut u8, values: *const u8, n: usize, phase: usize, width: usize) {
        match self {
            // SAFETY: as above.
            Folding::BuiltIn(ops) => unsafe { (ops.rows)(acc, values, n, phase, width) },
            // SAFETY: as above.
            Folding::User(fold) => unsafe { fold.rows(acc, values, n, phase, width) },
        }
    }

    pub unsafe fn combine(&self, acc: *mut u8, lanes: usize, width: usize) {
        match self {
            // SAFETY: as above.
            Folding::BuiltIn(ops) => unsafe { (ops.combine)(acc, lanes, width) },
            // SAFETY: as above.
            Folding::User(fold) => unsafe { fold.combine(acc, lanes, width) },
        }
    }

    pub unsafe fn segments(
        &self,
        results: *mut u8,
        acc: *mut u8,
        values: *const u8,
        rows: usize,
        length: usize,
        tree: [usize; 2],
    ) {
        match self {
            // SAFETY: as above.
            Folding::BuiltIn(ops) => unsafe { (ops.segments)(results, acc, values, rows, length, tree) },
            // SAFETY: as above.
            Folding::User(fold) => unsafe { fold.segments(results, acc, values, rows, length, tree) },
        }
    }
}

/// An associative operation with its identity.
pub trait Fold {
    /// Accumulator and value, as registers hold them.
    type T: Copy;
    /// What an accumulator starts from.
    const IDENTITY: Self::T;
    /// The operation.
    fn apply(acc: Self::T, value: Self::T) -> Self::T;
}

/// The loops of a reduction, or `None` where it is not defined.
pub fn fold_ops(op: ReduceOp, dtype: DType) -> Option<FoldOps> {
    if !op.accepts(dtype) {
        return None;
    }
    macro_rules! number {
        ($type:ident, $zero:expr, $one:expr, $least:expr, $most:expr, $add:expr, $mul:expr) => {{
            fold!(Sum, $type, $zero, $add);
            fold!(Prod, $type, $one, $mul);
            // NaN if either is NaN; the comparison is false for integers.
            #[allow(clippy::eq_op, reason = "the test for NaN that integers pass too")]
            mod order {
                use super::Fold;
                fold!(Min, $type, $most, |a, b| if a != a || a < b { a } else { b });
                fold!(Max, $type, $least, |a, b| if a != a || a > b { a } else { b });
            }
            match op {
                ReduceOp::Sum => Some(loops::<Sum>()),
                ReduceOp::Prod => Some(loops::<Prod>()),
                ReduceOp::Min => Some(loops::<order::Min>()),
                ReduceOp::Max => Some(loops::<order::Max>()),
                ReduceOp::Any | ReduceOp::All | ReduceOp::Custom(_) => None,
            }
        }};
    }
    macro_rules! fold {
        ($name:ident, $type:ident, $identity:expr, |$a:ident, $b:ident| $body:expr) => {
            pub struct $name;
            impl Fold for $name {
                type T = $type;
                const IDENTITY: $type = $identity;
                #[inline(always)]
                fn apply($a: $type, $b: $type) -> $type {
                    $body
                }
            }
        };
        ($name:ident, $type:ident, $identity:expr, $method:expr) => {
            fold!($name, $type, $identity, |a, b| $method(a, b));
        };
    }
    macro_rules! integer {
        ($type:ident) => {
            number!($type, 0, 1, $type::MIN, $type::MAX, $type::wrapping_add, $type::wrapping_mul)
        };
    }
    macro_rules! float {
        ($type:ident) => {
            number!($type, -0.0, 1.0, $type::NEG_INFINITY, $type::INFINITY, std::ops::Add::add, std::ops::Mul::mul)
        };
    }
    fold!(Any, u8, 0, |a, b| a | b);
    fold!(All, u8, 1, |a, b| a & b);
    match dtype {
        DType::Bool => match op {
            ReduceOp::Any => Some(loops::<Any>()),
            ReduceOp::All => Some(loops::<All>()),
            _ => None,
        },
        DType::I8 => integer!(i8),
        DType::I16 => integer!(i16),
        DType::I32 => integer!(i32),
        DType::I64 => integer!(i64),
        DType::U8 => integer!(u8),
        DType::U16 => integer!(u16),
        DType::U32 => integer!(u32),
        DType::U64 => integer!(u64),
        // Minima and maxima are exact, so halves need no rounding.
        DType::F16 | DType::BF16 | DType::F32 => float!(f32),
        DType::F64 => float!(f64),
    }
}

fn loops<F: Fold>() -> FoldOps {
    FoldOps {
        start: start::<F>,
        columns: pick_columns::<F>(),
        rows: pick_rows::<F>(),
        combine: combine::<F>,
        segments: pick_segments::<F>(),
    }
}

unsafe fn start<F: Fold>(acc: *mut u8, n: usize) {
    // SAFETY: the caller gives n accumulators.
    unsafe { super::apply::target::<F::T>(acc, n) }.iter_mut().for_each(|acc| {
        acc.write(F::IDENTITY);
    });
}

/// # Safety
/// `acc` points to `n` accumulators that were started.
#[inline(always)]
unsafe fn accumulators<'a, T>(acc: *mut u8, n: usize) -> &'a mut [T] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(acc.cast(), n) }
}

picked! {
    pick_columns<Fold>: unsafe fn(*mut u8, *const u8, usize), (acc: *mut u8, values: *const u8, n: usize) {
        // SAFETY: the caller gives n accumulators, started, and n values apart from them.
        let (acc, values) = unsafe { (accumulators::<F::T>(acc, n), source::<F::T>(values, n)) };
        for (acc, &value) in acc.iter_mut().zip(values) {
            *acc = F::apply(*acc, value);
        }
    }
}

picked! {
    pick_rows<Fold>: unsafe fn(*mut u8, *const u8, usize, usize, usize),
    (acc: *mut u8, values: *const u8, n: usize, phase: usize, width: usize) {
        // SAFETY: the caller gives `width` accumulators, started, and n values apart from them.
        let (acc, values) = unsafe { (accumulators::<F::T>(acc, width), source::<F::T>(values, n)) };
        match (phase, width) {
            (_, 1) => rows_of::<F, 1>(acc, values),
            (0, 8) => rows_of::<F, 8>(acc, values),
            (0, 16) => rows_of::<F, 16>(acc, values),
            (0, 32) => rows_of::<F, 32>(acc, values),
            (0, 64) => rows_of::<F, 64>(acc, values),
            _ => rows_of_any_width::<F>(acc, values, phase),
        }
    }
}

/// The accumulators stay in vector registers over all chunks.
#[inline(always)]
fn rows_of<F: Fold, const W: usize>(acc: &mut [F::T], values: &[F::T]) {
    let (chunks, tail) = values.as_chunks::<W>();
    let mut held = [F::IDENTITY; W];
    held.copy_from_slice(acc);
    for chunk in chunks {
        for (held, &value) in held.iter_mut().zip(chunk) {
            *held = F::apply(*held, value);
        }
    }
    for (held, &value) in held.iter_mut().zip(tail) {
        *held = F::apply(*held, value);
    }
    acc.copy_from_slice(&held);
}

#[inline(always)]
fn rows_of_any_width<F: Fold>(acc: &mut [F::T], values: &[F::T], phase: usize) {
    let (first, rest) = values.split_at(values.len().min(acc.len() - phase));
    for (acc, &value) in acc[phase..].iter_mut().zip(first) {
        *acc = F::apply(*acc, value);
    }
    for chunk in rest.chunks(acc.len()) {
        for (acc, &value) in acc.iter_mut().zip(chunk) {
            *acc = F::apply(*acc, value);
        }
    }
}

picked! {
    pick_segments<Fold>: unsafe fn(*mut u8, *mut u8, *const u8, usize, usize, [usize; 2]),
    (results: *mut u8, acc: *mut u8, values: *const u8, rows: usize, length: usize, tree: [usize; 2]) {
        // SAFETY: the caller gives `rows` results, the accumulators of one row, and `rows * length` values, all apart.
        let (results, values) = unsafe {
            (super::apply::target::<F::T>(results, rows), source::<F::T>(values, rows * length))
        };
        let [lanes, width] = tree;
        if lanes * width == 1 {
            return plain_segments::<F>(results, values, length);
        }
        for (result, row) in results.iter_mut().zip(values.chunks_exact(length)) {
            // SAFETY: as above.
            let acc = unsafe {
                start::<F>(acc, lanes * width);
                accumulators::<F::T>(acc, lanes * width)
            };
            match lanes * width {
                8 => rows_of::<F, 8>(acc, row),
                16 => rows_of::<F, 16>(acc, row),
                32 => rows_of::<F, 32>(acc, row),
                _ => rows_of_any_width::<F>(acc, row, 0),
            }
            combine_tree::<F>(acc, lanes, width);
            result.write(acc[0]);
        }
    }
}

/// Rows side by side, each in a plain loop.
#[inline(always)]
fn plain_segments<F: Fold>(results: &mut [MaybeUninit<F::T>], values: &[F::T], length: usize) {
    const ROWS: usize = 8;
    let mut first = 0;
    while first + ROWS <= results.len() {
        let rows = &values[first * length..(first + ROWS) * length];
        let mut held = [F::IDENTITY; ROWS];
        for j in 0..length {
            for (k, held) in held.iter_mut().enumerate() {
                *held = F::apply(*held, rows[k * length + j]);
            }
        }
        for (result, held) in results[first..].iter_mut().zip(held) {
            result.write(held);
        }
        first += ROWS;
    }
    for (result, row) in results[first..].iter_mut().zip(values[first * length..].chunks_exact(length)) {
        result.write(row.iter().fold(F::IDENTITY, |acc, &value| F::apply(acc, value)));
    }
}

unsafe fn combine<F: Fold>(acc: *mut u8, lanes: usize, width: usize) {
    // SAFETY: the caller gives lanes * width accumulators, started.
    combine_tree::<F>(unsafe { accumulators::<F::T>(acc, lanes * width) }, lanes, width);
}

#[inline(always)]
fn combine_tree<F: Fold>(acc: &mut [F::T], lanes: usize, width: usize) {
    let halve = |from: usize, count: usize, step: usize, acc: &mut [F::T]| {
        let mut half = count / 2;
        while half > 0 {
            for v in 0..half {
                acc[from + v * step] = F::apply(acc[from + v * step], acc[from + (v + half) * step]);
            }
            half /= 2;
        }
    };
    for lane in 0..lanes {
        halve(lane * width, width, 1, acc);
    }
    halve(0, lanes, width, acc);
}
