extern "C" __global__ void matmul(
    const float *__restrict__ a, unsigned long long a_len, const float *__restrict__ b, unsigned long long b_len,
    float *__restrict__ c, unsigned long long c_len, unsigned long long n) {
    __shared__ float a_tile[32][32];
    __shared__ float b_tile[32][32];
    const unsigned tx = threadIdx.x;
    const unsigned ty = threadIdx.y;
    const unsigned long long row = (unsigned long long)blockIdx.y * 32 + ty;
    const unsigned long long column = (unsigned long long)blockIdx.x * 32 + tx;
    float sum = 0.0f;
    for (unsigned long long t = 0; t < n / 32; t++) {
        a_tile[ty][tx] = a[row * n + (t * 32 + tx)];
        b_tile[ty][tx] = b[(t * 32 + ty) * n + column];
        __syncthreads();
        for (unsigned k = 0; k < 32; k++) {
            sum += a_tile[ty][k] * b_tile[k][tx];
        }
        __syncthreads();
    }
    c[row * n + column] = sum;
}
