extern "C" __global__ void histogram(
    const unsigned char *__restrict__ data, unsigned long long data_len, unsigned *counts,
    unsigned long long counts_len) {
    __shared__ unsigned bins[256];
    const unsigned t = threadIdx.x;
    if (t < 256) {
        bins[t] = 0u;
    }
    __syncthreads();
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < data_len) {
        atomicAdd(&bins[(unsigned)data[i]], 1u);
    }
    __syncthreads();
    if (t < 256) {
        const unsigned total = bins[t];
        if (total > 0u) {
            atomicAdd(&counts[t], total);
        }
    }
}
