#pragma OPENCL FP_CONTRACT OFF

typedef ushort u16;
typedef uint u32;
typedef float f32;
#define FN static inline __attribute__((always_inline))
#define f32_bits(x) as_uint(x)
#define f32_of_bits(bits) as_float(bits)
FN f32 f16_value(u16 h) {
    u32 sign = (u32)(h & 0x8000) << 16, rest = h & 0x7fff;
    u32 shifted = rest << 13;
    u32 normal = shifted + (rest >= 0x7c00 ? 0x70000000u : 0x38000000u);
    u32 tiny = f32_bits((f32)rest * 5.9604644775390625e-8f);
    u32 quiet = rest > 0x7c00 ? 0x00400000u : 0u;
    return f32_of_bits(sign | quiet | (rest < 0x0400 ? tiny : normal));
}
FN u16 f16_bits(f32 x) {
    u32 bits = f32_bits(x), a = bits & 0x7fffffff;
    u32 normal = (a + 0x0fff + ((a >> 13) & 1) - 0x38000000u) >> 13;
    u32 tiny = f32_bits(f32_of_bits(a) + 0.5f) - 0x3f000000u;
    u32 h = a < 0x38800000 ? tiny : normal;
    h = a >= 0x47800000 ? 0x7c00 : h;
    h = a > 0x7f800000 ? 0x7e00 | ((a >> 13) & 0x01ff) : h;
    return (u16)(h | ((bits >> 16) & 0x8000));
}
FN f32 f16_round(f32 x) {
    u32 bits = f32_bits(x), a = bits & 0x7fffffff;
    u32 normal = (a + 0x0fff + ((a >> 13) & 1)) & 0xffffe000;
    u32 tiny = f32_bits((f32_of_bits(a) + 0.5f) - 0.5f);
    u32 r = a < 0x38800000 ? tiny : normal;
    r = r >= 0x47800000 ? 0x7f800000 : r;
    r = a > 0x7f800000 ? a | 0x00400000 : r;
    return f32_of_bits(r | (bits & 0x80000000));
}

__kernel void axpy_f16(
    float a, __global const ushort *restrict x, ulong x_len, __global ushort *restrict y, ulong y_len) {
    const ulong i = get_global_id(0);
    if (i < y_len) {
        y[i] = f16_bits(f16_round(a * f16_value(x[i])) + f16_value(y[i]));
    }
}
