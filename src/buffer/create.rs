//! Buffers made of nothing, of host memory and of arrays, and turned into host memory again.

use std::any::Any;
use std::sync::Arc;

use super::access::{How, State};
use super::flags::Origin;
use super::{Buffer, By, MemFlags};
use crate::array::Array;
use crate::check;
use crate::device::{Device, block_of};
use crate::dtype::{DType, Element};
use crate::error::{Error, Result};
use crate::graph::Storage;
use crate::runtime::owned_bytes::OwnedBytes;
use crate::runtime::pool::Block;

impl<T: Element> Buffer<T> {
    /// A buffer of `len` elements whose values are unspecified: what lay there before. Those of bool are all `false`.
    ///
    /// Errors: `HostData` for flags that contradict each other, or speak of host memory; `OutOfMemory`, `Driver`.
    #[doc(alias = "empty")]
    pub fn uninit(device: &Device, flags: MemFlags, len: usize) -> Result<Self> {
        const OP: &str = "Buffer::uninit";
        flags.check(OP, Origin::Device)?;
        let storage = device.allocate_for(flags, bytes_of::<T>(OP, len)?)?;
        let mut buffer = Self::over(device, flags, storage, len);
        // Memory of a CPU is memory of this process, which no one may read before it was written once.
        if T::DTYPE == DType::Bool || device.runtime().facts().is_cpu {
            buffer.fill_all(OP, T::zero())?;
        }
        Ok(buffer)
    }

    /// A buffer of `len` zeros.
    ///
    /// Errors: as [`uninit`](Buffer::uninit).
    pub fn zeros(device: &Device, flags: MemFlags, len: usize) -> Result<Self> {
        const OP: &str = "Buffer::zeros";
        flags.check(OP, Origin::Device)?;
        let storage = device.allocate_for(flags, bytes_of::<T>(OP, len)?)?;
        let mut buffer = Self::over(device, flags, storage, len);
        buffer.fill_all(OP, T::zero())?;
        Ok(buffer)
    }

    /// A buffer with a copy of the elements.
    ///
    /// Errors: `HostData` for flags that contradict each other or lack `COPY_HOST_PTR`, `Unsupported` for `USE_HOST_PTR`,
    /// `OutOfMemory`, `Driver`.
    pub fn from_slice(device: &Device, flags: MemFlags, elements: &[T]) -> Result<Self> {
        const OP: &str = "Buffer::from_slice";
        flags.check(OP, Origin::Slice)?;
        if flags.contains(MemFlags::USE_HOST_PTR) {
            let what =
                "MemFlags::USE_HOST_PTR over a borrowed slice; use COPY_HOST_PTR, or `Buffer::from_vec`".to_string();
            return Err(Error::Unsupported { device: device.name().to_string(), what });
        }
        let storage = device.allocate_for(flags, size_of_val(elements))?;
        write_all(device, &storage, T::as_bytes(elements))?;
        Ok(Self::over(device, flags, storage, elements.len()))
    }

    /// A buffer over the elements of a vector, which [`into_vec`](Buffer::into_vec) gives back.
    ///
    /// With `USE_HOST_PTR` the host and OpenCL devices that are CPUs use the vector's memory itself. Devices with memory
    /// of their own (CUDA, OpenCL on GPUs) hold a copy of it, made here; the vector is kept, and written by `into_vec` alone. A mapping
    /// shows the vector's memory in the first case, a copy in pinned memory on CUDA, and what the driver
    /// maps on OpenCL's GPUs. With `COPY_HOST_PTR` the elements are copied and the vector is dropped.
    ///
    /// Errors: `HostData` for flags that contradict each other or have neither of these two; `OutOfMemory`, `Driver`, upon which
    /// the vector is dropped.
    ///
    /// ```
    /// use lazuli::{Buffer, Device, MemFlags};
    ///
    /// let elements = vec![1.0f32; 1000];
    /// let address = elements.as_ptr();
    /// let mut buffer = Buffer::from_vec(&Device::host()?, MemFlags::USE_HOST_PTR, elements)?;
    /// buffer.fill(2.0)?;
    /// let elements = buffer.into_vec()?;
    /// assert_eq!((elements.as_ptr(), elements[999]), (address, 2.0));
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    pub fn from_vec(device: &Device, flags: MemFlags, elements: Vec<T>) -> Result<Self> {
        flags.check("Buffer::from_vec", Origin::Vec)?;
        if flags.contains(MemFlags::COPY_HOST_PTR) {
            return Self::from_slice(device, flags, &elements);
        }
        let (len, queues) = (elements.len(), device.runtime().queues());
        if len > 0 && queues.adopts() {
            let memory = queues.adopt(OwnedBytes::from_vec(elements))?;
            return Ok(Self::over(device, flags, device.adopt(memory), len));
        }
        let storage = device.allocate_for(flags, size_of_val(&elements[..]))?;
        write_all(device, &storage, T::as_bytes(&elements))?;
        let mut buffer = Self::over(device, flags, storage, len);
        buffer.home = Some(elements);
        Ok(buffer)
    }

    /// The elements on the host, and the end of the buffer: the vector of [`from_vec`](Buffer::from_vec) where it was made of
    /// one with `USE_HOST_PTR` and no array holds its memory, else a new one.
    ///
    /// Errors: `InvalidUse` where the flags forbid the host to read, or the buffer is mapped; `Driver`.
    pub fn into_vec(self) -> Result<Vec<T>> {
        const OP: &str = "Buffer::into_vec";
        self.for_reading(OP, By::Host)?;
        let Self { mut storage, len, flags, device, home, state } = self;
        let is_adopted = flags.contains(MemFlags::USE_HOST_PTR) && home.is_none() && len > 0;
        if is_adopted && Arc::get_mut(&mut storage).is_some() && block_of(&*storage)?.is_adopted() {
            let storage: Arc<dyn Any + Send + Sync> = storage;
            let block = storage.downcast::<Block>().ok().and_then(Arc::into_inner);
            let block = block.ok_or_else(|| Error::Internal("a buffer over what is no block".into()))?;
            let owned = device.runtime().queues().give_up(block.into_memory()?)?;
            return owned.into_vec().ok_or_else(|| Error::Internal("elements of another type".into()));
        }
        let mut elements = home.unwrap_or_else(|| vec![T::zero(); len]);
        Self { storage, len, flags, device, home: None, state }.copy_to_host(&mut elements)?;
        Ok(elements)
    }

    /// A buffer of the elements of an array, in row-major order: computed if need be, and shared without a copy where they lie
    /// in that order. Neither sees what becomes of the other.
    ///
    /// Errors: as [`Array::get`]; `HostData` for flags that contradict each other or speak of host memory.
    ///
    /// ```
    /// use lazuli::{Buffer, Device, MemFlags};
    ///
    /// let x = Device::host()?.from_slice(&[1, 2, 3])?;
    /// let mut buffer = Buffer::from_array(MemFlags::READ_WRITE, &(&x + 1))?;
    /// buffer.write_at(0, &[7])?;
    /// assert_eq!(buffer.to_vec()?, [7, 3, 4]);
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[track_caller]
    pub fn from_array(flags: MemFlags, array: &Array<T>) -> Result<Self> {
        flags.check("Buffer::from_array", Origin::Device)?;
        let (device, len) = (array.device(), array.len());
        array.check()?;
        if len == 0 {
            return Self::uninit(device, flags, 0);
        }
        let storage = array.dense_storage()?;
        // A buffer's elements are read without asking how they came about.
        check::resolve(device, &*storage)?;
        Ok(Self::over(device, flags, check::unchecked(storage), len))
    }

    fn over(device: &Device, flags: MemFlags, storage: Arc<dyn Storage>, len: usize) -> Self {
        Self { storage, len, flags, device: device.clone(), home: None, state: State::default() }
    }
}

impl Device {
    /// Memory for a buffer of these flags.
    pub(super) fn allocate_for(&self, flags: MemFlags, bytes: usize) -> Result<Arc<Block>> {
        if flags.contains(MemFlags::ALLOC_HOST_PTR)
            && let Some(memory) = self.runtime().queues().allocate_reachable(bytes.max(1))?
        {
            return Ok(self.adopt(memory));
        }
        self.allocate_tracked(bytes)
    }
}

/// The bytes of so many elements. Errors: `HostData` where they cannot be counted.
fn bytes_of<T: Element>(op: &'static str, len: usize) -> Result<usize> {
    let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| isize::try_from(*bytes).is_ok());
    bytes.ok_or_else(|| Error::HostData { op, what: format!("{len} elements of {} are too many", T::DTYPE) })
}

/// Copies host bytes to the start of new memory.
fn write_all(device: &Device, storage: &Arc<Block>, bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let _span = tracing::debug_span!("transfer", direction = "to_device", bytes = bytes.len()).entered();
    let memory = storage.memory()?;
    How::MAIN.submit(device, &[], &[&**storage], |_| device.runtime().upload(bytes, memory, 0))?;
    Ok(())
}
