//! Forks: the child knows that it is one.
//!
//! A port belongs to the process that opened it: its rings' cursors are in that process's memory. The child of a fork lets
//! its copy go without a trace when it first uses it, and opens the port again.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process that the memory belongs to.
static PID: AtomicU32 = AtomicU32::new(0);

/// Forks of this process and its ancestors since the library was loaded.
#[inline]
pub(crate) fn count() -> u32 {
    FORKS.load(Relaxed)
}

/// Whether this is the process that the memory belongs to. The child of a vfork closes descriptors of its own in its
/// parent's memory: the parent's descriptors stay as they are.
pub(crate) fn is_here() -> bool {
    PID.load(Relaxed) == std::process::id()
}

/// Notes the process.
pub(crate) fn here() {
    PID.store(std::process::id(), Relaxed);
}

/// Notes that this is the child of a fork.
pub(crate) fn forked() {
    FORKS.fetch_add(1, Relaxed);
    here();
}
