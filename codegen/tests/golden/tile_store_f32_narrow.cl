#pragma OPENCL FP_CONTRACT OFF

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void add_sub_f32(
    __global const float *restrict in0, __global const float *restrict in1, __global float *restrict out0,
    __global float *restrict out1,
    int n0, int n1, int stride2, int stride3) {
    const uint g = get_group_id(0);
    const uint columns = (n1 + 63u) / 64;
    const int c1 = g % columns * 64;
    const int c0 = g / columns * 64;
    const int x = get_local_id(0) % 64;
    const int y = get_local_id(0) / 64;
    __local float tile[64 * 65];
    __local float tile1[64 * 65];
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
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int r = 0; r < 16; ++r) {
        if (i0 + r * 4 < n0 && i1 < n1) {
            const float v0 = x1[r];
            const float v1 = tile[x * 65 + y + r * 4];
            out0[(i0 + r * 4) * stride2 + i1] = v0 + v1;
            tile1[x * 65 + y + r * 4] = v0 - v1;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
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
