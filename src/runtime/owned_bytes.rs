//! The elements of a `Vec`, as bytes that a device may use in place, and that become the same `Vec` again.

use std::any::Any;

use crate::dtype::Element;

/// Memory of the host that belongs to this value, and that the device of whoever holds it may read and write.
pub struct OwnedBytes {
    data: *mut u8,
    bytes: usize,
    /// The `Vec` whose memory it is.
    owner: Box<dyn Any + Send + Sync>,
}

// SAFETY: the memory belongs to this value. Who reads and who writes it at a time is ordered by the engine, as for the memory
// of any device; see `Runtime`.
unsafe impl Send for OwnedBytes {}
// SAFETY: as above.
unsafe impl Sync for OwnedBytes {}

impl OwnedBytes {
    /// Takes the elements.
    pub fn from_vec<T: Element>(mut elements: Vec<T>) -> Self {
        let (data, bytes) = (elements.as_mut_ptr().cast(), size_of_val(&elements[..]));
        Self { data, bytes, owner: Box::new(elements) }
    }

    /// The elements; none where they are of another type. The device has ended all use of them.
    pub fn into_vec<T: Element>(self) -> Option<Vec<T>> {
        let is_bool = T::DTYPE == crate::dtype::DType::Bool;
        if is_bool && self.owner.is::<Vec<T>>() {
            // SAFETY: the memory is ours and initialised, and nothing refers to it. Only 0 and 1 are values of bool in Rust,
            // whatever a kernel has stored.
            let bytes = unsafe { std::slice::from_raw_parts_mut(self.data, self.bytes) };
            bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        self.owner.downcast::<Vec<T>>().ok().map(|elements| *elements)
    }

    /// The first byte.
    pub fn data(&self) -> *mut u8 {
        self.data
    }

    /// The number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
