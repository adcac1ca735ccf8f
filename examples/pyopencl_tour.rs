//! PyOpenCL's two ways to hold data on a device, `Buffer` and `to_device`, step by step beside the Python lines: the program of
//! "Numpy Pyopencl: the difference between to_device and Buffer", with the rest of what a `Buffer` does.
//!
//!     cargo run --release --example pyopencl_tour
//!     LAZULI_DEVICE=host cargo run --release --example pyopencl_tour      (or opencl:0, cuda:0)
//!
//! Each step checks its result; a wrong one ends the program with an error. On every device the steps are the same but one:
//! the host compiles no OpenCL C, and leaves the kernel from source out.

use std::process::ExitCode;
use std::slice::from_ref;

use lazuli::prelude::*;
use lazuli::{Buffer, Language, MemFlags, Module, Queue, Rect, args};
use ndarray::Array1;

/// np.random.rand(1000)
const N: usize = 1000;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("pyopencl_tour: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome {
    // ctx = cl.create_some_context()
    let device = Device::auto()?;
    println!("{device}");
    // queue = cl.CommandQueue(ctx, properties=cl.command_queue_properties.PROFILING_ENABLE)
    let queue = device.queue()?;

    // a = np.random.rand(1000).astype(np.float32)
    let a: Vec<f32> = (0..N as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32).collect();

    buffers(&device, &a)?;
    copies(&device, &queue, &a)?;
    regions(&device)?;
    mappings(&device, &a)?;
    kernel(&device, &queue, &a)?;
    arrays(&device, &a)?;
    println!("pyopencl_tour: right on {}", device.name());
    Ok(())
}

/// Buffers are made with flags that say how they are used.
fn buffers(device: &Device, a: &[f32]) -> Outcome {
    // mf = cl.mem_flags
    // a_buffer = cl.Buffer(ctx, mf.READ_ONLY | mf.COPY_HOST_PTR, hostbuf=a)
    let a_buffer = Buffer::from_slice(device, MemFlags::READ_ONLY | MemFlags::COPY_HOST_PTR, a)?;
    // res = cl.Buffer(ctx, mf.WRITE_ONLY, a.nbytes)
    let res = Buffer::<f32>::uninit(device, MemFlags::WRITE_ONLY, N)?;
    // a_buffer.size, a_buffer.flags
    println!("{a_buffer:?}\n{res:?}");

    // Python hands contradictory flags to the driver; here the error names them.
    let contradiction = Buffer::<f32>::uninit(device, MemFlags::READ_ONLY | MemFlags::WRITE_ONLY, N);
    expect(contradiction.is_err(), "READ_ONLY | WRITE_ONLY is refused")?;

    // in_place = cl.Buffer(ctx, mf.READ_WRITE | mf.USE_HOST_PTR, hostbuf=a)
    let mut in_place = Buffer::from_vec(device, MemFlags::READ_WRITE | MemFlags::USE_HOST_PTR, a.to_vec())?;
    in_place.fill_range(..10, 0.5)?;
    // In Python `a` has changed once the queue is done; in Rust the vector comes back.
    let back = in_place.into_vec()?;
    expect(back[..10] == [0.5; 10] && back[10..] == a[10..], "a vector used in place and given back")
}

/// Copies in all directions, on a queue, with events.
fn copies(device: &Device, queue: &Queue, a: &[f32]) -> Outcome {
    let a_buffer = Buffer::from_slice(device, MemFlags::READ_ONLY | MemFlags::COPY_HOST_PTR, a)?;
    let mut b_buffer = Buffer::<f32>::uninit(device, MemFlags::READ_WRITE, N)?;

    // evt = cl.enqueue_copy(queue, b_buffer, a_buffer)
    let copied = queue.copy(&a_buffer, &mut b_buffer, &[])?;
    // sub = b_buffer.get_sub_region(400, 800)         (in bytes; here in elements)
    let sub = b_buffer.slice_mut(100..300)?;
    // evt2 = cl.enqueue_fill_buffer(queue, sub, np.float32(7), 0, 800, wait_for=[evt])
    let filled = queue.fill(sub, 7.0, from_ref(&copied))?;

    // b = np.empty_like(a)                            (in page-locked memory, so that nobody need wait)
    let b = device.pinned::<f32>(N)?;
    // evt3 = cl.enqueue_copy(queue, b, b_buffer, is_blocking=False, wait_for=[evt2])
    let read = queue.read(&b_buffer, b, from_ref(&filled))?;
    let event = read.event().clone();
    // evt3.wait()                                     (before that, Rust does not let go of `b`)
    let b = read.wait()?;
    expect(b[..100] == a[..100] && b[100..300] == [7.0; 200] && b[300..] == a[300..], "copied, filled and read")?;

    // evt.profile.end - evt.profile.start
    println!(
        "on the device: copy {:?}, fill {:?}, read {:?}",
        copied.duration()?,
        filled.duration()?,
        event.duration()?
    );
    // evt3.profile.end - evt.profile.end
    println!("from the end of the copy to that of the read {:?}", event.elapsed_since(&copied)?);
    // evt.command_execution_status == cl.command_execution_status.COMPLETE
    expect(copied.is_done()? && filled.is_done()?, "events of one queue are done in order")?;

    // cl.enqueue_copy(queue, a_head, a_buffer)        (blocking, with a smaller target)
    let mut head = [0.0f32; 4];
    a_buffer.read_at(0, &mut head)?;
    expect(head == a[..4], "a range read to the host")?;
    let too_far = a_buffer.read_at(N - 2, &mut head);
    println!("past the end: {}", too_far.err().ok_or("4 elements were read where 2 are left")?);
    Ok(())
}

/// Rectangular copies.
fn regions(device: &Device) -> Outcome {
    // m = np.arange(48, dtype=np.int32).reshape(6, 8)
    let m: Vec<i32> = (0..48).collect();
    // m_buffer = cl.Buffer(ctx, mf.READ_ONLY | mf.COPY_HOST_PTR, hostbuf=m)
    let m_buffer = Buffer::from_slice(device, MemFlags::READ_ONLY | MemFlags::COPY_HOST_PTR, &m)?;
    // part = np.empty((2, 3), np.int32)
    let mut part = [0; 6];
    // cl.enqueue_copy(queue, part, m_buffer, buffer_origin=(4*4, 3), host_origin=(0, 0), region=(3*4, 2), buffer_pitches=(8*4,))
    m_buffer.read_rect(Rect::at([4, 3, 0]).with_row_pitch(8), &mut part, Rect::default(), [3, 2, 1])?;
    expect(part == [28, 29, 30, 36, 37, 38], "m[3:5, 4:7] by a rectangular copy")
}

/// Device memory as memory of the host.
fn mappings(device: &Device, a: &[f32]) -> Outcome {
    let mut a_buffer = Buffer::from_slice(device, MemFlags::READ_WRITE | MemFlags::COPY_HOST_PTR, a)?;
    // (ary, evt) = cl.enqueue_map_buffer(queue, a_buffer, cl.map_flags.WRITE, 0, (1000,), np.float32)
    // with ary.base:
    let mut ary = a_buffer.map_mut()?;
    //     ary[::2] = 0
    ary.iter_mut().step_by(2).for_each(|x| *x = 0.0);
    // The guard's end unmaps, in Python the context's; while it lasts the borrow checker keeps others from the buffer.
    ary.unmap()?;
    // with a_buffer mapped to be read: ary.sum()
    let sum: f32 = a_buffer.map()?.iter().sum();
    let right: f32 = a.iter().enumerate().map(|(i, x)| if i % 2 == 0 { 0.0 } else { *x }).sum();
    expect(sum == right, "written and read through mappings")
}

/// A kernel from source over buffers.
fn kernel(device: &Device, queue: &Queue, a: &[f32]) -> Outcome {
    // prg = cl.Program(ctx, "__kernel void twice(...) { ... }").build()
    let source =
        "KERNEL twice(GLOBAL const f32 *a, GLOBAL f32 *res, i32 n) { if (INDEX_X < n) res[INDEX_X] = a[INDEX_X] * 2; }";
    let program = match Module::builder(device).language(Language::Portable).name("twice").source(source) {
        Err(Error::Unsupported { what, .. }) => {
            println!("left out here; no support for {what}");
            return Ok(());
        }
        built => built?,
    };
    let a_buffer = Buffer::from_slice(device, MemFlags::READ_ONLY | MemFlags::COPY_HOST_PTR, a)?;
    let mut res = Buffer::<f32>::uninit(device, MemFlags::WRITE_ONLY, N)?;
    // evt = prg.twice(queue, a.shape, None, a_buffer, res, np.int32(1000))
    let twice = program.function("twice")?;
    let (threads, n) = (64, N as i32);
    let event = twice.call(args![&a_buffer, &mut res, n]).submit(queue, &[], N.div_ceil(threads), threads)?;
    // cl.enqueue_copy(queue, result, res)
    let result = res.to_vec()?;
    expect(result.iter().zip(a).all(|(twice, x)| *twice == x * 2.0), "every element doubled by a kernel from source")?;
    println!("the kernel took {:?}", event.duration()?);
    Ok(())
}

/// Arrays do all of this by themselves.
fn arrays(device: &Device, a: &[f32]) -> Outcome {
    let a = Array1::from(a.to_vec());
    // a_device = cl.array.to_device(queue, a)
    let a_device = device.to_device(&a)?;
    // expr = "a_device * 2"; result = eval(expr)      (recorded here, and run by `get`)
    let result = &a_device * 2.0;
    // result_host = result.get()
    let result_host = result.get()?;
    expect(result_host == (&a * 2.0).into_dyn(), "to_device, * 2, get")?;

    // result.base_data                                (the buffer below the array, and back, without a copy)
    let mut buffer = Buffer::from_array(MemFlags::READ_WRITE, &result)?;
    buffer.write_at(0, &[-1.0])?;
    // In Python the array changes with its buffer. Here it is a value.
    expect(result.get()? == result_host, "the array keeps its value")?;
    let again = buffer.to_array([N / 10, 10])?;
    let right = result_host.iter().skip(1).fold(-1.0f32, |most, x| most.max(*x));
    expect(again.max().item()? == right && again.index_axis(0, 0).get()?[[0]] == -1.0, "an array over the buffer")
}

fn expect(holds: bool, what: &str) -> Outcome {
    if !holds {
        return Err(format!("wrong: {what}").into());
    }
    println!("ok: {what}");
    Ok(())
}
