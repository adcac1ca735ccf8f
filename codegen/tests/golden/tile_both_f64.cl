#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef int i32;
#define FN static inline __attribute__((always_inline))
#define GLOBAL __global
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
typedef double f64;
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
LAZULI_WIDE(f64, 2, 16)
LAZULI_WIDE_LOAD(f64, 2, i32)
LAZULI_WIDE_STORE(f64, 2, i32)

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void copy(
    __global const double *restrict in0, __global const double *restrict in1, __global double *restrict out0,
    __global double *restrict out1,
    int n0, int n1, int in1_stride1, int stride3) {
    const uint g = get_group_id(0);
    const uint columns = (n1 + 31u) / 32;
    const int c1 = g % columns * 32;
    const int c0 = g / columns * 32;
    const int x = get_local_id(0) % 16 * 2;
    const int y = get_local_id(0) / 16;
    __local double tile[32 * 33];
    f64x2 x0[2];
    {
        const int i0 = c0 + x;
        const int i1 = c1 + y;
        const int left = n0 - i0;
        #pragma unroll
        for (int r = 0; r < 2; ++r) {
            if (i1 + r * 16 < n1) x0[r] = f64x2_load(&in1[i0 + (i1 + r * 16) * in1_stride1], left);
        }
    }
    const int i0 = c0 + y;
    const int i1 = c1 + x;
    const int left = n1 - i1;
    f64x2 x1[2];
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
        if (i0 + r * 16 < n0) x1[r] = f64x2_load(&in0[(i0 + r * 16) * stride3 + i1], left);
    }
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            tile[(y + r * 16) * 33 + x + v] = x0[r].v[v];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
        if (i0 + r * 16 >= n0) return;
        f64x2 y0;
        f64x2 y1;
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            y0.v[v] = x1[r].v[v];
            y1.v[v] = tile[(x + v) * 33 + y + r * 16];
        }
        f64x2_store(&out0[(i0 + r * 16) * stride3 + i1], y0, left);
        f64x2_store(&out1[(i0 + r * 16) * stride3 + i1], y1, left);
    }
}
