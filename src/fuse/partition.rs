//! Partition of a flow into groups, one kernel each.
//!
//! Users are visited before what they use. A value joins the kernel of its users where they are one kernel that reads it at
//! one index map; what is cheap is computed again wherever it is read; anything else is stored and begins a kernel of its
//! own, or joins one with the same iteration space. A reduction whose result is stretched back over what it folded joins too,
//! with all that is made of it once a row: the group then goes over rows. So the work in the kernels stays within twice the
//! work recorded (but for rows too long to keep on the chip, which are computed again in each pass), and the kernels cannot
//! wait for each other in a circle.

use lazuli_codegen::Tree;
use petgraph::algo::has_path_connecting;
use petgraph::graph::{DiGraph, NodeIndex};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::flow::{Flow, FlowOp, Reduction, Split, ValueId};
use super::maps::{MapId, Maps};
use super::order::launch_order;
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

/// Why a kernel begins where it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The value was asked for.
    AskedFor,
    /// Fusion is off.
    FusionOff,
    /// It is read through more than one index map, and computing it for each would cost more than storing it.
    SeveralMaps,
    /// It is read in more places than it has elements.
    Broadcast,
    /// It is read at indices that are values themselves, and costs more than reading it.
    Gathered,
    /// It is a gather of which only a part is read, and all of its indices must be checked.
    PartOfGather,
    /// Several kernels read it.
    SeveralKernels,
    /// The reader would hold too many operations.
    Operations,
    /// The reader would have too many parameters.
    Parameters,
    /// It is a reduction that the kernel of its reader cannot hold: other threads share its fold, or it would stand in a loop.
    Reduction,
    /// A long reduction is split over groups; this is its first stage.
    Chunks,
    /// Its rows are longer than the device keeps on the chip, so that each pass over them reads them.
    LongRows,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Reason::AskedFor => "its value was asked for",
            Reason::FusionOff => "fusion is off",
            Reason::SeveralMaps => "its value is read through several index maps",
            Reason::Broadcast => "its value is broadcast into a larger space",
            Reason::Gathered => "its value is read at computed indices",
            Reason::PartOfGather => "only a part of the gather is read, and all of its indices are checked",
            Reason::SeveralKernels => "several kernels read its value",
            Reason::Operations => "the kernel that reads it holds as many operations as one may",
            Reason::Parameters => "the kernel that reads it has as many parameters as the device takes",
            Reason::Reduction => "the kernel that reads it needs the whole reduction first",
            Reason::Chunks => "a long reduction is split, and its chunks come first",
            Reason::LongRows => "the rows it folds are longer than the chip holds, and every pass over them reads them",
        })
    }
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

/// The elements of a group that reduces: rows of an array, folded along some axes.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Shape of the array.
    pub elements: Shape,
    /// The axes folded, slowest in memory first.
    pub axes: SmallVec<[u32; 4]>,
    /// How a row is folded.
    pub tree: Tree,
    /// How groups share a row.
    pub split: Split,
    /// True where the fastest axis in memory is a folded one.
    pub along_rows: bool,
    /// True where the group's space is all the elements: reductions are used in every element of their row. False where it
    /// is one point a row.
    pub spans_elements: bool,
    /// The map that reads every element.
    map: MapId,
}

impl Rows {
    /// True where a row is kept from its reductions to what is made of their results: by one group, which computes again
    /// what it cannot keep, or by groups that wait for each other.
    fn are_on_one_chip(&self) -> bool {
        matches!(self.split, Split::Whole | Split::Combined { is_kept: true, .. })
    }

    fn of(reduction: &Reduction, elements: &Shape, spans_elements: bool, map: MapId) -> Self {
        let Reduction { axes, tree, split, along_rows, .. } = reduction;
        let (elements, axes) = (elements.clone(), axes.clone());
        Self { elements, axes, tree: *tree, split: *split, along_rows: *along_rows, spans_elements, map }
    }
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

/// A group under construction.
struct Draft {
    space: Shape,
    sinks: Vec<ValueId>,
    members: Vec<ValueId>,
    shared: Option<Sharing>,
    rows: Option<Rows>,
    /// A reduction at the top level is computed inside, so that the rows are really folded.
    folds_rows: bool,
    /// A reduction in a plain loop stands at the top level.
    has_serial_reduction: bool,
    /// Bytes of local memory that the reductions of whole groups take.
    local_bytes: usize,
    reason: Reason,
    operations: usize,
    /// Values read but not (yet) computed inside, with the parameter bytes each is counted for.
    frontier: FxHashMap<ValueId, usize>,
    parameter_bytes: usize,
}

/// How the reductions at the top level of a group are shared: among its threads, and with other groups. All alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sharing {
    tree: Tree,
    split: Split,
    /// Chunks of one result.
    chunks: usize,
    /// Where groups combine without waiting for each other, reductions on the way to data: none needs another's result.
    depth: Option<u32>,
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
        let draft = &self.groups[group as usize];
        if let FlowOp::Reduce(reduction) = &value.op {
            let inside = spans_elements(draft) && once_a_row.is_none();
            let sharing = self.sharing(id);
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
        let at_top = reads.reductions == 0 && (once_a_row.is_some() || !spans_elements(draft));
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
            let sharing = self.sharing(id);
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

    /// The rows of the group, where the map reads this value once a row: it is the same for all elements of a row, and the
    /// rows are those whose reductions the group uses, this one's or those that the value is made of.
    fn row_of(&self, group: u32, map: MapId, id: ValueId) -> Option<Rows> {
        let draft = &self.groups[group as usize];
        let uniform = self.maps.uniform(map)?;
        let is_row = |axes: &[u32], elements: &Shape| {
            let mut axes: SmallVec<[u32; 4]> =
                axes.iter().copied().filter(|axis| elements[*axis as usize] != 1).collect();
            axes.sort_unstable();
            axes == uniform.free
        };
        let rows = match &draft.rows {
            Some(rows) => rows.clone(),
            None => {
                let reduction = self.reduction_below(id)?;
                let FlowOp::Reduce(found) = &self.flow.values[reduction as usize].op else { return None };
                let operand = self.flow.values[reduction as usize].inputs[0];
                Rows::of(found, &self.flow.values[operand as usize].shape, true, uniform.from)
            }
        };
        let is_start = self.maps.is_start(uniform.from);
        let fits = rows.spans_elements
            && rows.map == uniform.from
            && is_start
            && draft.space == rows.elements
            && (draft.rows.is_some() || (draft.shared.is_none() && !draft.has_serial_reduction))
            && rows.are_on_one_chip()
            && is_row(&rows.axes, &rows.elements)
            && self.folds_rows(id, &rows)
            && match self.is_root.contains(&id) {
                // It is stored on the way, so all of it must be read.
                true => uniform.is_whole && self.row_count(&rows) == self.flow.values[id as usize].len() as u128,
                false => self.row_count(&rows) <= self.flow.values[id as usize].len() as u128,
            };
        fits.then_some(rows)
    }

    /// True for anything but a reduction, and for one that folds exactly these rows.
    fn folds_rows(&self, id: ValueId, rows: &Rows) -> bool {
        let value = &self.flow.values[id as usize];
        match &value.op {
            FlowOp::Reduce(reduction) => {
                let operand = &self.flow.values[value.inputs[0] as usize];
                reduction.axes == rows.axes
                    && reduction.tree == rows.tree
                    && reduction.split == rows.split
                    && operand.shape == rows.elements
            }
            _ => true,
        }
    }

    fn row_count(&self, rows: &Rows) -> u128 {
        let folded: u128 = rows.axes.iter().map(|axis| rows.elements[*axis as usize] as u128).product();
        rows.elements.iter().map(|extent| *extent as u128).product::<u128>() / folded.max(1)
    }

    /// True where a value is made of reductions of rows that no launch keeps.
    fn is_of_long_rows(&self, id: ValueId) -> bool {
        let reduction = self.reduction_below(id).map(|found| &self.flow.values[found as usize].op);
        matches!(reduction, Some(FlowOp::Reduce(Reduction { split: Split::Combined { is_kept: false, .. }, .. })))
    }

    /// How groups share a value that is a reduction; `None` for other values, and for what one thread folds.
    fn sharing(&self, id: ValueId) -> Option<Sharing> {
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
        Some(Sharing { tree: *tree, split: *split, chunks, depth })
    }

    /// The first reduction that a value is made of, through operations on values of its own size.
    fn reduction_below(&self, id: ValueId) -> Option<ValueId> {
        let elements = self.flow.values[id as usize].len();
        let mut worklist = vec![id];
        let mut seen = 0;
        while let Some(id) = worklist.pop() {
            let value = &self.flow.values[id as usize];
            seen += 1;
            match &value.op {
                FlowOp::Reduce(reduction) if !matches!(reduction.split, Split::Chunks(_)) => return Some(id),
                FlowOp::Reduce(_) | FlowOp::Leaf(_) | FlowOp::Scalar(_) | FlowOp::Gather { .. } => {}
                _ if seen > self.limits.operations => return None,
                _ => worklist.extend(value.inputs.iter().filter(|input| {
                    let input = &self.flow.values[**input as usize];
                    input.len() == elements && input.reduce_depth > 0
                })),
            }
        }
        None
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
        let shared = self.sharing(id);
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
        let map = self.maps.identity(&value.shape);
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
        self.groups.push(Draft {
            space: space.clone(),
            sinks: Vec::new(),
            members: Vec::new(),
            shared: None,
            rows: None,
            folds_rows: false,
            has_serial_reduction: false,
            local_bytes: 0,
            reason,
            operations: 0,
            frontier: FxHashMap::default(),
            parameter_bytes: parameter_bytes(0),
        });
        self.graph.add_node(());
        self.merged_into.push(group);
        self.latest.insert(space.clone(), group);
        group
    }

    /// True where a group's schedule takes an output with such a reduction, or none.
    fn can_adopt(&self, group: u32, shared: Option<Sharing>, is_serial: bool) -> bool {
        let draft = &self.groups[group as usize];
        let spans_elements = spans_elements(draft);
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
            && rows_agree(first, second)
            && (spans_elements(first) && spans_elements(second)
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

fn spans_elements(draft: &Draft) -> bool {
    draft.rows.as_ref().is_some_and(|rows| rows.spans_elements)
}

/// Local memory that a reduction by whole groups takes at the most: an element for each thread of the group, and as much
/// again where groups combine.
fn local_bytes(reduction: &Reduction, element_bytes: usize) -> usize {
    const LARGEST_GROUP: u32 = 1024;
    let folds = if matches!(reduction.split, Split::Combined { .. }) { 2 } else { 1 };
    match reduction.tree.lanes {
        1 => 0,
        lanes if reduction.along_rows => lanes.max(256) as usize * element_bytes * folds,
        _ => LARGEST_GROUP as usize * element_bytes * folds,
    }
}

/// Parameter bytes of the scratch in which groups combine, over a space of this rank: two pointers, and strides.
fn scratch_parameter_bytes(reduction: &Reduction, rank: usize) -> usize {
    if matches!(reduction.split, Split::Combined { .. }) { 16 + 8 * (rank + 2) } else { 0 }
}

/// True where two groups over one space may be one: at most one goes over rows, or both over the same.
fn rows_agree(a: &Draft, b: &Draft) -> bool {
    match (&a.rows, &b.rows) {
        (Some(a), Some(b)) if a.spans_elements || b.spans_elements => {
            (a.spans_elements, &a.axes, a.tree, a.split) == (b.spans_elements, &b.axes, b.tree, b.split)
        }
        (Some(rows), None) if rows.spans_elements => !b.has_serial_reduction,
        (None, Some(rows)) if rows.spans_elements => !a.has_serial_reduction,
        _ => true,
    }
}

/// Parameter bytes that reading or writing an array of this rank may take: a pointer, and an offset and strides.
fn parameter_bytes(rank: usize) -> usize {
    8 + 8 * (rank + 1)
}
