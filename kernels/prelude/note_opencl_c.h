// The first index out of range is noted with where it stands: the site, the axis, the index, the extent, and the numbers of
// group and thread, z outermost. Without a note there is nobody to tell.
FN void note_index(u64 site, u64 axis, u64 index, u64 extent, GLOBAL u64 *note) {
    if (note == 0) return;
    if (atomic_cmpxchg((volatile GLOBAL u32 *)note, 0u, 1u) != 0) return;
    note[1] = site;
    note[2] = axis;
    note[3] = index;
    note[4] = extent;
    note[5] = (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0);
    note[6] = (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0);
}
