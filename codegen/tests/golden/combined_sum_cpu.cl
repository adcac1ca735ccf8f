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

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void combined_norm_f32(
    __global const float *restrict in0, __global float *restrict out0, __global float *partial0,
    __global uint *count0,
    int n0, int n1, int n2, int in0_stride1, int chunk, int partial0_stride1) {
    const int i0 = get_group_id(1);
    const int i1 = get_group_id(0);
    float sum_acc[16];
    for (int v = 0; v < 16; ++v) sum_acc[v] = -0.0f;
    const int start = i0 * chunk;
    const int end = min(start + chunk, n2);
    int r0 = start;
    for (; r0 < end - 15; r0 += 16) {
        #pragma unroll
        for (int v = 0; v < 16; ++v) {
            const float v0 = in0[i1 * in0_stride1 + r0 + v];
            sum_acc[v] += v0 * v0;
        }
    }
    #pragma unroll
    for (int v = 0; v < 15; ++v) {
        if (r0 + v < end) {
            const float v0 = in0[i1 * in0_stride1 + r0 + v];
            sum_acc[v] += v0 * v0;
        }
    }
    for (int v = 0; v < 8; ++v) sum_acc[v] += sum_acc[v + 8];
    for (int v = 0; v < 4; ++v) sum_acc[v] += sum_acc[v + 4];
    for (int v = 0; v < 2; ++v) sum_acc[v] += sum_acc[v + 2];
    sum_acc[0] += sum_acc[1];
    partial0[i1 * partial0_stride1 + i0] = sum_acc[0];
    __local bool is_last;
    if (!is_last_group(&count0[get_group_id(0)], get_num_groups(1), &is_last)) return;
    float sum1_acc[16];
    for (int v = 0; v < 16; ++v) sum1_acc[v] = -0.0f;
    for (int c0 = 0; c0 < n0; c0 += 16) {
        for (int v = 0; v < 16; ++v) {
            if (c0 + v < n0) sum1_acc[v] += partial0[i1 * partial0_stride1 + c0 + v];
        }
    }
    for (int v = 0; v < 8; ++v) sum1_acc[v] += sum1_acc[v + 8];
    for (int v = 0; v < 4; ++v) sum1_acc[v] += sum1_acc[v + 4];
    for (int v = 0; v < 2; ++v) sum1_acc[v] += sum1_acc[v + 2];
    sum1_acc[0] += sum1_acc[1];
    const float sum1 = sum1_acc[0];
    out0[i1] = sqrt(sum1);
}
