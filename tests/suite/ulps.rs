//! How far a result may lie from the right one, in units of the last place of its type: one table for every device.
//!
//! Arithmetic, comparisons, casts and roundings are exact. The other functions may err as far as OpenCL 1.2 lets them
//! (section 7.4), which the host and CUDA also keep. f16 and bf16 are computed in f32 and rounded, so they are off by one at
//! most; the reference for f64 is a library, which is off by one itself.

/// The bound for f32, or `None` where the operation is not in the table.
pub fn allowed(op: &str) -> Option<u64> {
    let ulps = match op {
        "add" | "sub" | "mul" | "div" | "rem" | "floor_divide" | "remainder" | "minimum" | "maximum" | "copysign"
        | "mul_add" | "square" | "neg" | "abs" | "sign" | "recip" | "sqrt" | "floor" | "ceil" | "round" | "trunc" => 0,
        "cbrt" | "log1p" => 2,
        "exp" | "exp2" | "expm1" | "log" | "ln" | "log2" | "log10" => 3,
        "sin" | "cos" | "sinh" | "cosh" | "asin" | "acos" | "asinh" | "acosh" | "hypot" => 4,
        "tan" | "tanh" | "atan" | "atanh" => 5,
        "atan2" => 6,
        "pow" | "erf" | "erfc" => 16,
        _ => return None,
    };
    Some(ulps)
}
