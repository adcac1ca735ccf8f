// Conversions as Rust's `as`: saturating, NaN to 0. LOW and HIGH are the type's ends as floats: at or past them the result
// is MIN or MAX, between them the conversion is C's own.
#define LAZULI_SATURATE(T, F, LOW, HIGH, MIN, MAX) \
    FN T T##_from_##F(F x) { return x >= HIGH ? (T)MAX : x <= LOW ? (T)MIN : x == x ? (T)x : (T)0; }
