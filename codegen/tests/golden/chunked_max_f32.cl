#pragma OPENCL FP_CONTRACT OFF

typedef float f32;
#define FN static inline __attribute__((always_inline))
#define LAZULI_FLOAT_ORDER(F) \
    FN F F##_minimum(F a, F b) { return a != a || a < b ? a : b; } \
    FN F F##_maximum(F a, F b) { return a != a || a > b ? a : b; }
LAZULI_FLOAT_ORDER(f32)

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void chunked_max_f32(
    __global const float *restrict in0, __global float *restrict out0,
    long n0, long n1, long n2, long chunk, long in0_stride1, long in0_stride2) {
    const long i0 = get_group_id(0);
    const int lane = get_local_id(0);
    __local float highest_lanes[128];
    float highest_acc[2] = {-INFINITY, -INFINITY};
    const long start = i0 * chunk;
    const long end = min(start + chunk, n1 * n2);
    long r0 = start + lane * 2;
    long k0 = (ulong)r0 % n2;
    const long d0 = 256 % n2;
    long k1 = (ulong)r0 / n2;
    const long d1 = 256 / n2;
    for (; r0 < end - 1; r0 += 256) {
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            long k1v = k1;
            long k0v = k0 + v;
            while (k0v >= n2) { k0v -= n2; ++k1v; }
            highest_acc[v] = f32_maximum(highest_acc[v], in0[k1v * in0_stride1 + k0v * in0_stride2]);
        }
        k0 += d0;
        k1 += d1;
        if (k0 >= n2) { k0 -= n2; ++k1; }
    }
    if (r0 < end) {
        const long left = end - r0;
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            long k1v = k1;
            long k0v = k0 + v;
            while (k0v >= n2) { k0v -= n2; ++k1v; }
            if (v < left) highest_acc[v] = f32_maximum(highest_acc[v], v < left ? in0[k1v * in0_stride1 + k0v * in0_stride2] : 0);
        }
    }
    highest_acc[0] = f32_maximum(highest_acc[0], highest_acc[1]);
    highest_lanes[lane] = highest_acc[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 8) {
        float highest_part[16];
        for (int v = 0; v < 16; ++v) highest_part[v] = highest_lanes[lane + v * 8];
        for (int v = 0; v < 8; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 8]);
        for (int v = 0; v < 4; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 4]);
        for (int v = 0; v < 2; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 2]);
        highest_part[0] = f32_maximum(highest_part[0], highest_part[1]);
        highest_lanes[lane] = highest_part[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane > 0) return;
    float highest_part[8];
    for (int v = 0; v < 8; ++v) highest_part[v] = highest_lanes[v];
    for (int v = 0; v < 4; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 4]);
    for (int v = 0; v < 2; ++v) highest_part[v] = f32_maximum(highest_part[v], highest_part[v + 2]);
    highest_part[0] = f32_maximum(highest_part[0], highest_part[1]);
    const float highest = highest_part[0];
    out0[i0] = highest;
}
