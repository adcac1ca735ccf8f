// Lazuli's vocabulary, spelled in OpenCL C. cuda_c.h holds the same names; the sections beside them are written in it.

typedef char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef float f32;

#define FN static inline __attribute__((always_inline))
#define GLOBAL __global
#define ALIGNED(bytes) __attribute__((aligned(bytes)))

#define f32_bits(x) as_uint(x)
#define f32_of_bits(bits) as_float(bits)
#define u64_leading_zeros(x) ((int)clz(x))
#define i32_raise(place, x) atomic_max(place, x)
#define i32_lower(place, x) atomic_min(place, x)
