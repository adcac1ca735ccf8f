//! The first OpenCL CPU device (PoCL), to compile and run emitted text on.

use std::{
    cell::RefCell,
    collections::HashMap,
    ffi::c_void,
    ptr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use opencl3::{
    command_queue::CommandQueue,
    context::Context,
    device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, Device},
    kernel::{Kernel, set_kernel_arg},
    memory::{Buffer, CL_MEM_READ_WRITE, ClMem},
    platform::get_platforms,
    program::Program,
    types::{CL_TRUE, cl_device_id},
};

pub struct OpenCl {
    context: Context,
    device: cl_device_id,
    queue: CommandQueue,
    /// What was built, by its text: compiling takes longer than running.
    programs: RefCell<HashMap<String, Program>>,
    _turn: MutexGuard<'static, ()>,
}

/// One test at a time: PoCL 3.1 is not safe to open from several threads at once.
static TURN: Mutex<()> = Mutex::new(());

/// An argument of a kernel.
pub enum Argument<'a> {
    Input(&'a [u8]),
    Output(&'a mut [u8]),
    Plain(&'a [u8]),
}

impl OpenCl {
    /// A CPU device if there is one, else any; the error says what was looked for.
    pub fn open() -> Result<Self, String> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let platforms = get_platforms().map_err(|error| format!("no OpenCL loader or platform ({error})"))?;
        let find = |kind| platforms.iter().find_map(|platform| platform.get_devices(kind).ok()?.first().copied());
        let id = find(CL_DEVICE_TYPE_CPU)
            .or_else(|| find(CL_DEVICE_TYPE_ALL))
            .ok_or_else(|| "no OpenCL device on any platform".to_owned())?;
        let context = Context::from_device(&Device::new(id)).map_err(|error| error.to_string())?;
        // Deprecated in OpenCL 2.0, and the only call of 1.2.
        #[allow(deprecated, reason = "devices of OpenCL 1.2 have no other")]
        let queue = CommandQueue::create_default(&context, 0).map_err(|error| error.to_string())?;
        Ok(Self { context, device: id, queue, programs: RefCell::default(), _turn: turn })
    }

    /// Builds `text`; the error is the compiler's log.
    pub fn build(&self, text: &str) -> Result<Program, String> {
        // Atomics in device scope are of OpenCL C 2.0 and later.
        let options = if text.contains("memory_scope_device") { "-cl-std=CL3.0" } else { "" };
        Program::create_and_build_from_source(&self.context, text, options)
    }

    /// What the compiler says of `text`, which it accepts; the error is its log where it does not.
    pub fn build_log(&self, text: &str) -> Result<String, String> {
        let log = self.build(text)?.get_build_log(self.device).map_err(|error| error.to_string())?;
        Ok(log.trim_end_matches('\0').trim().to_owned())
    }

    /// Builds `text` and runs `entry` over `global` work-items in groups of `local`.
    pub fn run(&self, text: &str, entry: &str, global: [usize; 2], local: [usize; 2], arguments: &mut [Argument<'_>]) {
        let mut programs = self.programs.borrow_mut();
        let program = programs
            .entry(text.to_owned())
            .or_insert_with(|| self.build(text).unwrap_or_else(|log| panic!("{log}\n{text}")));
        let kernel = Kernel::create(program, entry).expect("kernel");
        let mut buffers: Vec<Option<Buffer<u8>>> = Vec::new();
        for (number, argument) in arguments.iter().enumerate() {
            let bytes = match argument {
                Argument::Input(bytes) => *bytes,
                Argument::Output(bytes) => &**bytes,
                Argument::Plain(bytes) => {
                    let value = bytes.as_ptr().cast::<c_void>();
                    // SAFETY: the pointer and the length are those of a slice.
                    unsafe { set_kernel_arg(kernel.get(), number as u32, bytes.len(), value) }.expect("argument");
                    buffers.push(None);
                    continue;
                }
            };
            // SAFETY: no host memory is handed over.
            let mut buffer =
                unsafe { Buffer::<u8>::create(&self.context, CL_MEM_READ_WRITE, bytes.len().max(1), ptr::null_mut()) }
                    .expect("buffer");
            if !bytes.is_empty() {
                // SAFETY: the write blocks, so that `bytes` outlives it.
                unsafe { self.queue.enqueue_write_buffer(&mut buffer, CL_TRUE, 0, bytes, &[]) }.expect("write");
            }
            // SAFETY: the parameter is a pointer to global memory.
            unsafe { kernel.set_arg(number as u32, &buffer.get()) }.expect("argument");
            buffers.push(Some(buffer));
        }
        // SAFETY: the arrays have two entries, as many as there are dimensions.
        unsafe {
            self.queue.enqueue_nd_range_kernel(kernel.get(), 2, ptr::null(), global.as_ptr(), local.as_ptr(), &[])
        }
        .expect("launch");
        self.queue.finish().expect("finish");
        for (argument, buffer) in arguments.iter_mut().zip(&buffers) {
            if let (Argument::Output(bytes), Some(buffer)) = (argument, buffer) {
                // SAFETY: the read blocks, so that `bytes` outlives it.
                unsafe { self.queue.enqueue_read_buffer(buffer, CL_TRUE, 0, bytes, &[]) }.expect("read");
            }
        }
    }
}
