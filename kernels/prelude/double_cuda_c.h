// The f64 part of the vocabulary.

typedef double f64;
#define f64_bits(x) ((u64)__double_as_longlong(x))
#define f64_of_bits(bits) __longlong_as_double((long long)(bits))
