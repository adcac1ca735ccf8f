#pragma OPENCL FP_CONTRACT OFF

typedef float f32;
#define FN static inline __attribute__((always_inline))
#define LAZULI_FLOAT_ORDER(F) \
    FN F F##_minimum(F a, F b) { return a != a || a < b ? a : b; } \
    FN F F##_maximum(F a, F b) { return a != a || a > b ? a : b; }
LAZULI_FLOAT_ORDER(f32)

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void softmax_f32(
    __global const float *restrict in0, __global float *restrict out0,
    int n0, int n1, int in0_stride0, int out0_stride0) {
    const int i0 = get_global_id(0);
    if (i0 >= n0) return;
    float highest = -INFINITY;
    for (int i1 = 0; i1 < n1; ++i1) {
        highest = f32_maximum(highest, in0[i0 * in0_stride0 + i1]);
    }
    float sum = -0.0f;
    for (int i1 = 0; i1 < n1; ++i1) {
        sum += exp(in0[i0 * in0_stride0 + i1] - highest);
    }
    for (int i1 = 0; i1 < n1; ++i1) {
        out0[i0 * out0_stride0 + i1] = exp(in0[i0 * in0_stride0 + i1] - highest) / sum;
    }
}
