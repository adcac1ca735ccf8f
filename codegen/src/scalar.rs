//! One value of any element type, as it travels from the graph to a kernel's argument list.

use crate::DType;

/// A value of some element type, held as its bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Scalar {
    dtype: DType,
    bits: u64,
}

impl Scalar {
    /// The value of `dtype` whose memory holds `bits`, little end first.
    pub const fn from_bits(dtype: DType, bits: u64) -> Self {
        Self { dtype, bits }
    }

    /// The element type.
    pub const fn dtype(self) -> DType {
        self.dtype
    }

    /// The bits as they lie in memory, in the low `dtype().size_bytes()` bytes.
    pub const fn bits(self) -> u64 {
        self.bits
    }

    /// The bytes a kernel takes for this argument: the element itself, but f16 and bf16 as the f32 of the same value,
    /// the type in which kernels compute them.
    pub fn argument_bytes(self) -> ([u8; 8], usize) {
        match self.dtype {
            DType::F16 => {
                let wide = half::f16::from_bits(self.bits as u16).to_f32();
                (u64::from(wide.to_bits()).to_le_bytes(), 4)
            }
            DType::BF16 => {
                let wide = half::bf16::from_bits(self.bits as u16).to_f32();
                (u64::from(wide.to_bits()).to_le_bytes(), 4)
            }
            other => (self.bits.to_le_bytes(), other.size_bytes()),
        }
    }
}
