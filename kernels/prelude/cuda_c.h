// Lazuli's vocabulary, spelled in CUDA C. opencl_c.h holds the same names; the sections beside them are written in it.
// No header is included: a machine with a driver and NVRTC has none.

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;

#define FN static __device__ __forceinline__
#define GLOBAL
#define ALIGNED(bytes) __align__(bytes)

#define f32_bits(x) __float_as_uint(x)
#define f32_of_bits(bits) __uint_as_float(bits)
#define u64_leading_zeros(x) __clzll(x)
#define i32_raise(place, x) atomicMax(place, x)
#define i32_lower(place, x) atomicMin(place, x)
