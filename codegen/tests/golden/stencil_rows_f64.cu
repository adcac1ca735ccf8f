extern "C" __global__ __launch_bounds__(256) void add_mul_sub(
    const double *__restrict__ in0, double *__restrict__ out0,
    long long n0, long long n1, long long n2, long long n3, long long in0_stride0, long long in0_stride1,
    long long in0_stride2, long long out0_stride0, long long out0_stride1, long long out0_stride2,
    long long in0_offset, long long in0_offset_11, long long in0_offset_12,
    double s0) {
    const unsigned long long t = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long runs = (n2 + 3) / 4;
    if (t >= runs * n0 * n1 * n3) return;
    const long long i3 = t % n3;
    const long long i2 = t / n3 % runs * 4;
    const unsigned long long point = t / n3 / runs;
    const long long i1 = point % n1;
    const long long i0 = point / n1;
    double x0[6];
    double x1[4];
    double x2[4];
    #pragma unroll
    for (int r = 0; r < 6; ++r) {
        if (i2 + r < n2 + 2) {
            x0[r] = in0[in0_offset + i0 * in0_stride0 + i1 * in0_stride1 + (i2 + r) * in0_stride2 + i3];
        }
    }
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        if (i2 + r < n2) {
            x1[r] = in0[in0_offset_11 + i0 * in0_stride0 + i1 * in0_stride1 + (i2 + r) * in0_stride2 + i3];
            x2[r] = in0[in0_offset_12 + i0 * in0_stride0 + i1 * in0_stride1 + (i2 + r) * in0_stride2 + i3];
        }
    }
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        if (i2 + r >= n2) return;
        const double y0 = s0 * (x0[r] + x0[r + 2] + x1[r] + x2[r]) - x0[r + 1];
        out0[i0 * out0_stride0 + i1 * out0_stride1 + (i2 + r) * out0_stride2 + i3] = y0;
    }
}
