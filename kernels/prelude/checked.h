// Accesses that stay within their memory. An element's number is made of its indices, NOWHERE where one of them is out of
// range: a load from there gives zero, a store does nothing.
FN bool is_within(u64 index, u64 extent, u64 site, u64 axis, GLOBAL u64 *note) {
    if (index < extent) return true;
    note_index(site, axis, index, extent, note);
    return false;
}

FN u64 element1(u64 i, u64 n, u64 site, GLOBAL u64 *note) {
    return is_within(i, n, site, 0, note) ? i : ~(u64)0;
}

FN u64 element2(u64 i, u64 j, u64 n, u64 m, u64 site, GLOBAL u64 *note) {
    return is_within(i, n, site, 0, note) && is_within(j, m, site, 1, note) ? i * m + j : ~(u64)0;
}

FN u64 element3(u64 i, u64 j, u64 k, u64 n, u64 m, u64 l, u64 site, GLOBAL u64 *note) {
    return is_within(i, n, site, 0, note) && is_within(j, m, site, 1, note) && is_within(k, l, site, 2, note)
        ? (i * m + j) * l + k
        : ~(u64)0;
}

#define LAZULI_CHECKED_LOAD(NAME, SPACE, T) \
    FN T NAME(SPACE const T *from, u64 at) { return at == ~(u64)0 ? (T)0 : from[at]; }

#define LAZULI_CHECKED_STORE(NAME, SPACE, T) \
    FN void NAME(SPACE T *to, u64 at, T x) { if (at != ~(u64)0) to[at] = x; }
