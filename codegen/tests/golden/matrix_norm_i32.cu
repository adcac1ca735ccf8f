typedef int i32;
typedef unsigned int u32;
#define FN static __device__ __forceinline__
#define LAZULI_WRAPPING(T, U) \
    FN T T##_add(T a, T b) { return (T)((U)a + (U)b); } \
    FN T T##_sub(T a, T b) { return (T)((U)a - (U)b); } \
    FN T T##_mul(T a, T b) { return (T)((U)a * (U)b); } \
    FN T T##_neg(T a) { return (T)(0 - (U)a); }
#define LAZULI_ORDER(T) \
    FN T T##_minimum(T a, T b) { return a < b ? a : b; } \
    FN T T##_maximum(T a, T b) { return a > b ? a : b; }
#define LAZULI_SIGN(T, U) \
    FN T T##_abs(T a) { return a < 0 ? (T)(0 - (U)a) : a; } \
    FN T T##_sign(T a) { return (T)((a > 0) - (a < 0)); }
LAZULI_SIGN(i32, u32)
LAZULI_WRAPPING(i32, u32)
LAZULI_ORDER(i32)

extern "C" __global__ __launch_bounds__(64) void matrix_norm_i32(
    const int *__restrict__ in0, int *__restrict__ out0,
    int n0, int n1, int n2, int in0_stride0, int in0_stride1) {
    const int i0 = blockIdx.x;
    const int lane = threadIdx.x;
    __shared__ int highest_lanes[64];
    int highest_acc = (-2147483647 - 1);
    for (int i1 = lane; i1 < n1; i1 += 64) {
        int sum = 0;
        for (int i2 = 0; i2 < n2; ++i2) {
            sum = i32_add(sum, i32_abs(in0[i0 * in0_stride0 + i1 * in0_stride1 + i2]));
        }
        highest_acc = i32_maximum(highest_acc, sum);
    }
    highest_lanes[lane] = highest_acc;
    __syncthreads();
    if (lane >= 32) return;
    int highest_part[2];
    for (int v = 0; v < 2; ++v) highest_part[v] = highest_lanes[lane + v * 32];
    highest_part[0] = i32_maximum(highest_part[0], highest_part[1]);
    for (int step = 16; step > 0; step /= 2) {
        highest_part[0] = i32_maximum(highest_part[0], __shfl_down_sync(0xffffffff, highest_part[0], step));
    }
    if (lane > 0) return;
    const int highest = highest_part[0];
    out0[i0] = highest;
}
