#pragma OPENCL FP_CONTRACT OFF

typedef ushort u16;
typedef uint u32;
typedef float f32;
#define FN static inline __attribute__((always_inline))
#define f32_bits(x) as_uint(x)
#define f32_of_bits(bits) as_float(bits)
#define LAZULI_FLOAT_TESTS(F, U, BITS, INF) \
    FN U F##_magnitude(F a) { return BITS(a) & ((U)-1 >> 1); } \
    FN bool F##_is_nan(F a) { return F##_magnitude(a) > INF; } \
    FN bool F##_is_inf(F a) { return F##_magnitude(a) == INF; } \
    FN bool F##_is_finite(F a) { return F##_magnitude(a) < INF; }
LAZULI_FLOAT_TESTS(f32, u32, f32_bits, 0x7f800000)
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

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void axpy_f16(
    __global const ushort *restrict in0, __global const ushort *restrict in1, __global ushort *restrict out0,
    __global uchar *restrict out1,
    int n0,
    float s0) {
    const int i0 = get_global_id(0);
    if (i0 >= n0) return;
    const float v0 = f16_round(f16_round(s0 * f16_value(in0[i0])) + f16_value(in1[i0]));
    out0[i0] = f16_bits(v0);
    out1[i0] = f32_is_nan(v0);
}
