#pragma OPENCL FP_CONTRACT OFF

typedef uint u32;
typedef ulong u64;
typedef float f32;
#define FN static inline __attribute__((always_inline))
#define GLOBAL __global
FN void note_index(u64 site, u64 axis, u64 index, u64 extent, GLOBAL u64 *note) {
    if (note == 0) return;
    if (atomic_cmpxchg((volatile GLOBAL u32 *)note, 0u, 1u) != 0) return;
    note[1] = site;
    note[2] = axis;
    note[3] = index;
    note[4] = extent;
    note[5] = (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0);
    note[6] = (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0);
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
LAZULI_CHECKED_LOAD(f32_global_load, __global, f32)
LAZULI_CHECKED_STORE(f32_global_store, __global, f32)

__kernel void saxpy(
    float a, __global const float *restrict x, ulong x_len, __global float *restrict y, ulong y_len,
    __global ulong *note) {
    const ulong i = get_global_id(0);
    if (i < y_len) {
        f32_global_store(y, element1(i, y_len, 2, note), a * f32_global_load(x, element1(i, x_len, 0, note)) + f32_global_load(y, element1(i, y_len, 1, note)));
    }
}
