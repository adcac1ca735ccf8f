// What kernels that are written once need beside types and qualifiers, spelled in OpenCL C. portable_cuda_c.h holds the same
// words; the documentation of `Language::Portable` says what each means.

#define KERNEL __kernel void
#define LOCAL __local
#define SHARED __local
#define CONSTANT __constant
#define RESTRICT restrict
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

#define THREAD_X ((u32)get_local_id(0))
#define THREAD_Y ((u32)get_local_id(1))
#define THREAD_Z ((u32)get_local_id(2))
#define GROUP_X ((u32)get_group_id(0))
#define GROUP_Y ((u32)get_group_id(1))
#define GROUP_Z ((u32)get_group_id(2))
#define GROUP_SIZE_X ((u32)get_local_size(0))
#define GROUP_SIZE_Y ((u32)get_local_size(1))
#define GROUP_SIZE_Z ((u32)get_local_size(2))
#define GROUPS_X ((u32)get_num_groups(0))
#define GROUPS_Y ((u32)get_num_groups(1))
#define GROUPS_Z ((u32)get_num_groups(2))
#define INDEX_X ((u64)get_global_id(0))
#define INDEX_Y ((u64)get_global_id(1))
#define INDEX_Z ((u64)get_global_id(2))

// Memory of the group whose length the launch sets: the last parameter, without the comma before it.
#define LOCAL_PARAM(T, name) , __local T *name
#define LOCAL_ARRAY(T, name)

#define ATOMIC_ADD(place, x) atomic_add(place, x)
#define ATOMIC_SUB(place, x) atomic_sub(place, x)
#define ATOMIC_MIN(place, x) atomic_min(place, x)
#define ATOMIC_MAX(place, x) atomic_max(place, x)
#define ATOMIC_AND(place, x) atomic_and(place, x)
#define ATOMIC_OR(place, x) atomic_or(place, x)
#define ATOMIC_XOR(place, x) atomic_xor(place, x)
#define ATOMIC_EXCHANGE(place, x) atomic_xchg(place, x)
#define ATOMIC_COMPARE_EXCHANGE(place, expected, x) atomic_cmpxchg(place, expected, x)
#define ATOMIC_ADD_F32(place, x) lazuli_atomic_add_f32(place, x)

// OpenCL C 1.2 has no atomic addition of floats, so one is made of a compare-exchange on the bits.
static inline f32 lazuli_atomic_add_f32(volatile __global f32 *place, f32 x) {
    u32 before = as_uint(*place), expected;
    do {
        expected = before;
        before = atomic_cmpxchg((volatile __global u32 *)place, expected, as_uint(as_float(expected) + x));
    } while (before != expected);
    return as_float(before);
}
