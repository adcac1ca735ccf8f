//! The loops: one operation over whole vectors, compiled for each instruction set and picked at run time.
//!
//! An operation is a type without data whose `apply` is always inlined, so each loop is compiled and vectorised for itself.
//! Wider instruction sets change the speed alone: Rust never contracts or reorders float arithmetic, so the bits are the
//! same on every path.

use std::mem::MaybeUninit;

/// A loop over one operand: target, operand, elements.
pub type Fn1 = unsafe fn(*mut u8, *const u8, usize);
/// A loop over two operands.
pub type Fn2 = unsafe fn(*mut u8, *const u8, *const u8, usize);
/// A loop over three operands.
pub type Fn3 = unsafe fn(*mut u8, *const u8, *const u8, *const u8, usize);

/// An operation on one element.
pub trait Map1 {
    /// Operand as a register holds it.
    type A: Copy;
    /// Result as a register holds it.
    type R: Copy;
    /// True where `apply` is wrong for the operands that `is_hard` names.
    const PARTIAL: bool = false;
    /// The operation, without branches where that can be.
    fn apply(a: Self::A) -> Self::R;
    /// Operands that must take `apply_hard`; rare.
    #[inline(always)]
    fn is_hard(_: Self::A) -> bool {
        false
    }
    /// The operation for any operand, however slow.
    #[inline(always)]
    fn apply_hard(a: Self::A) -> Self::R {
        Self::apply(a)
    }
}

/// An operation on two elements.
pub trait Map2 {
    /// Both operands as registers hold them.
    type A: Copy;
    /// Result as a register holds it.
    type R: Copy;
    /// As in [`Map1`].
    const PARTIAL: bool = false;
    /// The operation.
    fn apply(a: Self::A, b: Self::A) -> Self::R;
    /// As in [`Map1`].
    #[inline(always)]
    fn is_hard(_: Self::A, _: Self::A) -> bool {
        false
    }
    /// As in [`Map1`].
    #[inline(always)]
    fn apply_hard(a: Self::A, b: Self::A) -> Self::R {
        Self::apply(a, b)
    }
}

/// An operation on three elements, the first of which may have its own type.
pub trait Map3 {
    /// First operand.
    type A: Copy;
    /// The other operands and the result.
    type R: Copy;
    /// The operation.
    fn apply(a: Self::A, b: Self::R, c: Self::R) -> Self::R;
}

/// # Safety
/// `data` points to `n` elements that may be written, aligned, and that nothing else refers to meanwhile.
#[inline(always)]
pub unsafe fn target<'a, T>(data: *mut u8, n: usize) -> &'a mut [MaybeUninit<T>] {
    // SAFETY: the caller's promise; uninitialised memory is a valid slice of MaybeUninit.
    unsafe { std::slice::from_raw_parts_mut(data.cast(), n) }
}

/// # Safety
/// `data` points to `n` initialised elements, aligned, that nobody writes meanwhile.
#[inline(always)]
pub unsafe fn source<'a, T>(data: *const u8, n: usize) -> &'a [T] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(data.cast(), n) }
}

#[inline(always)]
fn map1<F: Map1>(to: &mut [MaybeUninit<F::R>], a: &[F::A]) {
    for (to, &a) in to.iter_mut().zip(a) {
        to.write(F::apply(a));
    }
    if F::PARTIAL && a.iter().fold(false, |any, &a| any | F::is_hard(a)) {
        for (to, &a) in to.iter_mut().zip(a) {
            if F::is_hard(a) {
                to.write(F::apply_hard(a));
            }
        }
    }
}

#[inline(always)]
fn map2<F: Map2>(to: &mut [MaybeUninit<F::R>], a: &[F::A], b: &[F::A]) {
    for ((to, &a), &b) in to.iter_mut().zip(a).zip(b) {
        to.write(F::apply(a, b));
    }
    if F::PARTIAL && a.iter().zip(b).fold(false, |any, (&a, &b)| any | F::is_hard(a, b)) {
        for ((to, &a), &b) in to.iter_mut().zip(a).zip(b) {
            if F::is_hard(a, b) {
                to.write(F::apply_hard(a, b));
            }
        }
    }
}

#[inline(always)]
fn map3<F: Map3>(to: &mut [MaybeUninit<F::R>], a: &[F::A], b: &[F::R], c: &[F::R]) {
    for (((to, &a), &b), &c) in to.iter_mut().zip(a).zip(b).zip(c) {
        to.write(F::apply(a, b, c));
    }
}

/// Makes `has_wide_vectors` false, to compare the paths.
#[cfg(test)]
pub static PLAIN_ONLY: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// True where the wide path may be taken.
#[inline]
pub fn has_wide_vectors() -> bool {
    #[cfg(test)]
    if PLAIN_ONLY.load(std::sync::atomic::Ordering::Relaxed) {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("fma")
            && std::arch::is_x86_feature_detected!("f16c")
            && std::arch::is_x86_feature_detected!("bmi2")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Defines a function that picks one of two compilations of the same loop.
macro_rules! picked {
    ($(#[$doc:meta])* $pick:ident<$bound:ident>: $pointer:ty, ($($arg:ident: $type:ty),+) $body:block) => {
        $(#[$doc])*
        pub fn $pick<F: $bound>() -> $pointer {
            // SAFETY of calls: as the body says.
            unsafe fn plain<F: $bound>($($arg: $type),+) $body
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c,bmi2")]
            unsafe fn wide<F: $bound>($($arg: $type),+) $body
            #[cfg(target_arch = "x86_64")]
            if $crate::runtime::host::ops::apply::has_wide_vectors() {
                return wide::<F>;
            }
            plain::<F>
        }
    };
}
pub(super) use picked;

picked! {
    /// The loop of an operation on one operand.
    pick1<Map1>: Fn1, (to: *mut u8, a: *const u8, n: usize) {
        // SAFETY: whoever calls the loop gives n elements of each register, the target apart from the operands.
        unsafe { map1::<F>(target(to, n), source(a, n)) }
    }
}
picked! {
    /// The loop of an operation on two operands.
    pick2<Map2>: Fn2, (to: *mut u8, a: *const u8, b: *const u8, n: usize) {
        // SAFETY: as in `pick1`.
        unsafe { map2::<F>(target(to, n), source(a, n), source(b, n)) }
    }
}
picked! {
    /// The loop of an operation on three operands.
    pick3<Map3>: Fn3, (to: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize) {
        // SAFETY: as in `pick1`.
        unsafe { map3::<F>(target(to, n), source(a, n), source(b, n), source(c, n)) }
    }
}

/// Defines an operation on one element.
macro_rules! op1 {
    ($(#[$doc:meta])* $name:ident: $a:ty => $r:ty, |$x:ident| $body:expr) => {
        $(#[$doc])*
        pub struct $name;
        impl $crate::runtime::host::ops::apply::Map1 for $name {
            type A = $a;
            type R = $r;
            #[inline(always)]
            fn apply($x: $a) -> $r {
                $body
            }
        }
    };
    ($(#[$doc:meta])* $name:ident: $a:ty => $r:ty, |$x:ident| $body:expr, hard $is_hard:expr => $hard:expr) => {
        $(#[$doc])*
        pub struct $name;
        impl $crate::runtime::host::ops::apply::Map1 for $name {
            type A = $a;
            type R = $r;
            const PARTIAL: bool = true;
            #[inline(always)]
            fn apply($x: $a) -> $r {
                $body
            }
            #[inline(always)]
            fn is_hard($x: $a) -> bool {
                $is_hard
            }
            #[inline(never)]
            fn apply_hard($x: $a) -> $r {
                $hard
            }
        }
    };
}
pub(in crate::runtime::host) use op1;

/// Defines an operation on two elements.
macro_rules! op2 {
    ($(#[$doc:meta])* $name:ident: $a:ty => $r:ty, |$x:ident, $y:ident| $body:expr) => {
        $(#[$doc])*
        pub struct $name;
        impl $crate::runtime::host::ops::apply::Map2 for $name {
            type A = $a;
            type R = $r;
            #[inline(always)]
            fn apply($x: $a, $y: $a) -> $r {
                $body
            }
        }
    };
}
pub(super) use op2;
