typedef unsigned short u16;
typedef unsigned int u32;
typedef float f32;
#define FN static __device__ __forceinline__
#define f32_bits(x) __float_as_uint(x)
#define f32_of_bits(bits) __uint_as_float(bits)
FN f32 bf16_value(u16 h) { return f32_of_bits((u32)h << 16); }
FN f32 bf16_round(f32 x) {
    u32 bits = f32_bits(x);
    u32 near = bits + 0x7fff + ((bits >> 16) & 1);
    u32 r = (bits & 0x7fffffff) > 0x7f800000 ? bits | 0x00400000 : near;
    return f32_of_bits(r & 0xffff0000);
}
FN u16 bf16_bits(f32 x) { return (u16)(f32_bits(bf16_round(x)) >> 16); }

extern "C" __global__ __launch_bounds__(1) void layer_norm_bf16(
    const unsigned short *__restrict__ in0, const float *__restrict__ in1, const float *__restrict__ in2,
    unsigned short *__restrict__ out0,
    int n0, int n1, int stride2,
    float s0, float s1) {
    const int i0 = blockIdx.x;
    float kept[1024];
    float sum_acc[16];
    for (int v = 0; v < 16; ++v) sum_acc[v] = -0.0f;
    int r0 = 0;
    for (; r0 < n1 - 15; r0 += 16) {
        #pragma unroll
        for (int v = 0; v < 16; ++v) {
            kept[r0 + v] = bf16_value(in0[i0 * stride2 + r0 + v]);
            sum_acc[v] += kept[r0 + v];
        }
    }
    #pragma unroll
    for (int v = 0; v < 15; ++v) {
        if (r0 + v < n1) {
            kept[r0 + v] = bf16_value(in0[i0 * stride2 + r0 + v]);
            sum_acc[v] += kept[r0 + v];
        }
    }
    for (int v = 0; v < 8; ++v) sum_acc[v] += sum_acc[v + 8];
    for (int v = 0; v < 4; ++v) sum_acc[v] += sum_acc[v + 4];
    for (int v = 0; v < 2; ++v) sum_acc[v] += sum_acc[v + 2];
    sum_acc[0] += sum_acc[1];
    const float sum = sum_acc[0];
    const float v0 = sum / s0;
    float kept1[1024];
    float sum1_acc[16];
    for (int v = 0; v < 16; ++v) sum1_acc[v] = -0.0f;
    int r1 = 0;
    for (; r1 < n1 - 15; r1 += 16) {
        #pragma unroll
        for (int v = 0; v < 16; ++v) {
            kept1[r1 + v] = kept[r1 + v] - v0;
            sum1_acc[v] += kept1[r1 + v] * kept1[r1 + v];
        }
    }
    #pragma unroll
    for (int v = 0; v < 15; ++v) {
        if (r1 + v < n1) {
            kept1[r1 + v] = kept[r1 + v] - v0;
            sum1_acc[v] += kept1[r1 + v] * kept1[r1 + v];
        }
    }
    for (int v = 0; v < 8; ++v) sum1_acc[v] += sum1_acc[v + 8];
    for (int v = 0; v < 4; ++v) sum1_acc[v] += sum1_acc[v + 4];
    for (int v = 0; v < 2; ++v) sum1_acc[v] += sum1_acc[v + 2];
    sum1_acc[0] += sum1_acc[1];
    const float sum1 = sum1_acc[0];
    const float v1 = sqrtf(sum1 / s0 + s1);
    for (int i1 = 0; i1 < n1; ++i1) {
        out0[i0 * stride2 + i1] = bf16_bits(kept1[i1] / v1 * in1[i1] + in2[i1]);
    }
}
