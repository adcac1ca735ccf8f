#pragma OPENCL FP_CONTRACT OFF

typedef int i32;
typedef ushort u16;
typedef uint u32;
typedef float f32;
#define FN static inline __attribute__((always_inline))
#define GLOBAL __global
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define f32_bits(x) as_uint(x)
#define f32_of_bits(bits) as_float(bits)
#define LAZULI_FLOAT_ORDER(F) \
    FN F F##_minimum(F a, F b) { return a != a || a < b ? a : b; } \
    FN F F##_maximum(F a, F b) { return a != a || a > b ? a : b; }
LAZULI_FLOAT_ORDER(f32)
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

__kernel void max_sub(
    __global const ushort *restrict in0, __global const ushort *restrict in1, __global ushort *restrict out0,
    int n0, int n1, int in0_stride0, int out0_stride0) {
    const int i1 = get_global_id(0) * 8;
    if (i1 >= n1) return;
    const int i0 = get_global_id(1) * 2;
    if (i0 >= n0) return;
    const int left = n1 - i1;
    const u16x8 x0 = u16x8_load(&in1[i1], left);
    u16x8 x1[5];
    #pragma unroll
    for (int r = 0; r < 5; ++r) {
        if (i0 + r < n0 + 3) x1[r] = u16x8_load(&in0[(i0 + r) * in0_stride0 + i1], left);
    }
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
        if (i0 + r >= n0) return;
        u16x8 y0;
        #pragma unroll
        for (int v = 0; v < 8; ++v) {
            const float v0 = bf16_round(f32_maximum(bf16_value(x1[r].v[v]), bf16_value(x1[r + 3].v[v])) - bf16_value(x0.v[v]));
            y0.v[v] = bf16_bits(v0);
        }
        u16x8_store(&out0[(i0 + r) * out0_stride0 + i1], y0, left);
    }
}
