#pragma OPENCL FP_CONTRACT OFF

typedef ushort u16;
typedef uint u32;
#define FN static inline __attribute__((always_inline))
#define LAZULI_UNSIGNED_SHIFT(T, WIDE, BITS) \
    FN T T##_shl(T a, T b) { return b < BITS ? (T)((WIDE)a << b) : (T)0; } \
    FN T T##_shr(T a, T b) { return b < BITS ? (T)(a >> b) : (T)0; }
LAZULI_UNSIGNED_SHIFT(u16, u32, 16)

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void compare_u16(
    __global const ushort *restrict in0, __global const ushort *restrict in1, __global uchar *restrict out0,
    int n0, int n1, int n2, int n3, int in0_stride0, int in1_stride2, int out0_stride0, int out0_stride1,
    int out0_stride2) {
    const uint t = get_global_id(0);
    if (t >= n0 * n1 * n2 * n3) return;
    const int i3 = t % n3;
    const uint q2 = t / n3;
    const int i2 = q2 % n2;
    const uint q1 = q2 / n2;
    const int i1 = q1 % n1;
    const int i0 = q1 / n1;
    const ushort v0 = in0[i0 * in0_stride0 + i3];
    const ushort v1 = in1[i2 * in1_stride2];
    const uchar y0 = u16_shl((ushort)((uint)v0 * v1), v1) < v0;
    out0[i0 * out0_stride0 + i1 * out0_stride1 + i2 * out0_stride2 + i3] = y0;
}
