typedef float f32;
#define FN static __device__ __forceinline__
#define LAZULI_FLOAT_ORDER(F) \
    FN F F##_minimum(F a, F b) { return a != a || a < b ? a : b; } \
    FN F F##_maximum(F a, F b) { return a != a || a > b ? a : b; }
LAZULI_FLOAT_ORDER(f32)

extern "C" __global__ __launch_bounds__(128) void chunked_max_f32(
    const float *__restrict__ in0, float *__restrict__ out0,
    long long n0, long long n1, long long n2, long long chunk, long long in0_stride1, long long in0_stride2) {
    const long long i0 = blockIdx.x;
    const int lane = threadIdx.x;
    __shared__ float highest_lanes[128];
    float highest_acc[2] = {-__int_as_float(0x7f800000), -__int_as_float(0x7f800000)};
    const long long start = i0 * chunk;
    const long long end = min(start + chunk, n1 * n2);
    long long r0 = start + lane * 2;
    long long k0 = (unsigned long long)r0 % n2;
    const long long d0 = 256 % n2;
    long long k1 = (unsigned long long)r0 / n2;
    const long long d1 = 256 / n2;
    for (; r0 < end - 1; r0 += 256) {
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            long long k1v = k1;
            long long k0v = k0 + v;
            while (k0v >= n2) { k0v -= n2; ++k1v; }
            highest_acc[v] = f32_maximum(highest_acc[v], in0[k1v * in0_stride1 + k0v * in0_stride2]);
        }
        k0 += d0;
        k1 += d1;
        if (k0 >= n2) { k0 -= n2; ++k1; }
    }
    if (r0 < end) {
        const long long left = end - r0;
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            long long k1v = k1;
            long long k0v = k0 + v;
            while (k0v >= n2) { k0v -= n2; ++k1v; }
            if (v < left) highest_acc[v] = f32_maximum(highest_acc[v], v < left ? in0[k1v * in0_stride1 + k0v * in0_stride2] : 0);
        }
    }
    highest_acc[0] = f32_maximum(highest_acc[0], highest_acc[1]);
    highest_lanes[lane] = highest_acc[0];
    __syncthreads();
    if (lane >= 32) return;
    float highest_part[4];
    for (int v = 0; v < 4; ++v) highest_part[v] = highest_lanes[lane + v * 32];
    for (int v = 0; v < 2; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 2]);
    highest_part[0] = f32_maximum(highest_part[0], highest_part[1]);
    for (int step = 16; step > 0; step /= 2) {
        highest_part[0] = f32_maximum(highest_part[0], __shfl_down_sync(0xffffffff, highest_part[0], step));
    }
    if (lane > 0) return;
    const float highest = highest_part[0];
    out0[i0] = highest;
}
