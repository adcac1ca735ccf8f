extern "C" __global__ __launch_bounds__(256) void mul_add_f32(
    const float *__restrict__ in0, const float *__restrict__ in1, const float *__restrict__ in2,
    const float *__restrict__ in3, float *__restrict__ out0,
    int n0, int n1, int stride2, int in1_stride1, int out0_stride0,
    float s0) {
    const unsigned g = blockIdx.x;
    const unsigned columns = (n1 + 63u) / 64;
    const int c1 = g % columns * 64;
    const int c0 = g / columns * 64;
    const int x = threadIdx.x % 64;
    const int y = threadIdx.x / 64;
    __shared__ float tile[64 * 65];
    float x0[16];
    {
        const int i0 = c0 + x;
        const int i1 = c1 + y;
        #pragma unroll
        for (int r = 0; r < 16; ++r) {
            if (i1 + r * 4 < n1 && i0 < n0) x0[r] = in1[i0 + (i1 + r * 4) * in1_stride1];
        }
    }
    const int i0 = c0 + y;
    const int i1 = c1 + x;
    const float x1 = in2[i1];
    float x2[16];
    float x3[16];
    #pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (i0 + r * 4 < n0 && i1 < n1) {
            x2[r] = in0[(i0 + r * 4) * stride2 + i1];
            x3[r] = in3[(i0 + r * 4) * stride2];
        }
    }
    #pragma unroll
    for (int r = 0; r < 16; ++r) {
        tile[(y + r * 4) * 65 + x] = x0[r];
    }
    __syncthreads();
    if (i1 >= n1) return;
    #pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (i0 + r * 4 >= n0) return;
        out0[(i0 + r * 4) * out0_stride0 + i1] = x2[r] + s0 * tile[x * 65 + y + r * 4] + x1 + x3[r];
    }
}
