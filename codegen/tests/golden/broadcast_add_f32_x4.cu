typedef int i32;
typedef float f32;
#define FN static __device__ __forceinline__
#define GLOBAL
#define ALIGNED(bytes) __align__(bytes)
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

extern "C" __global__ __launch_bounds__(256) void broadcast_add_f32(
    const float *__restrict__ in0, const float *__restrict__ in1, const float *__restrict__ in2,
    float *__restrict__ out0,
    int n0, int n1, int in0_stride0, int in1_stride0, int out0_stride0, int in0_offset) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned columns = (n1 + 3u) / 4;
    if (t >= n0 * columns) return;
    const int i1 = t % columns * 4;
    const int i0 = t / columns;
    const float v0 = in1[i0 * in1_stride0];
    const int left = n1 - i1;
    const f32x4 x0 = f32x4_load(&in0[in0_offset + i0 * in0_stride0 + i1], left);
    const f32x4 x1 = f32x4_load(&in2[i1], left);
    f32x4 y0;
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        y0.v[v] = x0.v[v] * (v0 + x1.v[v]);
    }
    f32x4_store(&out0[i0 * out0_stride0 + i1], y0, left);
}
