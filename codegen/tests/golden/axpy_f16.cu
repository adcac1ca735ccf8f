typedef unsigned short u16;
typedef unsigned int u32;
typedef float f32;
#define FN static __device__ __forceinline__
#define f32_bits(x) __float_as_uint(x)
#define f32_of_bits(bits) __uint_as_float(bits)
#define LAZULI_FLOAT_TESTS(F, U, BITS, INF) \
    FN U F##_magnitude(F a) { return BITS(a) & ((U)-1 >> 1); } \
    FN bool F##_is_nan(F a) { return F##_magnitude(a) > INF; } \
    FN bool F##_is_inf(F a) { return F##_magnitude(a) == INF; } \
    FN bool F##_is_finite(F a) { return F##_magnitude(a) < INF; }
LAZULI_FLOAT_TESTS(f32, u32, f32_bits, 0x7f800000)
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

extern "C" __global__ __launch_bounds__(256) void axpy_f16(
    const unsigned short *__restrict__ in0, const unsigned short *__restrict__ in1,
    unsigned short *__restrict__ out0, unsigned char *__restrict__ out1,
    int n0,
    float s0) {
    const int i0 = blockIdx.x * blockDim.x + threadIdx.x;
    if (i0 >= n0) return;
    const float v0 = f16_round(f16_round(s0 * f16_value(in0[i0])) + f16_value(in1[i0]));
    out0[i0] = f16_bits(v0);
    out1[i0] = f32_is_nan(v0);
}
