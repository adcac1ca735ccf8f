#pragma OPENCL FP_CONTRACT OFF

typedef int i32;
typedef long i64;
typedef ulong u64;
typedef float f32;
#define FN static inline __attribute__((always_inline))
#define GLOBAL __global
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define i32_raise(place, x) atomic_max(place, x)
#define i32_lower(place, x) atomic_min(place, x)
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
LAZULI_WIDE(i64, 2, 16)
LAZULI_WIDE_LOAD(i64, 2, i32)
LAZULI_WIDE(f32, 2, 8)
LAZULI_WIDE_LOAD(f32, 2, i32)
LAZULI_WIDE_STORE(f32, 2, i32)
FN i64 i64_checked_index(i64 x, i64 n, GLOBAL i32 *notes) {
    i64 at = x < 0 ? x + n : x;
    if ((u64)at < (u64)n) return at;
    if (x < 0) {
        i32_lower(notes + 1, x < -2147483647 ? -2147483647 : (i32)x);
    } else {
        i32_raise(notes, x > 2147483647 ? 2147483647 : (i32)x);
    }
    return 0;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void take_i64_mul_f32(
    __global const long *restrict in0, __global const float *restrict in1, __global const float *restrict in2,
    __global float *restrict out0, __global int *notes,
    int n0, int size1) {
    const int i0 = get_global_id(0) * 2;
    if (i0 >= n0) return;
    const int left = n0 - i0;
    const i64x2 x0 = i64x2_load(&in0[i0], left);
    const f32x2 x1 = f32x2_load(&in2[i0], left);
    f32x2 y0;
    #pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int k0 = v < left ? i64_checked_index(x0.v[v], size1, notes) : 0;
        y0.v[v] = (v < left ? in1[k0] : 0) * x1.v[v];
    }
    f32x2_store(&out0[i0], y0, left);
}
