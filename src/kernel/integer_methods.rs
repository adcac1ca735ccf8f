//! What integers can be asked for in kernels, beside operators.

use lazuli_codegen::simt::ir::Expr;
use lazuli_codegen::{BinaryOp, DType};

use super::builder::whole;
use super::control::{begin_if, begin_loop, leave_unless};
use super::number_methods::{multiplied_out, one, zero};
use super::operators::{add, binary, bit_and, cast, choose, convert, div, eq, gt, lt, mul, ne, rem, shl, shr, sub};
use super::scalar::{KernelInteger, KernelUnsigned, integer, width};
use super::value::{Assignable, Bind, Readable, Value, lit};

impl<T: KernelInteger> Value<T> {
    /// `+`, which wraps in kernels.
    #[must_use]
    pub fn wrapping_add(self, other: Value<T>) -> Value<T> {
        add(self, other)
    }

    /// `-`, which wraps in kernels.
    #[must_use]
    pub fn wrapping_sub(self, other: Value<T>) -> Value<T> {
        sub(self, other)
    }

    /// `*`, which wraps in kernels.
    #[must_use]
    pub fn wrapping_mul(self, other: Value<T>) -> Value<T> {
        mul(self, other)
    }

    /// `0 - x`, wrapping; of unsigned integers too.
    #[must_use]
    pub fn wrapping_neg(self) -> Value<T> {
        sub(zero(), self)
    }

    /// A shift by the count modulo the width, as Rust's; `<<` by the width or more leaves 0.
    #[must_use]
    pub fn wrapping_shl(self, count: Value<u32>) -> Value<T> {
        shl(self, bit_and(count, lit(width(T::DTYPE) - 1)))
    }

    /// A shift by the count modulo the width, as Rust's.
    #[must_use]
    pub fn wrapping_shr(self, count: Value<u32>) -> Value<T> {
        shr(self, bit_and(count, lit(width(T::DTYPE) - 1)))
    }

    /// The sum, or the bound that it passed.
    #[must_use]
    pub fn saturating_add(self, other: Value<T>) -> Value<T> {
        let (a, b) = (self.once(), other.once());
        let sum = add(a.clone(), b.clone()).once();
        if T::DTYPE.is_unsigned_integer() {
            return choose(lt(sum.clone(), a), greatest(), sum);
        }
        // It passed a bound where both operands differ from it in sign.
        let signs = and(xor(a.clone(), sum.clone()), xor(b, sum.clone()));
        choose(lt(signs, zero()), bound_beside(a), sum)
    }

    /// The difference, or the bound that it passed.
    #[must_use]
    pub fn saturating_sub(self, other: Value<T>) -> Value<T> {
        let (a, b) = (self.once(), other.once());
        let difference = sub(a.clone(), b.clone()).once();
        if T::DTYPE.is_unsigned_integer() {
            return choose(lt(a, b), zero(), difference);
        }
        let signs = and(xor(a.clone(), b), xor(a.clone(), difference.clone()));
        choose(lt(signs, zero()), bound_beside(a), difference)
    }

    /// A power, wrapping. A constant power is multiplied out, by squaring.
    #[must_use]
    pub fn pow(self, power: Value<u32>) -> Value<T> {
        if let Some(known) = power.constant().and_then(integer) {
            return multiplied_out(self, known as u32);
        }
        let (mut square, mut rest) = (self.bind("square"), power.bind("power"));
        let mut result = one::<T>().bind("result");
        let squaring = begin_loop();
        leave_unless(gt(rest.read(), lit(0)));
        let odd = begin_if(eq(bit_and(rest.read(), lit(1)), lit(1)));
        result.set(mul(result.read(), square.read()));
        odd.end(());
        square.set(mul(square.read(), square.read()));
        rest.set(shr(rest.read(), lit(1u32)));
        squaring.end();
        result.read()
    }

    /// How many bits are set.
    #[must_use]
    pub fn count_ones(self) -> Value<u32> {
        cast(count(self.low_bits()))
    }

    /// How many bits are not set.
    #[must_use]
    pub fn count_zeros(self) -> Value<u32> {
        sub(lit(width(T::DTYPE)), self.count_ones())
    }

    /// How many bits above the highest one set; the width for 0.
    #[must_use]
    pub fn leading_zeros(self) -> Value<u32> {
        let mut bits = self.low_bits();
        for distance in [1u32, 2, 4, 8, 16, 32] {
            bits = bits.once();
            bits = or(bits.clone(), shr(bits, lit(distance)));
        }
        sub(lit(width(T::DTYPE)), cast(count(bits)))
    }

    /// How many bits below the lowest one set; the width for 0.
    #[must_use]
    pub fn trailing_zeros(self) -> Value<u32> {
        let mut bits = self.low_bits();
        if width(T::DTYPE) < 64 {
            bits = or(bits, lit(1u64 << width(T::DTYPE)));
        }
        let bits = bits.once();
        // The bits below the lowest one that is set; all where none is.
        let below = sub(and(bits.clone(), sub(lit(0), bits)), lit(1));
        cast(count(below))
    }

    /// The bits moved up, those that leave coming in below.
    #[must_use]
    pub fn rotate_left(self, count: Value<u32>) -> Value<T> {
        self.rotated(count, false)
    }

    /// The bits moved down, those that leave coming in above.
    #[must_use]
    pub fn rotate_right(self, count: Value<u32>) -> Value<T> {
        self.rotated(count, true)
    }

    /// The bits in the low ones of an u64.
    fn low_bits(self) -> Value<u64> {
        let of = unsigned(T::DTYPE);
        let bits = convert(of, T::DTYPE, self.into_expr());
        Value::of(convert(DType::U64, of, bits))
    }

    fn rotated(self, count: Value<u32>, down: bool) -> Value<T> {
        let bits = width(T::DTYPE);
        let count = bit_and(count, lit(bits - 1)).once();
        // A shift by the whole width leaves nothing, so that 0 is no special case.
        let rest = sub(lit(bits), count.clone());
        let (up, down) = if down { (rest, count) } else { (count, rest) };
        let x = self.low_bits().once();
        let moved = or(shl(x.clone(), up), shr(x, down));
        Value::of(convert(T::DTYPE, DType::U64, moved.into_expr()))
    }
}

impl<T: KernelUnsigned> Value<T> {
    /// The quotient, rounded up; 0 by 0.
    #[must_use]
    pub fn div_ceil(self, divisor: Value<T>) -> Value<T> {
        let (x, divisor) = (self.once(), divisor.once());
        let quotient = div(x.clone(), divisor.clone()).once();
        choose(ne(rem(x, divisor), zero()), add(quotient.clone(), one()), quotient)
    }

    /// The least multiple of another number that is not below this; 0 of 0.
    #[must_use]
    pub fn next_multiple_of(self, divisor: Value<T>) -> Value<T> {
        let divisor = divisor.once();
        mul(self.div_ceil(divisor.clone()), divisor)
    }

    /// The magnitude of the difference.
    #[must_use]
    pub fn abs_diff(self, other: Value<T>) -> Value<T> {
        let (a, b) = (self.once(), other.once());
        choose(lt(a.clone(), b.clone()), sub(b.clone(), a.clone()), sub(a, b))
    }

    /// True where exactly one bit is set.
    #[must_use]
    pub fn is_power_of_two(self) -> Value<bool> {
        eq(self.count_ones(), lit(1))
    }
}

fn and<T: KernelInteger>(a: Value<T>, b: Value<T>) -> Value<T> {
    binary(BinaryOp::BitAnd, a, b)
}

fn or<T: KernelInteger>(a: Value<T>, b: Value<T>) -> Value<T> {
    binary(BinaryOp::BitOr, a, b)
}

fn xor<T: KernelInteger>(a: Value<T>, b: Value<T>) -> Value<T> {
    binary(BinaryOp::BitXor, a, b)
}

/// The greatest integer of a type.
fn greatest<T: KernelInteger>() -> Value<T> {
    let bits = width(T::DTYPE) - u32::from(T::DTYPE.is_signed_integer());
    Value::of(whole(T::DTYPE, (1i128 << bits) - 1))
}

/// The bound of a signed type on the side of zero that a number is on.
fn bound_beside<T: KernelInteger>(a: Value<T>) -> Value<T> {
    let least = Value::<T>::of(match greatest::<T>().into_expr() {
        Expr::Literal(greatest) => whole(T::DTYPE, -1 - integer(greatest).unwrap_or(0)),
        other => other,
    });
    choose(lt(a, zero()), least, greatest())
}

/// How many bits of an u64 are set.
fn count(bits: Value<u64>) -> Value<u64> {
    let bits = bits.once();
    let pairs = sub(bits.clone(), and(shr(bits, lit(1u32)), lit(0x5555_5555_5555_5555))).once();
    let nibble = || lit(0x3333_3333_3333_3333);
    let nibbles = add(and(pairs.clone(), nibble()), and(shr(pairs, lit(2u32)), nibble())).once();
    let bytes = and(add(nibbles.clone(), shr(nibbles, lit(4u32))), lit(0x0f0f_0f0f_0f0f_0f0f));
    shr(mul(bytes, lit(0x0101_0101_0101_0101)), lit(56u32))
}

/// The unsigned type of the same width.
fn unsigned(dtype: DType) -> DType {
    match dtype {
        DType::I8 => DType::U8,
        DType::I16 => DType::U16,
        DType::I32 => DType::U32,
        DType::I64 => DType::U64,
        other => other,
    }
}
