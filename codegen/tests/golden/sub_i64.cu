typedef long long i64;
typedef unsigned long long u64;
#define FN static __device__ __forceinline__
#define LAZULI_WRAPPING(T, U) \
    FN T T##_add(T a, T b) { return (T)((U)a + (U)b); } \
    FN T T##_sub(T a, T b) { return (T)((U)a - (U)b); } \
    FN T T##_mul(T a, T b) { return (T)((U)a * (U)b); } \
    FN T T##_neg(T a) { return (T)(0 - (U)a); }
LAZULI_WRAPPING(i64, u64)

extern "C" __global__ __launch_bounds__(256) void sub_i64(
    const long long *__restrict__ in0, const long long *__restrict__ in1, long long *__restrict__ out0,
    int in0_offset) {
    if (blockIdx.x * blockDim.x + threadIdx.x > 0) return;
    out0[0] = i64_sub(in0[in0_offset], in1[0]);
}
