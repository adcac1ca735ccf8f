//! How buffers are made and used: OpenCL's flags, held against each other and against each use.

use bitflags::bitflags;

use crate::error::{Error, Result};

bitflags! {
    /// How a [`Buffer`](crate::Buffer) is made and used: OpenCL's flags, with their bits, and one meaning on every runtime.
    ///
    /// What kernels may do is told where Lazuli can tell: in launches and in [`Buffer::to_array`](crate::Buffer::to_array).
    /// Copies and fills on the device are not kernels. What the host may do is told by every call that
    /// copies or maps between the buffer and the host. An array made of a buffer is a value of its own: `get` is not refused.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub struct MemFlags: u64 {
        /// Kernels read and write. The default where no access is named.
        const READ_WRITE = 1;
        /// Kernels only write.
        const WRITE_ONLY = 1 << 1;
        /// Kernels only read.
        const READ_ONLY = 1 << 2;
        /// Use the host's memory in place of device memory; see [`Buffer::from_vec`](crate::Buffer::from_vec). Not possible with a
        /// borrowed slice.
        const USE_HOST_PTR = 1 << 3;
        /// Place the buffer where the host reaches it fast. A wish: OpenCL's GPUs get `CL_MEM_ALLOC_HOST_PTR`, which is
        /// page-locked memory with most drivers; on the host and on CPUs all memory is such; CUDA passes it over, since
        /// kernels are much faster in the device's own memory ([`Device::pinned`](crate::Device::pinned) is page-locked there).
        const ALLOC_HOST_PTR = 1 << 4;
        /// Copy the host's elements in.
        const COPY_HOST_PTR = 1 << 5;
        /// The host only writes: it neither reads nor maps.
        const HOST_WRITE_ONLY = 1 << 7;
        /// The host only reads.
        const HOST_READ_ONLY = 1 << 8;
        /// The host neither reads nor writes.
        const HOST_NO_ACCESS = 1 << 9;
    }
}

/// Where the first elements of a buffer come from, and so which flags it takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// Nowhere, or the device.
    Device,
    /// A slice of the host.
    Slice,
    /// A vector that the buffer may keep.
    Vec,
}

/// What uses a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    /// A kernel.
    Kernel,
    /// The host, through a copy or a mapping.
    Host,
    /// A copy or a fill on the device.
    Device,
}

impl MemFlags {
    /// Refuses flags that contradict each other or where the elements come from.
    pub(super) fn check(self, op: &'static str, origin: Origin) -> Result<()> {
        let refused = |what: &str| Err(Error::HostData { op, what: format!("flags {self:?}: {what}") });
        let several = |flags: MemFlags| (self & flags).bits().count_ones() > 1;
        if !MemFlags::all().contains(self) {
            return refused("unknown bits");
        }
        if several(MemFlags::READ_WRITE | MemFlags::READ_ONLY | MemFlags::WRITE_ONLY) {
            return refused("READ_WRITE, READ_ONLY and WRITE_ONLY exclude each other");
        }
        if several(MemFlags::HOST_WRITE_ONLY | MemFlags::HOST_READ_ONLY | MemFlags::HOST_NO_ACCESS) {
            return refused("HOST_WRITE_ONLY, HOST_READ_ONLY and HOST_NO_ACCESS exclude each other");
        }
        let (uses, copies) = (self.contains(MemFlags::USE_HOST_PTR), self.contains(MemFlags::COPY_HOST_PTR));
        if uses && self.intersects(MemFlags::COPY_HOST_PTR | MemFlags::ALLOC_HOST_PTR) {
            return refused("USE_HOST_PTR excludes COPY_HOST_PTR and ALLOC_HOST_PTR");
        }
        match origin {
            Origin::Device if uses || copies => refused("no elements of the host are given, of which they speak"),
            Origin::Slice if !copies && !uses => refused("elements are given, which takes COPY_HOST_PTR"),
            Origin::Vec if !copies && !uses => refused("elements are given, which takes COPY_HOST_PTR or USE_HOST_PTR"),
            _ => Ok(()),
        }
    }

    /// Refuses a read that the flags forbid.
    pub(super) fn check_read(self, op: &'static str, by: By) -> Result<()> {
        match by {
            By::Kernel if self.contains(MemFlags::WRITE_ONLY) => {
                self.forbid(op, "kernels may not read a WRITE_ONLY buffer")
            }
            By::Host if self.contains(MemFlags::HOST_WRITE_ONLY) => {
                self.forbid(op, "the host may not read or map a HOST_WRITE_ONLY buffer")
            }
            By::Host if self.contains(MemFlags::HOST_NO_ACCESS) => {
                self.forbid(op, "the host may not read a HOST_NO_ACCESS buffer")
            }
            _ => Ok(()),
        }
    }

    /// Refuses a write that the flags forbid.
    pub(super) fn check_write(self, op: &'static str, by: By) -> Result<()> {
        match by {
            By::Kernel if self.contains(MemFlags::READ_ONLY) => {
                self.forbid(op, "kernels may not write a READ_ONLY buffer")
            }
            By::Host if self.contains(MemFlags::HOST_READ_ONLY) => {
                self.forbid(op, "the host may not write a HOST_READ_ONLY buffer")
            }
            By::Host if self.contains(MemFlags::HOST_NO_ACCESS) => {
                self.forbid(op, "the host may not write a HOST_NO_ACCESS buffer")
            }
            _ => Ok(()),
        }
    }

    fn forbid(self, op: &'static str, what: &str) -> Result<()> {
        Err(Error::InvalidUse { op, what: format!("{what} (flags {self:?})") })
    }
}
