//! Kernels built by hand, as lowering would make them.
#![allow(dead_code, reason = "each test binary uses a part")]

pub mod combine;
pub mod kernels;
pub mod nvrtc;
pub mod opencl;
pub mod rows;
pub mod run;
pub mod simt;
pub mod stencils;
pub mod tiles;

use lazuli_codegen::*;

/// Builds a kernel statement by statement.
pub struct Builder {
    pub kernel: Kernel,
}

impl Builder {
    pub fn new(name: &str) -> Self {
        let kernel = Kernel {
            name: name.to_owned(),
            index: IndexWidth::I32,
            buffers: Vec::new(),
            sizes: 0,
            scalars: Vec::new(),
            axes: Vec::new(),
            parallel: Vec::new(),
            vars: Vec::new(),
            body: Vec::new(),
        };
        Self { kernel }
    }

    pub fn input(&mut self, dtype: DType) -> BufferId {
        self.buffer(dtype, Access::Read)
    }

    pub fn output(&mut self, dtype: DType) -> BufferId {
        self.buffer(dtype, Access::Write)
    }

    pub fn scratch(&mut self, dtype: DType) -> BufferId {
        self.buffer(dtype, Access::Scratch)
    }

    pub fn counter(&mut self) -> BufferId {
        self.buffer(DType::U32, Access::Counter)
    }

    /// The notes of bad indices; the last buffer.
    pub fn notes(&mut self) -> BufferId {
        self.buffer(DType::I32, Access::Note)
    }

    fn buffer(&mut self, dtype: DType, access: Access) -> BufferId {
        self.kernel.buffers.push(BufferParam { dtype, access });
        BufferId(self.kernel.buffers.len() as u32 - 1)
    }

    pub fn size(&mut self) -> SizeId {
        self.kernel.sizes += 1;
        SizeId(self.kernel.sizes - 1)
    }

    pub fn scalar(&mut self, dtype: DType) -> ScalarId {
        self.kernel.scalars.push(dtype);
        ScalarId(self.kernel.scalars.len() as u32 - 1)
    }

    /// An axis that is reduced.
    pub fn axis(&mut self) -> AxisId {
        let extent = self.size();
        self.kernel.axes.push(Axis { extent });
        AxisId(self.kernel.axes.len() as u32 - 1)
    }

    /// A parallel axis inside the ones before.
    pub fn parallel(&mut self) -> AxisId {
        let axis = self.axis();
        self.kernel.parallel.push(axis);
        axis
    }

    pub fn var(&mut self, var_type: VarType) -> Var {
        self.kernel.vars.push(var_type);
        Var(self.kernel.vars.len() as u32 - 1)
    }

    /// A `Let` at the end of `body`.
    pub fn value(&mut self, body: &mut Vec<Stmt>, dtype: DType, expr: Expr) -> Var {
        let var = self.var(VarType::Value(dtype));
        body.push(Stmt::Let { var, expr });
        var
    }

    pub fn index(&mut self, body: &mut Vec<Stmt>, expr: Expr) -> Var {
        let var = self.var(VarType::Index);
        body.push(Stmt::Let { var, expr });
        var
    }

    pub fn load(&mut self, body: &mut Vec<Stmt>, buffer: BufferId, at: &Affine, wide: bool) -> Var {
        let dtype = self.kernel.buffers[buffer.0 as usize].dtype;
        self.value(body, dtype, Expr::Load { buffer, at: at.clone(), wide })
    }

    pub fn unary(&mut self, body: &mut Vec<Stmt>, op: UnaryOp, a: Var) -> Var {
        let dtype = op.result(self.dtype(a)).expect("defined");
        self.value(body, dtype, Expr::Unary(op, a))
    }

    pub fn binary(&mut self, body: &mut Vec<Stmt>, op: BinaryOp, a: Var, b: Var) -> Var {
        let dtype = op.result(self.dtype(a)).expect("defined");
        self.value(body, dtype, Expr::Binary(op, a, b))
    }

    pub fn store(&mut self, body: &mut Vec<Stmt>, buffer: BufferId, at: &Affine, value: Var, wide: bool) {
        body.push(Stmt::Store { buffer, at: at.clone(), value, wide });
    }

    /// A reduction of one value at the end of `body`.
    pub fn reduce(&mut self, body: &mut Vec<Stmt>, reduce: Reduction, op: ReduceOp, value: Var) -> Var {
        let result = self.var(VarType::Value(self.dtype(value)));
        let Reduction { axes, span, tree, body: inner } = reduce;
        body.push(Stmt::Reduce(Reduce { axes, span, tree, body: inner, folds: vec![Fold { result, op, value }] }));
        result
    }

    pub fn dtype(&self, var: Var) -> DType {
        match self.kernel.vars[var.0 as usize] {
            VarType::Value(dtype) => dtype,
            VarType::Index => panic!("an index"),
        }
    }

    pub fn finish(mut self, body: Vec<Stmt>) -> Kernel {
        self.kernel.body = body;
        self.kernel
    }
}

/// What [`Builder::reduce`] folds, and how.
pub struct Reduction {
    pub axes: Vec<AxisId>,
    pub span: Span,
    pub tree: Tree,
    pub body: Vec<Stmt>,
}

/// `offset + axis * stride + ...`; a stride of `None` is one.
pub fn at(offset: Option<SizeId>, axes: &[(AxisId, Option<SizeId>)]) -> Affine {
    let terms =
        axes.iter().map(|&(axis, stride)| (Term::Axis(axis), stride.map_or(Coefficient::One, Coefficient::Size)));
    Affine { offset, terms: terms.collect(), ahead: None }
}

/// A map for GPUs.
pub const fn linear(width: u32) -> Schedule {
    Schedule::Map { group: 256, width, placement: Placement::Linear }
}

/// A map for CPUs.
pub const INNER: Schedule = Schedule::Map { group: 256, width: 1, placement: Placement::InnerAxis };

/// A group for each point, which folds along its tree.
pub const fn group(lanes: u32, width: u32) -> Schedule {
    rows(lanes, width, 1, 0)
}

/// Groups of `points` points, lanes fastest; with `steps` values are kept.
pub const fn rows(lanes: u32, width: u32, points: u32, steps: u32) -> Schedule {
    Schedule::Group { tree: Tree { lanes, width }, points, lane_order: LaneOrder::LanesFastest, steps }
}

/// Groups of `points` neighbouring columns, one accumulator in each lane.
pub const fn columns(lanes: u32, points: u32, steps: u32) -> Schedule {
    Schedule::Group { tree: Tree { lanes, width: 1 }, points, lane_order: LaneOrder::PointsFastest, steps }
}

/// The tree a schedule runs.
pub const fn tree_of(schedule: &Schedule) -> Tree {
    match *schedule {
        Schedule::Group { tree, .. } => tree,
        Schedule::Map { .. } | Schedule::Rows { .. } | Schedule::Tile { .. } => Tree::SERIAL,
    }
}
