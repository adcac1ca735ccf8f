// Atomics on floats that the hardware has not: compare-exchange on the bits until nobody came between. NEXT makes the new
// value of the old one and x.
#define LAZULI_ATOMIC(NAME, T, U, BITS, OF_BITS, NEXT) \
    FN T NAME(T *place, T x) { \
        U *bits = (U *)place; \
        U seen = *bits, before; \
        do { \
            before = seen; \
            seen = atomicCAS(bits, before, BITS(NEXT(OF_BITS(before), x))); \
        } while (seen != before); \
        return OF_BITS(before); \
    }
