extern "C" __global__ __launch_bounds__(256) void column_sum_f32(
    const float *__restrict__ in0, float *__restrict__ out0,
    int n0, int n1, int in0_stride1) {
    const int i0 = blockIdx.x * blockDim.x + threadIdx.x;
    if (i0 >= n0) return;
    float sum = -0.0f;
    for (int i1 = 0; i1 < n1; ++i1) {
        sum += in0[i1 * in0_stride1 + i0];
    }
    out0[i0] = sum;
}
