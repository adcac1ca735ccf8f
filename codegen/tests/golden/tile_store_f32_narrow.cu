extern "C" __global__ __launch_bounds__(256) void add_sub_f32(
    const float *__restrict__ in0, const float *__restrict__ in1, float *__restrict__ out0,
    float *__restrict__ out1,
    int n0, int n1, int stride2, int stride3) {
    const unsigned g = blockIdx.x;
    const unsigned columns = (n1 + 63u) / 64;
    const int c1 = g % columns * 64;
    const int c0 = g / columns * 64;
    const int x = threadIdx.x % 64;
    const int y = threadIdx.x / 64;
    __shared__ float tile[64 * 65];
    __shared__ float tile1[64 * 65];
    float x0[16];
    {
        const int i0 = c0 + x;
        const int i1 = c1 + y;
        #pragma unroll
        for (int r = 0; r < 16; ++r) {
            if (i1 + r * 4 < n1 && i0 < n0) x0[r] = in1[i0 + (i1 + r * 4) * stride3];
        }
    }
    const int i0 = c0 + y;
    const int i1 = c1 + x;
    float x1[16];
    #pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (i0 + r * 4 < n0 && i1 < n1) x1[r] = in0[(i0 + r * 4) * stride2 + i1];
    }
    #pragma unroll
    for (int r = 0; r < 16; ++r) {
        tile[(y + r * 4) * 65 + x] = x0[r];
    }
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (i0 + r * 4 < n0 && i1 < n1) {
            const float v0 = x1[r];
            const float v1 = tile[x * 65 + y + r * 4];
            out0[(i0 + r * 4) * stride2 + i1] = v0 + v1;
            tile1[x * 65 + y + r * 4] = v0 - v1;
        }
    }
    __syncthreads();
    {
        const int i0 = c0 + x;
        const int i1 = c1 + y;
        #pragma unroll
        for (int r = 0; r < 16; ++r) {
            if (i1 + r * 4 >= n1) return;
            if (i0 < n0) out1[i0 + (i1 + r * 4) * stride3] = tile1[(y + r * 4) * 65 + x];
        }
    }
}
