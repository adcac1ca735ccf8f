// f16 by the conversions of the hardware, in PTX so that no header is needed. Kernels hold f16 as an f32 of the same
// value. The hardware drops the sign of a NaN; it is put back, so that copysign sees one sign whether or not the value was
// stored in between.

FN f32 f16_value(u16 h) {
    f32 x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return f32_of_bits((f32_bits(x) & 0x7fffffff) | (u32)(h & 0x8000) << 16);
}

FN u16 f16_bits(f32 x) {
    u16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return (u16)((h & 0x7fff) | (f32_bits(x) >> 16 & 0x8000));
}

FN f32 f16_round(f32 x) { return f16_value(f16_bits(x)); }
