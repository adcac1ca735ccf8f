// Integer arithmetic that never traps and never meets C's undefined cases. T is the type, U its unsigned twin.

// Signed overflow is undefined in C, so wrapping goes through U.
#define LAZULI_WRAPPING(T, U) \
    FN T T##_add(T a, T b) { return (T)((U)a + (U)b); } \
    FN T T##_sub(T a, T b) { return (T)((U)a - (U)b); } \
    FN T T##_mul(T a, T b) { return (T)((U)a * (U)b); } \
    FN T T##_neg(T a) { return (T)(0 - (U)a); }

#define LAZULI_ORDER(T) \
    FN T T##_minimum(T a, T b) { return a < b ? a : b; } \
    FN T T##_maximum(T a, T b) { return a > b ? a : b; }

#define LAZULI_SIGN(T, U) \
    FN T T##_abs(T a) { return a < 0 ? (T)(0 - (U)a) : a; } \
    FN T T##_sign(T a) { return (T)((a > 0) - (a < 0)); }

// x/0 and x%0 are 0, MIN/-1 wraps, MIN%-1 is 0. The divisor is made harmless first, so that a compiler which runs both
// sides of a choice (vectorisers do) meets no trap either.
#define LAZULI_SIGNED_DIVISION(T, U) \
    FN T T##_div(T a, T b) { \
        T safe = b == 0 || b == -1 ? (T)1 : b; \
        T q = (T)(a / safe); \
        return b == 0 ? (T)0 : b == -1 ? (T)(0 - (U)a) : q; \
    } \
    FN T T##_rem(T a, T b) { \
        T safe = b == 0 || b == -1 ? (T)1 : b; \
        return (T)(a % safe); \
    } \
    FN T T##_floor_divide(T a, T b) { \
        T q = T##_div(a, b), r = T##_rem(a, b); \
        return r != 0 && (r ^ b) < 0 ? (T)(q - 1) : q; \
    } \
    FN T T##_remainder(T a, T b) { \
        T r = T##_rem(a, b); \
        return r != 0 && (r ^ b) < 0 ? (T)(r + b) : r; \
    }

#define LAZULI_UNSIGNED_DIVISION(T) \
    FN T T##_div(T a, T b) { \
        T q = (T)(a / (b == 0 ? (T)1 : b)); \
        return b == 0 ? (T)0 : q; \
    } \
    FN T T##_rem(T a, T b) { return (T)(a % (b == 0 ? (T)1 : b)); }

// Hardware takes the count modulo the width; here the bits are gone. WIDE is u32 or u64: no narrow type is shifted as
// C's signed int. A negative count is a large one in U.
#define LAZULI_SIGNED_SHIFT(T, U, WIDE, BITS) \
    FN T T##_shl(T a, T b) { return (U)b < BITS ? (T)((WIDE)(U)a << b) : (T)0; } \
    FN T T##_shr(T a, T b) { return (T)(a >> ((U)b < BITS ? b : (T)(BITS - 1))); }

#define LAZULI_UNSIGNED_SHIFT(T, WIDE, BITS) \
    FN T T##_shl(T a, T b) { return b < BITS ? (T)((WIDE)a << b) : (T)0; } \
    FN T T##_shr(T a, T b) { return b < BITS ? (T)(a >> b) : (T)0; }
