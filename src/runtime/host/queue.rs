//! Queues of the host: every call is done when it is back, so they hold nothing.

use crate::runtime::explicit::Queue;

/// A queue on which all work is done when its submission is back.
pub(super) struct HostQueue;

impl Queue for HostQueue {}
