extern "C" __global__ __launch_bounds__(256) void column_sum_f32(
    const float *__restrict__ in0, float *__restrict__ out0,
    int n0, int n1, int in0_stride1) {
    const unsigned g = blockIdx.x * 32 + threadIdx.x % 32;
    const unsigned last = n0 - 1;
    const int i0 = min(g, last);
    const int lane = threadIdx.x / 32;
    __shared__ float sum_lanes[256];
    float sum_acc = -0.0f;
    for (int i1 = lane; i1 < n1; i1 += 8) {
        sum_acc += in0[i1 * in0_stride1 + i0];
    }
    sum_lanes[threadIdx.x] = sum_acc;
    __syncthreads();
    if (lane > 0 || g > last) return;
    float sum_part[8];
    for (int v = 0; v < 8; ++v) sum_part[v] = sum_lanes[threadIdx.x + v * 32];
    for (int v = 0; v < 4; ++v) sum_part[v] += sum_part[v + 4];
    for (int v = 0; v < 2; ++v) sum_part[v] += sum_part[v + 2];
    sum_part[0] += sum_part[1];
    const float sum = sum_part[0];
    out0[i0] = sum;
}
