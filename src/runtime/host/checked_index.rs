//! Elements as indices: negative ones count from the end, and what is out of range is found.

use std::mem::MaybeUninit;

/// Fills `indices` with the elements as indices along an axis of `extent`, 0 for those out of range; false where there are
/// such. `unsigned`: a negative element stands for one past the largest i64.
pub fn check_all(elements: &[i64], extent: i64, unsigned: bool, indices: &mut [MaybeUninit<i64>]) -> bool {
    let from_end = if unsigned { 0 } else { extent };
    // The fold vectorises, a search with an early end does not.
    elements.iter().zip(indices).fold(true, |all, (&element, index)| {
        let at = element.wrapping_add(if element < 0 { from_end } else { 0 });
        let is_right = (at as u64) < extent as u64;
        index.write(if is_right { at } else { 0 });
        all & is_right
    })
}

/// The greatest element past the end and the least below the start, clamped to an i32; 0 where there is none.
pub fn wrong(elements: &[i64], extent: i64, unsigned: bool) -> (i32, i32) {
    const MOST: i64 = i32::MAX as i64;
    elements.iter().fold((0, 0), |(high, low), &element| match element {
        _ if element < 0 && unsigned => (i32::MAX, low),
        _ if element >= extent => (high.max(element.min(MOST) as i32), low),
        _ if element < -extent => (high, low.min(element.max(-MOST) as i32)),
        _ => (high, low),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indices(elements: &[i64], extent: i64, unsigned: bool) -> (bool, Vec<i64>) {
        let mut indices = vec![MaybeUninit::new(-7); elements.len()];
        let all = check_all(elements, extent, unsigned, &mut indices);
        // SAFETY: initialised above.
        (all, indices.into_iter().map(|index| unsafe { index.assume_init() }).collect())
    }

    #[test]
    fn negative_elements_count_from_the_end() {
        assert_eq!(indices(&[0, 9, -1, -10], 10, false), (true, vec![0, 9, 9, 0]));
        assert_eq!(wrong(&[0, 9, -1, -10], 10, false), (0, 0));
    }

    #[test]
    fn what_is_out_of_range_is_zero_and_told() {
        assert_eq!(indices(&[10, 3, -11, i64::MIN, i64::MAX], 10, false), (false, vec![0, 3, 0, 0, 0]));
        assert_eq!(wrong(&[10, 3, -11], 10, false), (10, -11));
        assert_eq!(wrong(&[i64::MIN, i64::MAX], 10, false), (i32::MAX, -i32::MAX));
    }

    #[test]
    fn unsigned_elements_past_i64_are_past_the_end() {
        assert_eq!(indices(&[-1, 2], 10, true), (false, vec![0, 2]));
        assert_eq!(wrong(&[-1, 2], 10, true), (i32::MAX, 0));
    }
}
