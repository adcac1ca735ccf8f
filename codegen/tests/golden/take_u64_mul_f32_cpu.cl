#pragma OPENCL FP_CONTRACT OFF

typedef int i32;
typedef long i64;
typedef ulong u64;
#define FN static inline __attribute__((always_inline))
#define GLOBAL __global
#define i32_raise(place, x) atomic_max(place, x)
#define i32_lower(place, x) atomic_min(place, x)
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

__kernel void take_u64_mul_f32(
    __global const ulong *restrict in0, __global const float *restrict in1, __global const float *restrict in2,
    __global float *restrict out0, __global int *notes,
    long n0, long size1) {
    const long i0 = get_global_id(0);
    if (i0 >= n0) return;
    const long k0 = i64_checked_index((long)min(in0[i0], 9223372036854775807uL), size1, notes);
    out0[i0] = in1[k0] * in2[i0];
}
