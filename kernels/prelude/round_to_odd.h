// f64 to f32, an inexact result taking the neighbour whose last bit is set: rounding that once more, to f16 or bf16, gives
// what one rounding from f64 would.
FN f32 f32_round_to_odd(f64 x) {
    f32 near = (f32)x;
    f64 back = (f64)near;
    u32 bits = f32_bits(near);
    if (back == x || x != x || (bits & 1)) return near;
    return f32_of_bits(fabs(back) < fabs(x) ? bits + 1 : bits - 1);
}
