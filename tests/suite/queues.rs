//! Queues and events: order between queues, waiting, timing, callbacks and futures.

use std::future::IntoFuture;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use lazuli::prelude::*;
use lazuli::{Buffer, Event, MemFlags, Queue};

use crate::common::{flat, on_fused, open};

/// Elements of a buffer that takes a device a while.
const MANY: usize = 1 << 20;

/// A generator of numbers that needs no crate: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

fn buffers(device: &Device, count: usize, len: usize) -> Vec<Buffer<i32>> {
    (0..count).map(|_| Buffer::zeros(device, MemFlags::READ_WRITE, len).unwrap()).collect()
}

/// Two elements of a list, the second to be changed.
fn pair<T>(list: &mut [T], from: usize, to: usize) -> (&T, &mut T) {
    let [from, to] = list.get_disjoint_mut([from, to]).unwrap();
    (from, to)
}

#[test]
fn work_on_the_same_memory_is_in_order_whatever_queue_it_is_on() {
    on_fused(|device| {
        const BUFFERS: usize = 4;
        let len = 40_000;
        let queues: Vec<Queue> = (0..3).map(|_| device.queue().unwrap()).collect();
        for seed in 1..=6 {
            let mut random = Random(seed * 0x9e37_79b9_7f4a_7c15);
            let mut ours = buffers(device, BUFFERS, len);
            let mut right = vec![vec![0i32; len]; BUFFERS];
            let mut arrays = Vec::new();
            for step in 0..150 {
                let (to, value) = (random.below(BUFFERS), step + 1);
                let from = (to + 1 + random.below(BUFFERS - 1)) % BUFFERS;
                let queue = &queues[random.below(queues.len())];
                match random.below(7) {
                    0 => {
                        queue.fill(&mut ours[to], value, &[]).unwrap();
                        right[to].fill(value);
                    }
                    1 => {
                        let (source, target) = pair(&mut ours, from, to);
                        queue.copy(source, target, &[]).unwrap();
                        right[to] = right[from].clone();
                    }
                    2 => {
                        let start = random.below(len / 2);
                        let (source, target) = pair(&mut ours, from, to);
                        let source = source.slice(start..start + len / 2).unwrap();
                        queue.copy(source, target.slice_mut(..len / 2).unwrap(), &[]).unwrap();
                        let part = right[from][start..start + len / 2].to_vec();
                        right[to][..len / 2].copy_from_slice(&part);
                    }
                    3 => {
                        // The main queue writes.
                        ours[to].fill_range(7..len - 7, value).unwrap();
                        right[to][7..len - 7].fill(value);
                    }
                    4 => {
                        // The main queue reads, by a kernel that is launched now or later.
                        let sum = ours[to].to_array([len]).unwrap().cast::<i64>().sum() + i64::from(value);
                        if value % 2 == 0 {
                            sum.eval().unwrap();
                        }
                        let right = right[to].iter().map(|x| i64::from(*x)).sum::<i64>() + i64::from(value);
                        arrays.push((sum, right));
                    }
                    5 => {
                        let elements = vec![value; 100];
                        ours[to].write_at(50, &elements).unwrap();
                        right[to][50..150].copy_from_slice(&elements);
                    }
                    _ => {
                        // Memory that goes back to the pool while a queue still writes it.
                        let mut passing = Buffer::zeros(device, MemFlags::READ_WRITE, len).unwrap();
                        queue.fill(&mut passing, -value, &[]).unwrap();
                    }
                }
            }
            for (ours, right) in ours.iter().zip(&right) {
                assert!(ours.to_vec().unwrap() == *right, "seed {seed}");
            }
            for (sum, right) in arrays {
                assert_eq!(sum.item().unwrap(), right, "seed {seed}");
            }
        }
    });
}

#[test]
fn memory_that_a_queue_still_uses_is_not_handed_on() {
    on_fused(|device| {
        let queue = device.queue().unwrap();
        for round in 1..20 {
            let mut kept = Buffer::<i32>::zeros(device, MemFlags::READ_WRITE, MANY).unwrap();
            let mut passing = Buffer::<i32>::zeros(device, MemFlags::READ_WRITE, MANY).unwrap();
            queue.fill(&mut passing, round, &[]).unwrap();
            queue.copy(&passing, &mut kept, &[]).unwrap();
            drop(passing);
            // Takes the block from the pool, and writes it on the main queue.
            let ones = device.from_slice(&vec![-1i32; MANY]).unwrap();
            let doubled = &ones * 2;
            assert_eq!(doubled.min().item().unwrap(), -2);
            assert_eq!(kept.to_vec().unwrap(), vec![round; MANY]);
        }
    });
}

#[test]
fn events_are_waited_for_asked_and_timed() {
    on_fused(|device| {
        let (first, second) = (device.queue().unwrap(), device.queue().unwrap());
        assert_eq!((first.device(), first == second, first == first.clone()), (device, false, true));
        let mut buffer = Buffer::<f32>::zeros(device, MemFlags::READ_WRITE, MANY).unwrap();
        let mut other = Buffer::<f32>::zeros(device, MemFlags::READ_WRITE, MANY).unwrap();
        let before = first.record().unwrap();
        let filled = first.fill(&mut buffer, 2.0, &[]).unwrap();
        let copied = second.copy(&buffer, &mut other, std::slice::from_ref(&filled)).unwrap();
        second.wait_for(&[before.clone(), filled.clone()]).unwrap();
        copied.wait().unwrap();
        assert!(filled.is_done().unwrap() && copied.is_done().unwrap());
        for event in [&filled, &copied] {
            let took = event.duration().unwrap();
            assert!(took > Duration::ZERO && took < Duration::from_secs(60), "{took:?}");
        }
        assert!(filled.elapsed_since(&before).unwrap() >= filled.duration().unwrap());
        first.synchronize().unwrap();
        second.synchronize().unwrap();
        assert_eq!(other.to_vec().unwrap(), vec![2.0; MANY]);
        assert!(format!("{first:?} {filled:?}").contains(device.name()));
    });
}

#[test]
fn what_has_no_time_says_so() {
    on_fused(|device| {
        let queue = device.queue().unwrap();
        let mut buffer = Buffer::<u8>::zeros(device, MemFlags::READ_WRITE, MANY).unwrap();
        let place = queue.record().unwrap();
        let later = queue.fill(&mut buffer, 1, &[]).unwrap();
        let error = place.duration().unwrap_err();
        assert!(matches!(error, Error::InvalidUse { op: "Event::duration", .. }), "{error}");
        let error = place.elapsed_since(&later).unwrap_err();
        assert!(matches!(error, Error::InvalidUse { op: "Event::elapsed_since", .. }), "{error}");
        let elsewhere = open("host", Config::default()).queue().unwrap().record().unwrap();
        let error = later.elapsed_since(&elsewhere).unwrap_err();
        assert!(error.to_string().contains("no clock in common"), "{error}");
        // But it can be waited for.
        queue.wait_for(&[elsewhere]).unwrap();
        queue.fill(&mut buffer, 2, &[]).unwrap().wait().unwrap();
        let mut last = [0];
        buffer.read_at(MANY - 1, &mut last).unwrap();
        assert_eq!(last, [2]);
    });
}

#[test]
fn a_queue_takes_no_memory_of_another_device() {
    on_fused(|device| {
        let other = open("host", Config::default());
        let queue = device.queue().unwrap();
        let mut here = Buffer::from_slice(device, MemFlags::COPY_HOST_PTR, &[1i16, 2, 3]).unwrap();
        let mut there = Buffer::from_slice(&other, MemFlags::COPY_HOST_PTR, &[4i16, 5, 6]).unwrap();
        // Held by arrays, so that a write would begin by giving the buffers other memory.
        let _held = (here.to_array([3]).unwrap(), there.to_array([3]).unwrap());
        for error in [
            queue.fill(&mut there, 9, &[]).unwrap_err(),
            queue.copy(&here, &mut there, &[]).unwrap_err(),
            queue.copy(&there, &mut here, &[]).unwrap_err(),
            queue.write(other.pinned(3).unwrap(), &mut there, &[]).unwrap_err(),
            queue.read(&there, other.pinned(3).unwrap(), &[]).unwrap_err(),
        ] {
            assert!(matches!(error, Error::InvalidUse { .. }), "{error}");
        }
        // Nothing was written, and all goes on.
        assert_eq!((here.to_vec().unwrap(), there.to_vec().unwrap()), (vec![1, 2, 3], vec![4, 5, 6]));
        queue.fill(&mut here, 9, &[]).unwrap();
        assert_eq!(flat(&here.to_array([3]).unwrap()), [9, 9, 9]);
    });
}

#[test]
fn a_dropped_queue_finishes_its_work() {
    on_fused(|device| {
        let mut buffers: Vec<Buffer<u32>> =
            (0..8).map(|_| Buffer::zeros(device, MemFlags::READ_WRITE, MANY).unwrap()).collect();
        let queue = device.queue().unwrap();
        let events: Vec<Event> = buffers.iter_mut().map(|buffer| queue.fill(buffer, 3, &[]).unwrap()).collect();
        drop(queue);
        device.synchronize().unwrap();
        assert!(events.iter().all(|event| event.is_done().unwrap()));
        for buffer in &buffers {
            assert!(buffer.to_vec().unwrap().iter().all(|x| *x == 3));
        }
    });
}

#[test]
fn queues_and_events_go_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Queue>();
    shared::<Event>();
    on_fused(|device| {
        let queue = device.queue().unwrap();
        let results: Vec<Vec<i64>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|number| {
                    let own = if number % 2 == 0 { queue.clone() } else { device.queue().unwrap() };
                    scope.spawn(move || {
                        let mut buffer = Buffer::<i64>::zeros(own.device(), MemFlags::READ_WRITE, 5000).unwrap();
                        for round in 0..50 {
                            let filled = own.fill(&mut buffer, number + round, &[]).unwrap();
                            let most = buffer.to_array([5000]).unwrap().max();
                            assert_eq!(most.item().unwrap(), number + round);
                            filled.wait().unwrap();
                        }
                        buffer.to_vec().unwrap()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (number, result) in results.into_iter().enumerate() {
            assert_eq!(result, vec![number as i64 + 49; 5000]);
        }
    });
}

#[test]
fn callbacks_come_once_the_event_is_done_and_may_use_the_device() {
    on_fused(|device| {
        let queue = device.queue().unwrap();
        let buffer = Arc::new(Mutex::new(Buffer::<i32>::zeros(device, MemFlags::READ_WRITE, MANY).unwrap()));
        let filled = queue.fill(&mut *buffer.lock().unwrap(), 4, &[]).unwrap();
        let (sender, receiver) = channel();
        // One that panics leaves the others their turn.
        filled.on_done(|_| panic!("a callback of the test's"));
        let (event, own) = (filled.clone(), buffer.clone());
        let told = sender.clone();
        filled.on_done(move |outcome| {
            let least = own.lock().unwrap().to_array([MANY]).unwrap().min().item();
            told.send((outcome, event.is_done(), least)).unwrap();
        });
        let (outcome, done, least) = receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!((outcome.is_ok(), done.unwrap(), least.unwrap()), (true, true, 4));
        // One for an event that is done already.
        filled.wait().unwrap();
        filled.on_done(move |outcome| sender.send((outcome, Ok(true), Ok(0))).unwrap());
        assert!(receiver.recv_timeout(Duration::from_secs(60)).unwrap().0.is_ok());
    });
}

/// Wakes the thread that waits.
struct Unpark(Thread, AtomicBool);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.1.store(true, Ordering::Release);
        self.0.unpark();
    }
}

/// Runs a future to its end on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let unpark = Arc::new(Unpark(std::thread::current(), AtomicBool::new(false)));
    let waker = Waker::from(unpark.clone());
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        while !unpark.1.swap(false, Ordering::Acquire) {
            std::thread::park();
        }
    }
}

#[test]
fn events_are_awaited_without_a_runtime() {
    on_fused(|device| {
        let value = block_on(async {
            let queue = device.queue()?;
            let mut buffer = Buffer::<f64>::uninit(device, MemFlags::READ_WRITE, MANY)?;
            for round in 0..5 {
                queue.fill(&mut buffer, f64::from(round) + 0.5, &[])?.await?;
            }
            let read = queue.read(buffer.slice(MANY - 1..)?, device.pinned(1)?, &[])?;
            read.event().clone().await?;
            assert!(read.is_done()?);
            read.wait()?.first().copied().ok_or_else(|| Error::Internal("one element".into()))
        });
        assert_eq!(value.unwrap(), 4.5);
    });
}

#[test]
fn a_future_wakes_the_task_that_asked_last() {
    on_fused(|device| {
        let queue = device.queue().unwrap();
        let mut buffers = buffers(device, 6, MANY);
        for buffer in &mut buffers {
            queue.fill(buffer, 1, &[]).unwrap();
        }
        let mut future = queue.record().unwrap().into_future();
        let gone = Waker::from(Arc::new(Unpark(std::thread::current(), AtomicBool::new(false))));
        // Done at once where the device was faster; else the second waker is the one that counts.
        let early = std::pin::Pin::new(&mut future).poll(&mut Context::from_waker(&gone));
        let outcome = match early {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => block_on(future),
        };
        assert!(outcome.is_ok());
        assert_eq!(buffers[5].to_vec().unwrap()[MANY - 1], 1);
    });
}
