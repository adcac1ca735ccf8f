#pragma OPENCL FP_CONTRACT OFF

typedef int i32;
typedef float f32;
#define FN static inline __attribute__((always_inline))
#define GLOBAL __global
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define LAZULI_FLOAT_ORDER(F) \
    FN F F##_minimum(F a, F b) { return a != a || a < b ? a : b; } \
    FN F F##_maximum(F a, F b) { return a != a || a > b ? a : b; }
LAZULI_FLOAT_ORDER(f32)
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

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void max_sub(
    __global const float *restrict in0, __global const float *restrict in1, __global float *restrict out0,
    int n0, int n1, int in0_stride0, int out0_stride0) {
    const uint t = get_global_id(0);
    const uint runs = (n0 + 3u) / 4;
    const uint columns = (n1 + 3u) / 4;
    if (t >= runs * columns) return;
    const int i1 = t % columns * 4;
    const int i0 = t / columns * 4;
    const int left = n1 - i1;
    const f32x4 x0 = f32x4_load(&in1[i1], left);
    f32x4 x1[7];
    #pragma unroll
    for (int r = 0; r < 7; ++r) {
        if (i0 + r < n0 + 3) x1[r] = f32x4_load(&in0[(i0 + r) * in0_stride0 + i1], left);
    }
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        if (i0 + r >= n0) return;
        f32x4 y0;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            y0.v[v] = f32_maximum(x1[r].v[v], x1[r + 3].v[v]) - x0.v[v];
        }
        f32x4_store(&out0[(i0 + r) * out0_stride0 + i1], y0, left);
    }
}
