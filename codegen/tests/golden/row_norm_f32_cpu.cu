extern "C" __global__ __launch_bounds__(1) void row_norm_f32(
    const float *__restrict__ in0, float *__restrict__ out0,
    int n0, int n1, int in0_stride0) {
    const int i0 = blockIdx.x;
    float sum_acc[16];
    for (int v = 0; v < 16; ++v) sum_acc[v] = -0.0f;
    int r0 = 0;
    for (; r0 < n1 - 15; r0 += 16) {
        #pragma unroll
        for (int v = 0; v < 16; ++v) {
            const float v0 = in0[i0 * in0_stride0 + r0 + v];
            sum_acc[v] += v0 * v0;
        }
    }
    #pragma unroll
    for (int v = 0; v < 15; ++v) {
        if (r0 + v < n1) {
            const float v0 = in0[i0 * in0_stride0 + r0 + v];
            sum_acc[v] += v0 * v0;
        }
    }
    for (int v = 0; v < 8; ++v) sum_acc[v] += sum_acc[v + 8];
    for (int v = 0; v < 4; ++v) sum_acc[v] += sum_acc[v + 4];
    for (int v = 0; v < 2; ++v) sum_acc[v] += sum_acc[v + 2];
    sum_acc[0] += sum_acc[1];
    const float sum = sum_acc[0];
    out0[i0] = sqrtf(sum);
}
