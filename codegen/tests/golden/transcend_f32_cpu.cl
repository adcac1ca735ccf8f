#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef ulong u64;
typedef float f32;
#define FN static inline __attribute__((always_inline))
typedef double f64;
#define f64_bits(x) as_ulong(x)
#define f64_of_bits(bits) as_double(bits)
#if defined(FP_FAST_FMA) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define F64_MUL_ADD(a, b, c) fma(a, b, c)
#else
#define F64_MUL_ADD(a, b, c) ((a) * (b) + (c))
#endif
#define F64_TO_INTEGER 6755399441055744.0
#define F64_LN_2 0.69314718055994531
FN f64 f64_held(f64 x, f64 low, f64 high) {
    x = x > high ? high : x;
    return x < low ? low : x;
}
FN f64 f64_power_of_two(f64 shifted) { return f64_of_bits((f64_bits(shifted) + 1023) << 52); }
FN f64 f64_expm1_near(f64 r) {
    f64 p = F64_MUL_ADD(r, 0.00019841253028280155, 0.0013941015287330688);
    p = F64_MUL_ADD(r, p, 0.0083334029225839816);
    p = F64_MUL_ADD(r, p, 0.041666354325971239);
    p = F64_MUL_ADD(r, p, 0.16666666249393489);
    p = F64_MUL_ADD(r, p, 0.50000000466797601);
    return r * F64_MUL_ADD(r, p, 1.0000000000312206);
}
FN f64 f64_exp(f64 x) {
    f64 shifted = F64_MUL_ADD(x, 1.4426950408889634, F64_TO_INTEGER);
    f64 power = f64_power_of_two(shifted);
    return F64_MUL_ADD(f64_expm1_near(F64_MUL_ADD(shifted - F64_TO_INTEGER, -F64_LN_2, x)), power, power);
}
FN f32 f32_exp_number(f32 x) { return (f32)f64_exp(f64_held(x, -110, 90)); }
FN f64 f64_quarter_turns(f32 angle, f64 *shifted) {
    f32 size = fabs(angle);
    bool over1 = size >= 0x1p51f, over2 = size >= 0x1p78f, over3 = size >= 0x1p105f;
    f64 scale = over3 ? 0x1p-81 : over2 ? 0x1p-54 : over1 ? 0x1p-27 : 1.0;
    f64 high = over3 ? -0x1.505c158p+0 : over2 ? 0x1.4a7f09cp+0 : over1 ? -0x1.1b1bbe8p-1 : 0x1.45f306cp-1;
    f64 middle = over3 ? -0x1.6447e48p-28 : over2 ? 0x1.5f47d4cp-28 : over1 ? -0x1.6b01ec4p-28 : 0x1.c9c882ap-29;
    f64 low = over3   ? -0x1.3ad4cd8778df8p-56
              : over2 ? 0x1.377036d8a5665p-56
              : over1 ? -0x1.4170565911f92p-56
                      : 0x1.4fe13abe8fa9ap-59;
    f64 x = angle * scale;
    f64 first = x * high, second = x * middle;
    first = first - 4 * ((first * 0.25 + F64_TO_INTEGER) - F64_TO_INTEGER);
    *shifted = (first + second) + F64_TO_INTEGER;
    return ((first - (*shifted - F64_TO_INTEGER)) + second) + x * low;
}
FN f64 f64_sin_near(f64 r) {
    f64 z = r * r;
    f64 p = F64_MUL_ADD(z, 0.00015819417704280228, -0.0046812602321385371);
    p = F64_MUL_ADD(z, p, 0.079692581789418473);
    p = F64_MUL_ADD(z, p, -0.64596409610016059);
    return r * F64_MUL_ADD(z, p, 1.5707963267877356);
}
FN f64 f64_cos_near(f64 r) {
    f64 z = r * r;
    f64 p = F64_MUL_ADD(z, 0.00090376027454885021, -0.020860162414454847);
    p = F64_MUL_ADD(z, p, 0.25366922561990574);
    p = F64_MUL_ADD(z, p, -1.2337005425852849);
    return F64_MUL_ADD(z, p, 1.0);
}
FN f32 f32_sin_ahead(f32 x, u64 ahead) {
    f64 shifted;
    f64 r = f64_quarter_turns(x, &shifted);
    u64 k = f64_bits(shifted) + ahead;
    f64 value = (k & 1) == 0 ? f64_sin_near(r) : f64_cos_near(r);
    return (f32)f64_of_bits(f64_bits(value) ^ ((k & 2) << 62));
}
FN f32 f32_sin_number(f32 x) { return f32_sin_ahead(x, 0); }
#define LAZULI_OF_NUMBER(F, NUMBER) \
    FN f32 F(f32 x) { return x == x ? NUMBER(x) : x; }
LAZULI_OF_NUMBER(f32_exp, f32_exp_number)
LAZULI_OF_NUMBER(f32_sin, f32_sin_number)

__kernel void transcend_f32(
    __global const float *restrict in0, __global const float *restrict in1, __global const float *restrict in2,
    __global float *restrict out0,
    int n0,
    float s0) {
    const int i0 = get_global_id(0);
    if (i0 >= n0) return;
    const float v0 = in0[i0];
    const float v1 = in1[i0];
    out0[i0] = sqrt(v0 * v0 + v1 * v1) * f32_exp(-in2[i0]) + s0 * f32_sin(v0);
}
