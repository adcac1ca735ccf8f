typedef long long i64;
typedef unsigned short u16;
typedef unsigned int u32;
typedef float f32;
#define FN static __device__ __forceinline__
#define GLOBAL
#define ALIGNED(bytes) __align__(bytes)
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
#define LAZULI_WIDE_LOAD(T, W, INDEX) \
    FN T##x##W T##x##W##_load(GLOBAL const T *from, INDEX left) { \
        T##x##W x; \
        if (left >= W) { \
            x = *(GLOBAL const T##x##W *)from; \
        } else { \
            for (int v = 0; v < W; ++v) x.v[v] = v < left ? from[v] : (T)0; \
        } \
        return x; \
    }
#define LAZULI_WIDE_STORE(T, W, INDEX) \
    FN void T##x##W##_store(GLOBAL T *to, T##x##W x, INDEX left) { \
        if (left >= W) { \
            *(GLOBAL T##x##W *)to = x; \
        } else { \
            for (int v = 0; v < W; ++v) if (v < left) to[v] = x.v[v]; \
        } \
    }
#define LAZULI_WIDE(T, W, BYTES) \
    typedef struct ALIGNED(BYTES) { T v[W]; } T##x##W;
LAZULI_WIDE(u16, 8, 16)
LAZULI_WIDE_LOAD(u16, 8, i64)
LAZULI_WIDE_STORE(u16, 8, i64)

extern "C" __global__ __launch_bounds__(128) void copy(
    const unsigned short *__restrict__ in0, const unsigned short *__restrict__ in1,
    unsigned short *__restrict__ out0, unsigned short *__restrict__ out1,
    long long n0, long long n1, long long n2, long long n3, long long in1_stride3, long long stride5,
    long long stride6, long long stride7) {
    const unsigned long long g = blockIdx.x;
    const unsigned long long columns = (n3 + 31) / 32;
    const long long c3 = g % columns * 32;
    const unsigned long long rows = (n1 + 31) / 32;
    const long long c1 = g / columns % rows * 32;
    const unsigned long long point = g / columns / rows;
    const long long i2 = point % n2;
    const long long i0 = point / n2;
    const int x = threadIdx.x % 4 * 8;
    const int y = threadIdx.x / 4;
    __shared__ unsigned short tile[32 * 34];
    u16x8 x0[1];
    {
        const long long i1 = c1 + x;
        const long long i3 = c3 + y;
        const long long left = n1 - i1;
        #pragma unroll
        for (int r = 0; r < 1; ++r) {
            if (i3 + r * 32 < n3) {
                x0[r] = u16x8_load(&in1[i0 * stride5 + i1 + i2 * stride7 + (i3 + r * 32) * in1_stride3], left);
            }
        }
    }
    const long long i1 = c1 + y;
    const long long i3 = c3 + x;
    const long long left = n3 - i3;
    u16x8 x1[1];
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
        if (i1 + r * 32 < n1) {
            x1[r] = u16x8_load(&in0[i0 * stride5 + (i1 + r * 32) * stride6 + i2 * stride7 + i3], left);
        }
    }
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
        #pragma unroll
        for (int v = 0; v < 8; ++v) {
            tile[(y + r * 32) * 34 + x + v] = x0[r].v[v];
        }
    }
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
        if (i1 + r * 32 >= n1) return;
        u16x8 y0;
        u16x8 y1;
        #pragma unroll
        for (int v = 0; v < 8; ++v) {
            y0.v[v] = f16_bits(f16_value(x1[r].v[v]));
            y1.v[v] = f16_bits(f16_value(tile[(x + v) * 34 + y + r * 32]));
        }
        u16x8_store(&out0[i0 * stride5 + (i1 + r * 32) * stride6 + i2 * stride7 + i3], y0, left);
        u16x8_store(&out1[i0 * stride5 + (i1 + r * 32) * stride6 + i2 * stride7 + i3], y1, left);
    }
}
