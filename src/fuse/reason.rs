//! Why a kernel begins where it does, for `explain()` and the traces.

/// Why a kernel begins where it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The value was asked for.
    AskedFor,
    /// Fusion is off.
    FusionOff,
    /// It is read through more than one index map, and computing it for each would cost more than storing it.
    SeveralMaps,
    /// It is read in more places than it has elements.
    Broadcast,
    /// It is read at indices that are values themselves, and costs more than reading it.
    Gathered,
    /// It is a gather of which only a part is read, and all of its indices must be checked.
    PartOfGather,
    /// Several kernels read it.
    SeveralKernels,
    /// The reader would hold too many operations.
    Operations,
    /// The reader would have too many parameters.
    Parameters,
    /// It is a reduction that the kernel of its reader cannot hold: other threads share its fold, or it would stand in a loop.
    Reduction,
    /// A long reduction is split over groups; this is its first stage.
    Chunks,
    /// Its rows are longer than the device keeps on the chip, so that each pass over them reads them.
    LongRows,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Reason::AskedFor => "its value was asked for",
            Reason::FusionOff => "fusion is off",
            Reason::SeveralMaps => "its value is read through several index maps",
            Reason::Broadcast => "its value is broadcast into a larger space",
            Reason::Gathered => "its value is read at computed indices",
            Reason::PartOfGather => "only a part of the gather is read, and all of its indices are checked",
            Reason::SeveralKernels => "several kernels read its value",
            Reason::Operations => "the kernel that reads it holds as many operations as one may",
            Reason::Parameters => "the kernel that reads it has as many parameters as the device takes",
            Reason::Reduction => "the kernel that reads it needs the whole reduction first",
            Reason::Chunks => "a long reduction is split, and its chunks come first",
            Reason::LongRows => "the rows it folds are longer than the chip holds, and every pass over them reads them",
        })
    }
}
