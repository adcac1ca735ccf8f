#pragma OPENCL FP_CONTRACT OFF

#define FN static inline __attribute__((always_inline))
FN float at_least(float x, float low) {
    if (x < low) return low;
    return x;
}
FN float within(float x, float low, float high) {
    return high < x ? high : at_least(x, low);
}

__kernel void kernel_clamp(
    float low, float high, __global const float *restrict data, ulong data_len, __global float *restrict out,
    ulong out_len) {
    const ulong i = get_global_id(0);
    if (i < out_len) {
        out[i] = within(data[i], low, high);
    }
}
