#pragma OPENCL FP_CONTRACT OFF

typedef int i32;
typedef float f32;
#define FN static inline __attribute__((always_inline))
#define GLOBAL __global
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
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

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void centre_f32(
    __global const float *restrict in0, __global float *restrict out0, __global float *restrict out1,
    __global float *restrict out2,
    int n0, int n1, int stride2,
    float s0) {
    const uint g = get_group_id(0) * 4 + get_local_id(0) / 64;
    const uint last = n0 - 1;
    const int i0 = min(g, last);
    const int lane = get_local_id(0) % 64;
    __local float sum_lanes[256];
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
    sum_lanes[get_local_id(0)] = sum_acc[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 8) {
        float sum_part[8];
        for (int v = 0; v < 8; ++v) sum_part[v] = sum_lanes[get_local_id(0) + v * 8];
        for (int v = 0; v < 4; ++v) sum_part[v] += sum_part[v + 4];
        for (int v = 0; v < 2; ++v) sum_part[v] += sum_part[v + 2];
        sum_part[0] += sum_part[1];
        sum_lanes[get_local_id(0)] = sum_part[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        float sum_part[8];
        for (int v = 0; v < 8; ++v) sum_part[v] = sum_lanes[get_local_id(0) + v];
        for (int v = 0; v < 4; ++v) sum_part[v] += sum_part[v + 4];
        for (int v = 0; v < 2; ++v) sum_part[v] += sum_part[v + 2];
        sum_part[0] += sum_part[1];
        sum_lanes[get_local_id(0)] = sum_part[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float sum = sum_lanes[get_local_id(0) - lane];
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
    __local float sum1_lanes[256];
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
    sum1_lanes[get_local_id(0)] = sum1_acc[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 8) {
        float sum1_part[8];
        for (int v = 0; v < 8; ++v) sum1_part[v] = sum1_lanes[get_local_id(0) + v * 8];
        for (int v = 0; v < 4; ++v) sum1_part[v] += sum1_part[v + 4];
        for (int v = 0; v < 2; ++v) sum1_part[v] += sum1_part[v + 2];
        sum1_part[0] += sum1_part[1];
        sum1_lanes[get_local_id(0)] = sum1_part[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane > 0 || g > last) return;
    float sum1_part[8];
    for (int v = 0; v < 8; ++v) sum1_part[v] = sum1_lanes[get_local_id(0) + v];
    for (int v = 0; v < 4; ++v) sum1_part[v] += sum1_part[v + 4];
    for (int v = 0; v < 2; ++v) sum1_part[v] += sum1_part[v + 2];
    sum1_part[0] += sum1_part[1];
    const float sum1 = sum1_part[0];
    out2[i0] = sum1 / s0;
}
