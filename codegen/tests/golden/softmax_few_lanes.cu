typedef int i32;
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
LAZULI_WIDE(f32, 2, 8)
LAZULI_WIDE_LOAD(f32, 2, i32)
LAZULI_WIDE_STORE(f32, 2, i32)

extern "C" __global__ __launch_bounds__(16, 64) void softmax_f32(
    const float *__restrict__ in0, float *__restrict__ out0,
    int n0, int n1, int in0_stride0, int out0_stride0) {
    const unsigned g = blockIdx.x * 4 + threadIdx.x / 4;
    const unsigned last = n0 - 1;
    const int i0 = min(g, last);
    const int lane = threadIdx.x % 4;
    float highest_acc[2] = {-__int_as_float(0x7f800000), -__int_as_float(0x7f800000)};
    f32x2 x0[4];
    #pragma unroll
    for (int s = 0; s < 4; ++s) {
        const int i1 = s * 8 + lane * 2;
        x0[s] = f32x2_load(&in0[i0 * in0_stride0 + i1], n1 - i1);
    }
    #pragma unroll
    for (int s = 0; s < 4; ++s) {
        const int i1 = s * 8 + lane * 2;
        const int left = n1 - i1;
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            if (v < left) highest_acc[v] = f32_maximum(highest_acc[v], x0[s].v[v]);
        }
    }
    highest_acc[0] = f32_maximum(highest_acc[0], highest_acc[1]);
    for (int step = 2; step > 0; step /= 2) {
        highest_acc[0] = f32_maximum(highest_acc[0], __shfl_down_sync(0xffff, highest_acc[0], step));
    }
    const float highest = __shfl_sync(0xffff, highest_acc[0], 0, 4);
    float kept[4][2];
    float sum_acc[2] = {-0.0f, -0.0f};
    #pragma unroll
    for (int s = 0; s < 4; ++s) {
        const int i1 = s * 8 + lane * 2;
        const int left = n1 - i1;
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            kept[s][v] = expf(x0[s].v[v] - highest);
            if (v < left) sum_acc[v] += kept[s][v];
        }
    }
    sum_acc[0] += sum_acc[1];
    for (int step = 2; step > 0; step /= 2) {
        sum_acc[0] += __shfl_down_sync(0xffff, sum_acc[0], step);
    }
    const float sum = __shfl_sync(0xffff, sum_acc[0], 0, 4);
    if (g > last) return;
    #pragma unroll
    for (int s = 0; s < 4; ++s) {
        const int i1 = s * 8 + lane * 2;
        const int left = n1 - i1;
        f32x2 y0;
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            y0.v[v] = kept[s][v] / sum;
        }
        f32x2_store(&out0[i0 * out0_stride0 + i1], y0, left);
    }
}
