//! Reads and writes of elements, each index held against its extent.

use super::frame::{Bound, Fault, Frame, Kind};
use super::program::{Access, MaskId, Reg};
use super::words::{Word, by_width};

/// The elements that lanes reach.
pub(super) struct Reach<'f> {
    pub bound: Bound,
    /// The number of an element for each lane.
    pub numbers: &'f [u64],
    /// Which lanes reach theirs; none where all do.
    pub mask: Option<&'f [u8]>,
    /// Room for lanes between two elements of an array of the thread.
    pub capacity: usize,
}

impl<'a> Frame<'a> {
    pub(super) fn load(&mut self, to: Reg, access: &Access, mask: MaskId) {
        let target = self.register(to);
        let staging = self.staging.as_mut_ptr().cast::<u8>();
        let n = self.n;
        let reach = self.reach(access, mask);
        let place = if access.convert.is_some() { staging } else { target };
        // SAFETY: every lane that is on reaches an element of the memory, of so many bytes; the place has room for `n`.
        unsafe { by_width!(access.bytes, gather(&reach, place, n)) };
        if let Some(convert) = access.convert {
            // SAFETY: the staged elements are those of `n` lanes, apart from the register.
            unsafe { convert(target, staging, n) };
        }
    }

    pub(super) fn store(&mut self, from: Reg, access: &Access, mask: MaskId) {
        let mut source = self.register(from);
        let staging = self.staging.as_mut_ptr().cast::<u8>();
        let n = self.n;
        if let Some(convert) = access.convert {
            // SAFETY: a register of `n` lanes, and room for as many.
            unsafe { convert(staging, source, n) };
            source = staging;
        }
        let reach = self.reach(access, mask);
        // SAFETY: as for loads; the source holds `n` elements.
        unsafe { by_width!(access.bytes, scatter(&reach, source, n)) };
    }

    /// Finds the elements of an access, and notes an index out of range.
    pub(super) fn reach(&mut self, access: &Access, mask: MaskId) -> Reach<'_> {
        let bound = self.memories[access.memory.at()];
        let n = self.n;
        let length = [bound.length];
        let extents: &[u64] = if access.extents.is_empty() { &length } else { &access.extents };
        let on = &self.masks[mask.at()];
        let is_whole = on.count() == n;
        let is_within = access.index.iter().zip(extents).all(|(&index, &extent)| {
            let indices = self.lanes::<u64>(index);
            match is_whole {
                true => indices.iter().fold(true, |within, &index| within & (index < extent)),
                false => indices
                    .iter()
                    .zip(on.lanes())
                    .fold(true, |within, (&index, &on)| within & (index < extent || on == 0)),
            }
        });
        if !is_within {
            self.note_index(access, extents, mask);
        }
        let numbers: &[u64] = match access.index.as_slice() {
            [index] => self.lanes::<u64>(*index),
            axes => {
                let mut numbers = std::mem::take(&mut self.numbers);
                for (axis, (&index, &extent)) in axes.iter().zip(extents).enumerate() {
                    let indices = self.lanes::<u64>(index);
                    match axis {
                        0 => numbers[..n].copy_from_slice(indices),
                        // What wraps is of lanes that are off.
                        _ => numbers[..n].iter_mut().zip(indices).for_each(|(number, &index)| {
                            *number = number.wrapping_mul(extent).wrapping_add(index);
                        }),
                    }
                }
                self.numbers = numbers;
                &self.numbers[..n]
            }
        };
        let mask = match (is_within, is_whole) {
            (false, _) => Some(&self.within.lanes()[..n]),
            (true, false) => Some(&self.masks[mask.at()].lanes()[..n]),
            (true, true) => None,
        };
        Reach { bound, numbers, mask, capacity: self.capacity }
    }

    /// Notes the first index out of range, and leaves in `within` the lanes whose indices are in range.
    #[cold]
    fn note_index(&mut self, access: &Access, extents: &[u64], mask: MaskId) {
        let mut within = vec![1u8; self.n];
        let mut first = None;
        for (axis, (&index, &extent)) in access.index.iter().zip(extents).enumerate() {
            let on = self.masks[mask.at()].lanes();
            for (lane, (&index, within)) in self.lanes::<u64>(index).iter().zip(&mut within).enumerate() {
                if index < extent || on[lane] == 0 || *within == 0 {
                    continue;
                }
                *within = 0;
                if first.is_none_or(|(_, _, _, earliest)| lane < earliest) {
                    first = Some((axis as u64, index, extent, lane));
                }
            }
        }
        if let Some((axis, index, extent, lane)) = first {
            self.faults.note(Fault::Index([u64::from(access.site), axis, index, extent, self.group, lane as u64]));
        }
        let on = &self.masks[mask.at()];
        self.within.set_where(on, &within, true);
    }
}

/// # Safety
/// Every lane that is on reaches an element of type `T`; `to` has room for `n`.
unsafe fn gather<T: Word>(reach: &Reach, to: *mut u8, n: usize) {
    // SAFETY: the caller's promise; `T` has no invalid values, and registers and staging are always initialised.
    let to = unsafe { std::slice::from_raw_parts_mut(to.cast::<T>(), n) };
    let data = reach.bound.data.cast::<T>().cast_const();
    let read = |number: u64, lane: usize| {
        // SAFETY: the caller's promise: within the memory. What other threads may write is read by atomics.
        unsafe {
            match reach.bound.kind {
                Kind::Plain => data.add(number as usize).read(),
                Kind::Shared => T::load_shared(data.add(number as usize)),
                Kind::PerLane => data.add(number as usize * reach.capacity + lane).read(),
            }
        }
    };
    match (reach.mask, runs(reach.numbers)) {
        (None, Some(Run::Same(number))) if reach.bound.kind != Kind::PerLane => to.fill(read(number, 0)),
        (None, Some(Run::Next(number))) if reach.bound.kind == Kind::Plain => {
            // SAFETY: `n` elements from there on are within the memory, which is no register's.
            unsafe { std::ptr::copy_nonoverlapping(data.add(number as usize), to.as_mut_ptr(), n) }
        }
        (None, Some(Run::Same(number))) => {
            // SAFETY: the element of each lane, side by side.
            unsafe {
                let from = data.add(number as usize * reach.capacity);
                std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), n);
            }
        }
        (None, _) => {
            for (lane, (to, &number)) in to.iter_mut().zip(reach.numbers).enumerate() {
                *to = read(number, lane);
            }
        }
        (Some(mask), _) => {
            for (lane, ((to, &number), &on)) in to.iter_mut().zip(reach.numbers).zip(mask).enumerate() {
                *to = if on != 0 { read(number, lane) } else { T::default() };
            }
        }
    }
}

/// # Safety
/// Every lane that is on reaches an element of type `T`; `from` holds `n`.
unsafe fn scatter<T: Word>(reach: &Reach, from: *const u8, n: usize) {
    // SAFETY: the caller's promise.
    let from = unsafe { std::slice::from_raw_parts(from.cast::<T>(), n) };
    let data = reach.bound.data.cast::<T>();
    let write = |number: u64, lane: usize, value: T| {
        // SAFETY: as for reads.
        unsafe {
            match reach.bound.kind {
                Kind::Plain => data.add(number as usize).write(value),
                Kind::Shared => T::store_shared(data.add(number as usize), value),
                Kind::PerLane => data.add(number as usize * reach.capacity + lane).write(value),
            }
        }
    };
    match (reach.mask, runs(reach.numbers)) {
        (None, Some(Run::Next(number))) if reach.bound.kind == Kind::Plain => {
            // SAFETY: `n` elements from there on are within the memory, which is no register's.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), data.add(number as usize), n) }
        }
        (None, Some(Run::Same(number))) if reach.bound.kind == Kind::PerLane => {
            // SAFETY: the element of each lane, side by side.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), data.add(number as usize * reach.capacity), n) }
        }
        (None, _) => {
            for (lane, (&value, &number)) in from.iter().zip(reach.numbers).enumerate() {
                write(number, lane, value);
            }
        }
        (Some(mask), _) => {
            for (lane, ((&value, &number), &on)) in from.iter().zip(reach.numbers).zip(mask).enumerate() {
                if on != 0 {
                    write(number, lane, value);
                }
            }
        }
    }
}

/// Elements that lie in a simple order.
enum Run {
    /// One for all lanes.
    Same(u64),
    /// From one on, one after the other.
    Next(u64),
}

fn runs(numbers: &[u64]) -> Option<Run> {
    let (&first, &last) = (numbers.first()?, numbers.last()?);
    let in_order = |step: u64| {
        numbers.iter().zip(0u64..).fold(true, |all, (&number, lane)| all & (number == first.wrapping_add(lane * step)))
    };
    if first == last {
        in_order(0).then_some(Run::Same(first))
    } else if last.wrapping_sub(first) == numbers.len() as u64 - 1 {
        in_order(1).then_some(Run::Next(first))
    } else {
        None
    }
}
