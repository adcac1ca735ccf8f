#pragma OPENCL FP_CONTRACT OFF

__kernel void histogram(
    __global const uchar *restrict data, ulong data_len, __global uint *counts, ulong counts_len) {
    __local uint bins[256];
    const uint t = get_local_id(0);
    if (t < 256) {
        bins[t] = 0u;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const ulong i = get_global_id(0);
    if (i < data_len) {
        atomic_add(&bins[(uint)data[i]], 1u);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (t < 256) {
        const uint total = bins[t];
        if (total > 0u) {
            atomic_add(&counts[t], total);
        }
    }
}
