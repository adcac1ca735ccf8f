#pragma OPENCL FP_CONTRACT OFF

typedef int i32;
typedef float f32;
#define FN static inline __attribute__((always_inline))
#define GLOBAL __global
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
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

__kernel __attribute__((reqd_work_group_size(512, 1, 1))) void softmax_f32(
    __global const float *restrict in0, __global float *restrict out0,
    int n0, int n1, int in0_stride0, int out0_stride0) {
    const int i0 = get_group_id(0);
    const int lane = get_local_id(0);
    __local float highest_lanes[512];
    float highest_acc[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    int r0 = lane * 4;
    for (; r0 < n1 - 3; r0 += 2048) {
        const f32x4 x0 = *(__global const f32x4 *)&in0[i0 * in0_stride0 + r0];
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            highest_acc[v] = f32_maximum(highest_acc[v], x0.v[v]);
        }
    }
    if (r0 < n1) {
        const int left = n1 - r0;
        const f32x4 x1 = f32x4_load(&in0[i0 * in0_stride0 + r0], left);
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            if (v < left) highest_acc[v] = f32_maximum(highest_acc[v], x1.v[v]);
        }
    }
    for (int v = 0; v < 2; ++v) highest_acc[v] = f32_maximum(highest_acc[v], highest_acc[v + 2]);
    highest_acc[0] = f32_maximum(highest_acc[0], highest_acc[1]);
    highest_lanes[lane] = highest_acc[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 16) {
        float highest_part[32];
        for (int v = 0; v < 32; ++v) highest_part[v] = highest_lanes[lane + v * 16];
        for (int v = 0; v < 16; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 16]);
        for (int v = 0; v < 8; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 8]);
        for (int v = 0; v < 4; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 4]);
        for (int v = 0; v < 2; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 2]);
        highest_part[0] = f32_maximum(highest_part[0], highest_part[1]);
        highest_lanes[lane] = highest_part[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        float highest_part[16];
        for (int v = 0; v < 16; ++v) highest_part[v] = highest_lanes[v];
        for (int v = 0; v < 8; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 8]);
        for (int v = 0; v < 4; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 4]);
        for (int v = 0; v < 2; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 2]);
        highest_part[0] = f32_maximum(highest_part[0], highest_part[1]);
        highest_lanes[0] = highest_part[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float highest = highest_lanes[0];
    __local float sum_lanes[512];
    float sum_acc[4] = {-0.0f, -0.0f, -0.0f, -0.0f};
    int r1 = lane * 4;
    for (; r1 < n1 - 3; r1 += 2048) {
        const f32x4 x2 = *(__global const f32x4 *)&in0[i0 * in0_stride0 + r1];
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            sum_acc[v] += exp(x2.v[v] - highest);
        }
    }
    if (r1 < n1) {
        const int left = n1 - r1;
        const f32x4 x3 = f32x4_load(&in0[i0 * in0_stride0 + r1], left);
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            if (v < left) sum_acc[v] += exp(x3.v[v] - highest);
        }
    }
    for (int v = 0; v < 2; ++v) sum_acc[v] += sum_acc[v + 2];
    sum_acc[0] += sum_acc[1];
    sum_lanes[lane] = sum_acc[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 16) {
        float sum_part[32];
        for (int v = 0; v < 32; ++v) sum_part[v] = sum_lanes[lane + v * 16];
        for (int v = 0; v < 16; ++v) sum_part[v] += sum_part[v + 16];
        for (int v = 0; v < 8; ++v) sum_part[v] += sum_part[v + 8];
        for (int v = 0; v < 4; ++v) sum_part[v] += sum_part[v + 4];
        for (int v = 0; v < 2; ++v) sum_part[v] += sum_part[v + 2];
        sum_part[0] += sum_part[1];
        sum_lanes[lane] = sum_part[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        float sum_part[16];
        for (int v = 0; v < 16; ++v) sum_part[v] = sum_lanes[v];
        for (int v = 0; v < 8; ++v) sum_part[v] += sum_part[v + 8];
        for (int v = 0; v < 4; ++v) sum_part[v] += sum_part[v + 4];
        for (int v = 0; v < 2; ++v) sum_part[v] += sum_part[v + 2];
        sum_part[0] += sum_part[1];
        sum_lanes[0] = sum_part[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float sum = sum_lanes[0];
    int r2 = lane * 4;
    for (; r2 < n1 - 3; r2 += 2048) {
        const f32x4 x4 = *(__global const f32x4 *)&in0[i0 * in0_stride0 + r2];
        f32x4 y0;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            y0.v[v] = exp(x4.v[v] - highest) / sum;
        }
        *(__global f32x4 *)&out0[i0 * out0_stride0 + r2] = y0;
    }
    if (r2 < n1) {
        const int left = n1 - r2;
        const f32x4 x5 = f32x4_load(&in0[i0 * in0_stride0 + r2], left);
        f32x4 y1;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            y1.v[v] = exp(x5.v[v] - highest) / sum;
        }
        f32x4_store(&out0[i0 * out0_stride0 + r2], y1, left);
    }
}
