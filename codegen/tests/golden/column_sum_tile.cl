#pragma OPENCL FP_CONTRACT OFF

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void column_sum_f32(
    __global const float *restrict in0, __global float *restrict out0,
    int n0, int n1, int in0_stride1) {
    const uint g = get_group_id(0) * 32 + get_local_id(0) % 32;
    const uint last = n0 - 1;
    const int i0 = min(g, last);
    const int lane = get_local_id(0) / 32;
    __local float sum_lanes[256];
    float sum_acc = -0.0f;
    for (int i1 = lane; i1 < n1; i1 += 8) {
        sum_acc += in0[i1 * in0_stride1 + i0];
    }
    sum_lanes[get_local_id(0)] = sum_acc;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane > 0 || g > last) return;
    float sum_part[8];
    for (int v = 0; v < 8; ++v) sum_part[v] = sum_lanes[get_local_id(0) + v * 32];
    for (int v = 0; v < 4; ++v) sum_part[v] += sum_part[v + 4];
    for (int v = 0; v < 2; ++v) sum_part[v] += sum_part[v + 2];
    sum_part[0] += sum_part[1];
    const float sum = sum_part[0];
    out0[i0] = sum;
}
