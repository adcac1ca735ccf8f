#pragma OPENCL FP_CONTRACT OFF

__kernel void column_sum_f32(
    __global const float *restrict in0, __global float *restrict out0,
    int n0, int n1, int in0_stride1) {
    const int i0 = get_global_id(0);
    if (i0 >= n0) return;
    float sum = -0.0f;
    for (int i1 = 0; i1 < n1; ++i1) {
        sum += in0[i1 * in0_stride1 + i0];
    }
    out0[i0] = sum;
}
