// Wide integers to bf16 with one rounding: f32 would round first. The bits beyond f32's 24 are gathered in the last one,
// which lies far below bf16's half way.
FN f32 bf16_from_u64(u64 x) {
    int beyond = 40 - u64_leading_zeros(x);
    if (beyond <= 0) return bf16_round((f32)(u32)x);
    u32 top = (u32)(x >> beyond) | (x << (64 - beyond) != 0 ? 1u : 0u);
    return bf16_round((f32)top * f32_of_bits((u32)(127 + beyond) << 23));
}

FN f32 bf16_from_i64(i64 x) { return x < 0 ? -bf16_from_u64(0 - (u64)x) : bf16_from_u64((u64)x); }
