// The f64 part of the vocabulary, apart because a device may have none.

typedef double f64;
#define f64_bits(x) as_ulong(x)
#define f64_of_bits(bits) as_double(bits)
