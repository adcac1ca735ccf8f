#pragma OPENCL FP_CONTRACT OFF

__kernel void saxpy(
    float a, __global const float *restrict x, ulong x_len, __global float *restrict y, ulong y_len) {
    const ulong i = get_global_id(0);
    if (i < y_len) {
        y[i] = a * x[i] + y[i];
    }
}
