// Every word of `Language::Portable`, for the compilers of both languages; what the kernels give is tested in module.rs.

CONSTANT i32 steps[3] = {1, 10, 100};
FN i32 stepped(LOCAL i32 *tile, u32 at) { return tile[at] + steps[at % 3]; }
typedef struct ALIGNED(8) { u32 low, high; } Pair;

KERNEL where(GLOBAL u32 *RESTRICT out) {
    u32 width = GROUPS_X * GROUP_SIZE_X, height = GROUPS_Y * GROUP_SIZE_Y;
    u64 at = (INDEX_Z * height + INDEX_Y) * width + INDEX_X;
    u32 again = ((GROUP_Z * GROUP_SIZE_Z + THREAD_Z) * height + GROUP_Y * GROUP_SIZE_Y + THREAD_Y) * width
        + GROUP_X * GROUP_SIZE_X + THREAD_X;
    out[at] = again + (GROUPS_Z == 2 ? 0 : 1000000);
}

KERNEL reversed(GLOBAL const i32 *x, GLOBAL i32 *y) {
    SHARED i32 tile[64];
    tile[THREAD_X] = x[INDEX_X];
    BARRIER;
    y[INDEX_X] = stepped(tile, GROUP_SIZE_X - 1 - THREAD_X);
}

KERNEL reversed_any(GLOBAL const i32 *x, GLOBAL i32 *y LOCAL_PARAM(i32, tile)) {
    LOCAL_ARRAY(i32, tile)
    tile[THREAD_X] = x[INDEX_X];
    BARRIER;
    y[INDEX_X] = tile[GROUP_SIZE_X - 1 - THREAD_X];
}

KERNEL counted(GLOBAL i32 *counts, GLOBAL u32 *bits, GLOBAL f32 *sum) {
    i32 x = (i32)INDEX_X;
    ATOMIC_ADD(&counts[0], x);
    ATOMIC_SUB(&counts[1], 1);
    ATOMIC_MIN(&counts[2], -x);
    ATOMIC_MAX(&counts[3], x);
    ATOMIC_COMPARE_EXCHANGE(&counts[4], 0, 7);
    ATOMIC_OR(&bits[0], (u32)1 << (x % 32));
    ATOMIC_AND(&bits[1], ~((u32)1 << (x % 16)));
    ATOMIC_XOR(&bits[2], (u32)x);
    ATOMIC_EXCHANGE(&bits[3], (u32)9);
    ATOMIC_ADD_F32(sum, 0.5f);
}

KERNEL paired(Pair pair, GLOBAL u64 *out) { out[0] = (u64)pair.high << 32 | pair.low; }
