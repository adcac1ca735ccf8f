// Atomics on floats, which OpenCL C 1.2 has none of: compare-exchange on the bits until nobody came between. NEXT makes the
// new value of the old one and x. SPACE is __global or __local.
#define LAZULI_ATOMIC(NAME, SPACE, T, U, BITS, OF_BITS, CAS, NEXT) \
    FN T NAME(volatile SPACE T *place, T x) { \
        volatile SPACE U *bits = (volatile SPACE U *)place; \
        U seen = *bits, before; \
        do { \
            before = seen; \
            seen = CAS(bits, before, BITS(NEXT(OF_BITS(before), x))); \
        } while (seen != before); \
        return OF_BITS(before); \
    }

#define LAZULI_SUM(F) \
    FN F F##_sum(F a, F b) { return a + b; }
