typedef short i16;
typedef int i32;
typedef long long i64;
#define FN static __device__ __forceinline__
#define GLOBAL
#define ALIGNED(bytes) __align__(bytes)
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

extern "C" __global__ __launch_bounds__(64, 16) void ranks_i16(
    const short *__restrict__ in0, short *__restrict__ out0, unsigned char *__restrict__ out1,
    long long *__restrict__ out2,
    int n0, int n1, int n2, int stride3, int stride4,
    short s0) {
    const unsigned g = blockIdx.x * 4 + threadIdx.x / 16;
    const unsigned last = n0 - 1;
    const int i0 = min(g, last);
    const int lane = threadIdx.x % 16;
    short kept[2][2];
    bool kept1[2][2];
    short lowest_acc[2] = {32767, 32767};
    bool some_acc[2] = {false, false};
    #pragma unroll
    for (int s = 0; s < 2; ++s) {
        const int r0 = s * 32 + lane * 2;
        const int i2 = (unsigned)r0 % n2;
        const int i1 = (unsigned)r0 / n2;
        const int left = n1 * n2 - r0;
        const i16x2 x0 = i16x2_load(&in0[i0 * stride3 + i1 * stride4 + i2], left);
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            const int i2 = (unsigned)(r0 + v) % n2;
            const int i1 = (unsigned)(r0 + v) / n2;
            kept[s][v] = x0.v[v];
            kept1[s][v] = kept[s][v] >= s0;
            if (v < left) lowest_acc[v] = i16_minimum(lowest_acc[v], kept[s][v]);
            if (v < left) some_acc[v] |= kept1[s][v];
        }
    }
    lowest_acc[0] = i16_minimum(lowest_acc[0], lowest_acc[1]);
    some_acc[0] |= some_acc[1];
    for (int step = 8; step > 0; step /= 2) {
        lowest_acc[0] = i16_minimum(lowest_acc[0], __shfl_down_sync(0xffffffff, lowest_acc[0], step));
        some_acc[0] |= __shfl_down_sync(0xffffffff, some_acc[0], step);
    }
    const short lowest = __shfl_sync(0xffffffff, lowest_acc[0], 0, 16);
    const bool some = __shfl_sync(0xffffffff, some_acc[0], 0, 16);
    if (g > last) return;
    #pragma unroll
    for (int s = 0; s < 2; ++s) {
        const int r1 = s * 32 + lane * 2;
        const int i2 = (unsigned)r1 % n2;
        const int i1 = (unsigned)r1 / n2;
        const int left = n1 * n2 - r1;
        i16x2 y0;
        i64x2 y1;
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            const int i2 = (unsigned)(r1 + v) % n2;
            const int i1 = (unsigned)(r1 + v) / n2;
            y0.v[v] = kept1[s][v] ? 0 : (short)(kept[s][v] - lowest);
            y1.v[v] = (long long)(i1 * stride4 + i2);
        }
        i16x2_store(&out0[i0 * stride3 + i1 * stride4 + i2], y0, left);
        i64x2_store(&out2[i0 * stride3 + i1 * stride4 + i2], y1, left);
    }
    if (lane > 0) return;
    out1[i0] = some;
}
