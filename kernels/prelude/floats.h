// Float operations that C lacks or leaves open. F is f32 or f64.

// NaN if either is NaN; of two equal values (the two zeros) the second.
#define LAZULI_FLOAT_ORDER(F) \
    FN F F##_minimum(F a, F b) { return a != a || a < b ? a : b; } \
    FN F F##_maximum(F a, F b) { return a != a || a > b ? a : b; }

// NaN stays NaN and a zero keeps its sign.
#define LAZULI_FLOAT_SIGN(F) \
    FN F F##_sign(F a) { return a > 0 ? (F)1 : a < 0 ? (F)-1 : a; }

// NumPy's npy_divmod: the exact remainder first, then a quotient snapped to the integer it must be.
#define LAZULI_FLOAT_DIVISION(F) \
    FN F F##_floor_divide(F a, F b) { \
        F rem = fmod(a, b); \
        F div = (a - rem) / b; \
        if (b == 0) return a / b; \
        if (rem != 0 && (b < 0) != (rem < 0)) div -= 1; \
        if (div == 0) return copysign((F)0, a / b); \
        F whole = floor(div); \
        return div - whole > (F)0.5 ? whole + 1 : whole; \
    } \
    FN F F##_remainder(F a, F b) { \
        F rem = fmod(a, b); \
        if (b == 0) return rem; \
        if (rem == 0) return copysign((F)0, b); \
        return (b < 0) != (rem < 0) ? rem + b : rem; \
    }

// Tests on the bits, which no float optimisation can fold away. BITS takes them as a U; INF is infinity's.
#define LAZULI_FLOAT_TESTS(F, U, BITS, INF) \
    FN U F##_magnitude(F a) { return BITS(a) & ((U)-1 >> 1); } \
    FN bool F##_is_nan(F a) { return F##_magnitude(a) > INF; } \
    FN bool F##_is_inf(F a) { return F##_magnitude(a) == INF; } \
    FN bool F##_is_finite(F a) { return F##_magnitude(a) < INF; }
