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
#define LAZULI_WIDE(T, W, BYTES) \
    typedef struct ALIGNED(BYTES) { T v[W]; } T##x##W;
LAZULI_WIDE(f32, 4, 16)
LAZULI_WIDE_LOAD(f32, 4, i32)
FN bool is_last_group(__global uint *count, uint all, __local bool *is_last) {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        *is_last = atomic_fetch_add_explicit((volatile __global atomic_uint *)count, 1u, memory_order_acq_rel,
                                             memory_scope_device) + 1 == all;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    return *is_last;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void combined_norm_f32(
    __global const float *restrict in0, __global float *restrict out0, __global float *partial0,
    __global uint *count0,
    int n0, int n1, int n2, int in0_stride1, int chunk, int partial0_stride1) {
    const int i0 = get_group_id(1);
    const int i1 = get_group_id(0);
    const int lane = get_local_id(0);
    __local float sum_lanes[256];
    float sum_acc[4] = {-0.0f, -0.0f, -0.0f, -0.0f};
    const int start = i0 * chunk;
    const int end = min(start + chunk, n2);
    int r0 = start + lane * 4;
    for (; r0 < end - 3; r0 += 1024) {
        const f32x4 x0 = *(__global const f32x4 *)&in0[i1 * in0_stride1 + r0];
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            const float v0 = x0.v[v];
            sum_acc[v] += v0 * v0;
        }
    }
    if (r0 < end) {
        const int left = end - r0;
        const f32x4 x1 = f32x4_load(&in0[i1 * in0_stride1 + r0], left);
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            const float v0 = x1.v[v];
            if (v < left) sum_acc[v] += v0 * v0;
        }
    }
    for (int v = 0; v < 2; ++v) sum_acc[v] += sum_acc[v + 2];
    sum_acc[0] += sum_acc[1];
    sum_lanes[lane] = sum_acc[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 16) {
        float sum_part[16];
        for (int v = 0; v < 16; ++v) sum_part[v] = sum_lanes[lane + v * 16];
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
        partial0[i1 * partial0_stride1 + i0] = sum_part[0];
    }
    __local bool is_last;
    if (!is_last_group(&count0[get_group_id(0)], get_num_groups(1), &is_last)) return;
    const int member = get_local_id(0) % 32;
    __local float sum1_lanes[256];
    float sum1_acc = -0.0f;
    for (int c0 = member; c0 < n0; c0 += 32) {
        sum1_acc += partial0[i1 * partial0_stride1 + c0];
    }
    sum1_lanes[get_local_id(0)] = sum1_acc;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (member == 0) {
        float sum1_part[32];
        for (int v = 0; v < 32; ++v) sum1_part[v] = sum1_lanes[get_local_id(0) + v];
        for (int v = 0; v < 16; ++v) sum1_part[v] += sum1_part[v + 16];
        for (int v = 0; v < 8; ++v) sum1_part[v] += sum1_part[v + 8];
        for (int v = 0; v < 4; ++v) sum1_part[v] += sum1_part[v + 4];
        for (int v = 0; v < 2; ++v) sum1_part[v] += sum1_part[v + 2];
        sum1_part[0] += sum1_part[1];
        sum1_lanes[get_local_id(0)] = sum1_part[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float sum1 = sum1_lanes[get_local_id(0) - member];
    if (lane > 0) return;
    out0[i1] = sqrt(sum1);
}
