extern "C" __global__ void triad_f32(
    const float *__restrict__ in0, const float *__restrict__ in1, float *__restrict__ out0,
    int n0,
    float s0) {
    const int i0 = blockIdx.x * blockDim.x + threadIdx.x;
    if (i0 >= n0) return;
    out0[i0] = in0[i0] + s0 * in1[i0];
}
