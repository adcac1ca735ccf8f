// bf16 is the upper half of an f32. Kernels hold it as an f32 of the same value.

FN f32 bf16_value(u16 h) { return f32_of_bits((u32)h << 16); }

// To nearest, ties to even; a NaN stays one and is made quiet.
FN f32 bf16_round(f32 x) {
    u32 bits = f32_bits(x);
    u32 near = bits + 0x7fff + ((bits >> 16) & 1);
    u32 r = (bits & 0x7fffffff) > 0x7f800000 ? bits | 0x00400000 : near;
    return f32_of_bits(r & 0xffff0000);
}

FN u16 bf16_bits(f32 x) { return (u16)(f32_bits(bf16_round(x)) >> 16); }
