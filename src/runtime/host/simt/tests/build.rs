//! Kernels in the making, and their launch on vectors.

use std::sync::Arc;

use lazuli_codegen::simt::ir::{self, *};
use lazuli_codegen::{BinaryOp, DType, Scalar};

use super::super::{HostKernel, launch};
use crate::dtype::Element;
use crate::error::Result;
use crate::runtime::Memory as _;
use crate::runtime::bytes::{of_slice, of_slice_mut};
use crate::runtime::explicit::{RawArg, RawGrid};
use crate::runtime::host::HostMemory;

/// A kernel in the making.
#[derive(Default)]
pub struct Build {
    pub params: Vec<Param>,
    pub body: Body,
}

impl Build {
    pub fn slice(&mut self, dtype: DType, is_mut: bool) -> Memory {
        self.params.push(Param::Slice { name: "slice", dtype, is_mut });
        Memory::Param(self.params.len() as u32 - 1)
    }

    pub fn scalar(&mut self, dtype: DType) -> Expr {
        let var = self.var(dtype);
        self.params.push(Param::Scalar { var });
        Expr::Var(var)
    }

    pub fn var(&mut self, dtype: DType) -> Var {
        self.body.vars.push(Variable { name: "v", dtype });
        Var(self.body.vars.len() as u32 - 1)
    }

    pub fn array(&mut self, dtype: DType, dims: &[usize], space: Space) -> Memory {
        self.body.arrays.push(Array { name: "array", dtype, dims: dims.to_vec(), space });
        Memory::Array(self.body.arrays.len() as u32 - 1)
    }

    pub fn element(&mut self, memory: Memory, index: impl IntoIterator<Item = Expr>) -> ir::Element {
        let line = self.body.sites.len() as u32;
        self.body.sites.push(Place { file: "kernel.rs", line, column: 1 });
        ir::Element { memory, index: index.into_iter().collect(), site: Site(line) }
    }

    pub fn load(&mut self, memory: Memory, index: impl IntoIterator<Item = Expr>) -> Expr {
        Expr::Load(Box::new(self.element(memory, index)))
    }

    pub fn store(&mut self, memory: Memory, index: impl IntoIterator<Item = Expr>, value: Expr) -> Stmt {
        Stmt::Store(self.element(memory, index), value)
    }

    pub fn finish(mut self, statements: Vec<Stmt>) -> Arc<Kernel> {
        self.body.statements = statements;
        Arc::new(Kernel { name: "test".into(), params: self.params, body: self.body })
    }
}

/// One argument.
pub enum Given<'a> {
    Slice(&'a mut dyn Bytes),
    Scalar(Scalar),
}

/// Elements as bytes.
pub trait Bytes {
    fn bytes(&mut self) -> &mut [u8];
    fn elements(&self) -> u64;
}

impl<T: Element> Bytes for Vec<T> {
    fn bytes(&mut self) -> &mut [u8] {
        of_slice_mut(self)
    }

    fn elements(&self) -> u64 {
        self.len() as u64
    }
}

/// A grid along x.
pub fn line(groups: u32, threads: u32) -> RawGrid {
    RawGrid { groups: [groups, 1, 1], threads: [threads, 1, 1], local_bytes: 0 }
}

/// A kernel with its arguments in memory of the host's.
pub struct Compiled {
    kernel: HostKernel,
    memories: Vec<HostMemory>,
    /// By argument: true for memory, and the bytes of its length or of the value.
    values: Vec<(bool, [u8; 8], usize)>,
    note: Option<HostMemory>,
}

impl Compiled {
    pub fn new(kernel: &Arc<Kernel>, given: &mut [Given]) -> Self {
        Self::with(kernel, false, given).unwrap()
    }

    fn with(kernel: &Arc<Kernel>, checked: bool, given: &mut [Given]) -> Result<Self> {
        let kernel = HostKernel::new(kernel, checked)?;
        let (mut memories, mut values) = (Vec::new(), Vec::new());
        for argument in given.iter_mut() {
            match argument {
                Given::Slice(slice) => {
                    values.push((true, slice.elements().to_ne_bytes(), 8));
                    let bytes = slice.bytes();
                    let memory = HostMemory::allocate(bytes.len().max(1))?;
                    // SAFETY: as many bytes as were allocated.
                    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory.data(), bytes.len()) };
                    memories.push(memory);
                }
                Given::Scalar(scalar) => {
                    let (bytes, size) = scalar.argument_bytes();
                    values.push((false, bytes, size));
                }
            }
        }
        let note = checked.then(|| HostMemory::allocate(64)).transpose()?;
        if let Some(note) = &note {
            // SAFETY: so many bytes were allocated.
            unsafe { note.data().write_bytes(0, 64) };
        }
        Ok(Self { kernel, memories, values, note })
    }

    fn try_launch(&self, grid: &RawGrid) -> Result<()> {
        let mut arguments = Vec::new();
        let mut memories = self.memories.iter();
        for (is_memory, value, size) in &self.values {
            if *is_memory {
                arguments.push(RawArg::Memory(memories.next().unwrap(), 0));
            }
            arguments.push(RawArg::Bytes(&value[..*size]));
        }
        let length = (u64::from(grid.local_bytes) / 4).to_ne_bytes();
        if grid.local_bytes > 0 {
            arguments.push(RawArg::Bytes(&length));
        }
        arguments.extend(self.note.as_ref().map(|note| RawArg::Memory(note, 0)));
        launch(&self.kernel, grid, &arguments)
    }

    pub fn launch(&self, grid: &RawGrid) {
        self.try_launch(grid).unwrap();
    }
}

/// Launches a kernel; slices come back as they are after it. Gives the note of a checked kernel.
pub fn run_with(kernel: &Arc<Kernel>, grid: &RawGrid, checked: bool, given: &mut [Given]) -> Result<[u64; 8]> {
    let compiled = Compiled::with(kernel, checked, given)?;
    compiled.try_launch(grid)?;
    let mut memories = compiled.memories.iter();
    for argument in given.iter_mut() {
        if let Given::Slice(slice) = argument {
            let (memory, bytes) = (memories.next().unwrap(), slice.bytes());
            assert!(memory.bytes() >= bytes.len());
            // SAFETY: the memory was made as long as the slice.
            unsafe { std::ptr::copy_nonoverlapping(memory.data(), bytes.as_mut_ptr(), bytes.len()) };
        }
    }
    let mut words = [0u64; 8];
    if let Some(note) = &compiled.note {
        // SAFETY: the note has 64 bytes.
        unsafe { std::ptr::copy_nonoverlapping(note.data(), of_slice_mut(&mut words).as_mut_ptr(), 64) };
    }
    Ok(words)
}

/// The same, unchecked.
pub fn run(kernel: &Arc<Kernel>, grid: &RawGrid, given: &mut [Given]) {
    run_with(kernel, grid, false, given).unwrap();
}

pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

pub fn add(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Add, a, b)
}

pub fn mul(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Mul, a, b)
}

pub fn rem(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Rem, a, b)
}

pub fn less(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Lt, a, b)
}

pub fn equal(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Eq, a, b)
}

pub fn cast(to: DType, a: Expr) -> Expr {
    Expr::Cast(to, Box::new(a))
}

/// A literal of any element type.
pub fn literal<T: Element>(value: T) -> Expr {
    let mut bits = [0; 8];
    let bytes = of_slice(std::slice::from_ref(&value));
    bits[..bytes.len()].copy_from_slice(bytes);
    Expr::Literal(Scalar::from_bits(T::DTYPE, u64::from_ne_bytes(bits)))
}

pub fn n(value: u64) -> Expr {
    literal(value)
}

/// The thread's number in the grid, along x.
pub fn global() -> Expr {
    let [group, size, thread] =
        [Builtin::GroupIndex(0), Builtin::GroupSize(0), Builtin::ThreadIndex(0)].map(Expr::Builtin);
    add(mul(group, size), thread)
}

pub fn when(condition: Expr, then: Vec<Stmt>) -> Stmt {
    Stmt::If { condition, then, otherwise: Vec::new() }
}
