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

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void black_scholes_f64(
    __global const double *restrict in0, __global const double *restrict in1,
    __global const double *restrict in2, __global double *restrict out0, __global double *restrict out1,
    int n0,
    double s0, double s1, double s2, double s3) {
    const int i0 = get_global_id(0) * 2;
    if (i0 >= n0) return;
    const double v0 = s0 + s1 * s1 * s2;
    const int left = n0 - i0;
    const f64x2 x0 = f64x2_load(&in0[i0], left);
    const f64x2 x1 = f64x2_load(&in1[i0], left);
    const f64x2 x2 = f64x2_load(&in2[i0], left);
    f64x2 y0;
    f64x2 y1;
    #pragma unroll
    for (int v = 0; v < 2; ++v) {
        const double v1 = x0.v[v];
        const double v2 = x1.v[v];
        const double v3 = x2.v[v];
        const double v4 = s1 * sqrt(v3);
        const double v5 = (log(v1 / v2) + v0 * v3) / v4;
        const double v6 = v2 * exp(-(s0 * v3));
        const double v7 = v1 * (s2 * erfc(-(v5 * s3))) - v6 * (s2 * erfc(-((v5 - v4) * s3)));
        y0.v[v] = v7;
        y1.v[v] = v7 - v1 + v6;
    }
    f64x2_store(&out0[i0], y0, left);
    f64x2_store(&out1[i0], y1, left);
}
