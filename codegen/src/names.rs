//! Names of parameters and kernels: legal in both languages, unique, and telling.

use std::collections::HashSet;

use crate::{Access, Affine, BufferId, Coefficient, DType, Expr, IndexOperand, Kernel, SizeId, Span, Stmt, Term};

/// Words of C, C++, CUDA C and OpenCL C that a kernel cannot be named by, and a few built-in functions short enough to be
/// met. ISO C11 6.4.1, C++17 5.11, OpenCL C 1.2 section 6.1.9, the CUDA C++ Programming Guide's language extensions.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "abs", "acos", "acosh", "add", "alignas", "alignof", "and", "asin", "asinh", "asm", "atan", "atan2", "atanh", "auto",
    "barrier", "bool", "break", "case", "catch", "cbrt", "ceil", "char", "class", "clz", "compl", "const", "constant",
    "constexpr", "continue", "copysign", "cos", "cosh", "decltype", "default", "delete", "do", "double", "else", "enum",
    "erf", "erfc", "exp", "exp2", "explicit", "expm1", "export", "extern", "false", "float", "floor", "fma", "fmod", "for",
    "friend", "global", "goto", "half", "hypot", "if", "image2d_t", "inline", "int", "kernel", "local", "log", "log10",
    "log1p", "log2", "long", "main", "max", "min", "mutable", "namespace", "new", "noexcept", "not", "nullptr", "operator",
    "or", "pow", "private", "protected", "public", "quad", "read_only", "register", "restrict", "return", "rint", "round",
    "sampler_t", "short", "sign", "signed", "sin", "sinh", "sizeof", "sqrt", "static", "struct", "switch", "tan", "tanh",
    "template", "this", "throw", "true", "trunc", "try", "typedef", "typeid", "typename", "uchar", "uint", "ulong", "union",
    "unsigned", "ushort", "using", "vector", "virtual", "void", "volatile", "while", "write_only", "xor",
];

/// Functions of OpenCL C and CUDA C that a function of the user's may well share a name with. OpenCL C 1.2 section 6.12, the
/// CUDA Math API, and what NVRTC declares by itself.
#[rustfmt::skip]
const BUILT_IN: &[&str] = &[
    "abs_diff", "acospi", "add_sat", "all", "any", "asinpi", "assert", "atan2pi", "atanpi", "bitselect", "clamp", "clock",
    "cospi", "cross", "cyl_bessel_i0", "cyl_bessel_i1", "degrees", "distance", "dot", "erfcinv", "erfcx", "erfinv", "exp10",
    "fabs", "fast_distance", "fast_length", "fast_normalize", "fdim", "fdivide", "fmax", "fmin", "fract", "free", "frexp",
    "hadd", "ilogb", "isequal", "isfinite", "isgreater", "isgreaterequal", "isinf", "isless", "islessequal", "islessgreater",
    "isnan", "isnormal", "isnotequal", "isordered", "isunordered", "j0", "j1", "jn", "ldexp", "length", "lgamma", "lgamma_r",
    "llabs", "llrint", "llround", "logb", "lrint", "lround", "mad", "mad24", "mad_hi", "mad_sat", "malloc", "maxmag",
    "mem_fence", "memcpy", "memmove", "memset", "minmag", "mix", "modf", "mul24", "mul_hi", "nan", "nearbyint", "nextafter",
    "norm", "norm3d", "norm4d", "normalize", "normcdf", "normcdfinv", "popcount", "pown", "powr", "prefetch", "printf",
    "radians", "rcbrt", "remainder", "remquo", "rhadd", "rhypot", "rnorm", "rootn", "rotate", "rsqrt", "scalbln", "scalbn",
    "select", "shuffle", "shuffle2", "signbit", "sincos", "sincospi", "sinpi", "smoothstep", "step", "sub_sat", "tanpi",
    "tgamma", "time", "upsample", "wait_group_events", "y0", "y1", "yn",
];

/// What families of such functions begin with.
const BUILT_IN_PREFIXES: &[&str] =
    &["as_", "async_", "atom_", "atomic_", "convert_", "get_", "half_", "native_", "vload", "vstore"];

/// True for a word that no name may be.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
        || BUILT_IN.contains(&name)
        || BUILT_IN_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// True for a name that the prelude's functions, types and macros may have: they begin with a dtype's name or are capitals.
pub(crate) fn is_prelude(name: &str) -> bool {
    DType::ALL.iter().any(|dtype| name.starts_with(dtype.name())) || name.starts_with(|c: char| c.is_ascii_uppercase())
}

/// The name a kernel is emitted under: its own, unless that cannot stand at the top of a source.
pub(crate) fn entry_name(name: &str) -> String {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let legal = name.chars().all(letter) && name.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    if legal && !is_prelude(name) && !is_reserved(name) {
        return name.to_owned();
    }
    let mended: String = name.chars().map(|c| if letter(c) { c } else { '_' }).collect();
    format!("kernel_{mended}")
}

/// The names of a kernel's parameters.
pub(crate) struct Names {
    pub buffers: Vec<String>,
    pub sizes: Vec<String>,
    pub scalars: Vec<String>,
}

impl Names {
    pub fn new(kernel: &Kernel) -> Self {
        let (mut inputs, mut outputs, mut partials, mut counters) = (0.., 0.., 0.., 0..);
        let number = |numbers: &mut std::ops::RangeFrom<u32>| numbers.next().unwrap_or_default();
        let buffers: Vec<String> = kernel
            .buffers
            .iter()
            .map(|buffer| match buffer.access {
                Access::Read => format!("in{}", number(&mut inputs)),
                Access::Write => format!("out{}", number(&mut outputs)),
                Access::Scratch => format!("partial{}", number(&mut partials)),
                Access::Counter => format!("count{}", number(&mut counters)),
                Access::Note => "notes".to_owned(),
            })
            .collect();
        let mut roles = Roles(vec![Role::None; kernel.sizes as usize]);
        for (number, axis) in kernel.axes.iter().enumerate() {
            if roles.0[axis.extent.0 as usize] == Role::None {
                roles.0[axis.extent.0 as usize] = Role::Extent(number);
            }
        }
        roles.visit(&kernel.body);
        let mut taken = HashSet::new();
        let sizes = roles.0.iter().enumerate().map(|(number, role)| {
            let name = match *role {
                Role::Extent(axis) => format!("n{axis}"),
                Role::Stride(buffer, axis) => format!("{}_stride{axis}", buffers[buffer.0 as usize]),
                Role::Offset(buffer) => format!("{}_offset", buffers[buffer.0 as usize]),
                Role::SharedStride => format!("stride{number}"),
                Role::Chunk => "chunk".to_owned(),
                Role::Plain | Role::None => format!("size{number}"),
            };
            if taken.insert(name.clone()) { name } else { format!("{name}_{number}") }
        });
        Self {
            sizes: sizes.collect(),
            scalars: (0..kernel.scalars.len()).map(|number| format!("s{number}")).collect(),
            buffers,
        }
    }

    pub fn size(&self, size: SizeId) -> &str {
        &self.sizes[size.0 as usize]
    }

    pub fn buffer(&self, buffer: BufferId) -> &str {
        &self.buffers[buffer.0 as usize]
    }
}

/// What a size is used for.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    None,
    Extent(usize),
    Stride(BufferId, usize),
    Offset(BufferId),
    SharedStride,
    Chunk,
    Plain,
}

struct Roles(Vec<Role>);

impl Roles {
    fn visit(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Let { expr, .. } => match expr {
                    Expr::Load { buffer, at, .. } => self.address(Some(*buffer), at),
                    Expr::Index(at) => self.address(None, at),
                    Expr::IndexBinary(_, a, b) | Expr::IndexLess(a, b) | Expr::IndexEqual(a, b) => {
                        for operand in [a, b] {
                            if let IndexOperand::Size(size) = operand {
                                self.set(*size, Role::Plain);
                            }
                        }
                    }
                    Expr::CheckedIndex { extent, .. } => self.set(*extent, Role::Plain),
                    _ => {}
                },
                Stmt::Store { buffer, at, .. } => self.address(Some(*buffer), at),
                Stmt::Reduce(reduce) => {
                    if let Span::Chunk { length, .. } = reduce.span {
                        self.set(length, Role::Chunk);
                    }
                    self.visit(&reduce.body);
                }
                Stmt::Combine(combine) => self.address(combine.partials.first().copied(), &combine.at),
                Stmt::Loop(own) => {
                    if let Span::Chunk { length, .. } = own.span {
                        self.set(length, Role::Chunk);
                    }
                    self.visit(&own.body);
                }
            }
        }
    }

    fn address(&mut self, buffer: Option<BufferId>, at: &Affine) {
        if let Some(offset) = at.offset {
            self.set(offset, buffer.map_or(Role::Plain, Role::Offset));
        }
        for (position, (term, coefficient)) in at.terms.iter().enumerate() {
            let Coefficient::Size(size) = *coefficient else { continue };
            let axis = match term {
                Term::Axis(axis) => axis.0 as usize,
                Term::Var(_) => position,
            };
            self.set(size, buffer.map_or(Role::SharedStride, |buffer| Role::Stride(buffer, axis)));
        }
    }

    /// A size used in two ways is named for neither; an extent stays one.
    fn set(&mut self, size: SizeId, role: Role) {
        let is_stride = |role| matches!(role, Role::Stride(..) | Role::SharedStride);
        let old = &mut self.0[size.0 as usize];
        *old = match *old {
            Role::None => role,
            Role::Extent(axis) => Role::Extent(axis),
            same if same == role => role,
            other if is_stride(other) && is_stride(role) => Role::SharedStride,
            _ => Role::Plain,
        };
    }
}
