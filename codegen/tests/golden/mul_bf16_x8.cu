typedef int i32;
typedef unsigned short u16;
typedef unsigned int u32;
typedef float f32;
#define FN static __device__ __forceinline__
#define GLOBAL
#define ALIGNED(bytes) __align__(bytes)
#define f32_bits(x) __float_as_uint(x)
#define f32_of_bits(bits) __uint_as_float(bits)
FN f32 bf16_value(u16 h) { return f32_of_bits((u32)h << 16); }
FN f32 bf16_round(f32 x) {
    u32 bits = f32_bits(x);
    u32 near = bits + 0x7fff + ((bits >> 16) & 1);
    u32 r = (bits & 0x7fffffff) > 0x7f800000 ? bits | 0x00400000 : near;
    return f32_of_bits(r & 0xffff0000);
}
FN u16 bf16_bits(f32 x) { return (u16)(f32_bits(bf16_round(x)) >> 16); }
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
LAZULI_WIDE_LOAD(u16, 8, i32)
LAZULI_WIDE_STORE(u16, 8, i32)

extern "C" __global__ __launch_bounds__(256) void mul_bf16(
    const unsigned short *__restrict__ in0, const unsigned short *__restrict__ in1,
    unsigned short *__restrict__ out0,
    int n0) {
    const int i0 = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (i0 >= n0) return;
    const int left = n0 - i0;
    const u16x8 x0 = u16x8_load(&in0[i0], left);
    const u16x8 x1 = u16x8_load(&in1[i0], left);
    u16x8 y0;
    #pragma unroll
    for (int v = 0; v < 8; ++v) {
        y0.v[v] = bf16_bits(bf16_value(x0.v[v]) * bf16_value(x1.v[v]));
    }
    u16x8_store(&out0[i0], y0, left);
}
