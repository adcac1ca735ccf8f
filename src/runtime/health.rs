//! Whether a device still answers. Some faults leave every later call failing: the device is lost. Knows nothing of any driver.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// How many kernels are named as suspects at most.
const MOST_SUSPECTS: usize = 16;

/// The health of one context of a driver's: all that shares it is lost together.
///
/// A kernel runs long after its launch came back, so a fault shows in some later call. Whoever could have caused it are the
/// hand-written kernels launched since the queue they are on was last waited for without a fault.
pub struct Health {
    device: String,
    is_lost: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Kernels that are not known to be done, by their queue, oldest first.
    running: Vec<(usize, String)>,
    /// The first fault.
    lost: Option<Error>,
}

impl Health {
    /// Of a device, as messages name it, that was just opened.
    pub fn new(device: &str) -> Self {
        Self { device: device.into(), is_lost: AtomicBool::new(false), state: Mutex::default() }
    }

    /// Errors: `DeviceLost`, from the fault on.
    pub fn check(&self) -> Result<()> {
        match self.is_lost.load(Ordering::Acquire) {
            false => Ok(()),
            true => Err(self.state().lost.clone().unwrap_or_else(|| self.error(Vec::new(), "lost".into()))),
        }
    }

    /// True from the fault on.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// A hand-written kernel is about to be launched on a queue, of which any number that is its own will do.
    pub fn launched(&self, queue: usize, kernel: &str) {
        let mut state = self.state();
        if state.running.iter().any(|(on, name)| *on == queue && name == kernel) {
            return;
        }
        if state.running.len() == MOST_SUSPECTS {
            state.running.remove(0);
        }
        state.running.push((queue, kernel.into()));
    }

    /// A wait for all that is on a queue came back without a fault.
    pub fn waited(&self, queue: usize) {
        let mut state = self.state();
        if !state.running.is_empty() {
            state.running.retain(|(on, _)| *on != queue);
        }
    }

    /// True while a hand-written kernel may be running.
    #[cfg_attr(
        not(feature = "opencl"),
        allow(dead_code, reason = "OpenCL's codes alone leave it open who is to blame")
    )]
    pub fn has_suspects(&self) -> bool {
        !self.state().running.is_empty()
    }

    /// The device has met a fault that it does not recover from. The error of all calls from now on; the first fault is the
    /// one that is told.
    pub fn lose(&self, message: String) -> Error {
        let mut state = self.state();
        if let Some(lost) = &state.lost {
            return lost.clone();
        }
        let mut kernels: Vec<String> = Vec::new();
        for (_, kernel) in std::mem::take(&mut state.running) {
            if !kernels.contains(&kernel) {
                kernels.push(kernel);
            }
        }
        let error = self.error(kernels, message);
        state.lost = Some(error.clone());
        self.is_lost.store(true, Ordering::Release);
        tracing::warn!(device = %self.device, %error, "the device is lost");
        error
    }

    fn error(&self, kernels: Vec<String>, message: String) -> Error {
        Error::DeviceLost { device: self.device.clone(), kernels, message }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernels that an error blames, and what the driver said.
    fn blamed(error: Error) -> (Vec<String>, String) {
        match error {
            Error::DeviceLost { device, kernels, message } if device == "cuda:0" => (kernels, message),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_lost_device_says_so_ever_after_and_keeps_the_first_fault() {
        let health = Health::new("cuda:0");
        assert!(health.check().is_ok() && !health.is_lost());
        health.launched(1, "scale");
        let first = blamed(health.lose("illegal address".into()));
        assert_eq!(first, (vec!["scale".to_string()], "illegal address".to_string()));
        health.launched(1, "innocent");
        assert_eq!(blamed(health.lose("context is destroyed".into())), first);
        assert!(health.is_lost());
        assert_eq!(blamed(health.check().unwrap_err()), first);
        let told = health.check().unwrap_err().to_string();
        assert_eq!(told, "cuda:0 is lost after a launch of scale: illegal address");
    }

    #[test]
    fn kernels_that_were_waited_for_are_not_to_blame() {
        let health = Health::new("cuda:0");
        health.launched(1, "first");
        health.launched(2, "other queue");
        health.waited(1);
        health.launched(1, "second");
        health.launched(1, "second");
        let (kernels, _) = blamed(health.lose("fault".into()));
        assert_eq!(kernels, ["other queue", "second"]);
    }

    #[test]
    fn the_latest_of_many_kernels_are_named_and_none_where_none_ran() {
        let health = Health::new("cuda:0");
        (0..40).for_each(|number| health.launched(0, &format!("kernel{number}")));
        let (kernels, _) = blamed(health.lose("fault".into()));
        assert_eq!((kernels.len(), kernels[0].as_str(), kernels[15].as_str()), (16, "kernel24", "kernel39"));
        let lazy_only = Health::new("cuda:0").lose("fault".into()).to_string();
        assert_eq!(lazy_only, "cuda:0 is lost: fault");
    }
}
