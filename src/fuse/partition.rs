//! Partition of a flow into groups, one kernel each.
//!
//! Users are visited before what they use. A value joins the kernel of its users where they are one kernel that reads it at
//! one index map; what is cheap is computed again wherever it is read; anything else is stored and begins a kernel of its
//! own, or joins one with the same iteration space. A reduction whose result is stretched back over what it folded joins too,
//! with all that is made of it once a row: the group then goes over rows. So the work in the kernels stays within twice the
//! work recorded (but for rows too long to keep on the chip, which are computed again in each pass), and the kernels cannot
//! wait for each other in a circle.

mod draft;
mod rows;

pub use rows::Rows;

use lazuli_codegen::Tree;
use petgraph::algo::has_path_connecting;
use petgraph::graph::{DiGraph, NodeIndex};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use draft::{Draft, Sharing, local_bytes, parameter_bytes, scratch_parameter_bytes};

use super::flow::{Flow, FlowOp, Reduction, Split, ValueId};
use super::maps::{MapId, Maps};
use super::order::launch_order;
use super::reason::Reason;
use crate::error::Result;
use crate::shape::Shape;

/// Groups past which outputs are no longer gathered into one kernel: the search for circles would cost more than a launch.
const MOST_GROUPS_SEARCHED: usize = 1 << 12;

/// What one kernel may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// False: every operation is stored; views and reshapes stay index arithmetic.
    pub fusion: bool,
    /// Operations.
    pub operations: usize,
    /// Bytes of parameters.
    pub parameter_bytes: usize,
    /// Bytes of local memory.
    pub local_bytes: usize,
}

/// One kernel to be.
pub struct Group {
    /// The iteration space: the shape of its outputs.
    pub space: Shape,
    /// Values it stores that have the shape of the space.
    pub sinks: Vec<ValueId>,
    /// Values it stores on the way to its sinks, which read them at one index map, each element once.
    pub members: Vec<ValueId>,
    /// The tree that its threads share, where it reduces with whole groups.
    pub tree: Option<Tree>,
    /// The rows it goes over, where it reduces rows and uses the results.
    pub rows: Option<Rows>,
    /// Why it begins.
    pub reason: Reason,
}

/// The flow, cut into kernels.
pub struct Partition {
    /// Groups, each after those whose values it reads.
    pub groups: Vec<Group>,
    /// The group that stores each value, by number in `groups`; `None` where it is not stored.
    pub stored_by: Vec<Option<u32>>,
}

/// Cuts a flow into groups.
pub fn partition(flow: &Flow, limits: Limits) -> Result<Partition> {
    let mut partitioner = Partitioner {
        flow,
        limits,
        maps: Maps::default(),
        groups: Vec::new(),
        graph: DiGraph::new(),
        merged_into: Vec::new(),
        uses: vec![SmallVec::new(); flow.values.len()],
        stored_by: vec![None; flow.values.len()],
        latest: FxHashMap::default(),
        is_root: flow.roots.iter().copied().collect(),
    };
    for value in (0..flow.values.len() as ValueId).rev() {
        partitioner.place(value);
    }
    partitioner.finish()
}

/// A value is read by a group at a map.
type Use = (u32, MapId);

struct Partitioner<'a> {
    flow: &'a Flow,
    limits: Limits,
    maps: Maps,
    groups: Vec<Draft>,
    /// Reader to read, by group.
    graph: DiGraph<(), ()>,
    merged_into: Vec<u32>,
    uses: Vec<SmallVec<[Use; 2]>>,
    stored_by: Vec<Option<u32>>,
    /// The group that was begun last over each iteration space.
    latest: FxHashMap<Shape, u32>,
    is_root: FxHashSet<ValueId>,
}

impl Partitioner<'_> {
    /// Decides where one value is computed. All its users are placed.
    fn place(&mut self, id: ValueId) {
        let value = &self.flow.values[id as usize];
        let is_root = self.is_root.contains(&id);
        let uses = self.settled_uses(id);
        if uses.is_empty() && !is_root {
            return;
        }
        if value.op.is_given() && !is_root {
            return;
        }
        let reason = match self.refusal(id, &uses, is_root) {
            None => return,
            Some(reason) if is_root && uses.is_empty() => reason,
            Some(reason) => {
                // Views and reshapes are index arithmetic in whoever reads them, fused or not.
                let repeatable = value.op.is_movement() || (value.cost.is_repeatable() && self.limits.fusion);
                if repeatable && !is_root && self.repeat(id, &uses) {
                    return;
                }
                reason
            }
        };
        self.store(id, &uses, if is_root { Reason::AskedFor } else { reason });
    }

    /// Joins the value to its users' kernel, or says why not.
    fn refusal(&mut self, id: ValueId, uses: &[Use], is_root: bool) -> Option<Reason> {
        let value = &self.flow.values[id as usize];
        if !self.limits.fusion {
            return Some(Reason::FusionOff);
        }
        if value.op.is_movement() && !is_root {
            return Some(Reason::Operations);
        }
        if matches!(&value.op, FlowOp::Reduce(reduction) if matches!(reduction.split, Split::Chunks(_))) {
            return Some(Reason::Chunks);
        }
        let Some(&(group, map)) = uses.first() else {
            return Some(Reason::AskedFor);
        };
        if value.op.is_given() {
            return Some(Reason::AskedFor);
        }
        if uses.iter().any(|(_, other)| *other != map) {
            return Some(Reason::SeveralMaps);
        }
        if self.maps.get(map).is_gathered {
            return Some(Reason::Gathered);
        }
        // A bad index is an error also where its element is not asked for, whatever is fused.
        if matches!(value.op, FlowOp::Gather { .. }) && !self.maps.get(map).is_whole {
            return Some(Reason::PartOfGather);
        }
        let mut group = group;
        for &(other, _) in &uses[1..] {
            group = match self.merge(group, other) {
                Some(merged) => merged,
                None => return Some(Reason::SeveralKernels),
            };
        }
        let reads = self.maps.get(map).clone();
        let once_a_row = if reads.points > value.len() as u128 { self.row_of(group, map, id) } else { None };
        if reads.points > value.len() as u128 && once_a_row.is_none() {
            return Some(if self.is_of_long_rows(id) { Reason::LongRows } else { Reason::Broadcast });
        }
        if is_root && !reads.is_bijective && once_a_row.is_none() {
            return Some(Reason::AskedFor);
        }
        let sharing = self.sharing(id, map);
        let draft = &self.groups[group as usize];
        if let FlowOp::Reduce(reduction) = &value.op {
            let inside = draft.spans_elements() && once_a_row.is_none();
            let fits = match (sharing, reads.reductions + u32::from(inside)) {
                (None, 0) => draft.shared.is_none(),
                (None, depth) => depth <= 2,
                (Some(sharing), 0) => draft.shared.is_none_or(|own| own == sharing) && !draft.has_serial_reduction,
                (Some(_), _) => false,
            };
            let local = draft.local_bytes + local_bytes(reduction, value.dtype.size_bytes());
            if !fits || local > self.limits.local_bytes {
                let is_deeper = draft.shared.zip(sharing).is_some_and(|(own, other)| own.depth != other.depth);
                return Some(if is_deeper { Reason::LongRows } else { Reason::Reduction });
            }
        }
        if draft.operations >= self.limits.operations {
            return Some(Reason::Operations);
        }
        if self.parameters_after(group, id) > self.limits.parameter_bytes {
            return Some(Reason::Parameters);
        }
        let at_top = reads.reductions == 0 && (once_a_row.is_some() || !draft.spans_elements());
        if let Some(rows) = once_a_row {
            self.groups[group as usize].rows = Some(rows);
        }
        self.join(id, group, map, at_top);
        if is_root {
            let draft = &mut self.groups[group as usize];
            draft.members.push(id);
            draft.parameter_bytes += parameter_bytes(value.shape.len());
            self.stored_by[id as usize] = Some(group);
        }
        None
    }

    /// Computes the value inside a group; `at_top` where a reduction would be in no other loop.
    fn join(&mut self, id: ValueId, group: u32, map: MapId, at_top: bool) {
        if let FlowOp::Reduce(reduction) = &self.flow.values[id as usize].op
            && at_top
        {
            let inner = self.maps.through(map, self.flow, id, 0);
            let sharing = self.sharing(id, map);
            let draft = &mut self.groups[group as usize];
            match sharing {
                None => draft.has_serial_reduction = true,
                shared => draft.shared = shared,
            }
            draft.parameter_bytes += scratch_parameter_bytes(reduction, draft.space.len());
            draft.local_bytes += local_bytes(reduction, self.flow.values[id as usize].dtype.size_bytes());
            draft.folds_rows = true;
            draft.rows.get_or_insert_with(|| Rows::of(reduction, self.maps.shape(inner), false, inner));
        }
        let draft = &mut self.groups[group as usize];
        draft.operations += 1;
        self.replace_in_frontier(group, id);
        self.use_inputs(id, group, map);
    }

    /// How groups share a value that is a reduction, read at a map; `None` for other values, and for what one thread folds.
    fn sharing(&mut self, id: ValueId, map: MapId) -> Option<Sharing> {
        let value = &self.flow.values[id as usize];
        let FlowOp::Reduce(Reduction { tree, split, axes, .. }) = &value.op else { return None };
        if *tree == Tree::SERIAL {
            return None;
        }
        let operand = &self.flow.values[value.inputs[0] as usize];
        let folded: usize = axes.iter().map(|axis| operand.shape[*axis as usize]).product();
        let (chunks, depth) = match split {
            Split::Combined { length, is_kept, .. } => {
                (folded.div_ceil(*length as usize), (!is_kept).then_some(value.reduce_depth))
            }
            Split::Whole | Split::Chunks(_) => (1, None),
        };
        let inner = depth.is_some().then(|| self.maps.through(map, self.flow, id, 0));
        Some(Sharing { tree: *tree, split: *split, chunks, depth, inner })
    }

    /// A cheap value is computed in every reader, at every map. False where one of them has no room.
    fn repeat(&mut self, id: ValueId, uses: &[Use]) -> bool {
        let fits = |&(group, _): &Use| {
            let draft = &self.groups[group as usize];
            draft.operations + uses.len() <= self.limits.operations
                && self.parameters_after(group, id) <= self.limits.parameter_bytes
        };
        if !uses.iter().all(fits) {
            return false;
        }
        for &(group, map) in uses {
            self.groups[group as usize].operations += 1;
            self.replace_in_frontier(group, id);
            self.use_inputs(id, group, map);
        }
        true
    }

    /// Stores the value: in a group over the same space, or in one of its own.
    fn store(&mut self, id: ValueId, uses: &[Use], reason: Reason) {
        let value = &self.flow.values[id as usize];
        let map = self.maps.identity(&value.shape);
        let shared = self.sharing(id, map);
        let is_serial = shared.is_none() && matches!(value.op, FlowOp::Reduce(_));
        let (local, scratch) = match &value.op {
            FlowOp::Reduce(reduction) => {
                let scratch = scratch_parameter_bytes(reduction, value.shape.len());
                (local_bytes(reduction, value.dtype.size_bytes()), scratch)
            }
            _ => (0, 0),
        };
        let sibling = self.latest.get(&value.shape).map(|group| self.settled(*group)).filter(|&group| {
            self.limits.fusion
                && self.can_adopt(group, shared, is_serial)
                && self.groups[group as usize].local_bytes + local <= self.limits.local_bytes
                && self.groups[group as usize].operations < self.limits.operations
                && self.parameters_of_new(group, id) + scratch <= self.limits.parameter_bytes
                && !uses.iter().any(|(reader, _)| *reader == group || self.depends(group, *reader))
        });
        let group = sibling.unwrap_or_else(|| self.begin(&value.shape, reason));
        let rows = match &value.op {
            FlowOp::Reduce(reduction) => {
                let inner = self.maps.through(map, self.flow, id, 0);
                Some(Rows::of(reduction, self.maps.shape(inner), false, inner))
            }
            _ => None,
        };
        let draft = &mut self.groups[group as usize];
        draft.sinks.push(id);
        draft.shared = draft.shared.or(shared);
        draft.local_bytes += local;
        draft.folds_rows |= rows.is_some();
        if draft.rows.is_none() {
            draft.rows = rows;
        }
        draft.has_serial_reduction |= is_serial;
        draft.operations += usize::from(!value.op.is_movement() && !value.op.is_given());
        draft.parameter_bytes += parameter_bytes(value.shape.len()) + scratch;
        self.stored_by[id as usize] = Some(group);
        for &(reader, _) in uses {
            // Merged into another where joining them was tried first.
            let reader = self.settled(reader);
            self.graph.update_edge(NodeIndex::new(reader as usize), NodeIndex::new(group as usize), ());
        }
        match value.op.is_given() {
            // A scalar or a leaf that was asked for is copied by a kernel that computes nothing.
            true => self.read(group, id),
            false => self.use_inputs(id, group, map),
        }
    }

    fn begin(&mut self, space: &Shape, reason: Reason) -> u32 {
        let group = self.groups.len() as u32;
        self.groups.push(Draft::new(space.clone(), reason));
        self.graph.add_node(());
        self.merged_into.push(group);
        self.latest.insert(space.clone(), group);
        group
    }

    /// True where a group's schedule takes an output with such a reduction, or none.
    fn can_adopt(&self, group: u32, shared: Option<Sharing>, is_serial: bool) -> bool {
        let draft = &self.groups[group as usize];
        let spans_elements = draft.spans_elements();
        match (draft.shared, shared) {
            // A loop in the thread would stand inside a loop over a row.
            (None, None) => !(spans_elements && is_serial),
            (Some(own), Some(other)) => own == other && !is_serial && !spans_elements,
            // Element by element, in the last loop over the rows.
            (Some(_), None) if spans_elements => !is_serial,
            // Values beside a whole-group reduction would be stored by one thread of each group.
            _ => false,
        }
    }

    /// One group of two, where they have one iteration space and neither waits for the other.
    fn merge(&mut self, a: u32, b: u32) -> Option<u32> {
        let (a, b) = (self.settled(a), self.settled(b));
        if a == b {
            return Some(a);
        }
        let (first, second) = (&self.groups[a as usize], &self.groups[b as usize]);
        let fits = first.space == second.space
            && first.rows_agree(second)
            && (first.spans_elements() && second.spans_elements()
                || self.can_adopt(a, second.shared, second.has_serial_reduction)
                || self.can_adopt(b, first.shared, first.has_serial_reduction))
            && first.local_bytes + second.local_bytes <= self.limits.local_bytes
            && first.operations + second.operations <= self.limits.operations
            && first.parameter_bytes + second.parameter_bytes <= self.limits.parameter_bytes
            && !self.depends(a, b)
            && !self.depends(b, a);
        if !fits {
            return None;
        }
        let (index_a, index_b) = (NodeIndex::new(a as usize), NodeIndex::new(b as usize));
        for direction in [petgraph::Outgoing, petgraph::Incoming] {
            let neighbors: Vec<NodeIndex> = self.graph.neighbors_directed(index_b, direction).collect();
            for other in neighbors {
                match direction {
                    petgraph::Outgoing => self.graph.update_edge(index_a, other, ()),
                    petgraph::Incoming => self.graph.update_edge(other, index_a, ()),
                };
            }
        }
        while let Some(edge) = self.graph.first_edge(index_b, petgraph::Outgoing) {
            self.graph.remove_edge(edge);
        }
        while let Some(edge) = self.graph.first_edge(index_b, petgraph::Incoming) {
            self.graph.remove_edge(edge);
        }
        self.merged_into[b as usize] = a;
        let taken = &mut self.groups[b as usize];
        let (sinks, members) = (std::mem::take(&mut taken.sinks), std::mem::take(&mut taken.members));
        let frontier = std::mem::take(&mut taken.frontier);
        let (operations, is_serial, rows) = (taken.operations, taken.has_serial_reduction, taken.rows.take());
        let (shared, folds_rows, local_bytes) = (taken.shared, taken.folds_rows, taken.local_bytes);
        let draft = &mut self.groups[a as usize];
        draft.shared = draft.shared.or(shared);
        draft.folds_rows |= folds_rows;
        draft.local_bytes += local_bytes;
        if draft.rows.is_none() {
            draft.rows = rows;
        }
        for output in sinks.iter().chain(&members) {
            self.stored_by[*output as usize] = Some(a);
            draft.parameter_bytes += parameter_bytes(self.flow.values[*output as usize].shape.len());
        }
        draft.sinks.extend(sinks);
        draft.members.extend(members);
        draft.operations += operations;
        draft.has_serial_reduction |= is_serial;
        for (read, bytes) in frontier {
            if draft.frontier.insert(read, bytes).is_none() {
                draft.parameter_bytes += bytes;
            }
        }
        Some(a)
    }

    /// True where group `a` waits, perhaps through others, for group `b`.
    fn depends(&self, a: u32, b: u32) -> bool {
        self.groups.len() > MOST_GROUPS_SEARCHED
            || has_path_connecting(&self.graph, NodeIndex::new(a as usize), NodeIndex::new(b as usize), None)
    }

    /// The group a merged group has become.
    fn settled(&self, mut group: u32) -> u32 {
        while self.merged_into[group as usize] != group {
            group = self.merged_into[group as usize];
        }
        group
    }

    /// The uses of a value, with merged groups resolved and doubles dropped.
    fn settled_uses(&mut self, id: ValueId) -> SmallVec<[Use; 2]> {
        let mut uses: SmallVec<[Use; 2]> = SmallVec::new();
        for (group, map) in std::mem::take(&mut self.uses[id as usize]) {
            let settled = (self.settled(group), map);
            if !uses.contains(&settled) {
                uses.push(settled);
            }
        }
        uses
    }

    /// Notes that a group reads the inputs of a value that it computes at a map.
    fn use_inputs(&mut self, id: ValueId, group: u32, map: MapId) {
        for which in 0..self.flow.values[id as usize].inputs.len() {
            let input = self.flow.values[id as usize].inputs[which];
            let reads = self.maps.through(map, self.flow, id, which);
            self.read(group, input);
            if !self.uses[input as usize].contains(&(group, reads)) {
                self.uses[input as usize].push((group, reads));
            }
        }
    }

    fn read(&mut self, group: u32, input: ValueId) {
        let value = &self.flow.values[input as usize];
        let bytes = match value.op {
            FlowOp::Scalar(_) => 8,
            _ => parameter_bytes(value.shape.len()),
        };
        let draft = &mut self.groups[group as usize];
        if draft.frontier.insert(input, bytes).is_none() {
            draft.parameter_bytes += bytes;
        }
    }

    fn replace_in_frontier(&mut self, group: u32, id: ValueId) {
        let draft = &mut self.groups[group as usize];
        if let Some(bytes) = draft.frontier.remove(&id) {
            draft.parameter_bytes -= bytes;
        }
    }

    /// Parameter bytes of a group if it computed `id` instead of reading it.
    fn parameters_after(&self, group: u32, id: ValueId) -> usize {
        let own = self.groups[group as usize].frontier.get(&id).copied().unwrap_or(0);
        self.parameters_of_new(group, id) - own
    }

    /// Parameter bytes of a group if it also read the inputs of `id`.
    fn parameters_of_new(&self, group: u32, id: ValueId) -> usize {
        let draft = &self.groups[group as usize];
        let mut inputs: SmallVec<[ValueId; 3]> = self.flow.values[id as usize].inputs.clone();
        inputs.sort_unstable();
        inputs.dedup();
        let added = inputs.iter().filter(|input| !draft.frontier.contains_key(input));
        let rank = |input: &ValueId| self.flow.values[*input as usize].shape.len();
        draft.parameter_bytes + added.map(|input| parameter_bytes(rank(input))).sum::<usize>()
    }

    /// Numbers the groups so that each comes after those it reads.
    fn finish(self) -> Result<Partition> {
        let order = launch_order(&self.graph)?;
        let mut groups: Vec<Option<Draft>> = self.groups.into_iter().map(Some).collect();
        let mut number = vec![0u32; groups.len()];
        let mut sorted = Vec::with_capacity(groups.len());
        for index in order {
            let Some(draft) = groups[index.index()].take() else { continue };
            if draft.sinks.is_empty() {
                continue;
            }
            number[index.index()] = sorted.len() as u32;
            let Draft { space, mut sinks, mut members, shared, rows, folds_rows, reason, .. } = draft;
            let tree = shared.map(|shared| shared.tree);
            // Rows that were looked forward to, of a reduction that in the end is stored: nothing is folded here.
            let rows = rows.filter(|_| folds_rows);
            sinks.sort_unstable();
            members.sort_unstable();
            sorted.push(Group { space, sinks, members, tree, rows, reason });
        }
        let stored_by = self.stored_by.iter().map(|group| group.map(|group| number[group as usize])).collect();
        Ok(Partition { groups: sorted, stored_by })
    }
}
