#pragma OPENCL FP_CONTRACT OFF

typedef long i64;
typedef ushort u16;
typedef uint u32;
typedef float f32;
#define FN static inline __attribute__((always_inline))
#define GLOBAL __global
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
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

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void copy(
    __global const ushort *restrict in0, __global const ushort *restrict in1, __global ushort *restrict out0,
    __global ushort *restrict out1,
    long n0, long n1, long n2, long n3, long in1_stride3, long stride5, long stride6, long stride7) {
    const ulong g = get_group_id(0);
    const ulong columns = (n3 + 31) / 32;
    const long c3 = g % columns * 32;
    const ulong rows = (n1 + 31) / 32;
    const long c1 = g / columns % rows * 32;
    const ulong point = g / columns / rows;
    const long i2 = point % n2;
    const long i0 = point / n2;
    const int x = get_local_id(0) % 4 * 8;
    const int y = get_local_id(0) / 4;
    __local ushort tile[32 * 34];
    u16x8 x0[1];
    {
        const long i1 = c1 + x;
        const long i3 = c3 + y;
        const long left = n1 - i1;
        #pragma unroll
        for (int r = 0; r < 1; ++r) {
            if (i3 + r * 32 < n3) {
                x0[r] = u16x8_load(&in1[i0 * stride5 + i1 + i2 * stride7 + (i3 + r * 32) * in1_stride3], left);
            }
        }
    }
    const long i1 = c1 + y;
    const long i3 = c3 + x;
    const long left = n3 - i3;
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
    barrier(CLK_LOCAL_MEM_FENCE);
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
