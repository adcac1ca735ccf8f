typedef int i32;
typedef unsigned short u16;
typedef unsigned int u32;
typedef float f32;
#define FN static __device__ __forceinline__
#define GLOBAL
#define ALIGNED(bytes) __align__(bytes)
#define f32_bits(x) __float_as_uint(x)
#define f32_of_bits(bits) __uint_as_float(bits)
FN f32 bf16_value(u16 h) { return f32_of_bits((u32)h << 16); }
FN f32 bf16_round(f32 x) {
    u32 bits = f32_bits(x);
    u32 near = bits + 0x7fff + ((bits >> 16) & 1);
    u32 r = (bits & 0x7fffffff) > 0x7f800000 ? bits | 0x00400000 : near;
    return f32_of_bits(r & 0xffff0000);
}
FN u16 bf16_bits(f32 x) { return (u16)(f32_bits(bf16_round(x)) >> 16); }
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
LAZULI_WIDE(u16, 4, 8)
LAZULI_WIDE_LOAD(u16, 4, i32)
LAZULI_WIDE(f32, 4, 16)
LAZULI_WIDE_LOAD(f32, 4, i32)
LAZULI_WIDE_STORE(u16, 4, i32)

extern "C" __global__ __launch_bounds__(256, 4) void layer_norm_bf16(
    const unsigned short *__restrict__ in0, const float *__restrict__ in1, const float *__restrict__ in2,
    unsigned short *__restrict__ out0,
    int n0, int n1, int stride2,
    float s0, float s1) {
    const int i0 = blockIdx.x;
    const int lane = threadIdx.x;
    float kept[2][4];
    __shared__ float sum_lanes[256];
    float sum_acc[4] = {-0.0f, -0.0f, -0.0f, -0.0f};
    u16x4 x0[2];
    #pragma unroll
    for (int s = 0; s < 2; ++s) {
        const int i1 = s * 1024 + lane * 4;
        x0[s] = u16x4_load(&in0[i0 * stride2 + i1], n1 - i1);
    }
    #pragma unroll
    for (int s = 0; s < 2; ++s) {
        const int i1 = s * 1024 + lane * 4;
        const int left = n1 - i1;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            kept[s][v] = bf16_value(x0[s].v[v]);
            if (v < left) sum_acc[v] += kept[s][v];
        }
    }
    for (int v = 0; v < 2; ++v) sum_acc[v] += sum_acc[v + 2];
    sum_acc[0] += sum_acc[1];
    sum_lanes[lane] = sum_acc[0];
    __syncthreads();
    if (lane < 32) {
        float sum_part[8];
        for (int v = 0; v < 8; ++v) sum_part[v] = sum_lanes[lane + v * 32];
        for (int v = 0; v < 4; ++v) sum_part[v] += sum_part[v + 4];
        for (int v = 0; v < 2; ++v) sum_part[v] += sum_part[v + 2];
        sum_part[0] += sum_part[1];
        for (int step = 16; step > 0; step /= 2) {
            sum_part[0] += __shfl_down_sync(0xffffffff, sum_part[0], step);
        }
        if (lane == 0) sum_lanes[0] = sum_part[0];
    }
    __syncthreads();
    const float sum = sum_lanes[0];
    const float v0 = sum / s0;
    float kept1[2][4];
    __shared__ float sum1_lanes[256];
    float sum1_acc[4] = {-0.0f, -0.0f, -0.0f, -0.0f};
    #pragma unroll
    for (int s = 0; s < 2; ++s) {
        const int i1 = s * 1024 + lane * 4;
        const int left = n1 - i1;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            kept1[s][v] = kept[s][v] - v0;
            if (v < left) sum1_acc[v] += kept1[s][v] * kept1[s][v];
        }
    }
    for (int v = 0; v < 2; ++v) sum1_acc[v] += sum1_acc[v + 2];
    sum1_acc[0] += sum1_acc[1];
    sum1_lanes[lane] = sum1_acc[0];
    __syncthreads();
    if (lane < 32) {
        float sum1_part[8];
        for (int v = 0; v < 8; ++v) sum1_part[v] = sum1_lanes[lane + v * 32];
        for (int v = 0; v < 4; ++v) sum1_part[v] += sum1_part[v + 4];
        for (int v = 0; v < 2; ++v) sum1_part[v] += sum1_part[v + 2];
        sum1_part[0] += sum1_part[1];
        for (int step = 16; step > 0; step /= 2) {
            sum1_part[0] += __shfl_down_sync(0xffffffff, sum1_part[0], step);
        }
        if (lane == 0) sum1_lanes[0] = sum1_part[0];
    }
    __syncthreads();
    const float sum1 = sum1_lanes[0];
    const float v1 = sqrtf(sum1 / s0 + s1);
    f32x4 x1[2];
    f32x4 x2[2];
    #pragma unroll
    for (int s = 0; s < 2; ++s) {
        const int i1 = s * 1024 + lane * 4;
        x1[s] = f32x4_load(&in1[i1], n1 - i1);
        x2[s] = f32x4_load(&in2[i1], n1 - i1);
    }
    #pragma unroll
    for (int s = 0; s < 2; ++s) {
        const int i1 = s * 1024 + lane * 4;
        const int left = n1 - i1;
        u16x4 y0;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            y0.v[v] = bf16_bits(kept1[s][v] / v1 * x1[s].v[v] + x2[s].v[v]);
        }
        u16x4_store(&out0[i0 * stride2 + i1], y0, left);
    }
}
