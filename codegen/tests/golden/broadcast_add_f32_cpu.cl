#pragma OPENCL FP_CONTRACT OFF

__kernel void broadcast_add_f32(
    __global const float *restrict in0, __global const float *restrict in1, __global const float *restrict in2,
    __global float *restrict out0,
    int n0, int n1, int in0_stride0, int in1_stride0, int out0_stride0, int in0_offset) {
    const int i1 = get_global_id(0);
    if (i1 >= n1) return;
    const int i0 = get_global_id(1);
    if (i0 >= n0) return;
    const float v0 = in0[in0_offset + i0 * in0_stride0 + i1] * (in1[i0 * in1_stride0] + in2[i1]);
    out0[i0 * out0_stride0 + i1] = v0;
}
