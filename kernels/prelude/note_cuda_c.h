// The first index out of range is noted with where it stands: the site, the axis, the index, the extent, and the numbers of
// group and thread, z outermost. Without a note there is nobody to tell.
FN void note_index(u64 site, u64 axis, u64 index, u64 extent, u64 *note) {
    if (note == 0) return;
    if (atomicCAS((u32 *)note, 0u, 1u) != 0) return;
    note[1] = site;
    note[2] = axis;
    note[3] = index;
    note[4] = extent;
    note[5] = ((u64)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    note[6] = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
