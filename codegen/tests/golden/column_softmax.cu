typedef float f32;
#define FN static __device__ __forceinline__
#define LAZULI_FLOAT_ORDER(F) \
    FN F F##_minimum(F a, F b) { return a != a || a < b ? a : b; } \
    FN F F##_maximum(F a, F b) { return a != a || a > b ? a : b; }
LAZULI_FLOAT_ORDER(f32)

extern "C" __global__ __launch_bounds__(256) void column_softmax_f32(
    const float *__restrict__ in0, float *__restrict__ out0,
    int n0, int n1, int in0_stride1, int out0_stride1) {
    const unsigned g = blockIdx.x * 32 + threadIdx.x % 32;
    const unsigned last = n0 - 1;
    const int i0 = min(g, last);
    const int lane = threadIdx.x / 32;
    __shared__ float highest_lanes[256];
    float highest_acc = -__int_as_float(0x7f800000);
    for (int i1 = lane; i1 < n1; i1 += 8) {
        highest_acc = f32_maximum(highest_acc, in0[i1 * in0_stride1 + i0]);
    }
    highest_lanes[threadIdx.x] = highest_acc;
    __syncthreads();
    if (lane == 0) {
        float highest_part[8];
        for (int v = 0; v < 8; ++v) highest_part[v] = highest_lanes[threadIdx.x + v * 32];
        for (int v = 0; v < 4; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 4]);
        for (int v = 0; v < 2; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 2]);
        highest_part[0] = f32_maximum(highest_part[0], highest_part[1]);
        highest_lanes[threadIdx.x] = highest_part[0];
    }
    __syncthreads();
    const float highest = highest_lanes[threadIdx.x % 32];
    __shared__ float sum_lanes[256];
    float sum_acc = -0.0f;
    for (int i1 = lane; i1 < n1; i1 += 8) {
        sum_acc += expf(in0[i1 * in0_stride1 + i0] - highest);
    }
    sum_lanes[threadIdx.x] = sum_acc;
    __syncthreads();
    if (lane == 0) {
        float sum_part[8];
        for (int v = 0; v < 8; ++v) sum_part[v] = sum_lanes[threadIdx.x + v * 32];
        for (int v = 0; v < 4; ++v) sum_part[v] += sum_part[v + 4];
        for (int v = 0; v < 2; ++v) sum_part[v] += sum_part[v + 2];
        sum_part[0] += sum_part[1];
        sum_lanes[threadIdx.x] = sum_part[0];
    }
    __syncthreads();
    const float sum = sum_lanes[threadIdx.x % 32];
    if (g > last) return;
    for (int i1 = lane; i1 < n1; i1 += 8) {
        out0[i1 * out0_stride1 + i0] = expf(in0[i1 * in0_stride1 + i0] - highest) / sum;
    }
}
