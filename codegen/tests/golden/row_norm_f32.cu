typedef int i32;
typedef float f32;
#define FN static __device__ __forceinline__
#define GLOBAL
#define ALIGNED(bytes) __align__(bytes)
#define LAZULI_WIDE_LOAD(T, W, INDEX) \
    FN T##x##W T##x##W##_load(GLOBAL const T *from, INDEX left) { \
        T##x##W x; \
        if (left >= W) { \
            x = *(GLOBAL const T##x##W *)from; \
        } else { \
            for (int v = 0; v < W; ++v) x.v[v] = v < left ? from[v] : (T)0; \
        } \
        return x; \
    }
#define LAZULI_WIDE(T, W, BYTES) \
    typedef struct ALIGNED(BYTES) { T v[W]; } T##x##W;
LAZULI_WIDE(f32, 4, 16)
LAZULI_WIDE_LOAD(f32, 4, i32)

extern "C" __global__ __launch_bounds__(256) void row_norm_f32(
    const float *__restrict__ in0, float *__restrict__ out0,
    int n0, int n1, int in0_stride0) {
    const int i0 = blockIdx.x;
    const int lane = threadIdx.x;
    __shared__ float sum_lanes[256];
    float sum_acc[4] = {-0.0f, -0.0f, -0.0f, -0.0f};
    int r0 = lane * 4;
    for (; r0 < n1 - 3; r0 += 1024) {
        const f32x4 x0 = *(const f32x4 *)&in0[i0 * in0_stride0 + r0];
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            const float v0 = x0.v[v];
            sum_acc[v] += v0 * v0;
        }
    }
    if (r0 < n1) {
        const int left = n1 - r0;
        const f32x4 x1 = f32x4_load(&in0[i0 * in0_stride0 + r0], left);
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            const float v0 = x1.v[v];
            if (v < left) sum_acc[v] += v0 * v0;
        }
    }
    for (int v = 0; v < 2; ++v) sum_acc[v] += sum_acc[v + 2];
    sum_acc[0] += sum_acc[1];
    sum_lanes[lane] = sum_acc[0];
    __syncthreads();
    if (lane >= 32) return;
    float sum_part[8];
    for (int v = 0; v < 8; ++v) sum_part[v] = sum_lanes[lane + v * 32];
    for (int v = 0; v < 4; ++v) sum_part[v] += sum_part[v + 4];
    for (int v = 0; v < 2; ++v) sum_part[v] += sum_part[v + 2];
    sum_part[0] += sum_part[1];
    for (int step = 16; step > 0; step /= 2) {
        sum_part[0] += __shfl_down_sync(0xffffffff, sum_part[0], step);
    }
    if (lane > 0) return;
    const float sum = sum_part[0];
    out0[i0] = sqrtf(sum);
}
