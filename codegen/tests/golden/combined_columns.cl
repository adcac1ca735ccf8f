#pragma OPENCL FP_CONTRACT OFF

#define FN static inline __attribute__((always_inline))
#define GLOBAL __global
FN bool is_last_group(__global uint *count, uint all, __local bool *is_last) {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        *is_last = atomic_fetch_add_explicit((volatile __global atomic_uint *)count, 1u, memory_order_acq_rel,
                                             memory_scope_device) + 1 == all;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    return *is_last;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void combined_columns_f32(
    __global const float *restrict in0, __global float *restrict out0, __global float *partial0,
    __global uint *count0,
    int n0, int n1, int n2, int in0_stride2, int chunk, int partial0_stride0) {
    const int i0 = get_group_id(1);
    const uint g = get_group_id(0) * 32 + get_local_id(0) % 32;
    const uint last = n1 - 1;
    const int i1 = min(g, last);
    const int lane = get_local_id(0) / 32;
    __local float sum_lanes[256];
    float sum_acc = -0.0f;
    const int start = i0 * chunk;
    const int end = min(start + chunk, n2);
    for (int i2 = start + lane; i2 < end; i2 += 8) {
        sum_acc += in0[i2 * in0_stride2 + i1];
    }
    sum_lanes[get_local_id(0)] = sum_acc;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        float sum_part[8];
        for (int v = 0; v < 8; ++v) sum_part[v] = sum_lanes[get_local_id(0) + v * 32];
        for (int v = 0; v < 4; ++v) sum_part[v] += sum_part[v + 4];
        for (int v = 0; v < 2; ++v) sum_part[v] += sum_part[v + 2];
        sum_part[0] += sum_part[1];
        if (g <= last) partial0[i0 * partial0_stride0 + i1] = sum_part[0];
    }
    __local bool is_last;
    if (!is_last_group(&count0[get_group_id(0)], get_num_groups(1), &is_last)) return;
    __local float sum1_lanes[256];
    float sum1_acc = -0.0f;
    for (int c0 = lane; c0 < n0; c0 += 8) {
        sum1_acc += partial0[c0 * partial0_stride0 + i1];
    }
    sum1_lanes[get_local_id(0)] = sum1_acc;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        float sum1_part[8];
        for (int v = 0; v < 8; ++v) sum1_part[v] = sum1_lanes[get_local_id(0) + v * 32];
        for (int v = 0; v < 4; ++v) sum1_part[v] += sum1_part[v + 4];
        for (int v = 0; v < 2; ++v) sum1_part[v] += sum1_part[v + 2];
        sum1_part[0] += sum1_part[1];
        sum1_lanes[get_local_id(0)] = sum1_part[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float sum1 = sum1_lanes[get_local_id(0) % 32];
    if (lane > 0 || g > last) return;
    out0[i1] = sum1;
}
