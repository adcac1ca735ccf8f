#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void add_mul_sub(
    __global const double *restrict in0, __global double *restrict out0,
    long n0, long n1, long n2, long n3, long in0_stride0, long in0_stride1, long in0_stride2, long out0_stride0,
    long out0_stride1, long out0_stride2, long in0_offset, long in0_offset_11, long in0_offset_12,
    double s0) {
    const ulong t = get_global_id(0);
    const ulong runs = (n2 + 3) / 4;
    if (t >= runs * n0 * n1 * n3) return;
    const long i3 = t % n3;
    const long i2 = t / n3 % runs * 4;
    const ulong point = t / n3 / runs;
    const long i1 = point % n1;
    const long i0 = point / n1;
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
