#pragma OPENCL FP_CONTRACT OFF

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void pad_i16(
    __global const short *restrict in0, __global short *restrict out0,
    long n0, long size1, long size2) {
    const long i0 = get_global_id(0);
    if (i0 >= n0) return;
    const long k0 = i0 - size1;
    const long k1 = (ulong)max(k0, 0L) % (ulong)size2;
    out0[i0] = k0 < 0L ? 0 : (k0 < size2 ? in0[k1] : 0);
}
