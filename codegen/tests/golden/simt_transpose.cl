#pragma OPENCL FP_CONTRACT OFF

__kernel void transpose(
    ulong rows, ulong columns, __global const float *restrict from, ulong from_len, __global float *restrict to,
    ulong to_len) {
    __local float tile[32][33];
    const uint tx = get_local_id(0);
    const uint ty = get_local_id(1);
    const ulong row = get_group_id(1) * 32 + ty;
    const ulong column = get_group_id(0) * 32 + tx;
    for (uint by = 0; by < 32; by += 8) {
        if (row + by < rows && column < columns) {
            tile[ty + by][tx] = from[(row + by) * columns + column];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const ulong row1 = get_group_id(0) * 32 + ty;
    const ulong column1 = get_group_id(1) * 32 + tx;
    for (uint by1 = 0; by1 < 32; by1 += 8) {
        if (row1 + by1 < columns && column1 < rows) {
            to[(row1 + by1) * rows + column1] = tile[tx][ty + by1];
        }
    }
}
