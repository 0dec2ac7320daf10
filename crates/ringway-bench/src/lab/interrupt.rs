//! Ctrl-C and SIGTERM as a flag, so that what was set up is taken down by its guards.

use std::sync::atomic::{AtomicBool, Ordering};

pub(super) static STOP: AtomicBool = AtomicBool::new(false);

/// From now on the first SIGINT or SIGTERM sets the flag; a second one ends the process as usual. Calls that were
/// waiting go on waiting: look at [`stopped`] between steps that take a second or so.
pub fn catch() {
    super::sys::catch_signals();
}

/// Whether a signal came.
pub fn stopped() -> bool {
    STOP.load(Ordering::Relaxed) // the flag stands for nothing but itself
}
