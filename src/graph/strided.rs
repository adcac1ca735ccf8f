//! Values that need no kernel: data on the device, seen through index maps that are strides.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Node, Op, Snapshot, Storage};

/// Where the elements of a node lie in storage: element `index` at `offset + sum(strides * index)`, counted in elements.
#[derive(Clone, Debug)]
pub struct Strided {
    /// The device memory.
    pub storage: Arc<dyn Storage>,
    /// Position of the first element.
    pub offset: i64,
    /// One for each axis of the node; 0 where an axis is stretched, negative where it is flipped.
    pub strides: SmallVec<[i64; 4]>,
}

/// The node's elements in storage, where it is evaluated or a view of something that is; `None` where a kernel must run.
pub fn resolve(node: &Arc<Node>) -> Option<Strided> {
    if !node.op().is_movement() && !node.is_evaluated() {
        return None; // The usual answer for what was just recorded.
    }
    let mut chain: SmallVec<[Arc<Node>; 4]> = SmallVec::new();
    let mut last = node.clone();
    loop {
        let (storage, input) = match last.op().is_movement() {
            // Known without a look at the inputs.
            false => (Some(last.storage()?), None),
            true => match last.snapshot() {
                Snapshot::Evaluated(storage) => (Some(storage), None),
                Snapshot::Pending(inputs) => (None, inputs.into_iter().next()),
            },
        };
        if let Some(storage) = storage {
            let strides = last.order().strides(last.shape());
            let mut strided = Strided { storage, offset: 0, strides };
            for result in chain.into_iter().rev() {
                strided = step(strided, &last, &result)?;
                last = result;
            }
            return Some(strided);
        }
        chain.push(std::mem::replace(&mut last, input?));
    }
}

/// The strides of `result`, a view or reshape of `operand`.
fn step(strided: Strided, operand: &Node, result: &Node) -> Option<Strided> {
    match result.op() {
        Op::View(view) => {
            let mut offset = strided.offset;
            let mut strides: SmallVec<[i64; 4]> = SmallVec::from_elem(0, result.shape().len());
            for (map, stride) in view.axes.iter().zip(&strided.strides) {
                offset += map.start * stride;
                if let Some(axis) = map.axis {
                    strides[axis as usize] += map.step * stride;
                }
            }
            Some(Strided { offset, strides, ..strided })
        }
        Op::Reshape => {
            let strides = reshape_strides(operand.shape(), &strided.strides, result.shape())?;
            Some(Strided { strides, ..strided })
        }
        _ => None,
    }
}

/// Strides of a reshape that moves nothing, or `None` where elements would have to move.
pub fn reshape_strides(from: &[usize], strides: &[i64], to: &[usize]) -> Option<SmallVec<[i64; 4]>> {
    // Runs of axes that lie evenly in memory, as (extent, stride of the last axis), outermost first.
    let mut runs: SmallVec<[(usize, i64); 4]> = SmallVec::new();
    for (&extent, &stride) in from.iter().zip(strides).filter(|(extent, _)| **extent != 1) {
        match runs.last_mut() {
            Some((run, last)) if *last == stride * extent as i64 => {
                *run *= extent;
                *last = stride;
            }
            _ => runs.push((extent, stride)),
        }
    }
    let mut result: SmallVec<[i64; 4]> = SmallVec::from_elem(0, to.len());
    if to.contains(&0) {
        return Some(result); // There is no element to find.
    }
    let mut runs = runs.into_iter().rev();
    let mut current = runs.next();
    for (axis, &extent) in to.iter().enumerate().rev() {
        if extent == 1 {
            continue;
        }
        let (left, stride) = current?;
        if left % extent != 0 {
            return None;
        }
        result[axis] = stride;
        current = if left == extent { runs.next() } else { Some((left / extent, stride * extent as i64)) };
    }
    current.is_none().then_some(result)
}

#[cfg(test)]
mod tests {
    use super::reshape_strides;

    #[test]
    fn reshapes_that_move_nothing_keep_strides() {
        assert_eq!(reshape_strides(&[6, 40], &[40, 1], &[240]).as_deref(), Some(&[1][..]));
        assert_eq!(reshape_strides(&[240], &[1], &[6, 40]).as_deref(), Some(&[40, 1][..]));
        assert_eq!(reshape_strides(&[4, 6], &[1, 4], &[24]), None, "a transpose moves elements");
        assert_eq!(reshape_strides(&[4, 6], &[1, 4], &[2, 2, 6]).as_deref(), Some(&[2, 1, 4][..]));
        assert_eq!(reshape_strides(&[8], &[-2], &[2, 4]).as_deref(), Some(&[-8, -2][..]));
        assert_eq!(reshape_strides(&[1, 5], &[9, 1], &[5, 1, 1]).as_deref(), Some(&[1, 0, 0][..]));
        assert_eq!(reshape_strides(&[0, 3], &[3, 1], &[3, 0, 7]).as_deref(), Some(&[0, 0, 0][..]));
        assert_eq!(reshape_strides(&[], &[], &[1, 1]).as_deref(), Some(&[0, 0][..]));
        assert_eq!(reshape_strides(&[2, 3], &[0, 0], &[6]).as_deref(), Some(&[0][..]), "stretched axes merge");
    }
}
