// An element as an index along an axis of n > 0 elements; negative ones count from the end. One that is out of range is
// noted and taken as 0. The greatest and the least win, whichever thread comes first; both are clamped to an i32.
FN i64 i64_checked_index(i64 x, i64 n, GLOBAL i32 *notes) {
    i64 at = x < 0 ? x + n : x;
    if ((u64)at < (u64)n) return at;
    if (x < 0) {
        i32_lower(notes + 1, x < -2147483647 ? -2147483647 : (i32)x);
    } else {
        i32_raise(notes, x > 2147483647 ? 2147483647 : (i32)x);
    }
    return 0;
}
