// True in the last of `all` groups to come to one count: it sees what the others wrote before. One thread speaks for its
// group, whose writes the barrier shows it.
FN bool is_last_group(unsigned *count, unsigned all) {
    __shared__ bool is_last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        is_last = atomicAdd(count, 1u) + 1 == all;
        __threadfence();
    }
    __syncthreads();
    return is_last;
}
