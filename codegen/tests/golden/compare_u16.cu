typedef unsigned short u16;
typedef unsigned int u32;
#define FN static __device__ __forceinline__
#define LAZULI_UNSIGNED_SHIFT(T, WIDE, BITS) \
    FN T T##_shl(T a, T b) { return b < BITS ? (T)((WIDE)a << b) : (T)0; } \
    FN T T##_shr(T a, T b) { return b < BITS ? (T)(a >> b) : (T)0; }
LAZULI_UNSIGNED_SHIFT(u16, u32, 16)

extern "C" __global__ __launch_bounds__(256) void compare_u16(
    const unsigned short *__restrict__ in0, const unsigned short *__restrict__ in1,
    unsigned char *__restrict__ out0,
    int n0, int n1, int n2, int n3, int in0_stride0, int in1_stride2, int out0_stride0, int out0_stride1,
    int out0_stride2) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n0 * n1 * n2 * n3) return;
    const int i3 = t % n3;
    const unsigned q2 = t / n3;
    const int i2 = q2 % n2;
    const unsigned q1 = q2 / n2;
    const int i1 = q1 % n1;
    const int i0 = q1 / n1;
    const unsigned short v0 = in0[i0 * in0_stride0 + i3];
    const unsigned short v1 = in1[i2 * in1_stride2];
    const unsigned char y0 = u16_shl((unsigned short)((unsigned)v0 * v1), v1) < v0;
    out0[i0 * out0_stride0 + i1 * out0_stride1 + i2 * out0_stride2 + i3] = y0;
}
