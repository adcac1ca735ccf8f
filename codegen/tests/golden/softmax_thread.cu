typedef float f32;
#define FN static __device__ __forceinline__
#define LAZULI_FLOAT_ORDER(F) \
    FN F F##_minimum(F a, F b) { return a != a || a < b ? a : b; } \
    FN F F##_maximum(F a, F b) { return a != a || a > b ? a : b; }
LAZULI_FLOAT_ORDER(f32)

extern "C" __global__ __launch_bounds__(256) void softmax_f32(
    const float *__restrict__ in0, float *__restrict__ out0,
    int n0, int n1, int in0_stride0, int out0_stride0) {
    const int i0 = blockIdx.x * blockDim.x + threadIdx.x;
    if (i0 >= n0) return;
    float highest = -__int_as_float(0x7f800000);
    for (int i1 = 0; i1 < n1; ++i1) {
        highest = f32_maximum(highest, in0[i0 * in0_stride0 + i1]);
    }
    float sum = -0.0f;
    for (int i1 = 0; i1 < n1; ++i1) {
        sum += expf(in0[i0 * in0_stride0 + i1] - highest);
    }
    for (int i1 = 0; i1 < n1; ++i1) {
        out0[i0 * out0_stride0 + i1] = expf(in0[i0 * in0_stride0 + i1] - highest) / sum;
    }
}
