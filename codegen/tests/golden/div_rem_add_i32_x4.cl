#pragma OPENCL FP_CONTRACT OFF

typedef int i32;
typedef uint u32;
#define FN static inline __attribute__((always_inline))
#define GLOBAL __global
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define LAZULI_WRAPPING(T, U) \
    FN T T##_add(T a, T b) { return (T)((U)a + (U)b); } \
    FN T T##_sub(T a, T b) { return (T)((U)a - (U)b); } \
    FN T T##_mul(T a, T b) { return (T)((U)a * (U)b); } \
    FN T T##_neg(T a) { return (T)(0 - (U)a); }
#define LAZULI_SIGNED_DIVISION(T, U) \
    FN T T##_div(T a, T b) { \
        T safe = b == 0 || b == -1 ? (T)1 : b; \
        T q = (T)(a / safe); \
        return b == 0 ? (T)0 : b == -1 ? (T)(0 - (U)a) : q; \
    } \
    FN T T##_rem(T a, T b) { \
        T safe = b == 0 || b == -1 ? (T)1 : b; \
        return (T)(a % safe); \
    } \
    FN T T##_floor_divide(T a, T b) { \
        T q = T##_div(a, b), r = T##_rem(a, b); \
        return r != 0 && (r ^ b) < 0 ? (T)(q - 1) : q; \
    } \
    FN T T##_remainder(T a, T b) { \
        T r = T##_rem(a, b); \
        return r != 0 && (r ^ b) < 0 ? (T)(r + b) : r; \
    }
LAZULI_SIGNED_DIVISION(i32, u32)
LAZULI_WRAPPING(i32, u32)
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
LAZULI_WIDE(i32, 4, 16)
LAZULI_WIDE_LOAD(i32, 4, i32)
LAZULI_WIDE_STORE(i32, 4, i32)

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void div_rem_add_i32(
    __global const int *restrict in0, __global const int *restrict in1, __global int *restrict out0,
    int n0) {
    const int i0 = get_global_id(0) * 4;
    if (i0 >= n0) return;
    const int left = n0 - i0;
    const i32x4 x0 = i32x4_load(&in0[i0], left);
    const i32x4 x1 = i32x4_load(&in1[i0], left);
    i32x4 y0;
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int v0 = x0.v[v];
        const int v1 = x1.v[v];
        y0.v[v] = i32_add(i32_div(v0, v1), i32_rem(v0, v1));
    }
    i32x4_store(&out0[i0], y0, left);
}
