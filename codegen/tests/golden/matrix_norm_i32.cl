#pragma OPENCL FP_CONTRACT OFF

typedef int i32;
typedef uint u32;
#define FN static inline __attribute__((always_inline))
#define LAZULI_WRAPPING(T, U) \
    FN T T##_add(T a, T b) { return (T)((U)a + (U)b); } \
    FN T T##_sub(T a, T b) { return (T)((U)a - (U)b); } \
    FN T T##_mul(T a, T b) { return (T)((U)a * (U)b); } \
    FN T T##_neg(T a) { return (T)(0 - (U)a); }
#define LAZULI_ORDER(T) \
    FN T T##_minimum(T a, T b) { return a < b ? a : b; } \
    FN T T##_maximum(T a, T b) { return a > b ? a : b; }
#define LAZULI_SIGN(T, U) \
    FN T T##_abs(T a) { return a < 0 ? (T)(0 - (U)a) : a; } \
    FN T T##_sign(T a) { return (T)((a > 0) - (a < 0)); }
LAZULI_SIGN(i32, u32)
LAZULI_WRAPPING(i32, u32)
LAZULI_ORDER(i32)

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void matrix_norm_i32(
    __global const int *restrict in0, __global int *restrict out0,
    int n0, int n1, int n2, int in0_stride0, int in0_stride1) {
    const int i0 = get_group_id(0);
    const int lane = get_local_id(0);
    __local int highest_lanes[64];
    int highest_acc = (-2147483647 - 1);
    for (int i1 = lane; i1 < n1; i1 += 64) {
        int sum = 0;
        for (int i2 = 0; i2 < n2; ++i2) {
            sum = i32_add(sum, i32_abs(in0[i0 * in0_stride0 + i1 * in0_stride1 + i2]));
        }
        highest_acc = i32_maximum(highest_acc, sum);
    }
    highest_lanes[lane] = highest_acc;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 8) {
        int highest_part[8];
        for (int v = 0; v < 8; ++v) highest_part[v] = highest_lanes[lane + v * 8];
        for (int v = 0; v < 4; ++v) highest_part[v] = i32_maximum(highest_part[v], highest_part[v + 4]);
        for (int v = 0; v < 2; ++v) highest_part[v] = i32_maximum(highest_part[v], highest_part[v + 2]);
        highest_part[0] = i32_maximum(highest_part[0], highest_part[1]);
        highest_lanes[lane] = highest_part[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane > 0) return;
    int highest_part[8];
    for (int v = 0; v < 8; ++v) highest_part[v] = highest_lanes[v];
    for (int v = 0; v < 4; ++v) highest_part[v] = i32_maximum(highest_part[v], highest_part[v + 4]);
    for (int v = 0; v < 2; ++v) highest_part[v] = i32_maximum(highest_part[v], highest_part[v + 2]);
    highest_part[0] = i32_maximum(highest_part[0], highest_part[1]);
    const int highest = highest_part[0];
    out0[i0] = highest;
}
