extern "C" __global__ void transpose(
    unsigned long long rows, unsigned long long columns, const float *__restrict__ from,
    unsigned long long from_len, float *__restrict__ to, unsigned long long to_len) {
    __shared__ float tile[32][33];
    const unsigned tx = threadIdx.x;
    const unsigned ty = threadIdx.y;
    const unsigned long long row = (unsigned long long)blockIdx.y * 32 + ty;
    const unsigned long long column = (unsigned long long)blockIdx.x * 32 + tx;
    for (unsigned by = 0; by < 32; by += 8) {
        if (row + by < rows && column < columns) {
            tile[ty + by][tx] = from[(row + by) * columns + column];
        }
    }
    __syncthreads();
    const unsigned long long row1 = (unsigned long long)blockIdx.x * 32 + ty;
    const unsigned long long column1 = (unsigned long long)blockIdx.y * 32 + tx;
    for (unsigned by1 = 0; by1 < 32; by1 += 8) {
        if (row1 + by1 < columns && column1 < rows) {
            to[(row1 + by1) * rows + column1] = tile[tx][ty + by1];
        }
    }
}
