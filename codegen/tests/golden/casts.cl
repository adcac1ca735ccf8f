#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef int i32;
typedef long i64;
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef float f32;
#define FN static inline __attribute__((always_inline))
#define f32_bits(x) as_uint(x)
#define f32_of_bits(bits) as_float(bits)
typedef double f64;
FN f32 bf16_value(u16 h) { return f32_of_bits((u32)h << 16); }
FN f32 bf16_round(f32 x) {
    u32 bits = f32_bits(x);
    u32 near = bits + 0x7fff + ((bits >> 16) & 1);
    u32 r = (bits & 0x7fffffff) > 0x7f800000 ? bits | 0x00400000 : near;
    return f32_of_bits(r & 0xffff0000);
}
FN u16 bf16_bits(f32 x) { return (u16)(f32_bits(bf16_round(x)) >> 16); }
FN f32 f32_round_to_odd(f64 x) {
    f32 near = (f32)x;
    f64 back = (f64)near;
    u32 bits = f32_bits(near);
    if (back == x || x != x || (bits & 1)) return near;
    return f32_of_bits(fabs(back) < fabs(x) ? bits + 1 : bits - 1);
}
#define LAZULI_SATURATE(T, F, LOW, HIGH, MIN, MAX) \
    FN T T##_from_##F(F x) { return x >= HIGH ? (T)MAX : x <= LOW ? (T)MIN : x == x ? (T)x : (T)0; }
LAZULI_SATURATE(i32, f32, -2147483648.0f, 2147483648.0f, (-2147483647 - 1), 2147483647)
LAZULI_SATURATE(u8, f32, 0.0f, 256.0f, 0, 255)
LAZULI_SATURATE(i64, f32, -9223372036854775808.0f, 9223372036854775808.0f, (-9223372036854775807L - 1), 9223372036854775807L)

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void casts(
    __global const float *restrict in0, __global const double *restrict in1, __global int *restrict out0,
    __global uchar *restrict out1, __global long *restrict out2, __global ushort *restrict out3,
    int n0) {
    const int i0 = get_global_id(0);
    if (i0 >= n0) return;
    const float v0 = in0[i0];
    out0[i0] = i32_from_f32(v0);
    out1[i0] = u8_from_f32(v0);
    out2[i0] = i64_from_f32(v0);
    out3[i0] = bf16_bits(f32_round_to_odd(in1[i0]));
}
