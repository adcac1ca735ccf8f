#pragma OPENCL FP_CONTRACT OFF

typedef int i32;
typedef long i64;
typedef uchar u8;
typedef ulong u64;
#define FN static inline __attribute__((always_inline))
#define GLOBAL __global
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define i32_raise(place, x) atomic_max(place, x)
#define i32_lower(place, x) atomic_min(place, x)
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
LAZULI_WIDE(u8, 4, 4)
LAZULI_WIDE_LOAD(u8, 4, i32)
FN i64 i64_checked_index(i64 x, i64 n, GLOBAL i32 *notes) {
    i64 at = x < 0 ? x + n : x;
    if ((u64)at < (u64)n) return at;
    if (x < 0) {
        i32_lower(notes + 1, x < -2147483647 ? -2147483647 : (i32)x);
    } else {
        i32_raise(notes, x > 2147483647 ? 2147483647 : (i32)x);
    }
    return 0;
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void take_take_sum_f32(
    __global const int *restrict in0, __global const uchar *restrict in1, __global const float *restrict in2,
    __global float *restrict out0, __global int *notes,
    int n0, int n1, int size2, int size3, int in2_stride0) {
    const int i0 = get_group_id(0);
    const int lane = get_local_id(0);
    const int k0 = i64_checked_index(in0[i0], size2, notes);
    __local float sum_lanes[64];
    float sum_acc[4] = {-0.0f, -0.0f, -0.0f, -0.0f};
    int r0 = lane * 4;
    for (; r0 < n1 - 3; r0 += 256) {
        const u8x4 x0 = *(__global const u8x4 *)&in1[r0];
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int k1 = i64_checked_index(x0.v[v], size3, notes + 2);
            sum_acc[v] += in2[k0 * in2_stride0 + k1];
        }
    }
    if (r0 < n1) {
        const int left = n1 - r0;
        const u8x4 x1 = u8x4_load(&in1[r0], left);
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int k1 = v < left ? i64_checked_index(x1.v[v], size3, notes + 2) : 0;
            if (v < left) sum_acc[v] += v < left ? in2[k0 * in2_stride0 + k1] : 0;
        }
    }
    for (int v = 0; v < 2; ++v) sum_acc[v] += sum_acc[v + 2];
    sum_acc[0] += sum_acc[1];
    sum_lanes[lane] = sum_acc[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 8) {
        float sum_part[8];
        for (int v = 0; v < 8; ++v) sum_part[v] = sum_lanes[lane + v * 8];
        for (int v = 0; v < 4; ++v) sum_part[v] += sum_part[v + 4];
        for (int v = 0; v < 2; ++v) sum_part[v] += sum_part[v + 2];
        sum_part[0] += sum_part[1];
        sum_lanes[lane] = sum_part[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane > 0) return;
    float sum_part[8];
    for (int v = 0; v < 8; ++v) sum_part[v] = sum_lanes[v];
    for (int v = 0; v < 4; ++v) sum_part[v] += sum_part[v + 4];
    for (int v = 0; v < 2; ++v) sum_part[v] += sum_part[v + 2];
    sum_part[0] += sum_part[1];
    const float sum = sum_part[0];
    out0[i0] = sum;
}
