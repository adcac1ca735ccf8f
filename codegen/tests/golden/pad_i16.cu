extern "C" __global__ __launch_bounds__(256) void pad_i16(
    const short *__restrict__ in0, short *__restrict__ out0,
    long long n0, long long size1, long long size2) {
    const long long i0 = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i0 >= n0) return;
    const long long k0 = i0 - size1;
    const long long k1 = (unsigned long long)max(k0, 0LL) % (unsigned long long)size2;
    out0[i0] = k0 < 0LL ? 0 : (k0 < size2 ? in0[k1] : 0);
}
