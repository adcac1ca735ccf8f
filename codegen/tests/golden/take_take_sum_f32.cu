typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned long long u64;
#define FN static __device__ __forceinline__
#define GLOBAL
#define ALIGNED(bytes) __align__(bytes)
#define i32_raise(place, x) atomicMax(place, x)
#define i32_lower(place, x) atomicMin(place, x)
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

extern "C" __global__ __launch_bounds__(64) void take_take_sum_f32(
    const int *__restrict__ in0, const unsigned char *__restrict__ in1, const float *__restrict__ in2,
    float *__restrict__ out0, int *notes,
    int n0, int n1, int size2, int size3, int in2_stride0) {
    const int i0 = blockIdx.x;
    const int lane = threadIdx.x;
    const int k0 = i64_checked_index(in0[i0], size2, notes);
    __shared__ float sum_lanes[64];
    float sum_acc[4] = {-0.0f, -0.0f, -0.0f, -0.0f};
    int r0 = lane * 4;
    for (; r0 < n1 - 3; r0 += 256) {
        const u8x4 x0 = *(const u8x4 *)&in1[r0];
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
    __syncthreads();
    if (lane >= 32) return;
    float sum_part[2];
    for (int v = 0; v < 2; ++v) sum_part[v] = sum_lanes[lane + v * 32];
    sum_part[0] += sum_part[1];
    for (int step = 16; step > 0; step /= 2) {
        sum_part[0] += __shfl_down_sync(0xffffffff, sum_part[0], step);
    }
    if (lane > 0) return;
    const float sum = sum_part[0];
    out0[i0] = sum;
}
