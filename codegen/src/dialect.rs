//! The two languages the emitter writes, as one table of spellings: they differ in words, not in structure.

use crate::{DType, IndexWidth};

/// A language kernels are emitted in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dialect {
    /// OpenCL C 1.2.
    OpenClC,
    /// CUDA C as NVRTC takes it, with no header.
    CudaC,
}

/// How a [`Dialect`] says what both can say.
pub(crate) struct Spelling {
    /// Before a kernel's name.
    pub kernel: &'static str,
    /// Before the type of a pointer into device memory, with a space after it.
    pub global: &'static str,
    /// After a pointer's star.
    pub restrict: &'static str,
    /// Before an array that the threads of a group share.
    pub shared: &'static str,
    /// Waits for every thread of the group, and shows them what was written to shared arrays.
    pub barrier: &'static str,
    /// The number of a thread in its group.
    pub local_id: &'static str,
    /// The number of a group, by grid axis.
    pub group_id: [&'static str; 2],
    /// How many groups there are, by grid axis.
    pub groups: [&'static str; 2],
    /// After a 64-bit literal.
    pub long_suffix: &'static str,
    /// f32 infinity.
    pub infinity_f32: &'static str,
    /// f64 infinity.
    pub infinity_f64: &'static str,
}

static OPENCL_C: Spelling = Spelling {
    kernel: "__kernel",
    global: "__global ",
    restrict: "restrict",
    shared: "__local",
    barrier: "barrier(CLK_LOCAL_MEM_FENCE);",
    local_id: "get_local_id(0)",
    group_id: ["get_group_id(0)", "get_group_id(1)"],
    groups: ["get_num_groups(0)", "get_num_groups(1)"],
    long_suffix: "L",
    infinity_f32: "INFINITY",
    infinity_f64: "(double)INFINITY",
};

static CUDA_C: Spelling = Spelling {
    kernel: "extern \"C\" __global__",
    global: "",
    restrict: "__restrict__",
    shared: "__shared__",
    barrier: "__syncthreads();",
    local_id: "threadIdx.x",
    group_id: ["blockIdx.x", "blockIdx.y"],
    groups: ["gridDim.x", "gridDim.y"],
    long_suffix: "LL",
    infinity_f32: "__int_as_float(0x7f800000)",
    infinity_f64: "__longlong_as_double(0x7ff0000000000000LL)",
};

impl Dialect {
    /// Both languages.
    pub const ALL: [Dialect; 2] = [Dialect::OpenClC, Dialect::CudaC];

    /// The name users read.
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::OpenClC => "OpenCL C",
            Dialect::CudaC => "CUDA C",
        }
    }

    /// The usual ending of a file's name.
    pub const fn file_extension(self) -> &'static str {
        match self {
            Dialect::OpenClC => "cl",
            Dialect::CudaC => "cu",
        }
    }

    pub(crate) fn spelling(self) -> &'static Spelling {
        match self {
            Dialect::OpenClC => &OPENCL_C,
            Dialect::CudaC => &CUDA_C,
        }
    }

    /// The type of an element in memory.
    pub(crate) const fn storage_type(self, dtype: DType) -> &'static str {
        match (dtype, self) {
            (DType::Bool | DType::U8, Dialect::OpenClC) => "uchar",
            (DType::Bool | DType::U8, Dialect::CudaC) => "unsigned char",
            (DType::I8, Dialect::OpenClC) => "char",
            (DType::I8, Dialect::CudaC) => "signed char",
            (DType::I16, _) => "short",
            (DType::U16 | DType::F16 | DType::BF16, Dialect::OpenClC) => "ushort",
            (DType::U16 | DType::F16 | DType::BF16, Dialect::CudaC) => "unsigned short",
            (DType::I32, _) => "int",
            (DType::U32, Dialect::OpenClC) => "uint",
            (DType::U32, Dialect::CudaC) => "unsigned",
            (DType::I64, Dialect::OpenClC) => "long",
            (DType::I64, Dialect::CudaC) => "long long",
            (DType::U64, Dialect::OpenClC) => "ulong",
            (DType::U64, Dialect::CudaC) => "unsigned long long",
            (DType::F32, _) => "float",
            (DType::F64, _) => "double",
        }
    }

    /// The type of an element in a variable: f16 and bf16 are computed in f32.
    pub(crate) const fn value_type(self, dtype: DType) -> &'static str {
        match dtype {
            DType::Bool => "bool",
            DType::F16 | DType::BF16 => "float",
            other => self.storage_type(other),
        }
    }

    /// The type of a user scalar in the parameter list; a kernel of OpenCL C takes no `bool`.
    pub(crate) const fn scalar_type(self, dtype: DType) -> &'static str {
        match dtype {
            DType::Bool => self.storage_type(DType::U8),
            other => self.value_type(other),
        }
    }

    pub(crate) const fn index_type(self, width: IndexWidth) -> &'static str {
        match width {
            IndexWidth::I32 => self.value_type(DType::I32),
            IndexWidth::I64 => self.value_type(DType::I64),
        }
    }

    /// The type thread numbers are divided in: unsigned division is the shorter one.
    pub(crate) const fn count_type(self, width: IndexWidth) -> &'static str {
        match width {
            IndexWidth::I32 => self.value_type(DType::U32),
            IndexWidth::I64 => self.value_type(DType::U64),
        }
    }

    /// The number of a thread along a grid axis.
    pub(crate) fn global_id(self, width: IndexWidth, axis: usize) -> String {
        match self {
            Dialect::OpenClC => format!("get_global_id({axis})"),
            Dialect::CudaC => {
                let axis = ['x', 'y'][axis];
                let wide = match width {
                    IndexWidth::I32 => String::new(),
                    IndexWidth::I64 => format!("({})", self.count_type(width)),
                };
                format!("{wide}blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis}")
            }
        }
    }

    /// What tells the compiler the size of a group, and how many of them a multiprocessor must be able to run at once.
    pub(crate) fn group_size(self, threads: u32, at_once: Option<u32>) -> String {
        match (self, at_once) {
            (Dialect::OpenClC, _) => format!("__attribute__((reqd_work_group_size({threads}, 1, 1)))"),
            (Dialect::CudaC, None) => format!("__launch_bounds__({threads})"),
            (Dialect::CudaC, Some(groups)) => format!("__launch_bounds__({threads}, {groups})"),
        }
    }

    /// The same for a group of several extents.
    pub(crate) fn group_extents(self, [x, y, z]: [u32; 3]) -> String {
        match self {
            Dialect::OpenClC => format!("__attribute__((reqd_work_group_size({x}, {y}, {z})))"),
            Dialect::CudaC => self.group_size(x.saturating_mul(y).saturating_mul(z), None),
        }
    }
}
