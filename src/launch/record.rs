//! A launch as an operation of the lazy graph.

use std::fmt;
use std::sync::Arc;

use lazuli_codegen::{DType, Scalar};

use super::arg::{ArgKind, Rebind, SliceOf};
use super::submit::{Place, Size};
use super::value::refused;
use super::{Arg, KernelSource, Launch};
use crate::buffer::MemFlags;
use crate::device::Device;
use crate::error::{self, Error, Result};
use crate::graph::op::{AxisMap, Call, View};
use crate::graph::{Node, Storage, record};
use crate::shape::{Order, Shape, element_count};

/// A launch that is recorded.
struct Recorded {
    device: Device,
    kernel: KernelSource,
    /// The kernel's name, for as long as the graph lives.
    name: String,
    arguments: Vec<RecordedArg>,
    /// Bytes, elements and type of each output.
    outputs: Vec<(usize, usize, DType)>,
    size: Size,
    local_bytes: usize,
}

/// An argument of a launch that is recorded. Inputs and outputs by number.
enum RecordedArg {
    Input { input: usize, len: usize, dtype: DType },
    Output { output: usize, start: Option<usize> },
    Scalar(Scalar),
    Bytes(Vec<u8>),
    Local(usize),
}

impl Launch<'_> {
    pub(super) fn record_at(self, size: Size, at: error::Place) -> Result<()> {
        let (name, device) = (self.name(), self.device()?);
        let mut inputs: Vec<Arc<Node>> = Vec::new();
        let mut targets: Vec<&mut dyn Rebind> = Vec::new();
        let (mut written, mut outputs) = (Vec::new(), Vec::new());
        let mut arguments = Vec::new();
        for (number, argument) in self.arguments.into_iter().enumerate() {
            let on = match &argument.0 {
                ArgKind::Slice(slice) => Some(&slice.device),
                ArgKind::Read(array) => Some(array.device()),
                ArgKind::Array(array) => Some(array.device()),
                ArgKind::Scalar(_) | ArgKind::Bytes(_) | ArgKind::Local(_) | ArgKind::Failed(_) => None,
            };
            if let Some(other) = on.filter(|other| **other != device) {
                let what = format!("argument {number} is on {other}, and the kernel runs on {device}");
                return Err(refused(&name, what));
            }
            let mut input = |node: Arc<Node>| {
                inputs.push(node);
                inputs.len() - 1
            };
            arguments.push(match argument.0 {
                ArgKind::Failed(error) => return Err(error),
                ArgKind::Slice(slice) if slice.is_mut || slice.flags.contains(MemFlags::WRITE_ONLY) => {
                    let what = format!(
                        "argument {number} is a buffer that a recorded launch would write, at a time that nobody knows; give \
                         an Output or an &mut Array"
                    );
                    return Err(refused(&name, what));
                }
                ArgKind::Slice(slice) => {
                    let (len, dtype) = (slice.len, slice.dtype);
                    RecordedArg::Input { input: input(leaf(&slice, at)), len, dtype }
                }
                ArgKind::Read(array) => {
                    let node = array.node();
                    RecordedArg::Input { input: input(node.clone()), len: node.len(), dtype: node.dtype() }
                }
                ArgKind::Array(array) => {
                    let target = array.target();
                    let bytes = element_count(&target.shape).and_then(|len| len.checked_mul(target.dtype.size_bytes()));
                    let Some(bytes) = bytes else {
                        let what = format!("argument {number} of shape {:?} can not be addressed", target.shape);
                        return Err(refused(&name, what));
                    };
                    written.push((bytes, target.shape.iter().product(), target.dtype));
                    outputs.push((target.shape, target.dtype));
                    targets.push(array);
                    RecordedArg::Output { output: outputs.len() - 1, start: target.start.map(input) }
                }
                ArgKind::Scalar(scalar) => RecordedArg::Scalar(scalar),
                ArgKind::Bytes(bytes) => RecordedArg::Bytes(bytes.to_vec()),
                ArgKind::Local(bytes) => RecordedArg::Local(bytes),
            });
        }
        if targets.is_empty() {
            return Err(refused(&name, "a recorded launch that writes nothing would never run".into()));
        }
        let (kernel, local_bytes) = (self.kernel, self.local_bytes);
        let recorded = Recorded { device, kernel, name, arguments, outputs: written, size, local_bytes };
        let nodes = record::launch(Arc::new(recorded), &inputs, &outputs, at);
        for (target, node) in targets.into_iter().zip(nodes) {
            target.bind_to_node(node);
        }
        Ok(())
    }
}

/// Elements of a buffer as a value. Whoever writes the buffer copies it first while the value is held.
fn leaf(slice: &SliceOf, at: error::Place) -> Arc<Node> {
    let SliceOf { storage, dtype, start, len, .. } = slice;
    let whole = Node::leaf(storage.clone(), Shape::from_slice(&[start + len]), *dtype, Order::RowMajor, at);
    let part = AxisMap { start: *start as i64, ..AxisMap::whole(0) };
    record::view(&whole, View { axes: [part].into_iter().collect() }, Shape::from_slice(&[*len]), at)
}

impl Call for Recorded {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, inputs: &[Arc<dyn Storage>]) -> Result<Vec<Arc<dyn Storage>>> {
        let memory_of = |input: usize| {
            inputs
                .get(input)
                .cloned()
                .ok_or_else(|| Error::Internal(format!("input {input} of {} is missing", self.name)))
        };
        // What begins with a value is written whole before the kernel sees it.
        let begins = |number: usize| {
            let is_it = |argument: &RecordedArg| matches!(argument, RecordedArg::Output { output, start: Some(_) } if *output == number);
            self.arguments.iter().any(is_it)
        };
        let written = self.outputs.iter().enumerate().map(|(number, (bytes, ..))| match begins(number) {
            true => Ok(self.device.allocate(*bytes)? as Arc<dyn Storage>),
            false => self.device.allocate_for_kernel(*bytes),
        });
        let written = written.collect::<Result<Vec<_>>>()?;
        let slice = |storage: Arc<dyn Storage>, dtype: DType, len: usize, is_mut: bool| {
            let (device, flags) = (self.device.clone(), MemFlags::READ_WRITE);
            Arg(ArgKind::Slice(SliceOf { device, storage, dtype, start: 0, len, is_mut, flags }))
        };
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for argument in &self.arguments {
            arguments.push(match argument {
                RecordedArg::Input { input, len, dtype } => slice(memory_of(*input)?, *dtype, *len, false),
                RecordedArg::Output { output, start } => {
                    let ((bytes, len, dtype), storage) = (self.outputs[*output], written[*output].clone());
                    if let Some(start) = start {
                        self.device.copy_memory(&*memory_of(*start)?, &*storage, bytes)?;
                    }
                    slice(storage, dtype, len, true)
                }
                RecordedArg::Scalar(scalar) => Arg(ArgKind::Scalar(*scalar)),
                RecordedArg::Bytes(bytes) => Arg(ArgKind::Bytes(bytes)),
                RecordedArg::Local(bytes) => Arg(ArgKind::Local(*bytes)),
            });
        }
        let mut launch = Launch::new(self.kernel.clone(), arguments);
        launch.device = Some(self.device.clone());
        launch.local_bytes = self.local_bytes;
        launch.run(&Place::main(), self.size, false, std::panic::Location::caller())?;
        Ok(written)
    }

    fn source(&self) -> Result<String> {
        let ready = self.kernel.ready(&self.device)?;
        Ok(ready.raw.source().unwrap_or("compiled elsewhere; there is no source").to_string())
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} over {:?}", self.name, self.size)
    }
}
