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

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void triad_f32(
    __global const float *restrict in0, __global const float *restrict in1, __global float *restrict out0,
    int n0,
    float s0) {
    const int i0 = get_global_id(0) * 4;
    if (i0 >= n0) return;
    const int left = n0 - i0;
    const f32x4 x0 = f32x4_load(&in0[i0], left);
    const f32x4 x1 = f32x4_load(&in1[i0], left);
    f32x4 y0;
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        y0.v[v] = x0.v[v] + s0 * x1.v[v];
    }
    f32x4_store(&out0[i0], y0, left);
}
