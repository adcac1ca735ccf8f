#pragma OPENCL FP_CONTRACT OFF

typedef short i16;
typedef int i32;
typedef long i64;
#define FN static inline __attribute__((always_inline))
#define GLOBAL __global
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define LAZULI_ORDER(T) \
    FN T T##_minimum(T a, T b) { return a < b ? a : b; } \
    FN T T##_maximum(T a, T b) { return a > b ? a : b; }
LAZULI_ORDER(i16)
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
LAZULI_WIDE(i16, 2, 4)
LAZULI_WIDE_LOAD(i16, 2, i32)
LAZULI_WIDE(i64, 2, 16)
LAZULI_WIDE_STORE(i16, 2, i32)
LAZULI_WIDE_STORE(i64, 2, i32)

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void ranks_i16(
    __global const short *restrict in0, __global short *restrict out0, __global uchar *restrict out1,
    __global long *restrict out2,
    int n0, int n1, int n2, int stride3, int stride4,
    short s0) {
    const uint g = get_group_id(0) * 4 + get_local_id(0) / 16;
    const uint last = n0 - 1;
    const int i0 = min(g, last);
    const int lane = get_local_id(0) % 16;
    short kept[2][2];
    bool kept1[2][2];
    __local short lowest_lanes[64];
    short lowest_acc[2] = {32767, 32767};
    __local bool some_lanes[64];
    bool some_acc[2] = {false, false};
    #pragma unroll
    for (int s = 0; s < 2; ++s) {
        const int r0 = s * 32 + lane * 2;
        const int i2 = (uint)r0 % n2;
        const int i1 = (uint)r0 / n2;
        const int left = n1 * n2 - r0;
        const i16x2 x0 = i16x2_load(&in0[i0 * stride3 + i1 * stride4 + i2], left);
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            const int i2 = (uint)(r0 + v) % n2;
            const int i1 = (uint)(r0 + v) / n2;
            kept[s][v] = x0.v[v];
            kept1[s][v] = kept[s][v] >= s0;
            if (v < left) lowest_acc[v] = i16_minimum(lowest_acc[v], kept[s][v]);
            if (v < left) some_acc[v] |= kept1[s][v];
        }
    }
    lowest_acc[0] = i16_minimum(lowest_acc[0], lowest_acc[1]);
    some_acc[0] |= some_acc[1];
    lowest_lanes[get_local_id(0)] = lowest_acc[0];
    some_lanes[get_local_id(0)] = some_acc[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        short lowest_part[16];
        for (int v = 0; v < 16; ++v) lowest_part[v] = lowest_lanes[get_local_id(0) + v];
        for (int v = 0; v < 8; ++v) lowest_part[v] = i16_minimum(lowest_part[v], lowest_part[v + 8]);
        for (int v = 0; v < 4; ++v) lowest_part[v] = i16_minimum(lowest_part[v], lowest_part[v + 4]);
        for (int v = 0; v < 2; ++v) lowest_part[v] = i16_minimum(lowest_part[v], lowest_part[v + 2]);
        lowest_part[0] = i16_minimum(lowest_part[0], lowest_part[1]);
        bool some_part[16];
        for (int v = 0; v < 16; ++v) some_part[v] = some_lanes[get_local_id(0) + v];
        for (int v = 0; v < 8; ++v) some_part[v] |= some_part[v + 8];
        for (int v = 0; v < 4; ++v) some_part[v] |= some_part[v + 4];
        for (int v = 0; v < 2; ++v) some_part[v] |= some_part[v + 2];
        some_part[0] |= some_part[1];
        lowest_lanes[get_local_id(0)] = lowest_part[0];
        some_lanes[get_local_id(0)] = some_part[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const short lowest = lowest_lanes[get_local_id(0) - lane];
    const bool some = some_lanes[get_local_id(0) - lane];
    if (g > last) return;
    #pragma unroll
    for (int s = 0; s < 2; ++s) {
        const int r1 = s * 32 + lane * 2;
        const int i2 = (uint)r1 % n2;
        const int i1 = (uint)r1 / n2;
        const int left = n1 * n2 - r1;
        i16x2 y0;
        i64x2 y1;
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            const int i2 = (uint)(r1 + v) % n2;
            const int i1 = (uint)(r1 + v) / n2;
            y0.v[v] = kept1[s][v] ? 0 : (short)(kept[s][v] - lowest);
            y1.v[v] = (long)(i1 * stride4 + i2);
        }
        i16x2_store(&out0[i0 * stride3 + i1 * stride4 + i2], y0, left);
        i64x2_store(&out2[i0 * stride3 + i1 * stride4 + i2], y1, left);
    }
    if (lane > 0) return;
    out1[i0] = some;
}
