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
#define LAZULI_WIDE_STORE(T, W, INDEX) \
    FN void T##x##W##_store(GLOBAL T *to, T##x##W x, INDEX left) { \
        if (left >= W) { \
            *(GLOBAL T##x##W *)to = x; \
        } else { \
            for (int v = 0; v < W; ++v) if (v < left) to[v] = x.v[v]; \
        } \
    }
#define LAZULI_WIDE(T, W, BYTES) \
    typedef struct ALIGNED(BYTES) { T v[W]; } T##x##W;
LAZULI_WIDE(f32, 4, 16)
LAZULI_WIDE_LOAD(f32, 4, i32)
LAZULI_WIDE_STORE(f32, 4, i32)

extern "C" __global__ __launch_bounds__(256, 4) void centre_f32(
    const float *__restrict__ in0, float *__restrict__ out0, float *__restrict__ out1, float *__restrict__ out2,
    int n0, int n1, int stride2,
    float s0) {
    const unsigned g = blockIdx.x * 4 + threadIdx.x / 64;
    const unsigned last = n0 - 1;
    const int i0 = min(g, last);
    const int lane = threadIdx.x % 64;
    __shared__ float sum_lanes[256];
    float sum_acc[4] = {-0.0f, -0.0f, -0.0f, -0.0f};
    f32x4 x0[2];
    #pragma unroll
    for (int s = 0; s < 2; ++s) {
        const int i1 = s * 256 + lane * 4;
        x0[s] = f32x4_load(&in0[i0 * stride2 + i1], n1 - i1);
    }
    #pragma unroll
    for (int s = 0; s < 2; ++s) {
        const int i1 = s * 256 + lane * 4;
        const int left = n1 - i1;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            if (v < left) sum_acc[v] += x0[s].v[v];
        }
    }
    for (int v = 0; v < 2; ++v) sum_acc[v] += sum_acc[v + 2];
    sum_acc[0] += sum_acc[1];
    sum_lanes[threadIdx.x] = sum_acc[0];
    __syncthreads();
    if (lane < 32) {
        float sum_part[2];
        for (int v = 0; v < 2; ++v) sum_part[v] = sum_lanes[threadIdx.x + v * 32];
        sum_part[0] += sum_part[1];
        for (int step = 16; step > 0; step /= 2) {
            sum_part[0] += __shfl_down_sync(0xffffffff, sum_part[0], step);
        }
        if (lane == 0) sum_lanes[threadIdx.x] = sum_part[0];
    }
    __syncthreads();
    const float sum = sum_lanes[threadIdx.x - lane];
    const float v0 = sum / s0;
    if (lane == 0 && g <= last) out1[i0] = v0;
    float kept[2][4];
    #pragma unroll
    for (int s = 0; s < 2; ++s) {
        const int i1 = s * 256 + lane * 4;
        const int left = n1 - i1;
        f32x4 y0;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            kept[s][v] = x0[s].v[v] - v0;
            y0.v[v] = kept[s][v];
        }
        if (g <= last) f32x4_store(&out0[i0 * stride2 + i1], y0, left);
    }
    __shared__ float sum1_lanes[256];
    float sum1_acc[4] = {-0.0f, -0.0f, -0.0f, -0.0f};
    #pragma unroll
    for (int s = 0; s < 2; ++s) {
        const int i1 = s * 256 + lane * 4;
        const int left = n1 - i1;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            if (v < left) sum1_acc[v] += kept[s][v] * kept[s][v];
        }
    }
    for (int v = 0; v < 2; ++v) sum1_acc[v] += sum1_acc[v + 2];
    sum1_acc[0] += sum1_acc[1];
    sum1_lanes[threadIdx.x] = sum1_acc[0];
    __syncthreads();
    if (lane >= 32) return;
    float sum1_part[2];
    for (int v = 0; v < 2; ++v) sum1_part[v] = sum1_lanes[threadIdx.x + v * 32];
    sum1_part[0] += sum1_part[1];
    for (int step = 16; step > 0; step /= 2) {
        sum1_part[0] += __shfl_down_sync(0xffffffff, sum1_part[0], step);
    }
    if (lane > 0 || g > last) return;
    const float sum1 = sum1_part[0];
    out2[i0] = sum1 / s0;
}
