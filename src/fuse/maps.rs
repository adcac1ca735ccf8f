//! Index maps: through which views and reductions a kernel's point reaches a value.
//!
//! A map is a path of steps from the kernel's iteration space; equal paths are one number, so that "read at the same
//! index" is a comparison of numbers.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::flow::{Flow, FlowOp, Reduction, Split, ValueId};
use crate::graph::op::{AxisMap, Region, View};
use crate::shape::Shape;

/// Number of a map.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct MapId(u32);

/// All maps met while partitioning one flow.
#[derive(Default)]
pub struct Maps {
    maps: Vec<Map>,
    /// By way and by the shape of the value read: one way may cover all of one value and a part of another.
    numbers: FxHashMap<(Option<MapId>, Step, Shape), MapId>,
}

/// What is known of a map.
#[derive(Clone, Debug)]
pub struct Map {
    /// Points at which it reads.
    pub points: u128,
    /// True where it reads each element of the value exactly once.
    pub is_bijective: bool,
    /// True where it reads each element of the value, once or more often.
    pub is_whole: bool,
    /// True where it goes through indices that are values.
    pub is_gathered: bool,
    /// Reductions it goes into.
    pub reductions: u32,
    /// Shape of the value it reads.
    shape: Shape,
    parent: Option<MapId>,
    step: Step,
}

/// A map that does not depend on some axes.
pub struct Uniform {
    /// The map it goes out from.
    pub from: MapId,
    /// The axes, of several indices each, that it does not depend on.
    pub free: SmallVec<[u32; 4]>,
    /// True where no axis of the value read is cut short.
    pub is_whole: bool,
}

/// One step from a value to an input of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Step {
    /// The whole of a shape: where a kernel starts.
    Start(Shape),
    /// Through a view.
    View(View),
    /// To the shape before a reshape.
    Reshape(Shape),
    /// Into the operand of a reduction: the axes folded, the operand's shape, the length of a chunk.
    Fold(SmallVec<[u32; 4]>, Shape, Option<i64>),
    /// Into the value written over a region.
    Region(Region),
    /// To the elements at indices that are this value, along an axis.
    Gather(ValueId, u32),
}

impl Maps {
    /// The identity over a shape.
    pub fn identity(&mut self, shape: &Shape) -> MapId {
        let points = elements(shape);
        let (step, shape) = (Step::Start(shape.clone()), shape.clone());
        let (is_bijective, is_whole, is_gathered) = (true, true, false);
        self.number(Map { points, is_bijective, is_whole, is_gathered, reductions: 0, shape, parent: None, step })
    }

    /// What is known of a map.
    pub fn get(&self, map: MapId) -> &Map {
        &self.maps[map.0 as usize]
    }

    /// The map by which `input` number `which` of `user` is read, where `user` is read by `map`.
    pub fn through(&mut self, map: MapId, flow: &Flow, user: ValueId, which: usize) -> MapId {
        let value = &flow.values[user as usize];
        let operand = &flow.values[value.inputs[which] as usize];
        let shape = operand.shape.clone();
        let outer = self.get(map);
        let mut map_on = Map { shape: shape.clone(), parent: Some(map), ..outer.clone() };
        let points = outer.points;
        match (&value.op, which) {
            (FlowOp::View(view), _) => self.through_view(map, view.clone(), shape),
            (FlowOp::Reshape, _) => {
                map_on.step = Step::Reshape(shape);
                self.number(map_on)
            }
            (FlowOp::Reduce(Reduction { axes, split, .. }), _) => {
                let chunk = match split {
                    Split::Chunks(length) => Some(*length),
                    Split::Whole | Split::Combined { .. } => None,
                };
                // Stretched over the folded axes and folded again: where the stretch came from. Axes of extent one are not
                // stretched; their reduction is a loop of its own, with an index of its own.
                if points > elements(&value.shape)
                    && let (Map { parent: Some(parent), step: Step::View(view), .. }, None) = (outer, chunk)
                    && self.get(*parent).shape == shape
                    && stretches(view, &shape, axes)
                {
                    return *parent;
                }
                map_on.points = match chunk {
                    // All the chunks together read each element once.
                    Some(_) => elements(&shape),
                    None => points * (elements(&shape) / elements(&value.shape).max(1)),
                };
                map_on.step = Step::Fold(axes.clone(), shape, chunk);
                map_on.is_bijective = false;
                map_on.reductions += 1;
                self.number(map_on)
            }
            (FlowOp::SliceAssign(region), 1) => {
                map_on.step = Step::Region(region.clone());
                map_on.is_bijective = false;
                self.number(map_on)
            }
            (FlowOp::Gather { axis, .. }, 0) => {
                map_on.step = Step::Gather(value.inputs[1], *axis);
                (map_on.is_bijective, map_on.is_whole, map_on.is_gathered) = (false, false, true);
                self.number(map_on)
            }
            // The indices stretch where their extent is one.
            (FlowOp::Gather { .. }, _) if shape != value.shape => {
                let stretched = |(axis, (&own, &extent)): (usize, (&usize, &usize))| match own == extent {
                    true => AxisMap::whole(axis as u32),
                    false => AxisMap::at(0),
                };
                let axes = shape.iter().zip(&value.shape).enumerate().map(stretched).collect();
                self.through_view(map, View { axes }, shape)
            }
            // Element for element.
            _ => map,
        }
    }

    /// Where a map reads the same for all indices of some axes of the map it goes out from.
    pub fn uniform(&self, map: MapId) -> Option<Uniform> {
        let Map { parent: Some(parent), step: Step::View(view), shape: read, .. } = self.get(map) else { return None };
        let shape = &self.get(*parent).shape;
        let used = |axis: u32| view.axes.iter().any(|map| map.axis == Some(axis) && map.step != 0);
        let free = (0..shape.len() as u32).filter(|axis| shape[*axis as usize] != 1 && !used(*axis)).collect();
        let is_whole = view.axes.iter().zip(read).all(|(map, extent)| is_whole_axis(map, *extent, shape));
        Some(Uniform { from: *parent, free, is_whole })
    }

    /// True for the identity over a kernel's iteration space.
    pub fn is_start(&self, map: MapId) -> bool {
        matches!(self.get(map).step, Step::Start(_))
    }

    /// Shape of the value that a map reads.
    pub fn shape(&self, map: MapId) -> &Shape {
        &self.get(map).shape
    }

    fn through_view(&mut self, map: MapId, view: View, shape: Shape) -> MapId {
        // Views compose, so that two ways to one index map are one map.
        let (parent, view) = match self.get(map) {
            Map { parent: Some(parent), step: Step::View(outer), .. } => (*parent, view.then(outer)),
            _ => (map, view),
        };
        let outer = self.get(parent);
        if view.is_identity(&shape, &outer.shape) {
            return parent;
        }
        // The result of a reduction, stretched back over what was folded: where the reduction is read.
        if let (Some(reader), Step::Fold(axes, folded, None)) = (outer.parent, &outer.step)
            && self.get(reader).shape == shape
            && stretches(&view, folded, axes)
        {
            return reader;
        }
        // Each element once: as many points as elements, and no axis of the operand is cut short.
        let reads_all = view.axes.iter().zip(&shape).all(|(map, extent)| is_whole_axis(map, *extent, &outer.shape));
        let is_bijective = outer.is_bijective && outer.points == elements(&shape) && reads_all;
        let is_whole = outer.is_whole && reads_all;
        let outer = outer.clone();
        self.number(Map { is_bijective, is_whole, shape, parent: Some(parent), step: Step::View(view), ..outer })
    }

    fn number(&mut self, map: Map) -> MapId {
        let next = MapId(self.maps.len() as u32);
        let number = *self.numbers.entry((map.parent, map.step.clone(), map.shape.clone())).or_insert(next);
        if number == next {
            self.maps.push(map);
        }
        number
    }
}

/// True where a view reads every index of an axis of this extent, where the view's result has this shape.
fn is_whole_axis(map: &AxisMap, extent: usize, result: &[usize]) -> bool {
    extent == 1 || (map.step.abs() == 1 && map.axis.is_some_and(|axis| result[axis as usize] == extent))
}

/// True where a view takes an array without the folded axes and stretches it over them.
fn stretches(view: &View, operand: &[usize], folded: &[u32]) -> bool {
    let kept = (0..operand.len() as u32).filter(|axis| !folded.contains(axis));
    view.axes.len() + folded.len() == operand.len()
        && view
            .axes
            .iter()
            .zip(kept)
            .all(|(map, axis)| *map == AxisMap::whole(axis) || (operand[axis as usize] == 1 && map.start == 0))
}

fn elements(shape: &[usize]) -> u128 {
    shape.iter().map(|extent| *extent as u128).product()
}
