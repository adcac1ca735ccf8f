//! A builder of kernels, and their launch on vectors.

use std::sync::Arc;

use lazuli_codegen::*;

use super::super::HostRuntime;
use crate::dtype::Element;
use crate::error::Result;
use crate::runtime::bytes::{of_slice, of_slice_mut};
use crate::runtime::{LaunchArgs, Memory, Runtime};

pub const MAP: Schedule = Schedule::Map { group: 1, width: 1, placement: Placement::InnerAxis };

/// A group for each point.
pub fn group(tree: Tree) -> Schedule {
    Schedule::Group { tree, points: 1, lane_order: LaneOrder::LanesFastest, steps: 0 }
}

/// A kernel in the making. Every size gets a parameter of its own.
pub struct Build {
    pub kernel: Kernel,
    pub sizes: Vec<i64>,
    bodies: Vec<Vec<Stmt>>,
    pub scalars: Vec<Scalar>,
}

impl Build {
    pub fn new() -> Self {
        let kernel = Kernel {
            name: "test".into(),
            index: IndexWidth::I64,
            buffers: vec![],
            sizes: 0,
            scalars: vec![],
            axes: vec![],
            parallel: vec![],
            vars: vec![],
            body: vec![],
        };
        Self { kernel, sizes: vec![], bodies: vec![vec![]], scalars: vec![] }
    }

    pub fn size(&mut self, value: i64) -> SizeId {
        self.sizes.push(value);
        self.kernel.sizes = self.sizes.len() as u32;
        SizeId(self.kernel.sizes - 1)
    }

    pub fn axis(&mut self, extent: i64) -> AxisId {
        let extent = self.size(extent);
        self.kernel.axes.push(Axis { extent });
        AxisId(self.kernel.axes.len() as u32 - 1)
    }

    pub fn parallel(&mut self, extent: i64) -> AxisId {
        let axis = self.axis(extent);
        self.kernel.parallel.push(axis);
        axis
    }

    pub fn input(&mut self, dtype: DType) -> BufferId {
        self.kernel.buffers.push(BufferParam { dtype, access: Access::Read });
        BufferId(self.kernel.buffers.len() as u32 - 1)
    }

    pub fn output(&mut self, dtype: DType) -> BufferId {
        self.kernel.buffers.push(BufferParam { dtype, access: Access::Write });
        BufferId(self.kernel.buffers.len() as u32 - 1)
    }

    /// `offset + sum of stride * axis`; a stride of one is written as such.
    pub fn at(&mut self, offset: i64, terms: &[(AxisId, i64)]) -> Affine {
        let terms: Vec<(Term, i64)> = terms.iter().map(|&(axis, by)| (Term::Axis(axis), by)).collect();
        self.at_terms(offset, &terms)
    }

    pub fn at_terms(&mut self, offset: i64, terms: &[(Term, i64)]) -> Affine {
        let offset = (offset != 0).then(|| self.size(offset));
        let terms = terms
            .iter()
            .map(|&(term, by)| (term, if by == 1 { Coefficient::One } else { Coefficient::Size(self.size(by)) }))
            .collect();
        Affine { offset, terms, ahead: None }
    }

    fn var(&mut self, kind: VarType) -> Var {
        self.kernel.vars.push(kind);
        Var(self.kernel.vars.len() as u32 - 1)
    }

    pub fn push(&mut self, stmt: Stmt) {
        self.bodies.last_mut().unwrap().push(stmt);
    }

    pub fn value(&mut self, dtype: DType, expr: Expr) -> Var {
        let var = self.var(VarType::Value(dtype));
        self.push(Stmt::Let { var, expr });
        var
    }

    pub fn index(&mut self, expr: Expr) -> Var {
        let var = self.var(VarType::Index);
        self.push(Stmt::Let { var, expr });
        var
    }

    pub fn load(&mut self, buffer: BufferId, at: Affine) -> Var {
        let dtype = self.kernel.buffers[buffer.0 as usize].dtype;
        self.value(dtype, Expr::Load { buffer, at, wide: false })
    }

    pub fn scalar<T: Element>(&mut self, value: T) -> Var {
        self.kernel.scalars.push(T::DTYPE);
        self.scalars.push(value.to_scalar());
        self.value(T::DTYPE, Expr::Scalar(ScalarId(self.scalars.len() as u32 - 1)))
    }

    pub fn dtype(&self, var: Var) -> DType {
        match self.kernel.vars[var.0 as usize] {
            VarType::Value(dtype) => dtype,
            VarType::Index => panic!("an index"),
        }
    }

    pub fn unary(&mut self, op: UnaryOp, a: Var) -> Var {
        let dtype = op.result(self.dtype(a)).unwrap();
        self.value(dtype, Expr::Unary(op, a))
    }

    pub fn binary(&mut self, op: BinaryOp, a: Var, b: Var) -> Var {
        let dtype = op.result(self.dtype(a)).unwrap();
        self.value(dtype, Expr::Binary(op, a, b))
    }

    pub fn store(&mut self, buffer: BufferId, at: Affine, value: Var) {
        self.push(Stmt::Store { buffer, at, value, wide: false });
    }

    /// A reduction whose body `fill` builds; it gives the values to fold.
    pub fn reduce(
        &mut self,
        axes: &[AxisId],
        span: Span,
        tree: Tree,
        fill: impl FnOnce(&mut Self) -> Vec<(ReduceOp, Var)>,
    ) -> Vec<Var> {
        self.bodies.push(vec![]);
        let values = fill(self);
        let body = self.bodies.pop().unwrap();
        let folds: Vec<Fold> = values
            .into_iter()
            .map(|(op, value)| {
                let kind = self.kernel.vars[value.0 as usize];
                Fold { result: self.var(kind), op, value }
            })
            .collect();
        let results = folds.iter().map(|fold| fold.result).collect();
        self.push(Stmt::Reduce(Reduce { axes: axes.to_vec(), span, tree, body, folds }));
        results
    }

    /// A loop at the top level, whose body `fill` builds.
    pub fn each(&mut self, axes: &[AxisId], fill: impl FnOnce(&mut Self)) {
        self.bodies.push(vec![]);
        fill(self);
        let body = self.bodies.pop().unwrap();
        self.push(Stmt::Loop(Loop { axes: axes.to_vec(), span: Span::Whole, body }));
    }

    pub fn finish(mut self) -> (Arc<Kernel>, Vec<i64>, Vec<Scalar>) {
        self.kernel.body = self.bodies.pop().unwrap();
        (Arc::new(self.kernel), self.sizes, self.scalars)
    }
}

/// Device memory that holds a slice.
pub fn upload<T: Element>(runtime: &HostRuntime, data: &[T]) -> Box<dyn Memory> {
    let bytes = of_slice(data);
    let memory = runtime.allocate(bytes.len().max(1)).unwrap();
    runtime.upload(bytes, &*memory, 0).unwrap();
    memory
}

/// Compiles and launches; buffers in the kernel's order.
pub fn launch(build: Build, schedule: Schedule, buffers: &[&dyn Memory]) -> Result<()> {
    let runtime = HostRuntime::new();
    let (kernel, sizes, scalars) = build.finish();
    let executable = runtime.compile(&kernel, schedule, false)?;
    let grid = schedule.grid(&kernel, &sizes);
    runtime.launch(&*executable, &LaunchArgs { buffers, sizes: &sizes, scalars: &scalars, grid })
}

/// Runs a kernel whose last buffer is its output of `n` elements.
pub fn run<T: Element>(build: Build, schedule: Schedule, inputs: &[&dyn Memory], n: usize) -> Vec<T> {
    try_run(build, schedule, inputs, n).unwrap()
}

pub fn try_run<T: Element>(build: Build, schedule: Schedule, inputs: &[&dyn Memory], n: usize) -> Result<Vec<T>> {
    let runtime = HostRuntime::new();
    let mut result = vec![T::from_f64(7.0); n];
    let output = upload(&runtime, &result);
    let mut buffers = inputs.to_vec();
    buffers.push(&*output);
    launch(build, schedule, &buffers)?;
    runtime.download(&*output, 0, of_slice_mut(&mut result))?;
    Ok(result)
}

/// Numbers without a pattern, about -4 to 4.
pub fn noise(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) as f32 / (1 << 21) as f32) - 4.0
        })
        .collect()
}
