// f16 by the conversions of the hardware, in PTX so that no header is needed. Kernels hold f16 as an f32 of the same
// value.

FN f32 f16_value(u16 h) {
    f32 x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}

FN u16 f16_bits(f32 x) {
    u16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}

FN f32 f16_round(f32 x) { return f16_value(f16_bits(x)); }
