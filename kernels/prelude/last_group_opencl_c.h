// True in the last of `all` groups to come to one count: it sees what the others wrote before. One work-item speaks for its
// group, whose writes the barrier shows it.
FN bool is_last_group(__global uint *count, uint all, __local bool *is_last) {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        *is_last = atomic_fetch_add_explicit((volatile __global atomic_uint *)count, 1u, memory_order_acq_rel,
                                             memory_scope_device) + 1 == all;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    return *is_last;
}
