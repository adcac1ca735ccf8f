extern "C" __global__ void add_mul_sub(
    const float *__restrict__ in0, float *__restrict__ out0,
    int n0, int n1, int in0_stride0, int out0_stride0, int in0_offset, int in0_offset_5, int in0_offset_6,
    float s0) {
    const int i1 = blockIdx.x * blockDim.x + threadIdx.x;
    if (i1 >= n1) return;
    const int i0 = (blockIdx.y * blockDim.y + threadIdx.y) * 4;
    if (i0 >= n0) return;
    float x0[6];
    float x1[4];
    float x2[4];
    #pragma unroll
    for (int r = 0; r < 6; ++r) {
        if (i0 + r < n0 + 2) x0[r] = in0[in0_offset + (i0 + r) * in0_stride0 + i1];
    }
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        if (i0 + r < n0) {
            x1[r] = in0[in0_offset_5 + (i0 + r) * in0_stride0 + i1];
            x2[r] = in0[in0_offset_6 + (i0 + r) * in0_stride0 + i1];
        }
    }
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        if (i0 + r >= n0) return;
        out0[(i0 + r) * out0_stride0 + i1] = s0 * (x0[r] + x0[r + 2] + x1[r] + x2[r]) - x0[r + 1];
    }
}
