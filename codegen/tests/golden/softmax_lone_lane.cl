#pragma OPENCL FP_CONTRACT OFF

typedef float f32;
#define FN static inline __attribute__((always_inline))
#define LAZULI_FLOAT_ORDER(F) \
    FN F F##_minimum(F a, F b) { return a != a || a < b ? a : b; } \
    FN F F##_maximum(F a, F b) { return a != a || a > b ? a : b; }
LAZULI_FLOAT_ORDER(f32)

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void softmax_f32(
    __global const float *restrict in0, __global float *restrict out0,
    int n0, int n1, int in0_stride0, int out0_stride0) {
    const uint g = get_group_id(0) * 64 + get_local_id(0);
    if (g >= n0) return;
    const int i0 = g;
    float kept[8];
    float highest_acc = -INFINITY;
    #pragma unroll
    for (int i1 = 0; i1 < 8; ++i1) {
        if (i1 < n1) {
            kept[i1] = in0[i0 * in0_stride0 + i1];
            highest_acc = f32_maximum(highest_acc, kept[i1]);
        }
    }
    const float highest = highest_acc;
    float kept1[8];
    float sum_acc = -0.0f;
    #pragma unroll
    for (int i1 = 0; i1 < 8; ++i1) {
        if (i1 < n1) {
            kept1[i1] = exp(kept[i1] - highest);
            sum_acc += kept1[i1];
        }
    }
    const float sum = sum_acc;
    #pragma unroll
    for (int i1 = 0; i1 < 8; ++i1) {
        if (i1 < n1) {
            out0[i0 * out0_stride0 + i1] = kept1[i1] / sum;
        }
    }
}
