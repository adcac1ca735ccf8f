#pragma OPENCL FP_CONTRACT OFF

typedef float f32;
#define FN static inline __attribute__((always_inline))
#define LAZULI_FLOAT_ORDER(F) \
    FN F F##_minimum(F a, F b) { return a != a || a < b ? a : b; } \
    FN F F##_maximum(F a, F b) { return a != a || a > b ? a : b; }
LAZULI_FLOAT_ORDER(f32)

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void softmax_f32(
    __global const float *restrict in0, __global float *restrict out0,
    int n0, int n1, int in0_stride0, int out0_stride0) {
    const int i0 = get_group_id(0);
    float highest_acc[16];
    for (int v = 0; v < 16; ++v) highest_acc[v] = -INFINITY;
    int r0 = 0;
    for (; r0 < n1 - 15; r0 += 16) {
        #pragma unroll
        for (int v = 0; v < 16; ++v) {
            highest_acc[v] = f32_maximum(highest_acc[v], in0[i0 * in0_stride0 + r0 + v]);
        }
    }
    #pragma unroll
    for (int v = 0; v < 15; ++v) {
        if (r0 + v < n1) {
            highest_acc[v] = f32_maximum(highest_acc[v], in0[i0 * in0_stride0 + r0 + v]);
        }
    }
    for (int v = 0; v < 8; ++v) highest_acc[v] = f32_maximum(highest_acc[v], highest_acc[v + 8]);
    for (int v = 0; v < 4; ++v) highest_acc[v] = f32_maximum(highest_acc[v], highest_acc[v + 4]);
    for (int v = 0; v < 2; ++v) highest_acc[v] = f32_maximum(highest_acc[v], highest_acc[v + 2]);
    highest_acc[0] = f32_maximum(highest_acc[0], highest_acc[1]);
    const float highest = highest_acc[0];
    float kept[4096];
    float sum_acc[16];
    for (int v = 0; v < 16; ++v) sum_acc[v] = -0.0f;
    int r1 = 0;
    for (; r1 < n1 - 15; r1 += 16) {
        for (int v = 0; v < 16; ++v) {
            kept[r1 + v] = exp(in0[i0 * in0_stride0 + r1 + v] - highest);
            sum_acc[v] += kept[r1 + v];
        }
    }
    #pragma unroll
    for (int v = 0; v < 15; ++v) {
        if (r1 + v < n1) {
            kept[r1 + v] = exp(in0[i0 * in0_stride0 + r1 + v] - highest);
            sum_acc[v] += kept[r1 + v];
        }
    }
    for (int v = 0; v < 8; ++v) sum_acc[v] += sum_acc[v + 8];
    for (int v = 0; v < 4; ++v) sum_acc[v] += sum_acc[v + 4];
    for (int v = 0; v < 2; ++v) sum_acc[v] += sum_acc[v + 2];
    sum_acc[0] += sum_acc[1];
    const float sum = sum_acc[0];
    for (int i1 = 0; i1 < n1; ++i1) {
        out0[i0 * out0_stride0 + i1] = kept[i1] / sum;
    }
}
