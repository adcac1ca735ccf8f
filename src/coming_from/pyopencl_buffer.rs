//! From PyOpenCL's `Buffer`: memory, copies, events and programs. `mf` is `cl.mem_flags`.
//!
//! # Memory and copies
//!
//! | PyOpenCL | Lazuli |
//! |---|---|
//! | `cl.create_some_context()`, `PYOPENCL_CTX` | [`Device::auto`](crate::Device::auto), `LAZULI_DEVICE`; all of them: [`Device::list`](crate::Device::list) |
//! | `cl.Buffer(ctx, mf.READ_WRITE, nbytes)` | [`Buffer::uninit`](crate::Buffer::uninit), or [`zeros`](crate::Buffer::zeros), in elements |
//! | `mf.READ_WRITE`, `mf.READ_ONLY`, `mf.WRITE_ONLY` | [`MemFlags`](crate::MemFlags), held against every use; test `what_the_flags_forbid_is_refused_and_nothing_else` |
//! | `mf.COPY_HOST_PTR, hostbuf=a` | [`Buffer::from_slice`](crate::Buffer::from_slice) |
//! | `cl.enqueue_copy(queue, buf, a)` | [`write_at`](crate::Buffer::write_at) |
//! | `cl.enqueue_copy(queue, a, buf)` | [`to_vec`](crate::Buffer::to_vec), [`copy_to_host`](crate::Buffer::copy_to_host), [`read_at`](crate::Buffer::read_at) |
//! | `cl.enqueue_copy(queue, buf, other)` | [`copy_from`](crate::Buffer::copy_from), [`copy_range`](crate::Buffer::copy_range), [`copy_within`](crate::Buffer::copy_within) |
//! | `cl.enqueue_copy(.., buffer_origin=, host_origin=, region=, buffer_pitches=)` | [`read_rect`](crate::Buffer::read_rect), [`write_rect`](crate::Buffer::write_rect), [`copy_rect`](crate::Buffer::copy_rect), with a [`Rect`](crate::Rect) for each side |
//! | `cl.enqueue_fill_buffer` | [`fill`](crate::Buffer::fill), [`fill_range`](crate::Buffer::fill_range) |
//! | `buf.get_sub_region`, `buf[8:16]` | [`slice`](crate::Buffer::slice), [`slice_mut`](crate::Buffer::slice_mut): borrows, of which none may overlap one that is written. For kernels on OpenCL they are aligned, as there |
//!
//! ```
//! use lazuli::prelude::*;
//! use lazuli::{Buffer, MemFlags, Rect};
//!
//! let device = Device::auto()?;
//! assert!(Device::list().iter().any(|found| found.name == device.name()));
//! let a = [0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
//! let fixed = Buffer::from_slice(&device, MemFlags::READ_ONLY | MemFlags::COPY_HOST_PTR, &a)?;
//! let mut buffer = Buffer::uninit(&device, MemFlags::READ_WRITE, 8)?;
//!
//! buffer.copy_from(&fixed)?;
//! buffer.write_at(6, &[60.0, 70.0])?;
//! buffer.fill_range(..2, 9.0)?;
//! buffer.slice_mut(2..4)?.fill(8.0)?;
//! assert_eq!(buffer.to_vec()?, [9.0, 9.0, 8.0, 8.0, 4.0, 5.0, 60.0, 70.0]);
//! buffer.copy_range(0, &fixed, 4..6)?;
//! buffer.copy_within(6.., 2)?;
//! let mut head = [0.0; 4];
//! buffer.read_at(0, &mut head)?;
//! assert_eq!(head, [4.0, 5.0, 60.0, 70.0]);
//!
//! // Rows of 4: the middle two columns of both rows. The regions and places are along x, y and z.
//! let mut middle = [0.0; 4];
//! fixed.read_rect(Rect::at([1, 0, 0]).with_row_pitch(4), &mut middle, Rect::default(), [2, 2, 1])?;
//! assert_eq!(middle, [1.0, 2.0, 5.0, 6.0]);
//! buffer.fill(0.0)?;
//! buffer.write_rect(Rect::at([1, 0, 0]).with_row_pitch(4), &middle, Rect::default(), [2, 2, 1])?;
//! buffer.copy_rect(Rect::default().with_row_pitch(4), &fixed, Rect::at([3, 0, 0]).with_row_pitch(4), [1, 2, 1])?;
//! assert_eq!(buffer.to_vec()?, [3.0, 1.0, 2.0, 0.0, 7.0, 5.0, 6.0, 0.0]);
//!
//! // What does not fit is an error with the numbers.
//! let error = fixed.read_at(6, &mut head).unwrap_err().to_string();
//! assert!(error.contains("6") && error.contains("8"), "{error}");
//! assert!(Buffer::<f32>::zeros(&device, MemFlags::READ_ONLY | MemFlags::WRITE_ONLY, 8).is_err());
//! # Ok::<(), lazuli::Error>(())
//! ```
//!
//! # Host memory
//!
//! | PyOpenCL | Lazuli |
//! |---|---|
//! | `mf.USE_HOST_PTR, hostbuf=a` | [`Buffer::from_vec`](crate::Buffer::from_vec), which owns the vector, and [`into_vec`](crate::Buffer::into_vec). In place on CPUs; GPUs have a copy |
//! | `mf.ALLOC_HOST_PTR` | [`MemFlags::ALLOC_HOST_PTR`](crate::MemFlags::ALLOC_HOST_PTR), a wish, which CUDA passes over |
//! | `mf.HOST_READ_ONLY`, `HOST_WRITE_ONLY`, `HOST_NO_ACCESS` | the same flags, and the same test |
//! | `cl.enqueue_map_buffer(.., READ, ..)` | [`map`](crate::Buffer::map) gives a guard that is a slice |
//! | `cl.enqueue_map_buffer(.., WRITE, ..)`, `with ary.base:` | [`map_mut`](crate::Buffer::map_mut); [`unmap`](crate::MappedMut::unmap), or the guard's end |
//!
//! ```
//! use lazuli::prelude::*;
//! use lazuli::{Buffer, MemFlags};
//!
//! let device = Device::auto()?;
//! let mut buffer = Buffer::from_vec(&device, MemFlags::USE_HOST_PTR, vec![1, 2, 3, 4])?;
//! {
//!     let mut mapped = buffer.map_mut()?;
//!     mapped[0] = 10;
//!     mapped.unmap()?;
//! }
//! assert_eq!(buffer.map()?.iter().sum::<i32>(), 19);
//! assert_eq!(buffer.into_vec()?, [10, 2, 3, 4]);
//!
//! let near = MemFlags::ALLOC_HOST_PTR | MemFlags::HOST_WRITE_ONLY;
//! let mut buffer = Buffer::<i32>::zeros(&device, near, 4)?;
//! buffer.write_at(0, &[5; 4])?;
//! assert!(buffer.map().is_err()); // the host only writes
//! assert_eq!(buffer.to_array([2, 2])?.sum().item()?, 20); // an array over it is another value
//! # Ok::<(), lazuli::Error>(())
//! ```
//!
//! # Queues and events
//!
//! | PyOpenCL | Lazuli |
//! |---|---|
//! | `cl.CommandQueue(ctx)` | [`Device::queue`](crate::Device::queue). Whoever names none has the queue of lazy work |
//! | `is_blocking=False` | methods of [`Queue`](crate::Queue): [`copy`](crate::Queue::copy), [`fill`](crate::Queue::fill), [`write`](crate::Queue::write), [`read`](crate::Queue::read), [`copy_rect`](crate::Queue::copy_rect), ..; all of them in test `copies_that_nobody_waits_for` |
//! | `wait_for=[event]` | the last argument of each, or [`Queue::wait_for`](crate::Queue::wait_for) |
//! | `cl.enqueue_marker` | [`Queue::record`](crate::Queue::record) |
//! | `event.wait()`, `event.command_execution_status` | [`wait`](crate::Event::wait), [`is_done`](crate::Event::is_done) |
//! | `event.profile.end - event.profile.start` | [`duration`](crate::Event::duration), [`elapsed_since`](crate::Event::elapsed_since) |
//! | `event.set_callback` | [`on_done`](crate::Event::on_done), or `event.await` (test `events_are_awaited_without_a_runtime`) |
//! | `queue.finish()` | [`Queue::synchronize`](crate::Queue::synchronize) |
//!
//! ```
//! use lazuli::prelude::*;
//! use lazuli::{Buffer, MemFlags};
//!
//! let device = Device::auto()?;
//! let (queue, other) = (device.queue()?, device.queue()?);
//! let source = Buffer::from_slice(&device, MemFlags::COPY_HOST_PTR, &[1, 2, 3, 4])?;
//! let mut target = Buffer::uninit(&device, MemFlags::READ_WRITE, 4)?;
//!
//! let copied = queue.copy(&source, &mut target, &[])?;
//! let filled = other.fill(target.slice_mut(2..)?, 0, &[copied.clone()])?;
//! // A copy to the host holds its memory until it is done, so that nobody looks at it before.
//! queue.wait_for(&[filled.clone()])?;
//! let read = queue.read(&target, device.pinned(4)?, &[])?;
//! let end = queue.record()?;
//! assert_eq!(read.wait()?[..], [1, 2, 0, 0]);
//! queue.synchronize()?;
//!
//! end.wait()?;
//! assert!(copied.is_done()? && filled.is_done()?);
//! assert!(filled.duration()?.as_secs() < 60 && end.elapsed_since(&copied)?.as_secs() < 60);
//! let (sender, receiver) = std::sync::mpsc::channel();
//! filled.on_done(move |outcome| drop(sender.send(outcome.is_ok())));
//! assert_eq!(receiver.recv(), Ok(true));
//! # Ok::<(), lazuli::Error>(())
//! ```
//!
//! # Programs
//!
//! | PyOpenCL | Lazuli |
//! |---|---|
//! | `cl.Program(ctx, source).build(options)` | [`Module::new`](crate::Module::new), or [`builder`](crate::Module::builder) with [`options`](crate::ModuleBuilder::options), [`include`](crate::ModuleBuilder::include) and [`define`](crate::ModuleBuilder::define). A module is for one device. Tests `a_source_in_the_devices_own_language_runs`, `options_folders_and_defines_reach_the_compiler` |
//! | `cl.Program(ctx, devices, binaries)`, `prg.binaries` | [`Module::from_binary`](crate::Module::from_binary), [`binary`](crate::Module::binary) |
//! | the build log in the `RuntimeError`, for each device | [`Error::Compile`](crate::Error::Compile), of the module's one device, with your line numbers and lines |
//! | the disk cache, by source, options, driver and includes | the same ([`is_from_disk`](crate::Module::is_from_disk)); test `compiled_modules_are_kept_on_disk_under_all_they_depend_on` |
//! | `prg.name(queue, shape, local, *args)` | [`function`](crate::Module::function), [`call`](crate::Function::call) and [`launch`](crate::Launch::launch) over groups of threads; [`submit`](crate::Launch::submit) on a queue (test `launches_on_queues_are_in_order_with_all_else`) |
//! | `kernel.get_work_group_info` | [`attributes`](crate::Function::attributes), [`suggested_threads`](crate::Function::suggested_threads) |
//! | `cl.LocalMemory(nbytes)` | [`LocalMem::new`](crate::LocalMem::new), in elements |
//!
//! ```
//! use lazuli::prelude::*;
//! use lazuli::{Language, LocalMem, Module, args};
//!
//! let device = Device::auto()?;
//! if device.name() == "host" {
//!     return Ok(()); // It compiles no source; `#[lazuli::kernel]` runs there too.
//! }
//! let source = "
//! KERNEL reversed(GLOBAL const f32 *x, GLOBAL f32 *y LOCAL_PARAM(f32, tile)) {
//!     LOCAL_ARRAY(f32, tile)
//!     tile[THREAD_X] = SCALE * x[INDEX_X];
//!     BARRIER;
//!     y[INDEX_X] = tile[GROUP_SIZE_X - 1 - THREAD_X];
//! }";
//! // OpenCL C works as well, on OpenCL; this is the language of both.
//! let builder = Module::builder(&device).language(Language::Portable).define("SCALE", "2.0f");
//! let module = builder.source(source)?;
//! let x = device.from_slice(&[1.0f32, 2.0, 3.0, 4.0])?;
//! let mut y = device.zeros::<f32>(4);
//! for module in [Module::from_binary(&device, &module.binary()?)?, module] {
//!     let reversed = module.function("reversed")?;
//!     assert!(reversed.attributes()?.max_threads >= reversed.suggested_threads()?);
//!     reversed.call(args![&x, &mut y, LocalMem::<f32>::new(4)]).launch(1, 4)?;
//!     assert_eq!(y.get()?.as_slice().unwrap(), [8.0, 6.0, 4.0, 2.0]);
//! }
//!
//! let error = Module::builder(&device).language(Language::Portable).source(source).unwrap_err();
//! let Error::Compile { log, .. } = error else { panic!("{error}") };
//! assert!(log.contains("tile[THREAD_X] = SCALE * x[INDEX_X];"), "{log}");
//! # Ok::<(), lazuli::Error>(())
//! ```
//!
//! # What there is not
//!
//! Images, samplers, pipes, shared virtual memory and `enqueue_migrate_mem_objects` are not built. A program for
//! several devices at once is several modules: they have nothing in common but their source. User events
//! (`cl.UserEvent`) are not there either: an event marks work that was submitted, so that no queue can wait for ever.
