#define FN static __device__ __forceinline__
FN float at_least(float x, float low) {
    if (x < low) return low;
    return x;
}
FN float within(float x, float low, float high) {
    return high < x ? high : at_least(x, low);
}

extern "C" __global__ void kernel_clamp(
    float low, float high, const float *__restrict__ data, unsigned long long data_len, float *__restrict__ out,
    unsigned long long out_len) {
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < out_len) {
        out[i] = within(data[i], low, high);
    }
}
