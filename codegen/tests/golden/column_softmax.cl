#pragma OPENCL FP_CONTRACT OFF

typedef float f32;
#define FN static inline __attribute__((always_inline))
#define LAZULI_FLOAT_ORDER(F) \
    FN F F##_minimum(F a, F b) { return a != a || a < b ? a : b; } \
    FN F F##_maximum(F a, F b) { return a != a || a > b ? a : b; }
LAZULI_FLOAT_ORDER(f32)

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void column_softmax_f32(
    __global const float *restrict in0, __global float *restrict out0,
    int n0, int n1, int in0_stride1, int out0_stride1) {
    const uint g = get_group_id(0) * 32 + get_local_id(0) % 32;
    const uint last = n0 - 1;
    const int i0 = min(g, last);
    const int lane = get_local_id(0) / 32;
    __local float highest_lanes[256];
    float highest_acc = -INFINITY;
    for (int i1 = lane; i1 < n1; i1 += 8) {
        highest_acc = f32_maximum(highest_acc, in0[i1 * in0_stride1 + i0]);
    }
    highest_lanes[get_local_id(0)] = highest_acc;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        float highest_part[8];
        for (int v = 0; v < 8; ++v) highest_part[v] = highest_lanes[get_local_id(0) + v * 32];
        for (int v = 0; v < 4; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 4]);
        for (int v = 0; v < 2; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 2]);
        highest_part[0] = f32_maximum(highest_part[0], highest_part[1]);
        highest_lanes[get_local_id(0)] = highest_part[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float highest = highest_lanes[get_local_id(0) % 32];
    __local float sum_lanes[256];
    float sum_acc = -0.0f;
    for (int i1 = lane; i1 < n1; i1 += 8) {
        sum_acc += exp(in0[i1 * in0_stride1 + i0] - highest);
    }
    sum_lanes[get_local_id(0)] = sum_acc;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        float sum_part[8];
        for (int v = 0; v < 8; ++v) sum_part[v] = sum_lanes[get_local_id(0) + v * 32];
        for (int v = 0; v < 4; ++v) sum_part[v] += sum_part[v + 4];
        for (int v = 0; v < 2; ++v) sum_part[v] += sum_part[v + 2];
        sum_part[0] += sum_part[1];
        sum_lanes[get_local_id(0)] = sum_part[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float sum = sum_lanes[get_local_id(0) % 32];
    if (g > last) return;
    for (int i1 = lane; i1 < n1; i1 += 8) {
        out0[i1 * out0_stride1 + i0] = exp(in0[i1 * in0_stride1 + i0] - highest) / sum;
    }
}
