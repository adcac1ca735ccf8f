#pragma OPENCL FP_CONTRACT OFF

typedef int i32;
typedef float f32;
#define FN static inline __attribute__((always_inline))
#define GLOBAL __global
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
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
LAZULI_WIDE(f32, 4, 16)
LAZULI_WIDE_LOAD(f32, 4, i32)
LAZULI_WIDE_STORE(f32, 4, i32)

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void add_sub_f32(
    __global const float *restrict in0, __global const float *restrict in1, __global float *restrict out0,
    __global float *restrict out1,
    int n0, int n1, int stride2, int stride3) {
    const uint g = get_group_id(0);
    const uint columns = (n1 + 63u) / 64;
    const int c1 = g % columns * 64;
    const int c0 = g / columns * 64;
    const int x = get_local_id(0) % 16 * 4;
    const int y = get_local_id(0) / 16;
    __local float tile[64 * 65];
    __local float tile1[64 * 65];
    f32x4 x0[4];
    {
        const int i0 = c0 + x;
        const int i1 = c1 + y;
        const int left = n0 - i0;
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
            if (i1 + r * 16 < n1) x0[r] = f32x4_load(&in1[i0 + (i1 + r * 16) * stride3], left);
        }
    }
    const int i0 = c0 + y;
    const int i1 = c1 + x;
    const int left = n1 - i1;
    f32x4 x1[4];
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        if (i0 + r * 16 < n0) x1[r] = f32x4_load(&in0[(i0 + r * 16) * stride2 + i1], left);
    }
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            tile[(y + r * 16) * 65 + x + v] = x0[r].v[v];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        if (i0 + r * 16 < n0 && left > 0) {
            f32x4 y0;
            #pragma unroll
            for (int v = 0; v < 4; ++v) {
                const float v0 = x1[r].v[v];
                const float v1 = tile[(x + v) * 65 + y + r * 16];
                y0.v[v] = v0 + v1;
                tile1[(x + v) * 65 + y + r * 16] = v0 - v1;
            }
            f32x4_store(&out0[(i0 + r * 16) * stride2 + i1], y0, left);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    {
        const int i0 = c0 + x;
        const int i1 = c1 + y;
        const int left = n0 - i0;
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
            if (i1 + r * 16 >= n1) return;
            f32x4 y1;
            #pragma unroll
            for (int v = 0; v < 4; ++v) y1.v[v] = tile1[(y + r * 16) * 65 + x + v];
            f32x4_store(&out1[i0 + (i1 + r * 16) * stride3], y1, left);
        }
    }
}
