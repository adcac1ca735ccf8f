//! Where a thread is, what its group shares, and where the group meets.

use lazuli_codegen::simt::function::PointsTo;
use lazuli_codegen::simt::ir::{Builtin, Expr, Memory, Space, Stmt};

use super::arrays::new_array;
use super::builder;
use super::memory::{ArrayType, Handle, LocalArray, MemoryKind, SliceMut};
use super::operators::{add, mul};
use super::scalar::KernelScalar;
use super::value::{Bind, Readable, Value};

/// Three numbers, along x, y and z.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Index3 {
    pub x: Value<usize>,
    pub y: Value<usize>,
    pub z: Value<usize>,
}

impl Index3 {
    fn of(builtin: impl Fn(u8) -> Builtin) -> Self {
        let [x, y, z] = [0, 1, 2].map(|axis| Value::of(Expr::Builtin(builtin(axis))));
        Self { x, y, z }
    }
}

impl Readable for Index3 {
    type Value = Index3;

    fn read(&self) -> Index3 {
        self.clone()
    }
}

impl Bind for Index3 {
    type Local = Index3;

    // It is the same for as long as the thread runs, so that it needs no variable.
    fn bind(self, _: &'static str) -> Index3 {
        self
    }
}

/// The thread's number in its group (`threadIdx`): `.x`, `.y`, `.z`. Threads that follow each other along x are neighbours.
pub fn thread_idx() -> Index3 {
    Index3::of(Builtin::ThreadIndex)
}

/// The group's number in the grid (`blockIdx`).
pub fn block_idx() -> Index3 {
    Index3::of(Builtin::GroupIndex)
}

/// Threads of a group (`blockDim`).
pub fn block_dim() -> Index3 {
    Index3::of(Builtin::GroupSize)
}

/// Groups of the grid (`gridDim`).
pub fn grid_dim() -> Index3 {
    Index3::of(Builtin::GridSize)
}

fn along(axis: u8) -> Value<usize> {
    let [group, size, thread] = [Builtin::GroupIndex(axis), Builtin::GroupSize(axis), Builtin::ThreadIndex(axis)];
    let before = mul(Value::of(Expr::Builtin(group)), Value::of(Expr::Builtin(size)));
    add(before, Value::of(Expr::Builtin(thread)))
}

fn size_along(axis: u8) -> Value<usize> {
    let [groups, size] = [Builtin::GridSize(axis), Builtin::GroupSize(axis)];
    mul(Value::of(Expr::Builtin(groups)), Value::of(Expr::Builtin(size)))
}

/// The thread's number in the whole grid, along x (Numba's `cuda.grid(1)`).
pub fn grid1() -> Value<usize> {
    along(0)
}

/// The thread's numbers in the whole grid, along x and y.
pub fn grid2() -> (Value<usize>, Value<usize>) {
    (along(0), along(1))
}

/// The thread's numbers in the whole grid, along x, y and z.
pub fn grid3() -> (Value<usize>, Value<usize>, Value<usize>) {
    (along(0), along(1), along(2))
}

/// Threads of the whole grid, along x (Numba's `cuda.gridsize(1)`): the step of a loop by which a grid goes through more
/// elements than it has threads.
pub fn grid_size1() -> Value<usize> {
    size_along(0)
}

/// Threads of the whole grid, along x and y.
pub fn grid_size2() -> (Value<usize>, Value<usize>) {
    (size_along(0), size_along(1))
}

/// Threads of the whole grid, along x, y and z.
pub fn grid_size3() -> (Value<usize>, Value<usize>, Value<usize>) {
    (size_along(0), size_along(1), size_along(2))
}

/// Waits until every thread of the group is here (`__syncthreads`). After it all of them see what they wrote before it, to
/// shared arrays and to slices.
///
/// Every thread of the group that has not returned must come to it, so it stands in no branch that some threads take and others
/// do not. It stands in kernels, not in device functions.
pub fn barrier() {
    let outside = builder::with(|builder| builder.key.is_some().then_some(builder.name)).flatten();
    match outside {
        Some(name) => builder::fail(|| format!("{name}: a barrier stands in kernels, not in functions they call")),
        None => builder::push(Stmt::Barrier),
    }
}

/// An array that the threads of a group share (`__shared__`), of one to three axes: `shared::<[[f32; 33]; 32]>()`. Its elements
/// hold anything until they are written.
pub fn shared<A: ArrayType>() -> LocalArray<A> {
    in_kernels("shared");
    new_array(Space::Group)
}

/// The shared array whose length the launch sets, by [`Launch::local_bytes`](crate::Launch::local_bytes) (CUDA's dynamic shared
/// memory); one a kernel at most.
pub fn shared_dynamic<T: KernelScalar>() -> SliceMut<T> {
    in_kernels("shared_dynamic");
    let memory = Memory::Array(builder::array(T::DTYPE, Vec::new(), Space::Group));
    SliceMut::at(Handle { memory, kind: MemoryKind { place: PointsTo::Group, extents: None } })
}

/// Shared arrays are the kernel's.
fn in_kernels(what: &str) {
    let outside = builder::with(|builder| builder.key.is_some().then_some(builder.name)).flatten();
    if let Some(name) = outside {
        builder::fail(|| format!("{name}: `{what}` stands in kernels; give the array to the function as `&mut`"));
    }
}
