#pragma OPENCL FP_CONTRACT OFF

__kernel void triad_f32(
    __global const float *restrict in0, __global const float *restrict in1, __global float *restrict out0,
    int n0,
    float s0) {
    const int i0 = get_global_id(0);
    if (i0 >= n0) return;
    out0[i0] = in0[i0] + s0 * in1[i0];
}
