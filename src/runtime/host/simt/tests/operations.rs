//! Every operation on every type, in kernels and in functions over vectors, against the loops of lazy arrays (which their own
//! tests hold against scalar Rust).

use lazuli_codegen::simt::Function;
use lazuli_codegen::simt::function::{Code, Definition, FunctionParam};
use lazuli_codegen::simt::ir::*;
use lazuli_codegen::{BinaryOp, DType, UnaryOp};

use super::super::HostFunction;
use super::build::*;
use crate::runtime::host::ops::user::VectorFunction;
use crate::runtime::host::ops::{
    binary::binary as binary_loop, cast::cast as cast_loop, register_bytes, ternary, unary::unary,
};

/// More than two runs of lanes.
const COUNT: usize = 600;

/// Bits that make telling values of every type, halves as the f32 that registers hold.
fn values(dtype: DType, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::new();
    for i in 0..COUNT {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bits = (state >> 20) ^ state;
        let small = (i as f64 - 300.0) / 16.0;
        match dtype {
            DType::Bool => bytes.push((bits & 1) as u8),
            DType::F16 => bytes.extend(half::f16::from_f64(small).to_f32().to_ne_bytes()),
            DType::BF16 => bytes.extend(half::bf16::from_f64(small).to_f32().to_ne_bytes()),
            DType::F32 => bytes.extend((small as f32).to_ne_bytes()),
            DType::F64 => bytes.extend(small.to_ne_bytes()),
            _ => bytes.extend(&bits.to_ne_bytes()[..dtype.size_bytes()]),
        }
    }
    bytes
}

/// Runs an expression over the parameters 0, 1 and 2.
fn found(expr: Expr, params: &[DType], result: DType, arguments: &[&[u8]]) -> Vec<u8> {
    let vars = params.iter().map(|&dtype| Variable { name: "x", dtype }).collect();
    let params =
        params.iter().enumerate().map(|(i, &dtype)| FunctionParam::Scalar { var: Var(i as u32), name: "x", dtype });
    let function = Function::new(Definition {
        name: "f".into(),
        params: params.collect(),
        result: Some(result),
        code: Code::Body(Body { vars, statements: vec![Stmt::Return(Some(expr))], ..Body::default() }),
    });
    let function = HostFunction::new(function).unwrap();
    let mut to = vec![0u64; COUNT];
    let pointers: Vec<*const u8> = arguments.iter().map(|argument| argument.as_ptr()).collect();
    // SAFETY: each argument has `COUNT` elements, and the target room for as many of eight bytes.
    unsafe { function.run(&pointers, to.as_mut_ptr().cast(), COUNT) };
    crate::runtime::bytes::of_slice(&to)[..COUNT * register_bytes(result)].to_vec()
}

/// What a loop of lazy arrays gives.
fn wanted(result: DType, run: impl FnOnce(*mut u8)) -> Vec<u8> {
    let mut to = vec![0u64; COUNT];
    run(to.as_mut_ptr().cast());
    crate::runtime::bytes::of_slice(&to)[..COUNT * register_bytes(result)].to_vec()
}

fn x(number: u32) -> Box<Expr> {
    Box::new(Expr::Var(Var(number)))
}

/// Alignment of the elements is that of u64 vectors.
fn aligned(bytes: &[u8]) -> Vec<u64> {
    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    crate::runtime::bytes::of_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
    words
}

#[test]
fn every_operation_on_every_type() {
    let mut checked = 0;
    for dtype in DType::ALL {
        let (a, b, c) = (aligned(&values(dtype, 1)), aligned(&values(dtype, 2)), aligned(&values(dtype, 3)));
        let bytes = [&a, &b, &c].map(|words| crate::runtime::bytes::of_slice(words));
        let [a, b, c] = bytes.map(|bytes| bytes.as_ptr());
        for op in UnaryOp::ALL {
            let (Some(result), Some(run)) = (op.result(dtype), unary(op, dtype)) else { continue };
            let wanted = wanted(result, |to| unsafe { run(to, a, COUNT) });
            assert_eq!(found(Expr::Unary(op, x(0)), &[dtype], result, &bytes[..1]), wanted, "{op:?} of {dtype}");
            checked += 1;
        }
        for op in BinaryOp::ALL {
            let (Some(result), Some(run)) = (op.result(dtype), binary_loop(op, dtype)) else { continue };
            let wanted = wanted(result, |to| unsafe { run(to, a, b, COUNT) });
            let expr = Expr::Binary(op, x(0), x(1));
            assert_eq!(found(expr, &[dtype; 2], result, &bytes[..2]), wanted, "{op:?} of {dtype}");
            checked += 1;
        }
        for to_type in DType::ALL {
            let wanted = match cast_loop(dtype, to_type) {
                Some(run) => wanted(to_type, |to| unsafe { run(to, a, COUNT) }),
                None => bytes[0][..COUNT * register_bytes(dtype)].to_vec(),
            };
            let expr = Expr::Cast(to_type, x(0));
            assert_eq!(found(expr, &[dtype], to_type, &bytes[..1]), wanted, "{dtype} as {to_type}");
            checked += 1;
        }
        if let Some(run) = ternary::mul_add(dtype) {
            let wanted = wanted(dtype, |to| unsafe { run(to, a, b, c, COUNT) });
            let expr = Expr::MulAdd(Box::new([*x(0), *x(1), *x(2)]));
            assert_eq!(found(expr, &[dtype; 3], dtype, &bytes), wanted, "mul_add of {dtype}");
        }
    }
    assert!(checked > 500, "{checked} were defined");
}

#[test]
fn bits_are_kept() {
    for (from, to) in
        [(DType::F32, DType::U32), (DType::U32, DType::F32), (DType::F64, DType::I64), (DType::I32, DType::F32)]
    {
        let words = aligned(&values(from, 5));
        let bytes = crate::runtime::bytes::of_slice(&words);
        let expr = Expr::Bits(to, x(0));
        assert_eq!(found(expr, &[from], to, &[bytes]), bytes[..COUNT * register_bytes(to)], "{from} to {to}");
    }
    // A half's bits are those of its memory.
    let words = aligned(&values(DType::F16, 5));
    let bytes = crate::runtime::bytes::of_slice(&words);
    let found = found(Expr::Bits(DType::U16, x(0)), &[DType::F16], DType::U16, &[bytes]);
    for (found, wide) in found.chunks(2).zip(bytes.chunks(4)) {
        let wide = f32::from_ne_bytes([wide[0], wide[1], wide[2], wide[3]]);
        assert_eq!(u16::from_ne_bytes([found[0], found[1]]), half::f16::from_f32(wide).to_bits());
    }
}

#[test]
fn a_function_of_other_memory_or_of_text_is_refused() {
    let source = Function::new(Definition {
        name: "twice".into(),
        params: vec![FunctionParam::Scalar { var: Var(0), name: "x", dtype: DType::F32 }],
        result: Some(DType::F32),
        code: Code::Source { names: vec!["x".into()], text: "return x + x;".into() },
    });
    assert!(HostFunction::new(source).err().is_some_and(|told| told.contains("twice, which is source text")));
    let mut k = Build::default();
    let out = k.slice(DType::F32, true);
    let call = Expr::Call(source, vec![Argument::Value(literal(1.0f32))]);
    let store = k.store(out, [global()], call);
    let mut found = vec![0.0f32; 1];
    let error = run_with(&k.finish(vec![store]), &line(1, 1), false, &mut [Given::Slice(&mut found)]).unwrap_err();
    assert!(error.to_string().contains("twice, which is source text"), "{error}");
}
