#define FN static __device__ __forceinline__
FN bool is_last_group(unsigned *count, unsigned all) {
    __shared__ bool is_last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        is_last = atomicAdd(count, 1u) + 1 == all;
        __threadfence();
    }
    __syncthreads();
    return is_last;
}

extern "C" __global__ __launch_bounds__(256) void combined_columns_f32(
    const float *__restrict__ in0, float *__restrict__ out0, float *partial0, unsigned *count0,
    int n0, int n1, int n2, int in0_stride2, int chunk, int partial0_stride0) {
    const int i0 = blockIdx.y;
    const unsigned g = blockIdx.x * 32 + threadIdx.x % 32;
    const unsigned last = n1 - 1;
    const int i1 = min(g, last);
    const int lane = threadIdx.x / 32;
    __shared__ float sum_lanes[256];
    float sum_acc = -0.0f;
    const int start = i0 * chunk;
    const int end = min(start + chunk, n2);
    for (int i2 = start + lane; i2 < end; i2 += 8) {
        sum_acc += in0[i2 * in0_stride2 + i1];
    }
    sum_lanes[threadIdx.x] = sum_acc;
    __syncthreads();
    if (lane == 0) {
        float sum_part[8];
        for (int v = 0; v < 8; ++v) sum_part[v] = sum_lanes[threadIdx.x + v * 32];
        for (int v = 0; v < 4; ++v) sum_part[v] += sum_part[v + 4];
        for (int v = 0; v < 2; ++v) sum_part[v] += sum_part[v + 2];
        sum_part[0] += sum_part[1];
        if (g <= last) partial0[i0 * partial0_stride0 + i1] = sum_part[0];
    }
    if (!is_last_group(&count0[blockIdx.x], gridDim.y)) return;
    __shared__ float sum1_lanes[256];
    float sum1_acc = -0.0f;
    for (int c0 = lane; c0 < n0; c0 += 8) {
        sum1_acc += __ldcg(&partial0[c0 * partial0_stride0 + i1]);
    }
    sum1_lanes[threadIdx.x] = sum1_acc;
    __syncthreads();
    if (lane == 0) {
        float sum1_part[8];
        for (int v = 0; v < 8; ++v) sum1_part[v] = sum1_lanes[threadIdx.x + v * 32];
        for (int v = 0; v < 4; ++v) sum1_part[v] += sum1_part[v + 4];
        for (int v = 0; v < 2; ++v) sum1_part[v] += sum1_part[v + 2];
        sum1_part[0] += sum1_part[1];
        sum1_lanes[threadIdx.x] = sum1_part[0];
    }
    __syncthreads();
    const float sum1 = sum1_lanes[threadIdx.x % 32];
    if (lane > 0 || g > last) return;
    out0[i1] = sum1;
}
