typedef unsigned short u16;
typedef unsigned int u32;
typedef float f32;
#define FN static __device__ __forceinline__
#define f32_bits(x) __float_as_uint(x)
#define f32_of_bits(bits) __uint_as_float(bits)
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

extern "C" __global__ void axpy_f16(
    float a, const unsigned short *__restrict__ x, unsigned long long x_len, unsigned short *__restrict__ y,
    unsigned long long y_len) {
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < y_len) {
        y[i] = f16_bits(f16_round(a * f16_value(x[i])) + f16_value(y[i]));
    }
}
