// What kernels that are written once need beside types and qualifiers, spelled in CUDA C. portable_opencl_c.h holds the same
// words; the documentation of `Language::Portable` says what each means.

#define KERNEL extern "C" __global__ void
#define LOCAL
#define SHARED __shared__
#define CONSTANT __constant__
#define RESTRICT __restrict__
#define BARRIER __syncthreads()

#define THREAD_X ((u32)threadIdx.x)
#define THREAD_Y ((u32)threadIdx.y)
#define THREAD_Z ((u32)threadIdx.z)
#define GROUP_X ((u32)blockIdx.x)
#define GROUP_Y ((u32)blockIdx.y)
#define GROUP_Z ((u32)blockIdx.z)
#define GROUP_SIZE_X ((u32)blockDim.x)
#define GROUP_SIZE_Y ((u32)blockDim.y)
#define GROUP_SIZE_Z ((u32)blockDim.z)
#define GROUPS_X ((u32)gridDim.x)
#define GROUPS_Y ((u32)gridDim.y)
#define GROUPS_Z ((u32)gridDim.z)
#define INDEX_X ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define INDEX_Y ((u64)blockIdx.y * blockDim.y + threadIdx.y)
#define INDEX_Z ((u64)blockIdx.z * blockDim.z + threadIdx.z)

// Memory of the group whose length the launch sets: no parameter here, but the one dynamic array.
#define LOCAL_PARAM(T, name)
#define LOCAL_ARRAY(T, name) \
    extern __shared__ __align__(16) unsigned char lazuli_local_array[]; \
    T *name = (T *)lazuli_local_array;

#define ATOMIC_ADD(place, x) atomicAdd(place, x)
#define ATOMIC_SUB(place, x) atomicSub(place, x)
#define ATOMIC_MIN(place, x) atomicMin(place, x)
#define ATOMIC_MAX(place, x) atomicMax(place, x)
#define ATOMIC_AND(place, x) atomicAnd(place, x)
#define ATOMIC_OR(place, x) atomicOr(place, x)
#define ATOMIC_XOR(place, x) atomicXor(place, x)
#define ATOMIC_EXCHANGE(place, x) atomicExch(place, x)
#define ATOMIC_COMPARE_EXCHANGE(place, expected, x) atomicCAS(place, expected, x)
#define ATOMIC_ADD_F32(place, x) atomicAdd(place, x)
