// Waits until `all` groups, which must run at once, have come to one count; then each sees what the first threads of the
// others wrote before. No other thread hands in anything, so that none need come first.
FN void await_groups(unsigned *count, unsigned all) {
    if (threadIdx.x == 0) {
        unsigned come;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" :: "l"(count) : "memory");
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(come) : "l"(count) : "memory");
        } while (come < all);
    }
    __syncthreads();
}
