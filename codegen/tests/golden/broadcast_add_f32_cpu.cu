extern "C" __global__ void broadcast_add_f32(
    const float *__restrict__ in0, const float *__restrict__ in1, const float *__restrict__ in2,
    float *__restrict__ out0,
    int n0, int n1, int in0_stride0, int in1_stride0, int out0_stride0, int in0_offset) {
    const int i1 = blockIdx.x * blockDim.x + threadIdx.x;
    if (i1 >= n1) return;
    const int i0 = blockIdx.y * blockDim.y + threadIdx.y;
    if (i0 >= n0) return;
    const float v0 = in0[in0_offset + i0 * in0_stride0 + i1] * (in1[i0 * in1_stride0] + in2[i1]);
    out0[i0 * out0_stride0 + i1] = v0;
}
