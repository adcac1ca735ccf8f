typedef int i32;
typedef unsigned short u16;
typedef unsigned int u32;
typedef float f32;
#define FN static __device__ __forceinline__
#define GLOBAL
#define ALIGNED(bytes) __align__(bytes)
#define f32_bits(x) __float_as_uint(x)
#define f32_of_bits(bits) __uint_as_float(bits)
#define LAZULI_FLOAT_ORDER(F) \
    FN F F##_minimum(F a, F b) { return a != a || a < b ? a : b; } \
    FN F F##_maximum(F a, F b) { return a != a || a > b ? a : b; }
LAZULI_FLOAT_ORDER(f32)
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
#define LAZULI_WIDE(T, W, BYTES) \
    typedef struct ALIGNED(BYTES) { T v[W]; } T##x##W;
LAZULI_WIDE(u16, 4, 8)
LAZULI_WIDE_LOAD(u16, 4, i32)

extern "C" __global__ __launch_bounds__(256) void spread_bf16(
    const unsigned short *__restrict__ in0, float *__restrict__ out0, unsigned short *__restrict__ out1,
    int n0, int n1, int n2, int n3, int in0_stride0, int in0_stride1, int stride6,
    float s0) {
    const unsigned g = blockIdx.x;
    const int i1 = g % n1;
    const int i0 = g / n1;
    const int lane = threadIdx.x;
    __shared__ float sum_lanes[256];
    float sum_acc[4] = {-0.0f, -0.0f, -0.0f, -0.0f};
    int r0 = lane * 4;
    for (; r0 < n2 - 3; r0 += 1024) {
        const u16x4 x0 = *(const u16x4 *)&in0[i0 * in0_stride0 + i1 * in0_stride1 + r0];
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            sum_acc[v] += bf16_value(x0.v[v]);
        }
    }
    if (r0 < n2) {
        const int left = n2 - r0;
        const u16x4 x1 = u16x4_load(&in0[i0 * in0_stride0 + i1 * in0_stride1 + r0], left);
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            if (v < left) sum_acc[v] += bf16_value(x1.v[v]);
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
    __shared__ float sum1_lanes[256];
    float sum1_acc[4] = {-0.0f, -0.0f, -0.0f, -0.0f};
    __shared__ float lowest_lanes[256];
    float lowest_acc[4] = {__int_as_float(0x7f800000), __int_as_float(0x7f800000), __int_as_float(0x7f800000), __int_as_float(0x7f800000)};
    int r1 = lane * 4;
    for (; r1 < n3 - 3; r1 += 1024) {
        const u16x4 x2 = *(const u16x4 *)&in0[i0 * in0_stride0 + i1 * in0_stride1 + r1];
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            const float v1 = bf16_value(x2.v[v]);
            const float v2 = v1 - v0;
            sum1_acc[v] += v2 * v2;
            lowest_acc[v] = f32_minimum(lowest_acc[v], v1);
        }
    }
    if (r1 < n3) {
        const int left = n3 - r1;
        const u16x4 x3 = u16x4_load(&in0[i0 * in0_stride0 + i1 * in0_stride1 + r1], left);
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            const float v1 = bf16_value(x3.v[v]);
            const float v2 = v1 - v0;
            if (v < left) sum1_acc[v] += v2 * v2;
            if (v < left) lowest_acc[v] = f32_minimum(lowest_acc[v], v1);
        }
    }
    for (int v = 0; v < 2; ++v) sum1_acc[v] += sum1_acc[v + 2];
    sum1_acc[0] += sum1_acc[1];
    for (int v = 0; v < 2; ++v) lowest_acc[v] = f32_minimum(lowest_acc[v], lowest_acc[v + 2]);
    lowest_acc[0] = f32_minimum(lowest_acc[0], lowest_acc[1]);
    sum1_lanes[lane] = sum1_acc[0];
    lowest_lanes[lane] = lowest_acc[0];
    __syncthreads();
    if (lane >= 32) return;
    float sum1_part[8];
    for (int v = 0; v < 8; ++v) sum1_part[v] = sum1_lanes[lane + v * 32];
    for (int v = 0; v < 4; ++v) sum1_part[v] += sum1_part[v + 4];
    for (int v = 0; v < 2; ++v) sum1_part[v] += sum1_part[v + 2];
    sum1_part[0] += sum1_part[1];
    float lowest_part[8];
    for (int v = 0; v < 8; ++v) lowest_part[v] = lowest_lanes[lane + v * 32];
    for (int v = 0; v < 4; ++v) lowest_part[v] = f32_minimum(lowest_part[v], lowest_part[v + 4]);
    for (int v = 0; v < 2; ++v) lowest_part[v] = f32_minimum(lowest_part[v], lowest_part[v + 2]);
    lowest_part[0] = f32_minimum(lowest_part[0], lowest_part[1]);
    for (int step = 16; step > 0; step /= 2) {
        sum1_part[0] += __shfl_down_sync(0xffffffff, sum1_part[0], step);
        lowest_part[0] = f32_minimum(lowest_part[0], __shfl_down_sync(0xffffffff, lowest_part[0], step));
    }
    if (lane > 0) return;
    const float sum1 = sum1_part[0];
    const float lowest = lowest_part[0];
    out0[i0 * stride6 + i1] = sum1;
    out1[i0 * stride6 + i1] = bf16_bits(lowest);
}
