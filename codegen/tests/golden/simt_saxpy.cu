extern "C" __global__ void saxpy(
    float a, const float *__restrict__ x, unsigned long long x_len, float *__restrict__ y,
    unsigned long long y_len) {
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < y_len) {
        y[i] = a * x[i] + y[i];
    }
}
