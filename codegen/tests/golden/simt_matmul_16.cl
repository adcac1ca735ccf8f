#pragma OPENCL FP_CONTRACT OFF

__kernel void matmul(
    __global const float *restrict a, ulong a_len, __global const float *restrict b, ulong b_len,
    __global float *restrict c, ulong c_len, ulong n) {
    __local float a_tile[16][16];
    __local float b_tile[16][16];
    const uint tx = get_local_id(0);
    const uint ty = get_local_id(1);
    const ulong row = get_group_id(1) * 16 + ty;
    const ulong column = get_group_id(0) * 16 + tx;
    float sum = 0.0f;
    for (ulong t = 0; t < n / 16; t++) {
        a_tile[ty][tx] = a[row * n + (t * 16 + tx)];
        b_tile[ty][tx] = b[(t * 16 + ty) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        for (uint k = 0; k < 16; k++) {
            sum += a_tile[ty][k] * b_tile[k][tx];
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}
