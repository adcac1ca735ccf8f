//! The thread that calls back when events are done.
//!
//! One for the process, started by the first callback. It asks the events in turn and sleeps in between, longer the longer
//! nothing happens: drivers' own callbacks run on threads that may call no driver, and CUDA's are not called at all after a fault.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::Event;
use crate::error::Result;

/// What is called.
pub type Callback = Box<dyn FnOnce(Result<()>) + Send>;

/// The shortest and the longest time between two questions.
const SHORTEST: Duration = Duration::from_micros(10);
const LONGEST: Duration = Duration::from_micros(500);

struct Watched {
    event: Event,
    callback: Callback,
}

/// Sees to it that the function is called once the event is done.
pub fn add(event: Event, callback: Callback) {
    static WATCHER: Mutex<Option<Sender<Watched>>> = Mutex::new(None);
    let mut watched = Watched { event, callback };
    let mut watcher = WATCHER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sender) = &*watcher {
        match sender.send(watched) {
            Ok(()) => return,
            Err(unsent) => watched = unsent.0,
        }
    }
    let (sender, receiver) = channel();
    let spawned = std::thread::Builder::new().name("lazuli-events".into()).spawn(move || watch(&receiver));
    match spawned {
        Ok(_) => {
            // The thread has just begun to listen.
            let _ = sender.send(watched);
            *watcher = Some(sender);
        }
        Err(error) => {
            // The system gives no more threads; late is better than never.
            tracing::warn!(%error, "a callback is waited for where it was asked for");
            drop(watcher);
            let outcome = watched.event.wait();
            (watched.callback)(outcome);
        }
    }
}

fn watch(receiver: &Receiver<Watched>) {
    let mut open: Vec<Watched> = Vec::new();
    let mut pause = SHORTEST;
    loop {
        let next = match open.is_empty() {
            true => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => receiver.recv_timeout(pause),
        };
        match next {
            Ok(watched) => {
                open.push(watched);
                open.extend(receiver.try_iter());
                pause = SHORTEST;
            }
            Err(RecvTimeoutError::Timeout) => pause = (pause * 2).min(LONGEST),
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let mut place = 0;
        while place < open.len() {
            let outcome = match open[place].event.is_done() {
                Ok(false) => {
                    place += 1;
                    continue;
                }
                Ok(true) => Ok(()),
                Err(error) => Err(error),
            };
            // In the order of asking, where several are done.
            let Watched { callback, event } = open.remove(place);
            pause = SHORTEST;
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| callback(outcome))) {
                // Dropping what it panicked with may panic too, which would end this thread.
                std::mem::forget(payload);
                tracing::error!(?event, "a callback panicked");
            }
        }
    }
}
