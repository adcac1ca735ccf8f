//! Explicit memory: flags, constructors, copies of every kind, sub-buffers, mappings, pinned memory, and arrays that share it.

use std::fmt::Debug;

use lazuli::prelude::*;
use lazuli::{Buffer, BufferSlice, DType, Device, MemFlags, Rect, Result, bf16, f16};

use crate::common::{flat, on_fused, open};

const PLAIN: MemFlags = MemFlags::READ_WRITE;
const COPY: MemFlags = MemFlags::COPY_HOST_PTR;

fn numbers(n: usize) -> Vec<i32> {
    (0..n as i32).collect()
}

fn numbered(device: &Device, n: usize) -> Buffer<i32> {
    Buffer::from_slice(device, COPY, &numbers(n)).unwrap()
}

/// The outcome is an error of this kind whose message has all of these words, and the device computes on.
#[track_caller]
fn refused<T: Debug>(device: &Device, outcome: Result<T>, kind: fn(&Error) -> bool, words: &[&str]) {
    let error = match outcome {
        Ok(value) => panic!("{value:?} where {words:?} is an error"),
        Err(error) => error,
    };
    assert!(kind(&error), "{error}");
    let text = error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{text} without one of {words:?}");
    assert_eq!(flat(&(device.from_slice(&[1, 2]).unwrap() + 1)), [2, 3]);
}

fn is_range(error: &Error) -> bool {
    matches!(error, Error::OutOfRange { .. })
}

fn is_use(error: &Error) -> bool {
    matches!(error, Error::InvalidUse { .. })
}

fn is_data(error: &Error) -> bool {
    matches!(error, Error::HostData { .. })
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    on_fused(|device| {
        let own = [
            (MemFlags::READ_ONLY | MemFlags::WRITE_ONLY, "exclude each other"),
            (MemFlags::READ_WRITE | MemFlags::READ_ONLY, "exclude each other"),
            (MemFlags::HOST_READ_ONLY | MemFlags::HOST_WRITE_ONLY, "exclude each other"),
            (MemFlags::HOST_NO_ACCESS | MemFlags::HOST_READ_ONLY, "exclude each other"),
            (MemFlags::from_bits_retain(1 << 6), "unknown bits"),
            (MemFlags::COPY_HOST_PTR, "no elements"),
            (MemFlags::USE_HOST_PTR, "no elements"),
            (MemFlags::USE_HOST_PTR | MemFlags::ALLOC_HOST_PTR, "excludes"),
        ];
        for (flags, word) in own {
            refused(device, Buffer::<f32>::uninit(device, flags, 3), is_data, &["Buffer::uninit", word]);
            refused(device, Buffer::<f32>::zeros(device, flags, 3), is_data, &["Buffer::zeros", word]);
            let array = device.from_slice(&[1.0f32]).unwrap();
            refused(device, Buffer::from_array(flags, &array), is_data, &["Buffer::from_array", word]);
        }
        for flags in [PLAIN, MemFlags::USE_HOST_PTR | COPY, MemFlags::USE_HOST_PTR | MemFlags::ALLOC_HOST_PTR] {
            refused(device, Buffer::from_vec(device, flags, vec![1.0f32]), is_data, &["Buffer::from_vec"]);
        }
        let unsupported = |error: &Error| matches!(error, Error::Unsupported { .. });
        let outcome = Buffer::from_slice(device, MemFlags::USE_HOST_PTR, &[1.0f32]);
        refused(device, outcome, unsupported, &["from_vec"]);
        // OpenCL's bits.
        let bits = [MemFlags::READ_WRITE, MemFlags::WRITE_ONLY, MemFlags::READ_ONLY].map(|flags| flags.bits());
        assert_eq!(bits, [1, 2, 4]);
        let bits =
            [MemFlags::USE_HOST_PTR, MemFlags::ALLOC_HOST_PTR, MemFlags::COPY_HOST_PTR].map(|flags| flags.bits());
        assert_eq!(bits, [8, 16, 32]);
        let bits =
            [MemFlags::HOST_WRITE_ONLY, MemFlags::HOST_READ_ONLY, MemFlags::HOST_NO_ACCESS].map(|flags| flags.bits());
        assert_eq!(bits, [128, 256, 512]);
    });
}

#[test]
fn what_the_flags_forbid_is_refused_and_nothing_else() {
    on_fused(|device| {
        let mut none = Buffer::from_slice(device, MemFlags::HOST_NO_ACCESS | COPY, &[1, 2]).unwrap();
        let mut write = Buffer::from_slice(device, MemFlags::HOST_WRITE_ONLY | COPY, &[1, 2]).unwrap();
        let mut read = Buffer::from_slice(device, MemFlags::HOST_READ_ONLY | COPY, &[1, 2]).unwrap();
        let mut target = [0; 2];
        for buffer in [&none, &write] {
            let word = if buffer.flags().contains(MemFlags::HOST_NO_ACCESS) { "NO_ACCESS" } else { "WRITE_ONLY" };
            refused(device, buffer.to_vec(), is_use, &[word]);
            refused(device, buffer.copy_to_host(&mut target), is_use, &[word, "copy_to_host"]);
            refused(device, buffer.read_at(0, &mut target[..1]), is_use, &[word, "read_at"]);
            refused(device, buffer.map(), is_use, &[word, "map"]);
            let rect = buffer.read_rect(Rect::default(), &mut target, Rect::default(), [1, 1, 1]);
            refused(device, rect, is_use, &[word, "read_rect"]);
            let queue = device.queue().unwrap();
            refused(device, queue.read(buffer, device.pinned(2).unwrap(), &[]), is_use, &[word, "Queue::read"]);
        }
        for buffer in [&mut none, &mut read] {
            refused(device, buffer.write_at(0, &[7]), is_use, &["may not write", "write_at"]);
            refused(device, buffer.map_mut(), is_use, &["map_mut"]);
            let rect = buffer.write_rect(Rect::default(), &[7], Rect::default(), [1, 1, 1]);
            refused(device, rect, is_use, &["may not write"]);
            refused(device, buffer.slice_mut(..1).unwrap().write(&[7]), is_use, &["may not write"]);
            let queue = device.queue().unwrap();
            refused(device, queue.write(device.pinned(2).unwrap(), &mut *buffer, &[]), is_use, &["may not write"]);
        }
        refused(device, write.map_mut(), is_use, &["HOST_WRITE_ONLY"]);
        refused(
            device,
            Buffer::from_slice(device, MemFlags::HOST_NO_ACCESS | COPY, &[1]).unwrap().into_vec(),
            is_use,
            &[],
        );
        // What stays allowed: copies and fills on the device, and arrays.
        write.write_at(1, &[5]).unwrap();
        none.copy_from(&write).unwrap();
        read.copy_from(&none).unwrap();
        assert_eq!(read.to_vec().unwrap(), [1, 5]);
        none.fill(8).unwrap();
        assert_eq!(flat(&none.to_array(2).unwrap()), [8, 8]);
        let mut constant = Buffer::from_slice(device, MemFlags::READ_ONLY | COPY, &[1, 2]).unwrap();
        constant.write_at(0, &[3]).unwrap();
        assert_eq!(flat(&constant.to_array(2).unwrap()), [3, 2]);
        let result = Buffer::from_slice(device, MemFlags::WRITE_ONLY | COPY, &[1, 2]).unwrap();
        refused(device, result.to_array(2), is_use, &["WRITE_ONLY"]);
        refused(device, result.slice(..1).unwrap().to_array(1), is_use, &["WRITE_ONLY"]);
        assert_eq!(result.to_vec().unwrap(), [1, 2]);
    });
}

/// Constructors, fills, copies and mappings for one type.
fn holds<T: Element>(device: &Device, values: &[T; 5]) {
    let zeros = Buffer::<T>::zeros(device, PLAIN, 5).unwrap();
    assert_eq!(zeros.to_vec().unwrap(), [T::zero(); 5]);
    let mut buffer = Buffer::<T>::uninit(device, PLAIN | MemFlags::ALLOC_HOST_PTR, 5).unwrap();
    if T::DTYPE == DType::Bool {
        assert_eq!(buffer.to_vec().unwrap(), [T::zero(); 5]);
    }
    buffer.write_at(0, values).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), values);
    buffer.fill_range(1..4, values[0]).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [values[0], values[0], values[0], values[0], values[4]]);
    buffer.fill(values[3]).unwrap();
    assert_eq!(buffer.map().unwrap()[..], [values[3]; 5]);
    buffer.map_mut().unwrap()[2] = values[1];
    assert_eq!(buffer.slice(1..).unwrap().to_vec().unwrap(), [values[3], values[1], values[3], values[3]]);
    // Long enough that a fill is made of several steps.
    let mut long = Buffer::<T>::uninit(device, PLAIN, 1003).unwrap();
    long.fill_range(1..1002, values[2]).unwrap();
    assert_eq!(long.slice(1..1002).unwrap().to_vec().unwrap(), vec![values[2]; 1001]);
    assert_eq!(Buffer::from_vec(device, COPY, values.to_vec()).unwrap().into_vec().unwrap(), values);
    let used = Buffer::from_vec(device, MemFlags::USE_HOST_PTR, values.to_vec()).unwrap();
    assert_eq!(flat(&used.to_array(5).unwrap()), values);
    assert_eq!(used.into_vec().unwrap(), values);
    let read = device.queue().unwrap().read(&long, device.pinned::<T>(1003).unwrap(), &[]).unwrap();
    assert_eq!(read.wait().unwrap()[1..1002], vec![values[2]; 1001]);
}

#[test]
fn buffers_hold_every_element_type() {
    on_fused(|device| {
        holds(device, &[true, false, true, true, false]);
        holds(device, &[-1i8, 2, 3, i8::MIN, i8::MAX]);
        holds(device, &[-1i16, 2, 0x1234, i16::MIN, i16::MAX]);
        holds(device, &[-1i32, 2, 0x1234_5678, i32::MIN, i32::MAX]);
        holds(device, &[-1i64, 2, 0x1234_5678_9abc_def0, i64::MIN, i64::MAX]);
        holds(device, &[1u8, 2, 3, 4, u8::MAX]);
        holds(device, &[1u16, 2, 0x1234, 4, u16::MAX]);
        holds(device, &[1u32, 2, 0x1234_5678, 4, u32::MAX]);
        holds(device, &[1u64, 2, 0x1234_5678_9abc_def0, 4, u64::MAX]);
        holds(device, &[1.5, -2.0, 0.1, 4.0, -0.25].map(f16::from_f32));
        holds(device, &[1.5, -2.0, 0.1, 4.0, -0.25].map(bf16::from_f32));
        holds(device, &[1.5f32, -2.0, 0.1, f32::MAX, f32::INFINITY]);
        holds(device, &[1.5f64, -2.0, 0.1, f64::MAX, f64::NEG_INFINITY]);
    });
}

#[test]
fn ranges_are_copied_in_every_direction() {
    on_fused(|device| {
        let source = numbered(device, 10);
        let mut target = Buffer::<i32>::zeros(device, PLAIN, 6).unwrap();
        target.copy_range(1, &source, 7..).unwrap();
        target.write_at(4, &[-4, -5]).unwrap();
        assert_eq!(target.to_vec().unwrap(), [0, 7, 8, 9, -4, -5]);
        let mut three = [0; 3];
        source.read_at(4, &mut three).unwrap();
        assert_eq!(three, [4, 5, 6]);
        target.copy_from(source.slice(2..8).unwrap()).unwrap();
        assert_eq!(target.to_vec().unwrap(), [2, 3, 4, 5, 6, 7]);
        for (range, offset, right) in [
            (0..2, 4, [2, 3, 4, 5, 2, 3]),
            (0..5, 1, [2, 2, 3, 4, 5, 2]),
            (2..6, 0, [3, 4, 5, 2, 5, 2]),
            (1..1, 6, [3, 4, 5, 2, 5, 2]),
        ] {
            target.copy_within(range, offset).unwrap();
            assert_eq!(target.to_vec().unwrap(), right);
        }
        // Through the host to another device, and back.
        let other = open("host", Config::default());
        let mut there = Buffer::<i32>::zeros(&other, PLAIN, 6).unwrap();
        there.copy_from(&target).unwrap();
        there.fill_range(..1, 9).unwrap();
        target.copy_range(0, &there, ..2).unwrap();
        assert_eq!(target.to_vec().unwrap(), [9, 4, 5, 2, 5, 2]);
    });
}

#[test]
fn parts_that_do_not_lie_in_a_buffer_are_refused_with_the_numbers() {
    on_fused(|device| {
        let mut buffer = numbered(device, 10);
        let other = numbered(device, 4);
        refused(device, buffer.slice(4..11), is_range, &["4", "11", "10 elements"]);
        #[allow(clippy::reversed_empty_ranges, reason = "that is what is refused")]
        let reversed = 5..4;
        refused(device, buffer.slice(reversed), is_range, &["5", "4"]);
        refused(device, buffer.slice(usize::MAX..=usize::MAX), is_range, &["10 elements"]);
        refused(device, buffer.slice_mut(11..), is_range, &["11"]);
        refused(device, buffer.slice(2..8).unwrap().slice(..7), is_range, &["7", "6 elements"]);
        refused(device, buffer.slice_mut(2..8).unwrap().split_at_mut(7), is_range, &["7", "6 elements"]);
        refused(device, buffer.write_at(8, &[1, 2, 3]), is_range, &["3 elements", "from 8", "10"]);
        refused(device, buffer.write_at(usize::MAX, &[1, 2]), is_range, &["2 elements", "10"]);
        refused(device, buffer.read_at(10, &mut [0]), is_range, &["1 elements", "from 10"]);
        refused(device, buffer.copy_range(8, &other, ..), is_range, &["4 elements", "from 8", "10"]);
        refused(device, buffer.copy_range(0, &other, 2..5), is_range, &["4 elements"]);
        refused(device, buffer.copy_within(3..9, 5), is_range, &["6 elements", "from 5", "10"]);
        refused(device, buffer.copy_from(&other), is_range, &["4 elements into 10"]);
        refused(device, buffer.fill_range(3..12, 0), is_range, &["12", "10 elements"]);
        refused(device, buffer.slice_mut(..3).unwrap().write(&[1, 2]), is_range, &["2 elements into 3"]);
        refused(device, buffer.copy_to_host(&mut [0; 9]), is_data, &["10 elements", "9"]);
        refused(device, buffer.to_array([3, 3]), is_data, &["10 elements", "[3, 3]"]);
        let queue = device.queue().unwrap();
        refused(device, queue.copy(&other, &mut buffer, &[]), is_range, &["4 elements into 10"]);
        refused(device, queue.read(&other, device.pinned(5).unwrap(), &[]), is_range, &["4 elements into 5"]);
        refused(device, queue.write(device.pinned(5).unwrap(), &mut buffer, &[]), is_range, &["5 elements into 10"]);
        refused(device, Buffer::<f64>::uninit(device, PLAIN, usize::MAX / 4), is_data, &["too many"]);
        refused(device, device.pinned::<f64>(usize::MAX / 4), is_data, &["too many"]);
        // Nothing of it was written.
        assert_eq!(buffer.to_vec().unwrap(), numbers(10));
    });
}

#[test]
fn parts_are_buffers_of_their_own() {
    on_fused(|device| {
        let mut buffer = numbered(device, 12);
        let part: BufferSlice<i32> = buffer.slice(3..9).unwrap();
        assert_eq!((part.len(), part.is_empty(), part.device() == device), (6, false, true));
        let array = part.slice(2..).unwrap().to_array([2, 2]).unwrap();
        assert_eq!(flat(&(&array * 10)), [50, 60, 70, 80]);
        let (mut left, mut right) = buffer.slice_mut(2..10).unwrap().split_at_mut(3).unwrap();
        left.fill(-1).unwrap();
        right.write(&[5, 4, 3, 2, 1]).unwrap();
        right.reborrow().split_at_mut(4).unwrap().1.copy_from(numbered(device, 1).slice(..).unwrap()).unwrap();
        assert_eq!((left.to_vec().unwrap(), right.to_vec().unwrap()), (vec![-1; 3], vec![5, 4, 3, 2, 0]));
        assert_eq!(buffer.to_vec().unwrap(), [0, 1, -1, -1, -1, 5, 4, 3, 2, 0, 10, 11]);
        // The array kept what it had.
        assert_eq!(flat(&array), [5, 6, 7, 8]);
        assert!(buffer.slice(5..5).unwrap().to_vec().unwrap().is_empty());
        buffer.slice_mut(12..).unwrap().fill(3).unwrap();
    });
}

#[test]
fn a_write_to_what_an_array_holds_copies_first_and_only_then() {
    on_fused(|device| {
        let n = 100_000;
        let mut buffer = numbered(device, n);
        let live = || device.counters().live_bytes;
        let alone = live();
        // Alone, the buffer is written in place.
        buffer.write_at(0, &[5]).unwrap();
        buffer.fill_range(1..2, 6).unwrap();
        drop(buffer.map_mut().unwrap());
        assert_eq!(live(), alone);
        let array = buffer.to_array([n]).unwrap();
        let lazy = &array + 1;
        assert_eq!(live(), alone);
        // Held, it moves to memory of its own; once.
        buffer.fill_range(..3, -1).unwrap();
        let apart = live();
        assert!(apart >= alone + 4 * n as u64, "{alone} {apart}");
        buffer.write_at(3, &[-1]).unwrap();
        assert_eq!(live(), apart);
        let mut start = numbers(6);
        assert_eq!(buffer.slice(..6).unwrap().to_vec().unwrap(), [-1, -1, -1, -1, 4, 5]);
        (start[0], start[1]) = (5, 6);
        assert_eq!(flat(&array)[..6], start);
        assert_eq!(flat(&lazy)[..6], [6, 7, 3, 4, 5, 6]);
        drop((array, lazy));
        assert_eq!(live(), alone);
        // Every way to write.
        type Write = fn(&Device, &mut Buffer<i32>);
        let writes: [Write; 9] = [
            |_, buffer| buffer.fill(7).unwrap(),
            |_, buffer| buffer.write_at(0, &vec![7; buffer.len()]).unwrap(),
            |device, buffer| buffer.copy_from(&Buffer::zeros(device, PLAIN, buffer.len()).unwrap()).unwrap(),
            |_, buffer| buffer.copy_within(10..20, 0).unwrap(),
            |_, buffer| buffer.map_mut().unwrap().fill(7),
            |_, buffer| buffer.slice_mut(1..3).unwrap().fill(7).unwrap(),
            |_, buffer| buffer.write_rect(Rect::default(), &[7; 4], Rect::default(), [2, 2, 1]).unwrap(),
            |device, buffer| device.queue().unwrap().fill(buffer, 7, &[]).unwrap().wait().unwrap(),
            |device, buffer| {
                let host = device.pinned(buffer.len()).unwrap();
                device.queue().unwrap().write(host, buffer, &[]).unwrap().wait().map(drop).unwrap()
            },
        ];
        for (number, write) in writes.into_iter().enumerate() {
            let mut buffer = numbered(device, 1000);
            let array = buffer.to_array([1000]).unwrap();
            let later = &array * 2;
            write(device, &mut buffer);
            assert_eq!(flat(&array), numbers(1000), "{number}");
            assert_eq!(flat(&later)[999], 1998, "{number}");
            assert!(buffer.to_vec().unwrap() != numbers(1000), "{number} wrote nothing");
        }
    });
}

#[test]
fn arrays_become_buffers_without_a_copy_where_they_lie_in_order() {
    on_fused(|device| {
        let x = device.arange(0, 24, 1).reshape([2, 3, 4]);
        x.eval().unwrap();
        let live = device.counters().live_bytes;
        let mut buffer = Buffer::from_array(PLAIN, &x).unwrap();
        assert_eq!((device.counters().live_bytes, buffer.len()), (live, 24));
        buffer.fill_range(..5, -1).unwrap();
        assert_eq!(flat(&x), numbers(24));
        assert_eq!(buffer.slice(3..7).unwrap().to_vec().unwrap(), [-1, -1, 5, 6]);
        // What is not computed yet, and views of every kind.
        let views = [
            &x * 2 + 1,
            x.t(),
            x.flip(1),
            x.slice(ndarray::s![1.., .., ..2]),
            x.index_axis(0, 1),
            x.slice(ndarray::s![..1, .., ..]),
            device.full([3], 7).broadcast_to([2, 3]),
            device.full([], 7),
            device.zeros::<i32>([0, 3]),
        ];
        for view in views {
            assert_eq!(Buffer::from_array(PLAIN, &view).unwrap().to_vec().unwrap(), flat(&view));
        }
        // Mistakes of the array are told here: those that were recorded, and those that the device met.
        let wrong = device.zeros::<i32>([2]) + device.zeros::<i32>([3]);
        let outcome = Buffer::from_array(PLAIN, &wrong);
        refused(device, outcome, |error| matches!(error, Error::ShapeMismatch { .. }), &["[2]", "[3]"]);
        let index = device.from_slice(&[1i64, 99]).unwrap();
        let outcome = Buffer::from_array(PLAIN, &device.from_slice(&[1, 2, 3]).unwrap().take(&index, 0));
        refused(device, outcome, |error| matches!(error, Error::IndexOutOfRange { .. }), &["99"]);
        let index = device.from_slice(&[2i64, 0]).unwrap();
        let taken = Buffer::from_array(PLAIN, &device.from_slice(&[1, 2, 3]).unwrap().take(&index, 0)).unwrap();
        assert_eq!(flat(&(taken.to_array(2).unwrap() + 1)), [4, 2]);
    });
}

#[test]
fn a_vector_is_used_and_given_back() {
    on_fused(|device| {
        let is_cpu = |info: &lazuli::DeviceInfo| info.name == device.name() && info.description.contains(", CPU,");
        let is_in_place = device.name() == "host" || Device::list().iter().any(is_cpu);
        let elements: Vec<f32> = (0..1001).map(|k| k as f32).collect();
        let address = elements.as_ptr();
        let mut buffer = Buffer::from_vec(device, MemFlags::USE_HOST_PTR, elements).unwrap();
        buffer.fill_range(..2, -1.0).unwrap();
        buffer.write_at(1000, &[0.5]).unwrap();
        let doubled = buffer.to_array([1001]).unwrap() * 2.0;
        doubled.eval().unwrap();
        assert_eq!(buffer.map().unwrap().as_ptr() == address, is_in_place);
        let back = buffer.into_vec().unwrap();
        // The same memory, with what was written, wherever the device worked on it.
        assert_eq!((back.as_ptr(), back.len()), (address, 1001));
        assert_eq!((&back[..4], back[1000]), (&[-1.0, -1.0, 2.0, 3.0][..], 0.5));
        assert_eq!(flat(&doubled)[..4], [-2.0, -2.0, 4.0, 6.0]);
        // Where an array holds the memory, the elements come in a vector of their own.
        let buffer = Buffer::from_vec(device, MemFlags::USE_HOST_PTR, back).unwrap();
        let array = buffer.to_array([1001]).unwrap();
        let apart = buffer.into_vec().unwrap();
        assert_eq!(flat(&array), apart);
        drop(array);
        // Work of another queue is waited for.
        let queue = device.queue().unwrap();
        let mut buffer = Buffer::from_vec(device, MemFlags::USE_HOST_PTR, vec![1i64; 1 << 18]).unwrap();
        queue.fill(&mut buffer, 6, &[]).unwrap();
        assert_eq!(buffer.into_vec().unwrap(), vec![6; 1 << 18]);
        assert!(
            Buffer::from_vec(device, MemFlags::USE_HOST_PTR, Vec::<u8>::new()).unwrap().into_vec().unwrap().is_empty()
        );
        let live = device.counters().live_bytes;
        drop(Buffer::from_vec(device, MemFlags::USE_HOST_PTR, vec![1u8; 1000]).unwrap());
        assert_eq!(device.counters().live_bytes, live);
    });
}

#[test]
fn mapped_memory_is_a_slice() {
    on_fused(|device| {
        let mut buffer = numbered(device, 1000);
        {
            let (first, second) = (buffer.map().unwrap(), buffer.slice(10..20).unwrap().map().unwrap());
            assert_eq!((first[999], &second[..2]), (999, &[10, 11][..]));
            // Mapped to be read, it may be read by kernels.
            assert_eq!(buffer.to_array([1000]).unwrap().sum().item().unwrap(), 499_500);
            second.unmap().unwrap();
        }
        let before = buffer.to_array([1000]).unwrap();
        let lazy = &before + 1;
        let mut mapped = buffer.map_mut().unwrap();
        mapped[0] = -5;
        mapped[999] = -6;
        // Made before, the array keeps its value while the buffer is mapped, and after.
        assert_eq!(lazy.slice(ndarray::s![..2]).get().unwrap().as_slice(), Some(&[1, 2][..]));
        mapped.unmap().unwrap();
        assert_eq!(flat(&before), numbers(1000));
        assert_eq!(flat(&lazy)[999], 1000);
        let sum = buffer.to_array([1000]).unwrap().sum();
        assert_eq!(sum.item().unwrap(), 499_500 - 5 - 999 - 6);
        // A part, behind a guard that is dropped; then from another queue.
        buffer.slice_mut(5..8).unwrap().map_mut().unwrap().fill(3);
        assert_eq!(buffer.slice(4..9).unwrap().to_vec().unwrap(), [4, 3, 3, 3, 8]);
        let queue = device.queue().unwrap();
        queue.fill(&mut buffer, 9, &[]).unwrap();
        assert!(buffer.map().unwrap().iter().all(|x| *x == 9));
        buffer.map_mut().unwrap()[1] = 4;
        let mut other = Buffer::<i32>::uninit(device, PLAIN, 1000).unwrap();
        queue.copy(&buffer, &mut other, &[]).unwrap();
        assert_eq!(other.to_vec().unwrap()[..3], [9, 4, 9]);
        assert!(Buffer::<f32>::zeros(device, PLAIN, 0).unwrap().map_mut().unwrap().is_empty());
    });
}

#[test]
fn a_mapped_buffer_used_while_mapped_is_an_error() {
    on_fused(|device| {
        let mut buffer = numbered(device, 100);
        let word = ["mapped to be written"];
        {
            let (left, mut right) = buffer.slice_mut(..).unwrap().split_at_mut(40).unwrap();
            let mut mapped = left.map_mut().unwrap();
            mapped[3] = -3;
            refused(device, right.fill(1), is_use, &word);
            refused(device, right.write(&[0; 60]), is_use, &word);
            refused(device, right.to_vec(), is_use, &word);
            refused(device, right.reborrow().map_mut(), is_use, &word);
            let queue = device.queue().unwrap();
            refused(device, queue.fill(right.reborrow(), 1, &[]), is_use, &word);
            mapped.unmap().unwrap();
            right.fill(1).unwrap();
        }
        assert_eq!(buffer.slice(..5).unwrap().to_vec().unwrap(), [0, 1, 2, -3, 4]);
        // A guard that is forgotten leaves the buffer mapped; nothing else is harmed.
        std::mem::forget(buffer.map_mut().unwrap());
        refused(device, buffer.to_vec(), is_use, &word);
        refused(device, buffer.to_array([100]), is_use, &word);
        refused(device, buffer.fill(1), is_use, &word);
        refused(device, buffer.write_at(0, &[1]), is_use, &word);
        refused(device, buffer.map(), is_use, &word);
        refused(device, buffer.slice_mut(..), is_use, &word);
        refused(device, buffer.into_vec(), is_use, &word);
        // One that only read is no hindrance.
        let mut buffer = numbered(device, 100);
        std::mem::forget(buffer.map().unwrap());
        buffer.fill(2).unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [2; 100]);
    });
}

/// Copies a region between slices of the host, element by element.
fn model(from: (&[i32], Rect), to: (&mut [i32], Rect), [width, height, depth]: [usize; 3]) {
    let place = |rect: Rect, x: usize, y: usize, z: usize| {
        let row = if rect.row_pitch == 0 { width } else { rect.row_pitch };
        let slice = if rect.slice_pitch == 0 { row * height } else { rect.slice_pitch };
        (rect.origin[2] + z) * slice + (rect.origin[1] + y) * row + rect.origin[0] + x
    };
    for z in 0..depth {
        for y in 0..height {
            for x in 0..width {
                to.0[place(to.1, x, y, z)] = from.0[place(from.1, x, y, z)];
            }
        }
    }
}

#[test]
fn regions_are_copied_in_every_direction() {
    on_fused(|device| {
        let n = 6 * 7 * 8;
        let rect = |origin, row, slice| Rect::at(origin).with_row_pitch(row).with_slice_pitch(slice);
        let cases = [
            // A plane of a matrix, dense to dense, from a matrix to a vector, in three dimensions with gaps, and one element.
            (rect([2, 3, 0], 8, 0), rect([0, 1, 0], 6, 0), [4, 3, 1]),
            (Rect::default(), Rect::at([3, 0, 0]), [10, 3, 2]),
            (rect([1, 0, 0], 12, 0), Rect::default(), [1, 9, 1]),
            (rect([1, 2, 1], 6, 42), rect([0, 1, 2], 5, 20), [3, 2, 4]),
            (rect([5, 6, 7], 6, 42), Rect::default(), [1, 1, 1]),
            (rect([0, 0, 0], 6, 42), rect([0, 0, 0], 6, 42), [6, 7, 8]),
            // Rows that run past their pitch's end.
            (rect([4, 1, 0], 6, 0), rect([3, 0, 0], 7, 0), [5, 4, 1]),
            (rect([0, 0, 3], 1, 6), rect([2, 0, 0], 1, 1), [1, 1, 30]),
        ];
        let queue = device.queue().unwrap();
        let numbers = numbers(n);
        let source = numbered(device, n);
        for (from, to, extents) in cases {
            let mut right = vec![-1; n];
            model((&numbers, from), (&mut right, to), extents);
            let blank = || Buffer::from_slice(device, COPY, &vec![-1; n]).unwrap();
            let mut host = vec![-1; n];
            source.read_rect(from, &mut host, to, extents).unwrap();
            assert_eq!(host, right, "{from:?} {to:?} read");
            let mut target = blank();
            target.write_rect(to, &numbers, from, extents).unwrap();
            assert_eq!(target.to_vec().unwrap(), right, "{from:?} {to:?} written");
            let mut target = blank();
            target.copy_rect(to, &source, from, extents).unwrap();
            assert_eq!(target.to_vec().unwrap(), right, "{from:?} {to:?} copied");
            // On a queue, between pinned memory and parts that begin at odd places.
            let mut pinned = device.pinned::<i32>(n).unwrap();
            pinned.copy_from_slice(&numbers);
            let mut target = Buffer::from_slice(device, COPY, &vec![-1; n + 5]).unwrap();
            let part = target.slice_mut(5..).unwrap();
            let written = queue.write_rect((pinned, from), (part, to), extents, &[]).unwrap();
            let mut pinned = written.wait().unwrap();
            assert_eq!(target.slice(5..).unwrap().to_vec().unwrap(), right, "{from:?} {to:?} written on a queue");
            pinned.fill(-1);
            let read = queue.read_rect((&source, from), (pinned, to), extents, &[]).unwrap();
            assert_eq!(read.wait().unwrap()[..], right, "{from:?} {to:?} read on a queue");
            let mut target = Buffer::from_slice(device, COPY, &vec![-1; n + 3]).unwrap();
            let part = target.slice_mut(3..).unwrap();
            queue.copy_rect((&source, from), (part, to), extents, &[]).unwrap();
            assert_eq!(target.slice(3..).unwrap().to_vec().unwrap(), right, "{from:?} {to:?} copied on a queue");
        }
        let mut mask = [true; 6];
        let bits = Buffer::from_slice(device, COPY, &[true, false, false, true]).unwrap();
        bits.read_rect(Rect::default(), &mut mask, Rect::default().with_row_pitch(3), [2, 2, 1]).unwrap();
        assert_eq!(mask, [true, false, true, false, true, true]);
    });
}

#[test]
fn regions_that_do_not_fit_are_refused_with_the_numbers() {
    on_fused(|device| {
        let mut buffer = numbered(device, 24);
        let mut host = [0; 24];
        let dense = Rect::default();
        let row = |pitch| Rect::default().with_row_pitch(pitch);
        let refuse = |outcome: Result<()>, words: &[&str]| refused(device, outcome, is_range, words);
        refuse(buffer.read_rect(dense, &mut host, dense, [5, 5, 1]), &["[5, 5, 1]", "number 24 of 24"]);
        refuse(buffer.read_rect(Rect::at([1, 0, 0]), &mut host, dense, [4, 6, 1]), &["[1, 0, 0]", "number 24 of 24"]);
        refuse(buffer.read_rect(dense, &mut host[..5], dense, [3, 2, 1]), &["number 5 of 5"]);
        refuse(buffer.read_rect(row(2), &mut host, dense, [3, 2, 1]), &["row pitch of 2", "row of 3"]);
        refuse(buffer.write_rect(row(4).with_slice_pitch(6), &[0; 24], dense, [2, 1, 2]), &["slice pitch of 6", "4"]);
        refuse(buffer.write_rect(row(4).with_slice_pitch(4), &[0; 24], dense, [2, 2, 2]), &["slice pitch of 4"]);
        refuse(buffer.write_rect(Rect::at([usize::MAX, 1, 1]), &[0; 24], dense, [2, 2, 2]), &["counted"]);
        refuse(buffer.write_rect(dense, &[0; 3], dense, [2, 2, 1]), &["number 3 of 3"]);
        let other = numbered(device, 4);
        refuse(buffer.copy_rect(dense, &other, dense, [3, 2, 1]), &["number 5 of 4"]);
        refuse(buffer.copy_rect(dense, &other, dense, [usize::MAX, 2, 1]), &[]);
        let queue = device.queue().unwrap();
        let pinned = || device.pinned::<i32>(3).unwrap();
        refuse(queue.read_rect((&other, dense), (pinned(), dense), [2, 2, 1], &[]).map(drop), &["number 3 of 3"]);
        let outcome = queue.write_rect((pinned(), dense), (&mut buffer, dense), [2, 2, 1], &[]);
        refuse(outcome.map(drop), &["number 3 of 3"]);
        let outcome = queue.copy_rect((&other, dense), (&mut buffer, Rect::at([23, 0, 0])), [2, 1, 1], &[]);
        refuse(outcome.map(drop), &["number 24 of 24"]);
        // Where there is nothing to copy, nothing is wrong, and events come all the same.
        buffer.copy_rect(dense, &other, dense, [0, 9, 9]).unwrap();
        queue.copy_rect((&other, dense), (&mut buffer, dense), [9, 0, 1], &[]).unwrap().wait().unwrap();
        queue.write_rect((pinned(), dense), (&mut buffer, dense), [9, 0, 1], &[]).unwrap().wait().unwrap();
        assert_eq!(buffer.to_vec().unwrap(), numbers(24));
        let elsewhere = numbered(&open("host", Config::default()), 4);
        refused(device, buffer.copy_rect(dense, &elsewhere, dense, [2, 2, 1]), is_use, &["two devices"]);
    });
}

#[test]
fn copies_that_nobody_waits_for() {
    on_fused(|device| {
        let n = 1 << 20;
        let (upload, compute, download) = (device.queue().unwrap(), device.queue().unwrap(), device.queue().unwrap());
        let mut here = Buffer::<f32>::uninit(device, PLAIN, n).unwrap();
        let mut there = Buffer::<f32>::uninit(device, PLAIN, n).unwrap();
        let (mut source, mut target) = (device.pinned::<f32>(n).unwrap(), device.pinned::<f32>(n).unwrap());
        assert!(source.iter().all(|x| *x == 0.0) && format!("{source:?}").contains("f32"));
        for round in 1..=4 {
            source.fill(round as f32);
            let written = upload.write(source, &mut here, &[]).unwrap();
            let copied = compute.copy(&here, &mut there, &[written.event().clone()]).unwrap();
            compute.fill(there.slice_mut(..3).unwrap(), -1.0, &[]).unwrap();
            let read = download.read(&there, target, &[copied]).unwrap();
            // Lazy work takes its part too.
            let sum = there.to_array([n]).unwrap().cast::<f64>().sum();
            assert_eq!(sum.item().unwrap(), f64::from(round) * (n - 3) as f64 - 3.0);
            target = read.wait().unwrap();
            source = written.wait().unwrap();
            assert_eq!((&target[..4], target[n - 1]), (&[-1.0, -1.0, -1.0, round as f32][..], round as f32));
        }
        // Dropped while under way, a copy is waited for.
        drop(download.read(&there, target, &[]).unwrap());
        let read = download.read(there.slice(..2).unwrap(), device.pinned(2).unwrap(), &[]).unwrap();
        read.event().wait().unwrap();
        assert!(read.is_done().unwrap());
        assert!(read.event().duration().unwrap() > std::time::Duration::ZERO);
        assert_eq!(read.wait().unwrap()[..], [-1.0, -1.0]);
    });
}

#[test]
fn a_write_that_is_refused_leaves_the_buffer_as_it_was() {
    on_fused(|device| {
        let elements = [1i32, 2, 3, 4];
        // Another device: the host, opened anew.
        let other = open("host", Config::default());
        let (own_queue, other_queue) = (device.queue().unwrap(), other.queue().unwrap());
        let foreign = Buffer::from_slice(&other, COPY, &[9i32; 4]).unwrap();
        type Refused<'a> = &'a dyn Fn(&mut Buffer<i32>) -> Result<()>;
        let refusals: [Refused; 4] = [
            &|buffer| own_queue.copy(&foreign, buffer, &[]).map(|_| ()),
            &|buffer| other_queue.fill(buffer, 7, &[]).map(|_| ()),
            &|buffer| other_queue.write(other.pinned(4)?, buffer, &[]).map(|_| ()),
            &|buffer| other_queue.copy(&foreign, buffer, &[]).map(|_| ()),
        ];
        for refusal in refusals {
            let mut buffer = Buffer::from_slice(device, COPY, &elements).unwrap();
            let shared = buffer.to_array(4).unwrap(); // so that the buffer would have memory of its own before it is written
            refused(device, refusal(&mut buffer), is_use, &["host"]);
            assert_eq!(buffer.to_vec().unwrap(), elements);
            assert_eq!(flat(&shared), elements);
        }
        // What goes well still leaves the array alone.
        let mut buffer = Buffer::from_slice(device, COPY, &elements).unwrap();
        let shared = buffer.to_array(4).unwrap();
        own_queue.fill(&mut buffer, 7, &[]).unwrap();
        assert_eq!((buffer.to_vec().unwrap(), flat(&shared)), (vec![7; 4], elements.to_vec()));
        buffer.copy_from(&foreign).unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [9; 4]);
    });
}

#[lazuli::kernel]
fn add_one(x: &mut [f32]) {
    let i = lazuli::kernel::grid1();
    if i < x.len() {
        x[i] += 1.0;
    }
}

#[test]
fn parts_for_kernels_begin_where_the_device_lets_them() {
    on_fused(|device| {
        let mut buffer = Buffer::<f32>::zeros(device, PLAIN, 2048).unwrap();
        add_one(buffer.slice_mut(1024..1030).unwrap()).forall(6).unwrap();
        for empty in [2048..2048, 3..3] {
            add_one(buffer.slice_mut(empty).unwrap()).launch(1, 32).unwrap();
        }
        let outcome = add_one(buffer.slice_mut(1..3).unwrap()).forall(2);
        if device.name().starts_with("opencl") {
            let is_launch = |error: &Error| matches!(error, Error::InvalidLaunch { .. });
            refused(device, outcome, is_launch, &["add_one", "argument 0", "byte 4", "multiples of"]);
        } else {
            outcome.unwrap();
            assert_eq!(buffer.slice(..4).unwrap().to_vec().unwrap(), [0.0, 1.0, 1.0, 0.0]);
        }
        assert_eq!(buffer.slice(1023..1031).unwrap().to_vec().unwrap(), [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
    });
}
