//! Scans by a function of the user's.

mod kernels;

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use lazuli_codegen::simt::Function;
use lazuli_codegen::{DeviceFacts, Scalar};
use smallvec::SmallVec;

use self::kernels::{By, EACH, THREADS, Variant, Work};
use super::definition::CombineFunction;
use crate::array::Array;
use crate::buffer::MemFlags;
use crate::device::Device;
use crate::dtype::Element;
use crate::error::{Error, Place, Result};
use crate::graph::op::Call;
use crate::graph::{Storage, record};
use crate::launch::{Arg, ArgKind, Launch, RustSource, SliceOf};
use crate::shape::{Shape, resolve_axis};

impl<T: Element> Array<T> {
    /// Along an axis, each element combined with all before it: element k of the result is
    /// `combine(.. combine(combine(x[0], x[1]), x[2]) .., x[k])`, with the brackets where the device likes them, the same at
    /// every run. The function must be associative; it need not be commutative. Negative axes count from the end.
    ///
    /// What is read and what is made of the result is fused for itself; the scan is a launch of its own, or three where rows
    /// are long.
    ///
    /// Errors, kept until a value is asked for: `InvalidAxis`.
    ///
    /// ```
    /// use lazuli::prelude::*;
    ///
    /// #[lazuli::device]
    /// fn add(a: i32, b: i32) -> i32 {
    ///     a + b
    /// }
    ///
    /// let x = Device::host()?.from_slice(&[1, 2, 3, 4])?;
    /// assert_eq!(x.scan(add::Function, 0, 0).get()?.as_slice().unwrap(), [1, 3, 6, 10]);
    /// assert_eq!(x.scan_exclusive(add::Function, 0, 0).get()?.as_slice().unwrap(), [0, 1, 3, 6]);
    /// # Ok::<(), lazuli::Error>(())
    /// ```
    #[track_caller]
    pub fn scan(&self, combine: impl CombineFunction<T>, identity: T, axis: isize) -> Array<T> {
        self.scan_by("scan", &combine, identity, axis, false, Location::caller())
    }

    /// [`scan`](Array::scan) without the element itself: element 0 of the result is `identity`, and element k what is made of
    /// those before k.
    ///
    /// Errors, kept until a value is asked for: `InvalidAxis`.
    #[track_caller]
    pub fn scan_exclusive(&self, combine: impl CombineFunction<T>, identity: T, axis: isize) -> Array<T> {
        self.scan_by("scan_exclusive", &combine, identity, axis, true, Location::caller())
    }

    fn scan_by(
        &self,
        op: &'static str,
        combine: &impl CombineFunction<T>,
        identity: T,
        axis: isize,
        is_exclusive: bool,
        at: Place,
    ) -> Array<T> {
        if self.check().is_err() {
            return self.clone();
        }
        let shape = Shape::from_slice(self.shape());
        let Some(along) = resolve_axis(axis, shape.len()) else {
            let error = Error::InvalidAxis { op, axis, what: "out of range", shape: shape.to_vec(), at };
            return self.fail(error, at);
        };
        let combine = match combine.function() {
            Ok(function) => function,
            Err(error) => return self.fail(error, at),
        };
        if self.is_empty() {
            return self.clone();
        }
        let space = Space {
            rows: shape[..along].iter().product(),
            length: shape[along],
            inner: shape[along + 1..].iter().product(),
        };
        let (device, identity) = (self.device().clone(), identity.to_scalar());
        let scan = Scan { device, name: op, combine, identity, is_exclusive, space };
        let output = record::launch(Arc::new(scan), &[self.node().clone()], &[(shape, T::DTYPE)], at);
        match output.into_iter().next() {
            Some(node) => Array::from_node(node, self.device()),
            None => self.fail(Error::Internal("a launch without its output".into()), at),
        }
    }
}

/// Elements in row-major order, scanned along the middle one of three axes.
#[derive(Clone, Copy, Debug)]
struct Space {
    rows: usize,
    length: usize,
    inner: usize,
}

/// A recorded scan.
struct Scan {
    device: Device,
    name: &'static str,
    combine: Function,
    identity: Scalar,
    is_exclusive: bool,
    space: Space,
}

impl fmt::Debug for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {} over {:?}", self.name, self.combine.name(), self.space)
    }
}

impl Call for Scan {
    fn name(&self) -> &str {
        self.name
    }

    fn run(&self, inputs: &[Arc<dyn Storage>]) -> Result<Vec<Arc<dyn Storage>>> {
        let [source] = inputs else {
            return Err(Error::Internal(format!("a scan of {} inputs", inputs.len())));
        };
        Ok(vec![self.scan(source, self.space, self.is_exclusive)?])
    }

    fn source(&self) -> Result<String> {
        let Chunks { by, count, .. } = Chunks::of(self.space, self.device.runtime().facts());
        let mut works = SmallVec::<[Work; 2]>::new();
        if count > 1 {
            works.push(Work::Fold);
        }
        works.push(Work::Scan { is_exclusive: self.is_exclusive, has_before: count > 1 });
        let source = |work| self.kernel(by, work).source(&self.device);
        works.into_iter().map(source).collect::<Result<Vec<String>>>().map(|sources| sources.join("\n"))
    }
}

impl Scan {
    /// The scan of what one memory holds, in another.
    fn scan(&self, source: &Arc<dyn Storage>, space: Space, is_exclusive: bool) -> Result<Arc<dyn Storage>> {
        let chunks = Chunks::of(space, self.device.runtime().facts());
        // Rounds: each has the fewer elements, the results of the chunks of the one before.
        let before = match chunks.count {
            1 => None,
            count => {
                let results =
                    self.launch(&chunks, Work::Fold, space, source, None, space.rows * count * space.inner)?;
                let folded = Space { length: count, ..space };
                Some(self.scan(&results, folded, true)?)
            }
        };
        let work = Work::Scan { is_exclusive, has_before: before.is_some() };
        self.launch(&chunks, work, space, source, before.as_ref(), space.rows * space.length * space.inner)
    }

    fn launch(
        &self,
        chunks: &Chunks,
        work: Work,
        space: Space,
        source: &Arc<dyn Storage>,
        before: Option<&Arc<dyn Storage>>,
        results: usize,
    ) -> Result<Arc<dyn Storage>> {
        let target: Arc<dyn Storage> = self.device.allocate(results * self.identity.dtype().size_bytes())?;
        let elements = space.rows * space.length * space.inner;
        let slice = |storage: &Arc<dyn Storage>, len: usize, is_mut: bool| {
            let (device, dtype, flags) = (self.device.clone(), self.identity.dtype(), MemFlags::READ_WRITE);
            Arg(ArgKind::Slice(SliceOf { device, storage: storage.clone(), dtype, start: 0, len, is_mut, flags }))
        };
        let mut arguments = vec![slice(source, elements, false)];
        arguments.extend(before.map(|before| slice(before, space.rows * chunks.count * space.inner, false)));
        arguments.push(slice(&target, results, true));
        for size in [space.length, chunks.length, chunks.count, space.inner] {
            arguments.push(Arg(ArgKind::Scalar((size as u64).to_scalar())));
        }
        let (groups, threads) = match chunks.by {
            By::Group => (space.rows * chunks.count, THREADS),
            By::Thread => {
                let threads = chunks.threads;
                ((space.rows * chunks.count * space.inner).div_ceil(threads), threads)
            }
        };
        Launch::of_source(self.kernel(chunks.by, work), arguments).launch(groups, threads)?;
        Ok(target)
    }

    fn kernel(&self, by: By, work: Work) -> RustSource {
        RustSource::Scan(Variant { combine: self.combine, identity: self.identity, by, work })
    }
}

pub(crate) use kernels::{Variant as ScanVariant, kernel as scan_kernel};

/// How rows are cut.
#[derive(Clone, Copy, Debug)]
struct Chunks {
    by: By,
    /// Elements in one.
    length: usize,
    /// Chunks of a row.
    count: usize,
    /// Threads of a group, where each takes a chunk.
    threads: usize,
}

impl Chunks {
    /// By what is scanned and the device alone, so that the brackets are the same at every run.
    fn of(space: Space, facts: &DeviceFacts) -> Self {
        /// Rows no longer than this are worth no group.
        const SHORT_ROW: usize = 64;
        /// The shortest part of a row that pays for being read twice.
        const SHORTEST: usize = 64;
        let Space { rows, length, inner } = space;
        let units = facts.compute_units.max(1) as usize;
        if !facts.is_cpu && inner == 1 && length > SHORT_ROW && facts.max_group as usize >= THREADS {
            let chunk = THREADS * EACH;
            return Self { by: By::Group, length: chunk, count: length.div_ceil(chunk), threads: THREADS };
        }
        let (threads, wanted) = if facts.is_cpu { (64, units * 256) } else { (THREADS, units * 2048) };
        let side_by_side = rows.saturating_mul(inner).max(1);
        let wanted = (wanted / side_by_side).clamp(1, (length / SHORTEST).max(1));
        let chunk = length.div_ceil(wanted).max(1);
        Self { by: By::Thread, length: chunk, count: length.div_ceil(chunk).max(1), threads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_their_rows_on_every_device() {
        let mut facts = crate::Device::host().unwrap().runtime().facts().clone();
        for (is_cpu, max_group) in [(true, 4096), (false, 1024), (false, 64)] {
            (facts.is_cpu, facts.max_group) = (is_cpu, max_group);
            for length in [1, 2, 63, 64, 65, 2047, 2048, 2049, 1_050_001] {
                for (rows, inner) in [(1, 1), (3, 1), (1, 7), (1000, 1000)] {
                    let chunks = Chunks::of(Space { rows, length, inner }, &facts);
                    assert!(chunks.length * chunks.count >= length, "{chunks:?} of {length}");
                    assert!(chunks.length * (chunks.count - 1) < length, "{chunks:?} of {length} has an empty chunk");
                    // Else the rounds would never end.
                    assert!(chunks.count == 1 || chunks.count < length, "{chunks:?} of {length}");
                }
            }
        }
    }
}
