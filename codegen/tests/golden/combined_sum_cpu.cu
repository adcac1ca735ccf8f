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

extern "C" __global__ __launch_bounds__(1) void combined_norm_f32(
    const float *__restrict__ in0, float *__restrict__ out0, float *partial0, unsigned *count0,
    int n0, int n1, int n2, int in0_stride1, int chunk, int partial0_stride1) {
    const int i0 = blockIdx.y;
    const int i1 = blockIdx.x;
    float sum_acc[16];
    for (int v = 0; v < 16; ++v) sum_acc[v] = -0.0f;
    const int start = i0 * chunk;
    const int end = min(start + chunk, n2);
    int r0 = start;
    for (; r0 < end - 15; r0 += 16) {
        #pragma unroll
        for (int v = 0; v < 16; ++v) {
            const float v0 = in0[i1 * in0_stride1 + r0 + v];
            sum_acc[v] += v0 * v0;
        }
    }
    #pragma unroll
    for (int v = 0; v < 15; ++v) {
        if (r0 + v < end) {
            const float v0 = in0[i1 * in0_stride1 + r0 + v];
            sum_acc[v] += v0 * v0;
        }
    }
    for (int v = 0; v < 8; ++v) sum_acc[v] += sum_acc[v + 8];
    for (int v = 0; v < 4; ++v) sum_acc[v] += sum_acc[v + 4];
    for (int v = 0; v < 2; ++v) sum_acc[v] += sum_acc[v + 2];
    sum_acc[0] += sum_acc[1];
    partial0[i1 * partial0_stride1 + i0] = sum_acc[0];
    if (!is_last_group(&count0[blockIdx.x], gridDim.y)) return;
    float sum1_acc[16];
    for (int v = 0; v < 16; ++v) sum1_acc[v] = -0.0f;
    for (int c0 = 0; c0 < n0; c0 += 16) {
        for (int v = 0; v < 16; ++v) {
            if (c0 + v < n0) sum1_acc[v] += __ldcg(&partial0[i1 * partial0_stride1 + c0 + v]);
        }
    }
    for (int v = 0; v < 8; ++v) sum1_acc[v] += sum1_acc[v + 8];
    for (int v = 0; v < 4; ++v) sum1_acc[v] += sum1_acc[v + 4];
    for (int v = 0; v < 2; ++v) sum1_acc[v] += sum1_acc[v + 2];
    sum1_acc[0] += sum1_acc[1];
    const float sum1 = sum1_acc[0];
    out0[i1] = sqrtf(sum1);
}
