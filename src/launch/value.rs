//! Arguments with their memory in hand, and whether a kernel takes them.

use lazuli_codegen::simt::ir;
use lazuli_codegen::{DType, Scalar};

use super::arg::SliceOf;
use crate::buffer::MemFlags;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::runtime::explicit::{RawParam, RawParamKind};

/// An argument as a launch passes it on.
pub(crate) enum Value<'a> {
    /// Elements in device memory.
    Slice(SliceOf),
    /// An element by value.
    Scalar(Scalar),
    /// A struct by value.
    Bytes(&'a [u8]),
    /// So many bytes of memory for each group.
    Local(usize),
}

impl Value<'_> {
    /// What it is, for messages.
    fn describe(&self) -> String {
        match self {
            Value::Slice(slice) => format!("{} elements of {}", slice.len, slice.dtype),
            Value::Scalar(scalar) => format!("a scalar of {}", scalar.dtype()),
            Value::Bytes(bytes) => format!("a struct of {} bytes", bytes.len()),
            Value::Local(bytes) => format!("{bytes} bytes of local memory"),
        }
    }
}

/// Refuses memory of another device, memory used against its flags, and parts that begin where the device lets none begin.
/// Errors: `InvalidLaunch`.
pub(super) fn check_memory(kernel: &str, device: &Device, values: &[Value]) -> Result<()> {
    let step = device.runtime().modules().offset_alignment();
    for (number, value) in values.iter().enumerate() {
        let Value::Slice(slice) = value else { continue };
        let what = if slice.device != *device {
            let (there, here) = (slice.device.name(), device.name());
            match there == here {
                true => format!("argument {number} is memory of another handle of {here}, opened on its own"),
                false => format!("argument {number} is memory of {there}, and the kernel runs on {here}"),
            }
        } else if slice.is_mut && slice.flags.contains(MemFlags::READ_ONLY) {
            format!("argument {number} is a READ_ONLY buffer, which kernels may not write; give `&` of it")
        } else if !slice.is_mut && slice.flags.contains(MemFlags::WRITE_ONLY) {
            format!("argument {number} is a WRITE_ONLY buffer, which kernels may not read; give `&mut` of it")
        } else if slice.len > 0 && !first_byte(slice).is_multiple_of(step) {
            let (first, device) = (first_byte(slice), device.name());
            format!(
                "argument {number} is a part that begins at byte {first} of its buffer, and {device} takes multiples of {step}"
            )
        } else {
            continue;
        };
        return Err(refused(kernel, what));
    }
    Ok(())
}

fn first_byte(slice: &SliceOf) -> usize {
    slice.start * slice.dtype.size_bytes()
}

/// Holds arguments against a kernel in Rust. Errors: `InvalidLaunch`.
pub(super) fn check_rust(kernel: &ir::Kernel, values: &[Value]) -> Result<()> {
    check_count(&kernel.name, kernel.params.len(), values.len())?;
    for (number, (param, value)) in kernel.params.iter().zip(values).enumerate() {
        let takes = match param {
            ir::Param::Slice { dtype, is_mut, .. } => match value {
                Value::Slice(slice) if slice.dtype == *dtype && (slice.is_mut || !is_mut) => continue,
                _ => format!("&{}[{dtype}]", if *is_mut { "mut " } else { "" }),
            },
            ir::Param::Scalar { var } => {
                let dtype = kernel.body.vars.get(var.0 as usize).map_or(DType::Bool, |var| var.dtype);
                match value {
                    Value::Scalar(scalar) if scalar.dtype() == dtype => continue,
                    _ => format!("a scalar of {dtype}"),
                }
            }
        };
        let given = value.describe();
        return Err(refused(&kernel.name, format!("parameter {number} takes {takes} and was given {given}")));
    }
    Ok(())
}

/// Holds arguments against what the compiler tells of a function's parameters. `is_local_passed`: memory of a group is an
/// argument (OpenCL C). Errors: `InvalidLaunch`.
pub(super) fn check_function(kernel: &str, params: &[RawParam], values: &[Value], is_local_passed: bool) -> Result<()> {
    let passed = |value: &&Value| is_local_passed || !matches!(value, Value::Local(_));
    check_count(kernel, params.len(), values.iter().filter(passed).count())?;
    for (number, (param, value)) in params.iter().zip(values.iter().filter(passed)).enumerate() {
        let (kind, bytes) = match value {
            Value::Slice(_) => (RawParamKind::Pointer, size_of::<u64>()),
            Value::Scalar(scalar) => (RawParamKind::Value, scalar.dtype().size_bytes()),
            Value::Bytes(bytes) => (RawParamKind::Value, bytes.len()),
            Value::Local(_) => (RawParamKind::LocalMemory, 0),
        };
        let fits_kind = param.kind.is_none_or(|takes| takes == kind);
        let fits_size = kind == RawParamKind::LocalMemory || param.bytes.is_none_or(|takes| takes == bytes);
        let fits_type = match (value, &param.type_name) {
            (Value::Slice(slice), Some(name)) => pointee(name).is_none_or(|dtypes| dtypes.contains(&slice.dtype)),
            (Value::Scalar(scalar), Some(name)) => named(name).is_none_or(|dtypes| dtypes.contains(&scalar.dtype())),
            (Value::Bytes(bytes), Some(name)) => {
                named(name).is_none_or(|dtypes| dtypes.iter().any(|dtype| dtype.size_bytes() == bytes.len()))
            }
            _ => true,
        };
        if !(fits_kind && fits_size && fits_type) {
            let (takes, given) = (describe(param), value.describe());
            return Err(refused(kernel, format!("parameter {number}{takes} was given {given}")));
        }
    }
    Ok(())
}

fn check_count(kernel: &str, takes: usize, given: usize) -> Result<()> {
    if takes == given {
        return Ok(());
    }
    let plural = if takes == 1 { "" } else { "s" };
    Err(refused(kernel, format!("it takes {takes} argument{plural} and was given {given}")))
}

/// A parameter, for messages.
fn describe(param: &RawParam) -> String {
    let mut text = String::new();
    if let Some(name) = &param.name {
        text += &format!(" ({name})");
    }
    let kind = match (param.kind, &param.type_name) {
        (Some(RawParamKind::LocalMemory), Some(name)) => Some(format!("__local {name}")),
        (_, Some(name)) => Some(name.clone()),
        (Some(RawParamKind::Pointer), None) => Some("a pointer".into()),
        (Some(RawParamKind::LocalMemory), None) => Some("local memory".into()),
        (Some(RawParamKind::Value), None) | (None, None) => None,
    };
    match (kind, param.bytes) {
        (Some(kind), _) => text + &format!(" takes {kind} and"),
        (None, Some(bytes)) => text + &format!(" takes {bytes} bytes and"),
        (None, None) => text,
    }
}

/// The element types that a pointer of this C type may point to; none for one that is not known.
fn pointee(name: &str) -> Option<&'static [DType]> {
    named(name.strip_suffix('*')?)
}

/// The element types that a C type of OpenCL holds, by its name there or in the portable language: compilers tell the name that
/// the source has. None for structs, vectors and the caller's own names.
fn named(name: &str) -> Option<&'static [DType]> {
    match name.trim() {
        "bool" => Some(&[DType::Bool]),
        "char" | "i8" => Some(&[DType::I8, DType::U8, DType::Bool]),
        "uchar" | "unsigned char" | "u8" => Some(&[DType::U8, DType::Bool, DType::I8]),
        "short" | "i16" => Some(&[DType::I16]),
        // Halves without the extension for them are their bits.
        "ushort" | "unsigned short" | "u16" => Some(&[DType::U16, DType::F16, DType::BF16]),
        "int" | "i32" => Some(&[DType::I32]),
        "uint" | "unsigned int" | "u32" => Some(&[DType::U32]),
        "long" | "i64" => Some(&[DType::I64]),
        "ulong" | "unsigned long" | "u64" => Some(&[DType::U64]),
        "half" => Some(&[DType::F16]),
        "float" | "f32" => Some(&[DType::F32]),
        "double" | "f64" => Some(&[DType::F64]),
        _ => None,
    }
}

pub(super) fn refused(kernel: &str, what: String) -> Error {
    Error::InvalidLaunch { kernel: kernel.into(), what }
}
