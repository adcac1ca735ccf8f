typedef int i32;
typedef unsigned int u32;
typedef float f32;
#define FN static __device__ __forceinline__
#define GLOBAL
#define ALIGNED(bytes) __align__(bytes)
#define LAZULI_FLOAT_ORDER(F) \
    FN F F##_minimum(F a, F b) { return a != a || a < b ? a : b; } \
    FN F F##_maximum(F a, F b) { return a != a || a > b ? a : b; }
LAZULI_FLOAT_ORDER(f32)
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
FN void await_groups(unsigned *count, unsigned all) {
    if (threadIdx.x == 0) {
        unsigned come;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" :: "l"(count) : "memory");
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(come) : "l"(count) : "memory");
        } while (come < all);
    }
    __syncthreads();
}

extern "C" __global__ __launch_bounds__(512, 2) void waiting_softmax_f32(
    const float *__restrict__ in0, float *__restrict__ out0, float *partial0, float *partial1, unsigned *count0,
    int n0, int n1, int n2, int stride3, int chunk, int stride5) {
    const int i0 = blockIdx.x;
    const int lane = threadIdx.x;
    for (unsigned g = blockIdx.y; g < n1; g += gridDim.y) {
        const int i1 = g;
        __shared__ float highest_lanes[512];
        float highest_acc[4] = {-__int_as_float(0x7f800000), -__int_as_float(0x7f800000), -__int_as_float(0x7f800000), -__int_as_float(0x7f800000)};
        const int start = i0 * chunk;
        const int end = min(start + chunk, n2);
        f32x4 x0[4];
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const int i2 = start + s * 2048 + lane * 4;
            x0[s] = f32x4_load(&in0[i1 * stride3 + i2], end - i2);
        }
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const int i2 = start + s * 2048 + lane * 4;
            const int left = end - i2;
            #pragma unroll
            for (int v = 0; v < 4; ++v) {
                if (v < left) highest_acc[v] = f32_maximum(highest_acc[v], x0[s].v[v]);
            }
        }
        for (int v = 0; v < 2; ++v) highest_acc[v] = f32_maximum(highest_acc[v], highest_acc[v + 2]);
        highest_acc[0] = f32_maximum(highest_acc[0], highest_acc[1]);
        highest_lanes[lane] = highest_acc[0];
        __syncthreads();
        if (lane < 32) {
            float highest_part[16];
            for (int v = 0; v < 16; ++v) highest_part[v] = highest_lanes[lane + v * 32];
            for (int v = 0; v < 8; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 8]);
            for (int v = 0; v < 4; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 4]);
            for (int v = 0; v < 2; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 2]);
            highest_part[0] = f32_maximum(highest_part[0], highest_part[1]);
            for (int step = 16; step > 0; step /= 2) {
                highest_part[0] = f32_maximum(highest_part[0], __shfl_down_sync(0xffffffff, highest_part[0], step));
            }
            if (lane == 0) partial0[i1 * stride5 + i0] = highest_part[0];
        }
        await_groups(&count0[g], gridDim.x);
        const int member = threadIdx.x % 32;
        float highest1_acc = -__int_as_float(0x7f800000);
        for (int c0 = member; c0 < n0; c0 += 32) {
            highest1_acc = f32_maximum(highest1_acc, __ldcg(&partial0[i1 * stride5 + c0]));
        }
        for (int step = 16; step > 0; step /= 2) {
            highest1_acc = f32_maximum(highest1_acc, __shfl_down_sync(0xffffffff, highest1_acc, step));
        }
        const float highest1 = __shfl_sync(0xffffffff, highest1_acc, 0);
        float kept[4][4];
        __shared__ float sum_lanes[512];
        float sum_acc[4] = {-0.0f, -0.0f, -0.0f, -0.0f};
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const int i2 = start + s * 2048 + lane * 4;
            const int left = end - i2;
            #pragma unroll
            for (int v = 0; v < 4; ++v) {
                kept[s][v] = expf(x0[s].v[v] - highest1);
                if (v < left) sum_acc[v] += kept[s][v];
            }
        }
        for (int v = 0; v < 2; ++v) sum_acc[v] += sum_acc[v + 2];
        sum_acc[0] += sum_acc[1];
        sum_lanes[lane] = sum_acc[0];
        __syncthreads();
        if (lane < 32) {
            float sum_part[16];
            for (int v = 0; v < 16; ++v) sum_part[v] = sum_lanes[lane + v * 32];
            for (int v = 0; v < 8; ++v) sum_part[v] += sum_part[v + 8];
            for (int v = 0; v < 4; ++v) sum_part[v] += sum_part[v + 4];
            for (int v = 0; v < 2; ++v) sum_part[v] += sum_part[v + 2];
            sum_part[0] += sum_part[1];
            for (int step = 16; step > 0; step /= 2) {
                sum_part[0] += __shfl_down_sync(0xffffffff, sum_part[0], step);
            }
            if (lane == 0) partial1[i1 * stride5 + i0] = sum_part[0];
        }
        await_groups(&count0[g], 2 * gridDim.x);
        float sum1_acc = -0.0f;
        for (int c1 = member; c1 < n0; c1 += 32) {
            sum1_acc += __ldcg(&partial1[i1 * stride5 + c1]);
        }
        for (int step = 16; step > 0; step /= 2) {
            sum1_acc += __shfl_down_sync(0xffffffff, sum1_acc, step);
        }
        const float sum1 = __shfl_sync(0xffffffff, sum1_acc, 0);
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const int i2 = start + s * 2048 + lane * 4;
            const int left = end - i2;
            f32x4 y0;
            #pragma unroll
            for (int v = 0; v < 4; ++v) {
                y0.v[v] = kept[s][v] / sum1;
            }
            f32x4_store(&out0[i1 * stride3 + i2], y0, left);
        }
    }
}
