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

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void softmax_f32(
    __global const float *restrict in0, __global float *restrict out0,
    int n0, int n1, int in0_stride0, int out0_stride0) {
    const uint g = get_group_id(0) * 8 + get_local_id(0) / 32;
    const uint last = n0 - 1;
    const int i0 = min(g, last);
    const int lane = get_local_id(0) % 32;
    float kept[4];
    __local float highest_lanes[256];
    float highest_acc[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    {
        const int i1 = lane * 4;
        const int left = n1 - i1;
        const f32x4 x0 = f32x4_load(&in0[i0 * in0_stride0 + i1], left);
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            kept[v] = x0.v[v];
            if (v < left) highest_acc[v] = f32_maximum(highest_acc[v], kept[v]);
        }
    }
    for (int v = 0; v < 2; ++v) highest_acc[v] = f32_maximum(highest_acc[v], highest_acc[v + 2]);
    highest_acc[0] = f32_maximum(highest_acc[0], highest_acc[1]);
    highest_lanes[get_local_id(0)] = highest_acc[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        float highest_part[32];
        for (int v = 0; v < 32; ++v) highest_part[v] = highest_lanes[get_local_id(0) + v];
        for (int v = 0; v < 16; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 16]);
        for (int v = 0; v < 8; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 8]);
        for (int v = 0; v < 4; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 4]);
        for (int v = 0; v < 2; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 2]);
        highest_part[0] = f32_maximum(highest_part[0], highest_part[1]);
        highest_lanes[get_local_id(0)] = highest_part[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float highest = highest_lanes[get_local_id(0) - lane];
    float kept1[4];
    __local float sum_lanes[256];
    float sum_acc[4] = {-0.0f, -0.0f, -0.0f, -0.0f};
    {
        const int i1 = lane * 4;
        const int left = n1 - i1;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            kept1[v] = exp(kept[v] - highest);
            if (v < left) sum_acc[v] += kept1[v];
        }
    }
    for (int v = 0; v < 2; ++v) sum_acc[v] += sum_acc[v + 2];
    sum_acc[0] += sum_acc[1];
    sum_lanes[get_local_id(0)] = sum_acc[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        float sum_part[32];
        for (int v = 0; v < 32; ++v) sum_part[v] = sum_lanes[get_local_id(0) + v];
        for (int v = 0; v < 16; ++v) sum_part[v] += sum_part[v + 16];
        for (int v = 0; v < 8; ++v) sum_part[v] += sum_part[v + 8];
        for (int v = 0; v < 4; ++v) sum_part[v] += sum_part[v + 4];
        for (int v = 0; v < 2; ++v) sum_part[v] += sum_part[v + 2];
        sum_part[0] += sum_part[1];
        sum_lanes[get_local_id(0)] = sum_part[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float sum = sum_lanes[get_local_id(0) - lane];
    if (g > last) return;
    {
        const int i1 = lane * 4;
        const int left = n1 - i1;
        f32x4 y0;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            y0.v[v] = kept1[v] / sum;
        }
        f32x4_store(&out0[i0 * out0_stride0 + i1], y0, left);
    }
}
