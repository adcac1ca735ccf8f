//! The context and the queue of one opened device, released when the last user is gone.

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use opencl3::command_queue::{finish, flush, release_command_queue};
use opencl3::context::context::{create_context, release_context};
use opencl3::event::release_event;
use opencl3::types::{cl_command_queue, cl_context, cl_device_id, cl_event, cl_int};

use super::fault;
use crate::error::{Error, Result};
use crate::runtime::health::Health;

/// What every buffer and kernel of one runtime shares.
pub(super) struct Handles {
    /// The device, as messages name it.
    pub(super) name: String,
    pub(super) device: cl_device_id,
    pub(super) context: cl_context,
    /// In order, so that no command needs another's event.
    pub(super) queue: cl_command_queue,
    /// Bytes of buffers not yet freed.
    pub(super) live_bytes: AtomicU64,
    /// Of the context.
    pub(super) health: Health,
}

// SAFETY: contexts, queues and devices are references to objects of the driver's, and OpenCL lets any thread use them.
unsafe impl Send for Handles {}
// SAFETY: as above; every call but clSetKernelArg is thread-safe.
unsafe impl Sync for Handles {}

impl Handles {
    pub(super) fn new(name: String, device: cl_device_id) -> Result<Self> {
        let context = create_context(&[device], ptr::null(), None, ptr::null_mut())
            .map_err(|code| fault::driver(&name, "clCreateContext", code))?;
        #[allow(
            deprecated,
            reason = "the newer call is missing from OpenCL 1.2 drivers, and this one is in all of them"
        )]
        // SAFETY: the context was made of this device; no property is asked for, so the queue is in order.
        let queue = unsafe { opencl3::command_queue::create_command_queue(context, device, 0) };
        match queue {
            Ok(queue) => {
                let health = Health::new(&name);
                Ok(Self { name, device, context, queue, live_bytes: AtomicU64::new(0), health })
            }
            Err(code) => {
                // SAFETY: the context was made above and has no other user. Its own failure would add nothing.
                let _ = unsafe { release_context(context) };
                Err(fault::driver(&name, "clCreateCommandQueue", code))
            }
        }
    }

    /// Takes an enqueue's outcome. Its event is let go at once: the queue is in order and nobody waits on it.
    pub(super) fn finish_enqueue(
        &self,
        call: impl FnOnce() -> String,
        event: Result<cl_event, cl_int>,
        bytes: usize,
    ) -> Result<()> {
        let event = event.map_err(|code| match fault::is_loss(code) {
            true => self.fault(call(), code),
            false => fault::enqueue(&self.name, &call(), code, bytes as u64, self.live_bytes.load(Ordering::Relaxed)),
        })?;
        if event.is_null() {
            return Ok(());
        }
        // SAFETY: the enqueue made this event with one reference, which is ours.
        unsafe { release_event(event) }.map_err(|code| fault::driver(&self.name, "clReleaseEvent", code))
    }

    /// Hands what was submitted to the device: a driver may otherwise hold it back until somebody waits.
    pub(super) fn flush(&self) -> Result<()> {
        self.flush_queue(self.queue)
    }

    /// The same for another queue of the context.
    pub(super) fn flush_queue(&self, queue: cl_command_queue) -> Result<()> {
        flush(queue).map_err(|code| self.fault("clFlush", code))
    }

    pub(super) fn synchronize(&self) -> Result<()> {
        finish(self.queue).map_err(|code| self.wait_fault("clFinish", code))?;
        self.health.waited(self.queue.addr());
        Ok(())
    }

    /// Errors: `DeviceLost`, from the fault on.
    pub(super) fn alive(&self) -> Result<()> {
        self.health.check()
    }

    /// Logs what a destructor cannot return. On a lost device everything fails, and that was told where somebody called.
    pub(super) fn log_release(&self, what: &str, why: &dyn std::fmt::Display) {
        match self.health.is_lost() {
            true => tracing::debug!(device = %self.name, "{what}: {why}"),
            false => tracing::warn!(device = %self.name, "{what}: {why}"),
        }
    }

    /// A call that failed: the loss of the device where the code tells that, else a reason of the driver's own.
    pub(super) fn fault(&self, call: impl Into<String>, code: cl_int) -> Error {
        match fault::is_loss(code) || self.health.is_lost() {
            true => self.health.lose(format!("{} gave {}", call.into(), fault::text(code))),
            false => fault::driver(&self.name, call, code),
        }
    }

    /// A wait that failed. Here a code that elsewhere tells of scarce resources tells of a fault in a kernel, if one of the
    /// caller's may be running.
    pub(super) fn wait_fault(&self, call: impl Into<String>, code: cl_int) -> Error {
        match fault::is_loss_of_wait(code) && self.health.has_suspects() {
            true => self.health.lose(format!("{} gave {}", call.into(), fault::text(code))),
            false => self.fault(call, code),
        }
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        // SAFETY: both were made by `new` with one reference each. Commands under way keep what they need alive.
        let released = unsafe { release_command_queue(self.queue).and(release_context(self.context)) };
        if let Err(code) = released {
            self.log_release("releasing the queue and the context", &fault::text(code));
        }
    }
}
