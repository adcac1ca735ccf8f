extern "C" __global__ void transcend_f32(
    const float *__restrict__ in0, const float *__restrict__ in1, const float *__restrict__ in2,
    float *__restrict__ out0,
    int n0,
    float s0) {
    const int i0 = blockIdx.x * blockDim.x + threadIdx.x;
    if (i0 >= n0) return;
    const float v0 = in0[i0];
    const float v1 = in1[i0];
    out0[i0] = sqrtf(v0 * v0 + v1 * v1) * expf(-in2[i0]) + s0 * sinf(v0);
}
