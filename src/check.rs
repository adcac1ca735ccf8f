//! Indices that are values are checked where they are used. A kernel notes those that are out of range; every value made of
//! what it read there carries the note, unread, and whoever copies such a value to the host learns what it says. So an
//! evaluation never waits for the device, and a bad index is an error, not a wild read.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use smallvec::SmallVec;

use crate::device::Device;
use crate::error::{Error, Place, Result};
use crate::graph::canonical::Canonical;
use crate::graph::op::Gather;
use crate::graph::{Op, Storage};
use crate::plan::{Slot, Step};
use crate::runtime::pool::Block;

/// Unread checks that a value may carry. A loop that never asks for a value would pile them up without end, so that past
/// this many they are read, which waits for the device.
const MOST_UNREAD: usize = 32;

/// Bytes of notes for each site.
const SITE_BYTES: usize = 8;

/// What decides whether a value that a step writes is right, beside the step itself.
#[derive(Default)]
pub struct Origins {
    /// Buffers of the step that it is made of, by number.
    pub buffers: SmallVec<[u32; 4]>,
    /// Gathers of the step that it is made of, by site.
    pub sites: SmallVec<[u32; 2]>,
}

/// The notes of one launch: two words for each site.
struct Notes {
    sites: usize,
    /// Let go once it is read.
    memory: Mutex<Option<Arc<Block>>>,
    words: OnceLock<Vec<i32>>,
}

/// One gather of a launch, found right or wrong once its notes are read.
pub struct Check {
    notes: Arc<Notes>,
    site: usize,
    gather: Gather,
    at: Place,
}

/// The memory of a value that is right only if some checks are.
struct Checked {
    memory: Arc<dyn Storage>,
    checks: Vec<Arc<Check>>,
}

/// Memory for the notes of a step, cleared; none where it checks nothing.
pub fn notes_of(device: &Device, step: &Step) -> Result<Option<Arc<Block>>> {
    if step.sites.is_empty() {
        return Ok(None);
    }
    let bytes = step.sites.len() * SITE_BYTES;
    let block = device.allocate(bytes)?;
    device.runtime().clear(block.memory()?, bytes)?;
    Ok(Some(block))
}

/// Gives what a step has written the checks that it depends on: those of the launch, and the unread ones of what it read.
pub fn attach(
    device: &Device,
    step: &Step,
    graph: &Canonical,
    notes: Option<Arc<Block>>,
    values: &mut [Option<Arc<dyn Storage>>],
) -> Result<()> {
    let carried = |slot: &Slot, values: &[Option<Arc<dyn Storage>>]| match slot {
        Slot::Leaf(leaf) => checks_of(&*graph.leaves[*leaf as usize]).to_vec(),
        Slot::Value(value) => values[*value as usize].as_deref().map_or(Vec::new(), |value| checks_of(value).to_vec()),
        Slot::Notes => Vec::new(),
    };
    let notes = notes.map(|memory| {
        let (sites, memory) = (step.sites.len(), Mutex::new(Some(memory)));
        Arc::new(Notes { sites, memory, words: OnceLock::new() })
    });
    let own: Vec<Arc<Check>> = match &notes {
        Some(notes) => {
            step.sites.iter().enumerate().map(|(site, node)| check(graph, *node, notes, site)).collect::<Result<_>>()?
        }
        None => Vec::new(),
    };
    for (write, origins) in step.writes.iter().zip(&step.origins) {
        let mut checks: Vec<Arc<Check>> = Vec::new();
        let inherited = origins.buffers.iter().flat_map(|buffer| carried(&step.buffers[*buffer as usize], values));
        for check in inherited.chain(origins.sites.iter().map(|site| own[*site as usize].clone())) {
            if !check.is_right() && !checks.iter().any(|other| Arc::ptr_eq(other, &check)) {
                checks.push(check);
            }
        }
        if checks.len() > MOST_UNREAD {
            checks = unsettled(device, checks)?;
        }
        if let (false, Some(value)) = (checks.is_empty(), &mut values[*write as usize]) {
            *value = Arc::new(Checked { memory: value.clone(), checks });
        }
    }
    Ok(())
}

/// Reads the checks that a value carries. Errors: `IndexOutOfRange` for the first that is wrong; `Driver`.
pub fn resolve(device: &Device, storage: &dyn Storage) -> Result<()> {
    for check in checks_of(storage) {
        if let Some(error) = check.outcome(device)? {
            return Err(error);
        }
    }
    Ok(())
}

/// The memory behind a value, whether it carries checks or not.
pub fn memory_of(storage: &dyn Storage) -> &dyn Storage {
    storage.as_any().downcast_ref::<Checked>().map_or(storage, |checked| &*checked.memory)
}

/// The memory of a value whose checks were found right.
pub fn unchecked(storage: Arc<dyn Storage>) -> Arc<dyn Storage> {
    match storage.as_any().downcast_ref::<Checked>() {
        Some(checked) => unchecked(checked.memory.clone()),
        None => storage,
    }
}

fn checks_of(storage: &dyn Storage) -> &[Arc<Check>] {
    storage.as_any().downcast_ref::<Checked>().map_or(&[], |checked| &checked.checks)
}

/// The checks without those that are right; of wrong ones the first, which is the error from now on.
fn unsettled(device: &Device, checks: Vec<Arc<Check>>) -> Result<Vec<Arc<Check>>> {
    for check in checks {
        if check.outcome(device)?.is_some() {
            return Ok(vec![check]);
        }
    }
    Ok(Vec::new())
}

fn check(graph: &Canonical, node: u32, notes: &Arc<Notes>, site: usize) -> Result<Arc<Check>> {
    let node = &graph.nodes[node as usize];
    match node.op() {
        Op::Gather(gather) => {
            Ok(Arc::new(Check { notes: notes.clone(), site, gather: (**gather).clone(), at: node.at() }))
        }
        _ => Err(Error::Internal("a check of what is no gather".into())),
    }
}

impl Notes {
    /// The words, once the launch is done.
    fn read(&self, device: &Device) -> Result<&[i32]> {
        if self.words.get().is_none() {
            let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner).clone();
            // Where it is gone, another thread has just read it.
            if let Some(memory) = memory {
                let mut bytes = vec![0u8; self.sites * SITE_BYTES];
                device.runtime().download(memory.memory()?, 0, &mut bytes)?;
                let word = |bytes: &[u8]| i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                self.words.get_or_init(|| bytes.chunks_exact(4).map(word).collect());
                *self.memory.lock().unwrap_or_else(PoisonError::into_inner) = None;
            }
        }
        self.words.get().map(Vec::as_slice).ok_or_else(|| Error::Internal("notes that were let go unread".into()))
    }
}

impl Check {
    /// The error, if an index was out of range. Waits for the launch.
    fn outcome(&self, device: &Device) -> Result<Option<Error>> {
        Ok(self.judge(self.notes.read(device)?))
    }

    /// True where it is known to be right.
    fn is_right(&self) -> bool {
        self.notes.words.get().is_some_and(|words| self.judge(words).is_none())
    }

    fn judge(&self, words: &[i32]) -> Option<Error> {
        let index = match (words[2 * self.site], words[2 * self.site + 1]) {
            (0, 0) => return None,
            (0, below) => below,
            (past, _) => past,
        };
        let Gather { op, operand, operand_axis, indices, .. } = &self.gather;
        let axis = operand_axis.map(|axis| axis as usize);
        Some(Error::IndexOutOfRange {
            op,
            index: index.into(),
            axis,
            extent: axis.map_or_else(|| operand.iter().product(), |axis| operand[axis]),
            shape: operand.to_vec(),
            indices: indices.to_vec(),
            at: self.at,
        })
    }
}

impl Storage for Checked {
    fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} with {} checks", self.memory, self.checks.len())
    }
}
