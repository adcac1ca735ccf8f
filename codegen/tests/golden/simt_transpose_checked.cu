typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
#define FN static __device__ __forceinline__
#define GLOBAL
FN void note_index(u64 site, u64 axis, u64 index, u64 extent, u64 *note) {
    if (note == 0) return;
    if (atomicCAS((u32 *)note, 0u, 1u) != 0) return;
    note[1] = site;
    note[2] = axis;
    note[3] = index;
    note[4] = extent;
    note[5] = ((u64)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    note[6] = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
FN bool is_within(u64 index, u64 extent, u64 site, u64 axis, GLOBAL u64 *note) {
    if (index < extent) return true;
    note_index(site, axis, index, extent, note);
    return false;
}
FN u64 element1(u64 i, u64 n, u64 site, GLOBAL u64 *note) {
    return is_within(i, n, site, 0, note) ? i : ~(u64)0;
}
FN u64 element2(u64 i, u64 j, u64 n, u64 m, u64 site, GLOBAL u64 *note) {
    return is_within(i, n, site, 0, note) && is_within(j, m, site, 1, note) ? i * m + j : ~(u64)0;
}
FN u64 element3(u64 i, u64 j, u64 k, u64 n, u64 m, u64 l, u64 site, GLOBAL u64 *note) {
    return is_within(i, n, site, 0, note) && is_within(j, m, site, 1, note) && is_within(k, l, site, 2, note)
        ? (i * m + j) * l + k
        : ~(u64)0;
}
#define LAZULI_CHECKED_LOAD(NAME, SPACE, T) \
    FN T NAME(SPACE const T *from, u64 at) { return at == ~(u64)0 ? (T)0 : from[at]; }
#define LAZULI_CHECKED_STORE(NAME, SPACE, T) \
    FN void NAME(SPACE T *to, u64 at, T x) { if (at != ~(u64)0) to[at] = x; }
LAZULI_CHECKED_LOAD(f32_load, , f32)
LAZULI_CHECKED_STORE(f32_store, , f32)

extern "C" __global__ void transpose(
    unsigned long long rows, unsigned long long columns, const float *__restrict__ from,
    unsigned long long from_len, float *__restrict__ to, unsigned long long to_len, unsigned long long *note) {
    __shared__ float tile[32][33];
    const unsigned tx = threadIdx.x;
    const unsigned ty = threadIdx.y;
    const unsigned long long row = (unsigned long long)blockIdx.y * 32 + ty;
    const unsigned long long column = (unsigned long long)blockIdx.x * 32 + tx;
    for (unsigned by = 0; by < 32; by += 8) {
        if (row + by < rows && column < columns) {
            f32_store(&tile[0][0], element2(ty + by, tx, 32, 33, 1, note), f32_load(from, element1((row + by) * columns + column, from_len, 0, note)));
        }
    }
    __syncthreads();
    const unsigned long long row1 = (unsigned long long)blockIdx.x * 32 + ty;
    const unsigned long long column1 = (unsigned long long)blockIdx.y * 32 + tx;
    for (unsigned by1 = 0; by1 < 32; by1 += 8) {
        if (row1 + by1 < columns && column1 < rows) {
            f32_store(to, element1((row1 + by1) * rows + column1, to_len, 3, note), f32_load(&tile[0][0], element2(tx, ty + by1, 32, 33, 2, note)));
        }
    }
}
