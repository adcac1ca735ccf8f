typedef int i32;
typedef long long i64;
typedef unsigned long long u64;
#define FN static __device__ __forceinline__
#define GLOBAL
#define i32_raise(place, x) atomicMax(place, x)
#define i32_lower(place, x) atomicMin(place, x)
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

extern "C" __global__ void take_u64_mul_f32(
    const unsigned long long *__restrict__ in0, const float *__restrict__ in1, const float *__restrict__ in2,
    float *__restrict__ out0, int *notes,
    long long n0, long long size1) {
    const long long i0 = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i0 >= n0) return;
    const long long k0 = i64_checked_index((long long)min(in0[i0], 9223372036854775807uLL), size1, notes);
    out0[i0] = in1[k0] * in2[i0];
}
