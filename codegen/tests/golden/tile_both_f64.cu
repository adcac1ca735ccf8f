typedef int i32;
#define FN static __device__ __forceinline__
#define GLOBAL
#define ALIGNED(bytes) __align__(bytes)
typedef double f64;
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
LAZULI_WIDE(f64, 2, 16)
LAZULI_WIDE_LOAD(f64, 2, i32)
LAZULI_WIDE_STORE(f64, 2, i32)

extern "C" __global__ __launch_bounds__(256) void copy(
    const double *__restrict__ in0, const double *__restrict__ in1, double *__restrict__ out0,
    double *__restrict__ out1,
    int n0, int n1, int in1_stride1, int stride3) {
    const unsigned g = blockIdx.x;
    const unsigned columns = (n1 + 31u) / 32;
    const int c1 = g % columns * 32;
    const int c0 = g / columns * 32;
    const int x = threadIdx.x % 16 * 2;
    const int y = threadIdx.x / 16;
    __shared__ double tile[32 * 33];
    f64x2 x0[2];
    {
        const int i0 = c0 + x;
        const int i1 = c1 + y;
        const int left = n0 - i0;
        #pragma unroll
        for (int r = 0; r < 2; ++r) {
            if (i1 + r * 16 < n1) x0[r] = f64x2_load(&in1[i0 + (i1 + r * 16) * in1_stride1], left);
        }
    }
    const int i0 = c0 + y;
    const int i1 = c1 + x;
    const int left = n1 - i1;
    f64x2 x1[2];
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
        if (i0 + r * 16 < n0) x1[r] = f64x2_load(&in0[(i0 + r * 16) * stride3 + i1], left);
    }
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            tile[(y + r * 16) * 33 + x + v] = x0[r].v[v];
        }
    }
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
        if (i0 + r * 16 >= n0) return;
        f64x2 y0;
        f64x2 y1;
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            y0.v[v] = x1[r].v[v];
            y1.v[v] = tile[(x + v) * 33 + y + r * 16];
        }
        f64x2_store(&out0[(i0 + r * 16) * stride3 + i1], y0, left);
        f64x2_store(&out1[(i0 + r * 16) * stride3 + i1], y1, left);
    }
}
