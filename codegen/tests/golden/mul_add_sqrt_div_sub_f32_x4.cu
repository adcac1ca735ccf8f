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

extern "C" __global__ __launch_bounds__(256) void mul_add_sqrt_div_sub_f32(
    const float *__restrict__ in0, float *__restrict__ out0,
    int n0,
    float s0, float s1) {
    const int i0 = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i0 >= n0) return;
    const int left = n0 - i0;
    const f32x4 x0 = f32x4_load(&in0[i0], left);
    f32x4 y0;
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const float v0 = x0.v[v];
        y0.v[v] = sqrtf(v0 * v0 + s0) - v0 / s1;
    }
    f32x4_store(&out0[i0], y0, left);
}
