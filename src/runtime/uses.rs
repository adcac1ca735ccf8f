//! Who uses a block of memory, once queues other than the main one do: what a use must wait for, and what waits for it.
//!
//! The main queue is in order with itself, so a block that no other queue ever saw carries no record. Several threads may use a
//! block at once: they read it, or write parts of it that a split keeps apart. So a use replaces the notes of those only that it
//! has waited for; what was noted while it was being submitted stays.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use super::explicit::Mark;
use crate::error::Result;

/// Number of a queue of a device.
pub type QueueId = u64;

/// The queue of lazy work.
pub const MAIN: QueueId = 0;

/// Marks to wait for.
pub type Marks = SmallVec<[Arc<dyn Mark>; 2]>;

/// Readers past which those that are done are looked for.
const MANY_READERS: usize = 8;

/// The uses of one block.
#[derive(Default)]
pub struct Uses {
    /// True once another queue than the main one may use it: all that lazy work has to ask.
    is_tracked: AtomicBool,
    state: Mutex<Option<Box<State>>>,
}

struct State {
    /// The last writes that are not known to be done; several only where threads wrote parts of the block at once.
    writers: SmallVec<[Use; 1]>,
    /// Reads since.
    readers: SmallVec<[Use; 2]>,
    /// Uses noted so far.
    noted: u64,
    /// What the main queue did since another queue last waited for it.
    main: MainUse,
    /// True where every use by the main queue is noted in `main`, because the block was tracked before anybody had it.
    is_whole: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MainUse {
    Unused,
    Read,
    Written,
}

/// What a use by another queue must wait for, and what it knows of.
pub struct Before {
    pub marks: Marks,
    /// Uses noted before it: it waits for those, or needs not.
    seen: u64,
}

struct Use {
    queue: QueueId,
    mark: Arc<dyn Mark>,
    /// How many were noted before it.
    number: u64,
    /// True where the main queue waits for it already.
    main_waits: bool,
}

impl Uses {
    /// Those of a block that other queues will use: the main queue notes what it does from the start, so that a queue waits
    /// for no more of its work than it must.
    pub fn tracked() -> Self {
        Self { is_tracked: AtomicBool::new(true), state: Mutex::new(Some(Box::new(State::new(true)))) }
    }

    /// True where uses by the main queue are to be put in order and noted.
    #[inline]
    pub fn is_tracked(&self) -> bool {
        self.is_tracked.load(Ordering::Relaxed)
    }

    /// Has the main queue wait for what a use by it must follow.
    pub fn before_main(&self, writes: bool, wait: &mut dyn FnMut(&dyn Mark) -> Result<()>) -> Result<()> {
        // The lock is held while the queue is told to wait: who finds `main_waits` set must come after that.
        let mut state = self.lock();
        let Some(state) = state.as_deref_mut() else { return Ok(()) };
        let readers = if writes { &mut state.readers[..] } else { &mut [] };
        for used in state.writers.iter_mut().chain(readers) {
            if used.queue != MAIN && !used.main_waits {
                wait(&*used.mark)?;
                used.main_waits = true;
            }
        }
        Ok(())
    }

    /// Notes a use by the main queue that was just submitted.
    pub fn after_main(&self, writes: bool) {
        let mut state = self.lock();
        let Some(state) = state.as_deref_mut() else { return };
        match writes {
            true => {
                state.forget_what_main_awaits();
                state.main = MainUse::Written;
            }
            false => state.main = state.main.max(MainUse::Read),
        }
    }

    /// What a use by another queue must wait for. `main_mark` records a mark in the main queue, if it is needed.
    pub fn before(
        &self,
        queue: QueueId,
        writes: bool,
        main_mark: &mut dyn FnMut() -> Result<Arc<dyn Mark>>,
    ) -> Result<Before> {
        self.is_tracked.store(true, Ordering::Relaxed);
        let mut state = self.lock();
        let state = state.get_or_insert_with(|| Box::new(State::new(false)));
        let main = match (state.main, state.is_whole) {
            // A thread that looked just before the block was tracked may have submitted a read that is not noted.
            (MainUse::Unused, false) if writes => MainUse::Read,
            (main, _) => main,
        };
        if main != MainUse::Unused {
            let mark = main_mark()?;
            state.main = MainUse::Unused;
            let used = state.next_use(MAIN, mark);
            match main {
                MainUse::Written => {
                    state.forget_what_main_awaits();
                    state.writers.push(used);
                }
                _ => state.add_reader(used, state.noted),
            }
        }
        let readers = if writes { &state.readers[..] } else { &[] };
        let others = state.writers.iter().chain(readers).filter(|used| used.queue != queue);
        Ok(Before { marks: others.map(|used| used.mark.clone()).collect(), seen: state.noted })
    }

    /// Notes a use by another queue that was just submitted, and had waited for what `before` gave.
    pub fn after(&self, queue: QueueId, writes: bool, mark: &Arc<dyn Mark>, before: &Before) {
        let mut state = self.lock();
        let Some(state) = state.as_deref_mut() else { return };
        let used = state.next_use(queue, mark.clone());
        match writes {
            true => {
                // Whoever waits for it waits for those that it has waited for.
                state.writers.retain(|other| other.number >= before.seen);
                state.readers.retain(|other| other.number >= before.seen);
                state.writers.push(used);
            }
            false => state.add_reader(used, before.seen),
        }
    }

    /// What the main queue must wait for before somebody else may have the block.
    pub fn unfinished(&mut self) -> Marks {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(state) = state.as_deref() else { return Marks::new() };
        let open = state.writers.iter().chain(&state.readers).filter(|used| used.queue != MAIN && !used.main_waits);
        open.map(|used| used.mark.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<State>>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Nothing is known of a block's past but that it came from the main queue, which may still write it.
    fn new(is_whole: bool) -> Self {
        let (writers, readers) = (SmallVec::new(), SmallVec::new());
        Self { writers, readers, noted: 0, main: MainUse::Written, is_whole }
    }

    fn next_use(&mut self, queue: QueueId, mark: Arc<dyn Mark>) -> Use {
        self.noted += 1;
        Use { queue, mark, number: self.noted - 1, main_waits: queue == MAIN }
    }

    /// Any mark in the main queue from now on stands for them.
    fn forget_what_main_awaits(&mut self) {
        self.writers.retain(|used| !used.main_waits);
        self.readers.retain(|used| !used.main_waits);
    }

    fn add_reader(&mut self, used: Use, seen: u64) {
        // A queue's later read is done after its earlier one. Which of two comes later is not known where both were under way.
        self.readers.retain(|reader| reader.queue != used.queue || reader.number >= seen);
        if self.readers.len() >= MANY_READERS {
            // Where asking fails, the reader stays, and whoever waits for it hears why.
            self.readers.retain(|reader| !matches!(reader.mark.is_done(), Ok(true)));
        }
        self.readers.push(used);
    }
}

#[cfg(test)]
mod tests {
    //! Marks that are numbers, and which of them a use waits for.

    use std::any::Any;

    use super::*;

    /// A mark with a number of its own, never reached.
    struct Numbered(u32);

    impl Mark for Numbered {
        fn is_done(&self) -> Result<bool> {
            Ok(false)
        }

        fn wait(&self) -> Result<()> {
            Ok(())
        }

        fn nanoseconds_since(&self, _: &dyn Mark) -> Result<Option<i64>> {
            Ok(None)
        }
    }

    fn number(mark: &dyn Mark) -> u32 {
        let mark: &dyn Any = mark;
        mark.downcast_ref::<Numbered>().unwrap().0
    }

    /// A use by another queue: what it waits for, 100 being a mark in the main queue. It leaves a mark of the given number.
    fn other(uses: &Uses, queue: QueueId, writes: bool, leaves: u32) -> Vec<u32> {
        let before = begin(uses, queue, writes);
        end(uses, queue, writes, leaves, &before);
        before.marks.iter().map(|mark| number(&**mark)).collect()
    }

    fn begin(uses: &Uses, queue: QueueId, writes: bool) -> Before {
        uses.before(queue, writes, &mut || Ok(Arc::new(Numbered(100)))).unwrap()
    }

    fn end(uses: &Uses, queue: QueueId, writes: bool, leaves: u32, before: &Before) {
        let mark: Arc<dyn Mark> = Arc::new(Numbered(leaves));
        uses.after(queue, writes, &mark, before);
    }

    /// A use by the main queue: what it waits for.
    fn main(uses: &Uses, writes: bool) -> Vec<u32> {
        let mut waited = Vec::new();
        uses.before_main(writes, &mut |mark| {
            waited.push(number(mark));
            Ok(())
        })
        .unwrap();
        uses.after_main(writes);
        waited
    }

    #[test]
    fn a_block_of_its_own_waits_for_no_more_than_it_must() {
        let mut uses = Uses::tracked();
        // The memory may still be written by whoever had it before.
        assert_eq!(other(&uses, 1, true, 1), [100]);
        assert!(other(&uses, 1, true, 2).is_empty());
        assert_eq!(other(&uses, 2, false, 3), [2]);
        assert_eq!(other(&uses, 3, false, 4), [2]);
        // Readers do not wait for readers, a writer waits for all.
        assert_eq!(other(&uses, 1, true, 5), [3, 4]);
        // The main queue waits once.
        assert_eq!(main(&uses, false), [5]);
        assert!(main(&uses, false).is_empty());
        // A read need not wait for its read, a write does.
        assert!(other(&uses, 1, false, 6).is_empty());
        assert_eq!(other(&uses, 1, true, 7), [100]);
        assert_eq!(main(&uses, true), [7]);
        assert_eq!(other(&uses, 2, false, 8), [100]);
        assert_eq!(uses.unfinished().iter().map(|mark| number(&**mark)).collect::<Vec<_>>(), [8]);
    }

    #[test]
    fn a_block_of_lazy_work_is_written_after_whatever_the_main_queue_does() {
        let uses = Uses::default();
        assert!(!uses.is_tracked());
        assert!(main(&uses, false).is_empty());
        assert_eq!(other(&uses, 1, false, 1), [100]);
        assert!(uses.is_tracked());
        assert_eq!(other(&uses, 1, false, 2), [100]);
        // A read of the main queue's that began before the block was tracked may not be noted.
        assert_eq!(other(&uses, 1, true, 3), [100, 100]);
        assert_eq!(other(&uses, 1, true, 4), [100]);
        assert_eq!(main(&uses, true), [4]);
    }

    #[test]
    fn parts_that_threads_write_at_once_are_all_waited_for() {
        let uses = Uses::tracked();
        other(&uses, 1, true, 1);
        // Two halves, each submitted while the other is: on two queues, then on one, then one of them on the main queue.
        for second in [2, 1] {
            let (left, right) = (begin(&uses, 1, true), begin(&uses, second, true));
            end(&uses, second, true, 12, &right);
            end(&uses, 1, true, 11, &left);
            assert_eq!(other(&uses, 9, true, 9), [12, 11]);
        }
        let left = begin(&uses, 1, true);
        uses.before_main(true, &mut |_| Ok(())).unwrap();
        end(&uses, 1, true, 11, &left);
        uses.after_main(true);
        assert_eq!(other(&uses, 9, false, 9), [11, 100]);
        let left = begin(&uses, 1, true);
        uses.before_main(true, &mut |_| Ok(())).unwrap();
        uses.after_main(true);
        end(&uses, 1, true, 11, &left);
        assert_eq!(other(&uses, 9, false, 9), [11, 100]);
    }

    #[test]
    fn reads_of_one_queue_by_two_threads_are_both_waited_for() {
        let uses = Uses::tracked();
        other(&uses, 1, true, 1);
        let (first, second) = (begin(&uses, 1, false), begin(&uses, 1, false));
        end(&uses, 1, false, 12, &second);
        end(&uses, 1, false, 11, &first);
        assert_eq!(other(&uses, 2, true, 2), [1, 12, 11]);
    }

    #[test]
    fn readers_of_one_queue_count_once() {
        let uses = Uses::tracked();
        for mark in 0..50 {
            other(&uses, 1 + u64::from(mark % 3), false, mark);
        }
        assert_eq!(other(&uses, 9, true, 50).len(), 4);
    }
}
