#pragma OPENCL FP_CONTRACT OFF

typedef long i64;
typedef ulong u64;
#define FN static inline __attribute__((always_inline))
#define LAZULI_WRAPPING(T, U) \
    FN T T##_add(T a, T b) { return (T)((U)a + (U)b); } \
    FN T T##_sub(T a, T b) { return (T)((U)a - (U)b); } \
    FN T T##_mul(T a, T b) { return (T)((U)a * (U)b); } \
    FN T T##_neg(T a) { return (T)(0 - (U)a); }
LAZULI_WRAPPING(i64, u64)

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void sub_i64(
    __global const long *restrict in0, __global const long *restrict in1, __global long *restrict out0,
    int in0_offset) {
    if (get_global_id(0) > 0) return;
    out0[0] = i64_sub(in0[in0_offset], in1[0]);
}
